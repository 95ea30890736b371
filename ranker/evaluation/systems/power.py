"""Power of tests of differences between systems: sources needed, the smallest difference found, and its probability."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray


def sources_needed(
    difference: npt.ArrayLike, spread: npt.ArrayLike, sources: int, *, alpha: float, power: float
) -> FloatArray:
    """Number of sources needed for differences of the observed size to be significant.

    ``n * ((z[1 - alpha / 2] + z[power]) * spread / |difference|) ** 2``, rounded up: the normal approximation for a
    single two-sided test; at least `fewest_sources`.
    """
    apart = np.abs(np.asarray(difference, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.ceil(sources * (smallest_found(1.0, alpha=alpha, power=power) * np.asarray(spread) / apart) ** 2)
    return np.where(apart <= 1e-12, np.inf, np.maximum(number, fewest_sources(alpha)))


def fewest_sources(alpha: float) -> int:
    """Smallest number of sources for which exact randomisation can give a p-value below `alpha`: 6 for 0.05."""
    return math.floor(1 - math.log2(alpha)) + 1


def smallest_found(spread: float, *, alpha: float, power: float) -> float:
    """Smallest difference found significant with probability `power`, by the approximation of `sources_needed`."""
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * spread


def power_of(difference: float, spread: float, alpha: float) -> float:
    """Probability that a difference is found significant, by the approximation of `sources_needed`."""
    if not spread:
        return float(bool(difference))
    normal = NormalDist()
    apart, limit = abs(difference) / spread, normal.inv_cdf(1 - alpha / 2)
    return normal.cdf(apart - limit) + normal.cdf(-apart - limit)
