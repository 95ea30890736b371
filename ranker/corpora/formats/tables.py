"""CSV, TSV and Parquet tables in long form, one row per candidate, or per candidate and judge.

Columns ``text`` and ``source`` or ``reference`` (or ``reference1``, ``reference2``, ...) are required; ``system``,
``lp`` (or ``src_lang`` and ``tgt_lang``), ``doc``, ``seg_id``, ``judge`` and ``is_reference`` (true or false) are
optional; every other column is a rating and holds numbers or nothing. Which ratings are judgements, and in which
direction, is decided where they are used; see `ranker.corpora.judgements`. Columns whose names are those of metadata
(`ranker.corpora.column_names`), such as ``comment``, may hold text and are not read then, which a note says.

Rows of one (``lp``, ``seg_id``), or without ``seg_id`` of equal source, references, ``lp`` and ``doc``, are one source;
with neither source, ``seg_id`` nor system every row is one. Without ``system`` and ``seg_id`` a table where most
sources have one row is the output of one system. CSV quotes as spreadsheets do, with commas, semicolons or tabs between
the columns; TSV never quotes.
"""

from __future__ import annotations

import csv
import functools
import io
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora import column_names as names
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.json_lines import Keys, RecordReader, has_errors
from ranker.corpora.formats.json_text import json_line
from ranker.corpora.languages import contradict, pair_of, stated_pair
from ranker.corpora.marked_errors import MarkedError
from ranker.corpora.records import (
    build_dataset,
    contradiction,
    distinct_values,
    duplicate_system_error,
    first_repeated,
    is_one_system,
    joined_texts,
    one_system_note,
    pairs_in_one_form,
    repeated_header_error,
    shown,
)
from ranker.corpora.schema import TEXT
from ranker.errors import DataError, counted, log_note
from ranker.files import STRAY_RETURNS, with_line_feeds
from ranker.storage.escapes import csv_unescaped

Delimiter = Literal[",", ";", "\t"]
_EXPECTED = "text (or mt, hyp, hypothesis), and source (or src) or reference (or ref)"

MISSING = "(pandas reads NA, None and null as missing: read the file with keep_default_na=False)"
"""Advice about missing texts in data frames, for messages."""
_ONLY_JUDGES = "only rows with the same text by different judges may repeat it; distinguish equal sources by seg_id"
_QUOTED = re.compile(r'(?:^|\t)("(?:[^"\t\n]|"")*")(?=\t|$)', re.MULTILINE)
_QUOTED_COMMA = re.compile(r'(?:^|\t)("[^"\t\n]*,[^"\t\n]*")(?=\t|$)', re.MULTILINE)
_OPEN_COMMA = re.compile(r'(?:^|\t)(?!"[^"\t\n]*"(?:\t|$))[^\t\n,]*,', re.MULTILINE)
"""Cells of TSV with a comma, in quotes and not."""
_COLUMNS = {*map(names.canonical, names.SPELLINGS)}
_SEPARATOR_LINE = re.compile(r'"?sep=([^\r\n])"?(?=[\r\n])', re.IGNORECASE)
_CHUNK = 50_000  # rows of a CSV file that are Python objects at a time


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table in a file or a frame.

    Messages call row i by `unit` and its number in `lines`, such as "line 7". Rows that name no language pair are of
    the pair `lp`.
    """

    header: list[str]
    values: Sequence[pa.ChunkedArray]
    lines: Int64Array
    file: str
    unit: str = "line"
    header_line: int | None = None
    lp: str | None = None

    @functools.cached_property
    def canonical(self) -> list[str]:
        """Canonical name of each column."""
        return [*map(names.canonical, self.header)]

    @property
    def missing(self) -> str:
        """Advice about missing texts, for messages."""
        return f" {MISSING}" if self.unit == "row" else ": write a text, which may be empty"

    @functools.cached_property
    def kinds(self) -> list[str]:
        """Canonical names of the columns that may hold ratings, because no other meaning is known."""
        return names.kinds_of(self.canonical)


def table_rows(text: str, file: str, delimiter: Delimiter, *, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and fields of each row of CSV (if `quoted`) or TSV; all rows must have the same length.

    Rows without content at the end, as spreadsheets write them, are left out with a note.
    """
    rows = _csv_rows(text, file, delimiter) if quoted else _tsv_rows(with_line_feeds(text), file, delimiter)
    size, empty = 0, list[tuple[int, list[str]]]()
    for line, row in rows:
        if not row:
            continue
        size = size or len(row)
        if len(row) != size:
            raise DataError(
                f"expected {counted(size, 'field')} as in the first line, found {len(row)}", file=file, line=line
            )
        if size > 1 and not any(row):
            empty.append((line, row))
            continue
        yield from empty
        empty.clear()
        yield line, row
    if empty:
        log_note(f"{file}:{empty[0][0]}: {counted(len(empty), 'row')} without content left out at the end of the file")


