"""What extractors need of the data: references, enough of them to learn from, candidates to compare with each other.

Every extractor declares it in `needs_references`, `fewest_references` and `fewest_candidates`. A source that lacks
something can still be ranked by the extractors that do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Extractor


@dataclass(frozen=True, eq=False)
class Supply:
    """What there is for the extractors, by source.

    Parameters
    ----------
    has_reference : bool array, shape (sources,)
    candidates : int array, shape (sources,)
        Candidates that are no references.
    references : int
        Of the whole data set.
    """

    has_reference: BoolArray
    candidates: Int64Array
    references: int

    @classmethod
    def of(cls, dataset: Dataset) -> Supply:
        """Take stock of a data set."""
        everyone = dataset.peers[0]
        voting = ~everyone.candidates["is_reference"].to_numpy(bool)
        candidates = np.bincount(everyone.candidate_source[voting], minlength=len(dataset.sources))
        if not len(dataset):
            # sources to which the candidates come later
            candidates = np.full(len(dataset.sources), np.iinfo(np.int64).max)
        return cls(np.diff(dataset.reference_offsets) > 0, candidates.astype(np.int64), len(dataset.references))

    def suffices(self, extractors: Sequence[Extractor]) -> BoolArray:
        """Return which extractors have what they need, shape (sources, extractors)."""
        masks = [
            (self.has_reference | (not one.needs_references))
            & (self.candidates >= one.fewest_candidates)
            & (self.references >= one.fewest_references)
            for one in extractors
        ]
        return np.stack(masks, axis=1)


def usable(extractors: Sequence[Extractor], dataset: Dataset) -> BoolArray:
    """Return which extractors have what they need of each source of `dataset`, shape (sources, extractors)."""
    return Supply.of(dataset).suffices(extractors)


def usable_sets(extractors: Sequence[Extractor]) -> BoolArray:
    """Return the sets of extractors that are usable together in some source, shape (sets, extractors).

    All of them come first, then the larger sets before the smaller. The empty set is none of them.
    """
    plenty = 1 + max(max(one.fewest_references, one.fewest_candidates) for one in extractors)
    references = {plenty, 0, *(one.fewest_references - 1 for one in extractors if one.fewest_references)}
    candidates = sorted({plenty, *(one.fewest_candidates - 1 for one in extractors)})
    cases = [
        Supply(np.full(len(candidates), has_reference), np.array(candidates), number).suffices(extractors)
        for has_reference in (True, False)
        for number in sorted(references)
    ]
    found = np.unique(np.concatenate(cases), axis=0)
    found = found[found.any(axis=1)]
    # the place of the first extractor that is missing decides between sets of one size
    return found[np.lexsort((*(~found).T[::-1], -found.sum(axis=1)))]
