"""The distinct texts of every source, and similarities of candidates looked up from those of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ranker.arrays import BoolArray, FloatArray, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset, view
from ranker.extractors.consensus.similarities import Similarities


@dataclass(frozen=True, eq=False)
class SourceTexts:
    """Distinct texts of each source's candidates; `row` maps each candidate to its text."""

    texts: Dataset
    row: Int64Array

    def of(self, sources: BoolArray) -> Dataset:
        """Return the texts of the sources in the mask `sources`, as a data set in which other sources have no texts."""
        if sources.all():
            return self.texts
        return self.texts.select_candidates(sources[self.texts.candidate_source])


@view
def source_texts(dataset: Dataset) -> SourceTexts:
    """Return the distinct texts of every source."""
    codes, _ = pd.factorize(dataset.candidates["text"])
    keys = dataset.candidate_source * (int(codes.max(initial=0)) + 1) + codes
    row, _ = pd.factorize(keys)
    # numbers are given in order of first occurrence, and candidates are sorted by source
    new = np.diff(np.maximum.accumulate(row), prepend=-1) > 0
    return SourceTexts(dataset.select_candidates(new), row.astype(np.int64))


@view
def canonical_order(dataset: Dataset) -> Int64Array:
    """Return candidate numbers sorted by source, then by text and system, regardless of their order in the data.

    Candidates of a source are summed in this order, so that the sums do not depend on the order of the candidates.
    """
    candidates = dataset.candidates
    text, system = (candidates[name].factorize(sort=True)[0] for name in ("text", "system"))
    return np.lexsort((system, candidates["is_reference"].to_numpy(bool), text, dataset.candidate_source))


@dataclass(frozen=True, eq=False)
class SourceGroup:
    """Sources with n candidates each: candidate rows of shape (sources, n), similarities of shape (sources, n, n)."""

    rows: Int64Array
    similarity: FloatArray


def blocks(dataset: Dataset, sources: BoolArray, similarities: Iterable[Similarities]) -> Iterator[SourceGroup]:
    """Yield the sources in the mask `sources`, grouped by number of candidates, with `similarities` of their texts."""
    sizes = np.diff(dataset.candidate_offsets)
    texts, order = source_texts(dataset), canonical_order(dataset)
    first = texts.texts.candidate_offsets[:-1]
    for similarity in similarities:
        starts = offsets_of(similarity.sizes**2)[:-1]
        used = np.arange(similarity.sources.start, similarity.sources.stop)
        for size in np.unique(sizes[used][sources[used] & (sizes[used] > 0)]).tolist():
            chosen = used[(sizes[used] == size) & sources[used]]
            rows = order[dataset.candidate_offsets[chosen][:, np.newaxis] + np.arange(size)]
            place = texts.row[rows] - first[chosen][:, np.newaxis]
            within = chosen - similarity.sources.start
            line = starts[within][:, np.newaxis] + place * similarity.sizes[within][:, np.newaxis]
            yield SourceGroup(rows, similarity.values[line[:, :, np.newaxis] + place[:, np.newaxis, :]])
