"""Prints results on stdout: tables for people, JSON, JSON lines or CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from ranker.cli.options import Output
from ranker.files import printable

if TYPE_CHECKING:
    from ranker.evaluation.bootstrap import Estimate

_LONG = 1000
"""Rows from which on a table is printed plainly: rich lays out a few hundred rows a second."""


def emit_rows(rows: Sequence[Mapping[str, Any]], output: Output, *, signature: str, title: str = "") -> None:
    """Print rows of one shape.

    JSON is one object of ``signature`` and ``rows``; JSON lines and CSV hold the rows alone; a table prints the
    signature below.
    """
    if output is Output.json:
        emit_json({"signature": signature, "rows": list(rows)})
    elif output is Output.jsonl:
        emit_lines(rows)
    elif output is Output.csv:
        emit_csv(rows)
    else:
        print_table(rows, title)
        typer.echo(f"\n{signature}")


def emit_json(value: object) -> None:
    """Print one JSON value; numbers that are not finite become null."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=1, allow_nan=False))


def emit_lines(values: Sequence[object]) -> None:
    """Print one JSON value a line."""
    sys.stdout.writelines(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False) + "\n" for value in values)


def emit_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV with a header line; what is missing or not a number is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    for row in rows:
        writer.writerow("" if (plain := _plain(value)) is None else plain for value in row.values())
    sys.stdout.write(buffer.getvalue())


def print_table(rows: Sequence[Mapping[str, Any]], title: str = "", wide: Sequence[str] = ()) -> None:
    """Print rows as a table; `wide` columns may wrap, all others keep their width."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if title:
        typer.echo(title)
    if len(rows) > _LONG:
        sys.stdout.writelines(_long_table(rows))
        return
    table = Table(box=None, pad_edge=False)
    for name in rows[0] if rows else ():
        table.add_column(
            Text(name),
            justify="right" if _is_numeric(rows, name) else "left",
            no_wrap=name not in wide,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(show(value)) for value in row.values()))
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        # a file or a pipe has no width to fit
        console = Console(highlight=False, width=max(_natural_width(table, console), 1))
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def _is_numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(isinstance(row[name], int | float) or row[name] is None for row in rows)


def _long_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the same table without wrapping, in a time that does not matter for many rows."""
    from rich.cells import cell_len

    columns = []
    for name in rows[0]:
        cells = [str(name), *(printable(show(row[name])) for row in rows)]
        lengths = [cell_len(cell) for cell in cells]
        width, right = max(lengths), _is_numeric(rows, name)
        pads = [" " * (width - length) for length in lengths]
        columns.append([pad + cell if right else cell + pad for cell, pad in zip(cells, pads, strict=True)])
    return ("  ".join(line).rstrip() + "\n" for line in zip(*columns, strict=True))


def _natural_width(table: Any, console: Any) -> int:
    from rich.measure import Measurement

    return int(Measurement.get(console, console.options.update(max_width=1_000_000), table).maximum)


def show(value: object) -> str:
    """Write one value for people: four decimals, a dash for what is missing."""
    plain = _plain(value)
    if plain is None:
        return "-"
    if isinstance(plain, bool):
        return "yes" if plain else ""
    return f"{plain + 0.0:.4f}" if isinstance(plain, float) else str(plain)


def interval(estimate: Estimate) -> str:
    """Write a figure with its interval."""
    if estimate.value != estimate.value:
        return "-"
    value = f"{estimate.value:.3f}"
    return value if estimate.low != estimate.low else f"{value} [{estimate.low:.3f} {estimate.high:.3f}]"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
