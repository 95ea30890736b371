"""The plots of a ranker's report."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranker.arrays import FloatArray
from ranker.evaluation.correlation.segment import Estimate, Row
from ranker.reports.calibration import Calibration
from ranker.reports.drawing import INK, MUTED, PALE, SERIES, Plot, Series, rows_plot
from ranker.reports.findings import Measured, RankerFindings

WEIGHTS = 40
"""Weights in the plot at most; the table has all."""
_NAN = float("nan")
TAU_ROWS = ("official", "primary")


def plots(findings: RankerFindings) -> dict[str, Plot]:
    """Return the plots of a report by name, those for which there are figures."""
    made = [
        agreement(findings),
        *(language_pairs(one, place) for place, one in enumerate(findings.measured) if len(one.language_pairs) > 1),
        *([data_sets(findings)] if len(findings.measured) > 1 else []),
        distribution(findings.rho),
        *([calibration(findings.calibration)] if findings.calibration.bins else []),
        weights(findings),
        *([ablations(findings)] if findings.ablations else []),
        shares(findings),
    ]
    return {plot.name: plot for plot in made}


def statistics(row: Row) -> dict[str, Estimate]:
    """Return the figures of a row by name: both forms of Spearman's rho, and every tau."""
    found = {f"Spearman, {form}": one for form, one in row.spearman.items()}
    for rows in TAU_ROWS:
        for variant, one in row.tau.get(rows, {}).items():
            found[f"tau {variant}, {rows} rows"] = one
    return found


def headline(row: Row) -> dict[str, Estimate]:
    """Return the two figures by which rankers are compared: tau over primary rows, and Spearman's rho."""
    found = {"Spearman": row.spearman["tie-corrected"]}
    if "primary" in row.tau:
        found["tau"] = row.tau["primary"]["wmt14"]
    return found


def agreement(findings: RankerFindings) -> Plot:
    """Draw every figure of the headline row of each data set."""
    # three data sets can be told apart; more are in the bars by data set
    sets = findings.measured[:3]
    found = [statistics(one.headline) for one in sets]
    names = list(dict.fromkeys(name for one in found for name in one))
    missing = Estimate(_NAN, _NAN, _NAN)
    series = [
        Series(one.dataset.name, tuple(values.get(name, missing) for name in names))
        for one, values in zip(sets, found, strict=True)
    ]
    return rows_plot(
        "agreement",
        "Agreement with people",
        f"Correlation coefficients with 95 % intervals: {_read_out(names, series)}.",
        names,
        series,
        axis="correlation with people",
    )


def language_pairs(measured: Measured, place: int) -> Plot:
    """Draw the headline figures of every language pair of one data set."""
    # into English alone, both means are the same
    both = any(not row.name.endswith("-en") for row in measured.language_pairs)
    rows = [row for row in measured.evaluation.rows if both or row.name != "mean"]
    name, title = f"language-pairs-{place + 1}", f"Language pairs of {measured.dataset.name}"
    return _bars(name, title, rows, [row.name for row in rows])


def data_sets(findings: RankerFindings) -> Plot:
    """Draw the headline figures of every data set."""
    rows = [one.headline for one in findings.measured]
    return _bars("data-sets", "Data sets", rows, [one.dataset.name for one in findings.measured])


def _bars(name: str, title: str, rows: list[Row], labels: list[str]) -> Plot:
    found = [headline(row) for row in rows]
    missing = Estimate(_NAN, _NAN, _NAN)
    series = [
        Series(figure, tuple(one.get(figure, missing) for one in found))
        for figure in dict.fromkeys(figure for one in found for figure in one)
    ]
    description = f"Bars with 95 % intervals: {_read_out(labels, series)}."
    return rows_plot(name, title, description, labels, series, axis="correlation with people", bars=True)


def distribution(rho: FloatArray) -> Plot:
    """Draw how many sources have which correlation."""
    counts, edges = np.histogram(rho, bins=20, range=(-1.0, 1.0))
    mean = float(rho.mean()) if len(rho) else _NAN

    def paint(axes: Any) -> None:
        axes.bar(edges[:-1], counts, width=np.diff(edges) * 0.94, align="edge", color=SERIES[0], alpha=0.75)
        if len(rho):
            axes.axvline(mean, color=INK, linewidth=1.5, linestyle="--")
            axes.annotate(
                f"mean {mean:.3f}",
                (mean, 1.0),
                (-6 if mean > 0 else 6, 0),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="right" if mean > 0 else "left",
                va="top",
            )
        axes.set_xlim(-1.02, 1.02)
        axes.set_xticks([-1, -0.5, 0, 0.5, 1])
        axes.set_xlabel("Spearman's rho of a source")
        axes.set_ylabel("sources")
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.yaxis.get_major_locator().set_params(integer=True)

    below, above = int((rho < 0).sum()), int((rho > 0.5).sum())
    described = (
        f"{len(rho)} sources, mean {mean:.3f}; {below} below 0, {above} above .5." if len(rho) else "No sources."
    )
    return Plot("sources", "Correlation by source", f"Histogram: {described}", 2.6, paint)


