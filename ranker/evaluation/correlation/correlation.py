"""Correlations of scores with people, over everything at once or per group and averaged.

`correlate` takes a table of systems and items, as the metrics tasks of WMT do (Freitag et al. 2023): ``none`` takes all
cells together, ``item`` one correlation for each source, ``system`` one for each system, and averages those defined.
Cells that people did not judge are NaN and left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array, offsets_of
from ranker.errors import OptionError
from ranker.evaluation.correlation.pair_counts import (
    accuracy_with_ties,
    consistency_share,
    count_pairs,
    tau,
    tau_b,
    tau_c,
)
from ranker.ranks import group_spearman, merge_ties

Averaging = Literal["none", "item", "system"]
CORRELATIONS = (
    "pearson",
    "spearman",
    "spearman-ye07",
    "kendall-b",
    "kendall-c",
    "wmt12",
    "wmt13",
    "wmt14",
    "xties",
    "consistency",
    "accuracy",
)
"""Names that `correlate` knows; ``accuracy`` is pairwise accuracy with ties (acc23), without calibration."""


@dataclass(frozen=True)
class Average:
    """A mean over groups.

    Parameters
    ----------
    value : float
        NaN if it is undefined in every group.
    groups, undefined : int
        Groups that it is the mean of, and groups left out because it is undefined there.
    """

    value: float
    groups: int
    undefined: int


def correlate(
    human: npt.ArrayLike, scores: npt.ArrayLike, name: str = "pearson", average: Averaging = "none"
) -> Average:
    """Correlate a table of scores with a table of human scores.

    Parameters
    ----------
    human, scores : array-like, shape (systems, items)
        Higher is better in both; NaN in `human` where nobody judged.
    name : str
        One of `CORRELATIONS`.
    average : {"none", "item", "system"}, default "none"

    Raises
    ------
    OptionError
        If no correlation has that name.
    """
    values = group_correlation(*grouped_table(human, scores, average), name)
    known = values[~np.isnan(values)]
    return Average(float(known.mean()) if len(known) else float("nan"), len(known), len(values) - len(known))


def grouped_table(
    human: npt.ArrayLike, scores: npt.ArrayLike, average: Averaging
) -> tuple[FloatArray, FloatArray, Int64Array]:
    """Return the judged cells of two tables (systems, items) group by group: human, scores, offsets of the groups.

    Ties are merged inside a group.
    """
    target, values = (np.asarray(one, dtype=np.float64) for one in (human, scores))
    if average == "item":
        target, values = target.T, values.T
    elif average == "none":
        target, values = target.reshape(1, -1), values.reshape(1, -1)
    judged = ~np.isnan(target)
    offsets = offsets_of(judged.sum(axis=1))
    return merge_ties(target[judged], offsets), merge_ties(values[judged], offsets), offsets


def group_correlation(human: npt.ArrayLike, scores: npt.ArrayLike, offsets: npt.ArrayLike, name: str) -> FloatArray:
    """Return one correlation a group, shape (groups,), NaN where it is undefined.

    Parameters
    ----------
    human, scores : array-like, shape (n,)
        Without NaN, in groups one behind the other.
    offsets : array-like of int, shape (groups + 1,)
    name : str
        One of `CORRELATIONS`.

    Raises
    ------
    OptionError
        If no correlation has that name.
    """
    bounds = np.asarray(offsets, dtype=np.int64)
    if name == "pearson":
        return group_pearson(human, scores, bounds)
    if name in ("spearman", "spearman-ye07"):
        return group_spearman(scores, human, bounds, tie_corrected=name == "spearman")
    if name not in CORRELATIONS:
        raise OptionError(f"no correlation is called {name!r}; there are: {', '.join(CORRELATIONS)}")
    counts = count_pairs(human, scores, bounds)
    if name == "kendall-b":
        return tau_b(counts)
    if name == "kendall-c":
        classes = np.minimum(_distinct(human, bounds), _distinct(scores, bounds))
        return tau_c(counts, np.diff(bounds), classes)
    if name == "consistency":
        return consistency_share(counts)
    if name == "accuracy":
        return accuracy_with_ties(counts)
    return tau(counts, name)  # type: ignore[arg-type]


def group_pearson(first: npt.ArrayLike, second: npt.ArrayLike, offsets: npt.ArrayLike) -> FloatArray:
    """Pearson's r inside every group.

    Parameters
    ----------
    first, second : array-like, shape (n,)
    offsets : array-like of int, shape (groups + 1,)

    Returns
    -------
    float array, shape (groups,)
        In [-1, 1]; NaN where either side is constant or there are fewer than two values.
    """
    bounds = np.asarray(offsets, dtype=np.int64)
    size = len(bounds) - 1
    group = np.repeat(np.arange(size), np.diff(bounds))
    centred, constant = [], np.zeros(size, dtype=bool)
    for one in (first, second):
        values = np.asarray(one, dtype=np.float64)
        constant |= _distinct(values, bounds) < 2
        with np.errstate(invalid="ignore"):
            mean = np.bincount(group, weights=values, minlength=size) / np.diff(bounds)
        centred.append(values - mean[group])
    product, one, two = (
        np.bincount(group, weights=centred[a] * centred[b], minlength=size) for a, b in ((0, 1), (0, 0), (1, 1))
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        # two roots, because the product of two small sums of squares may underflow
        found = np.clip(product / np.sqrt(one) / np.sqrt(two), -1.0, 1.0)
    return np.asarray(np.where(constant, np.nan, found))


def moments(human: npt.ArrayLike, scores: npt.ArrayLike) -> FloatArray:
    """Return additive columns that `pearson_of_moments` turns into Pearson's r, shape (n, 6).

    Both sides should be near zero on the whole (centred), for the sake of rounding.
    """
    x, y = (np.asarray(one, dtype=np.float64) for one in (human, scores))
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)


def pearson_of_moments(sums: npt.ArrayLike) -> FloatArray:
    """Pearson's r of summed `moments`, shape (..., 6) to (...); NaN where either side is constant."""
    count, x, y, xx, yy, xy = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread_x, spread_y = xx - x * x / count, yy - y * y / count
        # what rounding leaves of a constant column is no spread
        constant = (spread_x <= 1e-12 * xx) | (spread_y <= 1e-12 * yy)
        found = (xy - x * y / count) / np.sqrt(spread_x) / np.sqrt(spread_y)
    return np.asarray(np.where(constant, np.nan, np.clip(found, -1.0, 1.0)))


