"""Matching of the words of a candidate and a reference: equal words first, then substitutes.

Words are matched one to one, a candidate's words in order, each with the nearest free word of the reference: first
equal forms, then equal stems. Two words are near if their relative positions i/n and j/m are. What is left over are the
*residual* words of both sides. A residual word looks only at residual words of the other side whose relative position
differs by `REACH` at most, and by `WINDOW` words of the longer sentence at most, so that cost grows in step with
length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, Float32Array, FloatArray, Int32Array, Int64Array
from ranker.ranks import stable_order
from ranker.storage.kernels import kernel

REACH = 0.4
"""Largest difference in relative position between words that may be matched."""
WINDOW = 40
"""Largest difference in position, in words of the longer sentence."""
UNMATCHED, EXACT, STEM, SUBSTITUTED = range(4)
SUMS = 10
"""Number of sums that `compare` returns per pair of sentences."""


class WordFacts(NamedTuple):
    """Stems of the words of a vocabulary, and a mask of the words that may be substituted."""

    stems: Int32Array
    replaceable: BoolArray


class Lookup(NamedTuple):
    """A substitution table indexed by the words of a vocabulary, for `compare`."""

    number: Int32Array
    offsets: Int64Array
    other: Int32Array
    similarity: Float32Array


@kernel
def _match_keys(
    candidate: Int32Array,
    reference: Int32Array,
    level: int,
    partner: Int32Array,
    kind: npt.NDArray[np.int8],
    taken: BoolArray,
) -> None:
    """Match unmatched candidate words with the nearest equal reference words; update `partner`, `kind` and `taken`.

    Reference words that are already taken are not matched again.
    """
    size, length = len(candidate), len(reference)
    order = stable_order(reference)
    keys = reference[order]
    for i in range(size):
        if partner[i] >= 0:
            continue
        best, nearest = -1, 2.0
        for place in range(np.searchsorted(keys, candidate[i]), length):
            if keys[place] != candidate[i]:
                break
            j = order[place]
            distance = abs(i / size - j / length)
            if not taken[j] and distance < nearest:
                best, nearest = j, distance
        if best >= 0:
            partner[i], kind[i], taken[best] = best, level, True


@kernel
def match_words(
    candidate: Int32Array, reference: Int32Array, stems: Int32Array
) -> tuple[Int32Array, npt.NDArray[np.int8], BoolArray]:
    """Return candidate words' partners and kinds of match, by form or stem, and a mask of matched reference words."""
    partner = np.full(len(candidate), -1, dtype=np.int32)
    kind = np.zeros(len(candidate), dtype=np.int8)
    taken = np.zeros(len(reference), dtype=np.bool_)
    _match_keys(candidate, reference, EXACT, partner, kind, taken)
    _match_keys(stems[candidate], stems[reference], STEM, partner, kind, taken)
    return partner, kind, taken


@kernel
def _reach(size: int, length: int) -> float:
    return min(REACH, WINDOW / max(size, length, 1))


@kernel
def _window(i: int, size: int, length: int, reach: float) -> tuple[int, int]:
    """Return a range (start, stop) that contains all reference words near candidate word `i`."""
    centre = i / size
    return max(0, int((centre - reach) * length) - 1), min(length, int((centre + reach) * length) + 2)


@kernel
def _residual_pairs(
    candidate: Int32Array,
    reference: Int32Array,
    words: WordFacts,
    places: Int32Array,
    closeness: Float32Array,
    steepness: float,
) -> int:
    """Return the number of pairs of nearby unmatched words; fill `places` and `closeness` unless they are empty."""
    size, length = len(candidate), len(reference)
    if size == 0 or length == 0:
        return 0
    partner, _, taken = match_words(candidate, reference, words.stems)
    reach = _reach(size, length)
    count = 0
    for i in range(size):
        if partner[i] >= 0 or not words.replaceable[candidate[i]]:
            continue
        start, stop = _window(i, size, length, reach)
        for j in range(start, stop):
            distance = abs(i / size - j / length)
            if taken[j] or distance > reach or not words.replaceable[reference[j]]:
                continue
            if len(places):
                places[count, 0], places[count, 1] = candidate[i], reference[j]
                places[count, 2], places[count, 3] = i, j
                closeness[count] = np.exp(-steepness * distance)
            count += 1
    return count