def _tsv_rows(text: str, file: str, delimiter: Delimiter) -> Iterator[tuple[int, list[str]]]:
    # columns of which all cells are quoted
    quoted: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        row = line.split(delimiter) if line else []
        if number == 2:
            quoted = [at for at, cell in enumerate(row) if _QUOTED.fullmatch(cell)]
        elif quoted and row:
            quoted = [at for at in quoted if at < len(row) and _QUOTED.fullmatch(row[at])]
        yield number, row
    line_of_cell = _quoted_cell(text) if '"' in text else None
    if line_of_cell or (quoted and text.rstrip("\n").count("\n") > 1):
        what = "this line has a cell quoted as in CSV, and TSV is read without quoting"
        advice = "if the quotes are no part of the text, save the file without them, or as CSV"
        log_note(f"{file}:{line_of_cell or 2}: {what}: {advice}")


def _quoted_cell(text: str) -> int | None:
    """Return the line of a cell of TSV that seems to be quoted as in CSV, or None.

    Such a cell holds two quotes in a row, or is one of at least two cells with a comma, which are all quoted.
    """
    cells = _QUOTED.finditer(text) if '""' in text else ()
    first = next((cell.start(1) for cell in cells if '""' in cell[1][1:-1]), None)
    if first is None and not _OPEN_COMMA.search(text):
        cells = _QUOTED_COMMA.finditer(text)
        first = next((cell.start(1) for cell, _ in itertools.pairwise(cells)), None)
    return None if first is None else text.count("\n", 0, first) + 1


def _csv_rows(text: str, file: str, delimiter: Delimiter) -> Iterator[tuple[int, list[str]]]:
    # the largest number that every platform takes
    csv.field_size_limit(2**31 - 1)
    if "\n" not in text:
        text = text.replace("\r", "\n")
    # the csv module ends rows at a carriage return; NUL is not in text
    strays = STRAY_RETURNS.search(text)
    kept = STRAY_RETURNS.sub(lambda run: "\0" * len(run[0]), text) if strays else text
    lines = io.StringIO(kept, newline="\n")
    # a field may hold line breaks, so the csv module counts the lines
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = f"badly quoted row ({error}): expected a quote that closes it"
            raise DataError(what, file=file, line=line) from None
        yield line, [field.replace("\0", "\r") for field in row] if strays else row


