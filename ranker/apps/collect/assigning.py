"""Assigns items to judges and stores their answers. Each function is one step of a transaction."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Sequence
from typing import Any

from ranker.apps.collect.campaign import insert, output_texts
from ranker.apps.collect.degrading import degraded
from ranker.apps.collect.marking import moved, quality_of
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tables import DEGRADED, GOLD, PLAIN

HELD_SECONDS = 3600.0
"""Seconds after which an item that was opened but not judged goes to another judge, if no other item is left."""
_ROUND = 1_000_000.0
_LATER = 1.5 * _ROUND
"""Penalty in the queue for items of documents that another judge has begun, so that a judge begins new ones first."""
_APART = 3
"""Minimum distance, in items, between an item and its degraded copy or repetition."""


def place_of(settings: CampaignSettings, rank: float, assigned: int, wanted: int) -> float | None:
    """Return an item's sort key in the queue, lowest first; None if enough judges are assigned to the item."""
    if assigned >= wanted:
        return None
    if settings.next == "overlap":
        return rank - _ROUND if assigned else rank
    return assigned * _ROUND + rank


def next_assignment(connection: sqlite3.Connection, settings: CampaignSettings, judge: int, now: float) -> int | None:
    """Return the id of a judge's unanswered assignment, or else of a new one; None if no item is left."""
    row = connection.execute(
        "SELECT id FROM assignment WHERE judge = ? AND answer IS NULL ORDER BY id LIMIT 1", (judge,)
    ).fetchone()
    if row is not None:
        return int(row["id"])
    number = connection.execute("SELECT assigned FROM person WHERE id = ?", (judge,)).fetchone()["assigned"]
    if settings.quota is not None and number >= settings.quota:
        return None
    generator = random.Random(f"{settings.seed} {judge} {number}")
    chance = generator.random()
    result: tuple[int, bool] | None = None
    for share, choose in ((settings.gold, _gold), (settings.degraded, _degraded), (settings.repeat, _repeated)):
        if 0 <= chance < share:
            result = choose(connection, settings, judge, generator)
        chance -= share
    result = result or _plain(connection, settings, judge) or _left_open(connection, judge, now)
    if result is None:
        return None
    item, repeat = result
    row = connection.execute("SELECT outputs, copy FROM item WHERE id = ?", (item,)).fetchone()
    size = len(json.loads(row["outputs"])) + (row["copy"] is not None)
    shown = json.dumps(generator.sample(range(size), size))
    connection.execute("UPDATE person SET assigned = assigned + 1 WHERE id = ?", (judge,))
    return insert(connection, "assignment", judge=judge, item=item, repeat=int(repeat), shown=shown, at=now)


def _plain(connection: sqlite3.Connection, settings: CampaignSettings, judge: int) -> tuple[int, bool] | None:
    last = connection.execute(
        "SELECT document FROM assignment JOIN item ON item.id = item WHERE judge = ? AND role = ? AND repeat = 0 "
        "ORDER BY assignment.id DESC LIMIT 1",
        (judge, PLAIN),
    ).fetchone()
    document = None if last is None else last["document"]
    query = (
        "SELECT * FROM item WHERE place IS NOT NULL AND {} "
        "AND NOT EXISTS (SELECT 1 FROM assignment WHERE judge = ? AND item = item.id) ORDER BY {} LIMIT 1"
    )
    # the rest of a document in its order, before another is begun
    row = connection.execute(query.format("document = ?", "id"), (document, judge)).fetchone()
    begins = row is None
    if begins:
        row = connection.execute(query.format("TRUE", "place, id"), (judge,)).fetchone()
    if row is None:
        return None
    assigned = row["given"] + 1
    connection.execute(
        "UPDATE item SET given = ?, place = ? WHERE id = ?",
        (assigned, place_of(settings, row["rank"], assigned, row["wanted"]), row["id"]),
    )
    if begins:
        later = "UPDATE item SET place = place + ? WHERE document = ? AND place IS NOT NULL AND id > ?"
        connection.execute(later, (_LATER, row["document"], row["id"]))
    return row["id"], False


def left_for(connection: sqlite3.Connection, judge: int) -> int:
    """Return the number of items that a judge has begun, or will get unless others judge them: not counting checks."""
    waiting = connection.execute("SELECT count(*) FROM item WHERE place IS NOT NULL").fetchone()[0]
    known, begun = connection.execute(
        "SELECT coalesce(sum(place IS NOT NULL AND repeat = 0), 0), coalesce(sum(answer IS NULL), 0) "
        "FROM assignment JOIN item ON item.id = item WHERE judge = ?",
        (judge,),
    ).fetchone()
    return int(waiting - known + begun)


