"""``ranker check``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from typer import Option

from ranker.cli.options import Input, OmitFields, OutputForm, working
from ranker.cli.output import emit, print_table, say

_SHOWN = 74


def command(
    inputs: Annotated[Input, OmitFields(["given"])],
    examples: Annotated[int, Option(help="Examples per check.", min=0)] = 1,
    spans: Annotated[bool, Option("--spans", help="Add the places of faults, in characters of the output.")] = False,
    form: OutputForm = "table",
) -> None:
    """Check outputs for errors that need no metric: lost numbers, another language, preambles.

    Each output is compared with its source: empty, copy (the source untranslated), language (another than the target
    language), preamble ("Here is the translation:"), repetition, truncation, and numbers, dates, units, urls, markup
    and placeholders that differ from those of the source. Where there are references, an output fails only if no
    reference has the same. Shown are numbers of outputs per system; json, jsonl and csv have every output that fails,
    with --spans in a row for each place, with the columns of marked errors.

    Example: ranker check sample --lp zh-en
    """
    dataset = inputs.read()
    from ranker.checks.outputs import failed_checks, placed_checks, records, system_counts

    with working("checking"):
        failed = records((placed_checks if spans else failed_checks)(dataset))
        counts = system_counts(dataset)
    emit(form, {"systems": counts, "failed": failed}, failed, lambda: _print(counts, failed, examples))


def _print(counts: Sequence[Mapping[str, Any]], failed: Sequence[Mapping[str, Any]], examples: int) -> None:
    """Print the number of each system's outputs that fail each check, and examples of such outputs."""
    from ranker.checks.outputs import CHECKS

    unused = {name for name in (*CHECKS, "lp") if not any(row[name] for row in counts)}
    print_table([{name: value for name, value in row.items() if name not in unused} for row in counts])
    for name in CHECKS:
        for row in [row for row in failed if row["check"] == name][:examples]:
            place = " ".join(str(row[key]) for key in ("lp", "seg_id", "system") if row[key] is not None)
            found, text = (
                value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..." for value in (row["found"], row["text"])
            )
            if isinstance(row.get("start"), int):
                place += f", {row['side']} {row['start']}-{row['end']}"
            say(f"{name}: {found} ({place})", *([f"  {text}"] if text.strip() else []))
