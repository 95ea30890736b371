"""Report on a comparison of metrics: its sections and their plots."""

from __future__ import annotations

from typing import Any

from ranker.errors import counted
from ranker.evaluation.metrics.result import Comparison, PairwiseTests, Scope, Statistic
from ranker.reports.drawing import Plot, require, shortened
from ranker.reports.pages import Section, fragment, section, write_page
from ranker.reports.plots import Series, rows_plot, wins_plot

LEADING = 3
"""Number of metrics in the plot of all language pairs."""


def comparison_report(comparison: Comparison) -> tuple[str, dict[str, Plot]]:
    """Return the report on a comparison of metrics, and its plots; raise an error if a required package is missing."""
    require()
    main = comparison.main_scope
    names = dict.fromkeys(scope.data for scope in comparison.scopes if scope.data)
    # statistics shown by default get plots, other statistics get tables
    shown = [statistic for statistic in comparison.statistics if statistic.shown] or list(comparison.statistics)
    drawn = [
        statistic
        for statistic in shown
        if any(
            (cell := comparison.cell(statistic.id, main.id, metric.name)) and cell.rank for metric in comparison.metrics
        )
    ]
    values: dict[str, Any] = {"comparison": comparison, "main": main}
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
    title = f"Comparison of {counted(len(comparison.metrics), 'metric')} on {', '.join(names)}"
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


def standings(comparison: Comparison, statistic: Statistic, scope: Scope, number: int) -> Plot:
    """Draw the values of one statistic for all metrics with their intervals, best first."""
    labels, estimates, listed = [], [], []
    for name in comparison.in_order(statistic.id, scope.id):
        cell = comparison.cell(statistic.id, scope.id, name)
        value = comparison.estimate(statistic.id, scope.id, name)
        labels.append(f"({cell.cluster}) {name}" if cell and cell.cluster else name)
        estimates.append(value)
        listed.append(f"{name} {value.value:.3f}")
    intervals = f" with {comparison.settings.level:.0%} intervals" if comparison.settings.resamples else ""
    clusters = ", clusters in brackets" if comparison.tests_of(statistic.id, scope.id) else ""
    return rows_plot(
        f"standings-{number}",
        f"{statistic.title}, {scope.title}",
        f"Values{intervals}, best first{clusters}: {'; '.join(listed)}.",
        labels,
        [Series(statistic.title, tuple(estimates))],
        axis=statistic.title,
        zero=False,
    )


def scopes(comparison: Comparison, statistic: Statistic) -> Plot:
    """Draw the values of a statistic for the `LEADING` best metrics, by language pair and as means."""
    leading = comparison.in_order(statistic.id, comparison.main_scope.id)[:LEADING]
    series = [
        Series(
            shortened(name, 24),
            tuple(comparison.estimate(statistic.id, scope.id, name) for scope in comparison.scopes),
        )
        for name in leading
    ]
    return rows_plot(
        "scopes",
        f"{statistic.title} by language pair and data set",
        f"Bars{' with intervals' if comparison.settings.resamples else ''} for {', '.join(leading)}.",
        [scope.title for scope in comparison.scopes],
        series,
        axis=statistic.title,
        bars=True,
    )


def win_matrix(comparison: Comparison, tests: PairwiseTests, statistic: Statistic, scope: Scope, number: int) -> Plot:
    """Draw significant differences between metrics, best first."""
    return wins_plot(
        f"wins-{number}",
        f"Significant differences, {statistic.title}",
        "A filled square: the row's metric is significantly better than the column's.",
        comparison.in_order(statistic.id, scope.id),
        comparison.ahead(tests),
    )
