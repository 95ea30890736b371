"""Tables of results, and the forms they are written in."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranker.errors import OptionError
from ranker.files import write_bytes


class Marked(float):
    """A number with a mark behind it, which tables for people show; JSON and CSV hold the number alone."""

    mark: str

    def __new__(cls, value: float, mark: str = "") -> Marked:
        """Make the number `value` with its mark."""
        made = super().__new__(cls, value)
        made.mark = mark
        return made

    @property
    def text(self) -> str:
        """The number as people are shown it: four decimals and the mark."""
        return f"{float(self):.4f}{self.mark}"


@dataclass(frozen=True)
class Table:
    """A table of an experiment.

    Parameters
    ----------
    title : str
    rows : tuple of dict
        All with the same keys; None where there is nothing to say.
    note : str
        What a reader must know about it.
    """

    title: str
    rows: tuple[Mapping[str, Any], ...]
    note: str = ""


@dataclass(frozen=True)
class Experiment:
    """What an experiment found.

    Parameters
    ----------
    name : str
    tables : tuple of Table
    signature : str
        All that changes the figures.
    """

    name: str
    tables: tuple[Table, ...]
    signature: str

    def json(self) -> str:
        """Return everything as JSON."""
        value = {
            "experiment": self.name,
            "signature": self.signature,
            "tables": [
                {"title": one.title, "note": one.note, "rows": [_plain(row) for row in one.rows]} for one in self.tables
            ],
        }
        return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def csv(self) -> str:
        """Return all rows as one CSV table; the first column is the title of their table."""
        columns = list(dict.fromkeys(key for one in self.tables for row in one.rows for key in row))
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, ["table", *columns], lineterminator="\n")
        writer.writeheader()
        for one in self.tables:
            writer.writerows({"table": one.title, **_plain(row)} for row in one.rows)
        return buffer.getvalue()

    def markdown(self) -> str:
        """Return the tables as Markdown."""
        parts = []
        for one in self.tables:
            parts += [f"### {one.title}", ""]
            parts += [one.note, ""] if one.note else []
            parts += [markdown_table(one.rows), ""]
        return "\n".join([*parts, f"`{self.signature}`"]) + "\n"

    def write(self, path: str | Path) -> None:
        """Write a file in the form that its name promises: ``.json``, ``.csv`` or ``.md``.

        Raises
        ------
        OptionError
            If the name promises none of them.
        """
        forms = {".json": self.json, ".csv": self.csv, ".md": self.markdown}
        make = forms.get(Path(path).suffix)
        if make is None:
            raise OptionError(f"{path}: expected a name ending in {', '.join(forms)}")
        write_bytes(path, make().encode())


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as a Markdown table: three decimals (one digit of what is smaller), a dash for what is missing."""
    if not rows:
        return "(no rows)"
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([show(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show(value: Any) -> str:
    """Write one value for people."""
    plain = _value(value)
    if plain is None:
        return "-"
    if isinstance(plain, Marked):
        return plain.text
    if isinstance(plain, float):
        return f"{plain:.3f}" if plain == 0 or abs(plain) >= 0.001 else f"{plain:.1g}"
    return f"{plain:,}" if isinstance(plain, int) and not isinstance(plain, bool) else str(plain)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _value(value) for key, value in row.items()}


def _value(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
