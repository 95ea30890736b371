"""The plots of a ranker's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import is_of_pair
from ranker.errors import counted
from ranker.evaluation.calibration import Reliability
from ranker.evaluation.metrics.evaluation import SPEARMAN
from ranker.evaluation.metrics.result import Scope
from ranker.evaluation.metrics.run import ALL
from ranker.evaluation.metrics.statistics import TAUS
from ranker.evaluation.resampling.bootstrap import UNKNOWN, Estimate
from ranker.reports.drawing import INK, MUTED, SERIES, Plot
from ranker.reports.findings import Agreement, RankerFindings
from ranker.reports.plots import Series, rows_plot

WEIGHTS = 40
"""Maximum number of weights in the plot; the table has all."""
_NAN = float("nan")


def statistics(agreement: Agreement, scope: Scope) -> dict[str, Estimate]:
    """Return the figures of a scope by name: both forms of Spearman's rho, and every tau."""
    evaluation = agreement.evaluation
    figures = {f"Spearman, {form}": evaluation.estimate(statistic, scope.id) for form, statistic in SPEARMAN.items()}
    for rows, taus in TAUS.items():
        if evaluation.main_scope.pairs.get(rows):
            figures |= {
                f"tau {variant}, {rows} rows": evaluation.estimate(statistic, scope.id)
                for variant, statistic in taus.items()
            }
    return figures


def headline(agreement: Agreement, scope: Scope) -> dict[str, Estimate]:
    """Return the main figures of a scope: Spearman's rho, and tau (variant wmt14) for each set of preferences."""
    evaluation = agreement.evaluation
    taus = {name: TAUS[name]["wmt14"] for name in ("primary", "official") if evaluation.main_scope.pairs.get(name)}
    chosen = {"Spearman": SPEARMAN["tie-corrected"], **taus}
    return {name: evaluation.estimate(statistic, scope.id) for name, statistic in chosen.items()}


def agreements(judged: Sequence[tuple[Dataset, Agreement]]) -> list[Plot]:
    """Draw all headline statistics of every data set, and the main statistic by language pair."""
    return [
        _headlines(judged),
        *(
            _language_pairs(*judged_set, place)
            for place, judged_set in enumerate(judged, 1)
            if len(judged_set[1].language_pairs) > 1
        ),
        *([_data_sets(judged)] if len(judged) > 1 else []),
    ]


def _headlines(judged: Sequence[tuple[Dataset, Agreement]]) -> Plot:
    # only three data sets can be told apart in one plot; the bars by data set show all
    sets = judged[:3]
    values_of_sets = [statistics(agreement, agreement.headline[1]) for _, agreement in sets]
    names = list(dict.fromkeys(name for values in values_of_sets for name in values))
    series = [
        Series(dataset.name, tuple(values.get(name, UNKNOWN) for name in names))
        for (dataset, _), values in zip(sets, values_of_sets, strict=True)
    ]
    return rows_plot(
        "agreement",
        "Agreement with human judgements",
        f"Correlation coefficients{_with_intervals(series)}: {_read_out(names, series)}.",
        names,
        series,
        axis="correlation with human judgements",
    )


def _language_pairs(dataset: Dataset, agreement: Agreement, place: int) -> Plot:
    # if all language pairs are into English, both means are the same
    has_other_targets = any(not is_of_pair(scope.lp, "*-en") for scope in agreement.language_pairs)
    shown = [
        (name, headline(agreement, scope))
        for name, scope in agreement.scopes.items()
        if has_other_targets or name != ALL
    ]
    return _bars(f"language-pairs-{place}", f"Language pairs of {dataset.name}", shown)


def _data_sets(judged: Sequence[tuple[Dataset, Agreement]]) -> Plot:
    shown = [(dataset.name, headline(agreement, agreement.headline[1])) for dataset, agreement in judged]
    return _bars("data-sets", "Data sets", shown)


