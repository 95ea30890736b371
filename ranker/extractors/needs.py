"""Requirements of extractors on data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.languages import ENGLISH

COMPARABLE = 3
"""Minimum number of candidates of a source for comparing each candidate with what the others have in common."""


@dataclass(frozen=True)
class Needs:
    """Requirements of an extractor on the data for which it computes columns.

    A source that lacks something can still be ranked by the extractors that do without.
    """

    references: int = 1
    """Minimum number of references of the source's language pair; each source also needs one, unless this is 0."""
    source: bool = False
    """True if each source needs its text."""
    candidates: int = 1
    """Number of candidates per source below which the columns cannot differ between candidates."""
    language: str | None = None
    """Code of the only target language, or None for any."""
    english_options: tuple[str, ...] = ()
    """Options of the extractor whose values are for English alone and do not follow the language of the data."""
    other_candidates: bool = False
    """True if the columns of a candidate depend on the other candidates, and so are no evidence about a system."""
    other_sources: bool = False
    """True if the columns depend on other sources, so that those of a shard differ from those of the whole data set."""
    known_texts: bool = False
    """True if only candidates of the data set can be scored, not other texts such as hypotheses against each other."""

    @classmethod
    def english(cls, *options: str) -> Self:
        """Return requirements that include English if any `options`, the names of English-only options, are given."""
        return cls(language=ENGLISH if options else None, english_options=options)

    def union(self, *others: Self) -> Needs:
        """Return the joint requirements of this object and `others`."""
        every = (self, *others)
        return Needs(
            references=max(needs.references for needs in every),
            source=any(needs.source for needs in every),
            candidates=max(needs.candidates for needs in every),
            language=next((needs.language for needs in every if needs.language), None),
            other_candidates=any(needs.other_candidates for needs in every),
            other_sources=any(needs.other_sources for needs in every),
            known_texts=any(needs.known_texts for needs in every),
        )

    def enough_references(self, dataset: Dataset) -> BoolArray:
        """Mask of the sources whose language pair has enough references to learn from, shape (sources,)."""
        return np.asarray((references_of_pair(dataset) >= self.references) | (self.references <= 1))

    def missing(self, dataset: Dataset, sources: BoolArray | None = None) -> str | None:
        """Return a message if the pairs of all `sources`, or of the data, have too few references, else None."""
        chosen = np.ones(len(dataset.sources), dtype=bool) if sources is None else sources
        if self.references <= 1 or self.enough_references(dataset)[chosen].any():
            return None
        number, pairs = references_of_pair(dataset)[chosen], dataset.source_language_pairs[chosen]
        largest = f" of {pairs[number.argmax()]}" if len(dataset.language_pairs) > 1 and len(pairs) else ""
        each = " per language pair" if largest else ""
        what = f"{number.max(initial=0)} reference sentences{largest} are too few for a language model"
        return f"{what}, which needs {self.references}{each}"


@view
def references_of_pair(dataset: Dataset) -> Int64Array:
    """Number of references in the language pair of each source, shape (sources,)."""
    references, pairs = np.diff(dataset.reference_offsets), dataset.source_language_pairs
    totals = {pair: int(references[pairs == pair].sum()) for pair in dataset.language_pairs}
    return np.array([totals[pair] for pair in pairs], dtype=np.int64)
