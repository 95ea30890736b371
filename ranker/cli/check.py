"""``ranker check``: checks of outputs that need no metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from typer import Option

from ranker.cli.options import Input, OmitFields, OutputForm, working
from ranker.cli.output import emit, print_table, say

_SHOWN = 74


def command(
    inputs: Annotated[Input, OmitFields(["given"])],
    examples: Annotated[int, Option(help="Number of examples per check.", min=0)] = 1,
    spans: Annotated[
        bool, Option("--spans", help="Add the position of each fault in the output, in characters.")
    ] = False,
    form: OutputForm = "table",
) -> None:
    """Check outputs for errors such as lost numbers or added preambles.

    No metric is needed. Each output is compared with its source: empty, copy (the source untranslated), language
    (another than the target language), preamble ("Here is the translation:"), repetition, truncation, and numbers,
    dates, units, urls, markup and placeholders that differ from those of the source. An output does not fail a check if
    a reference differs from the source in the same way. The table has numbers of failing outputs per system; json,
    jsonl and csv list every failing output, or with --spans every fault with its position, in the columns of marked
    errors.

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
