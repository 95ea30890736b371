"""Tables in long form, one row a candidate (or a candidate and a judge): CSV, TSV and Parquet.

Columns ``source``, ``system`` and ``text`` are required; ``lp``, ``doc``, ``seg_id``, ``judge``, ``reference`` (or
``reference1``, ``reference2``, ...) and ``is_reference`` (true or false) are optional; every other column is a rating
and holds numbers or nothing. Which ratings are judgements, and in which direction, is decided where they are used; see
`ranker.corpora.judgements`. Columns whose names are those of metadata (`ranker.corpora.columns`), such as ``comment``,
may hold text and are not read then, which a note says. Rows of one (``lp``, ``seg_id``), or without ``seg_id`` of
equal source, references, ``lp`` and ``doc``, are one source. CSV quotes as spreadsheets do; TSV never quotes.
"""

from __future__ import annotations

import csv
import io
import logging
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from ranker.corpora import columns as names
from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, first_repeated, shown, system_stands_twice
from ranker.errors import DataError
from ranker.files import printable, read_bytes

_REQUIRED = ("source", "system", "text")
_LOG = logging.getLogger(__name__)

Row = Mapping[str, object]


def parse_table(text: str, file: str, delimiter: Literal[",", "\t"]) -> list[Record]:
    """Parse CSV or TSV `text` with a header line into records.

    Raises
    ------
    DataError
        With file and line: a missing column, a row of another length, a value that is not a number.
    """
    csv.field_size_limit(sys.maxsize)
    # a field of a quoted CSV may hold line breaks, so the csv module counts the lines
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
        strict=True,
    )

    def rows() -> Iterator[tuple[int, list[str]]]:
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(
                    f"badly quoted row ({error}): expected a quote that closes it", file=file, line=line
                ) from None
            if row:
                yield line, row

    lines = rows()
    line, header = next(lines, (1, []))
    columns = _columns(header, file, line)
    parsed: list[tuple[int, Row]] = []
    for line, row in lines:
        if len(row) != len(header):
            expected = f"expected {len(header)} fields as in the first line, found {len(row)}"
            raise DataError(expected, file=file, line=line)
        parsed.append((line, dict(zip(columns, (value or None for value in row), strict=True))))
    return _records(parsed, columns, file)


def read_parquet(path: str | Path, file: str) -> list[Record]:
    """Read a Parquet file into records; messages give the row as its line.

    Raises
    ------
    DataError
        As `parse_table`, or if the file is not Parquet.
    """
    raw = read_bytes(path)
    try:
        table = pyarrow.parquet.ParquetFile(pa.BufferReader(raw)).read()
        names, values = table.column_names, [column.to_pylist() for column in table.itercolumns()]
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        first_line = printable(str(error).split("\n")[0])[:200]
        raise DataError(f"not a readable Parquet file ({first_line}): copy or write it again", file=file) from None
    columns = _columns(names, file, None)
    kinds = set(_kinds(columns))
    cells = [
        column if name in kinds else [_text(value, name, file, line) for line, value in enumerate(column, 1)]
        for name, column in zip(columns, values, strict=True)
    ]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]
    return _records(list(enumerate(rows, 1)), columns, file)


def long_form(dataset: Dataset) -> pd.DataFrame:
    """Return `dataset` as one table in the long form that this module reads; names of references are left out.

    Raises
    ------
    DataError
        If a source has no candidate and so no row, or a kind of judgement has the name of another column.
    """
    empty = np.flatnonzero(np.diff(dataset.candidate_offsets) == 0)
    if len(empty):
        raise DataError(f"{dataset.where(int(empty[0]))} has no candidate, so no row in a table: write JSONL")
    kinds = sorted(dataset.ratings["kind"].unique())
    for kind in kinds:
        if names.canonical(kind) != kind or not _kinds([kind]):
            raise DataError(f"kind {shown(kind)} cannot be the name of a column: write JSONL", file=dataset.name)
    sources = dataset.sources.iloc[dataset.candidate_source].reset_index(drop=True)
    frame = sources.rename(columns={"text": "source"})
    slot = dataset.references.groupby("source").cumcount()
    references = dataset.references.assign(slot=slot).pivot(index="source", columns="slot", values="text")
    for index in range(len(references.columns)):
        frame[f"reference{index + 1}"] = references[index].reindex(dataset.candidate_source).to_numpy(object)
    for column in ("system", "text", "is_reference"):
        if column != "is_reference" or dataset.candidates[column].any():
            frame[column] = dataset.candidates[column]
    ratings = dataset.ratings.assign(judge=dataset.ratings["judge"].fillna(""))
    if not len(ratings):
        return frame
    wide = ratings.pivot(index=["candidate", "judge"], columns="kind", values="value").reset_index()
    wide.columns.name = None
    joined = frame.join(wide.set_index("candidate"), how="left")
    joined["judge"] = joined["judge"].fillna("")
    return joined.reset_index(drop=True)


