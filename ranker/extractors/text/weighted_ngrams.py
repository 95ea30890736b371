"""N-grams numbered over a whole batch, and clipped matches that each weigh something.

Where `ranker.extractors.text.ngrams` counts, this sums weights: information in NIST, rarity in weighted columns.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from ranker.arrays import FloatArray, Int64Array
from ranker.extractors.text.tokens import Segments, TokenBatch


def ngram_ids(segments: Segments, order: int) -> list[Int64Array]:
    """Give every n-gram of all sentences a number, exactly.

    Returns
    -------
    list of int64 array, shape (tokens,)
        Entry ``n - 1``: number of the n-gram that starts at every token; -1 where the sentence ends before it does.
        Equal n-grams have equal numbers, from 0.
    """
    words = segments.values.astype(np.int64)
    # tokens from this one to the end of the sentence
    left = np.repeat(segments.offsets[1:], segments.lengths) - np.arange(len(words))
    ids = [words]
    for n in range(1, order):
        starts = np.flatnonzero(left > n)
        keys = (ids[-1][starts] << 32) | words[starts + n]
        longer = np.full(len(words), -1, dtype=np.int64)
        longer[starts] = np.unique(keys, return_inverse=True)[1]
        ids.append(longer)
    return ids


def reference_counts(batch: TokenBatch, ids: Int64Array) -> Int64Array:
    """Count how often every n-gram stands in the references, each as often as it is used as one."""
    uses = np.bincount(batch.reference, minlength=len(batch.segments.lengths))
    known = ids >= 0
    per_token = np.repeat(uses, batch.segments.lengths)[known]
    return np.bincount(ids[known], weights=per_token).astype(np.int64)


@njit(cache=True, nogil=True, parallel=True)
def _weighted_matches(
    ids: Int64Array,
    offsets: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    candidate_offsets: Int64Array,
    reference_offsets: Int64Array,
    weight: FloatArray,
) -> FloatArray:
    result = np.zeros(len(candidate))
    for source in prange(len(candidate_offsets) - 1):
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
        order = np.argsort(known[:total])
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
                    result[row] += weight[gram] * min(stop - position, allowed)
                position = stop
    return result


def weighted_matches(batch: TokenBatch, ids: Int64Array, weight: npt.ArrayLike) -> FloatArray:
    """Sum the weights of the clipped n-gram matches of every candidate.

    Parameters
    ----------
    batch : TokenBatch
    ids : int64 array, shape (tokens,)
        As `ngram_ids` numbers them.
    weight : array-like, shape (n-grams,)

    Returns
    -------
    float array, shape (candidates,)
    """
    return _weighted_matches(
        ids,
        batch.segments.offsets,
        batch.candidate,
        batch.reference,
        batch.candidate_offsets,
        batch.reference_offsets,
        np.ascontiguousarray(weight, dtype=np.float64),
    )
