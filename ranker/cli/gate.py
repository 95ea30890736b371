"""``ranker gate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ranker.cli.options import OutputForm, PercentOption, TextInput
from ranker.cli.output import emit, estimate_columns, print_note, print_table, say, say_signatures, show
from ranker.cli.pages import HtmlOption, show_page
from ranker.cli.scorer import MetricOption, single
from ranker.cli.system_options import SystemOptions, check_percent, figures, titled
from ranker.errors import OptionError, joined

if TYPE_CHECKING:
    from ranker.evaluation.systems.result import SystemsResult


@dataclass(frozen=True)
class _GateOptions(SystemOptions):
    metric: MetricOption = None


def command(
    inputs: TextInput,
    options: _GateOptions,
    max_drop: Annotated[float, Option(help="Largest significant drop that passes, in the units shown.", min=0)] = 0.0,
    percent: PercentOption = False,
    form: OutputForm = "table",
    html: HtmlOption = None,
) -> int:
    """Exit with code 3 if a system is significantly worse than the baseline.

    For continuous integration. Systems are compared by one metric or model, or by preferences, as in ranker systems. A
    drop that is not significant passes, so the test set must be large enough (ranker plan).

    Example: ranker gate sample --metric chrf --baseline sys2
    """
    check_percent(percent, form, html)
    if single(options.metric) and options.model:
        raise OptionError("give either --metric or --model")
    result, _ = options.compare(inputs, html=html, percent=percent, gate=True)
    scale = result.metrics[0].scale(percent=percent)
    rows = _rows(result, max_drop / scale)
    emit(form, None, rows, lambda: _print(result, rows, percent, max_drop), signature=result.signature)
    if form != "table":
        for note in result.notes:
            print_note(note)
    show_page(html)
    allowed = f", allowed {max_drop:g}" if max_drop else ""
    worse = [
        f"{row['system']} is significantly worse than {row['baseline']} by {row['metric']}"
        f"{' (' + row['lp'] + ')' if row['lp'] else ''}: {_difference(result, row, percent)}, "
        f"adjusted p {show(row['adjusted'])}{allowed}"
        for row in rows
        if not row["passes"]
    ]
    if worse:
        say(f"ranker: {'; '.join(worse)}", err=True)
    return 3 if worse else 0


def _rows(result: SystemsResult, largest: float) -> list[dict[str, Any]]:
    """Return one row per language pair and system other than the baseline."""
    sign = 1 if result.metrics[0].higher_is_better else -1
    return [
        {
            "lp": comparison.lp.known,
            "metric": comparison.metric,
            "system": each.system,
            "baseline": comparison.baseline,
            **estimate_columns("difference", each.difference),
            "p": each.p,
            "adjusted": each.adjusted,
            "max_drop": largest,
            "passes": each.adjusted >= result.settings.alpha or -sign * each.difference.value <= largest,
        }
        for comparison in result.comparisons
        for each in comparison.systems
        if each.difference is not None and each.adjusted is not None
    ]


def _difference(result: SystemsResult, row: dict[str, Any], percent: bool) -> str:
    from ranker.evaluation.resampling.bootstrap import Estimate

    estimate = (row[f"difference{part}"] for part in ("", ".low", ".high"))
    return figures(result.metrics[0], percent)(Estimate(*estimate), "+")


def _print(result: SystemsResult, rows: list[dict[str, Any]], percent: bool, max_drop: float) -> None:
    failing = joined(list(dict.fromkeys(row["system"] for row in rows if not row["passes"])))
    more = f" by more than {max_drop:g}" if max_drop else ""
    say(f"The gate fails: {failing}." if failing else f"The gate passes: no system is significantly worse{more}.", "")
    for comparison in result.comparisons:
        shown = [
            {
                "system": row["system"],
                "difference": _difference(result, row, percent),
                "adjusted": row["adjusted"],
                "gate": "passes" if row["passes"] else "fails",
            }
            for row in rows
            if row["lp"] == comparison.lp.known
        ]
        print_table(shown, titled(result, comparison, percent))
        say("")
    say(*result.notes)
    say_signatures(f"{result.metrics[0].name}: {result.metrics[0].signature}", result.signature)
