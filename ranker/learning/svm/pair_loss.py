"""Pairs of a better and a worse row, and sums over them of a loss and its derivatives.

Row ``i`` is *better* than row ``j``; with scores ``z`` the pair's *margin* is ``z_i - z_j`` and its *slack*
``u = max(0, 1 - margin)``. Every loss here is 0 at slack 0, a parabola up to slack `width` (the *zone*) and a
straight line beyond it (the *cap*), so its derivative, the pair's dual variable, is

    alpha(u) = slope * u  in the zone,    cap  beyond it.

All that a Newton method asks of such a loss is sums over pairs: the alphas added up by row, three totals, and the
second derivative ``slope * X' L X``, where ``L`` is the Laplacian of the graph whose edges are the pairs in the zone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ranker.arrays import BoolArray, FloatArray, Int64Array, offsets_of, pairs_in_blocks
from ranker.errors import DataError

MOST_PAIRS = 200_000_000
"""Maximum number of pairs of graded rows; a list of more pairs takes over 10 GB."""


class Totals(NamedTuple):
    """Sums of slack and of squared slack over pairs, weighted by the pairs' weights."""

    cap_slack: float
    """Slack of the pairs beyond the zone."""
    zone_slack: float
    """Slack of the pairs in the zone."""
    zone_squares: float
    """Squared slack of the pairs in the zone."""


class PairLoss(NamedTuple):
    """Convex loss of one pair, defined by its derivative: ``slope * slack`` for slack up to `width`, `cap` beyond.

    An infinite `width` is the squared hinge ``slope / 2 * slack ** 2``. A finite one is Huber's smoothing of the
    hinge ``cap * slack``, if ``slope * width == cap``.
    """

    width: float
    slope: float
    cap: float

    def unsmoothed(self, totals: Totals) -> float:
        """Return the sum over pairs of the loss without smoothing: the hinge or the squared hinge."""
        if np.isinf(self.width):
            return 0.5 * self.slope * totals.zone_squares
        return self.cap * (totals.cap_slack + totals.zone_slack)

    def smoothing_gap(self, totals: Totals) -> float:
        """Return the duality gap of smoothing: the sum of ``(cap - alpha) * slack`` over slacks in (0, `width`]."""
        if np.isinf(self.width):
            return 0.0
        return max(0.0, self.cap * totals.zone_slack - self.slope * totals.zone_squares)

    def narrowed(self, factor: float) -> PairLoss:
        """Return a smoothing of the same hinge whose width is `factor` times as large."""
        return PairLoss(self.width * factor, self.slope / factor, self.cap)


class PairSet:
    """Weighted pairs of n rows, in the form in which solvers use them."""

    def __init__(self, n_rows: int, better: Int64Array, worse: Int64Array, weights: FloatArray) -> None:
        order = np.argsort(better, kind="stable")
        self.n_rows = n_rows
        self.better, self.worse, self.weights = better[order], worse[order], weights[order]
        self.total_weight = float(weights.sum())
        self._starts = offsets_of(np.bincount(better, minlength=n_rows))

    @classmethod
    def graded(cls, offsets: Int64Array, grades: FloatArray) -> PairSet:
        """Make a pair with weight 1 from every two rows of the same group that have different grades."""
        sizes = np.diff(offsets)
        possible = int((sizes * (sizes - 1) // 2).sum())
        if possible > MOST_PAIRS:
            raise DataError(
                f"groups of up to {sizes.max():,} rows have {possible:,} pairs, expected at most {MOST_PAIRS:,}: "
                "compare rows in smaller groups, or give pairs"
            )
        first, second = pairs_in_blocks(offsets)
        sign = np.sign(grades[first] - grades[second])
        first, second, sign = first[sign != 0], second[sign != 0], sign[sign != 0]
        pairs = np.where(sign > 0, first, second), np.where(sign > 0, second, first)
        return cls(len(grades), *pairs, np.ones(len(sign)))

    def alphas(self, scores: FloatArray, loss: PairLoss) -> tuple[FloatArray, Totals]:
        """Return each row's sum of alphas over pairs won minus pairs lost, and the weighted sums of slack."""
        slack = self._slack(scores)
        in_zone = _in_zone(slack, loss.width)
        zone, cap = np.where(in_zone, slack, 0.0), np.where(slack > loss.width, slack, 0.0)
        alpha = self.weights * np.where(cap > 0.0, loss.cap, loss.slope * zone)
        won, lost = (np.bincount(rows, alpha, self.n_rows) for rows in (self.better, self.worse))
        return np.asarray(won - lost, dtype=np.float64), Totals(
            *(float(self.weights @ part) for part in (cap, zone, zone * zone))
        )

    def curvature(self, scores: FloatArray, rows: FloatArray, width: float) -> FloatArray:
        """Return ``rows' L rows``, where L is the weighted graph Laplacian of the pairs with slack in (0, `width`]."""
        weights = np.where(_in_zone(self._slack(scores), width), self.weights, 0.0)
        degree = sum(np.bincount(ends, weights, self.n_rows) for ends in (self.better, self.worse))
        edges = csr_array((weights, self.worse, self._starts), shape=(self.n_rows, self.n_rows))
        half = rows.T @ (0.5 * np.asarray(degree)[:, np.newaxis] * rows - edges @ rows)
        return np.asarray(half + half.T)

    def tight(self, scores: FloatArray, width: float) -> Int64Array:
        """Return the indices of the pairs whose margin differs from 1 by at most `width`."""
        return np.flatnonzero(np.abs(self._slack(scores)) <= width)

    def _slack(self, scores: FloatArray) -> FloatArray:
        """Return 1 minus the margin of each pair."""
        return np.asarray(1.0 - (scores[self.better] - scores[self.worse]))


def _in_zone(slack: FloatArray, width: float) -> BoolArray:
    return np.asarray((slack > 0.0) & (slack <= width))
