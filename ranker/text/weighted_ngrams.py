"""Numbered n-grams of all references, and clipped matches weighted by n-gram.

`ranker.text.ngrams` counts matches; this module sums their weights, such as the information of NIST.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.text.ngrams import clipped_counts, words_left
from ranker.text.tokens import TokenBatch, TokenisedTexts


@dataclass(frozen=True, eq=False)
class ReferenceNgrams:
    """All distinct n-grams of a data set's references, numbered and counted separately for each order."""

    vocabulary: list[str]
    keys: tuple[Int64Array, ...]
    counts: tuple[Int64Array, ...]

    @classmethod
    def of(cls, batch: TokenBatch, order: int) -> ReferenceNgrams:
        """Number the n-grams of up to `order` words in the references of `batch`."""
        uses = np.bincount(batch.reference, minlength=len(batch.segments.lengths))
        sentences = np.flatnonzero(uses)
        values, offsets = batch.segments.take(sentences)
        weight = np.repeat(uses[sentences], np.diff(offsets))
        ids = words = values.astype(np.int64)
        left = words_left(offsets)
        keys, counts = [], [np.bincount(words, weight, minlength=len(batch.segments.vocabulary)).astype(np.int64)]
        for n in range(1, order):
            starts = np.flatnonzero(left > n)
            known, numbers = np.unique((ids[starts] << 32) | words[starts + n], return_inverse=True)
            ids = np.full(len(words), -1, dtype=np.int64)
            ids[starts] = numbers
            keys.append(known)
            counts.append(np.bincount(numbers, weight[starts], minlength=len(known)).astype(np.int64))
        return cls(batch.segments.vocabulary, tuple(keys), tuple(counts))

    def find(self, segments: TokenisedTexts) -> list[Int64Array]:
        """Return, for each order, the number of the n-gram that begins at each word, -1 if no reference contains it."""
        words = segments.values.astype(np.int64)
        if segments.vocabulary is not self.vocabulary:
            number = {word: number for number, word in enumerate(self.vocabulary)}
            words = np.array([number.get(word, -1) for word in segments.vocabulary], dtype=np.int64)[words]
        left = words_left(segments.offsets)
        levels = [words]
        for n, keys in enumerate(self.keys, 1):
            starts = np.flatnonzero((left > n) & (levels[-1] >= 0))
            wanted = (levels[-1][starts] << 32) | words[starts + n]
            place = np.searchsorted(keys, wanted)
            present = (
                keys[np.minimum(place, len(keys) - 1)] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
            )
            numbers = np.full(len(words), -1, dtype=np.int64)
            numbers[starts[present]] = place[present]
            levels.append(numbers)
        return levels


def weighted_matches(batch: TokenBatch, ids: Int64Array, weight: FloatArray) -> FloatArray:
    """Sum the weights of each candidate's clipped n-gram matches."""
    lengths = batch.segments.lengths
    known = ids >= 0
    gram, clipped, ends = clipped_counts(
        *(np.repeat(np.arange(len(lengths)), lengths)[known], ids[known], len(lengths)),
        *(batch.candidate, batch.reference, batch.candidate_offsets, batch.reference_offsets),
    )
    row = np.repeat(np.arange(len(batch.candidate)), np.diff(ends))
    return np.asarray(np.bincount(row, weight[gram] * clipped, minlength=len(batch.candidate)), dtype=np.float64)
