"""Intervals and p-values: seeded, vectorised, exactly reproducible.

Resampling works on additive statistics, one row per source: a resampled figure is a function of a weighted sum of rows,
and nothing is ever scored again. Two systems or metrics whose outputs are the same get p = 1 from every test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import OptionError, counted
from ranker.evaluation.choices import FEW_SOURCES, Correction
from ranker.evaluation.resampling.bootstrap import LEVEL

_CHUNK = 2_000_000
# rounding must not turn a resample that is as extreme as what was observed into a less extreme one
_ROUNDING = 1e-12


def bootstrap_interval(values: npt.ArrayLike, *, resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of independent values."""
    known = _known(values)
    if len(known) < 2 or not resamples:
        return float("nan"), float("nan")
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    chunk = max(1, _CHUNK // len(known))
    for start in range(0, resamples, chunk):
        rows = min(chunk, resamples - start)
        means[start : start + rows] = known[generator.integers(len(known), size=(rows, len(known)))].mean(axis=1)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def paired_permutation(
    first: npt.ArrayLike, second: npt.ArrayLike, *, permutations: int = 10_000, seed: int = 0
) -> float:
    """Two-sided p-value of the difference between two means of paired values, by random sign flips."""
    difference = _known(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64))
    if not len(difference):
        return float("nan")
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    generator = np.random.default_rng(seed)
    observed = abs(difference.sum()) * (1 - _ROUNDING) - _ROUNDING
    extreme = 0
    chunk = max(1, _CHUNK // len(difference))
    for start in range(0, permutations, chunk):
        rows = min(chunk, permutations - start)
        signs = generator.integers(2, size=(rows, len(difference)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ difference) >= observed).sum())
    return (1 + extreme) / (1 + permutations)


def bootstrap_p(sample: npt.ArrayLike, observed: npt.ArrayLike) -> FloatArray:
    """P-values of differences, from bootstrap samples centred to fit the null hypothesis."""
    return resampled_p(centred(sample), observed)


def centred(sample: npt.ArrayLike) -> FloatArray:
    """Subtract the mean over resamples from bootstrap samples (resamples, ...); NaN is ignored and remains NaN."""
    values = np.asarray(sample, dtype=np.float64)
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(values - np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0))


