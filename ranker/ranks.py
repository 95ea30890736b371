"""Ranks and rank correlation within groups of rows, as compiled functions on CSR offsets.

A *group* is a block of consecutive rows: group ``g`` is ``rows[offsets[g]:offsets[g + 1]]``. Usually a
group consists of the candidates of one source.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.arrays import Float32Array, FloatArray, Int32Array, Int64Array, offsets_of
from ranker.storage.kernels import kernel

Numbers = FloatArray | Float32Array | Int32Array | Int64Array

TIE = 1e-10
"""Neighbouring scores of a group that differ by at most this tie; see `merge_ties`."""

SMALL = 32
"""Groups of at most this many rows are sorted by insertion."""


def merge_ties(values: npt.ArrayLike, offsets: npt.ArrayLike | None = None) -> FloatArray:
    """Replace tied scores by one value, so that other code can compare scores exactly.

    The rule for ties, everywhere in the project: of the sorted scores of a group, neighbours that differ by at most
    1e-10 tie, and ties chain. A tie takes its lowest score. Scores that differ by rounding noise alone therefore tie
    wherever they lie, and noise far below 1e-10 makes or breaks no tie. A group is what is compared: the candidates of
    a source, the systems of a language pair, or all values that one correlation is taken over.
    """
    scores = np.ascontiguousarray(values, dtype=np.float64)
    if offsets is None:
        size = scores.shape[-1]
        bounds = np.arange(scores.size // max(size, 1) + 1, dtype=np.int64) * size
    else:
        bounds = np.ascontiguousarray(offsets, dtype=np.int64)
    merged = scores.reshape(-1).copy()
    _merge(merged, bounds, np.empty(len(merged), dtype=np.int64))
    return merged.reshape(scores.shape)


@kernel
def _sort(values: FloatArray, order: Int64Array) -> int:
    """Write the positions that sort `values`, without NaN, to the front of `order`, and return their number."""
    size = 0
    if len(values) > SMALL:
        for row in np.argsort(values):
            if not np.isnan(values[row]):
                order[size] = row
                size += 1
        return size
    for row in range(len(values)):
        value = values[row]
        if np.isnan(value):
            continue
        place = size
        while place > 0 and values[order[place - 1]] > value:
            order[place] = order[place - 1]
            place -= 1
        order[place] = row
        size += 1
    return size


@kernel
def stable_order(values: Numbers) -> Int64Array:
    """Return the positions that sort `values` in ascending order; equal values keep their order.

    Numba would spend seconds compiling a sort for every kernel that contains one; this one is cached on disk for all.
    """
    return np.argsort(values, kind="mergesort")


@kernel
def sort_counting(values: Numbers, spare: Numbers) -> int:
    """Merge sort `values` in place, with `spare` of the same length as workspace; return the number of inversions."""
    size, width, inversions = len(values), 1, 0
    while width < size:
        start = 0
        while start < size:
            middle, stop = min(start + width, size), min(start + 2 * width, size)
            left, right = start, middle
            for place in range(start, stop):
                if right >= stop or (left < middle and values[left] <= values[right]):
                    spare[place] = values[left]
                    left += 1
                else:
                    spare[place] = values[right]
                    right += 1
                    inversions += middle - left
            start = stop
        values[:] = spare[:size]
        width *= 2
    return inversions


@kernel
def _ties(before: float, value: float, tie: float) -> bool:
    """True if `value` ties with the next lower value, `before`; infinite values tie if equal."""
    return value - before <= tie or value == before


@kernel(elements=200_000, offsets=("offsets",))
def _merge(values: FloatArray, offsets: Int64Array, order: Int64Array) -> None:
    for group in range(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        own, rows = values[start:stop], order[start:stop]
        # the value before merging, because ties chain
        before = lowest = np.nan
        for place in range(_sort(own, rows)):
            value = own[rows[place]]
            if _ties(before, value, TIE):
                own[rows[place]] = lowest
            else:
                lowest = value
            before = value


def group_offsets(groups: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
    """Return the stable order of rows that makes equal labels in `groups` adjacent, and the offsets of the groups."""
    labels = np.asarray(groups)
    _, codes = np.unique(labels, return_inverse=True)
    order = np.argsort(codes, kind="stable").astype(np.int64)
    counts = np.bincount(codes) if len(codes) else np.zeros(0, dtype=np.int64)
    return order, offsets_of(counts)


@kernel
def _rank_block(values: FloatArray, tie: float, order: Int64Array, ranks: FloatArray) -> None:
    start, size = 0, _sort(values, order)
    while start < size:
        stop = start + 1
        while stop < size and _ties(values[order[stop - 1]], values[order[stop]], tie):
            stop += 1
        for position in range(start, stop):
            ranks[order[position]] = 0.5 * (start + stop + 1)
        start = stop


@kernel(elements=200_000, offsets=("offsets",))
def _average_ranks(values: FloatArray, offsets: Int64Array, tie: float) -> FloatArray:
    base = offsets[0]
    ranks = np.full(offsets[-1] - base, np.nan)
    order = np.empty(len(ranks), dtype=np.int64)
    for group in range(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        own = slice(start - base, stop - base)
        _rank_block(values[start:stop], tie, order[own], ranks[own])
    return ranks


@kernel(elements=200_000, offsets=("offsets",))
def _correlate(
    first: FloatArray, second: FloatArray, offsets: Int64Array, tie_corrected: bool, constant: bool
) -> FloatArray:
    result = np.empty(len(offsets) - 1)
    for group in range(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        size = stop - start
        mean = 0.5 * (size + 1)
        product = squares_first = squares_second = distance = 0.0
        for row in range(start, stop):
            a, b = first[row] - mean, second[row] - mean
            product += a * b
            squares_first += a * a
            squares_second += b * b
            distance += (a - b) * (a - b)
        if (squares_first == 0.0 or squares_second == 0.0) and (size < 2 or not constant):
            result[group] = np.nan
        elif tie_corrected:
            value = product / np.sqrt(squares_first * squares_second)
            # in this order of the arguments, NaN stays
            result[group] = min(max(value, -1.0), 1.0)
        else:
            result[group] = 1.0 - 6.0 * distance / (size * (size * size - 1.0))
    return result


def average_ranks(values: npt.ArrayLike, offsets: npt.ArrayLike, *, tie: float = TIE) -> FloatArray:
    """Return the rank of each row within its group, from 1 for the smallest value; ties share their mean rank."""
    rows, bounds = np.ascontiguousarray(values, dtype=np.float64), np.ascontiguousarray(offsets, dtype=np.int64)
    if bounds[0] != 0 or bounds[-1] != len(rows):
        raise ValueError(
            f"offsets from {bounds[0]} to {bounds[-1]}, expected from 0 to the number of rows, {len(rows)}"
        )
    return _average_ranks(rows, bounds, tie)


def ordinal_ranks(values: Int32Array | Int64Array, offsets: Int64Array) -> Int32Array:
    """Return the rank of each row within its group, from 0 for the smallest value, equal values in row order."""
    sizes = np.diff(offsets)
    order = np.lexsort((values, np.repeat(np.arange(len(sizes)), sizes)))
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order)) - np.repeat(offsets[:-1], sizes)
    return ranks


def group_spearman(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    tie_corrected: bool = True,
    constant: bool = False,
) -> FloatArray:
    """Return Spearman's rank correlation of `first` and `second` within every group."""
    if constant and tie_corrected:
        raise ValueError("constant=True needs tie_corrected=False")
    bounds = np.ascontiguousarray(offsets, dtype=np.int64)
    ranks = average_ranks(first, bounds), average_ranks(second, bounds)
    return _correlate(*ranks, bounds, tie_corrected, constant)
