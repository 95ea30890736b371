"""Pearson's correlation: within groups, along rows, and from sums that can be resampled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array, offsets_of
from ranker.evaluation.correlation.pair_counts import distinct
from ranker.ranks import merge_ties


def judged_rows(human: npt.ArrayLike, scores: npt.ArrayLike) -> tuple[FloatArray, FloatArray, Int64Array]:
    """Return the known `human` scores, the `scores` in the same cells, and the offsets of each row's values.

    Scores of a row that differ only by rounding are made equal.
    """
    target, values = (np.asarray(values, dtype=np.float64) for values in (human, scores))
    judged = ~np.isnan(target)
    offsets = offsets_of(judged.sum(axis=1))
    return merge_ties(target[judged], offsets), merge_ties(values[judged], offsets), offsets


def group_pearson(first: npt.ArrayLike, second: npt.ArrayLike, offsets: npt.ArrayLike) -> FloatArray:
    """Pearson's r within each group, shape (groups,)."""
    bounds = np.asarray(offsets, dtype=np.int64)
    size = len(bounds) - 1
    group = np.repeat(np.arange(size), np.diff(bounds))
    centred, constant = [], np.zeros(size, dtype=bool)
    for side in (first, second):
        values = np.asarray(side, dtype=np.float64)
        constant |= distinct(values, group, size) < 2
        with np.errstate(invalid="ignore"):
            mean = np.bincount(group, weights=values, minlength=size) / np.diff(bounds)
        centred.append(values - mean[group])
    product, first_squares, second_squares = (
        np.bincount(group, weights=centred[a] * centred[b], minlength=size) for a, b in ((0, 1), (0, 0), (1, 1))
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        # two roots, because the product of two small sums of squares may underflow
        correlation = np.clip(product / np.sqrt(first_squares) / np.sqrt(second_squares), -1.0, 1.0)
    return np.asarray(np.where(constant, np.nan, correlation))


def moments(human: npt.ArrayLike, scores: npt.ArrayLike) -> FloatArray:
    """Return six terms per pair of values, shape (n, 6), from whose sums `pearson_of_moments` computes Pearson's r.

    Both arrays should be centred near 0, to limit rounding errors.
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (human, scores))
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)


def pearson_of_moments(sums: npt.ArrayLike) -> FloatArray:
    """Pearson's r from summed `moments`, six in the last axis; NaN where either variable is constant."""
    count, x, y, xx, yy, xy = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = xx - x * x / count, yy - y * y / count
        # a spread no larger than rounding errors is that of a constant variable
        constant = (spread_x <= 1e-12 * xx) | (spread_y <= 1e-12 * yy)
        correlation = (xy - x * y / count) / np.sqrt(spread_x) / np.sqrt(spread_y)
    return np.asarray(np.where(constant, np.nan, np.clip(correlation, -1.0, 1.0)))


def pearson_rows(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Pearson's r along the last axis of broadcast arrays, ignoring elements that are NaN in either array."""
    x, y = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    known = ~np.isnan(x) & ~np.isnan(y)
    count = known.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = [
            np.where(known, values - np.where(known, values, 0.0).sum(-1, keepdims=True) / count, 0.0)
            for values in (x, y)
        ]
        spread = [np.sqrt((values * values).sum(axis=-1)) for values in centred]
        scale = [np.abs(np.where(known, values, 0.0)).max(axis=-1, initial=0.0) for values in (x, y)]
        correlation = (centred[0] * centred[1]).sum(axis=-1) / spread[0] / spread[1]
    constant = (spread[0] <= 1e-12 * scale[0]) | (spread[1] <= 1e-12 * scale[1]) | (count[..., 0] < 2)
    return np.asarray(np.where(constant, np.nan, np.clip(correlation, -1.0, 1.0)))
