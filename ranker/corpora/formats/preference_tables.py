"""Tables of preferences, one row per comparison of two texts or of two systems.

=====================================  =============================================================================
columns                                a row says
=====================================  =============================================================================
``chosen``, ``rejected``               which text is better
``winner``, ``loser``                  which system is better, or which text if they differ from source to source
``text_a``, ``text_b``, ``preferred``  which of two texts is better: ``a``, ``b``, ``1``, ``2``, ``tie``, ``both bad``
``model_a``, ``model_b``, ``winner``   which of two systems is better: the same words, or the name of the system
=====================================  =============================================================================

The verdict may also be in several columns of which one is 1: ``winner_model_a``, ``winner_model_b``, ``winner_tie``.
Texts and systems may be given together. A text may be a list of texts, or of messages as in ``conversation_a``; the
user's messages are the source, otherwise ``source`` or ``prompt`` is; without one, and without ``seg_id``, every
comparison has a source of its own. Without texts, all candidates are empty.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.corpora import column_names as names
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.tables import Columns, interleaved, long_table, texts_of, with_pairs
from ranker.corpora.records import asked_in, joined_texts, shown
from ranker.corpora.schema import table
from ranker.errors import DataError, counted, log_note

TEXTS = ("text", *names.HYPOTHESIS, *names.ANSWERS, "conversation")
_A, _B = (re.compile(rf"(({'|'.join(TEXTS)}|system|model)[ _]?)?[{side}]") for side in ("a1", "b2"))
_SIDES = {"left": ">", "right": "<", ">": ">", "<": "<", "": "-", "-": "-"}
_TIE = re.compile(r"(tied?|draw|equal|same|neither|=|both[ _]?(good|bad))( ?\(both[ _]?(good|bad)\))?")
_ONE, _ZERO = {"1", "1.0", "true"}, {"0", "0.0", "false", ""}
_MESSAGES = r"""^\s*\[\s*\{[^{}]*['"](role|content)['"]\s*:"""
_EXPECTED = "a, b, tie, 1, 2, both bad, or the name of one of the two systems"


@dataclass(frozen=True)
class PreferenceColumns:
    """Columns of a table of preferences that say what is compared, and which is better."""

    roles: dict[str, str]
    """Column for each role: ``text.a``, ``text.b``, ``system.a``, ``system.b``, ``better`` and ``worse`` (of either),
    and ``verdict``."""
    relations: dict[str, str]
    """Relation, ``>``, ``<`` or ``=``, that each column of zeros and ones stands for; empty without such columns."""


def read_preferences(given: Columns, preferences: PreferenceColumns, name: str) -> Dataset:
    """Make a data set from a table of preferences."""
    roles, hot = preferences.roles, preferences.relations
    cells = {
        header: texts_of(_spoken(values, header, given), header, given.file, given.lines)
        for header, column, values in zip(given.header, given.canonical, given.values, strict=True)
        if header in roles.values() or column not in given.kinds or _is_judge(header)
    }
    if ignored := [key for key in given.header if key not in cells and key not in hot and key not in names.NOT_READ]:
        log_note(names.not_read(ignored), given.file)
    read = {role: cells.pop(column) for role, column in roles.items()}
    if "source" not in map(names.canonical, cells):
        asked = _asked([roles[side] for side in ("text.a", "text.b", "better", "worse") if side in roles], given)
        cells |= {} if asked is None else {"source": asked}
    judge = next((cells.pop(key) for key in [*cells] if _is_judge(key)), None)
    size = len(given.lines)
    relation: Sequence[str] | npt.NDArray[np.object_] = [">"] * size
    if hot:
        relation = _relations_of_ones(hot, given)
    elif "verdict" in read:
        relation = _relations(read, roles["verdict"], given)
    else:
        side = _better_are(roles["better"], read, cells, given)
        read |= {f"{side}.a": read["better"], f"{side}.b": read["worse"]}
    both = {
        side: interleaved([read[f"{side}.a"], read[f"{side}.b"]]) for side in ("text", "system") if f"{side}.a" in read
    }
    for side in ("text.a", "text.b"):
        if side in read and read[side].null_count:
            what = f"column {shown(roles.get(side) or roles['better' if side == 'text.a' else 'worse'])}: expected text"
            row = pc.index(read[side].is_null(), True).as_py()
            raise DataError(
                f"{what}, found nothing: remove this comparison", file=given.file, line=int(given.lines[row])
            )
    rows = pa.array(np.repeat(np.arange(size), 2))
    long = {key: values.take(rows) for key, values in cells.items()}
    long["text"] = both.get("text", pa.chunked_array([pa.array([""] * 2 * size, pa.large_string())]))
    long |= {"system": both["system"]} if "system" in both else {}
    # candidates that are compared several times are like those with several judges
    long["judge"] = pa.chunked_array([pa.array(np.arange(2 * size))])
    columns = [*map(names.canonical, long)]
    lines = np.repeat(given.lines, 2)
    by_name = with_pairs(dict(zip(columns, long.values(), strict=True)), lines, given.file, given.lp)
    if "seg_id" not in columns and ("source" not in columns or _several_texts(by_name)):
        if "source" in columns:
            what = "a system has several texts for one source: each comparison is read as a separate source"
            log_note(what, given.file)
        long["seg_id"] = pa.chunked_array([pa.array(np.repeat(np.arange(size) + 1, 2))])
    changed = replace(given, header=[*long], values=[*long.values()], lines=lines)
    dataset, place = long_table(changed, comparable=True).dataset_and_candidates(name)
    first, second = place[0::2], place[1::2]
    apart = first != second
    if not apart.all():
        what = f"left out {counted(int((~apart).sum()), 'comparison')} of a candidate with itself"
        log_note(what, given.file)
    known = {"first": first, "second": second, "relation": np.array(relation, dtype=object)}
    kept = {column: values[apart] for column, values in known.items()}
    kept["primary"] = np.ones(int(apart.sum()), dtype=bool)
    if judge is not None:
        kept["judge"] = [name or None for name in judge.filter(pa.array(apart)).to_pylist()]
    return replace(dataset, preferences=table("preferences", kept))


def _is_judge(column: str) -> bool:
    return column.strip().lower() in ("judge", "annotator")


def _relations_of_ones(columns: Mapping[str, str], given: Columns) -> list[str]:
    """Convert columns of zeros and ones to the relation between the two items of each row."""
    cells = dict(zip(given.header, given.values, strict=True))
    rows = zip(*(cells[name].to_pylist() for name in columns), strict=True)
    relations = []
    for line, row in zip(given.lines.tolist(), rows, strict=True):
        marks = ["" if value is None else str(value).strip().lower() for value in row]
        won = [sign for sign, mark in zip(columns.values(), marks, strict=True) if mark in _ONE]
        if not any(marks):
            won = ["-"]
        elif not won and "=" not in columns.values():
            won = ["="]
        if len(won) != 1 or not {*marks} <= _ONE | _ZERO:
            what = f"columns {', '.join(columns)}: expected 1 in one of them and 0 in the others, found"
            raise DataError(f"{what} {', '.join(marks)}", file=given.file, line=line)
        relations += won
    return relations


def _lists(column: pa.ChunkedArray, header: str, given: Columns) -> list[Any] | None:
    """Return the cells of a column with lists of texts or messages, stored as lists or as JSON; None for other columns.

    Cells without messages stay texts, unless all cells of the column are lists.

    Raises
    ------
    DataError
        If a cell begins like a list of messages and is none.
    """
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return list(column.to_pylist())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    begun = pc.match_substring_regex(column, _MESSAGES).fill_null(False)
    if pc.all(pc.match_substring_regex(column, r"^\s*\[[\s\S]*\]\s*$"), min_count=1).as_py():
        with contextlib.suppress(ValueError, RecursionError):
            return [text and json.loads(text) for text in column.to_pylist()]
    if not pc.any(begun).as_py():
        return None
    cells: list[Any] = column.to_pylist()
    for row in np.flatnonzero(begun.to_numpy()).tolist():
        try:
            cells[row] = json.loads(cells[row])
        except (ValueError, RecursionError):
            what = f"column {shown(header)}: expected a list of messages in JSON, found {shown(cells[row])}"
            advice = "complete it, or write it with json.dumps instead of str"
            raise DataError(f"{what}: {advice}", file=given.file, line=int(given.lines[row])) from None
    return cells


def _spoken(column: pa.ChunkedArray, header: str, given: Columns) -> pa.ChunkedArray:
    """Convert a column of lists of texts or messages to texts; return other columns unchanged."""
    cells = _lists(column, header, given)
    return column if cells is None else pa.chunked_array([pa.array(map(joined_texts, cells), pa.large_string())])


def _asked(columns: Sequence[str], given: Columns) -> pa.ChunkedArray | None:
    """Return the texts of the user's messages, in the first of `columns` that has any in a row; None without any."""
    values = dict(zip(given.header, given.values, strict=True))
    texts = [""] * len(given.lines)
    for column in columns:
        cells = _lists(values[column], column, given) or []
        texts[: len(cells)] = [text or asked_in(cell) for text, cell in zip(texts, cells, strict=False)]
    return pa.chunked_array([pa.array(texts, pa.large_string())]) if any(texts) else None


def _relations(read: dict[str, pa.ChunkedArray], column: str, given: Columns) -> npt.NDArray[np.object_]:
    """Return the relation, such as ``>``, between the two items of each row, shape (rows,)."""
    encoded = pc.utf8_trim_whitespace(read["verdict"]).fill_null("").combine_chunks().dictionary_encode()
    known = np.array([relation_of(verdict.lower()) for verdict in encoded.dictionary.to_pylist()], dtype=object)
    relation: npt.NDArray[np.object_] = known[encoded.indices.to_numpy()]
    verdict, wrong, expected = pc.utf8_trim_whitespace(read["verdict"]), pd.isna(relation), _EXPECTED
    for side, sign in (("system.a", ">"), ("system.b", "<")):
        if side in read:
            named = pc.equal(verdict, pc.utf8_trim_whitespace(read[side])).fill_null(False).to_numpy()
            if (named & ~wrong & (relation != sign)).any():
                wrong = named & ~wrong & (relation != sign)
                expected = "an answer that means one system (rename the system that is called like the other's side)"
                break
            relation[named], wrong = sign, wrong & ~named
    sides = [pc.utf8_trim_whitespace(read[side]) for side in ("system.a", "system.b") if side in read]
    if sides and not wrong.any():
        # "B" is the second system, unless the first or another is called so
        named = np.logical_or.reduce([pc.equal(verdict, side).fill_null(False).to_numpy() for side in sides])
        systems = pa.chunked_array([chunk for side in sides for chunk in side.chunks], sides[0].type).unique()
        wrong = ~named & pc.is_in(verdict, systems).fill_null(False).to_numpy()
        expected = "one of the two systems that are compared"
    for row in np.flatnonzero(wrong)[:1].tolist():
        what = f"column {shown(column)}: expected {expected}, found {shown(read['verdict'][row].as_py())}"
        raise DataError(what, file=given.file, line=int(given.lines[row]))
    return relation


def relation_of(verdict: str) -> str | None:
    """Return the relation, ``>``, ``<`` or ``=``, that a verdict in lower case states, or None for other texts."""
    # tables with missing numbers write whole ones as 1.0
    verdict = re.sub(r"(?<=^[12])\.0$", "", verdict)
    if _TIE.fullmatch(verdict):
        return "="
    return _SIDES.get(verdict) or (">" if _A.fullmatch(verdict) else "<" if _B.fullmatch(verdict) else None)


def _better_are(
    column: str, read: dict[str, pa.ChunkedArray], others: dict[str, pa.ChunkedArray], given: Columns
) -> str:
    """Return "system" if the winners are systems, compared on several sources, or "text" if the winners are texts."""
    if "text.a" in read or "system.a" in read:
        return "system" if "text.a" in read else "text"
    source = next((values for key, values in others.items() if names.canonical(key) == "source"), None)
    if column.strip().lower() == "chosen" or source is None:
        return "text" if column.strip().lower() == "chosen" else "system"
    values = np.array([*read["better"].to_pylist(), *read["worse"].to_pylist()], dtype=object)
    sources = pd.DataFrame({"value": values, "source": [*source.to_pylist()] * 2}).groupby("value")["source"].nunique()
    once = float((sources == 1).mean())
    if 0 < once <= 0.5:
        what = (
            f"{shown(column)} may hold systems or texts: rename the columns to system_a, system_b and preferred, or to "
            "chosen and rejected"
        )
        raise DataError(what, file=given.file, line=given.header_line)
    return "text" if once else "system"


def _several_texts(columns: Mapping[str, pa.ChunkedArray]) -> bool:
    """True if any system has several texts for one source."""
    if "system" not in columns:
        return False
    frame = pd.DataFrame({column: values.to_pandas() for column, values in columns.items()})
    keys = [column for column in columns if column not in ("text", "judge")]
    return bool((frame.groupby(keys, dropna=False)["text"].nunique() > 1).any())
