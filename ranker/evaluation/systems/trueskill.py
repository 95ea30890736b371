"""TrueSkill of two players, as a kernel: one pass over all comparisons updates every system's mean and deviation.

Herbrich, Minka and Graepel (2006), for teams of one; used for systems by Sakaguchi, Post and Van Durme (2014).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.storage.kernels import kernel

_ROOT_TWO = math.sqrt(2.0)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class TrueSkill:
    """Parameters of the TrueSkill model."""

    sigma: float = 0.5
    beta: float = 0.25
    drift: float = 0.0
    draws: float = 0.25

    def margin(self) -> float:
        """Largest difference in performance at which two systems tie."""
        from scipy.special import ndtri

        return float(ndtri((self.draws + 1) / 2) * _ROOT_TWO * self.beta)

    def rate(
        self, first: npt.ArrayLike, second: npt.ArrayLike, outcome: npt.ArrayLike, systems: int, orders: npt.ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return the means and standard deviations of skills after comparisons in each of `orders`.

        Both arrays have the shape (orders, systems).
        """
        skill, deviation = _rate(
            np.ascontiguousarray(first, dtype=np.int64),
            np.ascontiguousarray(second, dtype=np.int64),
            np.ascontiguousarray(outcome, dtype=np.int64),
            systems,
            np.ascontiguousarray(np.atleast_2d(orders), dtype=np.int64),
            self.sigma,
            self.beta,
            self.drift,
            self.margin(),
        )
        return skill, deviation


@kernel(elements=0)
def _density(x: float) -> float:
    return float(math.exp(-0.5 * x * x) / _ROOT_TWO_PI)


@kernel(elements=0)
def _below(x: float) -> float:
    return 0.5 * math.erfc(-x / _ROOT_TWO)


@kernel(elements=0)
def _surprise(apart: float, margin: float, tie: bool) -> tuple[float, float]:
    """Return the factors by which an outcome shifts the means of skills and shrinks their variances.

    `apart` and `margin` are in standard deviations.
    """
    if not tie:
        x = apart - margin
        mass = _below(x)
        # far in the tail the ratio of density and mass tends to -x
        mean = _density(x) / mass if mass > 1e-300 else -x
        return mean, mean * (mean + x)
    size = abs(apart)
    low, high = -margin - size, margin - size
    mass = _below(high) - _below(low)
    if mass < 1e-300:
        return (-high if apart >= 0.0 else high), 1.0
    mean = (_density(low) - _density(high)) / mass
    shrink = mean * mean + (high * _density(high) - low * _density(low)) / mass
    return (mean if apart >= 0.0 else -mean), shrink


@kernel(elements=0, rows=("orders",))
def _rate(
    first: Int64Array,
    second: Int64Array,
    outcome: Int64Array,
    systems: int,
    orders: Int64Array,
    sigma: float,
    beta: float,
    drift: float,
    margin: float,
) -> tuple[FloatArray, FloatArray]:
    skill = np.zeros((len(orders), systems))
    variance = np.full((len(orders), systems), sigma * sigma)
    for run in range(len(orders)):
        for place in range(orders.shape[1]):
            comparison = orders[run, place]
            if comparison < 0:
                continue
            a, b = first[comparison], second[comparison]
            if outcome[comparison] < 0:
                a, b = b, a
            variance_a = variance[run, a] + drift * drift
            variance_b = variance[run, b] + drift * drift
            spread = math.sqrt(2.0 * beta * beta + variance_a + variance_b)
            apart = (skill[run, a] - skill[run, b]) / spread
            mean, shrink = _surprise(apart, margin / spread, outcome[comparison] == 0)
            skill[run, a] += variance_a / spread * mean
            skill[run, b] -= variance_b / spread * mean
            variance[run, a] = variance_a * (1.0 - variance_a / (spread * spread) * shrink)
            variance[run, b] = variance_b * (1.0 - variance_b / (spread * spread) * shrink)
    return skill, np.sqrt(variance)
