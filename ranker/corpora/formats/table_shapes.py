"""Tables of all shapes: one row per candidate, per source with one column per system, or per comparison of two.

A table without ``text`` whose other columns are not all numbers has one column per system. One with ``chosen`` and
``rejected``, with ``winner`` and ``loser``, or with ``preferred`` (or ``winner``) and two texts or systems (``text_a``
and ``text_b``, ``model_a`` and ``model_b``) has preferences; see `ranker.corpora.formats.preference_tables`. Both are
turned into rows of candidates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ranker.arrays import Int64Array
from ranker.corpora import column_names as names
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.annotation_exports import is_flat_export, without_bookkeeping
from ranker.corpora.formats.json_lines import CANDIDATES, has_errors
from ranker.corpora.formats.preference_tables import check_spelling, preference_roles, read_preferences, refuse_votes
from ranker.corpora.formats.program_outputs import is_of_program
from ranker.corpora.formats.tables import (
    Columns,
    holds_text,
    interleaved,
    long_table,
    refuse_repeated_header,
    texts_of,
)
from ranker.corpora.records import shown
from ranker.errors import DataError, log_note, nearest


def table_dataset(table: Columns, name: str, systems: Sequence[str] = ()) -> tuple[Dataset, Int64Array | None]:
    """Return a table's data set and, if each row holds one candidate, the candidates of the rows, else None.

    `systems` are the columns of the systems of a table with one row per source.
    """
    refuse_repeated_header(table)
    for column, values in zip(table.header, table.values, strict=True):
        if column in (*CANDIDATES, "references", "refs") and pa.types.is_nested(values.type):
            what = f"column {shown(column)} holds lists, expected a text in each cell: divide it, as in reference1, "
            advice = "reference2, ..., or give the rows as records: JSONL, or ranker.from_records in Python"
            raise DataError(f"{what}{advice}", file=table.file, line=table.header_line)
    if is_flat_export(table.header):
        table = without_bookkeeping(table)
    if not systems and "text" not in map(names.canonical, table.header):
        if preference_roles(table.header, table.file, table.header_line):
            return read_preferences(table, name), None
        answers = [column for column in table.header if column.strip().lower() in names.ANSWERS]
        if len(answers) == 1:
            named = ["text" if column == answers[0] else column for column in table.header]
            return long_table(replace(table, header=named)).dataset_and_candidates(name)
        check_spelling(table)
        systems = _columns_of_systems(table)
    if systems:
        return long_table(_by_candidate(table, systems)).dataset(name), None
    return long_table(table).dataset_and_candidates(name)


def is_other_shape(record: object) -> bool:
    """True if a JSON record is a row of a table that does not have one candidate per row."""
    keys: Mapping[str, Any] = record if isinstance(record, dict) and not is_of_program(record) else {}
    columns = [names.canonical(key) for key, value in keys.items() if isinstance(value, str)]
    systems = [column for column in names.kinds_of(columns) if _may_be_system(column)]
    try:
        compares = bool(preference_roles([*keys]))
    except DataError:
        # it will be raised with the file
        compares = True
    if is_flat_export(keys):
        return True
    one = {"text", *names.ANSWERS} & {*columns} or {*CANDIDATES} & {*keys}
    return compares or (not one and "source" in columns and len(systems) > 1)


def columns_of_records(records: Iterable[tuple[int, Any]], file: str, unit: str = "line") -> Columns:
    """Convert flat JSON records, given with their lines, to the columns of a table."""
    numbered = [*records]
    for line, record in numbered:
        if not isinstance(record, dict):
            raise DataError(f"expected an object {{...}}, found {type(record).__name__}", file=file, line=line)
    header = [*dict.fromkeys(key for _, record in numbered for key in record)]
    try:
        "".join(header).encode()
        values = [
            _column([json.dumps(cell) if key == "errors" and has_errors(cell) else cell for cell in cells])
            for key in header
            for cells in [[record.get(key) for _, record in numbered]]
        ]
    except UnicodeEncodeError:
        line, text = next((line, text) for line, record in numbered if (text := _unfit(record)))
        what = f"expected text that can be encoded in UTF-8, found {text}"
        raise DataError(what, file=file, line=line) from None
    return Columns(header, values, np.array([line for line, _ in numbered], dtype=np.int64), file, unit)


def _unfit(record: Any) -> str:
    """Format a JSON record for a message if it contains half of a surrogate pair; otherwise return an empty text."""
    return shown(record) if re.search("[\ud800-\udfff]", json.dumps(record, ensure_ascii=False)) else ""


def _column(cells: list[Any]) -> pa.ChunkedArray:
    try:
        return pa.chunked_array([pa.array(cells)])
    except (pa.ArrowException, OverflowError):
        texts = [None if cell is None else cell if isinstance(cell, str) else str(cell) for cell in cells]
        return pa.chunked_array([pa.array(texts, pa.large_string())])


def _may_be_system(column: str) -> bool:
    return column.lower() not in ("model", "engine", "provider") and not names.is_metadata(column)


def _columns_of_systems(table: Columns) -> list[str]:
    """Return the names of text columns that seem to hold the outputs of systems, if several do, and log a note."""
    columns = [*map(names.canonical, table.header)]
    if "system" in columns:
        return []
    unknown = {*names.kinds_of(columns)}
    systems = [
        header
        for header, column, values in zip(table.header, columns, table.values, strict=True)
        if column in unknown and column != "errors" and _may_be_system(column) and holds_text(values)
    ]
    if len(systems) < 2 or not ("source" in columns or names.reference_columns(columns)):
        return []
    refuse_votes(table, systems)
    if target := next(
        (column for column in systems if column.strip().lower() in ("target", "tgt", "trg", "gold")), None
    ):
        what = f"column {shown(target)} may hold references or translations: call it reference or text, or"
        raise DataError(f"{what} {names.BY_OPTION}", file=table.file, line=table.header_line)
    listed = ", ".join(systems[:8]) + (", ..." if len(systems) > 8 else "")
    log_note(f"read as the outputs of systems: {listed}; if not, {names.BY_OPTION}", table.file)
    return systems


def _by_candidate(table: Columns, systems: Sequence[str]) -> Columns:
    """Convert a table with one column per system to a table with one row per candidate."""
    cells = dict(zip(table.header, table.values, strict=True))
    for system in systems:
        if system not in cells:
            what = f"no column {system!r}{nearest(system, table.header)}, expected the names of systems in --systems"
            raise DataError(what, file=table.file, line=table.header_line)
    size, number = len(table.lines), len(systems)
    outputs = [texts_of(cells[system], system, table.file, table.lines).fill_null("") for system in systems]
    unknown, known = {*names.kinds_of([*map(names.canonical, table.header)])}, {*systems}
    others = {key: value for key, value in cells.items() if names.canonical(key) not in unknown and key not in known}
    if ignored := [key for key in cells if key not in others and key not in known]:
        log_note(names.not_read(ignored), table.file)
    rows = pa.array(np.repeat(np.arange(size), number))
    long = {key: value.take(rows) for key, value in others.items()}
    long |= {"system": _column([*systems] * size), "text": interleaved(outputs)}
    if "seg_id" not in map(names.canonical, others):
        # equal rows are different sources
        long["seg_id"] = pa.chunked_array([pa.array(np.arange(size) + 1).take(rows)])
    return replace(table, header=[*long], values=[*long.values()], lines=table.lines[rows.to_numpy()])
