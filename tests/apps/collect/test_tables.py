"""Campaign files whose values were changed: refused before anything reads them, or read without harm."""

from __future__ import annotations

import json
import sqlite3

import pytest

from ranker.apps.collect import assigning
from ranker.apps.collect.campaign import settings_of
from ranker.apps.collect.exporting import dataset_of
from ranker.apps.collect.figures import figures_of
from ranker.apps.collect.making import make_campaign
from ranker.apps.collect.tables import TABLES, check_rows, check_schema
from ranker.apps.collect.tasks import KINDS
from ranker.apps.collect.web.pages import task_page
from ranker.corpora.marked_errors import MarkedError
from ranker.corpora.records import Candidate, Record, assemble
from tests.apps.collect.conftest import settings, small
from tests.apps.collect.test_quality import judge_in_file
from tests.effort import further

OTHER = (
    None,
    7,
    -1,
    1.5,
    9e999,
    "x",
    "",
    "7",
    "null",
    "[]",
    "[7]",
    '["a"]',
    "{}",
    '{"a": [1]}',
    "[[]]",
    "a\0b",
    b"\xff",
)
PARTS = (None, 7, -1, 1.5, True, "x", "a\0b", "\ud800", [], [7], ["a"], {}, {"a": 1})


@pytest.fixture(scope="module", params=["ranking", "mqm", further("score"), further("esa")])
def judged(request, tmp_path_factory):
    """A judged campaign with items of every role."""
    kind = request.param
    outputs = [Candidate(name, f"{name} known", [("score", None, value)]) for name, value in (("A", 90.0), ("B", 9.0))]
    for output in outputs:
        output.errors.append(MarkedError("minor", 0, 1, rater="r"))
    gold = assemble([Record(f"known {number}", ["right"], outputs, lp="de-en") for number in range(3)], "gold")
    path = tmp_path_factory.mktemp("judged") / "test.campaign"
    chosen = settings(kind, gold=0.3, degraded=0.3, repeat=0.3, categories="Wrong\nOther" if kind == "mqm" else None)
    prefill = {row: [[0, 0, 2, 4], [0, 0], [0, 0, 0, 2, 1]] for row in range(15)} if KINDS[kind].severities else {}
    make_campaign(path, small(sources=5), chosen, ["judge1", "judge2"], gold=gold, prefill=[prefill])

    def choose(texts):
        ranks = [1 + (len(text) % 2) for text in texts]
        return {"score": [90], "esa": [90, [1, 0, 0, 3], [0, 0, 1, 3, 1]], "mqm": [0, [0, 1, 0, 3]]}.get(kind, ranks)

    connection, _ = judge_in_file(path, {"judge1": (choose, 9.0), "judge2": (choose, 1.0)}, 14)
    roles = {row[0] for row in connection.execute("SELECT role FROM item JOIN assignment ON item = item.id")}
    assert roles == {"plain", "gold", "degraded"}
    assert is_accepted(connection)
    yield connection
    connection.close()


def is_accepted(connection):
    try:
        check_schema(connection)
        check_rows(connection, settings_of(connection))
    except (sqlite3.DatabaseError, UnicodeError):
        return False
    return True


def read_all(connection):
    """Read everything that commands and pages read."""
    chosen = settings_of(connection)
    dataset_of(connection, chosen)
    figures_of(connection, chosen)
    for row in connection.execute("SELECT max(id) AS id, judge FROM assignment GROUP BY judge").fetchall():
        assert task_page(connection, chosen, row["judge"], row["id"]) is not None
    for (judge,) in connection.execute("SELECT id FROM person").fetchall():
        assigning.next_assignment(connection, chosen, judge, 1e9)


def change(connection, table, column, values, where=""):
    """Put other values into one row, each in turn; return how many were accepted, each of which is read."""
    row = connection.execute(f"SELECT max(rowid) FROM {table} {where}").fetchone()[0]
    connection.executescript("PRAGMA foreign_keys = OFF; BEGIN")
    accepted = 0
    for value in values:
        connection.execute("SAVEPOINT one")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        stored = True
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
        except sqlite3.IntegrityError:
            stored = False
        connection.execute("PRAGMA ignore_check_constraints = OFF")
        if stored and is_accepted(connection):
            accepted += 1
            read_all(connection)
        connection.execute("ROLLBACK TO one")
    connection.execute("ROLLBACK")
    return accepted


def parts(value, path=()):
    """Yield the path of every part of a JSON document."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from parts(part, (*path, key))


def with_part(value, path, part):
    """Return a JSON document with another part."""
    if not path:
        return part
    example = dict(value) if isinstance(value, dict) else list(value)
    example[path[0]] = with_part(value[path[0]], path[1:], part)
    return example


@pytest.mark.parametrize("table", TABLES)
def test_any_other_value_of_a_column_is_refused_or_read(judged, table):
    columns = [row["name"] for row in judged.execute(f"PRAGMA table_info({table})")]
    assert all(change(judged, table, column, OTHER) < len(OTHER) for column in columns)


DOCUMENTS = [("item", "outputs", f"WHERE role = '{role}'") for role in ("plain", "gold", "degraded")]
DOCUMENTS += [("item", "known", "WHERE role = 'gold'")]
DOCUMENTS += [("assignment", "shown", ""), ("assignment", "answer", "WHERE answer IS NOT NULL")]
DOCUMENTS += [("judgement", "answer", "WHERE answer IS NOT NULL"), ("item", "prefill", "WHERE prefill IS NOT NULL")]


@pytest.mark.parametrize(("table", "column", "where"), DOCUMENTS)
def test_any_other_part_of_a_document_is_refused_or_read(judged, table, column, where):
    query = f"SELECT {column} FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table} {where})"
    row = judged.execute(query).fetchone()
    if row is None:
        pytest.skip("a kind without it")
    document = json.loads(row[0])
    others = [json.dumps(with_part(document, path, part)) for path in parts(document) for part in PARTS]
    assert change(judged, table, column, [json.dumps(document)], where) == 1
    assert change(judged, table, column, others, where) < len(others)
