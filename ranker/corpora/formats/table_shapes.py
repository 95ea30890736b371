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
import pyarrow.compute as pc

from ranker.arrays import Int64Array
from ranker.corpora import column_names as names
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.annotation_exports import is_flat_export, without_bookkeeping
from ranker.corpora.formats.json_lines import CANDIDATES, has_errors
from ranker.corpora.formats.preference_tables import TEXTS, PreferenceColumns, read_preferences, relation_of
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

_SIDED = re.compile(rf"({'|'.join(TEXTS)}|system|model)_?([ab12])")
_NAMED = re.compile(r"(chosen|rejected|winner|loser)_(text|system|model)")
_PAIRS = (("chosen", "rejected"), ("winner", "loser"))
_VERDICTS = ("preferred", "preference", "winner")
_TIED = r"(?:tied?|draw|equal|neither|(?:tie_)?both_?(?:bad|good))"
_ONE_HOT = re.compile(rf"(?:{'|'.join(_VERDICTS)})_(?:(?:{'|'.join(TEXTS)}|system|model)_?)?(?:([a1])|([b2])|{_TIED})")
_WON = re.compile(r"win|wins|won|los[se]|lost|loses")
_OF_VOTES = frozenset(["better", "choice", "chosen", "preference", "preferred", "verdict", "vote", "winner"])
_OF_RESULTS = frozenset(["best", "label", "labels", "outcome", "result"])
_TWO_SIDES = re.compile(
    r"(.*?)[ _-]?(?:a \1[ _-]?b|0 \1[ _-]?1|1 \1[ _-]?2|left \1[ _-]?right)|left[ _-]?(.*) right[ _-]?\2"
)


def table_dataset(table: Columns, name: str, systems: Sequence[str] = ()) -> tuple[Dataset, Int64Array | None]:
    """Return a table's data set, and each row's candidate, shape (rows,), or None if rows hold several candidates.

    `systems` are the columns of the systems of a table with one row per source.
    """
    refuse_repeated_header(table)
    for column, values in zip(table.header, table.values, strict=True):
        if column.strip().lower() == "translation" and pa.types.is_struct(values.type):
            what = f"column {shown(column)} holds the texts of several languages, expected a text in each cell"
            advice = "make a column source, a column reference and, for the languages, a column lp of it"
            raise DataError(f"{what}: {advice}", file=table.file, line=table.header_line)
        if column in (*CANDIDATES, "references", "refs") and pa.types.is_nested(values.type):
            what = f"column {shown(column)} holds lists, expected a text in each cell: divide it, as in reference1, "
            advice = "reference2, ..., or give the rows as records: JSONL, or ranker.from_records in Python"
            raise DataError(f"{what}{advice}", file=table.file, line=table.header_line)
    if is_flat_export(table.header):
        texts = [name for name in table.header if name not in table.kinds or _SIDED.fullmatch(name.strip().lower())]
        table = without_bookkeeping(table, texts)
    if not systems and "text" not in table.canonical:
        if preferences := preference_columns(table.header, table.file, table.header_line):
            return read_preferences(table, preferences, name), None
        answers = [column for column in table.header if column.strip().lower() in names.ANSWERS]
        if len(answers) == 1:
            named = ["text" if column == answers[0] else column for column in table.header]
            dataset, candidates = long_table(replace(table, header=named)).dataset_and_candidates(name)
            found = names.verdicts_instead_of_texts(answers[0], dataset.sources["text"], dataset.candidates["text"])
            if found:
                raise DataError(f"column {found}", file=table.file, line=table.header_line)
            return dataset, candidates
        _check_spelling(table)
        systems = _columns_of_systems(table)
    if systems:
        return long_table(_by_candidate(table, systems)).dataset(name), None
    return long_table(table).dataset_and_candidates(name)


