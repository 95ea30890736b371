"""Tables of a campaign file. SQLite checks types, ranges and keys; `check_rows` checks that rows fit together."""

from __future__ import annotations

import itertools
import json
import sqlite3
from contextlib import closing
from typing import get_args

from ranker.apps.collect.access import JUDGE, OWNER
from ranker.apps.collect.marking import are_marks
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tasks import KINDS, SEVERITIES, Next, Show

PLAIN, GOLD, DEGRADED = "plain", "gold", "degraded"
_MOST = 1e12
"""Largest time or number in a campaign."""
MOST_FORM = 10**17
"""Largest number of a form."""


def _among(column: str, names: tuple[str, ...]) -> str:
    return f"{column} TEXT NOT NULL CHECK ({column} IN ({', '.join(map(repr, names))}))"


def _text(column: str, more: str = "TRUE") -> str:
    return f"{column} TEXT NOT NULL CHECK (instr({column}, char(0)) = 0 AND {more})"


def _number(column: str, kind: str = "INTEGER", least: float = 0, most: float = _MOST) -> str:
    return f"{column} {kind} NOT NULL CHECK ({column} BETWEEN {least:.0f} AND {most:.0f})"


def _whole_numbers(column: str) -> str:
    """Return the SQL condition that a column contains JSON lists of whole numbers."""
    return f"json_valid({column}) AND {column} GLOB '[[]*' AND {column} NOT GLOB '*[^][0-9, ]*'"


def _lists(column: str) -> str:
    return f"{column} TEXT CHECK ({column} IS NULL OR {_whole_numbers(column)})"


