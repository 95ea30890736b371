"""Clipped n-gram matches of candidates with their references: exact, with n-grams numbered per source.

An n-gram of the references of one source is numbered by the pair (number of its first n-1 words, number of its last
word) in a small hash table that compares whole keys, so nothing is approximate. Candidates only look up: an n-gram
whose prefix or last word the references lack cannot match.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import Int32Array, Int64Array, take_rows
from ranker.storage.kernels import kernel
from ranker.text.tokens import TokenBatch

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@kernel(inline="always")
def hash_slot(keys: Int64Array, key: np.int64) -> np.int64:
    """Return the slot of `key` in a hash table, or the empty slot where `key` belongs."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * _MULTIPLIER) >> _SHIFT) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def _count_source(
    values: Int32Array,
    offsets: Int64Array,
    references: Int64Array,
    candidates: Int64Array,
    order: int,
    matches: Int64Array,
) -> None:
    """Write the clipped matches of one source's candidates into `matches`, shape (candidates, order)."""
    size = 0
    for segment in references:
        size += offsets[segment + 1] - offsets[segment]
    longest = 0
    for segment in candidates:
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    capacity = 16
    while capacity < 2 * size:
        capacity *= 2
    # word and n-gram number of every token position of the references, and of one candidate
    reference_word = np.empty(size, dtype=np.int64)
    reference_gram = np.empty(size, dtype=np.int64)
    word = np.empty((len(candidates), longest), dtype=np.int64)
    gram = np.empty((len(candidates), longest), dtype=np.int64)
    keys = np.empty(capacity, dtype=np.int64)
    numbers = np.empty(capacity, dtype=np.int64)
    most = np.empty(size, dtype=np.int64)
    count = np.zeros(size, dtype=np.int64)
    for n in range(order):
        keys[:] = -1
        known = 0
        position = 0
        for segment in references:
            start, stop = offsets[segment], offsets[segment + 1]
            first = position
            for token in range(start, stop - n):
                if n == 0:
                    key = np.int64(values[token])
                else:
                    key = (reference_gram[position] << 32) | reference_word[position + n]
                slot = hash_slot(keys, key)
                if keys[slot] == -1:
                    keys[slot] = key
                    numbers[slot] = known
                    most[known] = 0
                    known += 1
                number = numbers[slot]
                reference_gram[position] = number
                if n == 0:
                    reference_word[position] = number
                count[number] += 1
                most[number] = max(most[number], count[number])
                position += 1
            for at in range(first, position):
                count[reference_gram[at]] = 0
            position = first + (stop - start)
        for row in range(len(candidates)):
            start = offsets[candidates[row]]
            length = offsets[candidates[row] + 1] - start
            matched = 0
            for at in range(length - n):
                number = -1
                if n == 0:
                    slot = hash_slot(keys, np.int64(values[start + at]))
                    if keys[slot] != -1:
                        number = numbers[slot]
                    word[row, at] = number
                elif gram[row, at] >= 0 and word[row, at + n] >= 0:
                    slot = hash_slot(keys, (gram[row, at] << 32) | word[row, at + n])
                    if keys[slot] != -1:
                        number = numbers[slot]
                gram[row, at] = number
                if number >= 0:
                    count[number] += 1
                    if count[number] <= most[number]:
                        matched += 1
            for at in range(length - n):
                if gram[row, at] >= 0:
                    count[gram[row, at]] = 0
            matches[row, n] = matched


def words_left(offsets: Int64Array) -> Int64Array:
    """Return the number of words from each word to the end of its sentence, the word itself included."""
    return np.repeat(offsets[1:], np.diff(offsets)) - np.arange(offsets[-1])


