"""What the greedy searches for shifts share: an alignment as a program prunes it, and trying one shift.

A shift is first tried with the exact edit distance by bit vectors, from the first word that it moves. A pruned distance
is never less than the exact one, and `_is_exact` can nearly always tell that the two are equal, so that the programs'
own dynamic programme runs once for every shift made, and hardly ever for one that is only tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

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
_EVERY = int(ALL)


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


@kernel
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
    matches: list[int], above: int, below: int, distance: int, last_row: int
) -> Iterator[tuple[int, int, int]]:
    """Yield signs and distance of the columns after that of `above` and `below`, as `advance` gives them."""
    for match in matches:
        vertical = match | below
        horizontal = ((((match & above) + above) & _EVERY) ^ above) | match
        more, less = below | (_EVERY & ~(horizontal | above)), above & horizontal
        distance += ((more >> last_row) & 1) - ((less >> last_row) & 1)
        more, less = ((more << 1) & _EVERY) | 1, (less << 1) & _EVERY
        above, below = less | (_EVERY & ~(vertical | more)), more & vertical
        yield above, below, distance


def _fill_columns_of_integers(search: ShiftSearch) -> int:
    """Do what `_fill_columns` does, with one integer for all words of a reference of up to 64."""
    columns, masks = search.columns, search.reference.masks
    if masks.shape[1] > 1:
        return cast(int, _fill_columns.py_func(search))  # type: ignore[attr-defined]
    size = len(search.reference.words)
    steps = list(_advance_integers(masks[search.words, 0].tolist(), _EVERY, 0, size, size - 1))
    columns.above[0], columns.below[0], columns.distance[0] = ALL, NONE, size
    if steps:
        above, below, distance = zip(*steps, strict=True)
        columns.above[1:, 0], columns.below[1:, 0], columns.distance[1:] = above, below, distance
    return int(columns.distance[-1])


@kernel(plain=_fill_columns_of_integers)
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


@kernel
def realign(search: ShiftSearch) -> int:
    """Bring columns and alignment up to date with the candidate as shifted so far, and return its distance.

    No alignment is made if no shift can shorten that distance.
    """
    distance = _fill_columns(search)
    if distance <= search.reference.fewest and _is_exact(search, distance):
        return distance
    distance = _align(search, search.words)
    read_alignment(search.words, search.reference.words, search.alignment)
    return distance


def _exact_distance_of_integers(search: ShiftSearch, first: int) -> int:
    """Return what `_exact_distance` does, with one integer for all words of a reference of up to 64."""
    columns, masks, last_row = search.columns, search.reference.masks, int(search.reference.last_row)
    if masks.shape[1] > 1:
        return cast(int, _exact_distance.py_func(search, first))  # type: ignore[attr-defined]
    matches = masks[search.trial.words[first:], 0].tolist()
    distance = int(columns.distance[first])
    for column in _advance_integers(
        matches, int(columns.above[first, 0]), int(columns.below[first, 0]), distance, last_row
    ):
        distance = column[-1]
    return distance


@kernel(plain=_exact_distance_of_integers)
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


@kernel
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