_SEVERITIES = [",".join(some) for size in range(1, 5) for some in itertools.combinations(SEVERITIES, size)]
SCHEMA = f"""
CREATE TABLE settings (
    {_text("id", "length(id) BETWEEN 1 AND 32 AND id NOT GLOB '*[^A-Za-z0-9]*'")}, {_text("title")},
    {_among("kind", tuple(KINDS))}, {_among("show", get_args(Show))}, {_among("next", get_args(Next))},
    {_number("judges_per_item", least=1)}, {_number("overlap", "REAL", most=1)}, {_number("gold", "REAL", most=1)},
    {_number("degraded", "REAL", most=1)}, {_number("repeat", "REAL", most=1)}, quota INTEGER CHECK (quota >= 1),
    {_number("min_seconds", "REAL", most=1e6)}, seed INTEGER NOT NULL, {_number("show_gold", most=1)},
    url TEXT CHECK (instr(url, char(0)) = 0), served TEXT CHECK (instr(served, char(0)) = 0),
    categories TEXT CHECK (instr(categories, char(0)) = 0), prefill TEXT CHECK (instr(prefill, char(0)) = 0),
    severities TEXT CHECK (severities IS NULL OR kind = 'mqm' AND severities IN ({", ".join(map(repr, _SEVERITIES))})),
    CHECK (kind IN ('ranking', 'pairwise') OR (kind = 'fluency') = (show = 'none'))
) STRICT;
CREATE TABLE source (
    {_number("id", "INTEGER PRIMARY KEY", 1)}, {_among("role", (PLAIN, GOLD))}, lp TEXT CHECK (instr(lp, char(0)) = 0),
    doc TEXT CHECK (instr(doc, char(0)) = 0), {_text("seg_id", "seg_id != ''")}, {_text("text")}
) STRICT;
CREATE INDEX source_doc ON source (doc);
CREATE UNIQUE INDEX source_name ON source (coalesce(lp, ''), seg_id) WHERE role = '{PLAIN}';
CREATE TABLE reference (
    {_number("id", "INTEGER PRIMARY KEY", 1)}, source INTEGER NOT NULL REFERENCES source, {_text("text")}
) STRICT;
CREATE INDEX reference_source ON reference (source);
CREATE TABLE candidate (
    {_number("id", "INTEGER PRIMARY KEY", 1)}, source INTEGER NOT NULL REFERENCES source,
    {_text("system", "system != ''")}, {_text("text")}, {_number("is_reference", most=1)}, UNIQUE (source, system)
) STRICT;
-- outputs: lists of candidates with the same text, [[1, 3], [2]]; known: the value of each output of a gold item, or
-- its score and its list of marks, of which one may be null; copy: the last output of a degraded item, which must get a
-- lower rank than the first, or a lower value than the item `below`; place: its place in the queue, NULL if it is not
-- in it; prefill: the marks that a judge starts from; document: the same for items that follow each other
CREATE TABLE item (
    {_number("id", "INTEGER PRIMARY KEY", 1)}, {_among("role", (PLAIN, GOLD, DEGRADED))},
    source INTEGER NOT NULL REFERENCES source, outputs TEXT NOT NULL CHECK ({_whole_numbers("outputs")}),
    copy TEXT CHECK (instr(copy, char(0)) = 0), known TEXT CHECK (known IS NULL OR json_valid(known)),
    below INTEGER REFERENCES item, {_number("rank", "REAL")}, {_number("wanted")}, {_number("given")},
    place REAL CHECK (place BETWEEN {-_MOST:.0f} AND {_MOST:.0f}),
    {_lists("prefill")}, document INTEGER CHECK (document BETWEEN 1 AND {_MOST:.0f}),
    CHECK ((role = '{GOLD}') = (known IS NOT NULL) AND (role = '{DEGRADED}') = (copy IS NOT NULL))
) STRICT;
CREATE INDEX item_queue ON item (place) WHERE place IS NOT NULL;
CREATE INDEX item_role ON item (role, rank);
CREATE INDEX item_document ON item (document) WHERE document IS NOT NULL;
CREATE TABLE person (
    {_number("id", "INTEGER PRIMARY KEY", 1)},
    {_text("code", "code != '' AND code NOT GLOB '*[^A-Za-z0-9._-]*'")} UNIQUE,
    {_among("role", (OWNER, JUDGE))}, token TEXT UNIQUE CHECK (token NOT GLOB '*[^0-9a-f]*'),
    {_number("expires", "REAL")}, {_number("assigned")} DEFAULT 0
) STRICT;
-- shown: the order in which the outputs were shown; answer: the current one, NULL while it is open or undone;
-- answered: the judgement that it is from
CREATE TABLE assignment (
    {_number("id", "INTEGER PRIMARY KEY", 1)}, judge INTEGER NOT NULL REFERENCES person,
    item INTEGER NOT NULL REFERENCES item, {_number("repeat", most=1)},
    shown TEXT NOT NULL CHECK ({_whole_numbers("shown")} AND shown NOT GLOB '?*[[]*'), {_number("at", "REAL")},
    {_lists("answer")}, seconds REAL CHECK (seconds BETWEEN 0 AND {_MOST:.0f}),
    answered INTEGER, UNIQUE (judge, item, repeat),
    CHECK (answer IS NULL OR seconds IS NOT NULL AND answered IS NOT NULL)
) STRICT;
CREATE INDEX assignment_judge ON assignment (judge, answered);
CREATE INDEX assignment_open ON assignment (at) WHERE answer IS NULL;
CREATE INDEX assignment_item ON assignment (item);
-- answer: NULL where the judge took an answer back; form: the number of the form that was sent, which grows with time
CREATE TABLE judgement (
    id INTEGER PRIMARY KEY AUTOINCREMENT, assignment INTEGER NOT NULL REFERENCES assignment,
    {_lists("answer")}, {_number("seconds", "REAL")}, {_number("at", "REAL")},
    {_number("form", most=MOST_FORM)}
) STRICT;
CREATE INDEX judgement_assignment ON judgement (assignment);
"""
TABLES = ("settings", "source", "reference", "candidate", "item", "person", "assignment", "judgement")
MARKED = (
    "coalesce(copy, (SELECT text FROM candidate WHERE candidate.id = json_extract(outputs, '$[0][0]'))) AS target, "
    "(SELECT iif(show IN ('source', 'both'), source.text, '') FROM source, settings WHERE source.id = item.source) "
    "AS origin"
)
"""SQL columns of the texts of an item in which errors are marked: the translation, and its source if it is shown."""
_SIZE = "json_array_length(outputs) + (copy IS NOT NULL)"
_SIZE_OF_ITEM = f"(SELECT {_SIZE} FROM item WHERE item.id = item) AS size"
_WRONG_ANSWER = (
    "iif(:marked, json_array_length(answer) < size, json_array_length(answer) != size) "
    "OR EXISTS (SELECT 1 FROM json_each(answer) WHERE value NOT BETWEEN :lowest AND iif(:compares, size, :highest) "
    "AND NOT (:marked AND key > 0))"
)
_WRONG = {
    "there is no item": "SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM item)",
    "there are several rows of settings": "SELECT 0 WHERE (SELECT count(*) FROM settings) > 1",
    "its seed is negative": "SELECT 0 FROM settings WHERE seed < 0",
    "item {} has an output that is not of its source": "SELECT item.id FROM item, json_each(outputs) AS output, "
    "json_each(output.value) AS member LEFT JOIN candidate ON candidate.id = member.value AND "
    "candidate.source = item.source AND member.type = 'integer' GROUP BY item.id "
    "HAVING count(candidate.id) < count(*) OR count(DISTINCT member.value) < count(*)",
    "item {} has an empty output": "SELECT item.id FROM item, json_each(outputs) AS output "
    "WHERE output.type != 'array' OR json_array_length(output.value) = 0",
    "item {} has another number of outputs than its kind of task": f"SELECT id FROM item WHERE {_SIZE} "
    "NOT BETWEEN iif(:compares, 2, 1) AND :outputs",
    "item {} has known values other than a score and marks": "SELECT id FROM item WHERE known IS NOT NULL "
    "AND :marked AND (json_type(known) != 'array' OR json_array_length(known) != 2 OR json_type(known, '$[0]') NOT IN "
    "('integer', 'real', 'null') OR json_type(known, '$[1]') NOT IN ('array', 'null') "
    "OR known GLOB '*null*null*')",
    "item {} does not have a known value for each output": "SELECT id FROM item WHERE known IS NOT NULL AND "
    f"NOT :marked AND ({_SIZE} != json_array_length(known) OR json_type(known) != 'array' OR EXISTS "
    "(SELECT 1 FROM json_each(known) WHERE type NOT IN ('integer', 'real')))",
    "assignment {} shows other outputs than its item has": f"SELECT id FROM (SELECT *, {_SIZE_OF_ITEM} "
    "FROM assignment) WHERE json_array_length(shown) != size OR size != "
    "(SELECT count(DISTINCT value) FROM json_each(shown) WHERE value < size)",
    "assignment {} has an answer that does not fit its item": f"SELECT id FROM (SELECT *, {_SIZE_OF_ITEM} "
    f"FROM assignment) WHERE answer IS NOT NULL AND ({_WRONG_ANSWER})",
    "judgement {} has an answer that does not fit its item": "SELECT id FROM (SELECT judgement.*, "
    f"{_SIZE_OF_ITEM} FROM judgement JOIN assignment ON assignment.id = assignment) "
    f"WHERE answer IS NOT NULL AND ({_WRONG_ANSWER})",
}
"""SQL queries for rows that contradict the rows that they refer to, by the message about such a row."""


