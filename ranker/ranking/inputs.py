"""Requirements of extractors: references, enough of them to learn from, candidates to compare, a language.

Every extractor declares them in `Extractor.needs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.extractors.base import Extractor
from ranker.extractors.target_language import in_english


@dataclass(frozen=True, eq=False)
class AvailableInputs:
    """References, candidates and language of each source, and the number of all references."""

    has_reference: BoolArray
    candidates: Int64Array
    english: BoolArray
    references: int

    def suffices(self, extractors: Sequence[Extractor], *, by_language: bool = False) -> BoolArray:
        """True for extractors whose needs are met, (sources, extractors), in any language unless `by_language`."""
        masks = [
            (self.has_reference | (needs.references == 0))
            & (self.candidates >= needs.candidates)
            & (self.references >= needs.references)
            & (self.english | (not (by_language and needs.language is not None)))
            for needs in (extractor.needs for extractor in extractors)
        ]
        return np.stack(masks, axis=1)


@view
def available_inputs(dataset: Dataset) -> AvailableInputs:
    """Inputs of `dataset` that extractors can use; references among candidates count only if there are no others."""
    dataset = dataset.context
    voting = ~dataset.candidates["is_reference"].to_numpy(bool)
    candidates = np.bincount(dataset.candidate_source[voting], minlength=len(dataset.sources))
    candidates = np.maximum(candidates, np.diff(dataset.candidate_offsets) > 0)
    if not len(dataset):
        # sources to which the candidates come later
        candidates = np.full(len(dataset.sources), np.iinfo(np.int64).max)
    has_reference = np.diff(dataset.reference_offsets) > 0
    return AvailableInputs(has_reference, candidates.astype(np.int64), in_english(dataset), len(dataset.references))


def context_for(extractor: Extractor, dataset: Dataset) -> tuple[Dataset, BoolArray | slice]:
    """Data set that the columns of the candidates are computed on, and the rows of these candidates there."""
    if dataset.context is dataset or not extractor.needs.other_candidates:
        return dataset, slice(None)
    return dataset.context, dataset.context_rows


def usable(extractors: Sequence[Extractor], dataset: Dataset) -> BoolArray:
    """True for extractors whose needs are met, shape (sources, extractors), in any language."""
    return available_inputs(dataset).suffices(extractors)


def usable_sets(extractors: Sequence[Extractor], *, by_language: bool = False) -> BoolArray:
    """Return the sets of extractors usable in some source, all and larger ones first, shape (sets, extractors)."""
    needs = [extractor.needs for extractor in extractors]
    plenty = 1 + max(max(each.references, each.candidates) for each in needs)
    references = {plenty, 0, *(each.references - 1 for each in needs if each.references)}
    candidates = sorted({plenty, *(each.candidates - 1 for each in needs)})
    cases = [
        AvailableInputs(
            np.full(len(candidates), has_reference), np.array(candidates), np.full(len(candidates), english), number
        ).suffices(extractors, by_language=True)
        for has_reference in (True, False)
        for number in sorted(references)
        for english in ([True, False] if by_language else [True])
    ]
    # systems are scored without what compares candidates
    apart = [not each.other_candidates for each in needs]
    sets = np.unique(np.concatenate([*cases, *(case & apart for case in cases)]), axis=0)
    sets = sets[sets.any(axis=1)]
    # the place of the first extractor that is missing decides between sets of one size
    return sets[np.lexsort((*(~sets).T[::-1], -sets.sum(axis=1)))]
