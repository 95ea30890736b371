"""Tables of results and their output formats, and plans, which limit a failure to a single table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranker.errors import RankerError
from ranker.files import printable
from ranker.progress import report
from ranker.storage.escapes import csv_text, json_text, markdown_text, to_json_value
from ranker.version import VERSION


class Marked(float):
    """A number followed by a mark in tables for people; JSON and CSV contain the number alone."""

    mark: str

    def __new__(cls, value: float, mark: str = "") -> Marked:
        """Make the number `value` with its mark."""
        marked = super().__new__(cls, value)
        marked.mark = mark
        return marked

    @property
    def text(self) -> str:
        """Number as shown to people: four decimals and the mark."""
        return f"{float(self):.4f}{self.mark}"


@dataclass(frozen=True)
class Table:
    """A table of an experiment."""

    title: str
    rows: tuple[Mapping[str, Any], ...]
    note: str = ""

    def markdown(self) -> str:
        """Return the table as Markdown under its title."""
        notes = [markdown_text(self.note)] if self.note else []
        return _section(self.title, *notes, markdown_table(self.rows))


@dataclass(frozen=True)
class Failure:
    """A table that could not be made."""

    title: str
    error: Exception

    @property
    def reason(self) -> str:
        """Error message in one line, with the type of the error if it is not a `RankerError`."""
        text = printable(" ".join(str(self.error).split()))
        return text if isinstance(self.error, RankerError) else f"unexpected {type(self.error).__name__}: {text}"

    def markdown(self) -> str:
        """Return the reason as Markdown under the title of the table."""
        return _section(self.title, f"This table could not be computed: {markdown_text(self.reason)}")


@dataclass(frozen=True)
class Experiment:
    """Results of an experiment."""

    name: str
    tables: tuple[Table, ...]
    signature: str
    failures: tuple[Failure, ...] = ()

    def json(self) -> str:
        """Return all tables and failures as JSON text."""
        value = {
            "experiment": self.name,
            "signature": self.signature,
            "tables": [
                {"title": table.title, "note": table.note, "rows": to_json_value(table.rows)} for table in self.tables
            ],
            "failures": [{"title": failure.title, "reason": failure.reason} for failure in self.failures],
        }
        return json_text(value, indent=1) + "\n"

    def csv(self) -> str:
        """Return the rows of all tables as one CSV table, whose first column is the title of the original table."""
        columns = list(dict.fromkeys(key for table in self.tables for row in table.rows for key in row))
        rows = [
            [table.title, *(values.get(key) for key in columns)]
            for table in self.tables
            for values in to_json_value(table.rows)
        ]
        return csv_text([["table", *columns], *rows])

    def closing(self) -> str:
        """Return the last line of the Markdown output: the signature."""
        return f"`{printable(self.signature).replace('`', chr(39))}`\n"


@dataclass(frozen=True)
class TableTask:
    """A task that makes one table of an experiment, or a few together."""

    title: str
    make: Callable[[], Iterable[Table]]


@dataclass(frozen=True)
class Plan:
    """An experiment that has not been run yet."""

    name: str
    tasks: tuple[TableTask, ...]
    signature: str

    @classmethod
    def of(cls, name: str, tasks: Sequence[TableTask], signed: Mapping[str, object]) -> Plan:
        """Make a plan whose signature lists the version, the experiment, and the `signed` values that are not None."""
        parts = {"ranker": VERSION, "experiment": name, **signed}
        return cls(name, tuple(tasks), "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None))

    def outcomes(self) -> Iterator[Table | Failure]:
        """Make the tables one by one; for a task that raises an exception, yield a `Failure` and continue."""
        for number, task in enumerate(self.tasks):
            report("tables", number, len(self.tasks))
            try:
                yield from task.make()
            except Exception as error:
                yield Failure(task.title, error)

    def run(self) -> Experiment:
        """Make all tables; raise the error of the first table that cannot be made."""
        tables = []
        for outcome in self.outcomes():
            if isinstance(outcome, Failure):
                raise outcome.error
            tables.append(outcome)
        return Experiment(self.name, tuple(tables), self.signature)


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format rows as a Markdown table: three decimals (one digit if below 0.001), and a dash for missing values."""
    if not rows:
        return "(no rows)"
    cells = [list(rows[0]), *([show(value) for value in row.values()] for row in rows)]
    head, *lines = ([markdown_text(cell) for cell in row] for row in cells)
    lines = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show(value: Any) -> str:
    """Format one value of a table for people."""
    plain = to_json_value(value)
    if plain is None:
        return "-"
    if isinstance(plain, Marked):
        return plain.text
    if isinstance(plain, float):
        return f"{plain:.3f}" if plain == 0 or abs(plain) >= 0.001 else f"{plain:.1g}"
    return f"{plain:,}" if isinstance(plain, int) and not isinstance(plain, bool) else str(plain)


def _section(title: str, *paragraphs: str) -> str:
    return "\n\n".join([f"### {markdown_text(title)}", *paragraphs, ""])
