"""Requirements of extractors on data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import ENGLISH

COMPARABLE = 3
"""Minimum number of candidates of a source for comparing each candidate with what the others have in common."""


@dataclass(frozen=True)
class Needs:
    """Requirements of an extractor on the data for which it computes columns.

    A source that lacks something can still be ranked by the extractors that do without.
    """

    references: int = 1
    """Minimum total number of references in the data; each source also needs one, unless this is 0."""
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

    def missing(self, dataset: Dataset) -> str | None:
        """Return a message if a data set has too few references to learn from, else None."""
        references = len(dataset.references)
        if self.references <= 1 or references >= self.references:
            return None
        return f"{references} reference sentences are too few for a language model, which needs {self.references}"
