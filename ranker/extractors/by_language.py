"""Learning from ranked data: separately for each language pair or target language, whose texts have much in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Literal, TypeVar

import numpy as np

from ranker.arrays import BoolArray
from ranker.corpora.dataset import Dataset, view
from ranker.errors import DataError

T = TypeVar("T")
Group = Literal["language pair", "target language"]
"""Criterion by which sources are grouped for learning."""


def learn(dataset: Dataset, by: Group, learn_from: Callable[[Dataset], T]) -> dict[Hashable, T]:
    """Return the values that `learn_from` computes from the sources of each group, by language pair or language."""
    return {name: learn_from(part) for name, (part, _) in _parts(dataset, by).items()}


def parts(dataset: Dataset, by: Group, learnt: Mapping[Hashable, T]) -> Iterator[tuple[Dataset, BoolArray, T]]:
    """Yield the sources of each group as a data set, their mask, shape (sources,), and the group's `learnt` value.

    A value that was learnt from a single group serves all groups.

    Raises
    ------
    DataError
        For a language pair or target language that none of several values was learnt from.
    """
    for name, (part, sources) in _parts(dataset, by).items():
        value = next(iter(learnt.values())) if len(learnt) == 1 else learnt.get(name)
        if value is None:
            known = ", ".join(map(_shown, learnt))
            what = f"{by} {_shown(name)} is not among those that the metric was fitted on, {known}"
            raise DataError(f"{what}: fit it on data of this {by}", file=dataset.name)
        yield part, sources, value


def _shown(name: Hashable) -> str:
    return str(name) or "unknown"


@view
def _parts(dataset: Dataset, by: Group) -> dict[Hashable, tuple[Dataset, BoolArray]]:
    """Return the sources of each group as a data set, and their mask."""
    names = dataset.source_language_pairs if by == "language pair" else dataset.target_languages
    masks = {name: np.asarray(names == name, dtype=bool) for name in dict.fromkeys(names)}
    return {name: (dataset.select_sources(mask), mask) for name, mask in masks.items()}