def _left_open(connection: sqlite3.Connection, judge: int, now: float) -> tuple[int, bool] | None:
    """Return the id of an item that too few judges have answered or opened lately, and False; None if there is none."""
    # SQLite begins a CROSS JOIN with its first table: open assignments are few
    row = connection.execute(
        "SELECT open.item FROM assignment AS open CROSS JOIN item ON item.id = open.item "
        "WHERE open.answer IS NULL AND open.at < :since AND open.repeat = 0 AND item.role = :role AND item.wanted > "
        "(SELECT count(*) FROM assignment WHERE item = open.item AND repeat = 0 "
        "AND (answer IS NOT NULL OR at >= :since)) AND NOT EXISTS "
        "(SELECT 1 FROM assignment WHERE judge = :judge AND item = open.item) ORDER BY open.at LIMIT 1",
        {"since": now - HELD_SECONDS, "role": PLAIN, "judge": judge},
    ).fetchone()
    return None if row is None else (row["item"], False)


def _gold(
    connection: sqlite3.Connection, settings: CampaignSettings, judge: int, generator: random.Random
) -> tuple[int, bool] | None:
    row = connection.execute(
        "SELECT id FROM item WHERE role = ? AND NOT EXISTS "
        "(SELECT 1 FROM assignment WHERE judge = ? AND item = item.id) ORDER BY given, rank LIMIT 1",
        (GOLD, judge),
    ).fetchone()
    if row is None:
        return None
    connection.execute("UPDATE item SET given = given + 1 WHERE id = ?", (row["id"],))
    return row["id"], False


def _degraded(
    connection: sqlite3.Connection, settings: CampaignSettings, judge: int, generator: random.Random
) -> tuple[int, bool] | None:
    """Create an item with a degraded output; return the item's id and False, or None if no item can be degraded.

    False means that the item is no repetition of an earlier one. The degraded output is shown with its original if
    outputs are compared, otherwise alone.
    """
    kind = settings.task
    if kind.compares:
        last = connection.execute("SELECT max(id) AS last FROM item WHERE role = ?", (PLAIN,)).fetchone()["last"]
        original = connection.execute(
            "SELECT * FROM item WHERE id >= ? AND role = ? LIMIT 1", (generator.randint(1, last), PLAIN)
        ).fetchone()
    else:
        original = _judged_before(connection, judge, generator, settings)
    if original is None:
        return None
    texts = output_texts(connection, original)
    chosen = generator.randrange(len(texts))
    copy = degraded(texts[chosen], _other_text(connection, original["source"], generator), generator)
    values = {"source": original["source"], "copy": copy, "outputs": "[]", "below": original["id"]}
    if original["prefill"] is not None:
        values["prefill"] = moved(original["prefill"], texts[chosen], copy)
    if kind.compares:
        # the copy takes the place of another output if the page is full
        rest = [place for place in range(len(texts)) if place != chosen]
        rest = [chosen, *generator.sample(rest, min(len(rest), kind.outputs - 2))]
        outputs = json.loads(original["outputs"])
        values |= {"outputs": json.dumps([outputs[place] for place in rest]), "below": None}
    return insert(connection, "item", role=DEGRADED, rank=0, wanted=0, given=1, **values), False


def _other_text(connection: sqlite3.Connection, source: int, generator: random.Random) -> str:
    """Return a random output of another source, if possible a source of the same language pair."""
    language = connection.execute("SELECT lp FROM source WHERE id = ?", (source,)).fetchone()["lp"]
    last = connection.execute("SELECT max(id) AS last FROM candidate").fetchone()["last"]
    start = generator.randint(1, last)
    for same, first in ((True, start), (True, 1), (False, 1)):
        row = connection.execute(
            "SELECT candidate.text FROM candidate JOIN source ON source.id = candidate.source WHERE candidate.id >= ? "
            "AND source.id != ? AND candidate.text != '' AND (source.lp IS ? OR ?) ORDER BY candidate.id LIMIT 1",
            (first, source, language, not same),
        ).fetchone()
        if row is not None:
            return str(row["text"])
    return "x"


def _repeated(
    connection: sqlite3.Connection, settings: CampaignSettings, judge: int, generator: random.Random
) -> tuple[int, bool] | None:
    item = _judged_before(connection, judge, generator)
    return None if item is None else (item["id"], True)