def resampled_p(null: npt.ArrayLike, observed: npt.ArrayLike) -> FloatArray:
    """Two-sided p-values of differences from resamples under the null hypothesis."""
    size, wanted = np.abs(np.asarray(null, dtype=np.float64)), np.asarray(observed, dtype=np.float64)
    count = (~np.isnan(size)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        p = (1 + (size >= _bound(wanted)).sum(axis=0)) / (1 + count)
    return np.asarray(np.where(np.isnan(wanted) | (count == 0), np.nan, p))


def _bound(observed: FloatArray) -> FloatArray:
    """Smallest value that counts as at least as extreme as `observed`, allowing for rounding errors."""
    return np.asarray(np.abs(observed) * (1 - 1e-9) - _ROUNDING)


def sign_test(wins: int, comparisons: int) -> float:
    """Two-sided p-value of `wins` wins in `comparisons` comparisons without ties, by the sign test.

    Without comparisons it is 1.
    """
    from scipy import stats

    if not 0 <= wins <= comparisons:
        raise OptionError(f"sign test: {wins} wins in {comparisons} comparisons; expected 0 to {comparisons}")
    return float(stats.binomtest(wins, comparisons, 0.5).pvalue) if comparisons else 1.0


def williams(first: npt.ArrayLike, second: npt.ArrayLike, between: npt.ArrayLike, size: int) -> FloatArray:
    """Two-sided p-values of Williams' test (1959) of two Pearson correlations with people (Graham and Baldwin 2014)."""
    from scipy import stats

    r1, r2, r12 = (np.asarray(values, dtype=np.float64) for values in (first, second, between))
    if size < 4:
        return np.full(np.broadcast(r1, r2, r12).shape, np.nan)
    determinant = 1 - r1**2 - r2**2 - r12**2 + 2 * r1 * r2 * r12
    mean = (r1 + r2) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(2 * (size - 1) / (size - 3) * determinant + mean**2 * (1 - r12) ** 3)
        t = np.abs((r1 - r2) * np.sqrt((size - 1) * (1 + r12)) / spread)
    return np.asarray(np.where(r12 >= 1 - _ROUNDING, 1.0, 2 * stats.t.sf(t, size - 3)))


def holm(p: npt.ArrayLike) -> FloatArray:
    """Correct p-values of several hypotheses by Holm's step-down procedure (1979)."""
    values = np.asarray(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    corrected = np.full(values.shape, np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected


def westfall_young(null: npt.ArrayLike, observed: npt.ArrayLike) -> FloatArray:
    """Two-sided p-values of several differences, corrected by step-down max-T (Westfall and Young 1993).

    Every difference is divided by its standard deviation over the resamples, so that all are comparable: T. From the
    most significant difference down, T is compared with the largest T of this and all less significant differences in
    each resample (algorithms 2.8 and 4.1 of the book; Ge, Dudoit and Speed 2003); a p-value is never below that of a
    more significant difference. Unlike with Holm's procedure, the smallest possible value does not grow with the number
    of differences, and correlated differences are corrected less.
    """
    # pairs in rows, of which a block at a time is copied
    values, wanted = np.asarray(null, dtype=np.float64).T, np.asarray(observed, dtype=np.float64)
    resamples = values.shape[1]
    count, spread = np.zeros(len(values), dtype=np.int64), np.zeros(len(values))
    for rows in _blocks(np.arange(len(values)), resamples):
        block = values[rows]
        known = ~np.isnan(block)
        count[rows] = known.sum(axis=1)
        spread[rows] = np.sqrt((np.where(known, block, 0.0) ** 2).sum(axis=1) / np.maximum(count[rows], 1))
    varies = spread > _ROUNDING
    scale = np.where(varies, spread, np.inf)
    bound = _bound(wanted)
    statistic = np.where(~varies & (bound > 0), np.inf, bound / scale)
    defined = np.flatnonzero(~np.isnan(wanted) & (count > 0))
    order = defined[np.argsort(statistic[defined], kind="stable")]
    adjusted = np.full(len(values), np.nan)
    largest = np.zeros(resamples)
    for rows in _blocks(order, resamples):
        block = np.abs(values[rows]) / scale[rows, np.newaxis]
        known = ~np.isnan(block)
        block[~known] = 0.0
        np.maximum(block[0], largest, out=block[0])
        np.maximum.accumulate(block, axis=0, out=block)
        largest = block[-1]
        extreme = (known & (block >= statistic[rows, np.newaxis])).sum(axis=1)
        adjusted[rows] = (1 + extreme) / (1 + count[rows])
    adjusted[order] = np.maximum.accumulate(adjusted[order][::-1])[::-1]
    return adjusted


def corrected(p: npt.ArrayLike, null: npt.ArrayLike, observed: npt.ArrayLike, correction: Correction) -> FloatArray:
    """Correct the p-values of several differences, shape (differences,), for the number of differences.

    `null` and `observed` are those of `westfall_young`; the other corrections take `p` alone.
    """
    if correction == "westfall-young":
        return westfall_young(null, observed)
    return holm(p) if correction == "holm" else np.asarray(p, dtype=np.float64)


def _blocks(rows: Int64Array, width: int) -> Iterator[Int64Array]:
    size = max(1, _CHUNK // max(width, 1))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def few_sources(sources: int, where: str | None = None, unit: str = "source") -> str | None:
    """Return a one-line note that intervals are too narrow with few sources, or None if there are enough."""
    if sources >= FEW_SOURCES:
        return None
    what = f"{counted(sources, unit)}, fewer than {FEW_SOURCES}: intervals are too narrow"
    if sources == 1:
        what = f"only 1 {unit}: no intervals; differences may be chance"
    return f"{where}: {what}" if where else what


def least_p(units: int) -> float:
    """Smallest p-value possible by swapping few whole units, a limit for bootstrap tests too; 0 with enough units."""
    return 0.5 ** (units - 1) if units < FEW_SOURCES else 0.0


def smallest_p(resamples: int, hypotheses: int, correction: Correction) -> float:
    """Smallest possible corrected p-value: 1 / (1 + resamples), for Holm multiplied by the number of hypotheses."""
    return (hypotheses if correction == "holm" else 1) * (1 / (1 + resamples))


def resamples_needed(hypotheses: int, correction: Correction, alpha: float) -> int:
    """Smallest number of resamples for which `smallest_p` is below `alpha`, which must be positive."""
    near = math.floor(smallest_p(0, hypotheses, correction) / alpha)
    return next(
        number for number in (max(near - 1, 0), near, near + 1) if smallest_p(number, hypotheses, correction) < alpha
    )


def too_few_resamples(resamples: int, pairs: int, correction: Correction, alpha: float, where: str = "") -> str | None:
    """Return a one-line note, with a remedy, if no difference can be significant with so few resamples, else None."""
    if smallest_p(resamples, pairs, correction) < alpha:
        return None
    smallest = f"{smallest_p(resamples, pairs, 'none'):.2g}"
    help_ = f"raise --resamples to at least {resamples_needed(pairs, correction, alpha):,}"
    if correction == "holm" and pairs > 1:
        smallest += f", times {pairs} pairs (Holm) {smallest_p(resamples, pairs, 'holm'):.2g}"
        needed = resamples_needed(pairs, "westfall-young", alpha)
        help_ += f", or to {needed:,} with" if resamples < needed else " or use"
        help_ += " --correction westfall-young"
    return (
        f"no difference can be significant{where}: with {counted(resamples, 'resample')} the smallest p-value is "
        f"{smallest}, not below {alpha:g}; {help_}"
    )


def clusters(values: npt.ArrayLike, ahead: npt.ArrayLike) -> Int64Array:
    """Return the number of each competitor's cluster, from 1 for the best; 0 for competitors without a value.

    A competitor significantly worse than a member of the current cluster starts a new cluster (WMT).
    """
    figures, better = np.asarray(values, dtype=np.float64), np.asarray(ahead, dtype=bool)
    numbers = np.zeros(len(figures), dtype=np.int64)
    number, members = 0, list[int]()
    for index in np.argsort(-figures, kind="stable"):
        if np.isnan(figures[index]):
            continue
        if not members or better[members, index].any():
            number, members = number + 1, []
        members.append(int(index))
        numbers[index] = number
    return numbers


def _known(values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    return array[~np.isnan(array)]
