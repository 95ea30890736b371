"""Tables of a campaign file: the columns, and what they must contain, checked before anything else reads them.

SQLite stores values of any type in any column, and people can change the file. `check_tables` therefore compares every
value with the rules declared here, as `ranker.storage.array_rules` does for the arrays of models.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ranker.collect.access import JUDGE, OWNER
from ranker.collect.tasks import TaskKind
from ranker.errors import DataError, OptionError
from ranker.files import printable
from ranker.storage.plain_data import parse_json, typed

PLAIN, GOLD, DEGRADED = "plain", "gold", "degraded"
SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE source (
    id INTEGER PRIMARY KEY, role TEXT NOT NULL, lp TEXT, doc TEXT, seg_id TEXT, text TEXT NOT NULL, refs TEXT NOT NULL
);
CREATE TABLE candidate (
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL, system TEXT NOT NULL, text TEXT NOT NULL,
    is_reference INTEGER NOT NULL
);
CREATE INDEX candidate_source ON candidate (source);
-- outputs: a list of {"candidates": [ids]} or {"text": ...}; place: its place in the queue, NULL if it is not in it
CREATE TABLE item (
    id INTEGER PRIMARY KEY, role TEXT NOT NULL, source INTEGER NOT NULL, outputs TEXT NOT NULL, expected TEXT,
    rank REAL NOT NULL, wanted INTEGER NOT NULL, given INTEGER NOT NULL DEFAULT 0, place REAL
);
CREATE INDEX item_queue ON item (place) WHERE place IS NOT NULL;
CREATE INDEX item_role ON item (role, rank);
CREATE TABLE person (
    id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, role TEXT NOT NULL, token TEXT UNIQUE, expires REAL NOT NULL,
    assigned INTEGER NOT NULL DEFAULT 0
);
-- shown: the order in which the outputs were shown; answer: the current one, NULL while it is open or undone
CREATE TABLE assignment (
    id INTEGER PRIMARY KEY, judge INTEGER NOT NULL, item INTEGER NOT NULL, repeat INTEGER NOT NULL, shown TEXT NOT NULL,
    at REAL NOT NULL, answer TEXT, seconds REAL, answered INTEGER, UNIQUE (judge, item, repeat)
);
CREATE INDEX assignment_judge ON assignment (judge, answered);
CREATE INDEX assignment_open ON assignment (at) WHERE answer IS NULL;
CREATE INDEX assignment_item ON assignment (item);
-- answer: NULL where the judge took an answer back
CREATE TABLE judgement (
    id INTEGER PRIMARY KEY AUTOINCREMENT, assignment INTEGER NOT NULL, answer TEXT, seconds REAL NOT NULL,
    at REAL NOT NULL, form TEXT NOT NULL
);
CREATE INDEX judgement_assignment ON judgement (assignment);
-- what is computed in the background
CREATE TABLE result (name TEXT PRIMARY KEY, at REAL NOT NULL, judgements INTEGER NOT NULL, value BLOB NOT NULL);
"""
_MOST = 1e12
"""Largest time or number in a campaign."""


@dataclass(frozen=True)
class OutputDocument:
    """An output of an item: candidates with the same text, or the text of a degraded copy."""

    candidates: tuple[int, ...] = ()
    text: str | None = None


@dataclass(frozen=True)
class Expected:
    """The known answer of a control item.

    Parameters
    ----------
    values : tuple of float
        Known value of each output.
    better, worse : int or None
        Outputs of which the first must get a better rank.
    below : int or None
        Item whose answer must be higher.
    """

    values: tuple[float, ...] = ()
    better: int | None = None
    worse: int | None = None
    below: int | None = None


@dataclass(frozen=True)
class ColumnRule:
    """What the values of one column must be.

    Parameters
    ----------
    types : tuple of str
        Names of SQLite's types.
    optional : bool, default False
        Whether NULL is allowed.
    least, most : float
        Range of numbers.
    among : tuple of str
        All texts that are allowed; empty if any is.
    filled : bool, default False
        Whether the empty text is refused.
    letters : str
        Characters of which a text must consist, as in a set of SQLite's GLOB; empty if any may occur.
    key_of : str
        Table in which the value must be an id.
    document : annotation
        What the JSON in a text must be, in the sense of `ranker.storage.plain_data.typed`.
    """

    types: tuple[str, ...]
    optional: bool = False
    least: float = 0
    most: float = _MOST
    among: tuple[str, ...] = ()
    filled: bool = False
    letters: str = ""
    key_of: str = ""
    document: Any = None

    def condition(self, column: str) -> str:
        """Return the rule, apart from JSON, as SQL."""
        conditions = [f"typeof({column}) IN ({_quoted(self.types)})"]
        if "text" in self.types:
            conditions.append(f"instr({column}, char(0)) = 0")
        else:
            conditions.append(f"{column} BETWEEN {self.least:.0f} AND {self.most:.0f}")
        if self.among:
            conditions.append(f"{column} IN ({_quoted(self.among)})")
        if self.filled:
            conditions.append(f"{column} != ''")
        if self.letters:
            conditions.append(f"{column} NOT GLOB '*[^{self.letters}]*'")
        if self.key_of:
            conditions.append(f"{column} IN (SELECT id FROM {self.key_of})")
        return " AND ".join(conditions) + (f" OR {column} IS NULL" if self.optional else "")


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


