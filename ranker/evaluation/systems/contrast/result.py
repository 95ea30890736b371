"""What a contrast of two systems found, as values that tables and reports show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ranker.evaluation.bootstrap import Estimate

Subject = Literal["overall", "frequency", "length", "part of speech", "language pair", "document"]
WORD_F1, WORD_RECALL = "word F1", "word recall"


@dataclass(frozen=True)
class Bucket:
    """A figure of both systems for a part of the words or segments."""

    name: str
    size: int
    first: Estimate
    second: Estimate
    difference: Estimate


@dataclass(frozen=True)
class Breakdown:
    """One figure by buckets."""

    subject: Subject
    measure: str
    unit: Literal["words", "segments"]
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True)
class NgramContrast:
    """An n-gram that one system matches more often."""

    ngram: str
    order: int
    first: int
    second: int
    ratio: Estimate


@dataclass(frozen=True)
class SegmentContrast:
    """A segment that one system translates better."""

    lp: str | None
    doc: str | None
    seg_id: str | None
    source: str
    references: tuple[str, ...]
    first_text: str
    second_text: str
    first_score: float
    second_score: float
    difference: float
    first_only: tuple[str, ...]
    second_only: tuple[str, ...]
    missed: tuple[str, ...]


@dataclass(frozen=True)
class SystemContrast:
    """How two systems differ."""

    data: str
    first: str
    second: str
    sources: int
    scorer: str
    higher_is_better: bool
    resamples: int
    seed: int
    frequencies: str
    breakdowns: tuple[Breakdown, ...]
    first_ngrams: tuple[NgramContrast, ...]
    second_ngrams: tuple[NgramContrast, ...]
    first_segments: tuple[SegmentContrast, ...]
    second_segments: tuple[SegmentContrast, ...]
    notes: tuple[str, ...]

    @property
    def frequency_title(self) -> str:
        """What the frequency of a word is, in print."""
        return f"how often {self.frequencies} {'have' if self.frequencies == 'the references' else 'has'} them"

    def breakdown(self, subject: Subject, measure: str) -> Breakdown | None:
        """Return the figures of one measure by one subject, None if there are none."""
        matching = (
            breakdown for breakdown in self.breakdowns if (breakdown.subject, breakdown.measure) == (subject, measure)
        )
        return next(matching, None)
