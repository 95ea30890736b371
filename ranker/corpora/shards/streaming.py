"""Reads a corpus of any size in parts of whole sources.

JSON lines and Parquet are read as a stream. All other formats, corpora with preferences, and rows without systems and
ids, for which only the whole file shows whether they are of one system, are read at once and then cut. Candidates of
one source must be next to each other in a stream: a source that comes back later is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ranker.arrays import UInt64Array
from ranker.corpora import catalogue
from ranker.corpora.column_names import DECIMAL, SOURCE_LANGUAGE, TARGET_LANGUAGE, canonical
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.json_lines import CANDIDATES, Keys, read_records, source_key
from ranker.corpora.formats.json_text import json_line
from ranker.corpora.formats.parquet_files import parquet_batches, parquet_errors
from ranker.corpora.formats.preference_pairs import companion
from ranker.corpora.formats.reading import format_of
from ranker.corpora.formats.table_shapes import is_other_shape
from ranker.corpora.formats.tables import Columns, long_table
from ranker.corpora.formats.wmt_esa import is_wmt_esa
from ranker.corpora.records import assemble, shown
from ranker.errors import DataError
from ranker.files import STDIN, display_name, without_gz
from ranker.storage.text_lines import line_batches

_OF_SOURCES = ("lp", SOURCE_LANGUAGE, TARGET_LANGUAGE, "doc", "seg_id", "source")


class Part(NamedTuple):
    """Consecutive sources of a corpus; `by_content` is true if a source is identified by its content, not by seg_id."""

    dataset: Dataset
    by_content: bool = False


def parts_of(data: str, rows: int, lp: str | None = None) -> Iterator[Dataset]:
    """Split a corpus, given by name or path, into parts of whole sources with up to `rows` candidates.

    A source with more candidates is a part by itself. Rows that name no language pair are of the pair `lp`.
    """
    keys = SourceKeys(display_name(data))
    for part in _parts(data, rows, lp):
        keys.add(part)
        yield part.dataset


def _parts(data: str, rows: int, lp: str | None) -> Iterator[Part]:
    path = Path(data)
    kind = format_of(data) if data != STDIN and data not in catalogue.cards() else None
    name = display_name(without_gz(path.name).rsplit(".", 1)[0])
    streamed = kind is not None and path.is_file() and companion(path) is None
    if streamed and kind == "parquet" and data == without_gz(data) and _names_systems(path):
        yield from _table_parts(path, name, rows, lp)
    elif streamed and kind == "json" and _is_json_lines(path):
        yield from _json_parts(path, name, rows, lp)
    else:
        yield from _cut(catalogue.load(data, lp=lp), rows)


def _cut(dataset: Dataset, rows: int) -> Iterator[Part]:
    """Split a data set in memory into parts of consecutive sources."""
    offsets, sources = dataset.candidate_offsets, len(dataset.sources)
    start = 0
    while start < sources:
        stop = int(np.searchsorted(offsets, offsets[start] + rows, side="right")) - 1
        stop = min(max(stop, start + 1), sources)
        place = np.arange(sources)
        yield Part(dataset.select_sources((place >= start) & (place < stop)))
        start = stop


def _is_json_lines(path: Path) -> bool:
    """True if the first non-empty line is a complete record in our format, with its systems or an id."""
    for lines in line_batches(path):
        for line in lines:
            if line.strip():
                try:
                    value = json_line(line, "", 1)
                except DataError:
                    return False
                named = source_key(value) is None or {"system", "seg_id"} & {*value}
                other = is_other_shape(value) or is_wmt_esa(line)
                return isinstance(value, dict) and bool(named) and not other
    return False


def _names_systems(path: Path) -> bool:
    with parquet_errors(display_name(path)):
        columns = {*map(canonical, pyarrow.parquet.ParquetFile(path).schema_arrow.names)}
        # tables without texts have systems or preferences in their columns
        return "text" in columns and bool({"system", "seg_id"} & columns)


def _json_parts(path: Path, name: str, rows: int, lp: str | None) -> Iterator[Part]:
    file = display_name(path)
    values: list[tuple[int, Any]] = []
    size, line, first = 0, 0, 1
    last: str | None = None
    keys = Keys()

    def part() -> Part:
        records = read_records(values, file, lp=lp, keys=keys)
        by_content = any(source_key(value) is not None and value.get("seg_id") is None for _, value in values)
        return Part(assemble(records, name, file, first=first), by_content)

    for lines in line_batches(path):
        for text in lines:
            line += 1
            if not text.strip():
                continue
            value = json_line(text, file, line)
            key = source_key(value)
            candidates = _candidates(value)
            if values and size + candidates > rows and (key is None or key != last):
                made = part()
                first += len(made.dataset.sources)
                yield made
                values, size = [], 0
            values.append((line, value))
            size, last = size + candidates, key
    yield part()


def _candidates(value: Any) -> int:
    several = next(filter(None, map(value.get, CANDIDATES)), None) if isinstance(value, dict) else None
    return len(several) if isinstance(several, list | dict) else 1


def _table_parts(path: Path, name: str, rows: int, lp: str | None) -> Iterator[Part]:
    file = display_name(path)
    done, first = 0, 1
    left_out: dict[str, str] = {}
    rated: set[str] = set()
    for table in _whole_sources(path, file, rows):
        lines = np.arange(done + 1, done + table.num_rows + 1)
        checked = long_table(Columns(table.column_names, table.columns, lines, file, lp=lp))
        part = checked.dataset(name, first=first)
        left_out |= checked.left_out
        rated |= {*part.ratings["kind"]}
        for kind in rated & {*left_out}:
            what = f"column {shown(kind)}: expected {DECIMAL} as in other rows, found {shown(left_out[kind])}"
            raise DataError(what, file=file)
        done, first = done + table.num_rows, first + len(part.sources)
        yield Part(part, "seg_id" not in map(canonical, table.column_names))


def _whole_sources(path: Path, file: str, rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file in tables that never split a source."""
    buffered: pa.Table | None = None
    with parquet_errors(file):
        for batch in parquet_batches(path, file, path.stat().st_size, rows):
            table = pa.Table.from_batches([batch])
            buffered = table if buffered is None else pa.concat_tables([buffered, table])
            while buffered.num_rows > rows and (cut := _cut_at(buffered, rows)) < buffered.num_rows:
                yield buffered.slice(0, cut)
                buffered = buffered.slice(cut)
    if buffered is not None:
        yield buffered