_TEXT = ColumnRule(("text",))
_OPTIONAL_TEXT = ColumnRule(("text",), optional=True)
_COUNT = ColumnRule(("integer",))
_ID = ColumnRule(("integer",), least=1)
_NUMBER = ColumnRule(("integer", "real"))
_ANSWER = ColumnRule(("text",), optional=True, document=tuple[int, ...])
RULES: Mapping[str, Mapping[str, ColumnRule]] = {
    "setting": {"name": ColumnRule(("text",), among=("settings",)), "value": _TEXT},
    "source": {
        "id": _ID,
        "role": ColumnRule(("text",), among=(PLAIN, GOLD)),
        "lp": _OPTIONAL_TEXT,
        "doc": _OPTIONAL_TEXT,
        "seg_id": ColumnRule(("text",), filled=True),
        "text": _TEXT,
        "refs": ColumnRule(("text",), document=tuple[str, ...]),
    },
    "candidate": {
        "id": _ID,
        "source": ColumnRule(("integer",), key_of="source"),
        "system": ColumnRule(("text",), filled=True),
        "text": _TEXT,
        "is_reference": ColumnRule(("integer",), most=1),
    },
    "item": {
        "id": _ID,
        "role": ColumnRule(("text",), among=(PLAIN, GOLD, DEGRADED)),
        "source": ColumnRule(("integer",), key_of="source"),
        "outputs": ColumnRule(("text",), document=tuple[OutputDocument, ...]),
        "expected": ColumnRule(("text",), optional=True, document=Expected),
        "rank": _NUMBER,
        "wanted": _COUNT,
        "given": _COUNT,
        "place": ColumnRule(("integer", "real"), optional=True, least=-_MOST),
    },
    "person": {
        "id": _ID,
        "code": ColumnRule(("text",), filled=True, letters="A-Za-z0-9._-"),
        "role": ColumnRule(("text",), among=(OWNER, JUDGE)),
        "token": ColumnRule(("text",), optional=True, letters="0-9a-f"),
        "expires": _NUMBER,
        "assigned": _COUNT,
    },
    "assignment": {
        "id": _ID,
        "judge": ColumnRule(("integer",), key_of="person"),
        "item": ColumnRule(("integer",), key_of="item"),
        "repeat": ColumnRule(("integer",), most=1),
        "shown": ColumnRule(("text",), document=tuple[int, ...]),
        "at": _NUMBER,
        "answer": _ANSWER,
        "seconds": ColumnRule(("integer", "real"), optional=True),
        "answered": ColumnRule(("integer",), optional=True, least=1),
    },
    "judgement": {
        "id": _ID,
        "assignment": ColumnRule(("integer",), key_of="assignment"),
        "answer": _ANSWER,
        "seconds": _NUMBER,
        "at": _NUMBER,
        "form": _TEXT,
    },
    "result": {
        "name": ColumnRule(("text",), among=("figures", "features")),
        "at": _NUMBER,
        "judgements": _COUNT,
        "value": ColumnRule(("blob", "text")),
    },
}
_ONCE = {"source": "lp, seg_id", "candidate": "source, system"}


def check_tables(connection: sqlite3.Connection, kind: TaskKind) -> None:
    """Check all tables of a campaign.

    Parameters
    ----------
    connection : Connection
    kind : TaskKind
        Kind of the campaign's tasks.

    Raises
    ------
    sqlite3.DatabaseError
        Naming the first value that is not as declared.
    """
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(SCHEMA)
        declared = _statements(empty)
    if _statements(connection) != declared:
        raise sqlite3.DatabaseError("its tables are not those of a campaign")
    for table, rules in RULES.items():
        for column, rule in rules.items():
            query = f"SELECT rowid, {column} FROM {table} WHERE NOT coalesce({rule.condition(column)}, 0) LIMIT 1"
            for number, value in connection.execute(query):
                raise _wrong(table, number, column, value)
    for table, columns in _ONCE.items():
        where = f"WHERE role = '{PLAIN}'" if table == "source" else ""
        query = f"SELECT max(id) FROM {table} {where} GROUP BY {columns} HAVING count(*) > 1 LIMIT 1"
        for (number,) in connection.execute(query):
            raise sqlite3.DatabaseError(f"{columns} of row {number} of table {table!r} are there twice")
    _check_documents(connection, kind)