def clipped_counts(
    sentence: Int64Array,
    gram: Int64Array,
    sentences: int,
    candidate: Int64Array,
    reference: Int64Array,
    candidate_offsets: Int64Array,
    reference_offsets: Int64Array,
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the distinct n-grams of each candidate, their clipped counts, and the offset of each candidate's n-grams.

    `sentence` and `gram` are the sentence and the number of each n-gram occurrence.
    """
    # count of each n-gram in each sentence, with the rows of a sentence next to each other
    keys, counts = np.unique((sentence << 32) | gram, return_counts=True)
    grams, rows = keys & 0xFFFFFFFF, np.searchsorted(keys >> 32, np.arange(sentences + 1))
    sources = np.arange(len(candidate_offsets) - 1)
    candidate_source = np.repeat(sources, np.diff(candidate_offsets))
    reference_source = np.repeat(sources, np.diff(reference_offsets))
    # highest count of each n-gram in a single reference of each source
    entries, ends = take_rows(rows, reference)
    known, number = np.unique((np.repeat(reference_source, np.diff(ends)) << 32) | grams[entries], return_inverse=True)
    most = np.zeros(len(known) + 1, dtype=np.int64)
    np.maximum.at(most, number, counts[entries])
    entries, ends = take_rows(rows, candidate)
    wanted = (np.repeat(candidate_source, np.diff(ends)) << 32) | grams[entries]
    place = np.searchsorted(known, wanted)
    place[np.append(known, -1)[place] != wanted] = len(known)
    return grams[entries], np.minimum(counts[entries], most[place]), ends


def matches_of_tables(
    values: Int32Array,
    offsets: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    candidate_offsets: Int64Array,
    reference_offsets: Int64Array,
    order: int,
) -> Int64Array:
    """Count each candidate's clipped n-gram matches, as `_matches` does, by sorting the n-grams of all sentences."""
    result = np.zeros((len(candidate), order), dtype=np.int64)
    sentences = len(offsets) - 1
    left, sentence = words_left(offsets), np.repeat(np.arange(sentences), np.diff(offsets))
    words = values.astype(np.int64)
    gram = words.copy()
    for n in range(order):
        starts = np.flatnonzero(left > n)
        if n:
            _, gram[starts] = np.unique((gram[starts] << 32) | words[starts + n], return_inverse=True)
        _, clipped, ends = clipped_counts(
            *(sentence[starts], gram[starts], sentences),
            *(candidate, reference, candidate_offsets, reference_offsets),
        )
        matched = np.append(0, np.cumsum(clipped))
        result[:, n] = matched[ends[1:]] - matched[ends[:-1]]
    return result


@kernel(elements=800_000, plain=matches_of_tables, offsets=("candidate_offsets", "reference_offsets"))
def _matches(
    values: Int32Array,
    offsets: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    candidate_offsets: Int64Array,
    reference_offsets: Int64Array,
    order: int,
) -> Int64Array:
    base = candidate_offsets[0]
    result = np.zeros((candidate_offsets[-1] - base, order), dtype=np.int64)
    for source in range(len(candidate_offsets) - 1):
        first, last = candidate_offsets[source], candidate_offsets[source + 1]
        if first < last:
            _count_source(
                values,
                offsets,
                reference[reference_offsets[source] : reference_offsets[source + 1]],
                candidate[first:last],
                order,
                result[first - base : last - base],
            )
    return result


@kernel(elements=300_000)
def _closest(
    lengths: Int64Array,
    candidate_source: Int64Array,
    reference_lengths: Int64Array,
    reference_offsets: Int64Array,
) -> Int64Array:
    result = np.zeros(len(lengths), dtype=np.int64)
    for row in range(len(lengths)):
        source = candidate_source[row]
        nearest = np.int64(-1)
        for at in range(reference_offsets[source], reference_offsets[source + 1]):
            length = reference_lengths[at]
            distance = abs(length - lengths[row])
            best = abs(nearest - lengths[row])
            if nearest < 0 or distance < best or (distance == best and length < nearest):
                nearest = length
        result[row] = nearest if nearest > 0 else 0
    return result


def ngram_matches(batch: TokenBatch, order: int) -> Int64Array:
    """Count each candidate's clipped n-gram matches with its references by order, shape (candidates, order)."""
    return _matches(
        batch.segments.values,
        batch.segments.offsets,
        batch.candidate,
        batch.reference,
        batch.candidate_offsets,
        batch.reference_offsets,
        order,
    )


def ngram_totals(batch: TokenBatch, order: int) -> Int64Array:
    """Return the number of n-grams of each candidate for each order, shape (candidates, order)."""
    return np.asarray(np.maximum(batch.candidate_lengths[:, np.newaxis] - np.arange(order), 0))


def closest_reference_lengths(batch: TokenBatch) -> Int64Array:
    """Return the length of the reference closest in length to each candidate; the shorter if two are equally close."""
    return _closest(batch.candidate_lengths, batch.candidate_source, batch.reference_lengths, batch.reference_offsets)
