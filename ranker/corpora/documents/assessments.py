"""Assessment tables: scores by judge, segment and system, in a layout that the manifest declares.

The tables of the licensed corpora have no public documentation, so a `Layout` says which column holds which value.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from ranker.corpora.records import number_in, shown
from ranker.errors import DataError, counted, nearest
from ranker.files import printable

PLACE = ("system", "doc", "segment")
"""Required columns, which identify the judged candidate."""
_NAMES = (*PLACE, "judge", "kind", "value")
"""Columns that are not kinds of judgement."""
_SKIPPED = "-"
_WHITESPACE = "whitespace"
_QUOTING = (",", ";")
Text = Annotated[str, msgspec.Meta(pattern=r"\A[^\0]*[^\s\0][^\0]*\Z")]


class Layout(msgspec.Struct, forbid_unknown_fields=True):
    """Layout of an assessment table; `columns` becomes a mapping from names to column numbers or titles."""

    columns: list[Text] | dict[str, Annotated[int, msgspec.Meta(ge=1)] | Text]
    fixed: dict[str, Text] = {}
    delimiter: Annotated[str, msgspec.Meta(min_length=1)] = "tab"
    header: bool | None = None
    scale: tuple[float, float] | None = None
    missing: set[str | int | float] = set()

    def __post_init__(self) -> None:
        self.columns = _by_name(self.columns, self.fixed)
        titled = any(isinstance(column, str) for column in self.columns.values())
        if self.header is False and titled:
            raise ValueError("header: expected true, found false; columns named by title require a header")
        if self.scale and not self.scale[0] < self.scale[1]:
            what = f"expected the lowest and the highest score, such as [1, 5], found {shown(self.scale)}"
            raise ValueError(f"scale: {what}")
        self.header = titled if self.header is None else self.header
        self.delimiter = "\t" if self.delimiter == "tab" else self.delimiter
        self.missing = {str(entry).strip() for entry in self.missing}


def _by_name(columns: list[str] | dict[str, int | str], fixed: Mapping[str, str]) -> dict[str, int | str]:
    """Return the column number or title of each name; raise a ValueError if a name is unknown, repeated or missing."""
    if isinstance(columns, list):
        numbered: dict[str, int | str] = {name: number for number, name in enumerate(columns, 1) if name != _SKIPPED}
    else:
        numbered = {name: column.strip() if isinstance(column, str) else column for name, column in columns.items()}
    declared = {*numbered, *fixed}
    kinds = declared - {*_NAMES}
    by_kind = bool(kinds) and not {"kind", "value"} & declared
    what = None
    if unknown := sorted({*fixed} - {*_NAMES[:-1]}):
        what = f"{shown(unknown[0])} in fixed is unknown; expected one of {', '.join(_NAMES[:-1])}"
    elif isinstance(columns, list) and len(numbered) < len(columns) - columns.count(_SKIPPED):
        twice = next(name for name in numbered if columns.count(name) > 1)
        what = f"expected every name once ({_SKIPPED!r} skips a column), found {shown(twice)} twice"
    elif repeated := sorted({*numbered} & {*fixed}):
        what = f"{shown(repeated[0])} is also in fixed; keep one of them"
    elif lacking := [name for name in PLACE if name not in declared]:
        what = f"{lacking[0]!r} is missing: expected its column here, or its constant value in fixed"
    elif not by_kind and (kinds or not {"kind", "value"} <= declared):
        listed = ", ".join(map(shown, numbered))
        what = f"expected kinds of judgement such as 'fluency', or 'kind' and 'value'; found {listed}"
    if what:
        raise ValueError(f"columns: {what}")
    return numbered


@dataclass(frozen=True)
class Assessment:
    """A score in an assessment table, with its line; `kind` is the question asked, and `judge` is None if unknown."""

    system: str
    doc: str
    segment: str
    judge: str | None
    kind: str
    value: float
    line: int


def parse_assessments(text: str, file: str, layout: Layout) -> Iterator[Assessment]:
    r"""Yield the scores of an assessment table in order, skipping blank lines."""
    rows = _rows(text, file, layout.delimiter)
    line, first = next(rows, (1, None))
    if first is None:
        raise DataError("is empty, expected an assessment table", file=file)
    assert isinstance(layout.columns, dict)
    places = {name: _index(name, column, first, file, line) for name, column in layout.columns.items()}
    for row_line, row in [] if layout.header else [(line, first)]:
        yield from _assessments(row, places, layout, file, row_line)
    for row_line, row in rows:
        if len(row) != len(first):
            what = f"expected {len(first)} fields as on line {line}, found {len(row)}: {shown(' '.join(row))}"
            raise DataError(what, file=file, line=row_line)
        yield from _assessments(row, places, layout, file, row_line)


def _rows(text: str, file: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if delimiter == _WHITESPACE:
            fields = line.split()
        elif delimiter in _QUOTING:
            try:
                fields = next(csv.reader([line], delimiter=delimiter, strict=True))
            except csv.Error as error:
                raise DataError(
                    f"badly quoted row ({error}); expected fields quoted as in CSV", file=file, line=number
                ) from None
        else:
            fields = line.split(delimiter)
        yield number, [field.strip() for field in fields]


def _index(name: str, column: int | str, first: list[str], file: str, line: int) -> int:
    """Return the index of the only column with the number or title `column`; raise an error if there is none."""
    if isinstance(column, int):
        if column > len(first):
            found = f"found {counted(len(first), 'column')}: {shown(' '.join(first))}"
            what = f"expected {shown(name)} in column {column}, {found} (wrong delimiter?)"
            raise DataError(what, file=file, line=line)
        return column - 1
    titles = [title.casefold() for title in first]
    if titles.count(column.casefold()) != 1:
        count = "several" if column.casefold() in titles else f"none{nearest(column, first)}"
        known = ", ".join(map(shown, first[:8]))
        what = f"expected one column called {shown(column)}, found {count}; the first line has {known}"
        raise DataError(what, file=file, line=line)
    return titles.index(column.casefold())


def _assessments(
    row: list[str], places: Mapping[str, int], layout: Layout, file: str, line: int
) -> Iterator[Assessment]:
    values = {**layout.fixed, **{name: row[index] for name, index in places.items()}}
    for name in (*PLACE, *(["kind"] if "value" in values else [])):
        if not values[name]:
            raise DataError(f"{name}: expected a name, found nothing", file=file, line=line)
    scores = {name: value for name, value in values.items() if name not in (*PLACE, "judge", "kind", "value")}
    if "value" in values:
        scores = {values["kind"].casefold(): values["value"]}
    for kind, score in scores.items():
        if score and score not in layout.missing:
            value = _number(kind, score, layout, file, line)
            judge = values.get("judge") or None
            yield Assessment(values["system"], values["doc"], values["segment"], judge, kind, value, line)


def _number(kind: str, score: str, layout: Layout, file: str, line: int) -> float:
    number = number_in(score)
    lowest, highest = layout.scale or (-math.inf, math.inf)
    if math.isfinite(number) and lowest <= number <= highest:
        return number
    expected = f"a number from {lowest:g} to {highest:g}" if layout.scale else "a finite number"
    what = f"{printable(kind)}: expected {expected}, found {shown(score)}"
    what = f"{what} (if it stands for no score, list it under 'missing')"
    raise DataError(what, file=file, line=line)
