"""``ranker systems``."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from ranker.cli.check import print_checks
from ranker.cli.options import (
    MOST_RESAMPLES,
    JobsOption,
    KindOption,
    ModelOption,
    PercentOption,
    SeedOption,
    TextInput,
    working,
)
from ranker.cli.output import (
    ModelScore,
    emit,
    estimate_columns,
    print_note,
    print_table,
    print_text,
    say,
    say_signatures,
    show,
    win_rows,
)
from ranker.cli.pages import HtmlOption, check_page, show_page, write_html
from ranker.cli.scorer import MetricsOption, given_scorers, print_each
from ranker.errors import OptionError, counted, nearest
from ranker.evaluation.choices import Correction, Parity, ResamplingLevel, SystemTest

if TYPE_CHECKING:
    from ranker.evaluation.resampling.bootstrap import Estimate
    from ranker.evaluation.systems.result import (
        ComparedSystem,
        SystemComparison,
        SystemPair,
        SystemsMetric,
        SystemsResult,
    )

Form = Literal["table", "json", "jsonl", "csv", "latex", "markdown"]
"""Forms of output: those of all commands, and tables for papers."""
_FOR_PEOPLE = ("table", "latex", "markdown")
_TESTS = ("p", "adjusted", "needed")


def command(
    inputs: TextInput,
    metric: MetricsOption = None,
    model: ModelOption = None,
    baseline: Annotated[
        str | None, Option(help="System that the others are compared with (default: the first).", metavar="SYSTEM")
    ] = None,
    test: Annotated[SystemTest, Option(help="Paired bootstrap (bs) or approximate randomisation (ar).")] = "bs",
    correction: Annotated[
        Correction, Option(help="Multiple-testing correction for all pairs of systems.")
    ] = "westfall-young",
    resamples: Annotated[
        int | None,
        Option(
            help="Number of bootstrap samples or random swaps.",
            min=1,
            max=MOST_RESAMPLES,
            show_default="bs: 1000; ar: 10000",
        ),
    ] = None,
    parity: Annotated[Parity | None, Option(help="Compute uncorrected p-values exactly as this program does.")] = None,
    level: Annotated[
        ResamplingLevel, Option(help="Resample segments, or whole documents, which every source must name in doc.")
    ] = "segment",
    pairs: Annotated[bool, Option("--pairs", help="Print one row per pair of systems instead.")] = False,
    plan: Annotated[
        bool, Option("--plan", help="Print the power of this test set, and the size needed, for a difference instead.")
    ] = False,
    difference: Annotated[
        float | None,
        Option(help="Difference to plan for, in the units shown.", min=0, show_default="the observed one"),
    ] = None,
    fail_if_worse: Annotated[
        str | None,
        Option(
            help="Exit with code 3 if a system is significantly worse than the baseline by this metric or model.",
            metavar="METRIC|MODEL",
        ),
    ] = None,
    max_drop: Annotated[
        float | None,
        Option(help="With --fail-if-worse: largest significant difference that passes, in the units shown.", min=0),
    ] = None,
    percent: PercentOption = False,
    kind: KindOption = "auto",
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    form: Form = "table",
    html: HtmlOption = None,
) -> int:
    """Compare systems and test whether differences are significant.

    Without --metric and --model, systems are compared by the preferences of the data, which may be without texts:
    log strengths by Davidson's extension of the Bradley-Terry model for ties. If there are none, or with --html, they
    are compared by bleu, chrf and the included ranker that ranker rank uses.

    Systems are sorted best first, with 95% confidence intervals, differences to the baseline and two-sided p-values.
    Systems in the same cluster do not differ significantly at the .05 level, after correction for multiple testing. If
    the systems have human judgements, the human ranking is added. The formats latex and markdown produce tables for
    papers. The HTML report adds plots and all sources with their outputs, to search and compare.

    Example: ranker systems sample --metric bleu,chrf --resamples 200
    """
    if percent and form not in _FOR_PEOPLE and html is None:
        raise OptionError(f"--percent applies to tables only; --format {form} contains fractions")
    if pairs and form in ("latex", "markdown"):
        raise OptionError(f"--pairs is not available with --format {form}; expected table, json, jsonl or csv")
    if plan and form in ("latex", "markdown"):
        raise OptionError(f"--plan is not available with --format {form}; expected table, json, jsonl or csv")
    if difference is not None and not plan:
        raise OptionError("--difference: applies to --plan; give --plan too")
    if max_drop is not None and fail_if_worse is None:
        raise OptionError("--max-drop: applies to a metric or model; name it with --fail-if-worse")
    check_page(html)
    scorers, dataset = given_scorers(metric, model, inputs, systems=True, preferences=html is None)
    known = [*scorers] or ["preferences"]
    if fail_if_worse is not None and fail_if_worse not in known:
        hint = nearest(fail_if_worse, known)
        raise OptionError(f"--fail-if-worse {fail_if_worse}: systems are compared by {', '.join(known)} only{hint}")
    from ranker.checks.outputs import failed_checks, records, system_counts
    from ranker.evaluation.systems.run import can_differ, compare_systems

    with working("scoring and resampling"):
        # the report needs them too
        statistics = (
            {name: scorer.statistics(dataset) for name, scorer in scorers.items()} if scorers and html else None
        )
        result = compare_systems(
            dataset,
            scorers or None,
            baseline=None if baseline is None else inputs.system(baseline),
            test=test,
            correction=correction,
            resamples=resamples,
            seed=seed,
            parity=parity,
            level=level,
            kind=kind,
            statistics=statistics,
        )
    for comparison in result.comparisons:
        if comparison.metric == fail_if_worse and not can_differ(comparison, result.settings):
            few = f"with {counted(comparison.sources, 'source')} no difference can be significant"
            raise OptionError(f"--fail-if-worse {fail_if_worse}: {few}, so it would never fail: use more sources")
    if html is not None and scorers and statistics is not None:
        from ranker.reports.systems_page import SystemsFindings, systems_report

        with working("writing"):
            findings = SystemsFindings.of(result, dataset, scorers, statistics, kind)
            write_html(html, systems_report(findings, percent=percent)[0])
    print_each(((each.name, note) for each in result.metrics for note in each.notes), len(result.metrics))
    if plan:
        rows = _plan(result, pairs, difference, percent)
        emit(form, None, rows, lambda: _print_plan(result, rows, difference), signature=result.signature)
    elif form in ("latex", "markdown"):
        from ranker.reports import paper_tables

        print_text(getattr(paper_tables, form)(result, percent=percent))
    else:
        rows = _pair_rows(result) if pairs else _rows(result)
        with working("checking outputs"):
            counts = system_counts(dataset) if scorers and form in ("table", "json") else []
        document = {**result.document(), "checks": counts} if form == "json" else None
        emit(form, document, rows, lambda: _print(result, pairs, percent))
        failing = [row for row in counts if row["failed"]]
        if form == "table" and failing and not pairs:
            say("", "outputs that fail checks (ranker check lists all)")
            print_checks(failing, records(failed_checks(dataset)))
    if form != "table":
        for note in result.notes:
            print_note(note)
    if plan and level == "segment" and len(dataset.sources) and dataset.sources["doc"].notna().all():
        print_note("the documents are known: --level document plans for a number of documents")
    show_page(html)
    worse = _worse(result, fail_if_worse, max_drop or 0.0, percent) if fail_if_worse else []
    if worse:
        say(f"ranker: {'; '.join(worse)}", err=True)
    return 3 if worse else 0


def _rows(result: SystemsResult) -> list[dict[str, Any]]:
    """Return one row a system, metric and language pair."""
    partly = any(each.people for comparison in result.comparisons for each in comparison.systems)
    return [
        {
            "lp": None if comparison.lp == "?" else comparison.lp,
            "metric": comparison.metric,
            "system": each.system,
            "sources": comparison.sources,
            "score": each.score.value,
            "low": each.score.low,
            "high": each.score.high,
            "rank": each.rank,
            "rank.low": each.low,
            "rank.high": each.high,
            "cluster": each.cluster,
            "baseline": comparison.baseline,
            **estimate_columns("difference", each.difference),
            **{name: getattr(each, name) for name in _TESTS},
            **estimate_columns("agree", each.agree),
            "human": (people := result.people(comparison.lp).get(each.system)) and people.score,
            "human.cluster": people and people.cluster,
            **(estimate_columns("human.controlled", each.people) if partly else {}),
        }
        for comparison in result.comparisons
        for each in comparison.systems
    ]


def _pair_rows(result: SystemsResult) -> list[dict[str, Any]]:
    """Return one row a pair of systems, metric and language pair."""
    return [
        {
            "lp": None if comparison.lp == "?" else comparison.lp,
            "metric": comparison.metric,
            "better": pair.better,
            "worse": pair.worse,
            "difference": pair.difference.value,
            "low": pair.difference.low,
            "high": pair.difference.high,
            **{name: getattr(pair, name) for name in _TESTS},
            **estimate_columns("agree", pair.agree),
        }
        for comparison in result.comparisons
        for pair in comparison.pairs
    ]


def _plan(result: SystemsResult, pairs: bool, difference: float | None, percent: bool) -> list[dict[str, Any]]:
    """Return one row a pair of systems, or system and baseline, in the units shown."""
    from ranker.evaluation.systems.pair_tests import power_of, smallest_found, sources_needed

    settings, rows = result.settings, []
    wanted = {"alpha": settings.alpha, "power": settings.power}
    for comparison in result.comparisons:
        scale = result.metric(comparison.metric).scale(percent=percent)
        tested = [(pair.better, pair.worse, pair.difference, pair.error) for pair in comparison.pairs]
        if not pairs:
            tested = [
                (each.system, comparison.baseline, each.difference, each.error)
                for each in comparison.systems
                if each.difference is not None and each.error is not None
            ]
        for system, other, observed, standard_error in tested:
            error = scale * standard_error
            apart = scale * observed.value if difference is None else difference
            needed = float(sources_needed(apart, error, comparison.units, **wanted))
            rows.append(
                {
                    "lp": None if comparison.lp == "?" else comparison.lp,
                    "metric": f"{comparison.metric} %" if scale > 1 else comparison.metric,
                    "system": system,
                    "other": other,
                    f"{settings.unit}s": comparison.units,
                    "difference": apart,
                    "error": error,
                    "detectable": smallest_found(error, **wanted),
                    "power": power_of(apart, error, settings.alpha),
                    "needed": int(needed) if math.isfinite(needed) else None,
                }
            )
    return rows


def _print_plan(result: SystemsResult, rows: list[dict[str, Any]], difference: float | None) -> None:
    settings = result.settings
    print_table(rows, f"plan, {result.data}, difference {'observed' if difference is None else 'given'}")
    typer.echo(
        f"\nerror: bootstrap standard error of the difference, over {settings.unit}s\n"
        f"detectable: smallest difference that is significant with a probability of {settings.power:g}\n"
        f"power: probability that the difference is significant at {settings.alpha:g}, for this pair alone\n"
        f"needed: {settings.unit}s required for a power of {settings.power:g}\n"
    )
    for note in result.notes:
        say(note)
    say_signatures(result.signature)


def _worse(result: SystemsResult, name: str, most: float, percent: bool) -> list[str]:
    """Say which systems are significantly worse than the baseline by a metric, by more than `most`."""
    metric = result.metric(name)
    scale, figure = metric.scale(percent=percent), _figures(metric, percent)
    sign = 1 if metric.higher_is_better else -1
    return [
        f"{each.system} is significantly worse than {comparison.baseline} by {name}"
        f"{'' if comparison.lp == '?' else f' ({comparison.lp})'}: {figure(each.difference, '+')}, "
        f"adjusted p {show(each.adjusted)}{f', allowed {most:g}' if most else ''}"
        for comparison in result.comparisons
        if comparison.metric == name
        for each in comparison.systems
        if each.difference is not None and each.adjusted is not None and each.adjusted < result.settings.alpha
        if -sign * scale * each.difference.value > most
    ]


def _print(result: SystemsResult, pairs: bool, percent: bool) -> None:
    """Print the tables of every language pair and metric, what they mean, and the signatures."""
    settings = result.settings
    for comparison in result.comparisons:
        metric = result.metric(comparison.metric)
        scale = metric.scale(percent=percent)
        lp = "" if comparison.lp == "?" else f" {comparison.lp}"
        lower = "" if metric.higher_is_better else " (lower is better)"
        name = f"{comparison.metric}{' in %' if scale > 1 else ''}{lower}"
        documents = "" if comparison.documents is None else f" in {counted(comparison.documents, 'document')}"
        sources = f"{counted(comparison.sources, 'source')}{documents}"
        title = f"{name}, {result.data}{lp}, {sources}, baseline {comparison.baseline}"
        if pairs:
            _print_pairs(comparison, title, _figures(metric, percent))
            continue
        _print_systems(result, comparison, title, _figures(metric, percent))
        _print_details(comparison)
        _print_wins(comparison, settings.alpha)
    resamples = counted(settings.resamples, "resample")
    counting = f"computed like {settings.parity}" if settings.parity else "two-sided"
    typer.echo(
        f"p: {result.test_title}, {resamples}, seed {settings.seed}, {counting}\n"
        f"adjusted: p of all pairs, {settings.correction_title}; significant below {settings.alpha:g}\n"
        f"needed: {settings.unit}s required for a significant difference with power {settings.power:g}"
    )
    judged = result.metrics[0].type == "preferences"
    if judged:
        typer.echo(
            "score: log strength (Bradley-Terry with ties, Davidson 1970), mean 0: of two systems d apart, one is\n"
            "preferred exp(d) times as often as the other; a comparison without a source counts as one source"
        )
    known = [
        each
        for each in result.metrics
        if any(pair.people_known for pair in result.comparisons if pair.metric == each.name)
    ]
    if not pairs:
        interval = f"95% {'Bayesian ' if judged else ''}bootstrap confidence interval over {settings.unit}s"
        typer.echo(f"score: [{interval}] and cluster\nranks: rank range; ranges of different clusters do not overlap")
    if known:
        typer.echo("people agree: how often people prefer the better of two systems this far apart")
    for described in known:
        say(
            *textwrap.wrap(
                f"{described.name}: learnt from {described.people}", 80, initial_indent="  ", subsequent_indent="  "
            )
        )
    typer.echo("")
    for note in result.notes:
        say(note, "")
    for described in result.metrics:
        say_signatures(f"{described.name}: {described.signature}")
    say_signatures(result.signature)


def _print_systems(result: SystemsResult, comparison: SystemComparison, title: str, figure: Callable[..., str]) -> None:
    people = result.people(comparison.lp)
    rows = []
    for each in comparison.systems:
        row = {
            "ranks": str(each.low) if each.low == each.high else f"{each.low}-{each.high}",
            "system": each.system,
            "score": f"{figure(each.score)}  {each.cluster}",
        }
        if people:
            judged = people.get(each.system)
            row["people"] = "-" if judged is None else f"{judged.score:.3f}  {judged.cluster}"
        if any(system.people for system in comparison.systems):
            row["people, all sources"] = _figure(each.people) if each.people else "-"
        rows.append(row | _tested(each, figure, known=comparison.people_known))
    print_table(rows, title, keys=["system"], together=["difference", *_TESTS])
    if comparison.judged > 1:
        typer.echo(
            f"agreement with human scores, {comparison.judged} systems: Kendall's tau {show(comparison.kendall)}, "
            f"Pearson's r {show(comparison.pearson)}"
        )
    typer.echo("")


def _print_details(comparison: SystemComparison) -> None:
    rows = [
        {
            "system": each.system,
            **{
                name: f"{value:,.0f}"
                if value.is_integer() and (value > 1 or comparison.metric == "preferences")
                else show(value)
                for name, value in each.details.items()
            },
        }
        for each in comparison.systems
    ]
    if comparison.systems[0].details:
        print_table(rows, f"details of {comparison.metric}", keys=["system"])
        typer.echo("")


def _print_wins(comparison: SystemComparison, alpha: float) -> None:
    rows = win_rows([each.system for each in comparison.systems], comparison.ahead(alpha), "system")
    print_table(rows, "> significantly better, < worse")
    typer.echo("")


def _print_pairs(comparison: SystemComparison, title: str, figure: Callable[..., str]) -> None:
    rows = [
        {"better": pair.better, "worse": pair.worse, **_tested(pair, figure, known=comparison.people_known)}
        for pair in comparison.pairs
    ]
    print_table(rows, title, keys=["better", "worse"])
    typer.echo("")


def _tested(each: ComparedSystem | SystemPair, figure: Callable[..., str], *, known: bool) -> dict[str, str]:
    """Return a difference and its tests as people read them, and how often people agree if that is `known`."""
    row = {
        "difference": "baseline" if each.difference is None else figure(each.difference, "+"),
        "p": show(each.p),
        "adjusted": show(each.adjusted),
        "needed": "-" if each.needed is None else f"{each.needed:,}",
    }
    if known:
        row["people agree"] = _share(each.agree) if each.agree else "-"
    return row


def _share(estimate: Estimate) -> str:
    value, low, high = (min(round(100 * figure), 99) for figure in (estimate.value, estimate.low, estimate.high))
    return f"{value}% [{low} {high}]"


def _figures(metric: SystemsMetric, percent: bool) -> Callable[..., str]:
    """Choose scale and decimals of the figures of a metric."""
    scale = metric.scale(percent=percent)
    decimals = 2 if scale > 1 else ModelScore.decimals if metric.type == "ranker" else 4
    return partial(_figure, scale=scale, decimals=decimals)


def _figure(estimate: Estimate, sign: str = "", *, scale: float = 1.0, decimals: int = 4) -> str:
    value, low, high = (
        f"{scale * value + 0.0:{sign}.{decimals}f}" for value in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} [{low} {high}]"
