"""Westfall and Young's step-down procedure in plain Python."""

from __future__ import annotations

import numpy as np


def step_down_max_t(null: np.ndarray, observed: np.ndarray) -> list[float]:
    """Westfall-Young in plain Python: one pair after the other, every maximum taken anew."""
    resamples, pairs = null.shape
    spread = [(sum(null[row][pair] ** 2 for row in range(resamples)) / resamples) ** 0.5 for pair in range(pairs)]
    statistic = [abs(observed[pair]) / spread[pair] for pair in range(pairs)]
    most_significant_first = sorted(range(pairs), key=lambda pair: -statistic[pair])
    adjusted, before = [0.0] * pairs, 0.0
    for place, pair in enumerate(most_significant_first):
        left = most_significant_first[place:]
        largest = [max(abs(null[row][other]) / spread[other] for other in left) for row in range(resamples)]
        p = (1 + sum(value >= statistic[pair] for value in largest)) / (1 + resamples)
        before = adjusted[pair] = max(before, p)
    return adjusted