def parse_table(text: str, file: str, delimiter: Delimiter, *, quoted: bool) -> Columns:
    """Parse CSV (if `quoted`) or TSV with a header line."""
    numbered = table_rows(text, file, delimiter, quoted=quoted)
    header_line, header = next(numbered, (1, []))
    named = (cell for cell in header if _QUOTED.fullmatch(cell) and names.canonical(cell.strip('"')) in _COLUMNS)
    if not quoted and (name := next(named, None)):
        what = f"column {shown(name)} is quoted as in CSV, and TSV is read without quoting"
        raise DataError(f"{what}: save the file without quotes, or as CSV", file=file, line=header_line)
    columns = [*map(names.canonical, header)]
    lines: list[Int64Array] = [np.zeros(0, dtype=np.int64)]
    swallowed: tuple[int, int] | None = None
    chunks: list[list[pa.Array]] = []
    while part := list(itertools.islice(numbered, _CHUNK)):
        lines.append(np.fromiter((line for line, _ in part), dtype=np.int64, count=len(part)))
        if quoted and swallowed is None:
            swallowed = next(((line, rows) for line, row in part if (rows := _rows_in(row, delimiter))), None)
        cells = (pa.array(column, pa.large_string()) for column in zip(*(row for _, row in part), strict=True))
        chunks.append([_unless_empty(column, values) for column, values in zip(columns, cells, strict=True)])
    if swallowed:
        what = f"a cell of this row holds the ends of {counted(swallowed[1], 'row')}: is a quote left open?"
        log_note(f"{file}:{swallowed[0]}: {what}")
    values = [pa.chunked_array([chunk[at] for chunk in chunks], pa.large_string()) for at in range(len(columns))]
    if quoted:
        kinds = {*names.kinds_of(columns)}
        texts = [
            at
            for at, column in enumerate(columns)
            if column not in kinds or ("text" not in columns and holds_text(values[at]))
        ]
        for at, unescaped in zip(texts, csv_unescaped(values[at] for at in texts), strict=True):
            values[at] = unescaped
    return Columns(header, values, np.concatenate(lines), file, header_line=header_line)


def _rows_in(row: list[str], delimiter: Delimiter) -> int:
    """Count the ends of rows in a cell of `row` if its lines look like rows of a table; else return 0.

    A quote that is left open ends where another begins, in the same column of a later row, so that the first and the
    last line have the delimiters of one row. In prose they are followed by spaces.
    """
    for cell in row:
        if "\n" in cell and f"{delimiter} " not in cell:
            first, *whole, last = (line.count(delimiter) for line in cell.split("\n"))
            if {first + last, *whole} == {len(row) - 1} and (len(row) > 2 or (whole and len(row) > 1)):
                return len(whole) + 1
    return 0


def _unless_empty(column: str, values: pa.Array) -> pa.Array:
    """Replace empty cells by null, except in text columns."""
    return values if column in ("source", "text") else pc.if_else(pc.equal(values, ""), None, values)


def refuse_repeated_header(table: Columns) -> None:
    """Refuse a table in which a later row has the names of the columns."""
    spelled = pa.array([*names.SPELLINGS, *(name.strip().lower() for name in table.header)], pa.large_string())
    found = np.full(len(table.lines), bool(table.values))
    for values in table.values[:2]:
        cells = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
        if not len(cells) or not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
            return
        lower = pc.utf8_lower(pc.utf8_trim(cells.cast(pa.large_string()), " \t\ufeff"))
        found &= pc.is_in(lower, spelled).to_numpy()
    for row in np.flatnonzero(found).tolist():
        if names.is_header((values[row].as_py() for values in table.values), table.header):
            raise repeated_header_error(table.file, int(table.lines[row]))


def long_table(table: Columns, *, comparable: bool = False) -> LongTable:
    """Return the checked columns of a table; if `comparable` is true, the table needs no source or reference."""
    lines, file = table.lines, table.file
    columns = _checked(table, comparable=comparable)
    cells = {
        column: value if column in table.kinds else texts_of(value, header_name, file, lines)
        for header_name, column, value in zip(table.header, columns, table.values, strict=True)
    }
    for header_name, column in zip(table.header, columns, strict=True):
        if column in ("source", "text") and cells[column].null_count:
            row = pc.index(cells[column].is_null(), True).as_py()
            what = f"column {header_name!r}: expected text, found nothing{table.missing}"
            raise DataError(what, file=file, line=int(lines[row]))
    return LongTable(with_pairs(cells, lines, file, table.lp), lines, file, table.unit)


def holds_text(column: pa.ChunkedArray) -> bool:
    """True if a column holds anything but numbers, in whatever form."""
    cells = column.filter(pa.array(_numbers(column)[1]))
    return len(cells) > 0 and not all(names.is_grade(cell.as_py()) for cell in cells)


