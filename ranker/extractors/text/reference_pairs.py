"""Candidates beside each of their references, for metrics that compare with one reference at a time."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array, offsets_of
from ranker.extractors.text.tokens import TokenBatch


@dataclasses.dataclass(frozen=True, eq=False)
class ReferencePairs:
    """Every candidate with every reference of its source.

    Parameters
    ----------
    batch : TokenBatch
        As if every reference had a source of its own: `batch.candidate` holds a candidate once for each of its
        references.
    candidate : int64 array, shape (pairs,)
        Row of the candidate in the batch that this was made of.
    reference : int64 array, shape (pairs,)
        Row of the reference.
    """

    batch: TokenBatch
    candidate: Int64Array
    reference: Int64Array

    def best(self, scores: npt.ArrayLike, candidates: int) -> Int64Array:
        """Return the pair with the highest score of every candidate, of equal ones the first reference; -1 without any.

        Parameters
        ----------
        scores : array-like, shape (pairs,)
        candidates : int
            Number of candidates.
        """
        order = np.lexsort((self.reference, -np.asarray(scores, dtype=np.float64), self.candidate))
        result = np.full(candidates, -1, dtype=np.int64)
        sorted_candidates = self.candidate[order]
        first = np.flatnonzero(np.diff(sorted_candidates, prepend=-1))
        result[sorted_candidates[first]] = order[first]
        return result


def reference_pairs(batch: TokenBatch) -> ReferencePairs:
    """Put every candidate of `batch` beside each of its references."""
    outputs = np.diff(batch.candidate_offsets)
    references = np.diff(batch.reference_offsets)
    source = np.repeat(np.arange(len(references)), references)
    sizes = outputs[source]
    offsets = offsets_of(sizes)
    reference = np.repeat(np.arange(len(source), dtype=np.int64), sizes)
    candidate = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - batch.candidate_offsets[:-1][source], sizes)
    expanded = dataclasses.replace(
        batch,
        candidate=batch.candidate[candidate],
        candidate_source=reference,
        candidate_offsets=offsets,
        reference_offsets=np.arange(len(source) + 1, dtype=np.int64),
        source_texts=[batch.source_texts[index] for index in source.tolist()],
        languages=[batch.languages[index] for index in source.tolist()] if batch.languages else (),
        _others={},
    )
    return ReferencePairs(expanded, candidate, reference)


def best_of_references(pairs: ReferencePairs, scores: npt.ArrayLike, candidates: int) -> FloatArray:
    """Return the highest of the scores that every candidate has against its references; 0 without any.

    Parameters
    ----------
    pairs : ReferencePairs
    scores : array-like, shape (pairs,)
    candidates : int
        Number of candidates.

    Returns
    -------
    float array, shape (candidates,)
    """
    best = np.full(candidates, -np.inf)
    np.maximum.at(best, pairs.candidate, np.asarray(scores, dtype=np.float64))
    return np.where(np.isneginf(best), 0.0, best)
