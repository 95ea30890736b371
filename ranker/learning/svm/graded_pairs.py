"""Sums over the pairs of graded rows: kernels. What is summed, and why, is said in `ranker.learning.svm.pair_sums`.

Small groups take their pairs one by one. In a large group a *cut* (low, middle, high) pairs every row of
``low:middle`` with every row of ``middle:high``, rows counted from the start of the group, best grade first; the
cuts of a group together hold every pair with different grades exactly once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.learning.svm.loss import PairLoss
from ranker.ranks import stable_order
from ranker.storage.kernels import kernel


class Groups(NamedTuple):
    """Rows in groups, every group sorted from the best grade to the worst."""

    offsets: Int64Array
    """Group ``g`` is ``rows[offsets[g]:offsets[g + 1]]``."""
    level_stop: Int64Array
    """Of every row, the first row after those of its own grade: its worse rows run from there."""
    is_large: BoolArray
    """Of every group, whether it is swept."""
    cut_offsets: Int64Array
    """Group ``g`` has the cuts ``cut_offsets[g]:cut_offsets[g + 1]``."""
    cuts: Int64Array
    """Columns low, middle, high."""


def _sort_all_by_grade(order: Int64Array, offsets: Int64Array, grades: FloatArray) -> None:
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows = order[offsets[0] : offsets[-1]]
    order[offsets[0] : offsets[-1]] = rows[np.lexsort((-grades[rows], group))]


@kernel(elements=500_000, plain=_sort_all_by_grade)
def sort_by_grade(order: Int64Array, offsets: Int64Array, grades: FloatArray) -> None:
    """Sort the rows of every group from the best grade to the worst, in place and stably."""
    for group in range(len(offsets) - 1):
        rows = order[offsets[group] : offsets[group + 1]]
        if len(rows) > 32:
            rows[:] = rows[stable_order(-grades[rows])]
            continue
        for position in range(1, len(rows)):
            row = rows[position]
            while position > 0 and grades[rows[position - 1]] < grades[row]:
                rows[position] = rows[position - 1]
                position -= 1
            rows[position] = row


@kernel(elements=200_000)
def plan_cuts(
    offsets: Int64Array, level_start: Int64Array, level_stop: Int64Array, cut_offsets: Int64Array
) -> Int64Array:
    """List the cuts of every group, each after the cut that made its block.

    A cut is the boundary between grades nearest the middle of its block, so two successive cuts at least halve a
    block and a group of n rows is cut to a depth of at most ``2 log2(n)``.
    """
    cuts = np.empty((cut_offsets[-1], 3), dtype=np.int64)
    for group in range(len(offsets) - 1):
        cut = cut_offsets[group]
        if cut_offsets[group + 1] == cut:
            continue
        first = offsets[group]
        waiting = [(np.int64(0), offsets[group + 1] - first)]
        while len(waiting) > 0:
            low, high = waiting.pop()
            centre = (low + high) // 2
            middle = level_start[first + centre] - first
            after = level_stop[first + centre] - first
            if middle <= low or (after < high and after - centre < centre - middle):
                middle = after
            if middle < high:
                cuts[cut, 0], cuts[cut, 1], cuts[cut, 2] = low, middle, high
                cut += 1
                waiting.append((middle, high))
                waiting.append((low, middle))
    return cuts


def _listed(blocks: Int64Array, block: int, groups: Groups) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the better and the worse row of every pair of a block of small groups, sorted, and their groups."""
    offsets = groups.offsets[blocks[block] : blocks[block + 1] + 1]
    rows = np.arange(offsets[0], offsets[-1])
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    first = groups.level_stop[rows]
    count = offsets[1:][group] - first
    better = np.repeat(rows, count)
    starts = np.cumsum(count) - count
    return better, np.arange(len(better)) + np.repeat(first - starts, count), np.repeat(group, count)


