"""Results of a contrast of two systems, as values for tables and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.evaluation.table_result import TableResult

if TYPE_CHECKING:
    import pandas as pd

Subject = Literal["overall", "frequency", "length", "part of speech", "language pair", "document"]
WORD_F1, WORD_RECALL = "word F1", "word recall"


@dataclass(frozen=True)
class Bucket:
    """A figure of both systems for one group of words or segments."""

    name: str
    size: int
    first: Estimate
    second: Estimate
    difference: Estimate


@dataclass(frozen=True)
class Breakdown:
    """One measure, broken down by buckets of words or segments."""

    subject: Subject
    measure: str
    unit: Literal["words", "segments"]
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True)
class NgramContrast:
    """An n-gram that one system matches more often than the other system."""

    ngram: str
    order: int
    first: int
    second: int
    ratio: Estimate


@dataclass(frozen=True)
class SegmentContrast:
    """A segment that one system translates better than the other system."""

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


@dataclass(frozen=True, repr=False)
class SystemContrast(TableResult):
    """Contrast of two systems: figures by kinds of words and segments, and the most different n-grams and segments."""

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
    def headline(self) -> str:
        """One-line description: the systems and the data set."""
        return f"{self.first} and {self.second} on {self.data}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per subject, measure and bucket: its name and size, both figures, and their difference."""
        import pandas as pd

        return pd.DataFrame(
            {"subject": part.subject, "measure": part.measure or bucket.name, "name": bucket.name, "size": bucket.size}
            | bucket.first.columns("first")
            | bucket.second.columns("second")
            | bucket.difference.columns("difference")
            for part in self.breakdowns
            for bucket in part.buckets
        )

    @property
    def frequency_title(self) -> str:
        """Explanation, for display, of the text in which word frequencies are counted."""
        return f"how often {self.frequencies} {'have' if self.frequencies == 'the references' else 'has'} them"