def _text(value: object, column: str, file: str, line: int) -> str | None:
    """Return what a cell of a text column says, which programs also store as numbers and as bytes."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            what = f"column {column!r}: expected text, found bytes that are not UTF-8"
            raise DataError(what, file=file, line=line) from None
    if value is None or isinstance(value, str) or _is_nothing(value):
        return value if isinstance(value, str) else None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(value).lower() if isinstance(value, bool) else str(int(value))
    raise DataError(f"column {column!r}: expected text, found {shown(value)}", file=file, line=line)


def _is_nothing(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _columns(header: list[str], file: str, line: int | None) -> list[str]:
    """Return the columns under the names that this module knows them by."""
    columns = [names.canonical(name) for name in header]
    for required in _REQUIRED:
        if required not in columns:
            found = ", ".join(map(shown, header[:8])) or "nothing"
            what = f"column {required!r} is missing; expected at least {', '.join(_REQUIRED)}, found {found}"
            raise DataError(what, file=file, line=line)
    twice = first_repeated(columns)
    if twice is not None:
        raise DataError(f"column {shown(twice)} stands twice; rename or remove one", file=file, line=line)
    return columns


def _kinds(columns: list[str]) -> list[str]:
    """Return the columns that hold ratings."""
    others = {*names.TEXT_COLUMNS, *names.reference_columns(columns)}
    return [column for column in columns if column not in others]


def _without_text(rows: Sequence[tuple[int, Row]], kinds: list[str], file: str) -> list[str]:
    """Return `kinds` without the columns of metadata that hold text, and note these."""
    text = [kind for kind in kinds if names.is_metadata(kind) and not all(_is_numeric(row[kind]) for _, row in rows)]
    noted = [kind for kind in text if kind not in names.NOT_READ]
    if noted:
        _LOG.warning("ranker: note: %s: %s", file, names.not_read(noted))
    return [kind for kind in kinds if kind not in text]


def _records(rows: Sequence[tuple[int, Row]], columns: list[str], file: str) -> list[Record]:
    reference_columns = names.reference_columns(columns)
    kinds = _without_text(rows, _kinds(columns), file)
    text_columns = [column for column in (*names.TEXT_COLUMNS, *reference_columns) if column in columns]
    groups: dict[tuple[object, ...], Record] = {}
    candidates: dict[tuple[object, ...], Candidate] = {}
    for line, row in rows:
        text = {key: str(row[key]) for key in text_columns if row[key] is not None}
        system = text.get("system")
        if not system:
            raise DataError("column 'system': expected a name, found nothing", file=file, line=line)
        references = [text[column] for column in reference_columns if column in text]
        source = text.get("source", "")
        lp, doc, seg_id, judge = (text.get(key) or None for key in ("lp", "doc", "seg_id", "judge"))
        key = (lp, seg_id) if seg_id else (source, tuple(references), lp, doc)
        record = groups.get(key)
        if record is None:
            record = groups[key] = Record(source, references, [], lp=lp, doc=doc, seg_id=seg_id, line=line)
        elif (record.source, record.references, record.doc) != (source, references, doc):
            what = (
                f"seg_id {shown(seg_id)}: source, references or doc differ from line {record.line}, expected the same"
            )
            raise DataError(what, file=file, line=line)
        output = Candidate(system, text.get("text", ""), is_reference=_truth(text.get("is_reference"), file, line))
        candidate = candidates.get((key, system))
        if candidate is None:
            candidate = candidates[key, system] = output
            record.candidates.append(candidate)
        elif judge is None or (output.text, output.is_reference) != (candidate.text, candidate.is_reference):
            hint = " (only rows of different judges with the same text may do so; seg_id tells equal sources apart)"
            raise system_stands_twice(system, file, line, hint)
        for kind in kinds:
            if not _is_nothing(row[kind]):
                _add_rating(candidate, kind, judge, _number(row[kind], kind, file, line), file, line)
    return list(groups.values())


def _add_rating(candidate: Candidate, kind: str, judge: str | None, number: float, file: str, line: int) -> None:
    if not kind:
        what = f"a column without a name holds {number:g}: name it in the first line, or remove it"
        raise DataError(what, file=file, line=line)
    if any(kind == other and judged_by in (judge, None) for other, judged_by, _ in candidate.ratings):
        what = f"column {shown(kind)}: system {shown(candidate.system)} is judged again; expected once by each judge"
        raise DataError(what, file=file, line=line)
    candidate.ratings.append((kind, judge, number))


def _truth(value: str | None, file: str, line: int) -> bool:
    truth = {"": False, "false": False, "0": False, "true": True, "1": True}.get((value or "").lower())
    if truth is None:
        what = f"column 'is_reference': expected true, false or nothing, found {shown(value)}"
        raise DataError(what, file=file, line=line)
    return truth


def _finite(value: object) -> float | None:
    """Return the number that a cell holds, None if it holds no finite one."""
    try:
        # Python also reads 1_000 and True, which a table does not mean as numbers
        number = math.nan if isinstance(value, bool) or "_" in str(value) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _is_numeric(value: object) -> bool:
    return _is_nothing(value) or _finite(value) is not None


def _number(value: object, column: str, file: str, line: int) -> float:
    number = _finite(value)
    if number is None:
        what = f"column {shown(column)}: expected a finite number or nothing, found {shown(value)} ({names.EXPECTED})"
        raise DataError(what, file=file, line=line)
    return number
