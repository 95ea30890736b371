"""Preferences of simulated people, who prefer outputs in the order of the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker.apps.experiments.tables import Experiment, Table
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import table


def language_pair(name: str, seed: int, sources: int = 60) -> Dataset:
    """Make sources of foreign words, references of their translations, and outputs with more and more words moved."""
    generator = np.random.default_rng(seed)
    records, truth = [], []
    for number in range(sources):
        words = generator.permutation(30)[: generator.integers(6, 12)]
        target = [f"word{word}" for word in words]
        candidates = []
        moved = generator.permutation(4)
        for system in range(4):
            output = list(target)
            for _ in range(moved[system]):
                i, j = generator.integers(len(output), size=2)
                output[i], output[j] = output[j], output[i]
            candidates.append(Candidate(f"s{system}", " ".join(output)))
        truth.append(moved)
        source = " ".join(f"mot{word}" for word in words)
        records.append(Record(source, [" ".join(target)], candidates, lp=name, seg_id=str(number + 1)))
    data = assemble(records, "simulated")
    better, worse = [], []
    for number, moved in enumerate(truth):
        for a in range(4):
            for b in range(4):
                if moved[a] < moved[b]:
                    better.append(4 * number + a)
                    worse.append(4 * number + b)
    columns = {"first": better, "second": worse, "relation": [">"] * len(better), "primary": [True] * len(better)}
    return dataclasses.replace(data, preferences=table("preferences", columns))


@pytest.fixture(scope="session")
def preferred() -> Dataset:
    """Two language pairs."""
    return concatenate_datasets([language_pair("aa-en", 0), language_pair("bb-en", 1)])


def titled(experiment: Experiment, title: str) -> Table:
    """Return the only table of that title."""
    (result,) = [table for table in experiment.tables if table.title == title]
    return result
