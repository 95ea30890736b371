"""The report on a trained ranker: one function per section."""

from __future__ import annotations

from ranker.reports import charts
from ranker.reports.checks import checked
from ranker.reports.drawing import Plot, require
from ranker.reports.findings import RankerFindings
from ranker.reports.pages import Section, fragment, section, write_page
from ranker.reports.sources import packed
from ranker.reports.systems_page import compared

SORTS = {
    "worst": "Worst: lowest correlation with human judgements",
    "best": "Best: highest correlation with human judgements",
    "apart": "Largest score differences",
    "random": "Random, from the rest",
}


def ranker_report(findings: RankerFindings) -> tuple[str, dict[str, Plot]]:
    """Return the report on a trained ranker, and its plots; raise an error if a required package is missing."""
    require()
    lead = fragment("ranker.html", findings=findings)
    sections = [
        *([agreement(findings)] if findings.judged else []),
        training(findings),
        *([by_source(findings)] if findings.judged else []),
        *([confidence(findings)] if any(agreement.reliability for _, agreement in findings.judged) else []),
        *compared_systems(findings),
        weights(findings),
        extractors(findings),
        *checked([measured.dataset for measured in findings.measured]),
        *(examples(findings, sort) for sort in SORTS if findings.examples.get(sort)),
        sources(findings),
    ]
    title = "Ranker report: " + " + ".join(measured.dataset.name for measured in findings.measured)
    return write_page(title, lead, sections)


def agreement(findings: RankerFindings) -> Section:
    """Section on the agreement with people, per judged data set and language pair."""
    return section(
        "agreement.html",
        "agreement",
        "Agreement with human judgements",
        plots=charts.agreements(findings.judged),
        link="Agreement",
        judged=findings.judged,
        resamples=findings.resamples,
        headline=charts.headline,
        statistics=charts.statistics,
    )


def training(findings: RankerFindings) -> Section:
    """Section on the training data and settings of the ranker."""
    return section("training.html", "training", "Training", findings=findings, training=findings.ranker.training)


def by_source(findings: RankerFindings) -> Section:
    """Section on the distribution of the correlation over sources."""
    return section(
        "by_source.html",
        "sources",
        "Correlation by source",
        plots=[charts.distribution(findings.rho)],
        link="By source",
        count=len(findings.rho),
        without=findings.undefined,
    )


def confidence(findings: RankerFindings) -> Section:
    """Section on predicted probabilities and observed proportions of preferences."""
    known = [(dataset, one.reliability) for dataset, one in findings.judged if one.reliability]
    plots = [charts.reliability(dataset, found, place) for place, (dataset, found) in enumerate(known, 1)]
    return section("confidence.html", "confidence", "Confidence", plots=plots, known=known)


def compared_systems(findings: RankerFindings) -> list[Section]:
    """Sections on the systems of each language pair by mean score, with intervals and clusters."""
    pairs = [
        (measured.systems, each)
        for measured in findings.measured
        if measured.systems
        for each in measured.systems.comparisons
    ]
    sections = []
    for number, (result, comparison) in enumerate(pairs, 1):
        where = comparison.lp.of(result.data)
        link = f"Mean scores, {where}" if len(pairs) > 1 else "Mean scores"
        sections.append(compared(result, comparison, number, title=f"Mean scores, {where}", link=link))
    return sections


def weights(findings: RankerFindings) -> Section:
    """Section on the weights, by extractor."""
    ranker = findings.ranker
    groups: list[tuple[str, range]] = []
    single: list[int] = []
    start = 0
    for name, extractor in zip(findings.extractors, ranker.feature_set.extractors, strict=True):
        rows = range(start, start + len(extractor.columns))
        start = rows.stop
        if len(rows) > 1:
            groups.append((name, rows))
        else:
            single.extend(rows)
    return section(
        "weights.html",
        "weights",
        "Weights",
        plots=[charts.weights(findings)],
        ranker=ranker,
        groups=groups,
        single=single,
        shares=dict(zip(findings.extractors, findings.shares, strict=True)),
    )


def extractors(findings: RankerFindings) -> Section:
    """Section on the contribution of each extractor."""
    return section(
        "extractors.html",
        "extractors",
        "Contribution of the extractors",
        plots=[charts.shares(findings)],
        link="Extractors",
        findings=findings,
    )


def examples(findings: RankerFindings, sort: str) -> Section:
    """Section with example sources of one type, with their matches marked."""
    return section(
        "examples.html",
        sort,
        SORTS[sort],
        link=f"{sort.capitalize()} sources" if sort != "apart" else "Largest differences",
        sources=findings.examples[sort],
        extractors=findings.extractors,
        first=sort == next(iter(findings.examples)),
    )


def sources(findings: RankerFindings) -> Section:
    """Section with all sources, for the script to search and display."""
    return section(
        "sources.html",
        "all-sources",
        "All sources",
        packed=packed(findings.sources, findings.extractors),
        count=len(findings.sources),
        outputs=sum(len(source.outputs) for source in findings.sources),
        judged=bool(findings.judged),
        shown=sum(map(len, findings.examples.values())),
        scorer="",
    )
