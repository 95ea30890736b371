"""The report on a trained ranker: one function per section."""

from __future__ import annotations

from ranker.reports.findings import RankerFindings
from ranker.reports.pages import Section, fragment, section, write_page
from ranker.reports.plots import charts
from ranker.reports.plots.drawing import Plot, require
from ranker.reports.sources import packed
from ranker.reports.systems.comparison import compared

SAME_WEIGHTS = 1e-6
"""Larger differences of weights mean that they were trained differently."""
SORTS = {
    "worst": "Worst: lowest correlation with human judgements",
    "best": "Best: highest correlation with human judgements",
    "apart": "Largest score differences",
    "random": "Random, from the rest",
}


def ranker_report(findings: RankerFindings) -> tuple[str, dict[str, Plot]]:
    """Write the report on a trained ranker."""
    require()
    lead = fragment("ranker.html", findings=findings, deviates=findings.deviation > SAME_WEIGHTS)
    sections = [
        *([agreement(findings)] if findings.judged else []),
        training(findings),
        *([by_source(findings), by_margin(findings)] if findings.judged else []),
        *([systems(findings)] if any(agreement.systems for _, agreement in findings.judged) else []),
        *compared_systems(findings),
        lengths(findings),
        weights(findings),
        extractors(findings),
        correlations(findings),
        *([learning_curve(findings)] if findings.curve else []),
        *(examples(findings, sort) for sort in SORTS if findings.examples.get(sort)),
        sources(findings),
    ]
    title = "Ranker report: " + " + ".join(measured.dataset.name for measured in findings.measured)
    return write_page(title, lead, sections)


def agreement(findings: RankerFindings) -> Section:
    """Return the agreement on every judged data set and its language pairs."""
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
    """Return the training data and settings of the ranker."""
    return section("training.html", "training", "Training", findings=findings, training=findings.training)


def by_source(findings: RankerFindings) -> Section:
    """Return the distribution of the correlation over sources."""
    return section(
        "by_source.html",
        "sources",
        "Correlation by source",
        plots=[charts.distribution(findings.rho)],
        link="By source",
        half=True,
        count=len(findings.rho),
        without=findings.undefined,
    )


def by_margin(findings: RankerFindings) -> Section:
    """Return how often the judges agree with the ranker, by the margin of its scores."""
    calibration = findings.calibration
    return section(
        "by_margin.html",
        "margins",
        "Agreement by margin",
        plots=[charts.calibration(calibration)] if calibration.bins else [],
        link="By margin",
        half=True,
        calibration=calibration,
        preferences=findings.judged[0][1].kind == "preferences",
    )


def systems(findings: RankerFindings) -> Section:
    """Return the proportion of comparisons that every system wins, by the ranker and by human judgements."""
    tables = [(dataset.name, wins) for dataset, agreement in findings.judged for wins in agreement.systems]
    plots = [charts.systems(wins, data, f"systems-{place}") for place, (data, wins) in enumerate(tables, 1)]
    return section("systems.html", "systems", "Systems", plots=plots, tables=tables)


def compared_systems(findings: RankerFindings) -> list[Section]:
    """Return the systems of every language pair by their mean scores, with intervals and clusters."""
    pairs = [
        (measured.systems, each)
        for measured in findings.measured
        if measured.systems
        for each in measured.systems.comparisons
    ]
    sections = []
    for number, (result, comparison) in enumerate(pairs, 1):
        where = result.data if comparison.lp == "?" else f"{result.data} {comparison.lp}"
        link = f"Mean scores, {where}" if len(pairs) > 1 else "Mean scores"
        # their wins are drawn against people's already
        sections.append(compared(result, comparison, number, title=f"Mean scores, {where}", link=link, by_people=False))
    return sections


def lengths(findings: RankerFindings) -> Section:
    """Return agreement and scores by the length of the references."""
    tables = [(measured.dataset.name, measured.lengths) for measured in findings.measured]
    plots = [plot for place, (data, buckets) in enumerate(tables, 1) for plot in charts.lengths(buckets, data, place)]
    return section("lengths.html", "lengths", "Reference length", plots=plots, link="Length", tables=tables)


def weights(findings: RankerFindings) -> Section:
    """Return the weights, by extractor."""
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
        half=True,
        ranker=ranker,
        intervals=findings.intervals,
        groups=groups,
        single=single,
        shares=dict(zip(findings.extractors, findings.shares, strict=True)),
    )


def extractors(findings: RankerFindings) -> Section:
    """Return the contribution of every extractor."""
    return section(
        "extractors.html",
        "extractors",
        "Contribution of the extractors",
        plots=[*([charts.ablations(findings)] if findings.ablations else []), charts.shares(findings)],
        link="Extractors",
        half=True,
        findings=findings,
        lost={ablation.extractor: ablation for ablation in findings.ablations},
    )


def correlations(findings: RankerFindings) -> Section:
    """Return the correlations of extractors, scores and human scores."""
    values = findings.correlations
    names = [*findings.extractors, "score", *(["people"] if len(values) > len(findings.extractors) + 1 else [])]
    return section(
        "correlations.html",
        "correlations",
        "Correlations between extractors",
        plots=[charts.correlation_map(names, values)],
        link="Correlations",
        half=findings.curve is not None,
        names=names,
        values=values,
    )


def learning_curve(findings: RankerFindings) -> Section:
    """Return the agreement by the number of training sources."""
    assert findings.curve is not None
    return section(
        "learning_curve.html",
        "learning",
        "Learning curve",
        plots=[charts.learning_curve(findings.curve)],
        half=True,
        curve=findings.curve,
    )


def examples(findings: RankerFindings, sort: str) -> Section:
    """Return example sources of one type with their matches."""
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
    """Return all sources, for the script to search and display."""
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