def _alphas_of_list(
    block: int,
    blocks: Int64Array,
    groups: Groups,
    scores: FloatArray,
    loss: PairLoss,
    row_alpha: FloatArray,
    totals: FloatArray,
) -> None:
    """Do what `graded_alphas` does, with the same additions in the same order."""
    better, worse, group = _listed(blocks, block, groups)
    slack = 1.0 - (scores[better] - scores[worse])
    zone = np.where((slack > 0.0) & (slack <= loss.width), slack, 0.0)
    cap = np.where((slack > 0.0) & (slack > loss.width), slack, 0.0)
    alpha = np.where(cap > 0.0, loss.cap, loss.slope * zone)
    # a row loses to the rows before it, and wins from those behind it
    first, last = groups.offsets[blocks[block]], groups.offsets[blocks[block + 1]]
    lost = np.bincount(worse - first, -alpha, last - first)
    row_alpha[first:last] += lost + np.bincount(better - first, alpha, last - first)
    for place, values in enumerate((cap, zone, zone * zone)):
        totals[block, place] += np.cumsum(np.bincount(group, values))[-1] if len(group) else 0.0


def _laplacian_of_list(
    block: int,
    blocks: Int64Array,
    groups: Groups,
    scores: FloatArray,
    rows: FloatArray,
    width: float,
    product: FloatArray,
    touched: BoolArray,
) -> None:
    """Do what `graded_laplacian` does, with the same additions in the same order."""
    better, worse, _ = _listed(blocks, block, groups)
    slack = 1.0 - (scores[better] - scores[worse])
    zone = (slack > 0.0) & (slack <= width)
    better, worse = better[zone], worse[zone]
    first = groups.offsets[blocks[block]]
    pairs = np.arange(len(better))
    signs = np.repeat([-1.0, 1.0], len(better))
    members = np.concatenate([worse, better]) - first, np.concatenate([pairs, pairs])
    # a row of this matrix holds first the pairs that it loses, then those that it wins
    product += csr_array((signs, members), (len(product), len(pairs))) @ (rows[better] - rows[worse])
    touched[better - first] = touched[worse - first] = True


def _pairs_to_list(block: int, blocks: Int64Array, groups: Groups, *_: object) -> int:
    """Return a bound of the pairs of all groups, beyond all bounds if some are large."""
    return 1 << 40 if groups.is_large.any() else int((np.diff(groups.offsets) ** 2).sum())


@kernel(elements=10_000_000, size=_pairs_to_list, plain=_alphas_of_list)
def graded_alphas(
    block: int,
    blocks: Int64Array,
    groups: Groups,
    scores: FloatArray,
    loss: PairLoss,
    row_alpha: FloatArray,
    totals: FloatArray,
) -> None:
    """Add the alphas of the groups of one block to `row_alpha` (n,) and to the block's row of `totals`."""
    for group in range(blocks[block], blocks[block + 1]):
        first, last = groups.offsets[group], groups.offsets[group + 1]
        if groups.is_large[group]:
            cuts = groups.cuts[groups.cut_offsets[group] : groups.cut_offsets[group + 1]]
            _sweep_alphas(cuts, scores[first:last], loss, row_alpha[first:last], totals[block])
        else:
            _add_alphas(scores, groups.level_stop, first, last, loss, row_alpha, totals[block])


@kernel(elements=4_000_000, size=_pairs_to_list, plain=_laplacian_of_list)
def graded_laplacian(
    block: int,
    blocks: Int64Array,
    groups: Groups,
    scores: FloatArray,
    rows: FloatArray,
    width: float,
    product: FloatArray,
    touched: BoolArray,
) -> None:
    """Add ``L rows`` of the groups of one block to `product`, and mark what rows it touched.

    Both hold the rows of that block only.
    """
    block_first = groups.offsets[blocks[block]]
    for group in range(blocks[block], blocks[block + 1]):
        first, last = groups.offsets[group], groups.offsets[group + 1]
        own = product[first - block_first : last - block_first]
        own_touched = touched[first - block_first : last - block_first]
        if groups.is_large[group]:
            cuts = groups.cuts[groups.cut_offsets[group] : groups.cut_offsets[group + 1]]
            _sweep_laplacian(cuts, scores[first:last], rows[first:last], width, own, own_touched)
        else:
            level_stop = groups.level_stop[first:last]
            _add_laplacian(scores[first:last], rows[first:last], level_stop, first, width, own, own_touched)


