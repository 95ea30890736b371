"""``ranker gate``: exit code 3 if a system is significantly worse than the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ranker.cli.options import OmitFields, OutputForm, PercentOption, TextInput
from ranker.cli.output import emit, estimate_columns, print_table, say, say_signatures, show
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
    options: Annotated[_GateOptions, OmitFields(["seed"])],
    max_drop: Annotated[float, Option(help="Largest significant drop that passes, in the units shown.", min=0)] = 0.0,
    percent: PercentOption = False,
    form: OutputForm = "table",
    html: HtmlOption = None,
) -> int:
    """Exit with code 3 if a system is significantly worse.

    For continuous integration. Systems are compared with the baseline by one metric or model, or by preferences, as in
    ranker systems. A drop that is not significant passes, so the test set must be large enough (ranker plan).

    Example: ranker gate sample --metric chrf --baseline sys2
    """
    check_percent(percent, form, html)
    if single(options.metric) and options.model:
        raise OptionError("give either --metric or --model, not both")
    result, _ = options.compare(inputs, html=html, percent=percent, gate=True)
    tested = _tested(result, max_drop / result.metrics[0].scale(percent=percent), percent)
    rows = [row for row, _ in tested]
    emit(
        form,
        None,
        rows,
        lambda: _print(result, tested, percent, max_drop),
        signature=result.signature,
        notes=result.notes,
    )
    show_page(html)
    allowed = f", allowed {max_drop:g}" if max_drop else ""
    worse = [
        f"{row['system']} is significantly worse than {row['baseline']} by {row['metric']}"
        f"{' (' + row['lp'] + ')' if row['lp'] else ''}: {difference}, "
        f"adjusted p {show(row['adjusted'])}{allowed}"
        for row, difference in tested
        if not row["passes"]
    ]
    if worse:
        say(f"ranker: {'; '.join(worse)}", err=True)
    return 3 if worse else 0


def _tested(result: SystemsResult, largest: float, percent: bool) -> list[tuple[dict[str, Any], str]]:
    """Return rows for each language pair and system except the baseline, each with the difference as text to print."""
    sign, figure = 1 if result.metrics[0].higher_is_better else -1, figures(result.metrics[0], percent)
    return [
        (
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
            },
            figure(each.difference, "+"),
        )
        for comparison in result.comparisons
        for each in comparison.systems
        if each.difference is not None and each.adjusted is not None
    ]


def _print(result: SystemsResult, tested: list[tuple[dict[str, Any], str]], percent: bool, max_drop: float) -> None:
    failing = joined(list(dict.fromkeys(row["system"] for row, _ in tested if not row["passes"])))
    more = f" by more than {max_drop:g}" if max_drop else ""
    say(f"The gate fails: {failing}." if failing else f"The gate passes: no system is significantly worse{more}.", "")
    for comparison in result.comparisons:
        shown = [
            {
                "system": row["system"],
                "difference": difference,
                "adjusted": row["adjusted"],
                "gate": "passes" if row["passes"] else "fails",
            }
            for row, difference in tested
            if row["lp"] == comparison.lp.known
        ]
        print_table(shown, titled(result, comparison, percent))
        say("")
    say(*result.notes)
    say_signatures(f"{result.metrics[0].name}: {result.metrics[0].signature}", result.signature)
