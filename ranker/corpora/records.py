"""From records to tables: the one place where data sets are put together.

Every reader turns its format into `Record` objects, one a source, and `assemble` makes the tables, so that all
formats share one set of checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

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
        return "something nested deeply"
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


def assemble(records: Iterable[Record], name: str, file: str | None = None) -> Dataset:
    """Make a `Dataset` of `records`, in their order; missing ``seg_id`` are numbered from 1.

    An empty ``lp``, ``doc`` or judge, and the ``lp`` that pairs files write as ``-``, are not known; -0 is 0. Not every
    format can tell these apart.

    Raises
    ------
    DataError
        If there is no record, a system has no name or stands twice under one source, or a (lp, seg_id) stands twice.
    """
    sources: dict[str, list[str | None]] = {"lp": [], "doc": [], "seg_id": [], "text": []}
    references: dict[str, list[object]] = {"source": [], "name": [], "text": []}
    candidates: dict[str, list[object]] = {"source": [], "system": [], "text": [], "is_reference": []}
    ratings: dict[str, list[object]] = {"candidate": [], "judge": [], "kind": [], "value": []}
    alignments: tuple[list[str | None], list[str | None]] = [], []
    seen: dict[tuple[str | None, str], int | None] = {}
    for code, record in enumerate(records):
        lp = None if record.lp in ("", "-") else record.lp
        doc, seg_id = record.doc or None, record.seg_id or str(code + 1)
        key = (lp, seg_id)
        if key in seen:
            before = f" (first on line {seen[key]})" if seen[key] else ""
            pair = f" of language pair {shown(lp)}" if lp else ""
            raise DataError(
                f"seg_id {shown(seg_id)}{pair} stands twice{before}; each source needs its own",
                file=file,
                line=record.line,
            )
        seen[key] = record.line
        _check_systems(record, file)
        for column, value in zip(sources, (lp, doc, seg_id, record.source), strict=True):
            sources[column].append(value)
        names: Sequence[str | None] = record.reference_names or [None] * len(record.references)
        for reference_name, text in zip(names, record.references, strict=True):
            references["source"].append(code)
            references["name"].append(reference_name)
            references["text"].append(text)
        alignments[0].extend(record.reference_alignments or [None] * len(record.references))
        alignments[1].extend(candidate.alignment for candidate in record.candidates)
        for candidate in record.candidates:
            row = len(candidates["source"])
            candidates["source"].append(code)
            candidates["system"].append(candidate.system)
            candidates["text"].append(candidate.text)
            candidates["is_reference"].append(candidate.is_reference)
            for kind, judge, number in candidate.ratings:
                ratings["candidate"].append(row)
                ratings["judge"].append(judge or None)
                ratings["kind"].append(kind)
                ratings["value"].append(number + 0.0)
    if not seen:
        raise DataError("holds no source, expected at least one", file=file or name)
    return Dataset(
        name,
        table("sources", dict(sources)),
        _with_alignments(table("references", dict(references)), alignments[0]),
        _with_alignments(table("candidates", dict(candidates)), alignments[1]),
        _in_order(table("ratings", dict(ratings))),
        table("preferences"),
    )


def _with_alignments(rows: pd.DataFrame, alignments: list[str | None]) -> pd.DataFrame:
    """Add word alignments to references or candidates, if there is any."""
    if all(one is None for one in alignments):
        return rows
    return rows.assign(**{ALIGNMENT: pd.Series(alignments, dtype=TEXT)})


def _in_order(ratings: pd.DataFrame) -> pd.DataFrame:
    """Sort ratings, so that formats which keep them in another order give equal data sets."""
    kind, judge = (pd.factorize(ratings[column], sort=True)[0] for column in ("kind", "judge"))
    order = np.lexsort((judge, kind, ratings["candidate"].to_numpy()))
    return ratings.iloc[order].reset_index(drop=True)


def _check_systems(record: Record, file: str | None) -> None:
    systems = [candidate.system for candidate in record.candidates]
    if not all(systems):
        raise DataError("system: expected a name, found ''", file=file, line=record.line)
    twice = first_repeated(systems)
    if twice is not None:
        raise system_stands_twice(twice, file, record.line)


def system_stands_twice(system: str, file: str | None, line: int | None, hint: str = "") -> DataError:
    """Return the error for two outputs of one system for one source."""
    what = f"system {shown(system)} stands twice under one source; rename or remove one of them{hint}"
    return DataError(what, file=file, line=line)
