"""What a contrast of two systems found, as values that tables and reports show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ranker.evaluation.bootstrap import Estimate

Subject = Literal["overall", "frequency", "length", "part of speech", "language pair", "document"]
WORD_F1, WORD_RECALL = "word F1", "word recall"


@dataclass(frozen=True)
class Bucket:
    """A figure of both systems for a part of the words or segments.

    Parameters
    ----------
    name : str
        Which part.
    size : int
        Number of reference words (a mean of both systems if there are several references), or of segments.
    first, second : Estimate
        The figure of either system, with its 95% bootstrap interval over sources; NaN where it is undefined.
    difference : Estimate
        First minus second, with the interval of the paired resamples.
    """

    name: str
    size: int
    first: Estimate
    second: Estimate
    difference: Estimate


@dataclass(frozen=True)
class Breakdown:
    """One figure by buckets.

    Parameters
    ----------
    subject : str
        What the buckets are: of words, their ``frequency`` or ``part of speech``; of segments, the ``length`` of their
        reference, the ``language pair`` or the ``document``. ``overall`` has a row for every figure of the whole.
    measure : str
        What is measured: `WORD_F1`, `WORD_RECALL`, or the name of the scorer; empty for ``overall``.
    unit : {"words", "segments"}
        What the sizes count.
    buckets : tuple of Bucket
    """

    subject: Subject
    measure: str
    unit: Literal["words", "segments"]
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True)
class NgramContrast:
    """An n-gram that one system matches more often.

    Parameters
    ----------
    ngram : str
    order : int
    first, second : int
        Matches of either system.
    ratio : Estimate
        (first + 1) / (first + second + 2), between 0 and 1.
    """

    ngram: str
    order: int
    first: int
    second: int
    ratio: Estimate


@dataclass(frozen=True)
class SegmentContrast:
    """A segment that one system translates better.

    Parameters
    ----------
    lp, doc, seg_id : str or None
    source : str
    references : tuple of str
    first_text, second_text : str
    first_score, second_score, difference : float
        As the scorer defines them; first minus second.
    first_only, second_only : tuple of str
        Stretches of the translation, in lower case, whose words a reference has and the other translation lacks.
    missed : tuple of str
        Stretches of the first reference whose words both lack.
    """

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
    """How two systems differ.

    Parameters
    ----------
    data, first, second : str
        Data set and systems.
    sources : int
    scorer : str
        Name of what scored the segments.
    higher_is_better : bool
        Of the scorer.
    resamples, seed : int
    frequencies : str
        Where the frequencies of words come from: ``the references``, or the name of a file.
    breakdowns : tuple of Breakdown
    first_ngrams, second_ngrams : tuple of NgramContrast
        N-grams that the first, or the second, matches more often, the most one-sided first.
    first_segments, second_segments : tuple of SegmentContrast
        Segments that the first, or the second, translates better, the largest difference first.
    notes : tuple of str
        What was left out, and why.
    """

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
