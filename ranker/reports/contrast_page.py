"""Report that contrasts two systems: figures by types of words and segments, n-grams, and segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ranker.corpora.records import Candidate, Record, assemble
from ranker.evaluation.systems.contrast.result import (
    Breakdown,
    Bucket,
    SegmentContrast,
    Subject,
    SystemContrast,
)
from ranker.reports.drawing import Plot, require, shortened
from ranker.reports.examples import ShownSource, TextRun, differences, show
from ranker.reports.pages import Section, fragment, section, write_page
from ranker.reports.plots import Series, rows_plot
from ranker.reports.sources import outputs_by_source

ROWS = 12
"""Maximum number of buckets in a plot; the tables have all."""
_NAME = 20


@dataclass(frozen=True)
class ShownSegment:
    """A segment with marked words."""

    segment: SegmentContrast
    source: ShownSource
    differences: tuple[tuple[TextRun, ...], tuple[TextRun, ...]]


def contrast_report(contrast: SystemContrast, signature: str) -> tuple[str, dict[str, Plot]]:
    """Return the page that reports on a contrast, and its plots; raise an error if a required package is missing."""
    require()
    subjects: dict[Subject, list[Breakdown]] = {}
    for breakdown in contrast.breakdowns:
        subjects.setdefault(breakdown.subject, []).append(breakdown)
    sections = [
        *(_breakdowns(contrast, subject, ones) for subject, ones in subjects.items()),
        *([_ngrams(contrast)] if contrast.first_ngrams or contrast.second_ngrams else []),
        *(
            _segments(contrast, side, name, segments)
            for side, name, segments in (
                ("first", contrast.first, contrast.first_segments),
                ("second", contrast.second, contrast.second_segments),
            )
            if segments
        ),
        section("contrast_made.html", "made", "Settings", contrast=contrast, signature=signature),
    ]
    title = f"{contrast.first} and {contrast.second} on {contrast.data}"
    return write_page(title, fragment("contrast_lead.html", contrast=contrast), sections)


def _breakdowns(contrast: SystemContrast, subject: Subject, breakdowns: Sequence[Breakdown]) -> Section:
    title = {
        "overall": "Overall",
        "frequency": f"Words by {contrast.frequency_title}",
        "part of speech": "Words by part of speech",
        "length": "Segments by words of the reference",
        "language pair": "Segments by language pair",
        "document": "Segments by document",
    }[subject]
    name = subject.replace(" ", "-")
    plots = [
        plot
        for number, breakdown in enumerate(breakdowns, 1)
        for plot in _plots(contrast, breakdown, f"{name}-{number}")
    ]
    link = subject[0].upper() + subject[1:]
    return section(
        "breakdowns.html", name, title, plots=plots, link=link, contrast=contrast, breakdowns=breakdowns, rows=ROWS
    )


def _plots(contrast: SystemContrast, breakdown: Breakdown, name: str) -> list[Plot]:
    """Draw the values of a breakdown for both systems, and the differences between the systems."""
    buckets: Sequence[Bucket] = [each for each in breakdown.buckets if np.isfinite(each.difference.value)]
    if len(buckets) > ROWS:
        largest = sorted(buckets, key=lambda each: -abs(each.difference.value))[:ROWS]
        buckets = [each for each in buckets if each in largest]
    if not buckets:
        return []
    sized = breakdown.subject != "overall"
    labels = [f"{each.name} ({each.size:,} {breakdown.unit})" if sized else each.name for each in buckets]
    names = [shortened(each, _NAME) for each in (contrast.first, contrast.second)]
    measure = breakdown.measure or "figures"
    listed = "; ".join(f"{each.name} {each.first.value:.3f} and {each.second.value:.3f}" for each in buckets)
    series = [
        Series(title, tuple(getattr(each, side) for each in buckets))
        for title, side in zip(names, ("first", "second"), strict=True)
    ]
    where = "" if breakdown.subject == "overall" else f" by {breakdown.subject}"
    apart = "; ".join(f"{each.name} {each.difference.value:+.3f}" for each in buckets)
    return [
        rows_plot(
            name,
            f"{measure}{where}" if breakdown.measure else "Scores of both systems",
            f"With 95% intervals, {names[0]} and {names[1]}: {listed}.",
            labels,
            series,
            axis=measure,
            zero=False,
        ),
        rows_plot(
            f"{name}-difference",
            f"Difference in {measure}{where}" if breakdown.measure else "Differences",
            f"{names[0]} minus {names[1]}, with 95% intervals: {apart}.",
            labels,
            [Series("difference", tuple(each.difference for each in buckets))],
            axis=f"{names[0]} minus {names[1]}",
        ),
    ]


def _ngrams(contrast: SystemContrast) -> Section:
    sides = [(contrast.first, contrast.first_ngrams), (contrast.second, contrast.second_ngrams)]
    return section(
        "ngrams.html",
        "n-grams",
        "N-grams matched more often by one system",
        link="N-grams",
        contrast=contrast,
        sides=sides,
    )


def _segments(contrast: SystemContrast, side: str, name: str, segments: Sequence[SegmentContrast]) -> Section:
    return section(
        "segments.html",
        f"{side}-segments",
        f"Segments translated better by {name}",
        link=f"Better by {name}",
        contrast=contrast,
        shown=_shown(contrast, segments),
        first=side == "first" or not contrast.first_segments,
    )


def _shown(contrast: SystemContrast, segments: Sequence[SegmentContrast]) -> list[ShownSegment]:
    """Mark the words of segments that occur in the references, and the words that only one of the two systems has."""
    dataset = assemble(
        [
            Record(
                segment.source,
                list(segment.references),
                [Candidate(contrast.first, segment.first_text), Candidate(contrast.second, segment.second_text)],
                lp=segment.lp,
            )
            for segment in segments
        ],
        contrast.data,
    )
    scores = np.array([(segment.first_score, segment.second_score) for segment in segments]).reshape(-1)
    nothing = np.full(len(dataset), np.nan)
    sources = outputs_by_source(
        dataset,
        [""] * len(segments),
        scores,
        np.zeros((len(dataset), 0)),
        nothing,
        np.full(len(segments), np.nan),
        sign=1.0 if contrast.higher_is_better else -1.0,
    )
    return [
        ShownSegment(
            segment,
            show((), dataset, replace(source, segment=segment.seg_id or "")),
            differences(dataset, 2 * place, 2 * place + 1),
        )
        for place, (segment, source) in enumerate(zip(segments, sources, strict=True))
    ]
