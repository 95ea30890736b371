"""A campaign: one SQLite file with the items to be judged, the judges, and every judgement ever given.

Judgements are only ever added. The current answer is also stored in the row of its assignment, in the same transaction,
so that history and current state cannot differ.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ranker.apps.collect.access import JUDGE
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tables import PLAIN, SCHEMA, check_rows, check_schema
from ranker.errors import DataError, MissingError, OptionError
from ranker.files import display_name, printable, replacing

_APPLICATION = 0x524B4C43
_VERSION = 6
_SIDE_FILES = ("-wal", "-shm", "-journal")
_BUSY_SECONDS = 5.0
_OLDEST_SQLITE = (3, 37)
_NO_CAMPAIGN = "is not a campaign file; expected a file created by: ranker collect new"
_DURABLE = """
-- FULL: an acknowledged judgement survives a power failure, not only a killed process; fullfsync: on macOS too
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
PRAGMA cache_size = -32000; PRAGMA foreign_keys = ON;
"""
_RATE_WINDOWS = (600.0, 3600.0, 86_400.0)


@dataclass(frozen=True)
class CampaignProgress:
    """Progress of a campaign: judgements and judges so far, the rate of answers, and the time left.

    `further` is the number of answers that are not exported, `rate` is in answers per hour, and `left` is in seconds.
    """

    judged: int
    wanted: int
    further: int
    judges: int
    rate: float | None
    left: float | None


def host_and_port(url: str) -> tuple[str, int | None]:
    """Return the host and the port of a public address; raise an `OptionError` if it is malformed."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https") or not url.isprintable() or " " in url:
        raise OptionError(f"--url {printable(url)[:80]!r}: expected an address such as https://judge.example.org")
    return host, port


def connect(path: str | Path) -> sqlite3.Connection:
    """Open a campaign file as an SQLite database; raise a `DataError` if it is not a campaign of this version.

    If anything else in a process opens a database's file and closes it, the system drops the locks of all connections
    of the process (SQLite, "How To Corrupt An SQLite Database File", 2.2), and other processes delete what they write.
    """
    name = display_name(path)
    if not Path(path).is_file():
        raise DataError("no such campaign; create one with: ranker collect new", file=name)
    if Path(path).stat().st_nlink > 1:
        raise DataError(
            "has a second name (a hard link), and each name would show different judgements: delete one of the names",
            file=name,
        )
    connection = None
    try:
        # "rw" makes no new file
        connection = _connection(f"{Path(path).absolute().as_uri()}?mode=rw")
        application, version = (
            connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("application_id", "user_version")
        )
        if (application, version) == (_APPLICATION, _VERSION):
            connection.executescript(_DURABLE)
            return connection
        what = f"has campaign format version {version}, expected {_VERSION}: use the version of ranker that created it"
        what = f"{what} to export its judgements" if application == _APPLICATION else _NO_CAMPAIGN
    except (sqlite3.Error, OSError, ValueError) as error:
        other = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB
        damaged = f"is not a campaign file, or is damaged ({error}): restore it from a copy"
        what = _NO_CAMPAIGN if other else (_denied(Path(path), error) or damaged)
    if connection is not None:
        connection.close()
    raise DataError(what, file=name)


def _denied(path: Path, error: Exception) -> str | None:
    """Return a message on the permission that SQLite lacks to open a campaign, or None for an error of another kind."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return None
    folder = path.resolve().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        return (
            f"cannot be opened: no permission to write in its directory {display_name(folder)}, where a campaign needs "
            "files of its own: give the permission, or copy the campaign to another directory"
        )
    if not os.access(path, os.R_OK | os.W_OK):
        return "cannot be opened: no permission to read and write this file; give both"
    return None


def files_of(path: str | Path) -> list[tuple[int, int]]:
    """Return the device and inode numbers of a campaign's files, to detect moved, deleted or replaced files."""
    facts = [Path(f"{path}{suffix}").stat() for suffix in ("", "-wal")]
    return [(fact.st_dev, fact.st_ino) for fact in facts]


