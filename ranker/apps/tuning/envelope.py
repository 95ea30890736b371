"""Kernels of the exact line search: upper envelopes of lines, and sums of statistics along their breakpoints.

Moving the weights w along a direction v turns the model score of every hypothesis into a line in the step:
``features . w + step * features . v``. The highest line of a sentence over all steps is the upper envelope of its
lines, so the translation that the weights choose changes at its breakpoints only (Och 2003, section 6).

A kernel takes a millisecond or so, too short to be spread over threads: `ranker.apps.tuning.mert` runs the searches
from several starting points side by side instead.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.ranks import TIE, stable_order
from ranker.storage.kernels import kernel


@kernel(elements=0)
def project(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``features @ weights``, with the products in every row added in the same order on every machine."""
    result = np.empty(len(features))
    for row in range(len(features)):
        total = 0.0
        for column in range(features.shape[1]):
            total += features[row, column] * weights[column]
        result[row] = total
    return result


@kernel(elements=0)
def best_of_blocks(values: FloatArray, offsets: Int64Array) -> Int64Array:
    """Return each block's row with the highest value: the first if tied (see `merge_ties`), -1 for an empty block."""
    result = np.empty(len(offsets) - 1, dtype=np.int64)
    for block in range(len(offsets) - 1):
        best = -1
        for row in range(offsets[block], offsets[block + 1]):
            if best < 0 or values[row] > values[best]:
                best = row
        if best >= 0:
            lowest = values[best]
            while True:
                first, reached = best, lowest
                for row in range(offsets[block], offsets[block + 1]):
                    if reached - values[row] <= TIE:
                        first = min(first, row)
                        lowest = min(lowest, values[row])
                best = first
                # ties chain, so a lower member may bring in others; NaN is not lower
                if not lowest < reached:
                    break
        result[block] = best
    return result


@kernel(elements=0)
def order_in_blocks(values: FloatArray, offsets: Int64Array) -> Int64Array:
    """Return the rows of each block sorted by ascending value; equal values keep their order."""
    result = np.empty(len(values), dtype=np.int64)
    for block in range(len(offsets) - 1):
        start, stop = offsets[block], offsets[block + 1]
        result[start:stop] = start + stable_order(values[start:stop])
    return result


@kernel(elements=0)
def _breakpoints(
    intercept: FloatArray, slope: FloatArray, order: Int64Array, offsets: Int64Array
) -> tuple[FloatArray, Int64Array, Int64Array, Int64Array]:
    """Return breakpoints of blocks' upper envelopes, the highest rows before and after each, and each block's first."""
    steps = np.empty(len(order))
    before = np.empty(len(order), dtype=np.int64)
    after = np.empty(len(order), dtype=np.int64)
    first = np.full(len(offsets) - 1, -1, dtype=np.int64)
    # the envelope of a block: its lines in `after`, and where each of them begins in `steps`
    base = 0
    for block in range(len(offsets) - 1):
        size = 0
        for at in range(offsets[block], offsets[block + 1]):
            row = order[at]
            if size > 0 and slope[row] == slope[after[base + size - 1]]:
                if intercept[row] <= intercept[after[base + size - 1]]:
                    continue
                size -= 1
            start = -np.inf
            while size > 0:
                top = after[base + size - 1]
                start = (intercept[top] - intercept[row]) / (slope[row] - slope[top])
                if start <= steps[base + size - 1]:
                    size -= 1
                    start = -np.inf
                else:
                    break
            if start < np.inf:
                after[base + size] = row
                steps[base + size] = start
                size += 1
        if size > 0:
            first[block] = after[base]
        for at in range(base, base + size - 1):
            steps[at], before[at], after[at] = steps[at + 1], after[at], after[at + 1]
        base += max(size - 1, 0)
    return steps[:base], before[:base], after[:base], first


@kernel(elements=0)
def _running_sums(
    statistics: FloatArray, row: Int64Array, first: Int64Array, before: Int64Array, after: Int64Array, order: Int64Array
) -> FloatArray:
    """Return the summed statistics of the chosen hypotheses between breakpoints, shape (breakpoints + 1, k)."""
    size = statistics.shape[1]
    result = np.zeros((len(order) + 1, size))
    for hypothesis in first:
        # -1 for a sentence without hypotheses
        if hypothesis >= 0:
            for column in range(size):
                result[0, column] += statistics[row[hypothesis], column]
    for index in range(len(order)):
        old, new = row[before[order[index]]], row[after[order[index]]]
        for column in range(size):
            change = statistics[new, column] - statistics[old, column]
            result[index + 1, column] = result[index, column] + change
    return result


def sweep(
    intercept: FloatArray,
    slope: FloatArray,
    order: Int64Array,
    offsets: Int64Array,
    row: Int64Array,
    statistics: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the breakpoints along a direction, and the summed statistics of the hypotheses chosen between them."""
    steps, before, after, first = _breakpoints(intercept, slope, order, offsets)
    by_step = np.argsort(steps, kind="stable")
    return steps[by_step], _running_sums(statistics, row, first, before, after, by_step)


@kernel(elements=0)
def wide_intervals(
    breakpoints: FloatArray, lowest: float, highest: float, narrow: float
) -> tuple[Int64Array, FloatArray, FloatArray]:
    """Return the index, start and end, within the bounds, of each interval between breakpoints that is wide enough."""
    number = len(breakpoints) + 1
    which = np.empty(number, dtype=np.int64)
    left, right = np.empty(number), np.empty(number)
    size = 0
    for index in range(number):
        begin = max(breakpoints[index - 1] if index > 0 else -np.inf, lowest)
        end = min(breakpoints[index] if index < number - 1 else np.inf, highest)
        distance = (abs(begin) if np.isfinite(begin) else 0.0) + (abs(end) if np.isfinite(end) else 0.0)
        if end - begin > narrow * (1.0 + distance):
            which[size], left[size], right[size] = index, begin, end
            size += 1
    return which[:size], left[:size], right[:size]