def preference_columns(header: Sequence[str], file: str = "", line: int | None = None) -> PreferenceColumns | None:
    """Return the columns with preferences in a table with the given header, None if there are none."""
    spelled = {name.strip().lower(): name for name in header}
    roles: dict[str, str] = {}
    pairs = [pair for pair in _PAIRS if {*pair} <= {*spelled}]
    verdicts = [name for name in _VERDICTS if name in spelled and not (name == "winner" and "loser" in spelled)]
    for name, column in spelled.items():
        role = None
        if sided := _SIDED.fullmatch(name):
            role = f"{'system' if sided[1] in ('system', 'model') else 'text'}.{'a' if sided[2] in 'a1' else 'b'}"
        elif named := _NAMED.fullmatch(name):
            role = f"{'text' if named[2] == 'text' else 'system'}.{'a' if named[1] in ('chosen', 'winner') else 'b'}"
        if role in roles:
            what = f"columns {shown(roles[role])} and {shown(column)} have the same meaning: rename or remove one"
            raise DataError(what, file=file, line=line)
        if role is not None:
            roles[role] = column
    sides = [side for side in ("text", "system") if {f"{side}.a", f"{side}.b"} <= {*roles}]
    readings = [*pairs, *([verdict] for verdict in verdicts if sides)]
    relations = _one_hot(header) if sides else {}
    if relations:
        readings.append([name.strip().lower() for name in relations])
    if len(readings) > 1:
        first, second = (" and ".join(shown(spelled[name]) for name in reading) for reading in readings[:2])
        what = f"which is preferred can be read from {first} or from {second}: rename or remove one of them"
        raise DataError(what, file=file, line=line)
    if not readings and "system" in sides:
        listed = ", ".join([*spelled.values()][:8])
        what = f"columns {shown(roles['system.a'])} and {shown(roles['system.b'])} compare systems, but no column names"
        expected = "winner (a, b, tie, ...), or winner_model_a, winner_model_b and winner_tie (0 or 1)"
        raise DataError(f"{what} the winner; expected {expected}; found {listed}", file=file, line=line)
    if not readings:
        return None
    of_sides = {role: column for role, column in roles.items() if role.split(".")[0] in sides}
    if relations:
        return PreferenceColumns(of_sides, relations)
    better = zip(("better", "worse") if pairs else ("verdict",), readings[0], strict=True)
    return PreferenceColumns(of_sides | {role: spelled[name] for role, name in better}, {})


def _one_hot(header: Sequence[str]) -> dict[str, str]:
    """Return the relation, ``>``, ``<`` or ``=``, that each column of zeros and ones stands for.

    The result is empty unless both ``>`` and ``<`` have a column.
    """
    matched = {name: match for name in header if (match := _ONE_HOT.fullmatch(name.strip().lower()))}
    columns = {name: ">" if match[1] else "<" if match[2] else "=" for name, match in matched.items()}
    return columns if {">", "<"} <= {*columns.values()} else {}


def _check_spelling(table: Columns) -> None:
    """Refuse a table without texts if a column name looks like a misspelling of, say, ``chosen`` or ``winner``.

    The word is suggested unless it is one of a pair and no column looks like the other: ``Reject`` next to ``Approve``
    does not mean ``rejected``.
    """

    def looks_like(column: str, known: Iterable[str]) -> str:
        return nearest(column.strip(), known, likeness=0.8)

    known = {name for pair in _PAIRS for name in pair} | {*_VERDICTS}
    whole = [pair for pair in _PAIRS if all(any(looks_like(name, [word]) for name in table.header) for word in pair)]
    suggested = {word for pair in whole for word in pair} | {*_VERDICTS}
    for column in table.kinds:
        if looks_like(column, known) and column.strip().lower() not in known:
            meant = looks_like(column, suggested)
            how = f"rename or remove it, or, to name the columns of systems, {names.BY_OPTION}"
            raise DataError(f"column {shown(column)} is unknown{meant}: {how}", file=table.file, line=table.header_line)


def _refuse_votes(table: Columns, systems: Sequence[str]) -> None:
    """Refuse to read `systems` as columns of outputs where another column says which of them is better."""
    sided = _TWO_SIDES.fullmatch(" ".join(systems).lower()) if len(systems) == 2 else None
    for column, values in zip(table.header, table.values, strict=True):
        words = names.words_of(column)
        if (
            pa.types.is_nested(values.type)
            or column.strip() not in table.kinds
            or not words & (_OF_VOTES | _OF_RESULTS)
        ):
            continue
        cells = {str(cell).strip().lower() for cell in values.unique().to_pylist() if cell not in (None, "")}
        numbers, known = not holds_text(values), {name.strip().lower() for name in table.header}
        if words & _OF_VOTES:
            votes = numbers or column.strip().lower() in _VERDICTS or all(len(cell) <= 20 for cell in cells)
        else:
            votes = (
                bool(sided)
                if numbers
                else all(relation_of(cell) or _WON.fullmatch(cell) or cell in known for cell in cells)
            )
        if cells and votes:
            what = f"column {shown(column)} seems to say which of two outputs or systems is better; expected columns"
            advice = f"text_a and text_b, or model_a and model_b, and preferred: rename them, or {names.BY_OPTION}"
            raise DataError(f"{what} {advice}", file=table.file, line=table.header_line)


