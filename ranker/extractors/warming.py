"""Compiles the kernels of the default features and metrics ahead of their first use, in several processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager

import numpy as np

from ranker import progress
from ranker.corpora import catalogue
from ranker.extractors import registry
from ranker.extractors.feature_sets import FeatureSet
from ranker.learning.svm.ranksvm import RankSVM
from ranker.storage import kernels
from ranker.threads import jobs

METRICS = ("bleu", "chrf", "ter")
_RANKING = "ranking SVM"
_SOURCES = 30


def tasks() -> list[str]:
    """Return what is compiled: the extractors of `full`, the metrics that most scores are of, and the ranking SVM."""
    extractors = [str(extractor) for extractor in FeatureSet.parse("full").extractors]
    return list(dict.fromkeys([*extractors, *METRICS, _RANKING]))


def warm_up() -> int:
    """Compile all kernels of `tasks` that are not on disk, and return how many that were.

    As many processes as `ranker.threads.jobs` says share the work. A kernel that two of them need at the same time may
    be compiled twice.
    """
    work = tasks()
    count = 0
    with (
        _compiling(),
        ProcessPoolExecutor(min(jobs(), len(work)), multiprocessing.get_context("spawn")) as pool,
    ):
        for done, future in enumerate(as_completed([pool.submit(_compile, task) for task in work]), 1):
            count += future.result()
            progress.report("compiling kernels of features, once", done, len(work))
    return count


@contextmanager
def _compiling() -> Iterator[None]:
    """Let processes that are started compile whatever they call."""
    before = os.environ.get("RANKER_KERNELS")
    os.environ["RANKER_KERNELS"] = "compiled"
    try:
        yield
    finally:
        if before is None:
            del os.environ["RANKER_KERNELS"]
        else:
            os.environ["RANKER_KERNELS"] = before


def _compile(task: str) -> int:
    """Do one of `tasks` with a little data, and return how many kernels that compiled."""
    before = kernels.compiled()
    if task == _RANKING:
        values = np.arange(60.0).reshape(20, 3) % 7
        RankSVM().fit(values, np.arange(20) % 5, groups=np.arange(20) // 5)
    else:
        sample = catalogue.load("sample")
        # enough references for language models
        sample = sample.select_sources(np.arange(len(sample.sources)) < _SOURCES)
        extractor = registry.make(task)
        extractor.fit(sample).transform(sample)
    return kernels.compiled() - before
