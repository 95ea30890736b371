"""The loss of one training pair, and sums of it over many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Totals(NamedTuple):
    """Sums over the pairs, each counted with its weight."""

    cap_slack: float
    """Slack of the pairs beyond the zone."""
    zone_slack: float
    """Slack of the pairs in the zone."""
    zone_squares: float
    """Squared slack of the pairs in the zone."""


class PairLoss(NamedTuple):
    """A convex loss of one pair, by its derivative: ``slope * slack`` up to slack `width`, `cap` beyond.

    An infinite `width` is the squared hinge ``slope / 2 * slack ** 2``. A finite one is Huber's smoothing of the
    hinge ``cap * slack``, if ``slope * width == cap``.
    """

    width: float
    slope: float
    cap: float

    def unsmoothed(self, totals: Totals) -> float:
        """Return the sum over pairs of the loss that this one is, or smooths."""
        if np.isinf(self.width):
            return 0.5 * self.slope * totals.zone_squares
        return self.cap * (totals.cap_slack + totals.zone_slack)

    def smoothing_gap(self, totals: Totals) -> float:
        """Return the duality gap that is due to smoothing: the sum over the zone of ``(cap - alpha) * slack``."""
        if np.isinf(self.width):
            return 0.0
        return max(0.0, self.cap * totals.zone_slack - self.slope * totals.zone_squares)

    def narrowed(self, factor: float) -> PairLoss:
        """Return the smoothing of the same hinge by `factor` times the width."""
        return PairLoss(self.width * factor, self.slope / factor, self.cap)
