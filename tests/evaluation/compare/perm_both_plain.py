"""PERM-BOTH: whether one metric is closer to people than another (Deutsch, Dror and Roth 2021).

Both metrics are standardised, and for every single output their two scores are swapped at random; under the null
hypothesis the difference of the two correlations does not mind. With few outputs all swaps are enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.errors import OptionError
from ranker.evaluation.correlation.pair_counts import _count_small, accuracy_with_ties, consistency_share, tau, tau_b
from tests.evaluation.correlation.plain import Averaging, group_correlation, grouped_table

_ROUNDING = 1e-12
_CHUNK = 4_000_000
COUNTED = {"kendall-b": tau_b, "accuracy": accuracy_with_ties, "consistency": consistency_share}
SWAPPED = ("pearson", *COUNTED, "wmt12", "wmt13", "wmt14", "xties")
"""Correlations that `perm_both` knows."""


@dataclass(frozen=True)
class PermutationTest:
    """Result of PERM-BOTH.

    Parameters
    ----------
    difference : float
        Correlation of the first metric minus that of the second.
    greater : float
        P-value for the hypothesis that the first correlates better.
    two_sided : float
        P-value for the hypothesis that they differ.
    permutations : int
    exact : bool
        All swaps were enumerated.
    """

    difference: float
    greater: float
    two_sided: float
    permutations: int
    exact: bool


@njit(cache=True, nogil=True, parallel=True)
def _swapped_counts(
    human: FloatArray, first: FloatArray, second: FloatArray, swap: BoolArray, offsets: Int64Array
) -> Int64Array:
    """Count pairs of both metrics after every set of swaps, shape (2, swaps, groups, 5)."""
    counts = np.zeros((2, len(swap), len(offsets) - 1, 5), dtype=np.int64)
    for row in prange(len(swap)):
        left, right = np.where(swap[row], second, first), np.where(swap[row], first, second)
        for group in range(len(offsets) - 1):
            start, stop = offsets[group], offsets[group + 1]
            _count_small(human[start:stop], left[start:stop], 0.0, counts[0, row, group])
            _count_small(human[start:stop], right[start:stop], 0.0, counts[1, row, group])
    return counts


def perm_both(
    human: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    name: str = "pearson",
    average: Averaging = "none",
    *,
    permutations: int = 1000,
    seed: int = 0,
) -> PermutationTest:
    """Test whether two metrics correlate with people differently.

    Parameters
    ----------
    human, first, second : array-like, shape (systems, items)
        Higher is better; NaN in `human` where nobody judged.
    name : str, default "pearson"
        One of `SWAPPED`.
    average : {"none", "item", "system"}, default "none"
        As in `ranker.evaluation.correlation.correlation.correlate`.
    permutations : int, default 1000
        If there are no more sets of swaps than that, all are taken instead.
    seed : int, default 0

    Returns
    -------
    PermutationTest

    Raises
    ------
    OptionError
        If the correlation is not one of `SWAPPED`.
    """
    if name not in SWAPPED:
        raise OptionError(f"PERM-BOTH: no correlation {name!r}; available: {', '.join(SWAPPED)}")
    target, left, offsets = grouped_table(human, first, average)
    right = grouped_table(human, second, average)[1]
    left, right = standardised(left), standardised(right)
    observed = _mean(group_correlation(target, left, offsets, name)) - _mean(
        group_correlation(target, right, offsets, name)
    )
    exact = len(target) < 50 and 2 ** len(target) <= permutations
    swap = _all_swaps(len(target)) if exact else np.random.default_rng(seed).random((permutations, len(target))) < 0.5
    chunk = max(1, _CHUNK // max(len(target), 1))
    blocks = [swap[start : start + chunk] for start in range(0, len(swap), chunk)]
    if name == "pearson":
        result = np.concatenate([_pearson_differences(target, left, right, offsets, block) for block in blocks])
    else:
        finish = COUNTED.get(name, lambda counts: tau(counts, name))  # type: ignore[arg-type]
        values = [finish(_swapped_counts(target, left, right, block, offsets)) for block in blocks]
        result = np.concatenate([_mean(value[0]) - _mean(value[1]) for value in values])
    extra = 0 if exact else 1
    bound = abs(observed) * (1 - _ROUNDING)
    greater = int((result >= observed - _ROUNDING).sum())
    either = int((np.abs(result) >= bound - _ROUNDING).sum())
    size = len(swap) + extra
    return PermutationTest(float(observed), (extra + greater) / size, (extra + either) / size, len(swap), exact)


def standardised(values: FloatArray) -> FloatArray:
    """Return values with mean 0 and standard deviation 1; what is constant becomes 0."""
    spread = values.std() if len(values) else 0.0
    return np.asarray((values - values.mean()) / spread if spread > 0 else np.zeros_like(values))


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean over the last axis of what is defined, 0 if nothing is."""
    known = ~np.isnan(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / np.maximum(known.sum(axis=-1), 1))


def _all_swaps(size: int) -> BoolArray:
    return ((np.arange(2**size)[:, np.newaxis] >> np.arange(size)) & 1).astype(bool)


def _pearson_differences(
    human: FloatArray, first: FloatArray, second: FloatArray, offsets: Int64Array, swap: BoolArray
) -> FloatArray:
    """Return mean Pearson's r of the first minus that of the second metric after every set of swaps.

    Sums over a group after a swap are the sums before, plus the summed change of what was swapped.
    """
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    size = len(offsets) - 1
    count = np.maximum(np.diff(offsets), 1)
    centred = human - (np.bincount(group, weights=human, minlength=size) / count)[group]
    spread = np.bincount(group, weights=centred**2, minlength=size)
    member = (group[:, np.newaxis] == np.arange(size)).astype(np.float64)
    weights = swap.astype(np.float64)

    def r(mine: FloatArray, other: FloatArray) -> FloatArray:
        sums = [
            np.bincount(group, weights=before, minlength=size) + (weights * (after - before)) @ member
            for before, after in ((mine, other), (mine**2, other**2), (centred * mine, centred * other))
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            left = sums[1] - sums[0] ** 2 / count
            constant = (left <= _ROUNDING * sums[1]) | (spread <= 0)
            return np.asarray(np.where(constant, np.nan, sums[2] / np.sqrt(left) / np.sqrt(spread)))

    return _mean(r(first, second)) - _mean(r(second, first))