def check_schema(connection: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` if the tables are not those of a campaign, or fail SQLite's own checks."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(SCHEMA)
        query = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"
        expected, actual = ({tuple(row) for row in each.execute(query)} for each in (empty, connection))
    if actual != expected:
        raise sqlite3.DatabaseError("expected the tables of a campaign, found other tables")
    for (problem,) in connection.execute("PRAGMA integrity_check(1)"):
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
    for table, row, *_ in connection.execute("PRAGMA foreign_key_check"):
        raise sqlite3.DatabaseError(f"row {row} of table {table} refers to a missing row, expected only existing rows")


def check_rows(connection: sqlite3.Connection, settings: CampaignSettings) -> None:
    """Raise `sqlite3.DatabaseError` if a text is not UTF-8, or a row contradicts the rows that it refers to."""
    for table in TABLES:
        for _ in connection.execute(f"SELECT * FROM {table}"):
            pass
    kind = settings.task
    limits = {name: getattr(kind, name) for name in ("compares", "outputs", "lowest", "highest")}
    limits["marked"] = bool(kind.severities)
    for problem, query in _WRONG.items():
        for number, *_ in connection.execute(query, limits):
            raise sqlite3.DatabaseError(problem.format(number))
    if kind.severities:
        _check_marks(connection, settings)


def _check_marks(connection: sqlite3.Connection, settings: CampaignSettings) -> None:
    """Raise `sqlite3.DatabaseError` if a mark is not within its text, or has an unknown severity or category."""
    count = len(settings.category_names)
    answers = "item JOIN assignment ON item.id = item"
    for what, marks, rows, number, most in (
        ("assignment", "json_remove(answer, '$[0]')", answers, "assignment.id", count),
        (
            "judgement",
            "json_remove(judgement.answer, '$[0]')",
            f"{answers} JOIN judgement ON assignment = assignment.id",
            "judgement.id",
            count,
        ),
        # the number after the last category stands for any other category
        ("item", "json_extract(known, '$[1]')", "item", "id", count + 1),
        ("item", "prefill", "item", "id", count + 1),
    ):
        query = f"SELECT {number}, {marks} AS marks, {MARKED} FROM {rows} WHERE marks IS NOT NULL"
        for row, text, *texts in connection.execute(query):
            if not are_marks(json.loads(text), texts, len(settings.task.severities), most):
                raise sqlite3.DatabaseError(
                    f"{what} {row} has an error mark outside of its text, or of an unknown severity or category"
                )
