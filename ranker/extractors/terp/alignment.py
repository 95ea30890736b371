"""Least-cost word alignments with paraphrases, with the search pruned as in TERp.

A lattice has a state for each number of aligned candidate words (column) and aligned reference words (row).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array, UInt8Array
from ranker.storage.kernels import kernel

WORDS, INSERTION, DELETION, PHRASE = 0, 1, 2, 3
_UNREACHED = np.inf
_ROUNDING = 1e-9


class Phrases(NamedTuple):
    """Paraphrases that may align with phrases of one reference, with their costs."""

    start: Int32Array
    size: Int32Array
    offsets: Int64Array
    words: Int32Array
    cost: FloatArray


class Sentences(NamedTuple):
    """A candidate and a reference, with costs of aligning their words and phrases."""

    candidate: Int32Array
    cost: FloatArray
    equal: BoolArray
    alike: BoolArray
    phrases: Phrases
    insertion: float
    deletion: float
    beam: float
    reach: int


class Lattice(NamedTuple):
    """Costs and last steps of all partial alignments, indexed by the numbers of candidate and reference words."""

    distance: FloatArray
    operation: UInt8Array
    phrase: Int32Array
    first: Int64Array
    last: Int64Array


@kernel
def empty_lattice(length: int, size: int) -> Lattice:
    """Allocate a lattice for `length` candidate words and `size` reference words."""
    return Lattice(
        np.empty((length + 1, size + 1)),
        np.empty((length + 1, size + 1), dtype=np.uint8),
        np.empty((length + 1, size + 1), dtype=np.int32),
        np.empty(length + 1, dtype=np.int64),
        np.empty(length + 1, dtype=np.int64),
    )


@kernel
def phrase_fits(sentences: Sentences, order: Int32Array, phrase: int, start: int) -> bool:
    """True if the candidate, with its words in `order`, has the words of `phrase` from position `start` on."""
    offsets, words = sentences.phrases.offsets, sentences.phrases.words
    first, size = offsets[phrase], offsets[phrase + 1] - offsets[phrase]
    if start < 0 or start + size > len(order):
        return False
    fits = True
    for at in range(size):
        fits = fits and sentences.candidate[order[start + at]] == words[first + at]
    return fits


@kernel
def _apply_phrases(
    sentences: Sentences,
    order: Int32Array,
    column: int,
    known: int,
    base: Lattice,
    lattice: Lattice,
    ready: int,
    single: bool,
) -> int:
    """Lower costs in `column` of `lattice` by phrases that end there; return the last row used, at least `ready`."""
    phrases = sentences.phrases
    distance = lattice.distance
    for phrase in range(len(phrases.start)):
        words = phrases.offsets[phrase + 1] - phrases.offsets[phrase]
        size, row = phrases.size[phrase], phrases.start[phrase]
        if (words == 1 and size == 1) != single or not phrase_fits(sentences, order, phrase, column - words):
            continue
        before = base if column - words <= known else lattice
        if not before.first[column - words] <= row <= before.last[column - words]:
            continue
        while ready < row + size:
            ready += 1
            distance[column, ready] = _UNREACHED
        value = phrases.cost[phrase] + before.distance[column - words, row]
        if value < distance[column, row + size]:
            distance[column, row + size] = value
            lattice.operation[column, row + size] = PHRASE
            lattice.phrase[column, row + size] = phrase
    return ready


@kernel
def fill_rest(sentences: Sentences, order: Int32Array, rest: FloatArray) -> None:
    """Fill `rest` with the least cost of aligning the words that remain after each state, without pruning."""
    phrases = sentences.phrases
    length, size = len(order), sentences.cost.shape[1]
    for column in range(length, -1, -1):
        rest[column] = _UNREACHED
        for phrase in range(len(phrases.start)):
            if phrase_fits(sentences, order, phrase, column):
                row, words = phrases.start[phrase], phrases.offsets[phrase + 1] - phrases.offsets[phrase]
                value = phrases.cost[phrase] + rest[column + words, row + phrases.size[phrase]]
                rest[column, row] = min(rest[column, row], value)
        if column == length:
            rest[column, size] = 0.0
        else:
            rest[column, size] = rest[column + 1, size] + sentences.insertion
        for row in range(size - 1, -1, -1):
            value = min(rest[column, row], rest[column, row + 1] + sentences.deletion)
            if column < length:
                value = min(value, rest[column + 1, row] + sentences.insertion)
                value = min(value, rest[column + 1, row + 1] + sentences.cost[order[column], row])
            rest[column, row] = value


@kernel
def fill_lattice(
    sentences: Sentences,
    order: Int32Array,
    known: int,
    settled: int,
    most: float,
    base: Lattice,
    rest: FloatArray,
    lattice: Lattice,
) -> float:
    """Fill lattice columns after `known`, trying steps in TERp's order; return the least cost of aligning all words."""
    length, size = len(order), sentences.cost.shape[1]
    distance, operation = lattice.distance, lattice.operation
    insertion, deletion = sentences.insertion, sentences.deletion
    most += _ROUNDING
    too_much, bound = 0, _UNREACHED
    for column in range(known + 1, length + 1):
        final = column == length
        best = _UNREACHED
        first, last, ready = 0, 0, size
        if column == 0:
            distance[0] = _UNREACHED
            distance[0, 0] = 0.0
        else:
            bounds = base if column - 1 <= known else lattice
            before = bounds.distance[column - 1]
            first, last = bounds.first[column - 1], bounds.last[column - 1] + 1
            ready = size if final else min(last, size)
            distance[column, first : ready + 1] = _UNREACHED
            word = order[column - 1]
            ready = _apply_phrases(sentences, order, column, known, base, lattice, ready, False)
            for row in range(first, min(last, size)):
                value = sentences.cost[word, row] + before[row]
                if value < distance[column, row + 1]:
                    distance[column, row + 1] = value
                    operation[column, row + 1] = WORDS
                    best = min(best, value)
                elif sentences.equal[word, row]:
                    best = min(best, value)
            ready = _apply_phrases(sentences, order, column, known, base, lattice, ready, True)
            for row in range(first, last):
                value = before[row] + insertion
                if value < distance[column, row]:
                    distance[column, row] = value
                    operation[column, row] = INSERTION
        lowest, highest = size + 1, -1
        least = _UNREACHED
        row = first
        while row <= size and (final or row <= last):
            value = distance[column, row]
            if value == _UNREACHED or (not final and value > best + sentences.beam):
                distance[column, row] = _UNREACHED
                row += 1
                continue
            lowest, highest = min(lowest, row), row
            least = min(least, value)
            if row < size:
                if row == ready:
                    ready += 1
                    distance[column, ready] = _UNREACHED
                if value + deletion < distance[column, row + 1]:
                    distance[column, row + 1] = value + deletion
                    operation[column, row + 1] = DELETION
                    last = max(last, row + 1)
            row += 1
        lattice.first[column], lattice.last[column] = lowest, highest
        # a phrase leads past columns, but not past as many as it has words
        too_much = too_much + 1 if least > most else 0
        if too_much >= sentences.reach:
            return _UNREACHED
        if settled <= column < settled + sentences.reach and most < _UNREACHED:
            for row in range(lowest, highest + 1):
                bound = min(bound, distance[column, row] + rest[column, row])
            if bound > most and column == settled + sentences.reach - 1:
                return _UNREACHED
    return float(distance[length, size])


