"""Report that compares systems: tables and plots per language pair and metric, and all sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO
from ranker.errors import counted
from ranker.evaluation.correlation.segment import source_spearman
from ranker.evaluation.systems.human_ranking import people_of
from ranker.evaluation.systems.result import SystemComparison, SystemsResult
from ranker.ranking.scorers import Scorer, sign_of
from ranker.reports.checks import checked
from ranker.reports.drawing import Plot, require
from ranker.reports.pages import Section, fragment, section, write_page
from ranker.reports.plots import Series, points_plot, rows_plot, wins_plot
from ranker.reports.sources import SourceOutputs, outputs_by_source, packed, source_keys


@dataclass(frozen=True, eq=False)
class SystemsFindings:
    """Contents of a report that compares systems."""

    result: SystemsResult
    judged: bool
    sources: tuple[SourceOutputs, ...]
    checks: tuple[Section, ...]

    @classmethod
    def of(
        cls,
        result: SystemsResult,
        dataset: Dataset,
        scorers: Mapping[str, Scorer],
        statistics: Mapping[str, FloatArray],
        kind: str | None = AUTO,
    ) -> SystemsFindings:
        """Create the findings from a result by adding the details of individual sources."""
        scores = np.stack([scorer.score(statistics[name]) for name, scorer in scorers.items()], axis=1)
        human = np.full(len(dataset), np.nan)
        people, _ = people_of(dataset, kind)
        if people is not None:
            human[people.dataset.context_rows[dataset.context_rows]] = people.human
        judged = not np.isnan(human).all()
        first, sign = scores[:, 0], sign_of(next(iter(scorers.values())))
        rho = source_spearman(dataset, sign * first, human) if judged else np.full(len(dataset.sources), np.nan)
        # the only metric is the score itself, so there are no parts to show
        parts = scores if len(scorers) > 1 else scores[:, :0]
        (keys,) = source_keys([dataset])
        return cls(
            result,
            judged,
            outputs_by_source(dataset, keys, first, parts, human, rho, sign=sign),
            tuple(checked([dataset])),
        )


def systems_report(findings: SystemsFindings, *, percent: bool = False) -> tuple[str, dict[str, Plot]]:
    """Return the report on a comparison of systems, and its plots; with `percent`, fractions are percentages."""
    require()
    result = findings.result
    sections = [
        *(
            compared(result, comparison, number, title=_titled(comparison.metric, comparison), percent=percent)
            for number, comparison in enumerate(result.comparisons, 1)
        ),
        *findings.checks,
        _sources(findings),
        section("systems_made.html", "made", "Settings", result=result),
    ]
    systems = dict.fromkeys(each.system for comparison in result.comparisons for each in comparison.systems)
    title = f"{counted(len(systems), 'system')} on {result.data}"
    return write_page(title, fragment("systems_lead.html", result=result), sections)


def compared(
    result: SystemsResult,
    comparison: SystemComparison,
    number: int,
    *,
    title: str,
    link: str = "",
    percent: bool = False,
) -> Section:
    """Return the section that compares the systems of one language pair by one metric."""
    metric, people = result.metric(comparison.metric), result.people(comparison.lp)
    scale = metric.scale(percent=percent)
    digits = 2 if scale > 1 else 4
    axis = f"{comparison.metric}{' in %' if scale > 1 else ''}{'' if metric.higher_is_better else ', lower is better'}"
    plots = [
        _scores(comparison, number, scale, digits, axis),
        *([_against_people(result, comparison, number, scale, axis)] if comparison.judged > 1 else []),
        _wins(result, comparison, number),
    ]
    return section(
        "compared_systems.html",
        f"systems-{number}",
        title,
        plots=plots,
        link=link,
        result=result,
        one=comparison,
        metric=metric,
        people=people,
        explained=number == 1,
        scale=scale,
        decimals=digits,
    )


def _titled(what: str, comparison: SystemComparison) -> str:
    return ", ".join(filter(None, (what, comparison.lp.known)))


def _scores(comparison: SystemComparison, number: int, scale: float, digits: int, axis: str) -> Plot:
    """Draw the systems with their intervals and clusters."""
    systems = comparison.systems
    listed = "; ".join(f"{each.system} {scale * each.score.value:.{digits}f}" for each in systems)
    return rows_plot(
        f"scores-{number}",
        _titled(f"Scores and clusters, {comparison.metric}", comparison),
        f"Scores with 95% intervals, best first; clusters in brackets and separated by lines: {listed}.",
        [f"({each.cluster}) {each.system}" for each in systems],
        [Series(comparison.metric, tuple(each.score.scaled(scale) for each in systems))],
        axis=axis,
        zero=False,
        breaks=[row for row in range(1, len(systems)) if systems[row].cluster != systems[row - 1].cluster],
    )


def _against_people(result: SystemsResult, comparison: SystemComparison, number: int, scale: float, axis: str) -> Plot:
    """Draw the scores of judged systems against their human scores."""
    people = result.people(comparison.lp)
    # labels are the numbers in the plot of significant differences, because names would cover each other
    points = {
        str(place): (scale * each.score.value, people[each.system].score)
        for place, each in enumerate(comparison.systems, 1)
        if each.system in people
    }
    method = next(ranking.title for ranking in result.human if ranking.lp == comparison.lp).replace("-", " ")
    read = "; ".join(
        f"{place} {comparison.systems[int(place) - 1].system} {x:.3f}, people {y:.3f}"
        for place, (x, y) in [*points.items()][:10]
    )
    return points_plot(
        f"people-{number}",
        _titled(f"{comparison.metric} and human scores, systems numbered as below", comparison),
        f"Metric score and human score: {read}.",
        points,
        x_axis=axis,
        y_axis=f"people, {method}",
    )


def _wins(result: SystemsResult, comparison: SystemComparison, number: int) -> Plot:
    """Draw the significant differences of all pairs of systems."""
    return wins_plot(
        f"wins-{number}",
        _titled(f"Significant differences, {comparison.metric}", comparison),
        "A filled square: the system of the row is significantly better than that of the column.",
        [each.system for each in comparison.systems],
        comparison.ahead(result.settings.alpha),
    )


def _sources(findings: SystemsFindings) -> Section:
    """Section with all sources, for the script to search and show."""
    metrics = [metric.name for metric in findings.result.metrics]
    return section(
        "sources.html",
        "all-sources",
        "All sources",
        packed=packed(
            findings.sources, metrics if len(metrics) > 1 else [], title="Scores by all metrics", signed=False
        ),
        count=len(findings.sources),
        outputs=sum(len(source.outputs) for source in findings.sources),
        judged=findings.judged,
        shown=0,
        scorer=metrics[0],
    )
