"""Printing of results on stdout: tables for people; JSON, JSON lines or CSV for programs.

Texts and names come from data. In tables and lines for people, their control characters and line breaks are escaped:
they cannot control the terminal or forge a row. Formats for programs are escaped as in `ranker.storage.escapes`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import typer

from ranker.errors import escaped
from ranker.files import printable
from ranker.storage.escapes import csv_text, json_text, to_json_value

if TYPE_CHECKING:
    from rich.console import Console

    from ranker.evaluation.resampling.bootstrap import Estimate

_MOST_NOTES = 5
_OPTIONS = re.compile(r"\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]")
_LONG_ONLY = ("kind", "pairs", "loss", "C", "references_as_candidates", "data", "alpha")
"""Parts that short signatures leave out, because they follow from the model or never differ."""
_LONG = 1000
"""Number of rows from which a table is printed plainly, because rich lays out only a few hundred rows per second."""
_NARROWEST = 10
"""Minimum width in cells of a column whose text wraps, if its text is longer."""
_LONGEST_LINE = 680
"""Maximum length in characters of a note that is printed in full."""


@dataclass
class _Wanted:
    """The user's settings for output, and the notes to be printed before the result."""

    quiet: bool = False
    long_signatures: bool = False
    notes: list[tuple[Iterable[str], str]] = field(default_factory=list)


_wanted = _Wanted()


def emit(
    form: str,
    document: object,
    rows: Sequence[Mapping[str, Any]],
    show: Callable[[], None] | None = None,
    lines: Iterable[object] | None = None,
    *,
    signature: str = "",
    title: str = "",
    notes: Iterable[str] = (),
) -> None:
    """Print the pending notes, the result in the format `form` and, unless it is a table, the `notes` on the result.

    JSON is `document` or else an object of ``signature`` and ``rows``; JSON lines are `lines` or else `rows`; CSV is
    `rows`; and `show` prints what people read, by default a table of the rows and the signature. After the other forms,
    the `notes` on the result are printed, which `show` prints itself.
    """
    print_pending_notes()
    if form == "json":
        document = {"signature": signature, "rows": rows} if document is None else document
        typer.echo(json_text(to_json_value(document), indent=1))
    elif form == "jsonl":
        sys.stdout.writelines(f"{json_text(to_json_value(line))}\n" for line in (rows if lines is None else lines))
    elif form == "csv":
        heads = [list(row) for row in rows[:1]]
        print_text(csv_text([*heads, *([to_json_value(value) for value in row.values()] for row in rows)]))
    elif show is not None:
        show()
    else:
        print_table(rows, title)
        say("")
        for line in signature.split("\n"):
            (say_signatures if line.startswith("ranker:") else say)(line)
    for note in notes if form != "table" else ():
        print_note(note)


def say(*lines: str, err: bool = False) -> None:
    """Print lines for people, with line breaks and control characters within a line escaped."""
    for line in lines:
        typer.echo(printable(line), err=err)


def be_quiet(quiet: bool = True) -> None:
    """Suppress notes and progress from now on, including those that the library logs."""
    _wanted.quiet = quiet
    logging.getLogger("ranker").setLevel(logging.ERROR if quiet else logging.NOTSET)


def shows_progress() -> bool:
    """True if progress is shown: stderr is a terminal, and progress is not suppressed."""
    return sys.stderr.isatty() and not _wanted.quiet


def write_long_signatures() -> None:
    """Print full signatures from now on, also in tables."""
    _wanted.long_signatures = True


def color_system() -> Literal["auto"] | None:
    """Colour system for rich: "auto" for all styles of the terminal, None for no styles."""
    return None if os.environ.get("NO_COLOR") else "auto"


def begin() -> None:
    """Reset the settings for output, which an earlier command may have changed."""
    global _wanted
    _wanted = _Wanted()
    be_quiet(False)
    # this handler prints the notes of the library if the program sets up no logging of its own
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Shortened())


