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
from ranker.reports.examples import Piece, ShownSource, differences, show
from ranker.reports.pages import Section, fragment, section, write_page
from ranker.reports.plots.drawing import Plot, require, shortened
from ranker.reports.plots.forms import Series, rows_plot
from ranker.reports.sources import outputs_by_source

ROWS = 12
"""Maximum number of buckets in a plot; the tables have all."""
_NAME = 20


@dataclass(frozen=True)
class ShownSegment:
    """A segment with marked words.

    Parameters
    ----------
    segment : SegmentContrast
    source : ShownSource
        With words in common with the references marked.
    differences : tuple of tuple of Piece
        Words of each translation that the other does not contain.
    """

    segment: SegmentContrast
    source: ShownSource
    differences: tuple[tuple[Piece, ...], tuple[Piece, ...]]


def contrast_report(found: SystemContrast, signature: str) -> tuple[str, dict[str, Plot]]:
    """Write the report of a contrast; returns and raises as `ranker.reports.ranker_page.ranker_report`."""
    require()
    subjects: dict[Subject, list[Breakdown]] = {}
    for one in found.breakdowns:
        subjects.setdefault(one.subject, []).append(one)
    sections = [
        *(_breakdowns(found, subject, ones) for subject, ones in subjects.items()),
        *([_ngrams(found)] if found.first_ngrams or found.second_ngrams else []),
        *(
            _segments(found, side, name, segments)
            for side, name, segments in (
                ("first", found.first, found.first_segments),
                ("second", found.second, found.second_segments),
            )
            if segments
        ),
        section("contrast_made.html", "made", "Settings", found=found, signature=signature),
    ]
    title = f"{found.first} and {found.second} on {found.data}"
    return write_page(title, fragment("contrast_lead.html", found=found), sections)


def _breakdowns(found: SystemContrast, subject: Subject, breakdowns: Sequence[Breakdown]) -> Section:
    title = {
        "overall": "Overall",
        "frequency": f"Words by {found.frequency_title}",
        "part of speech": "Words by part of speech",
        "length": "Segments by words of the reference",
        "language pair": "Segments by language pair",
        "document": "Segments by document",
    }[subject]
    name = subject.replace(" ", "-")
    plots = [plot for number, one in enumerate(breakdowns, 1) for plot in _plots(found, one, f"{name}-{number}")]
    link = subject[0].upper() + subject[1:]
    return section(
        "breakdowns.html", name, title, plots=plots, link=link, found=found, breakdowns=breakdowns, rows=ROWS
    )


def _plots(found: SystemContrast, one: Breakdown, name: str) -> list[Plot]:
    """Draw the figures of both systems, and their differences."""
    buckets: Sequence[Bucket] = [each for each in one.buckets if np.isfinite(each.difference.value)]
    if len(buckets) > ROWS:
        largest = sorted(buckets, key=lambda each: -abs(each.difference.value))[:ROWS]
        buckets = [each for each in buckets if each in largest]
    if not buckets:
        return []
    sized = one.subject != "overall"
    labels = [f"{each.name} ({each.size:,} {one.unit})" if sized else each.name for each in buckets]
    names = [shortened(each, _NAME) for each in (found.first, found.second)]
    measure = one.measure or "figures"
    said = "; ".join(f"{each.name} {each.first.value:.3f} and {each.second.value:.3f}" for each in buckets)
    both = [
        Series(title, tuple(getattr(each, side) for each in buckets))
        for title, side in zip(names, ("first", "second"), strict=True)
    ]
    where = "" if one.subject == "overall" else f" by {one.subject}"
    apart = "; ".join(f"{each.name} {each.difference.value:+.3f}" for each in buckets)
    return [
        rows_plot(
            name,
            f"{measure}{where}" if one.measure else "Scores of both systems",
            f"With 95% intervals, {names[0]} and {names[1]}: {said}.",
            labels,
            both,
            axis=measure,
            zero=False,
        ),
        rows_plot(
            f"{name}-difference",
            f"Difference in {measure}{where}" if one.measure else "Differences",
            f"{names[0]} minus {names[1]}, with 95% intervals: {apart}.",
            labels,
            [Series("difference", tuple(each.difference for each in buckets))],
            axis=f"{names[0]} minus {names[1]}",
        ),
    ]


def _ngrams(found: SystemContrast) -> Section:
    sides = [(found.first, found.first_ngrams), (found.second, found.second_ngrams)]
    return section(
        "ngrams.html", "n-grams", "N-grams matched more often by one system", link="N-grams", found=found, sides=sides
    )


def _segments(found: SystemContrast, side: str, name: str, segments: Sequence[SegmentContrast]) -> Section:
    return section(
        "segments.html",
        f"{side}-segments",
        f"Segments translated better by {name}",
        link=f"Better by {name}",
        found=found,
        shown=_shown(found, segments),
        first=side == "first" or not found.first_segments,
    )


def _shown(found: SystemContrast, segments: Sequence[SegmentContrast]) -> list[ShownSegment]:
    """Mark the words of segments that are in common with the references, and those in which the systems differ."""
    dataset = assemble(
        [
            Record(
                one.source,
                list(one.references),
                [Candidate(found.first, one.first_text), Candidate(found.second, one.second_text)],
                lp=one.lp,
            )
            for one in segments
        ],
        found.data,
    )
    scores = np.array([(one.first_score, one.second_score) for one in segments]).reshape(-1)
    nothing = np.full(len(dataset), np.nan)
    sources = outputs_by_source(
        dataset,
        [""] * len(segments),
        scores,
        np.zeros((len(dataset), 0)),
        nothing,
        np.full(len(segments), np.nan),
        sign=1.0 if found.higher_is_better else -1.0,
    )
    return [
        ShownSegment(
            one,
            show((), dataset, replace(source, segment=one.seg_id or "")),
            differences(dataset, 2 * place, 2 * place + 1),
        )
        for place, (one, source) in enumerate(zip(segments, sources, strict=True))
    ]