def pearson_rows(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Pearson's r along the last axis of arrays (..., n) that broadcast, cells with NaN on either side left out."""
    x, y = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    known = ~np.isnan(x) & ~np.isnan(y)
    count = known.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = [
            np.where(known, one - np.where(known, one, 0.0).sum(-1, keepdims=True) / count, 0.0) for one in (x, y)
        ]
        spread = [np.sqrt((one * one).sum(axis=-1)) for one in centred]
        scale = [np.abs(np.where(known, one, 0.0)).max(axis=-1, initial=0.0) for one in (x, y)]
        found = (centred[0] * centred[1]).sum(axis=-1) / spread[0] / spread[1]
    constant = (spread[0] <= 1e-12 * scale[0]) | (spread[1] <= 1e-12 * scale[1]) | (count[..., 0] < 2)
    return np.asarray(np.where(constant, np.nan, np.clip(found, -1.0, 1.0)))


def _distinct(values: npt.ArrayLike, offsets: Int64Array) -> Int64Array:
    """Return the number of different values in every group."""
    rows = np.asarray(values, dtype=np.float64)
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows = rows[np.lexsort((rows, group))]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]) | (group[1:] != group[:-1])
    return np.bincount(group, weights=new, minlength=len(offsets) - 1).astype(np.int64)