class LatticeAlignment(NamedTuple):
    """An alignment in the form that the search for shifts uses: errors and aligned positions of both sentences."""

    wrong: Int32Array
    reference_wrong: Int32Array
    aligned: Int32Array
    reference_aligned: Int32Array


@kernel
def _last_step(sentences: Sentences, lattice: Lattice, column: int, row: int) -> tuple[int, int]:
    """Return the numbers of candidate words and reference words that the last step to a state aligns."""
    operation = lattice.operation[column, row]
    if operation == DELETION:
        return 0, 1
    if operation == INSERTION:
        return 1, 0
    if operation == PHRASE:
        phrase, offsets = lattice.phrase[column, row], sentences.phrases.offsets
        return int(offsets[phrase + 1] - offsets[phrase]), int(sentences.phrases.size[phrase])
    return 1, 1


@kernel
def read_steps(sentences: Sentences, lattice: Lattice) -> Int32Array:
    """Return the best path's steps (operation, candidate words, reference words), shape (steps, 3)."""
    column, row = lattice.distance.shape[0] - 1, lattice.distance.shape[1] - 1
    steps = np.empty((column + row, 3), dtype=np.int32)
    first = column + row
    while column > 0 or row > 0:
        first -= 1
        words, size = _last_step(sentences, lattice, column, row)
        steps[first, 0], steps[first, 1], steps[first, 2] = lattice.operation[column, row], words, size
        column -= words
        row -= size
    return steps[first:]


@kernel
def read_alignment(sentences: Sentences, order: Int32Array, lattice: Lattice) -> LatticeAlignment:
    """Return the alignment along the best path of a lattice."""
    column, row = len(order), sentences.cost.shape[1]
    wrong = np.ones(column + 1, dtype=np.int32)
    reference_wrong = np.ones(row + 1, dtype=np.int32)
    aligned = np.empty(row, dtype=np.int32)
    reference_aligned = np.empty(column, dtype=np.int32)
    wrong[0] = reference_wrong[0] = 0
    while column > 0 or row > 0:
        words, size = _last_step(sentences, lattice, column, row)
        single = lattice.operation[column, row] == WORDS
        column -= words
        row -= size
        aligned[row : row + size] = column if words > 0 else column - 1
        reference_aligned[column : column + words] = row if size > 0 else row - 1
        if single and sentences.equal[order[column], row]:
            wrong[column + 1] = reference_wrong[row + 1] = 0
    return LatticeAlignment(
        np.cumsum(wrong).astype(np.int32), np.cumsum(reference_wrong).astype(np.int32), aligned, reference_aligned
    )
