"""What the greedy searches for shifts share: an alignment as a program prunes it, and trying one shift.

Shifts are tried with the exact edit distance by bit vectors, from the first word moved. A pruned distance is never less
than the exact one, and `_is_exact` can nearly always tell that the two are equal and that all best paths are kept. The
alignment is then read from the bit vectors too, and the programs' own dynamic programme hardly ever runs.

Where nothing is compiled the search works on lists, with one integer for all words of a reference.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ranker.arrays import Int32Array, UInt64Array
from ranker.extractors.edit.alignment import (
    EditAlignment,
    align_in_band,
    align_in_beam,
    empty_alignment,
    read_alignment,
)
from ranker.extractors.edit.distance import (
    ALL,
    BLOCK,
    NONE,
    ONE,
    advance,
    advance_block,
    number_locally,
    position_masks,
)
from ranker.storage.kernels import kernel

TERCOM, SACREBLEU = 0, 1


class Limits(NamedTuple):
    """Which search, and the limits that prune it."""

    search: int
    beam: int
    max_distance: int
    max_size: int


class Reference(NamedTuple):
    """A reference, and what no shift of the candidate changes."""

    words: Int32Array
    following: Int32Array
    """Next position of the same word, or the length."""
    masks: UInt64Array
    last_row: np.uint64
    lacking: int
    """Candidate words that are not in the reference."""
    fewest: int
    """Edits that no shift can save: the distance between the two as bags of words."""


class DistanceColumns(NamedTuple):
    """Every column of the exact edit distance of the candidate as shifted so far."""

    above: UInt64Array
    below: UInt64Array
    distance: Int32Array


class Trial(NamedTuple):
    """The candidate after the shift that is tried and after the best one, and room for one column."""

    words: Int32Array
    best: Int32Array
    above: UInt64Array
    below: UInt64Array


class ShiftSearch(NamedTuple):
    """All that a search for shifts between one candidate and one reference works on."""

    words: Int32Array
    """The candidate after the shifts so far."""
    reference: Reference
    alignment: EditAlignment
    columns: DistanceColumns
    trial: Trial
    limits: Limits


@kernel
def _reference(words: Int32Array, numbers: Int32Array) -> Reference:
    size = len(numbers)
    following = np.full(size, size, dtype=np.int32)
    last = np.full(size + 1, -1, dtype=np.int32)
    count = np.zeros(size + 1, dtype=np.int32)
    for at in range(size):
        word = numbers[at]
        if last[word] >= 0:
            following[last[word]] = at
        last[word] = at
        count[word] += 1
    lacking = matches = 0
    for word in words:
        if word == size:
            lacking += 1
        elif count[word] > 0:
            count[word] -= 1
            matches += 1
    fewest = max(len(words), size) - matches
    return Reference(numbers, following, position_masks(numbers), np.uint64((size - 1) % BLOCK), lacking, fewest)


def _start_search_on_lists(candidate: Int32Array, reference: Int32Array, limits: Limits) -> ShiftSearch:
    """Do what `start_search` does, with lists in place of arrays."""
    reference_words: Any = reference.tolist()
    length, size = len(candidate), len(reference_words)
    number = {word: size - 1 - at for at, word in enumerate(reversed(reference_words))}
    words: Any = [number.get(word, size) for word in candidate.tolist()]
    reference_words = [number[word] for word in reference_words]
    following, last = [size] * size, [size] * (size + 1)
    masks, count = [0] * (size + 1), [0] * (size + 1)
    for at in reversed(range(size)):
        word = reference_words[at]
        following[at], last[word] = last[word], at
        masks[word] |= 1 << at
        count[word] += 1
    matches = sum(min(words.count(word), count[word]) for word in number.values())
    columns: Any = [0] * (length + 1), [0] * (length + 1), None
    trial: Any = [0] * length, [0] * length, None, None
    shared: Any = reference_words, following, masks, size - 1, words.count(size), max(length, size) - matches
    alignment: Any = empty_alignment(length, size).operations, *([0] * rest for rest in (length + 1, size + 1, size))
    return ShiftSearch(
        words, Reference(*shared), EditAlignment(*alignment), DistanceColumns(*columns), Trial(*trial), limits
    )


@kernel(plain=_start_search_on_lists)
def start_search(candidate: Int32Array, reference: Int32Array, limits: Limits) -> ShiftSearch:
    """Return the search for shifts between two sequences of word ids, neither empty."""
    words, reference_numbers = number_locally(candidate, reference)
    length = len(words)
    shared = _reference(words, reference_numbers)
    blocks = shared.masks.shape[1]
    columns = DistanceColumns(
        np.empty((length + 1, blocks), dtype=np.uint64),
        np.empty((length + 1, blocks), dtype=np.uint64),
        np.empty(length + 1, dtype=np.int32),
    )
    trial = Trial(
        np.empty(length, dtype=np.int32),
        np.empty(length, dtype=np.int32),
        np.empty(blocks, dtype=np.uint64),
        np.empty(blocks, dtype=np.uint64),
    )
    return ShiftSearch(words, shared, empty_alignment(length, len(reference_numbers)), columns, trial, limits)


@kernel
def _align(search: ShiftSearch, words: Int32Array) -> int:
    """Align `words` with the reference as the program does, and return their distance."""
    limits, reference, operations = search.limits, search.reference.words, search.alignment.operations
    if limits.search == TERCOM:
        return align_in_beam(words, reference, limits.beam, operations)
    return align_in_band(words, reference, limits.beam, operations)


def _advance_integers(
    words: list[int], masks: list[int], above: int, below: int, every: int, columns: list[tuple[int, int]] | None = None
) -> tuple[int, int]:
    """Return the signs of the last column, as `advance` does word by word, and add all to `columns`.

    The distance in the last row is the number of words so far and the bits of `above` less those of `below`.
    """
    for word in words:
        match = masks[word]
        horizontal = (((match & above) + above) ^ above) | match
        more, less = (below | ~(horizontal | above)) << 1 | 1, (above & horizontal) << 1
        vertical = match | below
        above, below = (less | ~(vertical | more)) & every, more & vertical
        if columns is not None:
            columns.append((above, below))
    return above, below


def _fill_lists(search: Any) -> int:
    """Do what `_fill_columns` does, on lists."""
    every = (1 << len(search.reference.words)) - 1
    steps = [(every, 0)]
    above, below = _advance_integers(search.words, search.reference.masks, every, 0, every, steps)
    search.columns.above[:], search.columns.below[:] = zip(*steps, strict=True)
    return len(search.words) + above.bit_count() - below.bit_count()


@kernel(plain=_fill_lists)
def _fill_columns(search: ShiftSearch) -> int:
    """Fill the columns of the exact edit distance of the candidate as shifted so far, and return that distance."""
    words, reference, columns = search.words, search.reference, search.columns
    columns.above[0] = ALL
    columns.below[0] = NONE
    columns.distance[0] = len(reference.words)
    for at in range(len(words)):
        change = advance(
            reference.masks[words[at]],
            columns.above[at],
            columns.below[at],
            columns.above[at + 1],
            columns.below[at + 1],
            reference.last_row,
        )
        columns.distance[at + 1] = columns.distance[at] + change
    return int(columns.distance[len(words)])


def _read_lists(search: Any, distance: int) -> None:
    """Do what `_read_columns` does, on lists."""
    words, reference_words = search.words, search.reference.words
    (_, wrong, reference_wrong, aligned), (above, below, _) = search.alignment, search.columns
    column, row = len(words), len(reference_words)
    while column > 0 or row > 0:
        differs = column == 0 or row == 0 or words[column - 1] != reference_words[row - 1]
        if differs and (row == 0 or (column > 0 and below[column - 1] >> (row - 1) & 1)):
            wrong[column] = 1
            column -= 1
        else:
            before = (1 << (row - 1)) - 1
            lacks = column == 0 or (
                differs
                and above[column] >> (row - 1) & 1
                and column - 1 + (above[column - 1] & before).bit_count() - (below[column - 1] & before).bit_count()
                == distance
            )
            reference_wrong[row] = int(differs)
            row -= 1
            if not lacks:
                wrong[column] = int(differs)
                column -= 1
            aligned[row] = column - lacks
        distance -= differs
    wrong[:] = accumulate(wrong)
    reference_wrong[:] = accumulate(reference_wrong)


@kernel
def _count_bits(bits: np.uint64) -> np.uint64:
    bits -= (bits >> ONE) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _distance_at(columns: DistanceColumns, column: int, row: int) -> int:
    """Return the distance of the first `row` words of the reference in a column."""
    distance = np.int64(column)
    for block in range(row // BLOCK + 1):
        rest = row - block * BLOCK
        if rest > 0:
            rows = ALL if rest >= BLOCK else (ONE << np.uint64(rest)) - ONE
            distance += np.int64(_count_bits(columns.above[column, block] & rows))
            distance -= np.int64(_count_bits(columns.below[column, block] & rows))
    return int(distance)


@kernel(plain=_read_lists)
def _read_columns(search: ShiftSearch, distance: int) -> None:
    """Fill the alignment, but for its operations, from the columns of the exact `distance`.

    The programs prefer a diagonal step, then an insertion, then a deletion. Neighbouring distances differ by at most 1,
    and a step along the diagonal never lowers one. So a word that matches is a diagonal step; else it is an insertion
    if the distance before is one less than that on the diagonal, and a deletion if that above is.
    """
    words, reference, columns = search.words, search.reference.words, search.columns
    wrong, reference_wrong, aligned = search.alignment.wrong, search.alignment.reference_wrong, search.alignment.aligned
    wrong[0] = reference_wrong[0] = 0
    column, row = len(words), len(reference)
    while column > 0 or row > 0:
        inserted, lacks = row == 0, column == 0
        differs = inserted or lacks or words[column - 1] != reference[row - 1]
        if differs and not inserted and not lacks:
            block, bit = (row - 1) // BLOCK, np.uint64((row - 1) % BLOCK)
            inserted = (columns.below[column - 1, block] >> bit) & ONE == ONE
            if not inserted and (columns.above[column, block] >> bit) & ONE == ONE:
                lacks = _distance_at(columns, column - 1, row - 1) == distance
        if inserted:
            wrong[column] = 1
            column -= 1
        else:
            reference_wrong[row] = differs
            row -= 1
            aligned[row] = column - 1
            if not lacks:
                wrong[column] = differs
                column -= 1
        if differs:
            distance -= 1
    for at in range(len(words)):
        wrong[at + 1] += wrong[at]
    for at in range(len(reference)):
        reference_wrong[at + 1] += reference_wrong[at]


@kernel
def realign(search: ShiftSearch) -> int:
    """Bring columns and alignment up to date with the candidate as shifted so far, and return its distance.

    No alignment is made if no shift can shorten that distance.
    """
    distance = _fill_columns(search)
    if _is_exact(search, distance):
        if distance > search.reference.fewest:
            _read_columns(search, distance)
        return distance
    distance = _align(search, search.words)
    read_alignment(search.words, search.reference.words, search.alignment)
    return distance


def _exact_distance_on_lists(search: Any, first: int) -> int:
    """Do what `_exact_distance` does, on lists."""
    words, masks, every = search.trial.words, search.reference.masks, search.columns.above[0]
    above, below = search.columns.above[first], search.columns.below[first]
    above, below = _advance_integers(words[first:], masks, above, below, every)
    return len(words) + above.bit_count() - below.bit_count()


@kernel(plain=_exact_distance_on_lists)
def _exact_distance(search: ShiftSearch, first: int) -> int:
    """Return the exact edit distance of the candidate after the shift that is tried, `first` the first word moved."""
    words, above, below = search.trial.words, search.trial.above, search.trial.below
    columns, masks, last_row = search.columns, search.reference.masks, search.reference.last_row
    distance = np.int64(columns.distance[first])
    if masks.shape[1] == 1:  # most references have up to 64 words, and then all fits into registers
        one_above, one_below = columns.above[first, 0], columns.below[first, 0]
        for at in range(first, len(words)):
            one_above, one_below, up, down = advance_block(
                masks[words[at], 0], one_above, one_below, ONE, NONE, last_row
            )
            distance += np.int64(up) - np.int64(down)
        return int(distance)
    above[:] = columns.above[first]
    below[:] = columns.below[first]
    for at in range(first, len(words)):
        distance += advance(masks[words[at]], above, below, above, below, last_row)
    return int(distance)


@kernel
def _is_exact(search: ShiftSearch, distance: int) -> bool:
    """Tell whether the program certainly keeps a best path of the exact `distance`."""
    limits, reference = search.limits, search.reference
    if limits.search == TERCOM:
        # On a best path a state behind k of the lacking words costs at most distance - (lacking - k), and any state
        # behind them at least k: a state of the path is never worse than the best one by more than this.
        return distance - reference.lacking <= limits.beam
    # A best path of this distance strays at most so far from the line between the corners.
    return abs(len(reference.words) - len(search.words)) + distance < 2 * (limits.beam - 2)


def _try_shift_on_lists(search: Any, start: int, size: int, target: int, worst: int) -> int:
    """Do what `try_shift` does, on lists."""
    words, shifted, stop = search.words, search.trial.words, start + size
    if target < start:
        shifted[:] = words[:target] + words[start:stop] + words[target:start] + words[stop:]
    else:
        shifted[:] = words[:start] + words[stop:target] + words[start:stop] + words[target:]
    distance = _exact_distance_on_lists(search, min(start, target))
    if distance > worst or _is_exact(search, distance):
        return distance
    return _align(search, shifted)


@kernel(plain=_try_shift_on_lists)
def try_shift(search: ShiftSearch, start: int, size: int, target: int, worst: int) -> int:
    """Move the `size` words from `start` before word `target`, in `search.trial`, and return the program's distance.

    `target` is up to `start`, or at least `start` + `size`. Distances of more than `worst` may be wrong.
    """
    words, shifted = search.words, search.trial.words
    stop = start + size
    first, last = min(start, target), max(stop, target)
    offset = target - start if target < start else target - stop
    for at in range(len(words)):
        shifted[at] = words[at]
    for at in range(start, stop):
        shifted[at + offset] = words[at]
    for at in range(first, start):
        shifted[at + size] = words[at]
    for at in range(stop, last):
        shifted[at - size] = words[at]
    distance = _exact_distance(search, first)
    if distance > worst or _is_exact(search, distance):
        return distance
    return _align(search, shifted)
