"""``ranker plan``: the size of a test set in which differences between systems are significant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ranker.cli.options import OmitFields, OutputForm, PercentOption, TextInput
from ranker.cli.output import emit, print_note, print_table, say, say_signatures
from ranker.cli.system_options import PairsOption, SystemOptions, check_percent

if TYPE_CHECKING:
    from ranker.evaluation.systems.result import SystemsResult


def command(
    inputs: TextInput,
    options: Annotated[SystemOptions, OmitFields(["seed"])],
    difference: Annotated[
        float | None,
        Option(help="Difference to plan for, in the units shown.", min=0, show_default="the observed one"),
    ] = None,
    pairs: PairsOption = False,
    percent: PercentOption = False,
    form: OutputForm = "table",
) -> None:
    """Plan how large a test set must be to show a difference.

    The data are a pilot study. The table shows the power of a test set of this size, the smallest difference that it
    detects, and the number of sources (documents with --level document) needed for a power of .8.

    Example: ranker plan sample --metric chrf --percent --difference 1
    """
    check_percent(percent, form)
    result, dataset = options.compare(inputs)
    rows = _rows(result, pairs, difference, percent)
    emit(form, None, rows, lambda: _print(result, rows, difference), signature=result.signature, notes=result.notes)
    if options.level == "segment" and len(dataset.sources) and dataset.sources["doc"].notna().all():
        print_note("the data name documents: to plan for a number of documents, give --level document")


def _rows(result: SystemsResult, pairs: bool, difference: float | None, percent: bool) -> list[dict[str, Any]]:
    """Return a row for each pair of systems, or each system and the baseline, scaled as tables show scores."""
    from ranker.evaluation.systems.power import fewest_sources, power_of, smallest_found, sources_needed

    settings, rows = result.settings, []
    wanted = {"alpha": settings.alpha, "power": settings.power}
    for comparison in result.comparisons:
        scale = result.metric(comparison.metric).scale(percent=percent)
        enough = comparison.units >= fewest_sources(settings.alpha)
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
                    "lp": comparison.lp.known,
                    "metric": f"{comparison.metric} %" if scale > 1 else comparison.metric,
                    "system": system,
                    "other": other,
                    f"{settings.unit}s": comparison.units,
                    "difference": apart,
                    "error": error,
                    "detectable": smallest_found(error, comparison.units, **wanted) if enough else None,
                    "power": power_of(apart, error, comparison.units, settings.alpha),
                    "needed": int(needed) if math.isfinite(needed) else None,
                }
            )
    return rows


def _print(result: SystemsResult, rows: list[dict[str, Any]], difference: float | None) -> None:
    settings = result.settings
    print_table(rows, f"plan, {result.data}, difference {'observed' if difference is None else 'given'}")
    typer.echo(
        f"\nerror: standard error of the difference, by the bootstrap over {settings.unit}s\n"
        f"detectable: smallest difference that is significant with a probability of {settings.power:g}\n"
        f"power: probability that the difference is significant at {settings.alpha:g}, for this pair alone\n"
        f"needed: {settings.unit}s required for a power of {settings.power:g}\n"
    )
    say(*result.notes)
    say_signatures(result.signature)
