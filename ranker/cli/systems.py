"""``ranker systems``."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from ranker.cli.check import print_checks
from ranker.cli.options import (
    MOST_RESAMPLES,
    JobsOption,
    KindOption,
    OmitFields,
    PercentOption,
    TextInput,
    working,
)
from ranker.cli.output import (
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
from ranker.cli.pages import HtmlOption, show_page
from ranker.cli.system_options import PairsOption, SystemOptions, check_percent, figures, titled
from ranker.errors import OptionError, counted
from ranker.evaluation.choices import Correction, Parity, SystemTest

if TYPE_CHECKING:
    from ranker.evaluation.resampling.bootstrap import Estimate
    from ranker.evaluation.systems.result import (
        ComparedSystem,
        SystemComparison,
        SystemPair,
        SystemsResult,
    )

Form = Literal["table", "json", "jsonl", "csv", "latex", "markdown"]
"""Forms of output: those of all commands, and tables for papers."""
_TESTS = ("p", "adjusted", "needed")


def command(
    inputs: TextInput,
    options: Annotated[SystemOptions, OmitFields(["resamples"])],
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
    pairs: PairsOption = False,
    percent: PercentOption = False,
    kind: KindOption = "auto",
    jobs: JobsOption = None,
    form: Form = "table",
    html: HtmlOption = None,
) -> None:
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
    check_percent(percent, form, html)
    if pairs and form in ("latex", "markdown"):
        raise OptionError(f"--pairs is not available with --format {form}; expected table, json, jsonl or csv")
    result, dataset = replace(options, resamples=resamples).compare(
        inputs, html=html, percent=percent, kind=kind, test=test, correction=correction, parity=parity
    )
    from ranker.checks.outputs import failed_checks, records, system_counts

    if form in ("latex", "markdown"):
        from ranker.reports import paper_tables

        print_text(getattr(paper_tables, form)(result, percent=percent))
    else:
        rows = _pair_rows(result) if pairs else _rows(result)
        with working("checking outputs"):
            scored = result.metrics[0].type != "preferences"
            counts = system_counts(dataset) if scored and form in ("table", "json") else []
        document = {**result.document(), "checks": counts} if form == "json" else None
        emit(form, document, rows, lambda: _print(result, pairs, percent))
        failing = [row for row in counts if row["failed"]]
        if form == "table" and failing and not pairs:
            say("", "outputs that fail checks (ranker check lists all)")
            print_checks(failing, records(failed_checks(dataset)))
    if form != "table":
        for note in result.notes:
            print_note(note)
    show_page(html)


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


def _print(result: SystemsResult, pairs: bool, percent: bool) -> None:
    """Print the tables of every language pair and metric, what they mean, and the signatures."""
    settings = result.settings
    for comparison in result.comparisons:
        metric, title = result.metric(comparison.metric), titled(result, comparison, percent)
        if pairs:
            _print_pairs(comparison, title, figures(metric, percent))
            continue
        _print_systems(result, comparison, title, figures(metric, percent))
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
            row["people, all sources"] = figure(each.people) if each.people else "-"
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
