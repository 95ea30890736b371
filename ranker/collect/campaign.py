"""A campaign: one SQLite file with the items to be judged, the judges, and every judgement ever given.

Judgements are only ever added. The current answer is also stored in the row of its assignment, in the same transaction,
so that history and current state cannot differ.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranker.collect.tables import SCHEMA, check_tables
from ranker.collect.tasks import KINDS, KindName, Next, Show
from ranker.errors import DataError
from ranker.files import display_name, replacing
from ranker.storage.plain_data import parse_json, record

_APPLICATION = 0x524B4C43
_VERSION = 1
_BUSY_SECONDS = 20.0
_LONGEST_SECONDS = 1e6


@dataclass(frozen=True)
class CampaignSettings:
    """Settings of a campaign.

    Parameters
    ----------
    id : str
        Random; distinguishes the cookies of several campaigns on one computer.
    title : str
    kind : str
        A key of `ranker.collect.tasks.KINDS`.
    show : str
        Text shown with the outputs: ``source``, ``reference``, ``both`` or ``none``.
    next : str
        ``uniform``, ``overlap`` or ``active``.
    judges_per_item : int
        Judges per item; with ``overlap``, this applies to a proportion `overlap` of the items.
    overlap : float
        Proportion of items given to several judges.
    gold, degraded, repeat : float
        Proportions of a judge's items that are gold items, degraded copies and repeated items.
    quota : int or None
        Maximum number of items per judge.
    min_seconds : float
        Judgements faster than this are counted as too fast.
    features : str
        Features of the ranker trained in the background.
    seed : int
    url : str
        Public address of the server.
    """

    id: str
    title: str
    kind: KindName
    show: Show
    next: Next = "uniform"
    judges_per_item: int = 1
    overlap: float = 0.2
    gold: float = 0.0
    degraded: float = 0.05
    repeat: float = 0.05
    quota: int | None = None
    min_seconds: float = 2.0
    features: str = "bleu1-4"
    seed: int = 0
    url: str = "http://127.0.0.1:8765"


def connect(path: str | Path) -> sqlite3.Connection:
    """Open a campaign file.

    Raises
    ------
    DataError
        If there is no such file, or it is not a campaign of this version.
    """
    name = display_name(path)
    if not Path(path).is_file():
        raise DataError("no such campaign; create one with: ranker collect new", file=name)
    try:
        connection = _open(path)
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except (sqlite3.Error, OSError, ValueError) as error:
        raise DataError(f"is not a campaign file, or is damaged ({error})", file=name) from None
    if application != _APPLICATION:
        raise DataError("is not a campaign file; expected a file created by: ranker collect new", file=name)
    if version != _VERSION:
        raise DataError(f"has campaign format version {version}, expected {_VERSION}", file=name)
    return connection


@contextmanager
def opened(path: str | Path) -> Iterator[tuple[sqlite3.Connection, CampaignSettings]]:
    """Open a campaign file that may be damaged, and return it with its settings; it is closed after the block.

    Raises
    ------
    DataError
        As `connect`, and where damage shows, also inside the block.
    """
    with closing(connect(path)) as connection:
        try:
            problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise sqlite3.DatabaseError(problem)
            settings = settings_of(connection)
            # what a server writes meanwhile is not looked at
            connection.execute("BEGIN")
            check_tables(connection, KINDS[settings.kind])
            connection.execute("COMMIT")
            yield connection, settings
        except (sqlite3.Error, UnicodeError) as error:
            # a message of SQLite may quote what is damaged, and need not be UTF-8 then
            what = f"cannot be used ({error}): wait if another process is using it, or restore it from a copy"
            raise DataError(what, file=display_name(path)) from None


def _open(path: str | Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    # FULL: an acknowledged judgement survives a power failure, not only a killed process
    connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32000;")
    return connection


def check_new(path: str | Path) -> None:
    """Check that a campaign file can be created at this path.

    Raises
    ------
    DataError
    """
    try:
        taken = Path(path).exists()
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be written: {error}", file=display_name(path)) from None
    if taken:
        raise DataError("already exists; choose another name or delete it", file=display_name(path))


def create(settings: CampaignSettings) -> sqlite3.Connection:
    """Create an empty campaign in memory."""
    connection = _open(":memory:")
    connection.executescript(SCHEMA)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    with transaction(connection):
        connection.execute("INSERT INTO setting VALUES ('settings', ?)", (json.dumps(dataclasses.asdict(settings)),))
    return connection


def save(connection: sqlite3.Connection, path: str | Path) -> None:
    """Write a campaign from memory to a file, atomically.

    Raises
    ------
    DataError
        If it cannot be written.
    """
    # tokens are stored as hashes only, but texts and judgements are nobody else's business either
    with replacing(path, mode=0o600) as stream:
        stream.write(connection.serialize())


def settings_of(connection: sqlite3.Connection) -> CampaignSettings:
    """Return the settings of an open campaign.

    Raises
    ------
    sqlite3.DatabaseError
        If they are missing, incomplete or out of range.
    """
    row = connection.execute("SELECT value FROM setting WHERE name = 'settings'").fetchone()
    try:
        settings = record(CampaignSettings, parse_json(row["value"], ""))
        fit = _fit(settings)
    except (DataError, AttributeError, KeyError, TypeError, ValueError):
        fit = False
    if not fit:
        raise sqlite3.DatabaseError("its settings are incomplete")
    return settings


def _fit(settings: CampaignSettings) -> bool:
    """Return whether settings are in the ranges that the command line allows."""
    shares = (settings.overlap, settings.gold, settings.degraded, settings.repeat)
    counts = (settings.judges_per_item, 1 if settings.quota is None else settings.quota)
    return (
        re.fullmatch(r"[A-Za-z0-9]{1,32}", settings.id) is not None
        and settings.show in KINDS[settings.kind].shown
        and all(0 <= share <= 1 for share in shares)
        and all(count >= 1 for count in counts)
        and 0 <= settings.min_seconds <= _LONGEST_SECONDS
        and "\0" not in f"{settings.title}{settings.features}{settings.url}"
    )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def count_judgements(connection: sqlite3.Connection) -> int:
    """Return the number of assignments that have an answer."""
    return int(connection.execute("SELECT count(*) FROM assignment WHERE answer IS NOT NULL").fetchone()[0])


def count_counted(connection: sqlite3.Connection) -> int:
    """Return the number of answers that are exported, without checks and repeated items."""
    query = (
        "SELECT count(*) FROM assignment JOIN item ON item.id = item "
        "WHERE answer IS NOT NULL AND repeat = 0 AND role = 'plain'"
    )
    return int(connection.execute(query).fetchone()[0])


def store_result(connection: sqlite3.Connection, name: str, judgements: int, value: bytes | str) -> None:
    """Store a result computed in the background, replacing the previous one."""
    connection.execute("INSERT OR REPLACE INTO result VALUES (?, ?, ?, ?)", (name, time.time(), judgements, value))


def forget_result(connection: sqlite3.Connection, name: str) -> None:
    """Delete a stored result."""
    connection.execute("DELETE FROM result WHERE name = ?", (name,))


def result(connection: sqlite3.Connection, name: str) -> sqlite3.Row | None:
    """Return a stored result with the time and the number of judgements it was computed from, or None."""
    row: sqlite3.Row | None = connection.execute("SELECT * FROM result WHERE name = ?", (name,)).fetchone()
    return row


def outputs_of(connection: sqlite3.Connection, item: sqlite3.Row) -> list[dict[str, Any]]:
    """Return the outputs of an item, each with its ``text`` and its ``candidates``."""
    outputs: list[dict[str, Any]] = json.loads(item["outputs"])
    for output in outputs:
        if "text" not in output:
            row = connection.execute("SELECT text FROM candidate WHERE id = ?", (output["candidates"][0],)).fetchone()
            output["text"] = row["text"]
    return outputs