@contextmanager
def opened(path: str | Path) -> Iterator[tuple[sqlite3.Connection, CampaignSettings]]:
    """Open a campaign file and read its settings; damage found on opening or in the block raises a `DataError`."""
    with closing(connect(path)) as connection:
        try:
            # one transaction: what a server writes meanwhile is not checked
            connection.execute("BEGIN")
            check_schema(connection)
            settings = settings_of(connection)
            check_rows(connection, settings)
            connection.execute("COMMIT")
            yield connection, settings
        except (sqlite3.Error, UnicodeError) as error:
            # a message of SQLite may quote what is damaged, and need not be UTF-8 then
            what = f"cannot be used ({error}): wait if another process is using it, or restore it from a copy"
            raise DataError(_denied(Path(path), error) or what, file=display_name(path)) from None


def _connection(name: str) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise MissingError(
            f"ranker collect needs SQLite 3.37 or newer; found {sqlite3.sqlite_version}: use a newer Python"
        )
    connection = sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def check_new(path: str | Path) -> None:
    """Raise a `DataError` if a campaign file cannot be created at this path."""
    try:
        # changes that another campaign of this name left would become part of this one
        taken = [name for name in (f"{path}{suffix}" for suffix in ("", *_SIDE_FILES)) if Path(name).exists()]
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be written ({error}): choose another name", file=display_name(path)) from None
    if taken:
        raise DataError("already exists; choose another name or delete it", file=display_name(taken[0]))


def create(settings: CampaignSettings) -> sqlite3.Connection:
    """Create an empty campaign in memory."""
    connection = _connection(":memory:")
    connection.executescript(f"PRAGMA foreign_keys = ON; {SCHEMA}")
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    insert(connection, "settings", **dataclasses.asdict(settings))
    return connection


def insert(connection: sqlite3.Connection, table: str, **values: object) -> int:
    """Insert a row into a table, and return the id of the row."""
    places = ", ".join("?" * len(values))
    cursor = connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", (*values.values(),))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def save(connection: sqlite3.Connection, path: str | Path) -> None:
    """Write a campaign from memory to a file, atomically."""
    # readable by the owner only: tokens are stored as hashes, but texts and judgements are private too
    with replacing(path, mode=0o600) as stream:
        stream.write(connection.serialize())


def settings_of(connection: sqlite3.Connection) -> CampaignSettings:
    """Return the settings of an open campaign; raise `sqlite3.DatabaseError` if they are missing."""
    row = connection.execute("SELECT * FROM settings").fetchone()
    if row is None:
        raise sqlite3.DatabaseError("its table of settings is empty, expected one row")
    return CampaignSettings(**{**row, "show_gold": bool(row["show_gold"])})


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def count_judgements(connection: sqlite3.Connection) -> int:
    """Return the number of assignments that have an answer."""
    return int(connection.execute("SELECT count(*) FROM assignment WHERE answer IS NOT NULL").fetchone()[0])


def count_counted(connection: sqlite3.Connection) -> int:
    """Return the number of answers that are exported: all but the answers to checks and repeated items."""
    query = (
        "SELECT count(*) FROM assignment JOIN item ON item.id = item "
        "WHERE answer IS NOT NULL AND repeat = 0 AND role = 'plain'"
    )
    return int(connection.execute(query).fetchone()[0])


def output_texts(connection: sqlite3.Connection, item: sqlite3.Row) -> list[str]:
    """Return the texts of an item's outputs; a degraded copy comes last."""
    query = "SELECT text FROM candidate WHERE id = ?"
    texts = [connection.execute(query, (same[0],)).fetchone()[0] for same in json.loads(item["outputs"])]
    return texts if item["copy"] is None else [*texts, item["copy"]]


def progress_of(connection: sqlite3.Connection) -> CampaignProgress:
    """Count the finished and remaining judgements of a campaign."""

    def count(query: str, *values: object) -> Any:
        return connection.execute(query, values).fetchone()[0]

    wanted = count("SELECT coalesce(sum(wanted), 0) FROM item WHERE role = ?", PLAIN)
    judged, total, now = count_counted(connection), count_judgements(connection), time.time()
    judges = count("SELECT count(*) FROM person WHERE role = ?", JUDGE)
    rate = None
    start = count("SELECT min(at) FROM judgement")
    for window in _RATE_WINDOWS:
        recent = count("SELECT count(*) FROM judgement WHERE at > ?", now - window)
        if recent >= 5:
            rate = 3600 * recent / max(min(window, now - start), 1.0)
            break
    share = judged / total if total else 1.0
    missing = max(wanted - judged, 0)
    left = missing / (rate * share) * 3600 if rate and share else None if missing else 0.0
    return CampaignProgress(judged, wanted, total - judged, judges, rate, left)
