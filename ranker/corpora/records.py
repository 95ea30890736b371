"""From records to tables: the one place where data sets are put together.

Readers of tables make columns and call `build_dataset`; readers of nested formats make a `Record` for each source and
call `assemble`. All formats share one set of checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.corpora.dataset import ALIGNMENT, TEXT, Dataset, table
from ranker.errors import DataError
from ranker.files import printable


def shown(value: object) -> str:
    """Write a value that was found in a file for a message: on one line, text quoted, long values cut."""
    if isinstance(value, str):
        return repr(value if len(value) <= 30 else f"{value[:27]}...")
    try:
        text = printable(json.dumps(value, ensure_ascii=False, default=str))
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= 40 else f"{text[:37]}..."


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first of `names` that stood there before, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


@dataclass
class Candidate:
    """One output: its system, its text, its ratings as (kind, judge or None, value), its alignment to the source."""

    system: str
    text: str
    ratings: list[tuple[str, str | None, float]] = field(default_factory=list)
    is_reference: bool = False
    alignment: str | None = None


@dataclass
class Record:
    """One source with everything that belongs to it, and the line it came from."""

    source: str
    references: list[str]
    candidates: list[Candidate]
    lp: str | None = None
    doc: str | None = None
    seg_id: str | None = None
    reference_names: list[str] | None = None
    reference_alignments: list[str] | None = None
    line: int | None = None


def assemble(
    records: Iterable[Record], name: str, file: str | None = None, unit: str = "line", *, first: int = 1
) -> Dataset:
    """Make a `Dataset` of `records`, in their order, as `build_dataset` does.

    Raises
    ------
    DataError
        As `build_dataset`.
    """
    record_list = list(records)
    outputs = [(code, candidate) for code, record in enumerate(record_list) for candidate in record.candidates]
    ratings = [(row, *rating) for row, (_, candidate) in enumerate(outputs) for rating in candidate.ratings]
    rated, kinds, judges, values = zip(*ratings, strict=True) if ratings else ((), (), (), ())
    sources = {column: [getattr(record, column) for record in record_list] for column in ("lp", "doc", "seg_id")}
    references: dict[str, list[Any]] = {
        "source": [code for code, record in enumerate(record_list) for _ in record.references],
        "name": [
            reference_name for record in record_list for reference_name in record.reference_names or _missing(record)
        ],
        "text": [text for record in record_list for text in record.references],
        ALIGNMENT: [
            reference_alignment
            for record in record_list
            for reference_alignment in record.reference_alignments or _missing(record)
        ],
    }
    candidates: dict[str, list[Any]] = {
        "source": [code for code, _ in outputs],
        **{
            column: [getattr(candidate, column) for _, candidate in outputs]
            for column in ("system", "text", "is_reference", ALIGNMENT)
        },
    }
    return build_dataset(
        name,
        {**sources, "text": [record.source for record in record_list]},
        references,
        candidates,
        {"candidate": rated, "judge": judges, "kind": kinds, "value": values},
        file=file,
        lines=[record.line for record in record_list],
        unit=unit,
        first=first,
    )


def _missing(record: Record) -> Sequence[str | None]:
    return [None] * len(record.references)


def build_dataset(
    name: str,
    sources: Mapping[str, Sized],
    references: Mapping[str, Sized],
    candidates: Mapping[str, Sized],
    ratings: Mapping[str, Sized],
    *,
    file: str | None = None,
    lines: Sequence[int | None] = (),
    unit: str = "line",
    first: int = 1,
) -> Dataset:
    """Make a `Dataset` of columns; missing ``seg_id`` are numbered.

    An empty ``lp``, ``doc`` or judge, and the ``lp`` that pairs files write as ``-``, are not known; -0 is 0. Not every
    format can tell these apart.

    Parameters
    ----------
    name : str
    sources, references, candidates, ratings : mapping of str to column
        Columns of the tables of `ranker.corpora.dataset`; references and candidates are sorted by source.
    file : str, optional
        The file for messages.
    lines : sequence of int or None, optional
        Line of every source in `file`.
    unit : str, default "line"
        What `lines` counts; the data set remembers the places in files only.
    first : int, default 1
        Number of the first source.

    Raises
    ------
    DataError
        If there is no source, a text or name holds a NUL, a system has no name or is listed twice under one source,
        or a (lp, seg_id) is duplicated.
    """
    tables = {"sources": sources, "references": references, "candidates": candidates, "ratings": ratings}
    frames = {kind: table(kind, columns) for kind, columns in tables.items()}
    _check_characters(frames, file or name, lines)
    if not len(frames["sources"]):
        raise DataError("contains no source, expected at least one", file=file or name)
    keys = frames["sources"]
    lp, seg_id = keys["lp"].mask(keys["lp"].isin(["", "-"])), keys["seg_id"]
    numbered = pd.Series(np.arange(first, first + len(keys)), dtype=TEXT)
    seg_id = seg_id.mask(seg_id.isna() | (seg_id == ""), numbered)
    keys = keys.assign(lp=lp, doc=keys["doc"].mask(keys["doc"] == ""), seg_id=seg_id)
    _check_keys(keys, frames["candidates"], file, lines, unit)
    judged = frames["ratings"]
    judged = judged.assign(judge=judged["judge"].mask(judged["judge"] == ""), value=judged["value"] + 0.0)
    return Dataset(
        name,
        keys,
        _with_alignments(frames["references"], references),
        _with_alignments(frames["candidates"], candidates),
        _in_order(judged),
        table("preferences"),
        None if file is None or unit != "line" else _places(file, lines, len(keys)),
    )


def _places(file: str, lines: Sequence[int | None], size: int) -> pd.DataFrame:
    known = pd.array(list(lines) if lines else [None] * size, dtype="Int64")
    return pd.DataFrame({"file": pd.Categorical([file] * size), "line": known})


def side_by_side(texts: Sequence[Sequence[str]], size: int, **properties: Sequence[object]) -> dict[str, Any]:
    """Return columns of references or candidates for `size` sources with one text from each of `texts`.

    `properties` are further columns, with one value for each of `texts`.
    """
    return {
        "source": np.repeat(np.arange(size), len(texts)),
        "text": [text for row in zip(*texts, strict=True) for text in row],
        **{column: [*values] * size for column, values in properties.items()},
    }


def _check_characters(frames: Mapping[str, pd.DataFrame], file: str, lines: Sequence[int | None]) -> None:
    """Refuse texts and names with a NUL, which files of text cannot hold and programs take for the end."""
    for kind, rows in frames.items():
        for column in rows.columns[rows.dtypes == TEXT]:
            values = pa.chunked_array(rows[column].array.__arrow_array__())
            place = pc.index(pc.match_substring(values, "\0"), True).as_py()
            if place < 0:
                continue
            source = place if kind == "sources" else rows["source"].iloc[place] if "source" in rows else None
            what = f"{column} contains the character NUL (\\u0000): remove it"
            raise DataError(what, file=file, line=lines[source] if lines and source is not None else None)


def _check_keys(
    sources: pd.DataFrame, candidates: pd.DataFrame, file: str | None, lines: Sequence[int | None], unit: str
) -> None:
    """Refuse a (lp, seg_id) or a system of a source that is there twice, and systems without a name."""
    repeated = np.flatnonzero(sources.duplicated(["lp", "seg_id"]))
    unnamed = np.flatnonzero((candidates["system"] == "") | candidates["system"].isna())
    twice = np.flatnonzero(candidates.duplicated(["source", "system"]))
    if len(repeated):
        row = int(repeated[0])
        lp, seg_id = sources["lp"].iloc[row], sources["seg_id"].iloc[row]
        same = (sources["seg_id"] == seg_id) & (sources["lp"].isna() if pd.isna(lp) else sources["lp"] == lp)
        first = lines[int(np.argmax(same))] if lines else None
        before = f" (first on {unit} {first})" if first is not None else ""
        pair = "" if pd.isna(lp) else f" of language pair {shown(lp)}"
        what = f"seg_id {shown(seg_id)}{pair} is duplicated{before}; each source needs a unique one"
        raise DataError(what, file=file, line=lines[row] if lines else None)
    for rows in (unnamed, twice):
        if len(rows):
            output = candidates.iloc[rows[0]]
            line = lines[output["source"]] if lines else None
            if rows is twice:
                raise system_stands_twice(output["system"], file, line)
            raise DataError("system: expected a name, found ''", file=file, line=line)


def _with_alignments(rows: pd.DataFrame, columns: Mapping[str, Sized]) -> pd.DataFrame:
    """Add word alignments to references or candidates, if there is any."""
    alignments = pd.Series(columns.get(ALIGNMENT, ()), dtype=TEXT)
    return rows.assign(**{ALIGNMENT: alignments}) if alignments.notna().any() else rows


def _in_order(ratings: pd.DataFrame) -> pd.DataFrame:
    """Sort ratings, so that formats which keep them in another order give equal data sets."""
    kind, judge = (pd.factorize(ratings[column], sort=True)[0] for column in ("kind", "judge"))
    order = np.lexsort((judge, kind, ratings["candidate"].to_numpy()))
    return ratings.iloc[order].reset_index(drop=True)


def system_stands_twice(system: str, file: str | None, line: int | None, hint: str = "") -> DataError:
    """Return the error for two outputs of one system for one source."""
    what = f"system {shown(system)} is listed twice for one source; rename or remove one of them{hint}"
    return DataError(what, file=file, line=line)
