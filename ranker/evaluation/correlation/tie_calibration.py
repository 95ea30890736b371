"""Pairwise accuracy with tie calibration (Deutsch, Foster and Freitag 2023, "Ties Matter", section 5).

People tie often and metrics with decimals never do, so a metric may call scores tied that differ by no more than a
threshold; the threshold that suits it best is found on the very data that it is judged on, for every metric alike.
Distances are compared exactly, as by mt-metrics-eval, so that the figures are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array, offsets_of
from ranker.storage.kernels import kernel


@dataclass(frozen=True)
class Calibration:
    """Threshold for ties that maximises pairwise accuracy."""

    epsilon: float
    accuracy: float
    groups: int


@kernel(elements=50_000, offsets=("offsets", "starts"))
def _distances(
    human: FloatArray,
    scores: FloatArray,
    offsets: Int64Array,
    starts: Int64Array,
    distance: FloatArray,
    gain: FloatArray,
) -> FloatArray:
    """Return each group's share of correct pairs if only equal scores tie; fill `distance` and `gain` for all pairs.

    A pair's `distance` is its score difference, and its `gain` the change of mean accuracy if the pair is tied.
    """
    correct = np.zeros(len(offsets) - 1)
    for group in range(len(offsets) - 1):
        pair = starts[group]
        share = 1.0 / max(starts[group + 1] - pair, 1)
        for first in range(offsets[group], offsets[group + 1]):
            for second in range(offsets[group], first):
                by_human, by_score = human[first] - human[second], scores[first] - scores[second]
                tied = by_human == 0.0
                right = by_score == 0.0 if tied else by_human * by_score > 0.0
                distance[pair] = abs(by_score)
                gain[pair] = ((1.0 if tied else 0.0) - (1.0 if right else 0.0)) * share
                correct[group] += share if right else 0.0
                pair += 1
    return correct


def calibrate(human: npt.ArrayLike, scores: npt.ArrayLike, offsets: npt.ArrayLike) -> Calibration:
    """Find the threshold for ties with the highest pairwise accuracy (Deutsch, Foster and Freitag 2023, section 5).

    People tie often and metrics with decimals never do, so a metric may call scores tied that differ by no more than a
    threshold; the threshold that suits it best is found on the very data that it is judged on, for every metric alike.
    Distances are compared exactly, as by mt-metrics-eval, so that the figures are the same.
    """
    bounds = np.ascontiguousarray(offsets, dtype=np.int64)
    target, values = (np.ascontiguousarray(values, dtype=np.float64) for values in (human, scores))
    size = np.diff(bounds)
    starts = offsets_of(size * (size - 1) // 2)
    groups = int((size > 1).sum())
    if not groups:
        return Calibration(0.0, float("nan"), 0)
    distance, gain = np.empty(starts[-1]), np.empty(starts[-1])
    correct = _distances(target, values, bounds, starts, distance, gain).sum()
    order = np.argsort(distance, kind="stable")
    distance, total = distance[order], correct + np.cumsum(gain[order])
    last = np.append(distance[1:] != distance[:-1], True)
    thresholds = np.concatenate([[0.0], distance[last]])
    accuracy = np.concatenate([[correct], total[last]]) / groups
    # rounding in the running sum must not prefer a later threshold that is no better
    best = int(np.argmax(accuracy >= accuracy.max() - 1e-12))
    return Calibration(float(thresholds[best]), float(accuracy[best]), groups)