def texts_of(column: pa.ChunkedArray, name: str, file: str, lines: Int64Array) -> pa.ChunkedArray:
    """Convert the cells of a text column, which may be stored as numbers, bytes or categories, to texts."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        with suppress(pa.ArrowInvalid):  # what is no UTF-8 is found below, with its row
            return column.cast(pa.large_string())
    values = (_text(value.as_py(), name, file, line) for line, value in zip(lines.tolist(), column, strict=True))
    return pa.chunked_array([pa.array(values, pa.large_string())])


def _text(value: object, column: str, file: str, line: int) -> str | None:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            what = f"column {column!r}: expected text, found bytes that are not UTF-8"
            raise DataError(what, file=file, line=line) from None
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = joined_texts(value)
    if value is None or isinstance(value, str) or (isinstance(value, float) and math.isnan(value)):
        return value if isinstance(value, str) else None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(value).lower() if isinstance(value, bool) else str(int(value))
    raise DataError(f"column {column!r}: expected text, found {shown(value)}", file=file, line=line)


def interleaved(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Interleave the cells of several columns row by row."""
    cells = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.large_string())
    return cells.take(pa.array(np.arange(len(cells)).reshape(len(columns), -1).T.ravel()))


def _checked(table: Columns, *, comparable: bool) -> list[str]:
    """Return the canonical names of a table's columns; refuse missing and repeated ones."""
    columns, file, line = table.canonical, table.file, table.header_line
    missing = "text" if "text" not in columns else "" if comparable or _is_comparable(columns) else "reference"
    if missing:
        listed = ", ".join(map(shown, table.header[:8])) or "nothing"
        what = f"column {missing!r} is missing; expected at least {_EXPECTED}, found {listed}"
        raise DataError(what, file=file, line=line)
    twice = first_repeated(columns)
    if twice is not None:
        raise DataError(f"column {shown(twice)} is duplicated; rename or remove one", file=file, line=line)
    return columns


def _is_comparable(columns: list[str]) -> bool:
    return "source" in columns or bool(names.reference_columns(columns))


def without_separator_line(text: str) -> tuple[str, str | None]:
    """Return a table whose first line, such as ``sep=;`` for Excel, is emptied, and the separator in that line.

    Without such a line, the text is returned unchanged, with None.
    """
    stated = _SEPARATOR_LINE.match(text)
    return (text[stated.end() :], stated[1]) if stated else (text, None)


def is_header(line: str, delimiter: str) -> bool:
    """True if a line contains the column names that a table needs."""
    columns = [names.canonical(name) for name in next(csv.reader([line[:100_000]], delimiter=delimiter), [])]
    return "text" in columns and _is_comparable(columns)


def delimiter_of(header: str, file: str) -> Delimiter:
    """Return the delimiter of CSV with the given first line; log a note if several are possible."""
    delimiters: tuple[Delimiter, ...] = (",", ";", "\t")
    reads = [delimiter for delimiter in delimiters if is_header(header, delimiter)]
    if len(reads) > 1:
        others = " or ".join(map(repr, reads))
        log_note(f"columns may be separated by {others}; using {reads[0]!r}", file)
    return (*reads, *(delimiter for delimiter in delimiters if delimiter in header), delimiters[0])[0]


