"""Edits with block shifts between two token sequences, by the greedy search of tercom or of sacreBLEU.

Finding the fewest edits with block shifts is NP-hard, so both programs apply the best single shift repeatedly while
it saves edits (Snover et al. 2006, section 2.2); they differ in which shifts they try and in how they prune the edit
distance.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple, cast

import numpy as np

from ranker.arrays import Int32Array, Int64Array, UInt64Array
from ranker.extractors.edit.alignment import (
    EditAlignment,
    align_in_band,
    align_in_beam,
    empty_alignment,
    read_alignment,
)
from ranker.extractors.edit.distance import masked_distance, number_locally, position_masks
from ranker.storage.kernels import kernel, source_of

TERCOM, SACREBLEU = 0, 1
_MOST_SHIFTS_TRIED = 1000
"""Maximum number of shifts per sentence, as in sacreBLEU."""
_TRIED = 20**3
"""Cube of the length for which a pair of sentences counts as one element more."""


class Limits(NamedTuple):
    """Limits that prune the search, and the program whose search is imitated (`TERCOM` or `SACREBLEU`)."""

    search: int
    beam: int
    max_distance: int
    max_size: int


class ShiftSearch(NamedTuple):
    """Working state of a search for shifts between one candidate and one reference."""

    words: Int32Array
    """The candidate after the shifts so far."""
    trial: Int32Array
    """The candidate after the shift being tried."""
    best: Int32Array
    """The candidate after the best shift tried."""
    reference: Int32Array
    following: Int32Array
    """Next position of the same word in the reference, or its length."""
    masks: UInt64Array
    lacking: int
    """Candidate words that are not in the reference."""
    fewest: int
    """Edits that no shift can save: the distance between the two texts as bags of words."""
    alignment: EditAlignment
    limits: Limits


def _start_search_on_lists(candidate: Int32Array, reference: Int32Array, limits: Limits) -> ShiftSearch:
    """Return the result of `_start_search`, with Python lists in place of all arrays but the operations."""
    search: Any = source_of(_start_search)(candidate, reference, limits)
    operations, *others = search.alignment
    alignment = EditAlignment(operations, *(part.tolist() for part in others))
    return cast(ShiftSearch, search._replace(following=search.following.tolist(), alignment=alignment))


@kernel(plain=_start_search_on_lists)
def _start_search(candidate: Int32Array, reference: Int32Array, limits: Limits) -> ShiftSearch:
    """Return the initial search for shifts between two non-empty sequences of word ids."""
    words, numbers = number_locally(candidate, reference)
    length, size = len(words), len(numbers)
    following = np.full(size, size, dtype=np.int32)
    last = np.full(size, -1, dtype=np.int32)
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
    fewest = max(length, size) - matches
    alignment, masks = empty_alignment(length, size), position_masks(numbers)
    return ShiftSearch(words, words.copy(), words.copy(), numbers, following, masks, lacking, fewest, alignment, limits)


@kernel
def _align(search: ShiftSearch, words: Int32Array) -> int:
    """Align `words` with the reference like tercom or sacreBLEU; fill in operations and return the edit distance."""
    operations, beam = search.alignment.operations, search.limits.beam
    if search.limits.search == TERCOM:
        return align_in_beam(words, search.reference, beam, operations)
    return align_in_band(words, search.reference, beam, operations)


@kernel
def _keeps_best_path(search: ShiftSearch, length: int, distance: int) -> bool:
    """True if the pruning of tercom or sacreBLEU is sure to keep a path with the exact edit distance `distance`."""
    limits = search.limits
    if limits.search == TERCOM:
        # On a best path, a state after k of the words that the reference lacks costs at most distance - (lacking - k),
        # and any state after these words at least k: a state of the path is not worse than the best by more than this.
        return distance - search.lacking <= limits.beam
    # A best path of this distance strays from the line between the corners by at most half of the left side.
    return abs(len(search.reference) - length) + distance < 2 * (limits.beam - 2)


def _realign_on_integers(search: ShiftSearch) -> None:
    """Realign as `_realign` does, but with integers as bit vectors if the pruning is sure to keep all best paths."""
    words, reference, alignment = search.words, search.reference, search.alignment
    column, row = len(words), len(reference)
    every = (1 << row) - 1
    above, below = every, 0
    as_diagonal, more_than_left = [], []  # for each word, one bit per reference word
    for word in words:
        match = search.masks[word]
        same = (((match & above) + above) ^ above) | match | below
        more = below | ~(same | above)
        as_diagonal.append(same)
        more_than_left.append(more)
        more, less = more << 1 | 1, (above & same) << 1
        above, below = (less | ~(same | more)) & every, more & same
    if not _keeps_best_path(search, column, column + above.bit_count() - below.bit_count()):
        source_of(_realign)(search)
        return
    wrong, reference_wrong = [0] * (column + 1), [0] * (row + 1)
    while column or row:
        free = column and row and as_diagonal[column - 1] >> row - 1 & 1 and words[column - 1] != reference[row - 1]
        if not row or (free and more_than_left[column - 1] >> row - 1 & 1):
            wrong[column] = 1
            column -= 1
        elif not column or free:
            reference_wrong[row] = 1
            row -= 1
            alignment.aligned[row] = column - 1
        else:
            wrong[column] = reference_wrong[row] = words[column - 1] != reference[row - 1]
            column -= 1
            row -= 1
            alignment.aligned[row] = column
    alignment.wrong[:], alignment.reference_wrong[:] = list(accumulate(wrong)), list(accumulate(reference_wrong))


@kernel(plain=_realign_on_integers)
def _realign(search: ShiftSearch) -> None:
    """Realign the shifted candidate with the reference, pruning as tercom or sacreBLEU does."""
    _align(search, search.words)
    read_alignment(search.words, search.reference, search.alignment)


@kernel(inline="always")
def _distance(search: ShiftSearch, words: Int32Array, worst: int) -> int:
    """Return the edit distance of `words`, pruned as in tercom or sacreBLEU unless the exact distance exceeds `worst`.

    A pruned distance is never less than the exact one, which takes less time and nearly always suffices.
    """
    distance = masked_distance(words, search.masks, len(search.reference))
    return distance if distance > worst or _keeps_best_path(search, len(words), distance) else _align(search, words)


def _shift_on_lists(words: list[int], trial: list[int], start: int, size: int, target: int) -> None:
    first, middle, last = (target, start, start + size) if target < start else (start, start + size, target)
    trial[:] = words[:first] + words[middle:last] + words[first:middle] + words[last:]


@kernel(plain=_shift_on_lists)
def _shift(words: Int32Array, trial: Int32Array, start: int, size: int, target: int) -> None:
    """Write `words` into `trial` with the `size` words from `start` moved before word `target`.

    `target` is up to `start`, or at least `start` + `size`.
    """
    first, middle, last = (target, start, start + size) if target < start else (start, start + size, target)
    for at in range(len(words)):
        trial[at] = words[at]
    for at in range(middle, last):
        trial[first + at - middle] = words[at]
    for at in range(first, middle):
        trial[last - middle + at] = words[at]


@kernel
def _run_length(words: Int32Array, start: int, reference: Int32Array, at: int, longest: int) -> int:
    """Number of consecutive words from `start` that equal the reference words from `at`, at most `longest`."""
    size = 0
    most = min(longest, len(words) - start, len(reference) - at)
    while size < most and words[start + size] == reference[at + size]:
        size += 1
    return size


@kernel
def _may_move(start: int, stop: int, place: int, max_distance: int) -> bool:
    """True if tercom may move the words between `start` and `stop` to the position of word `place`."""
    return (place < start or place >= stop) and abs(place - start) <= max_distance


@kernel
def _longest_movable(search: ShiftSearch, runs: Int32Array) -> Int32Array:
    """Return the size of the longest shift to try from each candidate word; write lengths of matches to `runs`."""
    words, reference, following, limits = search.words, search.reference, search.following, search.limits
    aligned, wrong = search.alignment.aligned, search.alignment.wrong
    size = len(reference)
    result = np.zeros(len(words), dtype=np.int32)
    for start in range(len(words)):
        movable = False
        at = words[start]
        while at < size:
            distance = aligned[at] - start
            movable |= distance != 0 and -limits.max_distance - 1 <= distance <= limits.max_distance
            at = following[at]
        at = words[start]
        while movable and at < size:
            runs[start, at] = _run_length(words, start, reference, at, limits.max_size)
            at = following[at]
        longest = 0
        while movable and longest < limits.max_size:
            stop = start + longest + 1
            movable = False
            at = words[start]
            while at < size:
                if runs[start, at] > longest:
                    right = wrong[stop] == wrong[start]
                    movable |= right or _may_move(start, stop, aligned[at], limits.max_distance)
                at = following[at]
            longest += movable
        result[start] = longest
    return result


@kernel
def _best_of_tercom(search: ShiftSearch, distance: int) -> int:
    """Write the candidate after tercom's best shift to `search.best` and return its edit distance.

    Long shifts are tried first. A shift must save more than the best so far, the first one at least its own cost; the
    search ends once no shift of the current size could. Returns `distance` if no shift saves edits.
    """
    words, reference, max_distance = search.words, search.reference, search.limits.max_distance
    aligned, wrong, reference_wrong = search.alignment.aligned, search.alignment.wrong, search.alignment.reference_wrong
    length, size = len(words), len(reference)
    runs = np.zeros((length, size), dtype=np.int32)
    longest = _longest_movable(search, runs)
    last_tried = np.full(length + 1, -1, dtype=np.int64)
    best = distance
    for shifted in range(longest.max(), 0, -1):
        for start in range(length - shifted + 1):
            stop = start + shifted
            if longest[start] < shifted or wrong[stop] == wrong[start]:
                continue
            at = words[start]
            while at < size:
                place = aligned[at]
                if (
                    runs[start, at] >= shifted
                    and reference_wrong[at + shifted] > reference_wrong[at]
                    and _may_move(start, stop, place, max_distance)
                ):
                    for offset in range(-1, shifted):
                        if at + offset < 0:
                            target = 0
                        elif offset != 0 and aligned[at + offset] == place:
                            continue
                        else:
                            target = aligned[at + offset] + 1
                        if target == start + 1:
                            continue
                        if start < target <= stop:
                            target = min(stop + target - 1 - start, length)
                        this = start * (length + 1) + shifted
                        if start <= target <= stop or last_tried[target] == this:
                            continue
                        last_tried[target] = this
                        enough = best < distance and distance - best - 1 >= 2 * shifted
                        if enough or best <= search.fewest:
                            return best
                        _shift(words, search.trial, start, shifted, target)
                        edits = _distance(search, search.trial, best - 1)
                        if edits < best:
                            best = edits
                            search.best[:] = search.trial
                at = search.following[at]
    return best


@kernel
def _best_of_sacrebleu(search: ShiftSearch, distance: int, tried: int) -> tuple[int, int]:
    """Write sacreBLEU's best shifted candidate to `search.best`; return its edit distance and number of shifts tried.

    Of shifts with the same distance, the longest is chosen, then the one with the first start, then the first target.
    Returns `distance` if no shift saves edits.
    """
    words, reference, limits = search.words, search.reference, search.limits
    aligned, wrong, reference_wrong = search.alignment.aligned, search.alignment.wrong, search.alignment.reference_wrong
    length, size = len(words), len(reference)
    best = distance
    best_size = best_start = best_place = 0
    for start in range(length):
        at = words[start]
        while at < size:
            run = 0
            if abs(at - start) <= limits.max_distance:
                run = _run_length(words, start, reference, at, limits.max_size)
            for shifted in range(1, run + 1):
                stop = start + shifted
                right = wrong[stop] == wrong[start] or reference_wrong[at + shifted] == reference_wrong[at]
                if right or start <= aligned[at] < stop:
                    continue
                previous = -1
                for offset in range(-1, shifted):
                    place = aligned[at + offset] + 1 if at + offset >= 0 else 0
                    if place == previous:
                        continue
                    previous = place
                    tried += 1
                    target = min(stop + place - start, length) if start <= place <= stop else place
                    worst = min(best, distance - 1)
                    _shift(words, search.trial, start, shifted, target)
                    edits = _distance(search, search.trial, worst)
                    if edits > worst:
                        continue
                    if edits < best or (-shifted, start, place) < (-best_size, best_start, best_place):
                        best, best_size, best_start, best_place = edits, shifted, start, place
                        search.best[:] = search.trial
                if tried >= _MOST_SHIFTS_TRIED:
                    return best, tried
            at = search.following[at]
    return best, tried


@kernel
def shift_edits(candidate: Int32Array, reference: Int32Array, limits: Limits) -> int:
    """Return the number of shifts, insertions, deletions and substitutions that the greedy search finds."""
    if len(candidate) == 0 or len(reference) == 0:
        return len(candidate) + len(reference)
    search = _start_search(candidate, reference, limits)
    shifts = tried = 0
    distance = best = _distance(search, search.words, len(search.words) + len(reference))
    while distance > search.fewest and limits.max_size > 0 and limits.max_distance > 0:
        _realign(search)
        if limits.search == TERCOM:
            best = _best_of_tercom(search, distance)
        else:
            best, tried = _best_of_sacrebleu(search, distance, tried)
        if best >= distance or tried >= _MOST_SHIFTS_TRIED:
            break
        shifts += 1
        search.words[:] = search.best
        distance = best
    return distance + shifts


def _shifts_to_try(values: Int32Array, offsets: Int64Array, first: Int64Array, second: Int64Array, *_: object) -> int:
    """Return the number of elements, and more for long pairs of sentences, by the cube of their length."""
    lengths = np.diff(offsets).astype(np.float64)
    one, other = lengths[first], lengths[second]
    tried = one * other * np.maximum(one, other) / _TRIED
    return values.size + offsets.size + first.size + second.size + int(tried.sum())


@kernel(elements=50_000, size=_shifts_to_try, rows=("first", "second"))
def shift_edits_of_pairs(
    values: Int32Array,
    offsets: Int64Array,
    first: Int64Array,
    second: Int64Array,
    limits: Limits,
) -> Int64Array:
    """Return the number of shifts and edits of each pair of sentences in CSR form, shape (pairs,)."""
    result = np.empty(len(first), dtype=np.int64)
    for pair in range(len(first)):
        candidate = values[offsets[first[pair]] : offsets[first[pair] + 1]]
        reference = values[offsets[second[pair]] : offsets[second[pair] + 1]]
        result[pair] = shift_edits(candidate, reference, limits)
    return result
