"""Pairs of candidates with each of their references, for metrics that compare with one reference at a time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset, source_place, view
from ranker.errors import DataError
from ranker.text.tokens import TokenBatch


@dataclass(frozen=True, eq=False)
class ReferencePairs:
    """Pairs of each candidate with each reference of its source, in the order of the references."""

    candidate: Int64Array
    reference: Int64Array
    offsets: Int64Array
    candidates: int

    def expand(self, batch: TokenBatch) -> TokenBatch:
        """Return `batch` with a separate source for each reference and one candidate for each pair."""
        return dataclasses.replace(
            batch,
            candidate=batch.candidate[self.candidate],
            candidate_source=self.reference,
            candidate_offsets=self.offsets,
            reference_offsets=np.arange(len(self.offsets), dtype=np.int64),
        )

    def refuse_long(self, batch: TokenBatch, dataset: Dataset, metric: str, most: int) -> None:
        """Refuse texts that are too long for `metric`, whose running time grows faster than their length."""
        candidate_lengths = batch.candidate_lengths[self.candidate]
        reference_lengths = batch.reference_lengths[self.reference]
        long = np.flatnonzero(candidate_lengths * reference_lengths > most**2)
        if len(long):
            pair = long[0]
            sizes = f"{candidate_lengths[pair]:,} tokens and a reference of {reference_lengths[pair]:,}"
            what = f"{sizes} are too long for {metric}"
            source = int(batch.candidate_source[self.candidate[pair]])
            limit = f"a product of at most {most**2:,}, as of {most:,} tokens each"
            raise DataError(
                f"a candidate of {what}, expected {limit}: split the texts or use another metric",
                file=source_place(dataset, source),
            )

    def best(self, scores: npt.ArrayLike, rows: FloatArray | None = None) -> Int64Array:
        """Return the index of each candidate's best-scoring pair, -1 if the candidate has no pair.

        Ties go to the pair with the highest `rows`, shape (pairs, width), compared from the first column on, so that
        the order of the references changes nothing; without `rows` they go to the first reference.
        """
        single = np.bincount(self.candidate).max(initial=0) < 2
        ties = () if rows is None or single else -rows.T[::-1]
        order = np.lexsort((self.reference, *ties, -np.asarray(scores, dtype=np.float64), self.candidate))
        result = np.full(self.candidates, -1, dtype=np.int64)
        sorted_candidates = self.candidate[order]
        first = np.flatnonzero(np.diff(sorted_candidates, prepend=-1))
        result[sorted_candidates[first]] = order[first]
        return result

    def highest(self, scores: npt.ArrayLike) -> FloatArray:
        """Return each candidate's highest score over its pairs, shape (candidates,); 0 if it has no pair."""
        best = np.full(self.candidates, -np.inf)
        np.maximum.at(best, self.candidate, np.asarray(scores, dtype=np.float64))
        return np.where(np.isneginf(best), 0.0, best)


@view
def reference_pairs(dataset: Dataset) -> ReferencePairs:
    """Return the pairs of candidates and references of `dataset`."""
    outputs = np.diff(dataset.candidate_offsets)
    references = np.diff(dataset.reference_offsets)
    source = np.repeat(np.arange(len(references)), references)
    sizes = outputs[source]
    offsets = offsets_of(sizes)
    reference = np.repeat(np.arange(len(source), dtype=np.int64), sizes)
    candidate = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - dataset.candidate_offsets[:-1][source], sizes)
    return ReferencePairs(candidate, reference, offsets, len(dataset))
