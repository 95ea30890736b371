"""Requirements of extractors on data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.languages import ENGLISH, language_name

COMPARABLE = 3
"""Minimum number of candidates of a source for comparing each candidate with what the others have in common."""


@dataclass(frozen=True)
class Needs:
    """Requirements of an extractor on the data for which it computes columns.

    A source that lacks something can still be ranked by the extractors that do without.
    """

    references: int = 1
    """Minimum number of references in the source's target language; each source also needs one, unless this is 0."""
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
        """Mask of the sources whose target language has enough references to learn from, shape (sources,)."""
        return np.asarray((references_in_language(dataset) >= self.references) | (self.references <= 1))

    def missing(self, dataset: Dataset, sources: BoolArray | None = None) -> str | None:
        """Return a message if the languages of all `sources`, or of the data, have too few references, else None."""
        chosen = np.ones(len(dataset.sources), dtype=bool) if sources is None else sources
        if self.references <= 1 or self.enough_references(dataset)[chosen].any():
            return None
        number, languages = references_in_language(dataset)[chosen], dataset.target_languages[chosen]
        several = len({*dataset.target_languages}) > 1 and len(languages)
        largest = f" in {language_name(languages[number.argmax()]) or 'an unknown language'}" if several else ""
        each = " per target language" if several else ""
        what = f"{number.max(initial=0)} reference sentences{largest} are too few for a language model"
        return f"{what}, which needs {self.references}{each}"


@view
def references_in_language(dataset: Dataset) -> Int64Array:
    """Number of references in the target language of each source, shape (sources,)."""
    codes = np.unique(dataset.target_languages.astype(str), return_inverse=True)[1]
    return np.bincount(codes, weights=np.diff(dataset.reference_offsets)).astype(np.int64)[codes]
