"""Learning from ranked data: separately for each language pair, so that no score depends on another pair's sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from ranker.arrays import BoolArray
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.languages import LanguagePair
from ranker.errors import DataError

T = TypeVar("T")


def learn(dataset: Dataset, learn_from: Callable[[Dataset], T]) -> dict[LanguagePair, T]:
    """Return the values that `learn_from` computes from the sources of each language pair, by pair."""
    return {pair: learn_from(part) for pair, part in _parts(dataset).items()}


def parts(dataset: Dataset, learnt: Mapping[LanguagePair, T]) -> Iterator[tuple[Dataset, BoolArray, T]]:
    """Yield each language pair's sources as a data set, their mask, shape (sources,), and the pair's `learnt` value.

    A value that was learnt from a single language pair serves all pairs.

    Raises
    ------
    DataError
        For a language pair that none of several values was learnt from.
    """
    for pair, part in _parts(dataset).items():
        value = next(iter(learnt.values())) if len(learnt) == 1 else learnt.get(pair)
        if value is None:
            what = f"language pair {pair} is not among those that the metric was fitted on, {', '.join(learnt)}"
            raise DataError(f"{what}: fit it on data of this pair", file=dataset.name)
        yield part, np.asarray(dataset.source_language_pairs == pair, dtype=bool), value


@view
def _parts(dataset: Dataset) -> dict[LanguagePair, Dataset]:
    """Return the sources of each language pair as a data set."""
    pairs = dataset.source_language_pairs
    return {pair: dataset.select_sources(pairs == pair) for pair in dataset.language_pairs}
