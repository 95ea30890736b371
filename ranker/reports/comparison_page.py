"""The report on a comparison: its sections and their plots."""

from __future__ import annotations

from typing import Any

from ranker.evaluation.bootstrap import Estimate
from ranker.evaluation.compare.result import ComparedMetric, Comparison, PairwiseTests, Scope, Statistic
from ranker.reports.pages import Section, fragment, section, write_page
from ranker.reports.plots.drawing import Plot, require, shortened
from ranker.reports.plots.forms import Series, rows_plot, wins_plot

_NAN = float("nan")
LEADING = 3
"""Number of metrics in the plot of all language pairs."""


def comparison_report(comparison: Comparison) -> tuple[str, dict[str, Plot]]:
    """Write the report of a comparison; returns and raises as `ranker.reports.ranker_page.ranker_report`."""
    require()
    main = comparison.main_scope
    names = dict.fromkeys(scope.data for scope in comparison.scopes if scope.data)
    # of the figures shown by default there are plots, of the others tables
    shown = [statistic for statistic in comparison.statistics if statistic.shown] or list(comparison.statistics)
    drawn = [
        statistic
        for statistic in shown
        if any(
            (cell := comparison.cell(statistic.id, main.id, metric.name)) and cell.rank for metric in comparison.metrics
        )
    ]
    values: dict[str, Any] = {"comparison": comparison, "main": main, "in_order": in_order}
    several = len(comparison.scopes) > 1 and shown[0] in drawn
    sections = [
        section("table.html", "table", "Table", shown=shown, **values),
        *(_statistic(comparison, statistic, number) for number, statistic in enumerate(shown, 1) if statistic in drawn),
        section(
            "scopes.html",
            "scopes",
            "Language pairs and data sets",
            plots=[scopes(comparison, shown[0])] if several else [],
            first=shown[0],
            leading=min(LEADING, len(comparison.metrics)),
            **values,
        ),
        section("made.html", "made", "Settings", **values),
    ]
    title = f"Comparison of {len(comparison.metrics)} metrics on {', '.join(names)}"
    return write_page(title, fragment("comparison.html", **values), sections)


def _statistic(comparison: Comparison, statistic: Statistic, number: int) -> Section:
    main = comparison.main_scope
    tests = comparison.tests_of(statistic.id, main.id)
    plots = [standings(comparison, statistic, main, number)]
    if tests:
        plots.append(win_matrix(comparison, tests, statistic, main, number))
    return section(
        "statistic.html",
        statistic.id,
        statistic.title,
        plots=plots,
        statistic=statistic,
        tests=tests,
        comparison=comparison,
        main=main,
    )


def in_order(comparison: Comparison, statistic: Statistic, scope: Scope) -> list[ComparedMetric]:
    """Return the metrics, best first; those without a value last, in the given order."""

    def place(metric: ComparedMetric) -> int:
        cell = comparison.cell(statistic.id, scope.id, metric.name)
        return cell.rank if cell and cell.rank else len(comparison.metrics) + 1

    return sorted(comparison.metrics, key=place)


def standings(comparison: Comparison, statistic: Statistic, scope: Scope, number: int) -> Plot:
    """Draw the values of all metrics with their intervals, best first."""
    metrics = in_order(comparison, statistic, scope)
    labels, estimates, listed = [], [], []
    for metric in metrics:
        cell = comparison.cell(statistic.id, scope.id, metric.name)
        value = Estimate(cell.value, cell.low, cell.high) if cell else Estimate(_NAN, _NAN, _NAN)
        labels.append(f"({cell.cluster}) {metric.name}" if cell and cell.cluster else metric.name)
        estimates.append(value)
        listed.append(f"{metric.name} {value.value:.3f}")
    return rows_plot(
        f"standings-{number}",
        f"{statistic.title}, {scope.title}",
        f"Values with {comparison.settings.level:.0%} intervals, best first, clusters in brackets: "
        f"{'; '.join(listed)}.",
        labels,
        [Series(statistic.title, tuple(estimates))],
        axis=statistic.title,
        zero=False,
    )


def scopes(comparison: Comparison, statistic: Statistic) -> Plot:
    """Draw the figures of the `LEADING` best metrics for every language pair and mean."""
    leading = in_order(comparison, statistic, comparison.main_scope)[:LEADING]
    series = []
    for metric in leading:
        cells = [comparison.cell(statistic.id, scope.id, metric.name) for scope in comparison.scopes]
        estimates = (
            Estimate(cell.value, cell.low, cell.high) if cell else Estimate(_NAN, _NAN, _NAN) for cell in cells
        )
        series.append(Series(shortened(metric.name, 24), tuple(estimates)))
    return rows_plot(
        "scopes",
        f"{statistic.title} by language pair and data set",
        f"Bars with intervals for {', '.join(metric.name for metric in leading)}.",
        [scope.title for scope in comparison.scopes],
        series,
        axis=statistic.title,
        bars=True,
    )


def win_matrix(comparison: Comparison, tests: PairwiseTests, statistic: Statistic, scope: Scope, number: int) -> Plot:
    """Draw significant differences between metrics, best first."""
    places = {metric.name: place for place, metric in enumerate(comparison.metrics)}
    names = [metric.name for metric in in_order(comparison, statistic, scope)]
    ahead = [[tests.ahead[places[first]][places[second]] for second in names] for first in names]
    return wins_plot(
        f"wins-{number}",
        f"Significant differences, {statistic.title}",
        "A filled square: the row's metric is significantly better than the column's.",
        names,
        ahead,
    )
