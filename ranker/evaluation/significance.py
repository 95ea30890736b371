"""Intervals and p-values by resampling: seeded, vectorised, exactly reproducible."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
_CHUNK = 2_000_000


def bootstrap_interval(
    values: npt.ArrayLike, *, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of independent values.

    Parameters
    ----------
    values : array-like, shape (n,)
        NaN is left out.
    resamples : int, default 1000
    seed : int, default 0
    level : float, default 0.95

    Returns
    -------
    (low, high) : float
        NaN if there is no value.
    """
    known = _known(values)
    if not len(known) or not resamples:
        return float("nan"), float("nan")
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    chunk = max(1, _CHUNK // len(known))
    for start in range(0, resamples, chunk):
        rows = min(chunk, resamples - start)
        means[start : start + rows] = known[generator.integers(len(known), size=(rows, len(known)))].mean(axis=1)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def paired_permutation(
    first: npt.ArrayLike, second: npt.ArrayLike, *, permutations: int = 10_000, seed: int = 0
) -> float:
    """Two-sided p-value of the difference of two means of paired values, by random sign flips.

    Parameters
    ----------
    first, second : array-like, shape (n,)
        Values of the same items; a pair with a NaN is left out.
    permutations : int, default 10000
    seed : int, default 0

    Returns
    -------
    float
        ``(1 + flips at least as extreme) / (1 + permutations)``; 1 if the values are identical, NaN if there are
        none.
    """
    difference = _known(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64))
    difference = difference[difference != 0] if len(difference) else difference
    if not len(difference):
        return float("nan") if not len(_known(first)) else 1.0
    generator = np.random.default_rng(seed)
    # rounding must not turn a flip that is as extreme as the observed one into a less extreme one
    observed = abs(difference.sum()) * (1 - 1e-12)
    extreme = 0
    chunk = max(1, _CHUNK // len(difference))
    for start in range(0, permutations, chunk):
        rows = min(chunk, permutations - start)
        signs = generator.integers(2, size=(rows, len(difference)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ difference) >= observed).sum())
    return (1 + extreme) / (1 + permutations)


def _known(values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    return array[~np.isnan(array)]
