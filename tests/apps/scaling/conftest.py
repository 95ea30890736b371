"""A Dask cluster for all tests, and shards of a few sources."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.shards.making import make_shards


@pytest.fixture(scope="session")
def sources() -> Dataset:
    """A part of the sample with enough references for a language model, of two language pairs."""
    whole = catalogue.load("sample")
    part = whole.select_sources(np.arange(len(whole.sources)) < 28)
    lp = part.sources["lp"].mask(np.arange(28) % 3 == 0, "ja-en")
    return dataclasses.replace(part, name="part", sources=part.sources.assign(lp=lp))


@pytest.fixture(scope="session")
def corpus(sources: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of these sources."""
    path = tmp_path_factory.mktemp("corpus") / "part.jsonl"
    write_dataset(sources, path)
    return path


@pytest.fixture(scope="session")
def shards_of(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], str]:
    """Return a directory with the corpus in so many shards, of 7 candidates a source."""
    example: dict[int, str] = {}

    def get(number: int) -> str:
        if number not in example:
            folder = tmp_path_factory.mktemp("shards") / str(number)
            manifest = make_shards(str(corpus), folder, 7 * 28 // number)
            assert len(manifest.shards) == number
            example[number] = str(folder)
        return example[number]

    return get


@contextmanager
def dask_scheduler(workers: int) -> Iterator[str]:
    """Run a Dask scheduler with workers that are threads of this process."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address
