"""Errors that raters marked in candidates or in their sources, and the penalties that they add up to.

The table ``errors`` of a data set has a row for each marked error: ``candidate``; ``rater``, empty if unknown;
``start`` and ``end``, the characters (Unicode code points) from ``start`` up to but not including ``end`` of the text
that ``side`` names, ``target`` or ``source``, both missing where an error has no place; ``severity`` in lower case and
``category``, which may be empty. A rater who looked at a candidate and found nothing has one row with the severity
``no-error``. Rows are in the order of candidates, and those of one candidate as they were given, ``no-error`` last.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from ranker.errors import DataError, OptionError

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

    from ranker.arrays import FloatArray, Int64Array

NO_ERROR = "no-error"
SIDES = ("target", "source")
WEIGHTS = {
    "major": 5.0,
    "minor": 1.0,
    "critical": 5.0,
    "neutral": 0.0,
    NO_ERROR: 0.0,
    "": 0.0,
    "minor:fluency/punctuation": 0.1,
    "major:non-translation": 25.0,
}
"""Weights of severities, and of severities in categories that begin with what follows the colon."""
HEAVIEST = 1_000_000
PARTS = ("accuracy", "fluency", "style", "terminology", "other")
"""Parts of a penalty, by the first level of a category."""


class MarkedError(NamedTuple):
    """One marked error; the module describes its fields."""

    severity: str
    start: int | None = None
    end: int | None = None
    category: str = ""
    rater: str = ""
    side: str = "target"


def error_columns(marks: Sequence[tuple[int, MarkedError]]) -> dict[str, list[Any]]:
    """Columns of the table of errors for errors with their candidates, in the table's order."""
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
    """Return the table of errors, and the candidate of the first place that is not in its text, with a message.

    `texts` are those of both sides, `source` is the source of every candidate.
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


def weight_of(severity: str, category: str, weights: Mapping[str, float]) -> float | None:
    """Weight of an error by its severity and the longest beginning of its category that has one; None if unknown."""
    levels = plain_category(category)
    keys = [key for key in weights if key.startswith(f"{severity}:") and levels.startswith(key[len(severity) + 1 :])]
    return weights.get(max(keys, key=len) if keys else severity)


def plain_category(category: str) -> str:
    """Category in lower case, without spaces around its levels."""
    return "/".join(level.strip().lower() for level in category.split("/"))


def plain_severity(name: str) -> str:
    """Severity, or severity and category with a colon between them, as `WEIGHTS` names them."""
    return ":".join(map(plain_category, name.split(":", 1)))


def checked_weight(
    severity: str, category: str, weights: Mapping[str, float], file: str, line: int | None = None
) -> float:
    """Return `weight_of`, or raise an error that says how to give an unknown severity a weight."""
    weight = weight_of(severity, category, weights)
    if weight is None:
        known = ", ".join(key for key in weights if key and ":" not in key)
        advice = f"ranker data convert FILE NEW --severity-weights {shlex.quote(f'{severity[:30]}=25')}"
        what = f"severity: expected {known}, found {severity[:30]!r}; give it a weight, as in: {advice}"
        raise DataError(what, file=file, line=line)
    return weight


def all_weights(weights: Mapping[str, float] | None) -> dict[str, float]:
    """Return `WEIGHTS` with the given ones, whose names are put in lower case."""
    expected = f"severity_weights: expected weights from 0 to {HEAVIEST:,} of severities, such as {{'critical': 25}}"
    if weights is not None and not isinstance(weights, Mapping):
        raise OptionError(f"{expected}, found {weights!r:.40}")
    for name, weight in (weights or {}).items():
        if not isinstance(name, str) or not isinstance(weight, Real) or not 0 <= weight <= HEAVIEST:
            raise OptionError(f"{expected}, found {name!r:.40}: {weight!r:.40}")
    return {**WEIGHTS, **{plain_severity(name): weight for name, weight in (weights or {}).items()}}


def penalties(errors: pd.DataFrame, weights: Mapping[str, float] | None = None, name: str = "errors") -> pd.DataFrame:
    """Penalties of the candidates that somebody looked at: the mean over their raters of the summed weights.

    Parameters
    ----------
    errors : DataFrame
        The table ``errors`` of a data set.
    weights : mapping, optional
        Weights such as ``{"critical": 25, "minor:fluency/spelling": 0.5}`` besides `WEIGHTS`.
    name : str
        What messages call the data.

    Returns
    -------
    DataFrame
        One row per candidate, with the columns ``mqm_n`` (raters), ``mqm_total``, ``mqm_fluency_style`` and ``mqm_``
        with each of `PARTS`.

    Examples
    --------
    >>> from ranker import from_records
    >>> candidate = {"system": "A", "text": "helo", "errors": [{"start": 0, "end": 4, "severity": "major"}]}
    >>> data = from_records([{"source": "Hallo", "references": ["hello"], "candidates": [candidate]}])
    >>> penalties(data.errors)["mqm_total"].tolist()
    [5.0]
    """
    import numpy as np
    import pandas as pd

    known = all_weights(weights)
    codes, different = pd.factorize(errors["severity"] + "\0" + errors["category"])
    kinds = [text.split("\0") for text in different]
    weight = np.array([checked_weight(severity, category, known, name) for severity, category in kinds])[codes]
    firsts = [plain_category(category).split("/")[0] for _, category in kinds]
    part = np.array([PARTS.index(first) if first in PARTS else len(PARTS) - 1 for first in firsts], np.int64)[codes]
    candidates, candidate = np.unique(errors["candidate"].to_numpy(), return_inverse=True)
    raters = pd.factorize(errors["rater"])[0]
    rater, rater_keys = pd.factorize(candidate * (raters.max(initial=0) + 1) + raters)
    cell, cell_keys = pd.factorize(rater * len(PARTS) + part)
    # sums in the order in which raters and parts occur, so that equal errors have equal bits
    sums = np.bincount(cell, weight, len(cell_keys))
    of_cell = cell_keys // len(PARTS)
    of_rater = rater_keys // (raters.max(initial=0) + 1)
    count = np.bincount(of_rater, minlength=len(candidates)).astype(np.float64)

    def mean(summed: npt.NDArray[Any]) -> FloatArray:
        """Mean over raters of sums of cells."""
        by_rater = np.bincount(of_cell, summed, len(rater_keys))
        return np.bincount(of_rater, by_rater, len(candidates)) / count

    means = {
        f"mqm_{PARTS[index]}": mean(np.where(cell_keys % len(PARTS) == index, sums, 0.0)) for index in range(len(PARTS))
    }
    columns = {
        "mqm_n": count,
        "mqm_total": mean(sums),
        "mqm_fluency_style": means["mqm_fluency"] + means["mqm_style"],
        **means,
    }
    return pd.DataFrame(columns, index=pd.Index(candidates, name="candidate"))


def errors_by_candidate(errors: pd.DataFrame) -> dict[int, list[MarkedError]]:
    """Marked errors of every candidate that somebody looked at, places as numbers of Python."""
    import pandas as pd

    listed: dict[int, list[MarkedError]] = {}
    columns = [errors[name].tolist() for name in ("candidate", *MarkedError._fields)]
    for candidate, severity, start, end, *texts in zip(*columns, strict=True):
        place = (None, None) if start is pd.NA else (start, end)
        listed.setdefault(candidate, []).append(MarkedError(severity, *place, *texts))
    return listed


def error_entries(marks: Iterable[MarkedError]) -> list[dict[str, Any]]:
    """Errors as objects of JSON, with severity and rater, and other fields unless they have their usual value."""
    usual = MarkedError("")._asdict()
    return [
        {name: value for name, value in mark._asdict().items() if name in ("severity", "rater") or value != usual[name]}
        for mark in marks
    ]
