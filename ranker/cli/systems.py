"""``ranker systems``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ranker.cli.options import (
    MOST_RESAMPLES,
    OUTPUT,
    DataOption,
    JobsOption,
    KindOption,
    LpOption,
    ModelOption,
    ReferencesOption,
    SeedOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import Result, emit, print_table, print_text, say, say_note, say_signatures, show, win_rows
from ranker.cli.pages import HtmlOption, OpenOption, check_page, open_page, write_html
from ranker.cli.scorer import GivenOption, MetricsOption, given_scorers
from ranker.errors import OptionError, counted
from ranker.evaluation.choices import Correction, Parity, SystemTest

if TYPE_CHECKING:
    from ranker.evaluation.bootstrap import Estimate
    from ranker.evaluation.systems.comparison import SystemComparison, SystemsResult

Form = Literal["table", "json", "jsonl", "csv", "latex", "markdown"]
"""Forms of output: those of all commands, and tables for papers."""
_FOR_PEOPLE = ("table", "latex", "markdown")


def command(
    data: DataOption = None,
    metric: MetricsOption = None,
    model: ModelOption = None,
    given: GivenOption = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", help="System that the others are compared with (default: the first).", metavar="SYSTEM"
        ),
    ] = None,
    test: Annotated[
        SystemTest, typer.Option("--test", help="Paired bootstrap (bs) or approximate randomisation (ar).")
    ] = "bs",
    correction: Annotated[
        Correction, typer.Option("--correction", help="Multiple-testing correction for all pairs of systems.")
    ] = "westfall-young",
    resamples: Annotated[
        int | None,
        typer.Option(
            "--resamples",
            help="Number of bootstrap samples or random swaps.",
            min=1,
            max=MOST_RESAMPLES,
            show_default="bs: 1000; ar: 10000",
        ),
    ] = None,
    parity: Annotated[
        Parity | None,
        typer.Option("--parity", help="Compute uncorrected p-values exactly as this program does."),
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Print one row per pair of systems instead.")] = False,
    percent: Annotated[
        bool, typer.Option("--percent", help="Show scores between 0 and 1 as percentages, in tables.")
    ] = False,
    kind: KindOption = "auto",
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    translations: TranslationsOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    form: Annotated[
        Form, typer.Option("--format", "-f", help="Format of the result:", metavar="FORMAT", rich_help_panel=OUTPUT)
    ] = "table",
    html: HtmlOption = None,
    opened: OpenOption = False,
) -> None:
    """Compare systems and test whether differences are significant.

    Systems are sorted best first, with 95% confidence intervals, differences to the baseline and two-sided p-values.
    Systems in the same cluster do not differ significantly at the .05 level, after correction for multiple testing. If
    the systems have human judgements, the human ranking is added. The formats latex and markdown produce tables for
    papers. The HTML report adds plots, correlations between metrics, and all sources with their outputs to search and
    compare.

    Example: ranker systems sample --metric bleu,chrf --resamples 200
    """
    scorers = given_scorers(metric, model, given)
    if percent and form not in _FOR_PEOPLE and html is None:
        raise OptionError(f"--percent applies to tables only; --format {form} contains fractions")
    if pairs and form in ("latex", "markdown"):
        raise OptionError(f"--pairs is not available with --format {form}; expected table, json, jsonl or csv")
    check_page(html, opened=opened)
    dataset = read_input(data or [], source, references, translations, lp)
    from ranker.evaluation.systems.comparing import compare_systems

    with working("scoring and resampling"):
        # the report needs them too
        statistics = {name: one.statistics(dataset) for name, one in scorers.items()} if html else None
        found = compare_systems(
            dataset,
            scorers,
            baseline=baseline,
            test=test,
            correction=correction,
            resamples=resamples,
            seed=seed,
            parity=parity,
            kind=kind,
            statistics=statistics,
        )
    if html is not None and statistics is not None:
        from ranker.reports.systems.comparison import SystemsFindings, systems_report

        with working("writing"):
            findings = SystemsFindings.of(found, dataset, scorers, statistics, kind)
            write_html(html, systems_report(findings, percent=percent)[0])
    for note in dict.fromkeys(note for one in found.metrics for note in one.notes):
        say_note(note)
    if form in ("latex", "markdown"):
        from ranker.reports import paper_tables

        print_text(getattr(paper_tables, form)(found, percent=percent))
    else:
        rows = _pair_rows(found) if pairs else _rows(found)
        document = found.document() if form == "json" else None
        emit(Result(document, rows, lambda: _print(found, pairs, percent)), form)
    if form != "table":
        for note in found.notes:
            say_note(note)
    if html is not None:
        say_note(f"written: {html}")
        if opened:
            open_page(html)


def _rows(found: SystemsResult) -> list[dict[str, Any]]:
    """Return one row a system, metric and language pair."""
    return [
        {
            "lp": None if one.lp == "?" else one.lp,
            "metric": one.metric,
            "system": each.system,
            "sources": one.sources,
            "score": each.score.value,
            "low": each.score.low,
            "high": each.score.high,
            "rank": each.rank,
            "rank.low": each.low,
            "rank.high": each.high,
            "cluster": each.cluster,
            "baseline": one.baseline,
            "difference": each.difference and each.difference.value,
            "difference.low": each.difference and each.difference.low,
            "difference.high": each.difference and each.difference.high,
            "p": each.p,
            "adjusted": each.adjusted,
            "needed": each.needed,
            "human": (people := found.people(one.lp).get(each.system)) and people.score,
            "human.cluster": people and people.cluster,
        }
        for one in found.comparisons
        for each in one.systems
    ]


def _pair_rows(found: SystemsResult) -> list[dict[str, Any]]:
    """Return one row a pair of systems, metric and language pair."""
    return [
        {
            "lp": None if one.lp == "?" else one.lp,
            "metric": one.metric,
            "better": pair.better,
            "worse": pair.worse,
            "difference": pair.difference.value,
            "low": pair.difference.low,
            "high": pair.difference.high,
            "p": pair.p,
            "adjusted": pair.adjusted,
            "needed": pair.needed,
        }
        for one in found.comparisons
        for pair in one.pairs
    ]


def _print(found: SystemsResult, pairs: bool, percent: bool) -> None:
    """Print the tables of every language pair and metric, what they mean, and the signatures."""
    settings = found.settings
    for one in found.comparisons:
        metric = found.metric(one.metric)
        scale = metric.scale(percent=percent)
        lp = "" if one.lp == "?" else f" {one.lp}"
        lower = "" if metric.higher_is_better else " (lower is better)"
        name = f"{one.metric}{' in %' if scale > 1 else ''}{lower}"
        title = f"{name}, {found.data}{lp}, {counted(one.sources, 'source')}, baseline {one.baseline}"
        if pairs:
            _print_pairs(one, title, scale)
            continue
        _print_systems(found, one, title, scale)
        _print_details(one)
        _print_wins(one, settings.alpha)
    resamples = counted(settings.resamples, "resample")
    counting = f"computed like {settings.parity}" if settings.parity else "two-sided"
    typer.echo(
        f"p: {settings.test_title}, {resamples}, seed {settings.seed}, {counting}\n"
        f"adjusted: p of all pairs, {settings.correction_title}; significant below {settings.alpha:g}\n"
        f"needed: sources required for a significant difference with power {settings.power:g}"
    )
    if not pairs:
        typer.echo(
            "score: [95% bootstrap confidence interval over sources] and cluster\n"
            "ranks: rank range; ranges of different clusters do not overlap"
        )
    typer.echo("")
    for note in found.notes:
        say(note, "")
    for described in found.metrics:
        say_signatures(f"{described.name}: {described.signature}")
    say_signatures(found.signature)


def _print_systems(found: SystemsResult, one: SystemComparison, title: str, scale: float) -> None:
    people = found.people(one.lp)
    rows = []
    for each in one.systems:
        row = {
            "ranks": str(each.low) if each.low == each.high else f"{each.low}-{each.high}",
            "system": each.system,
            "score": f"{_figure(each.score, scale)}  {each.cluster}",
        }
        if people:
            judged = people.get(each.system)
            row["people"] = "-" if judged is None else f"{judged.score:.3f}  {judged.cluster}"
        row |= {
            "difference": "baseline" if each.difference is None else _figure(each.difference, scale, "+"),
            "p": show(each.p),
            "adjusted": show(each.adjusted),
            "needed": "-" if each.needed is None else f"{each.needed:,}",
        }
        rows.append(row)
    print_table(rows, title, keys=["system"], together=["difference", "p", "adjusted", "needed"])
    if one.judged > 1:
        typer.echo(
            f"agreement with human scores, {one.judged} systems: Kendall's tau {show(one.kendall)}, "
            f"Pearson's r {show(one.pearson)}"
        )
    typer.echo("")


def _print_details(one: SystemComparison) -> None:
    rows = [
        {
            "system": each.system,
            **{
                name: f"{value:,.0f}" if value > 1 and value.is_integer() else show(value)
                for name, value in each.details.items()
            },
        }
        for each in one.systems
    ]
    if one.systems[0].details:
        print_table(rows, f"details of {one.metric}", keys=["system"])
        typer.echo("")


def _print_wins(one: SystemComparison, alpha: float) -> None:
    ahead = one.ahead(alpha)
    names = [each.system for each in one.systems]
    rows = win_rows(names, lambda first, second: (first, second) in ahead, "system")
    print_table(rows, "> significantly better, < worse")
    typer.echo("")


def _print_pairs(one: SystemComparison, title: str, scale: float) -> None:
    rows = [
        {
            "better": pair.better,
            "worse": pair.worse,
            "difference": _figure(pair.difference, scale, "+"),
            "p": show(pair.p),
            "adjusted": show(pair.adjusted),
            "needed": "-" if pair.needed is None else f"{pair.needed:,}",
        }
        for pair in one.pairs
    ]
    print_table(rows, title, keys=["better", "worse"])
    typer.echo("")


def _figure(estimate: Estimate, scale: float, sign: str = "") -> str:
    value, low, high = (
        f"{scale * one + 0.0:{sign}.{2 if scale > 1 else 4}f}" for one in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} [{low} {high}]"
