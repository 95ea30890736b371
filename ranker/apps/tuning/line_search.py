"""Exact line search for the weights of a linear model over n-best lists (Och 2003), with any metric."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ranker.apps.tuning.envelope import (
    best_of_blocks,
    order_in_blocks,
    project,
    sweep,
    wide_intervals,
)
from ranker.apps.tuning.hypotheses import objective_gain
from ranker.arrays import FloatArray, Int64Array
from ranker.ranking.scorers import Scorer

_NARROW = 1e-10
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Problem:
    """The data of a search for weights: features of hypotheses, and their statistics for the objective."""

    features: FloatArray
    offsets: Int64Array
    row: Int64Array
    statistics: FloatArray
    objective: Scorer

    @functools.cached_property
    def columns(self) -> FloatArray:
        """Features by column, shape (columns, hypotheses)."""
        return np.ascontiguousarray(self.features.T)

    @functools.cached_property
    def spread(self) -> FloatArray:
        """Standard deviation of every column within sentences, shape (columns,); 1 where the deviation is 0."""
        if not len(self.features):
            return np.ones(self.features.shape[1])
        sizes = np.diff(self.offsets)
        block = np.repeat(np.arange(len(sizes)), sizes)
        number = np.maximum(sizes, 1)
        deviations = []
        for column in self.columns:
            mean = np.bincount(block, column, minlength=len(sizes)) / number
            deviations.append(np.sqrt(np.mean((column - mean[block]) ** 2)))
        spread = np.array(deviations)
        return np.where(spread > 0, spread, 1.0)

    def prepare(self) -> None:
        """Compute the cached values in advance, so that several threads do not compute them at the same time."""
        _ = self.orders, self.spread

    def gain(self, weights: FloatArray) -> float:
        """Return the score of the hypotheses that `weights` choose, negated where lower is better."""
        return self.gain_of(project(self.features, weights))

    def gain_of(self, model_scores: FloatArray) -> float:
        """Return the gain of the hypotheses with the highest `model_scores`, an array of shape (hypotheses,)."""
        chosen = best_of_blocks(model_scores, self.offsets)
        sums = self.statistics[self.row[chosen[chosen >= 0]]].sum(axis=0)
        return float(objective_gain(self.objective, sums))

    def line(self, model_scores: FloatArray, direction: int | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return breakpoints and summed statistics (see `sweep`) along `direction`, a column's index or a vector."""
        if isinstance(direction, int):
            slope, order = self.columns[direction], self.orders[direction]
        else:
            slope = project(self.features, direction)
            order = order_in_blocks(slope, self.offsets)
        return sweep(model_scores, slope, order, self.offsets, self.row, self.statistics)

    @functools.cached_property
    def orders(self) -> list[Int64Array]:
        """Indices of the hypotheses of every sentence, sorted by ascending value, for each column."""
        return [order_in_blocks(column, self.offsets) for column in self.columns]

    def best_step(
        self,
        model_scores: FloatArray,
        direction: int | FloatArray,
        lowest: float = -np.inf,
        highest: float = np.inf,
    ) -> tuple[float, float]:
        """Return the best step along a direction, usually the middle of its interval, and the gain of that step."""
        breakpoints, sums = self.line(model_scores, direction)
        wide, left, right = wide_intervals(breakpoints, lowest, highest, _NARROW)
        if not len(wide):
            return 0.0, -np.inf
        gains = objective_gain(self.objective, sums[wide])
        best = gains.max()
        equal = np.flatnonzero(gains >= best - _SAME * max(1.0, abs(best)) if np.isfinite(best) else gains == best)
        steps = _inside(left[equal], right[equal])
        taken = np.argmin(np.abs(steps))
        return float(steps[taken]), float(gains[equal[taken]])


def _inside(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return a step in each interval: 0 if well inside it, else its middle or a step near its only finite end."""
    ends = np.isfinite(left), np.isfinite(right)
    # numbers in place of infinities keep the arithmetic below from warning
    low, high = np.where(ends[0], left, -1.0), np.where(ends[1], right, 1.0)
    low = np.where(~ends[0] & ends[1], high - np.maximum(1.0, np.abs(high)), low)
    high = np.where(~ends[1], low + np.maximum(2.0, 2.0 * np.abs(low)), high)
    middle = 0.5 * (low + high)
    margin = 1e-6 * (high - low)
    return np.where((low + margin < 0) & (high - margin > 0), 0.0, middle)