@kernel(elements=0)
def _add_alphas(
    scores: FloatArray,
    level_stop: Int64Array,
    first: int,
    last: int,
    loss: PairLoss,
    row_alpha: FloatArray,
    totals: FloatArray,
) -> None:
    cap_slack = zone_slack = zone_squares = 0.0
    for better in range(first, last):
        own = 0.0
        for worse in range(level_stop[better], last):
            slack = 1.0 - (scores[better] - scores[worse])
            if slack <= 0.0:
                continue
            if slack <= loss.width:
                alpha = loss.slope * slack
                zone_slack += slack
                zone_squares += slack * slack
            else:
                alpha = loss.cap
                cap_slack += slack
            own += alpha
            row_alpha[worse] -= alpha
        row_alpha[better] += own
    totals[0] += cap_slack
    totals[1] += zone_slack
    totals[2] += zone_squares


@kernel(elements=0)
def _add_laplacian(
    scores: FloatArray,
    rows: FloatArray,
    level_stop: Int64Array,
    offset: int,
    width: float,
    product: FloatArray,
    touched: BoolArray,
) -> None:
    for better in range(len(scores)):
        for worse in range(level_stop[better] - offset, len(scores)):
            slack = 1.0 - (scores[better] - scores[worse])
            if 0.0 < slack <= width:
                touched[better] = touched[worse] = True
                for column in range(rows.shape[1]):
                    difference = rows[better, column] - rows[worse, column]
                    product[better, column] += difference
                    product[worse, column] -= difference


@kernel(elements=0)
def _sweep_alphas(
    cuts: Int64Array, scores: FloatArray, loss: PairLoss, row_alpha: FloatArray, totals: FloatArray
) -> None:
    """Add the alphas of a group's pairs to `row_alpha` (n,) and to the three `totals`."""
    order = stable_order(scores)
    spare = np.empty_like(order)
    for cut in range(len(cuts)):
        low, middle, high = cuts[cut]
        divide(order, low, middle, high, spare)
        _add_better(scores, order[low:middle], order[middle:high], loss, row_alpha, totals)
        _add_worse(scores, order[low:middle], order[middle:high], loss, row_alpha)


@kernel(elements=0)
def _sweep_laplacian(
    cuts: Int64Array, scores: FloatArray, rows: FloatArray, width: float, product: FloatArray, touched: BoolArray
) -> None:
    """Add ``L rows`` to `product` (n, d), with L the Laplacian of a group's pairs in the zone; mark touched rows."""
    order = stable_order(scores)
    spare = np.empty_like(order)
    for cut in range(len(cuts)):
        low, middle, high = cuts[cut]
        divide(order, low, middle, high, spare)
        _add_windows(scores, rows, order[low:middle], order[middle:high], width, product, touched)


@kernel(elements=0)
def divide(order: Int64Array, low: int, middle: int, high: int, spare: Int64Array) -> None:
    """Stably move the rows below `middle` to the front of ``order[low:high]``."""
    front, spared = low, 0
    for position in range(low, high):
        row = order[position]
        if row < middle:
            order[front] = row
            front += 1
        else:
            spare[spared] = row
            spared += 1
    order[front:high] = spare[:spared]


# The sums over a window are carried from row to row, not taken as differences of prefix sums, and what leaves a
# window leaves before the step that would put it outside. So no term is larger than the zone is wide, and the
# rounding errors of a narrow zone stay as small as the zone.