class LongTable:
    """The checked columns of a table.

    Messages call row i by `unit` and its number in `lines`, such as "line 7".
    """

    def __init__(
        self, columns: Mapping[str, pa.ChunkedArray], lines: Int64Array, file: str, unit: str = "line"
    ) -> None:
        self.columns, self.lines, self.file, self.unit = {**columns}, lines, file, unit
        self.unnamed = "system" not in self.columns
        self.problems: list[tuple[int, DataError]] = []
        self.left_out: dict[str, str] = {}
        """Columns that may be ratings but were left out because they hold text alone, each with one of these texts."""

    def dataset(self, name: str, *, first: int = 1) -> Dataset:
        """Return the data set, numbering sources without ``seg_id`` from `first`, or raise the first error found."""
        return self.dataset_and_candidates(name, first=first)[0]

    def dataset_and_candidates(self, name: str, *, first: int = 1) -> tuple[Dataset, Int64Array]:
        """Return the data set as `dataset` does, and the candidate of each row of the table, shape (rows,)."""
        lp, doc, seg_id, judge = (self._codes(key) for key in ("lp", "doc", "seg_id", "judge"))
        references, reference_texts = self._references()
        is_reference = self._truths()
        content = _joined(self._codes("source"), *references.T)
        group = _joined(lp, seg_id, np.where(seg_id < 0, _joined(content, doc), -1))
        if self.unnamed:
            if "source" not in self.columns:
                # nothing tells whether equal references are of one source
                group = np.where(seg_id < 0, len(group) + np.arange(len(group)), group)
                group = _joined(group)
            group = self._number_systems(group, judge, has_ids=bool((seg_id >= 0).any()))
        systems = self._codes("system")
        advice = f" {MISSING}" if self.unit == "row" else ""
        self._refuse(systems < 0, lambda row: f"column 'system': expected a name, found nothing{advice}")
        opening = _first(group)[group]
        self._refuse(
            (content != content[opening]) | (doc != doc[opening]),
            lambda row: (
                f"seg_id {shown(self._cell('seg_id', row))}: source, references or doc differ from {self.unit} "
                f"{self.lines[opening[row]]}, expected equal ones, or a seg_id for each source"
            ),
        )
        output = _joined(group, systems)
        before = _first(output)[output]
        repeated = before != np.arange(len(before))
        again = np.flatnonzero(repeated)
        same_text = self._take("text", again) == self._take("text", before[again])
        differs = (judge[again] < 0) | (is_reference[again] != is_reference[before[again]]) | ~same_text.to_numpy(bool)
        for row in again[differs][:1].tolist():
            hint = f" ({_ONLY_JUDGES}{names.judge_hint(self.columns)})"
            error = duplicate_system_error(str(self._cell("system", row)), self.file, int(self.lines[row]), hint)
            self.problems.append((row, error))
        errors = self._errors(judge)
        ratings = self._ratings(output, before, judge)
        if self.problems:
            raise min(self.problems, key=lambda problem: problem[0])[1]
        rows = np.unique(opening)
        rows = rows[np.argsort(group[rows])]
        outputs = np.flatnonzero(~repeated)
        outputs = outputs[np.argsort(group[outputs], kind="stable")]
        place = np.empty(len(outputs), dtype=np.int64)
        place[output[outputs]] = np.arange(len(outputs))
        codes = references[rows]
        dataset = build_dataset(
            name,
            {**{key: self._take(key, rows) for key in ("lp", "doc", "seg_id")}, "text": self._take("source", rows)},
            {"source": np.nonzero(codes >= 0)[0], "text": _series(reference_texts.take(codes[codes >= 0]))},
            {
                "source": group[outputs],
                **{key: self._take(key, outputs) for key in ("system", "text")},
                "is_reference": is_reference[outputs],
            },
            {**ratings, "candidate": place[ratings["candidate"]]},
            [(int(place[output[row]]), error) for row, error in errors],
            file=self.file,
            lines=self.lines[rows].tolist(),
            candidate_lines=self.lines[outputs].tolist(),
            unit=self.unit,
            first=first,
        )
        return dataset, place[output]

    def _number_systems(self, group: Int64Array, judge: Int64Array, *, has_ids: bool) -> Int64Array:
        """Name each source's outputs candidate1, candidate2, ..., as for JSON files; return the source of each row.

        Rows with equal texts by different judges are one output. If most sources have one output, the table is that of
        one system, and every output has a source of its own, unless sources have ids.
        """
        text = self._codes("text")
        again = pd.Series(_joined(group, text, judge)).pipe(lambda key: key.groupby(key).cumcount()).to_numpy(np.int64)
        output = _joined(group, text, np.where(judge < 0, len(group) + np.arange(len(group)), again))
        first = _first(output)
        source = group[first]
        place = pd.Series(source).groupby(source).cumcount().to_numpy(np.int64)
        repeated = np.flatnonzero(place == 1)
        if not has_ids and is_one_system(np.bincount(source)):
            row = first[repeated[0]]
            lines = [int(self.lines[at]) for at in (np.argmax(group == group[row]), row)]
            note = one_system_note(len(repeated), self.unit, *lines)
            log_note(note, self.file)
            group, place = output, np.zeros(len(first), dtype=np.int64)
        systems = pa.array([f"candidate{number + 1}" for number in place[output].tolist()], pa.large_string())
        self.columns["system"] = pa.chunked_array([systems])
        return group

    def _cell(self, column: str, row: int) -> object:
        return self.columns[column][int(row)].as_py()

    def _grades(self, kind: str) -> list[str]:
        """Return the numbers of a column that are in a form that is not read."""
        cells = self.columns[kind]
        texts = pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)
        return [*filter(names.is_grade, cells.unique().to_pylist() if texts else ())]

    def _has_ratings(self, kind: str) -> bool:
        return any(names.is_unread_rating(kind, grade) for grade in self._grades(kind))

    def _no_number(self, kind: str, row: int) -> str:
        cell = self._cell(kind, row)
        expected = names.DECIMAL if names.is_grade(cell) else "a finite number"
        return f"column {shown(kind)}: expected {expected} or nothing, found {shown(cell)} ({names.EXPECTED})"

    def _judged_twice(self, kind: str, row: int) -> str:
        system = shown(self._cell("system", row))
        return f"column {shown(kind)}: system {system} is judged twice; expected one judgement per judge"

    def _refuse(self, wrong: BoolArray, what: Callable[[int], str]) -> None:
        """Record an error for the first row where the mask `wrong` is true."""
        for row in np.flatnonzero(wrong)[:1].tolist():
            self.problems.append((row, DataError(what(row), file=self.file, line=int(self.lines[row]))))

    def _take(self, column: str, rows: Int64Array) -> pd.Series:
        """Return a column's texts in the given rows; a missing column is empty for sources and null otherwise."""
        if column not in self.columns:
            return pd.Series(["" if column == "source" else None] * len(rows), dtype=TEXT)
        values = self.columns[column].take(pa.array(rows))
        return _series(values.fill_null("") if column in ("source", "text") else values)

    def _codes(self, column: str) -> Int64Array:
        """Return an integer for each distinct text of a column, -1 for null and empty text, shape (rows,)."""
        if column not in self.columns:
            return np.full(len(self.lines), -1, dtype=np.int64)
        codes, texts = _encode(self.columns[column])
        empty = pc.index(texts, "").as_py()
        return codes if empty < 0 else np.where(codes == empty, -1, codes)

    def _references(self) -> tuple[Int64Array, pa.Array]:
        """Return the indices of each row's references in an array of texts, padded with -1, and that array."""
        columns = [self.columns[column] for column in names.reference_columns([*self.columns])]
        chunks = [chunk for column in columns for chunk in column.chunks]
        codes, texts = _encode(pa.chunked_array(chunks, pa.large_string()))
        by_row = codes.reshape(len(columns), len(self.lines)).T
        order = np.argsort(by_row < 0, axis=1, kind="stable")
        references = np.take_along_axis(by_row, order, axis=1)
        # empty cells at the end are those of sources with fewer references; Parquet tells them from empty texts
        gaps = np.flatnonzero((references != by_row).any(axis=1))
        if len(gaps) and self.unit == "line":
            what = f"{counted(len(gaps), 'line')} with an empty cell before another reference"
            what = f"{what} (first: line {self.lines[gaps[0]]}), read as no reference"
            log_note(f"{what}; write an empty reference in JSONL", self.file)
        return references, texts

    def _truths(self) -> BoolArray:
        if "is_reference" not in self.columns:
            return np.zeros(len(self.lines), dtype=np.bool_)
        codes, texts = _encode(self.columns["is_reference"])
        known = {"": 0, "false": 0, "0": 0, "true": 1, "1": 1}
        truth = np.array([*(known.get(text.lower(), -1) for text in texts.to_pylist()), 0])[codes]
        self._refuse(
            truth < 0,
            lambda row: (
                "column 'is_reference': expected true, false or nothing, found "
                f"{shown(self._cell('is_reference', row))}"
            ),
        )
        return truth > 0

    def _errors(self, judge: Int64Array) -> list[tuple[int, MarkedError]]:
        """Read each row's marked errors from the column ``errors``, if it holds marked errors, and drop that column."""
        cells = self.columns.get("errors", pa.chunked_array([[]])).to_pylist()
        filled = [(row, cell) for row, cell in enumerate(cells) if cell not in (None, "")]
        if not filled or not all(has_errors(cell) or str(cell).lstrip().startswith("[") for _, cell in filled):
            return []
        errors: list[tuple[int, MarkedError]] = []
        keys = Keys()
        lists = [
            (row, json_line(cell, self.file, int(self.lines[row])) if isinstance(cell, str) else cell)
            for row, cell in filled
        ]
        if {has_errors(listed) for _, listed in lists if listed} == {False}:
            return []
        del self.columns["errors"]
        for row, listed in lists:
            reader = RecordReader(self.file, int(self.lines[row]), keys)
            by = str(self._cell("judge", row)) if judge[row] >= 0 else ""
            errors += [(row, error) for error in reader.marked_errors({"errors": listed}, "", by)[0]]
        if keys.left_out:
            log_note(names.not_read([*keys.left_out]), self.file)
        return errors

    def _ratings(self, output: Int64Array, before: Int64Array, judge: Int64Array) -> dict[str, Any]:
        """Return the columns of the ratings table, whose ``candidate`` column takes its row numbers from `output`."""
        kinds = names.kinds_of([*self.columns])
        numbers = {kind: _numbers(self.columns[kind]) for kind in kinds}
        known = [*names.TEXT_COLUMNS, "reference"]
        text = [
            kind
            for kind, (values, wrong) in numbers.items()
            if wrong.any()
            and (
                names.may_hold_text(kind)
                or (np.isnan(values).all() and names.is_other(kind, known) and not self._has_ratings(kind))
            )
        ]
        unread = [kind for kind in text if not names.may_hold_text(kind)]
        grades = {kind: grade for kind in unread for grade in self._grades(kind)[:1]}
        self.left_out = {kind: str(self._cell(kind, int(np.argmax(numbers[kind][1])))) for kind in unread} | grades
        noted = [kind for kind in text if kind not in names.NOT_READ]
        filled = [kind for kind in kinds if kind not in text and not np.isnan(numbers[kind][0]).all()]
        lacks_judges = "judge" not in self.columns and not all(map(names.is_reserved, filled))
        if noted:
            log_note(names.not_read(noted, grades, unnamed=self.unnamed, unjudged=lacks_judges), self.file)
        numeric = {kind: numbers[kind] for kind in kinds if kind not in text}
        rows = {kind: np.flatnonzero(~np.isnan(values)) for kind, (values, _) in numeric.items()}
        for kind, (values, wrong) in numeric.items():
            rated = rows[kind]
            self._refuse(wrong, functools.partial(self._no_number, kind))
            self._refuse(~np.isnan(values) & (not kind), functools.partial(_nameless, values))
            # a rating without a judge is that of the first row of an output
            unjudged = (judge[before] < 0) & ~np.isnan(values[before]) & (before != np.arange(len(before)))
            again = np.zeros(len(before), dtype=np.bool_)
            again[rated] = pd.DataFrame({"output": output[rated], "judge": judge[rated]}).duplicated() | unjudged[rated]
            self._refuse(again, functools.partial(self._judged_twice, kind))
        if lacks_judges and not self.problems and (hint := names.judge_hint(numeric)):
            log_note(hint.removeprefix("; "), self.file)
        every = np.concatenate([np.zeros(0, dtype=np.int64), *rows.values()])
        return {
            "candidate": output[every],
            "judge": self._take("judge", every),
            "kind": pd.Series([*numeric], dtype=TEXT).repeat([*map(len, rows.values())]).reset_index(drop=True),
            "value": np.concatenate([np.zeros(0), *(numeric[kind][0][rated] for kind, rated in rows.items())]),
        }