def _statements(connection: sqlite3.Connection) -> set[tuple[Any, ...]]:
    """Return the definitions of tables and indices, without those that SQLite makes for itself."""
    query = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"
    return {tuple(row) for row in connection.execute(query)}


def _wrong(table: str, number: object, column: str, value: object) -> sqlite3.DatabaseError:
    shown = "NULL" if value is None else printable(str(value)[:40])
    return sqlite3.DatabaseError(f"row {number} of table {table!r} cannot have the {column} {shown}")


def _check_documents(connection: sqlite3.Connection, kind: TaskKind) -> None:
    """Check the JSON in columns, and what rows say about each other."""
    for _ in _documents(connection, "source"):
        pass
    source_of: dict[int, int] = {}
    before = 0
    for number, source in connection.execute("SELECT id, source FROM candidate ORDER BY id"):
        if source < before:
            raise _wrong("candidate", number, "source", source)
        source_of[number] = before = source
    sizes: dict[int, int] = {}
    for row, documents in _documents(connection, "item"):
        if not _are_outputs(row, documents["outputs"], kind, source_of):
            raise _wrong("item", row["id"], "outputs", row["outputs"])
        sizes[row["id"]] = size = len(documents["outputs"])
        if not _is_expected(row["role"], documents["expected"], size, kind, sizes):
            raise _wrong("item", row["id"], "expected", row["expected"])
    if not sizes:
        raise sqlite3.DatabaseError("it has no item")
    size_of: dict[int, int] = {}
    for row, documents in _documents(connection, "assignment"):
        size_of[row["id"]] = size = sizes[row["item"]]
        if sorted(documents["shown"]) != list(range(size)):
            raise _wrong("assignment", row["id"], "shown", row["shown"])
        _check_answer("assignment", row, documents["answer"], size, kind)
        for column in ("seconds", "answered"):
            if row["answer"] is not None and row[column] is None:
                raise _wrong("assignment", row["id"], column, None)
    for row, documents in _documents(connection, "judgement"):
        _check_answer("judgement", row, documents["answer"], size_of[row["assignment"]], kind)


def _documents(connection: sqlite3.Connection, table: str) -> Iterator[tuple[sqlite3.Row, dict[str, Any]]]:
    """Return every row of a table with its JSON."""
    rules = {column: rule for column, rule in RULES[table].items() if rule.document is not None}
    for row in connection.execute(f"SELECT * FROM {table} ORDER BY id"):
        documents: dict[str, Any] = {}
        for column, rule in rules.items():
            text, documents[column] = row[column], None
            if text is None:
                continue
            try:
                documents[column] = typed(parse_json(text, ""), rule.document)
                if "\\" in text:
                    _check_texts(documents[column])
            except (DataError, KeyError, TypeError, ValueError):
                raise _wrong(table, row["id"], column, text) from None
        yield row, documents


def _check_texts(value: Any) -> None:
    """Refuse what JSON can write and texts cannot contain: NUL and half characters.

    Raises
    ------
    ValueError
    """
    for item in value if isinstance(value, tuple) else ():
        text = item.text if isinstance(item, OutputDocument) else item
        if isinstance(text, str) and b"\0" in text.encode():
            raise ValueError("NUL")


def _are_outputs(
    row: sqlite3.Row, outputs: tuple[OutputDocument, ...], kind: TaskKind, source_of: Mapping[int, int]
) -> bool:
    if not (2 <= len(outputs) <= kind.outputs if kind.compares else len(outputs) == 1):
        return False
    copies = 1 if row["role"] == DEGRADED else 0
    originals, last = outputs[: len(outputs) - copies], outputs[len(outputs) - copies :]
    numbers = [candidate for output in originals for candidate in output.candidates]
    return (
        all(output.candidates and output.text is None for output in originals)
        and all(output.text is not None and not output.candidates for output in last)
        and len(set(numbers)) == len(numbers)
        and all(source_of.get(number) == row["source"] for number in numbers)
    )


def _is_expected(role: str, expected: Expected | None, size: int, kind: TaskKind, items: Mapping[int, int]) -> bool:
    if role == PLAIN or expected is None:
        return role == PLAIN and expected is None
    if role == GOLD:
        values = expected.values
        return expected == Expected(values) and len(values) == size and (not kind.compares or len(set(values)) > 1)
    better, worse, below = expected.better, expected.worse, expected.below
    if kind.compares:
        return expected == Expected((), better, worse) and {better, worse} <= {*range(size)} and better != worse
    return expected == Expected(below=below) and below in items


def _check_answer(table: str, row: sqlite3.Row, answer: tuple[int, ...] | None, size: int, kind: TaskKind) -> None:
    try:
        if answer is not None:
            kind.check(answer, size)
    except OptionError:
        raise _wrong(table, row["id"], "answer", row["answer"]) from None