def _cut_at(table: pa.Table, rows: int) -> int:
    """Return the number of rows to cut off first: whole sources up to `rows` rows, or else the whole first source."""
    changes = np.zeros(table.num_rows, dtype=bool)
    changes[0] = True
    for name in table.column_names:
        known = canonical(name)
        if known not in _OF_SOURCES and not known.startswith("reference"):
            continue
        column = table.column(name).combine_chunks()
        missing = column.is_null().to_numpy(zero_copy_only=False)
        same = pc.equal(column[1:], column[:-1]).fill_null(False).to_numpy(zero_copy_only=False)
        changes[1:] |= ~(same | (missing[1:] & missing[:-1]))
    starts = np.append(np.flatnonzero(changes), table.num_rows)
    fitting = int(starts[starts <= rows][-1])
    return fitting or int(starts[1])


class SourceKeys:
    """Hashes of all sources that were read, small enough to detect repeated sources among millions."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.seen: UInt64Array = np.zeros(0, dtype=np.uint64)

    def add(self, part: Part) -> None:
        """Add the sources of a part; raise an error if one was added before."""
        sources = part.dataset.sources
        columns = [sources[column].fillna("") for column in ("lp", "doc" if part.by_content else "seg_id")]
        if part.by_content:
            texts = part.dataset.references.groupby("source")["text"].agg("\t".join)
            columns += [sources["text"], texts.reindex(range(len(sources)), fill_value="")]
        keys = pd.Series(["\t".join(key) for key in zip(*columns, strict=True)], dtype=object)
        numbers = pd.util.hash_array(keys.to_numpy(object), categorize=False)
        # rows without a source are a source each
        comparable = (sources["text"] != "").to_numpy(bool) | (not part.by_content)
        place = np.searchsorted(self.seen, numbers)
        again = comparable & (np.append(self.seen, 0)[place] == numbers)
        if again.any():
            row = sources.iloc[int(np.argmax(again))]
            which = f"source {shown(row['text'])}" if part.by_content else f"seg_id {shown(row['seg_id'])}"
            what = f"{which} comes back after other sources: put all candidates of a source next to each other"
            raise DataError(f"{what}, or give each source a unique seg_id", file=self.file)
        self.seen = np.sort(np.concatenate([self.seen, numbers[comparable]]), kind="stable")