def _nameless(values: FloatArray, row: int) -> str:
    return f"a column without a name contains {values[row]:g}: name it in the first line, or remove it"


def with_pairs(
    columns: Mapping[str, pa.ChunkedArray], lines: Int64Array, file: str, lp: str | None = None
) -> dict[str, pa.ChunkedArray]:
    """Replace columns of source and target languages by one column of language pairs, and missing pairs by `lp`."""
    merged = _with_merged_pairs(columns, lines, file)
    pair = stated_pair(lp)
    return {**merged, "lp": merged["lp"].fill_null(pair)} if pair and "lp" in merged else merged


def _with_merged_pairs(
    columns: Mapping[str, pa.ChunkedArray], lines: Int64Array, file: str
) -> dict[str, pa.ChunkedArray]:
    taken = {key: pairs_in_one_form(value) if key == "lp" else value for key, value in columns.items()}
    sides = [taken.pop(name, None) for name in (names.SOURCE_LANGUAGE, names.TARGET_LANGUAGE)]
    if all(side is None for side in sides):
        return taken
    codes, texts = zip(*(([-1], []) if side is None else _encode(side) for side in sides), strict=True)
    size = len(next(side for side in sides if side is not None))
    both = np.stack([np.broadcast_to(code, size) for code in codes], axis=1)
    distinct, row = np.unique(both, axis=0, return_inverse=True)
    named = [[*map(str, text), None] for text in texts]
    pairs = [pair_of(*(name[code] for name, code in zip(named, pair, strict=True))) for pair in distinct.tolist()]
    made = pa.chunked_array([pa.array(pairs, pa.large_string()).take(pa.array(row.ravel()))])
    if "lp" not in taken:
        return {**taken, "lp": made}
    stated = taken["lp"]
    known = pa.table([stated, made], ["lp", "made"]).group_by(["lp", "made"]).aggregate([])
    for lp, other in zip(known["lp"].to_pylist(), known["made"].to_pylist(), strict=True):
        if contradict(lp, other):
            row = pc.index(pc.and_(pc.equal(stated, lp), pc.equal(made, other)), True).as_py()
            raise DataError(contradiction(lp, other), file=file, line=int(lines[row]))
    return {**taken, "lp": pc.coalesce(stated, made)}