def is_other_shape(record: object) -> bool:
    """True if a JSON record is a row of a table that does not have one candidate per row."""
    keys: Mapping[str, Any] = record if isinstance(record, dict) and not is_of_program(record) else {}
    columns = [names.canonical(key) for key, value in keys.items() if isinstance(value, str)]
    systems = [column for column in names.kinds_of(columns) if _may_be_system(column)]
    try:
        compares = preference_columns([*keys]) is not None
    except DataError:
        # it will be raised with the file
        compares = True
    if is_flat_export(keys):
        return True
    one = {"text", *names.ANSWERS} & {*columns} or {*CANDIDATES} & {*keys}
    return compares or (not one and "source" in columns and len(systems) > 1)


def columns_of_records(
    records: Iterable[tuple[int, Any]], file: str, unit: str = "line", lp: str | None = None
) -> Columns:
    """Convert flat JSON records, given with their lines, to the columns of a table."""
    numbered = [*records]
    for line, record in numbered:
        if not isinstance(record, dict):
            raise DataError(f"expected a JSON object {{...}}, found {type(record).__name__}", file=file, line=line)
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
    return Columns(header, values, np.array([line for line, _ in numbered], dtype=np.int64), file, unit, lp=lp)


def _unfit(record: Any) -> str:
    """Format a JSON record for a message if it contains half of a surrogate pair; otherwise return an empty text."""
    return shown(record) if re.search("[\ud800-\udfff]", json.dumps(record, ensure_ascii=False)) else ""


def _column(cells: list[Any]) -> pa.ChunkedArray:
    try:
        return pa.chunked_array([pa.array(cells)])
    except (pa.ArrowException, OverflowError):
        return pa.chunked_array([pa.array([*map(_as_text, cells)], pa.large_string())])


def _as_text(cell: object) -> str | None:
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return cell if cell is None or isinstance(cell, str) else str(cell)


def _may_be_system(column: str) -> bool:
    return column.lower() not in ("model", "engine", "provider") and not names.is_metadata(column)


def _columns_of_systems(table: Columns) -> list[str]:
    """Return the names of text columns that seem to hold the outputs of systems, if several do, and log a note."""
    columns = table.canonical
    if "system" in columns:
        return []
    systems = [
        header
        for header, column, values in zip(table.header, columns, table.values, strict=True)
        if column in table.kinds and column != "errors" and _may_be_system(column) and holds_text(values)
    ]
    if len(systems) < 2 or not ("source" in columns or names.reference_columns(columns)):
        return []
    _refuse_votes(table, systems)
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
            what = f"no column {system!r}{nearest(system, table.header)}; expected names of columns in --systems"
            raise DataError(what, file=table.file, line=table.header_line)
    size, number = len(table.lines), len(systems)
    outputs = [texts_of(cells[system], system, table.file, table.lines) for system in systems]
    for system, texts in zip(systems, outputs, strict=True):
        # an empty cell of CSV is an empty text
        if texts.null_count and table.header_line is None:
            row = pc.index(texts.is_null(), True).as_py()
            what = f"column {shown(system)}: expected text, found nothing{table.missing}"
            raise DataError(what, file=table.file, line=int(table.lines[row]))
    outputs = [texts.fill_null("") for texts in outputs]
    others = {
        key: value
        for key, column, value in zip(table.header, table.canonical, table.values, strict=True)
        if column not in table.kinds and key not in systems
    }
    if ignored := [key for key in cells if key not in others and key not in systems]:
        log_note(names.not_read(ignored), table.file)
    rows = pa.array(np.repeat(np.arange(size), number))
    long = {key: value.take(rows) for key, value in others.items()}
    long |= {"system": _column([*systems] * size), "text": interleaved(outputs)}
    if "seg_id" not in map(names.canonical, others):
        # equal rows are different sources
        long["seg_id"] = pa.chunked_array([pa.array(np.arange(size) + 1).take(rows)])
    return replace(table, header=[*long], values=[*long.values()], lines=table.lines[rows.to_numpy()])
