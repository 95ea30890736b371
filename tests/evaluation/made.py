"""Data sets made for tests."""

from __future__ import annotations

import dataclasses

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import table


def graded(human: np.ndarray, lp: str = "xx-en", name: str = "test", documents: int = 0) -> Dataset:
    """Make a data set of human scores (sources, systems), NaN for not judged; `documents` sources make a document."""
    return assemble(
        [
            Record(
                f"source {index}",
                ["r"],
                [
                    Candidate(f"s{system}", "t", [] if np.isnan(value) else [("fluency_raw", None, float(value))])
                    for system, value in enumerate(row)
                ],
                lp=lp,
                doc=f"doc{index // documents}" if documents else None,
                seg_id=str(index + 1),
            )
            for index, row in enumerate(human)
        ],
        name,
    )


def preferred(human: np.ndarray, lp: str = "xx-en", name: str = "test", repeated: int = 0) -> Dataset:
    """Make a data set of all comparisons of human scores (sources, systems); the last `repeated` are not primary."""
    dataset = graded(human, lp, name)
    sources, systems = human.shape
    first, second = np.triu_indices(systems, 1)
    base = np.arange(sources)[:, np.newaxis] * systems
    rows = np.stack([(base + first).ravel(), (base + second).ravel()])
    values = human.ravel()
    apart = values[rows[0]] - values[rows[1]]
    primary = np.ones(rows.shape[1], dtype=bool)
    primary[len(primary) - repeated :] = False
    preferences = table(
        "preferences",
        {
            "first": rows[0],
            "second": rows[1],
            "relation": np.where(apart > 0, ">", np.where(apart < 0, "<", "=")),
            "primary": primary,
        },
    )
    return dataclasses.replace(dataset, ratings=table("ratings"), preferences=preferences)