def _series(values: pa.Array | pa.ChunkedArray) -> pd.Series:
    return pd.Series(pd.arrays.ArrowStringArray(values))


def _encode(column: pa.ChunkedArray) -> tuple[Int64Array, pa.Array]:
    """Return the index of each cell's value among the distinct values, -1 for null, and the distinct values."""
    encoded = distinct_values(column)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, encoded.dictionary


def _joined(*codes: Int64Array) -> Int64Array:
    """Number the distinct rows of several columns in order of first occurrence; return the number of each row."""
    joined = codes[0]
    for column in codes[1:]:
        joined = pd.factorize(joined * (column.max(initial=0) + 2) + column + 1)[0]
    return pd.factorize(joined)[0].astype(np.int64)


def _first(codes: Int64Array) -> Int64Array:
    """Return the index of the first row with each distinct code, in the order of the codes."""
    return np.unique(codes, return_index=True)[1].astype(np.int64)


def _numbers(column: pa.ChunkedArray) -> tuple[FloatArray, BoolArray]:
    """Return the numbers in a column, NaN for null, and a mask of the cells that are not finite numbers."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy()
        return np.where(np.isinf(values), np.nan, values), np.isinf(values)
    try:
        codes, dictionary = _encode(column)
        different = dictionary.to_pylist()
    except pa.ArrowNotImplementedError:
        codes, different = np.arange(len(column)), column.to_pylist()
    numbers = [_number(value) for value in different]
    values = np.array([*(math.nan if number is None else number for number in numbers), math.nan])[codes]
    return values, np.array([*(number is None for number in numbers), False])[codes]


def _number(value: object) -> float | None:
    """Parse the number in a cell: NaN for an empty cell, None for other content."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return math.nan
    try:
        # Python also reads 1_000 and True, which a table does not mean as numbers
        number = math.nan if isinstance(value, bool) or "_" in str(value) else float(cast(Any, value))
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