@kernel(elements=0)
def _add_better(
    scores: FloatArray,
    better: Int64Array,
    worse: Int64Array,
    loss: PairLoss,
    row_alpha: FloatArray,
    totals: FloatArray,
) -> None:
    """Add to every `better` row its pairs with all `worse` rows; both are sorted by score."""
    previous = scores[better[0]]
    inner = outer = 0
    zone_slack = zone_squares = cap_slack = 0.0
    for row in worse:
        cap_slack += 1.0 - (previous - scores[row])
    for row in better:
        own = scores[row]
        while inner < len(worse) and 1.0 - (own - scores[worse[inner]]) <= 0.0:
            slack = 1.0 - (previous - scores[worse[inner]])
            if inner < outer:
                zone_slack -= slack
                zone_squares -= slack * slack
            else:
                cap_slack -= slack
                outer += 1
            inner += 1
        if inner == outer:
            zone_slack = zone_squares = 0.0
        step = own - previous
        zone_squares += step * ((outer - inner) * step - 2.0 * zone_slack)
        zone_slack -= (outer - inner) * step
        cap_slack -= (len(worse) - outer) * step
        while outer < len(worse) and 1.0 - (own - scores[worse[outer]]) <= loss.width:
            slack = 1.0 - (own - scores[worse[outer]])
            cap_slack -= slack
            zone_slack += slack
            zone_squares += slack * slack
            outer += 1
        if outer == len(worse):
            cap_slack = 0.0
        previous = own
        row_alpha[row] += loss.slope * zone_slack + loss.cap * (len(worse) - outer)
        totals[0] += cap_slack
        totals[1] += zone_slack
        totals[2] += zone_squares


@kernel(elements=0)
def _add_worse(
    scores: FloatArray, better: Int64Array, worse: Int64Array, loss: PairLoss, row_alpha: FloatArray
) -> None:
    """Take from every `worse` row the alphas of its pairs with all `better` rows; both are sorted by score."""
    previous = scores[worse[0]]
    inner = outer = 0
    zone_slack = 0.0
    for row in worse:
        own = scores[row]
        while outer < len(better) and 1.0 - (scores[better[outer]] - own) > loss.width:
            if outer < inner:
                zone_slack -= 1.0 - (scores[better[outer]] - previous)
            else:
                inner += 1
            outer += 1
        if inner == outer:
            zone_slack = 0.0
        zone_slack += (inner - outer) * (own - previous)
        while inner < len(better) and 1.0 - (scores[better[inner]] - own) > 0.0:
            zone_slack += 1.0 - (scores[better[inner]] - own)
            inner += 1
        previous = own
        row_alpha[row] -= loss.slope * zone_slack + loss.cap * outer


@kernel(elements=0)
def _add_windows(
    scores: FloatArray,
    rows: FloatArray,
    better: Int64Array,
    worse: Int64Array,
    width: float,
    product: FloatArray,
    touched: BoolArray,
) -> None:
    """Add, for every row, the rows of its window subtracted from itself as often as the window is long."""
    window = np.zeros(rows.shape[1])
    inner = outer = 0
    for row in better:
        while outer < len(worse) and 1.0 - (scores[row] - scores[worse[outer]]) <= width:
            _add(rows[worse[outer]], 1.0, window)
            outer += 1
        while inner < outer and 1.0 - (scores[row] - scores[worse[inner]]) <= 0.0:
            _add(rows[worse[inner]], -1.0, window)
            inner += 1
        if inner == outer:
            window[:] = 0.0
        else:
            touched[row] = True
            _add(rows[row], float(outer - inner), product[row])
            _add(window, -1.0, product[row])
    window[:] = 0.0
    inner = outer = 0
    for row in worse:
        while inner < len(better) and 1.0 - (scores[better[inner]] - scores[row]) > 0.0:
            _add(rows[better[inner]], 1.0, window)
            inner += 1
        while outer < inner and 1.0 - (scores[better[outer]] - scores[row]) > width:
            _add(rows[better[outer]], -1.0, window)
            outer += 1
        if inner == outer:
            window[:] = 0.0
        else:
            touched[row] = True
            _add(rows[row], float(inner - outer), product[row])
            _add(window, -1.0, product[row])


@kernel(elements=0)
def _add(row: FloatArray, factor: float, total: FloatArray) -> None:
    for column in range(len(row)):
        total[column] += factor * row[column]
