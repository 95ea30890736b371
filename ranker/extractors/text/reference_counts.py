"""N-grams of all references of the data being ranked, where one process sees only some of them.

What learns from the n-grams of all references says which ones it counts. They are counted shard by shard and added up
on disk (`ranker.learning.lm.merging`), and every shard looks up the counts of its own n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.extractors.text.tokens import TokenBatch
from ranker.files import sha256
from ranker.learning.lm.merging import MergedCounts, PartCounts


@dataclass(frozen=True)
class NgramCounting:
    """Which n-grams of the references are counted.

    Parameters
    ----------
    order : int
        Longest n-grams.
    units : str
        How sentences are divided into units, as a signature.
    model : bool
        Whether a language model is estimated from the counts.
    """

    order: int
    units: str
    model: bool = False

    @property
    def key(self) -> str:
        """Name of the directory of the counts."""
        return f"counts-{sha256(repr(self).encode())[:12]}"


@runtime_checkable
class CountsReferences(Protocol):
    """What learns from the references by their n-grams alone."""

    @property
    def counting(self) -> NgramCounting | None:
        """Which n-grams it learns from, or None if it learns from no references."""

    def counted(self, dataset: Dataset) -> TokenBatch:
        """Return the units of the references of `dataset`."""


def count_part(learner: CountsReferences, dataset: Dataset) -> PartCounts:
    """Count the n-grams of the references of a shard."""
    if learner.counting is None:
        raise TypeError(f"{learner} does not count n-grams")
    none = dataset.select_candidates(np.zeros(len(dataset), dtype=bool))
    batch, rows = learner.counted(none), by_text(none)
    values, offsets = batch.segments.take(batch.reference[rows])
    texts = none.references["text"].iloc[rows].tolist()
    return PartCounts.of(values, offsets, batch.segments.vocabulary, texts, learner.counting.order)


def counts_of_all(dataset: Dataset, counting: NgramCounting) -> MergedCounts | None:
    """Return the counts of the n-grams of all references, if `dataset` is a shard; else it has all of them itself."""
    sums = dataset.reference_sums
    return None if sums is None else MergedCounts(sums.counts[counting.key])


def by_text(dataset: Dataset) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the order of the references by their code points, which does not depend on the order of the sources.

    The estimate of the discounts depends on which words appear last; see
    `ranker.learning.lm.kneser_ney.estimate_discounts`.
    """
    return np.argsort(dataset.references["text"].to_numpy(object), kind="stable")