def calibration(found: Calibration) -> Plot:
    """Draw how often people agree with a preference of the ranker, by its margin."""
    margin = np.array([one.mean for one in found.bins])
    share, low, high = (
        np.array([getattr(one.agreement, part) for one in found.bins]) for part in ("value", "low", "high")
    )

    def paint(axes: Any) -> None:
        axes.fill_between(margin, low, high, color=PALE, linewidth=0)
        axes.plot(margin, share, "o-", color=SERIES[0], markersize=5, label="people agree")
        if np.isfinite(found.slope):
            curve = np.linspace(0, margin[-1], 100)
            logistic = 1 / (1 + np.exp(-found.slope * curve))
            axes.plot(curve, logistic, "--", color=SERIES[1], linewidth=1.4, label="logistic curve")
        axes.axhline(0.5, color=MUTED, linewidth=1)
        axes.set_ylim(min(0.4, float(np.fmin(low, share).min()) - 0.02), 1.02)
        axes.set_xlim(left=0)
        axes.set_xlabel("margin between the scores")
        axes.set_ylabel("share of pairs")
        axes.grid()
        axes.set_axisbelow(True)
        axes.legend(loc="upper left")

    points = ", ".join(f"{one.mean:.2f}: {one.agreement.value:.1%}" for one in found.bins)
    return Plot(
        "calibration",
        "Agreement by margin",
        f"Share of pairs on which people agree, by mean margin: {points}.",
        2.9,
        paint,
    )


def weights(findings: RankerFindings) -> Plot:
    """Draw the largest weights, with intervals if there are."""
    values = findings.ranker.weights
    names = findings.ranker.feature_set.columns
    chosen = np.argsort(-np.abs(values), kind="stable")[:WEIGHTS]
    found = findings.intervals
    shown = tuple(
        Estimate(
            float(values[column]),
            float(found.low[column]) if found else _NAN,
            float(found.high[column]) if found else _NAN,
        )
        for column in chosen
    )
    which = f"the {WEIGHTS} largest of {len(names)}" if len(names) > WEIGHTS else "by size"
    described = "; ".join(f"{names[column]} {values[column]:+.3f}" for column in chosen[:10])
    return rows_plot(
        "weights",
        "Weights",
        f"Weights of the standardised columns, {which}{', with 95 % intervals' if found else ''}: {described}.",
        [names[column] for column in chosen],
        [Series("weight", shown)],
        axis="weight of the standardised column",
    )


def ablations(findings: RankerFindings) -> Plot:
    """Draw what training without each extractor changes, the greatest loss first."""
    found = sorted(findings.ablations, key=lambda one: one.spearman.value)
    series = [Series("Spearman", tuple(one.spearman for one in found))]
    if any(one.tau.value == one.tau.value for one in found):
        series.append(Series("tau", tuple(one.tau for one in found)))
    labels = [f"without {one.extractor}" for one in found]
    return rows_plot(
        "ablations",
        "Training without one extractor",
        f"Change of agreement with 95 % intervals, below 0 where the extractor helps: {_read_out(labels, series)}.",
        labels,
        series,
        axis="change of the correlation",
    )


def shares(findings: RankerFindings) -> Plot:
    """Draw the extractors' shares of the variance of the scores."""
    names = [str(one) for one in findings.ranker.feature_set.extractors]
    order = np.argsort(-findings.shares, kind="stable")[:WEIGHTS]
    values = tuple(Estimate(float(findings.shares[place]), _NAN, _NAN) for place in order)
    series = [Series("share", values)]
    labels = [names[place] for place in order]
    return rows_plot(
        "shares",
        "Shares of the scores",
        f"Shares of the variance of scores inside sources: {_read_out(labels, series)}.",
        labels,
        series,
        axis="share of the variance inside sources",
        bars=True,
    )


def _read_out(labels: list[str], series: list[Series]) -> str:
    """Say the values in words, those of the first ten rows."""
    said = []
    for row, label in enumerate(labels[:10]):
        values = ", ".join(f"{one.name} {one.estimates[row].value:.3f}" for one in series)
        said.append(f"{label} {values}")
    return "; ".join(said)
