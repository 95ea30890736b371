"""Options and output shared by the commands ``systems``, ``plan`` and ``gate``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ranker.cli.options import MOST_RESAMPLES, Input, ModelOption, SeedOption, working
from ranker.cli.output import ModelScore
from ranker.cli.pages import check_page, write_html
from ranker.cli.scorer import MetricsOption, given_scorers, print_each
from ranker.errors import OptionError, counted
from ranker.evaluation.choices import ResamplingLevel

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.resampling.bootstrap import Estimate
    from ranker.evaluation.systems.result import SystemComparison, SystemsMetric, SystemsResult

PairsOption = Annotated[bool, Option("--pairs", help="Print one row per pair of systems instead.")]
_FOR_PEOPLE = ("table", "latex", "markdown")


@dataclass(frozen=True)
class SystemOptions:
    """Settings for scoring and comparing systems; `Commands` turns the fields into options."""

    metric: MetricsOption = None
    model: ModelOption = None
    baseline: Annotated[
        str | None, Option(help="System to compare other systems with (default: the first).", metavar="SYSTEM")
    ] = None
    resamples: Annotated[
        int | None,
        Option(help="Number of bootstrap samples or random swaps.", min=1, max=MOST_RESAMPLES, show_default="1000"),
    ] = None
    level: Annotated[
        ResamplingLevel,
        Option(help="Resample segments or whole documents; for documents, every source must have a doc."),
    ] = "segment"
    seed: SeedOption = 0

    def compare(
        self,
        inputs: Input,
        *,
        html: Path | None = None,
        percent: bool = False,
        kind: str | None = None,
        shown: bool = False,
        gate: bool = False,
        **settings: Any,
    ) -> tuple[SystemsResult, Dataset]:
        """Compare the systems of the data, print the notes, and write the HTML report, if asked for.

        `kind` is the kind of judgement for the human ranking, None for commands without one. If conclusions are
        `shown`, they name identical systems. With `gate`, it is an error if the sources are too few for any significant
        difference, if language pairs have different baselines, or if no metric or model is given and there are no
        preferences.
        """
        check_page(html)
        scorers, dataset = given_scorers(
            self.metric,
            self.model,
            inputs,
            systems=True,
            preferences=html is None,
            by_default=not gate,
            identical=not shown,
        )
        from ranker.evaluation.systems.comparison import can_differ
        from ranker.evaluation.systems.run import compare_systems

        with working("scoring and resampling"):
            # the report needs them too
            statistics = {name: scorer.statistics(dataset) for name, scorer in scorers.items()} if html else None
            result = compare_systems(
                dataset,
                scorers or None,
                baseline=None if self.baseline is None else inputs.system(self.baseline),
                resamples=self.resamples,
                seed=self.seed,
                level=self.level,
                kind=kind,
                statistics=statistics,
                **settings,
            )
        unit, compared = result.settings.unit, {comparison.lp for comparison in result.comparisons}
        for lp in dataset.language_pairs if gate else ():
            if lp not in compared:
                what = f"{lp.of(dataset.name)} has only one {unit} or system, so ranker gate would never fail"
                raise OptionError(f"{what}: use more, or select the other language pairs with --lp")
        bases = {each.lp.of(dataset.name): each.baseline for each in result.comparisons}
        if gate and len({*bases.values()}) > 1:
            listed = ", ".join(f"{where} with {base!r}" for where, base in bases.items())
            what = "a language pair lacks the first system, so systems would be compared with different ones"
            raise OptionError(f"{what}: {listed}; name one with --baseline, or select language pairs with --lp")
        for comparison in result.comparisons if gate else ():
            if not can_differ(comparison, result.settings):
                few = f"with {counted(comparison.units, unit)} no difference can be significant"
                raise OptionError(f"{few}, so ranker gate would never fail: use more {unit}s")
        if html is not None and statistics is not None:
            from ranker.reports.systems_page import SystemsFindings, systems_report

            with working("writing"):
                findings = SystemsFindings.of(result, dataset, scorers, statistics, kind)
                write_html(html, systems_report(findings, percent=percent)[0])
        print_each(((each.name, note) for each in result.metrics for note in each.notes), len(result.metrics))
        return result, dataset


def check_percent(percent: bool, form: str, html: Path | None = None) -> None:
    """Refuse ``--percent`` if neither a table nor an HTML report is written."""
    if percent and form not in _FOR_PEOPLE and html is None:
        raise OptionError(f"--percent applies to tables only, not to --format {form}: leave out --percent")


def titled(result: SystemsResult, comparison: SystemComparison, percent: bool) -> str:
    """Return the heading of a comparison: its metric, data and baseline."""
    metric = result.metric(comparison.metric)
    lower = "" if metric.higher_is_better else " (lower is better)"
    name = f"{comparison.metric}{' in %' if metric.scale(percent=percent) > 1 else ''}{lower}"
    documents = "" if comparison.documents is None else f" in {counted(comparison.documents, 'document')}"
    sources = f"{counted(comparison.sources, 'source')}{documents}"
    return f"{name}, {comparison.lp.of(result.data)}, {sources}, baseline {comparison.baseline}"


def figures(metric: SystemsMetric, percent: bool) -> Callable[..., str]:
    """Return the function that formats a metric's figures, with the scale and decimals that suit the metric."""
    scale = metric.scale(percent=percent)
    decimals = 2 if scale > 1 else ModelScore.decimals if metric.type == "ranker" else 4
    return partial(figure, scale=scale, decimals=decimals)


def figure(estimate: Estimate, sign: str = "", *, scale: float = 1.0, decimals: int = 4) -> str:
    """Return an estimate as text, with its interval."""
    value, low, high = (
        f"{scale * value + 0.0:{sign}.{decimals}f}" for value in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} [{low} {high}]"
