"""Assessment tables: who gave which segment of which system what score, in a layout that is described, not fixed.

What the tables of the licensed corpora look like is not public, so a `Layout` says which column holds what.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ranker.corpora.records import shown
from ranker.errors import DataError, nearest
from ranker.files import printable

PLACE = ("system", "doc", "segment")
"""Required columns, which identify the judged candidate."""

WHITESPACE = "whitespace"
_QUOTING = (",", ";")


@dataclass(frozen=True)
class Layout:
    """What stands where in an assessment table."""

    columns: Mapping[str, int | str]
    fixed: Mapping[str, str] = field(default_factory=dict)
    delimiter: str = "\t"
    header: bool = False
    scale: tuple[float, float] | None = None
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Assessment:
    """One score: `kind` is what was asked, `judge` None where the table does not say who, `line` its row."""

    system: str
    doc: str
    segment: str
    judge: str | None
    kind: str
    value: float
    line: int


def parse_assessments(text: str, file: str, layout: Layout) -> Iterator[Assessment]:
    r"""Yield the scores of an assessment table, in its order; blank lines are passed over."""
    rows = _rows(text, file, layout.delimiter)
    line, first = next(rows, (1, None))
    if first is None:
        raise DataError("is empty, expected an assessment table", file=file)
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
        if delimiter == WHITESPACE:
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
    """Return the index of the column that holds `name`."""
    if isinstance(column, int):
        if column > len(first):
            what = f"expected {shown(name)} in column {column}, found {len(first)} columns: {shown(' '.join(first))}"
            raise DataError(f"{what} (wrong delimiter?)", file=file, line=line)
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
    try:
        # Python also reads 1_000
        number = math.nan if "_" in score else float(score)
    except ValueError:
        number = math.nan
    lowest, highest = layout.scale or (-math.inf, math.inf)
    if math.isfinite(number) and lowest <= number <= highest:
        return number
    expected = f"a number from {lowest:g} to {highest:g}" if layout.scale else "a finite number"
    what = f"{printable(kind)}: expected {expected}, found {shown(score)}"
    what = f"{what} (values for no score are listed under 'missing')"
    raise DataError(what, file=file, line=line)
