"""Edit distance between token sequences by bit vectors, one bit per reference word (Myers 1999; Hyyrö 2003).

A column of the dynamic programme is held as the signs of the differences between neighbouring rows, so that one word of
the candidate costs a dozen machine instructions for every 64 words of the reference. Distances are exact, with unit
costs of insertion, deletion and substitution.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import Int32Array, Int64Array, UInt64Array
from ranker.storage.kernels import kernel

BLOCK = 64
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE = np.uint64(1)
NONE = np.uint64(0)
_TOP = np.uint64(BLOCK - 1)
_LONG = 2048
"""Longest reference for which the bits of all words are kept at once."""


def _number_in_lists(candidate: Int32Array, reference: Int32Array) -> tuple[list[int], list[int]]:
    first: dict[int, int] = {}
    reference_numbers = [first.setdefault(word, at) for at, word in enumerate(reference.tolist())]
    return [first.get(word, len(reference_numbers)) for word in candidate.tolist()], reference_numbers


@kernel(plain=_number_in_lists)
def number_locally(candidate: Int32Array, reference: Int32Array) -> tuple[Int32Array, Int32Array]:
    """Replace each word of both texts by its first position in `reference`, or by the reference's length if absent."""
    size = len(reference)
    reference_numbers = np.empty(size, dtype=np.int32)
    for at in range(size):
        word = reference[at]
        first = 0
        while reference[first] != word:
            first += 1
        reference_numbers[at] = first
    candidate_numbers = np.empty(len(candidate), dtype=np.int32)
    for at in range(len(candidate)):
        word = candidate[at]
        first = 0
        while first < size and reference[first] != word:
            first += 1
        candidate_numbers[at] = first
    return candidate_numbers, reference_numbers


def _masks_as_integers(reference: list[int]) -> list[int]:
    """Return the masks of `position_masks`, each as a single Python integer."""
    masks = [0] * (len(reference) + 1)
    for at, word in enumerate(reference):
        masks[word] |= 1 << at
    return masks


@kernel(plain=_masks_as_integers)
def position_masks(reference: Int32Array) -> UInt64Array:
    """Return bit masks of the positions of words numbered by `number_locally`, shape (words + 1, blocks of 64)."""
    masks = np.zeros((len(reference) + 1, max(1, (len(reference) + BLOCK - 1) // BLOCK)), dtype=np.uint64)
    for at in range(len(reference)):
        masks[reference[at], at // BLOCK] |= ONE << np.uint64(at % BLOCK)
    return masks


@kernel(inline="always")
def _advance_block(
    match: np.uint64, above: np.uint64, below: np.uint64, carry_above: np.uint64, carry_below: np.uint64, top: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Advance 64 rows of the dynamic programme by one candidate word; return the rows' new bits and the carries."""
    vertical = match | below
    match = match | carry_below
    horizontal = (((match & above) + above) ^ above) | match
    more = below | ~(horizontal | above)
    less = above & horizontal
    next_above, next_below = (more >> top) & ONE, (less >> top) & ONE
    more = (more << ONE) | carry_above
    less = (less << ONE) | carry_below
    return less | ~(vertical | more), more & vertical, next_above, next_below


def _distance_on_integers(words: list[int], masks: list[int], size: int) -> int:
    """Return the result of `masked_distance`, computed with one integer for the bits of all reference words."""
    every = (1 << size) - 1
    above, below = every, 0
    for word in words:
        match = masks[word]
        horizontal = (((match & above) + above) ^ above) | match
        more, less = (below | ~(horizontal | above)) << 1 | 1, (above & horizontal) << 1
        vertical = match | below
        above, below = (less | ~(vertical | more)) & every, more & vertical
    return len(words) + above.bit_count() - below.bit_count()


@kernel(plain=_distance_on_integers)
def masked_distance(words: Int32Array, masks: UInt64Array, size: int) -> int:
    """Return the edit distance of words numbered by `number_locally` to a non-empty reference of `size` words."""
    last_row = np.uint64((size - 1) % BLOCK)
    distance = np.int64(size)
    if masks.shape[1] == 1:  # most references have up to 64 words, and then all fits into registers
        one_above, one_below = ALL, NONE
        for word in words:
            one_above, one_below, up, down = _advance_block(masks[word, 0], one_above, one_below, ONE, NONE, last_row)
            distance += np.int64(up) - np.int64(down)
        return int(distance)
    above = np.full(masks.shape[1], ALL)
    below = np.zeros(masks.shape[1], dtype=np.uint64)
    for word in words:
        up, down = ONE, NONE
        for block in range(masks.shape[1]):
            top = last_row if block == masks.shape[1] - 1 else _TOP
            above[block], below[block], up, down = _advance_block(
                masks[word, block], above[block], below[block], up, down, top
            )
        distance += np.int64(up) - np.int64(down)
    return int(distance)


@kernel
def _long_distance(candidate: Int32Array, reference: Int32Array) -> int:
    """Return the edit distance of two sequences of word ids, computed in blocks of 64 reference words.

    It keeps two numbers per candidate word, instead of bits of all reference words per distinct word.
    """
    size = len(reference)
    masks = np.zeros(max(candidate.max(), reference.max()) + 1, dtype=np.uint64)
    up, down = np.ones(len(candidate), dtype=np.uint64), np.zeros(len(candidate), dtype=np.uint64)
    distance = np.int64(size)
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        for at in range(start, stop):
            masks[reference[at]] |= ONE << np.uint64(at - start)
        above, below, top = ALL, NONE, np.uint64(stop - start - 1)
        for at in range(len(candidate)):
            above, below, up[at], down[at] = _advance_block(masks[candidate[at]], above, below, up[at], down[at], top)
        for at in range(start, stop):
            masks[reference[at]] = NONE
    for at in range(len(candidate)):
        distance += np.int64(up[at]) - np.int64(down[at])
    return int(distance)


@kernel
def edit_distance(candidate: Int32Array, reference: Int32Array) -> int:
    """Return the fewest insertions, deletions and substitutions between two sequences of word ids."""
    if len(reference) == 0 or len(candidate) == 0:
        return len(candidate) + len(reference)
    if len(reference) > _LONG:
        return _long_distance(candidate, reference)
    words, reference_words = number_locally(candidate, reference)
    return masked_distance(words, position_masks(reference_words), len(reference))


@kernel(rows=("first", "second"))
def edit_distances(values: Int32Array, offsets: Int64Array, first: Int64Array, second: Int64Array) -> Int64Array:
    """Return the edit distances of pairs of sentences in CSR form, shape (pairs,)."""
    result = np.empty(len(first), dtype=np.int64)
    for pair in range(len(first)):
        result[pair] = edit_distance(
            values[offsets[first[pair]] : offsets[first[pair] + 1]],
            values[offsets[second[pair]] : offsets[second[pair] + 1]],
        )
    return result
