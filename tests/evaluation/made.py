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


def same_outputs(sources: int = 40) -> Dataset:
    """Make preferences of three systems, of which s0 and s1 have the same outputs, judged once: s1's are repeated.

    People prefer these outputs to that of s2 in all sources but every fourth.
    """
    human = np.tile([2.0, 2.0, 1.0], (sources, 1))
    human[::4, 2] = 3.0
    dataset = preferred(human)
    systems = dataset.candidates["system"].to_numpy(object)
    repeats = (systems[dataset.preferences[["first", "second"]].to_numpy()] == "s1").any(axis=1)
    return dataclasses.replace(dataset, preferences=dataset.preferences.assign(primary=~repeats))