def _judged_before(
    connection: sqlite3.Connection, judge: int, generator: random.Random, to_degrade: CampaignSettings | None = None
) -> sqlite3.Row | None:
    """Return an item that a judge saw once, a while ago; with `to_degrade`, one rated well enough to be degraded."""
    rows = connection.execute(
        "SELECT item.*, answer FROM assignment AS first JOIN item ON item.id = first.item "
        "WHERE judge = ? AND item.role = ? AND answer IS NOT NULL AND NOT EXISTS (SELECT 1 FROM assignment AS again "
        "WHERE again.judge = first.judge AND again.item = first.item AND again.repeat = 1) ORDER BY first.id DESC "
        "LIMIT 50 OFFSET ?",
        (judge, PLAIN, _APART),
    ).fetchall()
    if to_degrade is not None:
        kind = to_degrade.task
        least = kind.lowest + (kind.highest - kind.lowest) // 4
        rows = [row for row in rows if quality_of(json.loads(row["answer"]), to_degrade) > least]
    return generator.choice(rows) if rows else None


def new_form(connection: sqlite3.Connection, assignment: int | None) -> int:
    """Return the number of a new form to change an assignment: 1 more than the number of the form that changed it last.

    A form is accepted only if nothing was changed since it was shown. So it is accepted once, and a page that was left
    open, or arrives late, replaces neither a later answer nor an undo.
    """
    last = None if assignment is None else last_change(connection, assignment)
    return 1 + (0 if last is None else last["form"])


def last_change(connection: sqlite3.Connection, assignment: int) -> sqlite3.Row | None:
    """Return the row of an assignment's last judgement: an answer or an undo."""
    query = "SELECT * FROM judgement WHERE assignment = ? ORDER BY id DESC LIMIT 1"
    row: sqlite3.Row | None = connection.execute(query, (assignment,)).fetchone()
    return row


def is_final(connection: sqlite3.Connection, assignment: int) -> bool:
    """True if the judge has seen the known answer to an assignment."""
    query = (
        "SELECT 1 FROM assignment JOIN item ON item.id = item, settings "
        "WHERE assignment.id = ? AND role = ? AND answer IS NOT NULL AND show_gold"
    )
    return connection.execute(query, (assignment, GOLD)).fetchone() is not None


def save(
    connection: sqlite3.Connection, judge: int, assignment: int, answer: Sequence[object], form: int, now: float
) -> bool:
    """Store a judge's answer to an assignment, keeping earlier answers; return False if the form comes too late.

    Return True if the answer is stored, now or when the same form was sent before.
    """
    row = connection.execute("SELECT * FROM assignment WHERE id = ? AND judge = ?", (assignment, judge)).fetchone()
    text = json.dumps(list(answer))
    last = last_change(connection, assignment)
    if last is not None and (form <= last["form"] or is_final(connection, assignment)):
        return (last["form"], last["answer"]) == (form, text)
    seconds = max(0.0, now - (row["at"] if last is None else last["at"]))
    answered = insert(connection, "judgement", assignment=assignment, answer=text, seconds=seconds, at=now, form=form)
    # the time that counts is that of the first answer
    connection.execute(
        "UPDATE assignment SET answer = ?, seconds = coalesce(seconds, ?), answered = ? WHERE id = ?",
        (text, seconds, answered, assignment),
    )
    return True


def undo(connection: sqlite3.Connection, judge: int, assignment: int, form: int, now: float) -> bool:
    """Undo the answer to an assignment; return False if the answer is newer than the form, or not the judge's last."""
    last = last_change(connection, assignment)
    if last is None or form <= last["form"]:
        return last is not None and (last["form"], last["answer"]) == (form, None)
    if last_answered(connection, judge) != assignment:
        return False
    insert(connection, "judgement", assignment=assignment, answer=None, seconds=0, at=now, form=form)
    connection.execute("UPDATE assignment SET answer = NULL WHERE id = ?", (assignment,))
    return True


def last_answered(connection: sqlite3.Connection, judge: int) -> int | None:
    """Return the assignment that a judge answered last; None if there is none, or its answer cannot be undone."""
    row = connection.execute(
        "SELECT id FROM assignment WHERE judge = ? AND answer IS NOT NULL ORDER BY answered DESC LIMIT 1", (judge,)
    ).fetchone()
    return None if row is None or is_final(connection, row["id"]) else int(row["id"])


def earlier_answer(connection: sqlite3.Connection, assignment: int) -> list[Any] | None:
    """Return the most recent answer to an assignment, even if it was undone; None if there is none."""
    row = connection.execute(
        "SELECT answer FROM judgement WHERE assignment = ? AND answer IS NOT NULL ORDER BY id DESC LIMIT 1",
        (assignment,),
    ).fetchone()
    return None if row is None else list(json.loads(row["answer"]))
