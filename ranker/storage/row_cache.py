"""Results of slow computations kept on disk: rows of bytes, each named by a digest of what it was computed from.

One SQLite file in ``$RANKER_CACHE`` or the platform's user cache directory; it can be deleted at any time. A cache must
never cost more than time, and never change a result: every row has a checksum of its own, a file that is damaged is set
aside and made anew, and where a file cannot be read or written the computation goes on without it. Each of these is
said in one line. Nothing is written but in transactions that end at once, so that several runs can share a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from ranker.errors import note_logger
from ranker.files import cache_directory, display_name, printable

_LOG = note_logger(__name__)
_AT_ONCE = 500
_CHECK = 8
_WAIT_SECONDS = 10.0
_TABLE = "CREATE TABLE IF NOT EXISTS rows (name BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID"
_BUSY, _LOCKED = sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_ERROR)
_SHORT_READ = sqlite3.SQLITE_IOERR_SHORT_READ
T = TypeVar("T")


class RowCache:
    """Rows of bytes by name; a context manager."""

    def __init__(self, subject: str, name: str) -> None:
        self.subject = subject
        file = f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.sqlite"
        self.path = cache_directory() / subject / file
        self._connection: sqlite3.Connection | None = None
        self._may_start_anew = True
        self._reported: set[str] = set()
        self._damaged_rows = 0

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if self._damaged_rows:
            self._say(f"has {self._damaged_rows:,} damaged rows, which are recomputed")

    def known(self, names: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the rows that are there, by name; a row whose checksum is wrong is not."""
        cached: dict[bytes, bytes] = {}
        damaged = 0
        for start in range(0, len(names), _AT_ONCE):
            part = names[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            query = f"SELECT name, row FROM rows WHERE name IN ({marks})"
            for name, row in self._try(lambda connection: connection.execute(query, part).fetchall()) or ():  # noqa: B023
                sound = (
                    isinstance(row, bytes) and isinstance(name, bytes) and row[:_CHECK] == _check(name, row[_CHECK:])
                )
                damaged += not sound
                if sound:
                    cached[name] = row[_CHECK:]
        self._damaged_rows += damaged
        return cached

    def keep(self, rows: Mapping[bytes, bytes]) -> None:
        """Write rows, replacing those that are there; they are safe when this returns, unless there is no room."""
        packed = [(name, _check(name, row) + row) for name, row in rows.items()]
        self._try(lambda connection: _write(connection, packed))

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(0o600)
            for path in (self.path.parent, self.path):
                # it holds texts, for nobody but its user; what SQLite puts beside it gets the same mode
                if (mode := path.stat().st_mode) & 0o077:
                    path.chmod(mode & 0o700)
            self._connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
        except (OSError, ValueError, sqlite3.Error) as error:
            self._say(f"cannot be used ({error}); continuing without it")
            return
        self._try(_prepare)

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _try(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return what `work` returns, or None where the file does not let it."""
        if self._connection is None:
            return None
        try:
            return work(self._connection)
        except (sqlite3.Error, OverflowError, MemoryError, UnicodeError) as error:
            # a message of SQLite may quote what is damaged, and need not be UTF-8 then
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            if code & 0xFF in (_BUSY, _LOCKED):
                self._say("is in use by another process; continuing without it")
            elif code & 0xFF in _DAMAGED or code == _SHORT_READ:
                self._start_anew(error)
            else:
                self._say(f"cannot be used ({error}); continuing without it")
                self._close()
        return None

    def _start_anew(self, error: BaseException) -> None:
        self._close()
        # one line says enough
        self._damaged_rows = 0
        broken = self.path.with_suffix(".broken")
        if not self._may_start_anew:
            self._say(f"is damaged ({error}); continuing without it")
            return
        self._may_start_anew = False
        try:
            for suffix in ("-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            self.path.replace(broken)
        except OSError as problem:
            self._say(f"is damaged and cannot be moved away ({problem.strerror or problem}); continuing without it")
            return
        self._say(f"is damaged ({error}); moved to {display_name(broken.name)} and created again")
        self._open()

    def _say(self, what: str) -> None:
        if what not in self._reported:
            self._reported.add(what)
            _LOG.warning("ranker: note: %s: the cache of %s %s", display_name(self.path), self.subject, printable(what))


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(_TABLE)


def _write(connection: sqlite3.Connection, rows: Iterable[tuple[bytes, bytes]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", rows)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _check(name: bytes, row: bytes) -> bytes:
    return hashlib.blake2b(name + row, digest_size=_CHECK).digest()
