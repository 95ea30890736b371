"""Errors that raters marked in candidates or in their sources; `ranker.corpora.severity_weights` adds them up.

The table ``errors`` of a data set has a row for each marked error: ``candidate``; ``rater``, empty if unknown;
``start`` and ``end``, the characters (Unicode code points) from ``start`` up to but not including ``end`` of the text
that ``side`` names, ``target`` or ``source``, both missing where an error has no place; ``severity`` in lower case and
``category``, which may be empty. A rater who looked at a candidate and found nothing has one row with the severity
``no-error``. Rows are in the order of candidates, and those of one candidate as they were given, ``no-error`` last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ranker.arrays import Int64Array

NO_ERROR = "no-error"
SIDES = ("target", "source")


class MarkedError(NamedTuple):
    """One marked error; the module's docstring describes its fields."""

    severity: str
    start: int | None = None
    end: int | None = None
    category: str = ""
    rater: str = ""
    side: str = "target"


def error_columns(marks: Sequence[tuple[int, MarkedError]]) -> dict[str, list[Any]]:
    """Convert errors, given with their candidates, to the columns of the table of errors, sorted by candidate."""
    rows = [(candidate, mark) for candidate, mark in marks if mark.severity != NO_ERROR]
    marked = {(candidate, mark.rater) for candidate, mark in rows}
    looked = dict.fromkeys(
        (candidate, mark.rater)
        for candidate, mark in marks
        if mark.severity == NO_ERROR and (candidate, mark.rater) not in marked
    )
    rows += [(candidate, MarkedError(NO_ERROR, rater=rater)) for candidate, rater in looked]
    rows.sort(key=lambda row: row[0])
    columns = {name: [getattr(mark, name) for _, mark in rows] for name in MarkedError._fields}
    return {"candidate": [candidate for candidate, _ in rows], **columns}


def checked_errors(
    columns: Mapping[str, Any], texts: Mapping[str, pa.ChunkedArray], source: Int64Array
) -> tuple[pd.DataFrame, tuple[int, str] | None]:
    """Return the table of errors, and the candidate and message of the first error outside its text, or None.

    `texts` are the texts of both sides, `source` is the source of each candidate.
    """
    import numpy as np
    import pyarrow.compute as pc

    from ranker.corpora.schema import empty_table, table

    errors = table("errors", columns)
    if not len(errors):
        return empty_table("errors"), None
    start, end = (errors[name].to_numpy(np.int64, na_value=-1) for name in ("start", "end"))
    candidate = errors["candidate"].to_numpy()
    lengths = {side: pc.utf8_length(text).to_numpy() for side, text in texts.items()}
    of_source = (errors["side"] == SIDES[1]).to_numpy(bool)
    length = np.where(of_source, lengths["source"][source[candidate]], lengths["target"][candidate])
    placed = (errors["start"].notna() | errors["end"].notna()).to_numpy(bool)
    wrong = np.flatnonzero(placed & ~((start >= 0) & (start <= end) & (end <= length)))
    if not len(wrong):
        return errors, None
    first = int(wrong[0])
    found = " and ".join("nothing" if place[first] < 0 else str(place[first]) for place in (start, end))
    what = f"start and end of an error are {found}: expected places from 0 to {length[first]}, in characters of the "
    return errors, (int(candidate[first]), f"{what}{errors['side'].iloc[first]} text, and no end before its start")


def errors_by_candidate(errors: pd.DataFrame) -> dict[int, list[MarkedError]]:
    """Return the marked errors of each candidate that somebody looked at, with places as Python integers."""
    import pandas as pd

    listed: dict[int, list[MarkedError]] = {}
    columns = [errors[name].tolist() for name in ("candidate", *MarkedError._fields)]
    for candidate, severity, start, end, *texts in zip(*columns, strict=True):
        place = (None, None) if start is pd.NA else (start, end)
        listed.setdefault(candidate, []).append(MarkedError(severity, *place, *texts))
    return listed


def error_entries(marks: Iterable[MarkedError]) -> list[dict[str, Any]]:
    """Return errors as JSON objects with severity and rater; other fields only if they differ from the default."""
    usual = MarkedError("")._asdict()
    return [
        {name: value for name, value in mark._asdict().items() if name in ("severity", "rater") or value != usual[name]}
        for mark in marks
    ]