class _Shortened(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as text, each line shortened like a message."""
        return "\n".join(map(shortened, super().format(record).split("\n")))


def shortened(line: str) -> str:
    """Return a message escaped to one line, with its middle left out if it is very long."""
    line = escaped(line)
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 205]} ... {line[-200:]}"


def say_signatures(*signatures: str) -> None:
    """Print signatures for people: short ones, unless the user asked for long ones."""
    say(*(signature if _wanted.long_signatures else short_signature(signature) for signature in signatures))


def short_signature(signature: str) -> str:
    """Return a signature with its options replaced by digests, and without the parts that follow from other parts."""
    head, *parts = signature.split("|sacrebleu", 1)[0].split("|")
    short_parts = [part for part in parts if part.partition(":")[0] not in _LONG_ONLY]
    return "|".join(_OPTIONS.sub(_digest, part) for part in (head, *short_parts))


def _digest(options: re.Match[str]) -> str:
    return f"#{hashlib.sha256(options[0].encode()).hexdigest()[:8]}"


def say_progress(line: str) -> None:
    """Print a line about progress on stderr, unless progress is suppressed."""
    if not _wanted.quiet:
        say(line, err=True)


def print_text(text: str) -> None:
    """Print a text meant for programs unchanged, except that a terminal gets unprintable characters escaped."""
    typer.echo("\n".join(map(printable, text.split("\n"))) if sys.stdout.isatty() else text, nl=False)


def print_note(note: str) -> None:
    """Print a note on stderr, unless notes are suppressed."""
    say_progress(f"ranker: note: {note}")


def note_with_result(notes: Iterable[str], rest: str) -> None:
    """Keep notes to print before the result, unless there is an error; `rest` tells where to read notes left out."""
    _wanted.notes.append((notes, rest))


def print_pending_notes() -> None:
    """Print the notes that were kept for the result: five lines at most."""
    pending, _wanted.notes = [] if _wanted.quiet else _wanted.notes, []
    for number, (note, rest) in enumerate((note, rest) for notes, rest in pending for note in notes):
        if number == _MOST_NOTES:
            print_note(f"more notes about the data: {rest}")
            return
        print_note(note)


def print_table(
    rows: Sequence[Mapping[str, Any]],
    title: str = "",
    wide: Sequence[str] = (),
    keys: Sequence[str] = (),
    together: Sequence[str] = (),
) -> None:
    """Print rows as a table; only text in the columns `wide` may wrap.

    With `keys`, a table that is too wide for the terminal is printed in parts, each of which has these columns; the
    columns `together` are not separated unless they are too wide themselves. The terminal wraps the lines of a table or
    part that is still too wide.
    """
    from rich.console import Console

    if title:
        say(title)
    console = Console(highlight=False, soft_wrap=False, color_system=color_system())
    if not rows:
        typer.echo("")
    elif len(rows) > _LONG or not (console.is_terminal and (sys.stdout.isatty() or "COLUMNS" in os.environ)):
        # a file or a pipe has no width to fit, even if FORCE_COLOR makes rich take it for a terminal
        sys.stdout.writelines(_plain_table(rows))
    else:
        for number, columns in enumerate(_parts(rows, keys, together, console.width) if keys else [list(rows[0])]):
            if number:
                typer.echo("")
            part = [{name: row[name] for name in columns} for row in rows]
            widths = [min(width, _NARROWEST) if name in wide else width for name, width in _widths(part).items()]
            if sum(widths) + 2 * (len(widths) - 1) <= console.width:
                _print_columns(part, console, wide)
            else:
                # rich would crop figures
                sys.stdout.writelines(_plain_table(part))


def _widths(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the width of each column of a table, in cells of the terminal."""
    from rich.cells import cell_len

    cells = {name: [name, *(show(row[name]) for row in rows)] for name in rows[0]}
    return {name: max(cell_len(printable(cell)) for cell in column) for name, column in cells.items()}


def _parts(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str], together: Sequence[str], width: int
) -> list[list[str]]:
    """Split a wide table's columns into parts: `keys` and as many other columns as fit `width`, at least one."""
    widths = _widths(rows)

    def fits(*names: str) -> bool:
        return sum(widths[name] + 2 for name in {*keys, *names}) - 2 <= width

    if fits(*rows[0]):
        return [list(rows[0])]
    parts: list[list[str]] = [[]]
    for name in rows[0]:
        opens = name == next(iter(together), None)
        if name in keys:
            continue
        if parts[-1] and not fits(*parts[-1], *(together if opens else [name])):
            parts.append([])
        parts[-1].append(name)
    return [[name for name in rows[0] if name in keys or name in part] for part in parts]


def _print_columns(rows: Sequence[Mapping[str, Any]], console: Console, wide: Sequence[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(
            Text(printable(name)),
            justify="right" if _is_numeric(rows, name) else "left",
            no_wrap=name not in wide,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(printable(show(value))) for value in row.values()))
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def _is_numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(isinstance(row[name], int | float) or row[name] is None for row in rows)


def _plain_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table without wrapping, fast enough for many rows."""
    from rich.cells import cell_len

    columns = []
    for name in rows[0]:
        cells = [printable(name), *(printable(show(row[name])) for row in rows)]
        lengths = [cell_len(cell) for cell in cells]
        width, right = max(lengths), _is_numeric(rows, name)
        pads = [" " * (width - length) for length in lengths]
        columns.append([pad + cell if right else cell + pad for cell, pad in zip(cells, pads, strict=True)])
    return ("  ".join(line).rstrip() + "\n" for line in zip(*columns, strict=True))


def source_title(facts: Mapping[str, Any]) -> str:
    """Return the heading for a source: its language pair, number and text."""
    return f"{' '.join(facts[name] for name in ('lp', 'seg_id') if name in facts)}  {facts['source']}".rstrip()


def win_rows(names: Sequence[str], ahead: Container[tuple[str, str]], what: str) -> list[dict[str, str]]:
    """Return the rows of a win matrix of `names`, with a column for each row, headed by the row's number."""
    rows = []
    for number, name in enumerate(names, 1):
        marks = {
            str(column): ">" if (name, opponent) in ahead else "<" if (opponent, name) in ahead else "."
            for column, opponent in enumerate(names, 1)
        }
        won = sum(mark == ">" for mark in marks.values())
        rows.append({"": str(number), what: name, **marks, "ahead of": str(won)})
    return rows


class ModelScore(float):
    """A score of a trained model, displayed with only the decimals that are the same on every processor."""

    decimals = 3


def show(value: object) -> str:
    """Return a value as text for people: numbers with four decimals, model scores with three, a dash if missing."""
    known = to_json_value(value)
    if known is None:
        return "-"
    if isinstance(known, bool):
        return "yes" if known else ""
    if not isinstance(known, float):
        return str(known)
    return f"{known + 0.0:.{ModelScore.decimals if isinstance(value, ModelScore) else 4}f}"


def estimate_columns(name: str, estimate: Estimate | None = None) -> dict[str, float | None]:
    """Return the columns for an estimate and its interval; their values are None without an estimate."""
    value, low, high = (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
    return {name: value, f"{name}.low": low, f"{name}.high": high}


def figure(value: float) -> str:
    """Return a figure of an evaluation as text: three decimals, a dash if it is undefined."""
    return "-" if value != value else f"{value:.3f}"


def interval(estimate: Estimate) -> str:
    """Return an estimate as text, with its interval."""
    value = figure(estimate.value)
    return value if estimate.low != estimate.low else f"{value} [{estimate.low:.3f} {estimate.high:.3f}]"
