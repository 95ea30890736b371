"""N-grams of all references, numbered, and clipped matches that each weigh something.

Where `ranker.extractors.text.ngrams` counts, this sums weights, such as the information of NIST.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.extractors.text.ngrams import words_left
from ranker.extractors.text.tokens import Segments, TokenBatch
from ranker.ranks import stable_order
from ranker.storage.kernels import kernel


@dataclass(frozen=True, eq=False)
class ReferenceNgrams:
    """All n-grams of the references of a data set, numbered exactly, with how often they occur."""

    vocabulary: list[str]
    keys: tuple[Int64Array, ...]
    counts: tuple[Int64Array, ...]

    @classmethod
    def of(cls, batch: TokenBatch, order: int) -> ReferenceNgrams:
        """Give the n-grams of the references of `batch` numbers, up to `order` words."""
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

    def find(self, segments: Segments) -> list[Int64Array]:
        """Return the numbers of the n-grams of all sentences."""
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


@kernel(offsets=("candidate_offsets", "reference_offsets"))
def _weighted_matches(
    ids: Int64Array,
    offsets: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    candidate_offsets: Int64Array,
    reference_offsets: Int64Array,
    weight: FloatArray,
) -> FloatArray:
    base = candidate_offsets[0]
    result = np.zeros(candidate_offsets[-1] - base)
    for source in range(len(candidate_offsets) - 1):
        first, last = reference_offsets[source], reference_offsets[source + 1]
        size = 0
        for at in range(first, last):
            size += offsets[reference[at] + 1] - offsets[reference[at]]
        # n-grams of the references, sorted, with the most that one reference has
        known = np.empty(size, dtype=np.int64)
        most = np.empty(size, dtype=np.int64)
        total = 0
        for at in range(first, last):
            block = np.sort(ids[offsets[reference[at]] : offsets[reference[at] + 1]])
            position = 0
            while position < len(block):
                stop = position + 1
                while stop < len(block) and block[stop] == block[position]:
                    stop += 1
                if block[position] >= 0:
                    known[total] = block[position]
                    most[total] = stop - position
                    total += 1
                position = stop
        order = stable_order(known[:total])
        known = known[:total][order]
        most = most[:total][order]
        for row in range(candidate_offsets[source], candidate_offsets[source + 1]):
            block = np.sort(ids[offsets[candidate[row]] : offsets[candidate[row] + 1]])
            position = 0
            while position < len(block):
                stop = position + 1
                while stop < len(block) and block[stop] == block[position]:
                    stop += 1
                gram = block[position]
                if gram >= 0:
                    allowed = 0
                    at = np.searchsorted(known, gram)
                    while at < total and known[at] == gram:
                        allowed = max(allowed, most[at])
                        at += 1
                    result[row - base] += weight[gram] * min(stop - position, allowed)
                position = stop
    return result


def weighted_matches(batch: TokenBatch, ids: Int64Array, weight: npt.ArrayLike) -> FloatArray:
    """Sum the weights of the clipped n-gram matches of every candidate."""
    return _weighted_matches(
        ids,
        batch.segments.offsets,
        batch.candidate,
        batch.reference,
        batch.candidate_offsets,
        batch.reference_offsets,
        np.ascontiguousarray(weight, dtype=np.float64),
    )