def _bars(name: str, title: str, shown: Sequence[tuple[str, dict[str, Estimate]]]) -> Plot:
    labels = [label for label, _ in shown]
    series = [
        Series(title, tuple(figures.get(figure, UNKNOWN) for _, figures in shown))
        for figure, title in (("Spearman", "Spearman"), ("primary", "tau"))
        if any(figure in figures for _, figures in shown)
    ]
    description = f"Bars{_with_intervals(series)}: {_read_out(labels, series)}."
    return rows_plot(name, title, description, labels, series, axis="correlation with human judgements", bars=True)


def reliability(dataset: Dataset, found: Reliability, place: int) -> Plot:
    """Draw predicted probabilities against observed proportions of preferences."""

    def paint(axes: Any) -> None:
        axes.plot([0.5, 1], [0.5, 1], color=MUTED, linewidth=1, linestyle="--")
        axes.plot(found.predicted, found.observed, "o-", color=SERIES[0], markersize=5)
        axes.set_xlabel("predicted probability that people prefer the higher score")
        axes.set_ylabel("proportion of people who did")
        axes.set_xlim(0.48, 1.0)
        axes.grid()
        axes.set_axisbelow(True)

    pairs = zip(found.predicted, found.observed, strict=True)
    read = "; ".join(f"{predicted:.2f} predicted, {observed:.2f} observed" for predicted, observed in pairs)
    title = f"Confidence on {dataset.name}"
    return Plot(f"confidence-{place}", title, f"Ten groups of pairs by predicted probability: {read}.", 2.6, paint)


def distribution(rho: FloatArray) -> Plot:
    """Draw a histogram of the correlations per source."""
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
        axes.set_xlabel("Spearman's rho per source")
        axes.set_ylabel("sources")
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.yaxis.get_major_locator().set_params(integer=True)

    below, above = int((rho < 0).sum()), int((rho > 0.5).sum())
    size = counted(len(rho), "source")
    described = f"{size}, mean {mean:.3f}; {below} below 0, {above} above .5." if len(rho) else "No sources."
    return Plot("sources", "Correlation by source", f"Histogram: {described}", 2.6, paint)


def weights(findings: RankerFindings) -> Plot:
    """Draw the largest weights of the ranker."""
    values = findings.ranker.weights
    names = findings.ranker.feature_set.columns
    chosen = np.argsort(-np.abs(values), kind="stable")[:WEIGHTS]
    shown = tuple(Estimate(float(values[column]), _NAN, _NAN) for column in chosen)
    which = f"the {WEIGHTS} largest of {len(names)}" if len(names) > WEIGHTS else "by size"
    described = "; ".join(f"{names[column]} {values[column]:+.3f}" for column in chosen[:10])
    return rows_plot(
        "weights",
        "Weights",
        f"Weights of the standardised features, {which}: {described}.",
        [names[column] for column in chosen],
        [Series("weight", shown)],
        axis="weight of the standardised feature",
    )


def shares(findings: RankerFindings) -> Plot:
    """Draw each extractor's share of the score variance."""
    names = findings.extractors
    order = np.argsort(-findings.shares, kind="stable")[:WEIGHTS]
    values = tuple(Estimate(float(findings.shares[place]), _NAN, _NAN) for place in order)
    series = [Series("share", values)]
    labels = [names[place] for place in order]
    return rows_plot(
        "shares",
        "Shares of the score variance",
        f"Shares of the score variance within sources: {_read_out(labels, series)}.",
        labels,
        series,
        axis="share of the score variance within sources",
        bars=True,
    )


def _with_intervals(series: list[Series]) -> str:
    known = any(estimate.low == estimate.low for entry in series for estimate in entry.estimates)
    return " with 95% intervals" if known else ""


def _read_out(labels: list[str], series: list[Series]) -> str:
    """Return the values of the first ten rows as text."""
    lines = []
    for row, label in enumerate(labels[:10]):
        values = ", ".join(f"{line.name} {line.estimates[row].value:.3f}" for line in series)
        lines.append(f"{label} {values}")
    return "; ".join(lines)
