"""Power of tests of differences between systems: sources needed, the smallest difference found, and its probability.

The power is that of the paired t-test at the largest level up to alpha that exact randomisation attains, because
randomisation has this power for normal differences. Student's noncentral t is approximated by a normal distribution
(Abramowitz and Stegun 1964, 26.7.10); with the fewest sources, a difference is significant if all have its sign.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray

_NORMAL = NormalDist()
_MOST = 500
"""Number of sources from which a correction of the normal approximation is accurate (Guenther 1981)."""


def sources_needed(
    difference: npt.ArrayLike, error: npt.ArrayLike, sources: int, *, alpha: float, power: float
) -> FloatArray:
    """Smallest numbers of sources with which differences of the observed size are significant.

    `error` is their standard error with `sources`. The test is two-sided and of a single pair.
    """
    apart = np.abs(np.asarray(difference, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = apart / (np.asarray(error) * math.sqrt(sources))
        reach = (_NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)) / effect
    numbers = range(fewest_sources(alpha), _MOST)
    smallest = [smallest_found(1 / math.sqrt(number), number, alpha=alpha, power=power) for number in numbers]
    few = numbers[0] + np.searchsorted(-np.array(smallest), -effect)
    many = np.ceil(reach**2 + _NORMAL.inv_cdf(1 - alpha / 2) ** 2 / 2)
    return np.where(apart <= 1e-12, np.inf, np.where(few < _MOST, few, many))


def fewest_sources(alpha: float) -> int:
    """Smallest number of sources for which exact randomisation can give a p-value below `alpha`: 6 for 0.05."""
    return math.floor(1 - math.log2(alpha)) + 1


def smallest_found(error: float, sources: int, *, alpha: float, power: float) -> float:
    """Smallest difference found significant with probability `power`, from its standard error with `sources`."""
    if sources == fewest_sources(alpha):
        return error * math.sqrt(sources) * _NORMAL.inv_cdf(power ** (1 / sources))
    limit, spread = _limit(sources, alpha)
    return error * (limit + _NORMAL.inv_cdf(power) * spread)


def power_of(difference: float, error: float, sources: int, alpha: float) -> float:
    """Probability that a difference is found significant, from its standard error with `sources`."""
    if sources < fewest_sources(alpha):
        return 0.0
    if not error:
        return float(bool(difference))
    apart = abs(difference) / error
    if sources == fewest_sources(alpha):
        return sum(_NORMAL.cdf(side * apart / math.sqrt(sources)) ** sources for side in (1, -1))
    limit, spread = _limit(sources, alpha)
    return sum(_NORMAL.cdf((side * apart - limit) / spread) for side in (1, -1))


def _limit(sources: int, alpha: float) -> tuple[float, float]:
    """Smallest significant difference in standard errors, and the standard deviation of a difference in them."""
    from scipy.special import stdtrit

    swaps = 2.0 ** min(sources - 1, 50)
    level = (math.ceil(alpha * swaps) - 1) / swaps
    quantile = float(stdtrit(sources - 1, 1 - level / 2))
    return quantile * (1 - 1 / (4 * (sources - 1))), math.sqrt(1 + quantile**2 / (2 * (sources - 1)))