@kernel(elements=0, rows=("candidate", "reference"))
def residual_pairs(
    values: Int32Array,
    offsets: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    words: WordFacts,
    steepness: float,
) -> tuple[Int64Array, Int32Array, Float32Array]:
    """Return the number of nearby unmatched word pairs per sentence pair, and their words, positions and closeness."""
    sizes = np.zeros(len(candidate), dtype=np.int64)
    nothing, none = np.zeros((0, 4), dtype=np.int32), np.zeros(0, dtype=np.float32)
    for pair in range(len(candidate)):
        candidate_words = values[offsets[candidate[pair]] : offsets[candidate[pair] + 1]]
        reference_words = values[offsets[reference[pair]] : offsets[reference[pair] + 1]]
        sizes[pair] = _residual_pairs(candidate_words, reference_words, words, nothing, none, steepness)
    total = sizes.sum()
    places = np.empty((total, 4), dtype=np.int32)
    closeness = np.empty(total, dtype=np.float32)
    start = 0
    for pair in range(len(candidate)):
        candidate_words = values[offsets[candidate[pair]] : offsets[candidate[pair] + 1]]
        reference_words = values[offsets[reference[pair]] : offsets[reference[pair] + 1]]
        block = slice(start, start + sizes[pair])
        _residual_pairs(candidate_words, reference_words, words, places[block], closeness[block], steepness)
        start += sizes[pair]
    return sizes, places, closeness


@kernel
def substitute(
    candidate: Int32Array,
    reference: Int32Array,
    table: Lookup,
    partner: Int32Array,
    kind: npt.NDArray[np.int8],
    taken: BoolArray,
) -> Float32Array:
    """Match unmatched words by the table, most similar first, then nearest; update `partner`, `kind` and `taken`."""
    size, length = len(candidate), len(reference)
    similarity = np.zeros(size, dtype=np.float32)
    reach = _reach(size, length)
    rows, columns = np.empty(16, dtype=np.int32), np.empty(16, dtype=np.int32)
    likeness, distances = np.empty(16, dtype=np.float32), np.empty(16, dtype=np.float64)
    count = 0
    for i in range(size):
        first = table.number[candidate[i]]
        if partner[i] >= 0 or first < 0 or table.offsets[first] == table.offsets[first + 1]:
            continue
        block = table.other[table.offsets[first] : table.offsets[first + 1]]
        start, stop = _window(i, size, length, reach)
        for j in range(start, stop):
            second = table.number[reference[j]]
            distance = abs(i / size - j / length)
            if taken[j] or second < 0 or distance > reach:
                continue
            place = np.searchsorted(block, second)
            if place == len(block) or block[place] != second:
                continue
            if count == len(rows):
                rows, columns = np.append(rows, rows), np.append(columns, columns)
                likeness, distances = np.append(likeness, likeness), np.append(distances, distances)
            rows[count], columns[count], distances[count] = i, j, distance
            likeness[count] = table.similarity[table.offsets[first] + place]
            count += 1
    order = stable_order(distances[:count])
    order = order[stable_order(-likeness[order])]
    for row in order:
        i, j = rows[row], columns[row]
        if partner[i] < 0 and not taken[j]:
            partner[i], kind[i], taken[j], similarity[i] = j, SUBSTITUTED, True, likeness[row]
    return similarity


@kernel(elements=50_000, rows=("candidate", "reference"))
def compare(
    values: Int32Array,
    offsets: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    words: WordFacts,
    table: Lookup,
    weight: FloatArray,
    content: BoolArray,
) -> FloatArray:
    """Return counts and weights of words and matches, summed over each sentence pair, shape (pairs, SUMS)."""
    sums = np.zeros((len(candidate), SUMS))
    for pair in range(len(candidate)):
        candidate_words = values[offsets[candidate[pair]] : offsets[candidate[pair] + 1]]
        reference_words = values[offsets[reference[pair]] : offsets[reference[pair] + 1]]
        row = sums[pair]
        row[0], row[1] = len(candidate_words), len(reference_words)
        for word in candidate_words:
            row[6] += weight[word]
        for word in reference_words:
            row[7] += weight[word]
        if len(candidate_words) == 0 or len(reference_words) == 0:
            continue
        partner, kind, taken = match_words(candidate_words, reference_words, words.stems)
        similarity = substitute(candidate_words, reference_words, table, partner, kind, taken)
        for i in range(len(candidate_words)):
            if partner[i] < 0:
                continue
            share = 1.0
            if kind[i] == SUBSTITUTED:
                share = similarity[i]
                row[3] += share
                row[4] += 1.0
                if content[candidate_words[i]]:
                    row[5] += share
            else:
                row[2] += 1.0
            row[8] += share * weight[candidate_words[i]]
            row[9] += share * weight[reference_words[partner[i]]]
    return sums
