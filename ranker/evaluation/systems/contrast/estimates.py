"""Figures of two systems with paired bootstrap intervals over sources, from sums of additive statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.evaluation.resampling.bootstrap import draws, estimate, resampled_sums, stream
from ranker.evaluation.systems.contrast.result import Bucket

Score = Callable[[FloatArray], FloatArray]
"""Function from sums of statistics (..., k) to figures (...)."""


@dataclass(frozen=True)
class Bootstrap:
    """Bootstrap over sources; figures on the same subject share random numbers, which differ between subjects.

    Figures that come from a single source have no interval.
    """

    resamples: int
    seed: int

    def of_words(self, subject: str, statistics: FloatArray, score: Score, names: Sequence[str]) -> tuple[Bucket, ...]:
        """Return the figures of buckets of words; the words of a bucket may occur in any source."""
        total = statistics.sum(axis=0)
        columns = statistics.reshape(len(statistics), -1)
        sums = resampled_sums(columns, self.resamples, stream(self.seed, subject))
        sample = score(sums.reshape(self.resamples, *total.shape))
        sources = np.any(statistics, axis=tuple(range(2, statistics.ndim))).sum(axis=0)
        sample[:, sources < 2] = np.nan
        # several references may make the words of the two systems' references differ in number
        sizes = np.ceil(total[..., -1].mean(axis=-1)).astype(np.int64)
        return _buckets(names, sizes, score(total), sample)

    def of_segments(
        self, subject: str, statistics: FloatArray, score: Score, group: Int64Array, names: Sequence[str]
    ) -> tuple[Bucket, ...]:
        """Return the figures of each `group` of segments."""
        sources, _, width = statistics.shape
        order = np.argsort(group, kind="stable")
        sizes = np.bincount(group, minlength=len(names))
        members = np.split(order, np.cumsum(sizes)[:-1])
        columns = statistics.reshape(sources, -1)
        value = np.full((len(names), 2), np.nan)
        sample = np.full((self.resamples, len(names), 2), np.nan)
        for place in np.flatnonzero(sizes):
            value[place] = score(columns[members[place]].sum(axis=0).reshape(2, width))
        for start, weights in draws(sources, self.resamples, stream(self.seed, subject)):
            for place in np.flatnonzero(sizes > 1):
                own = weights[:, members[place]]
                values = score((own @ columns[members[place]]).reshape(len(own), 2, width))
                values[own.sum(axis=1) == 0] = np.nan
                sample[start : start + len(own), place] = values
        return _buckets(names, sizes, value, sample)


def f_measure(sums: FloatArray) -> FloatArray:
    """F measure 2 m / (c + r) from sums (..., 3) of matches m, words c and reference words r; NaN where r is 0."""
    return _fraction(2 * sums[..., 0], sums[..., 1] + sums[..., 2], sums[..., 2])


def recall(sums: FloatArray) -> FloatArray:
    """Recall m / r from sums (..., 3) of matches m, words c and reference words r; NaN where r is 0."""
    return _fraction(sums[..., 0], sums[..., 2], sums[..., 2])


def length_ratio(sums: FloatArray) -> FloatArray:
    """Length ratio c / r from sums (..., 2) of words c and reference words r; NaN where r is 0."""
    return _fraction(sums[..., 0], sums[..., 1], sums[..., 1])


def _fraction(part: FloatArray, whole: FloatArray, reference: FloatArray) -> FloatArray:
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=reference > 0))


def _buckets(names: Sequence[str], sizes: Int64Array, value: FloatArray, sample: FloatArray) -> tuple[Bucket, ...]:
    """Create a `Bucket` for each nonempty group, from figures (buckets, 2) and resamples (resamples, buckets, 2)."""
    difference = value[:, 0] - value[:, 1]
    differences = sample[..., 0] - sample[..., 1]
    return tuple(
        Bucket(
            names[place],
            int(sizes[place]),
            estimate(value[place, 0], sample[:, place, 0]),
            estimate(value[place, 1], sample[:, place, 1]),
            estimate(difference[place], differences[:, place]),
        )
        for place in np.flatnonzero(sizes).tolist()
    )
