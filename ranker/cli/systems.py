"""``ranker systems``: comparison of systems, with significance tests."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from ranker.cli.options import KindOption, PercentOption, TextInput, working
from ranker.cli.output import (
    emit,
    estimate_columns,
    print_table,
    print_text,
    say,
    say_signatures,
    show,
    win_rows,
)
from ranker.cli.pages import HtmlOption, show_page
from ranker.cli.system_options import PairsOption, SystemOptions, check_percent, figure, figures, titled
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
"""Output formats: those of most commands, and tables for papers."""
_TESTS = ("p", "adjusted", "needed")


def command(
    inputs: TextInput,
    options: SystemOptions,
    test: Annotated[
        SystemTest,
        Option(help="Paired bootstrap (bs; randomisation below 200 sources), or 10,000 random swaps by default (ar)."),
    ] = "bs",
    correction: Annotated[
        Correction, Option(help="Multiple-testing correction for all pairs of systems.")
    ] = "westfall-young",
    parity: Annotated[Parity | None, Option(help="Compute uncorrected p-values exactly like this program.")] = None,
    pairs: PairsOption = False,
    percent: PercentOption = False,
    legend: Annotated[bool, Option("--legend", help="Explain the columns of the tables.")] = False,
    kind: KindOption = "auto",
    form: Form = "table",
    html: HtmlOption = None,
) -> None:
    """Compare systems and test whether differences are significant.

    Without --metric and --model, systems are compared by the preferences in the data, which need no texts: log
    strengths by Davidson's extension of the Bradley-Terry model for ties. Without preferences, or with --html, systems
    are compared by bleu, chrf and the included ranker that ranker rank uses.

    The conclusion comes first. Systems are sorted best first, with 95% confidence intervals, clusters and, by one
    metric, differences to the baseline and corrected p-values; --pairs and the other formats have them for several.
    If the systems have human judgements, the human ranking is added. The formats latex and markdown produce tables for
    papers. The HTML report adds plots and all sources with their outputs, to search and compare.

    Example: ranker systems sample --metric bleu,chrf --resamples 200
    """
    check_percent(percent, form, html)
    if pairs and form in ("latex", "markdown"):
        raise OptionError(f"--pairs is not available with --format {form}; expected table, json, jsonl or csv")
    result, dataset = options.compare(
        inputs,
        html=html,
        percent=percent,
        kind=kind,
        shown=form in ("table", "json"),
        test=test,
        correction=correction,
        parity=parity,
    )
    counts: list[dict[str, Any]] = []
    if result.metrics[0].type != "preferences" and (form == "json" or (form == "table" and not pairs)):
        from ranker.checks.outputs import system_counts

        with working("checking outputs"):
            counts = system_counts(dataset)

    def print_result() -> None:
        if form == "table":
            _print(result, counts, pairs, percent, legend)
        else:
            from ranker.reports import paper_tables

            print_text(getattr(paper_tables, form)(result, percent=percent))

    document = {**result.document(), "checks": counts} if form == "json" else None
    emit(form, document, _pair_rows(result) if pairs else _rows(result), print_result, notes=result.notes)
    show_page(html)


def _rows(result: SystemsResult) -> list[dict[str, Any]]:
    """Return a row for each system, metric and language pair."""
    partly = any(each.people for comparison in result.comparisons for each in comparison.systems)
    return [
        {
            "lp": comparison.lp.known,
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
    """Return a row for each pair of systems, metric and language pair."""
    return [
        {
            "lp": comparison.lp.known,
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


def _print(result: SystemsResult, counts: list[dict[str, Any]], pairs: bool, percent: bool, legend: bool) -> None:
    """Print the conclusion, tables per language pair (or, with `pairs`, per metric as well), and the signatures."""
    settings = result.settings
    say(*result.conclusions, "")
    for lp in result.language_pairs:
        if pairs:
            for comparison in result.of_language_pair(lp):
                title = titled(result, comparison, percent)
                _print_pairs(comparison, title, figures(result.metric(comparison.metric), percent))
                _print_wins(comparison, settings.alpha)
        else:
            _print_systems(result, lp, percent)
    failing = sum(row["failed"] for row in counts)
    if failing:
        by_system: Counter[str] = Counter()
        for row in counts:
            by_system[row["system"]] += row["failed"]
        ((system, most),) = by_system.most_common(1)
        say(f"outputs that fail checks: {failing:,}, {most:,} of them of {system}: see ranker check")
    if legend:
        _print_legend(result, pairs)
    say(*result.notes)
    for described in result.metrics:
        say_signatures(f"{described.name}: {described.signature}")
    say_signatures(result.signature)


def _print_systems(result: SystemsResult, lp: str, percent: bool) -> None:
    """Print a table of a language pair's systems: all figures of a single metric, or the scores by several metrics."""
    main, people, several = result.main_comparison(lp), result.people(lp), len(result.metrics) > 1
    comparisons = result.of_language_pair(lp)
    by_metric = {each.metric: {system.system: system for system in each.systems} for each in comparisons}
    rows = []
    for each in main.systems:
        row = {
            "ranks": str(each.low) if each.low == each.high else f"{each.low}-{each.high}",
            "system": each.system,
        }
        scores = {}
        for metric in result.metrics:
            system = by_metric[metric.name][each.system]
            head = f"{metric.name}{' in %' if metric.scale(percent=percent) > 1 else ''}" if several else "score"
            scores[head] = f"{figures(metric, percent)(system.score)}  {system.cluster}"
        judged = people.get(each.system)
        human = {"people": f"{judged.score:.3f}  {judged.cluster}" if judged else "-"} if people else {}
        row |= human | scores if several else scores | human
        if any(system.people for system in main.systems):
            row["people, all sources"] = figure(each.people) if each.people else "-"
        if not several:
            row |= _tested(each, figures(result.metrics[0], percent), known=main.people_known)
            del row["p"]
        rows.append(row)
    title = f"{'ranks by ' if several else ''}{titled(result, main, percent)}"
    print_table(rows, title, keys=["system"], together=["difference", "adjusted", "needed"])
    # the title states it for the main metric
    lower = [each.name for each in result.metrics if not each.higher_is_better and each.name != main.metric]
    if lower:
        say(f"lower is better: {', '.join(lower)}")
    if main.judged > 1:
        by_one = f"{show(main.kendall)}, Pearson's r {show(main.pearson)}"
        agreeing = ", ".join(f"{each.metric} {show(each.kendall)}" for each in comparisons) if several else by_one
        say(f"agreement with human scores, {main.judged} systems: Kendall's tau {agreeing}")
    say("")


