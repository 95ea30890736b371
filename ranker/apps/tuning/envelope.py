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
    """Return the row of each block's highest value: the first if tied (see `merge_ties`), -1 for an empty block."""
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
def best_two_of_blocks(values: FloatArray, offsets: Int64Array) -> Int64Array:
    """Return the rows of each block's two highest values: the first rows if values are equal, -1 for a missing row."""
    result = np.full((len(offsets) - 1, 2), -1, dtype=np.int64)
    for block in range(len(offsets) - 1):
        best = second = -1
        for row in range(offsets[block], offsets[block + 1]):
            if best < 0 or values[row] > values[best]:
                best, second = row, best
            elif second < 0 or values[row] > values[second]:
                second = row
        result[block, 0], result[block, 1] = best, second
    return result


@kernel(elements=0)
def lone_rows(values: FloatArray, offsets: Int64Array) -> tuple[bool, Int64Array]:
    """Return True if no block has a negative or a second positive value, and the row of each block's positive value.

    The row is -1 for a block without a positive value.
    """
    result = np.full(len(offsets) - 1, -1, dtype=np.int64)
    for block in range(len(offsets) - 1):
        for row in range(offsets[block], offsets[block + 1]):
            if values[row] != 0.0:
                if values[row] < 0.0 or result[block] >= 0:
                    return False, result
                result[block] = row
    return True, result


@kernel(elements=0)
def order_in_blocks(values: FloatArray, offsets: Int64Array) -> Int64Array:
    """Return the rows of each block sorted by ascending value; equal values keep their order."""
    result = np.empty(len(values), dtype=np.int64)
    for block in range(len(offsets) - 1):
        start, stop = offsets[block], offsets[block + 1]
        result[start:stop] = start + stable_order(values[start:stop])
    return result


@kernel(elements=0)
def _envelopes(
    intercept: FloatArray, slope: FloatArray, order: Int64Array, offsets: Int64Array
) -> tuple[Int64Array, FloatArray, Int64Array]:
    """Return the upper envelope of each block: the rows of the lines, the step where each line begins, and the size.

    In the first two arrays, the envelope of a block begins at the block's offset.
    """
    rows = np.empty(len(order), dtype=np.int64)
    starts = np.empty(len(order))
    sizes = np.zeros(len(offsets) - 1, dtype=np.int64)
    for block in range(len(offsets) - 1):
        base = offsets[block]
        size = 0
        for at in range(base, offsets[block + 1]):
            row = order[at]
            if size > 0 and slope[row] == slope[rows[base + size - 1]]:
                top = rows[base + size - 1]
                if intercept[row] <= intercept[top]:
                    continue
                size -= 1
            start = -np.inf
            while size > 0:
                top = rows[base + size - 1]
                start = (intercept[top] - intercept[row]) / (slope[row] - slope[top])
                if start <= starts[base + size - 1]:
                    size -= 1
                    start = -np.inf
                else:
                    break
            if start < np.inf:
                rows[base + size] = row
                starts[base + size] = start
                size += 1
        sizes[block] = size
    return rows, starts, sizes


@kernel(elements=0)
def _breakpoints(
    rows: Int64Array, starts: FloatArray, sizes: Int64Array, offsets: Int64Array
) -> tuple[FloatArray, Int64Array, Int64Array, Int64Array]:
    """Return the steps at which a block's best row changes, the rows before and after, and each block's first row."""
    total = 0
    for block in range(len(sizes)):
        total += max(sizes[block] - 1, 0)
    steps = np.empty(total)
    before = np.empty(total, dtype=np.int64)
    after = np.empty(total, dtype=np.int64)
    first = np.full(len(sizes), -1, dtype=np.int64)
    at = 0
    for block in range(len(sizes)):
        base = offsets[block]
        if sizes[block] > 0:
            first[block] = rows[base]
        for index in range(base + 1, base + sizes[block]):
            steps[at] = starts[index]
            before[at] = rows[index - 1]
            after[at] = rows[index]
            at += 1
    return steps, before, after, first


@kernel(elements=0)
def _lone_breakpoints(
    intercept: FloatArray, slope: FloatArray, lone: Int64Array, two: Int64Array
) -> tuple[FloatArray, Int64Array, Int64Array, Int64Array]:
    """Return the same as `_breakpoints` for blocks of flat lines and at most one rising line.

    The rising line meets the highest flat line.
    """
    steps = np.empty(len(lone))
    before = np.empty(len(lone), dtype=np.int64)
    after = np.empty(len(lone), dtype=np.int64)
    first = np.empty(len(lone), dtype=np.int64)
    at = 0
    for block in range(len(lone)):
        rising = lone[block]
        level = two[block, 0] if two[block, 0] != rising else two[block, 1]
        first[block] = level if level >= 0 else rising
        if rising >= 0 and level >= 0:
            steps[at] = (intercept[level] - intercept[rising]) / (slope[rising] - slope[level])
            before[at] = level
            after[at] = rising
            at += 1
    return steps[:at], before[:at], after[:at], first


@kernel(elements=0)
def _running_sums(
    statistics: FloatArray, first: Int64Array, before: Int64Array, after: Int64Array, order: Int64Array
) -> FloatArray:
    """Return the summed statistics of the chosen rows between breakpoints, shape (breakpoints + 1, k)."""
    size = statistics.shape[1]
    result = np.zeros((len(order) + 1, size))
    for row in first:
        if row >= 0:
            for column in range(size):
                result[0, column] += statistics[row, column]
    for index in range(len(order)):
        old, new = before[order[index]], after[order[index]]
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
    rows, starts, sizes = _envelopes(intercept, slope, order, offsets)
    return _summed(*_breakpoints(rows, starts, sizes, offsets), row, statistics)


def lone_sweep(
    intercept: FloatArray,
    slope: FloatArray,
    lone: Int64Array,
    two: Int64Array,
    row: Int64Array,
    statistics: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the same as `sweep` if at most one line per sentence rises, as for a feature that marks one system."""
    return _summed(*_lone_breakpoints(intercept, slope, lone, two), row, statistics)


def _summed(
    steps: FloatArray, before: Int64Array, after: Int64Array, first: Int64Array, row: Int64Array, statistics: FloatArray
) -> tuple[FloatArray, FloatArray]:
    by_step = np.argsort(steps, kind="stable")
    # -1 for a sentence without hypotheses
    first_rows = np.append(row, -1)[first]
    return steps[by_step], _running_sums(statistics, first_rows, row[before], row[after], by_step)


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