def _print_legend(result: SystemsResult, pairs: bool) -> None:
    """Print the meanings of the tables' columns, omitting tests if the tables show several metrics and no pairs."""
    settings, judged = result.settings, result.metrics[0].type == "preferences"
    counting = f"computed like {settings.parity}" if settings.parity else "two-sided"
    interval = f"95% {'Bayesian ' if judged else ''}bootstrap confidence interval over {settings.unit}s"
    interval += f", {counted(settings.resamples, 'resample')}, seed {settings.seed}"
    test = f"{result.tested_by()}, {counting}"
    tested = pairs or len(result.metrics) == 1
    if not pairs:
        say(
            f"{'score' if tested else 'scores'}: [{interval}] and cluster",
            "ranks: rank range; ranges of different clusters do not overlap",
        )
        if result.human:
            methods = " or ".join(dict.fromkeys(each.title.replace("-", " ") for each in result.human))
            say(f"people: human score ({methods}) and cluster")
        if any(each.people for lp in result.language_pairs for each in result.main_comparison(lp).systems):
            say("people, all sources: mean human score, [95% confidence interval], estimated from the judged sources")
    if tested:
        say(
            f"difference: {f'better minus worse, [{interval}]' if pairs else 'from the baseline'}",
            *([f"p: {test}"] if pairs else []),
            f"adjusted: p of all pairs, {settings.correction_title}; significant below {settings.alpha:g}",
            *([] if pairs else [f"  p: {test}"]),
            f"needed: {settings.unit}s required for a significant difference with power {settings.power:g}",
        )
    if judged:
        say(
            "score: log strength (Bradley-Terry with ties, Davidson 1970), mean 0: of two systems d apart, one is",
            "preferred exp(d) times as often as the other; a comparison without a source counts as one source",
        )
    known = {pair.metric for pair in result.comparisons if pair.people_known and tested}
    if known:
        say("people agree: how often people prefer the better of two systems this far apart")
    for described in result.metrics:
        if described.name in known:
            text = f"{described.name}: learnt from {described.people}"
            say(*textwrap.wrap(text, 80, initial_indent="  ", subsequent_indent="  "))
    say("")


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
    """Return a difference and its tests as text for people, with the share of people who agree if `known` is set."""
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
