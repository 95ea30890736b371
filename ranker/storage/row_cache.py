"""Results of slow computations kept on disk: rows of bytes, each named by a digest of its input.

One SQLite file in ``$RANKER_CACHE`` or the platform's user cache directory; it can be deleted at any time. A cache
never costs more than time and never changes a result: every row has a checksum, a damaged file is made anew, and where
a file cannot be read or written the computation goes on without it. Each of these is reported in one line.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self, TypeVar

from ranker.errors import log_note
from ranker.files import cache_directory, display_name, printable

_AT_ONCE = 500
_CHECK = 8
_WAIT_SECONDS = 10.0
_TABLE = "CREATE TABLE IF NOT EXISTS rows (name BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID"
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_ERROR)
_FAILURES = (OSError, ValueError, sqlite3.Error, OverflowError, MemoryError)
T = TypeVar("T")


class RowCache:
    """Context manager for a cache on disk that keeps rows of bytes, each under a name."""

    def __init__(self, subject: str, name: str) -> None:
        self.subject = subject
        self.path = cache_directory() / subject / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.sqlite"
        self._connection: sqlite3.Connection | None = None
        self._may_start_anew = True
        self._damaged_rows = 0

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        if self._damaged_rows:
            self._say(f"has {self._damaged_rows:,} damaged rows, which are recomputed")

    def known(self, names: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the cached rows with the given `names`, by name, leaving out rows whose checksum is wrong."""
        cached: dict[bytes, bytes] = {}
        for start in range(0, len(names), _AT_ONCE):
            part = names[start : start + _AT_ONCE]
            query = f"SELECT name, row FROM rows WHERE name IN ({','.join('?' * len(part))})"
            for name, row in self._try(lambda connection: connection.execute(query, part).fetchall()) or ():  # noqa: B023
                if isinstance(row, bytes) and isinstance(name, bytes) and row[:_CHECK] == _check(name, row[_CHECK:]):
                    cached[name] = row[_CHECK:]
                else:
                    self._damaged_rows += 1
        return cached

    def keep(self, rows: Mapping[bytes, bytes]) -> None:
        """Write rows, replacing cached rows of the same names; on return they are on disk, unless writing failed."""
        packed = [(name, _check(name, row) + row) for name, row in rows.items()]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", packed)

        self._try(write)

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(0o600)
            for path in (self.path.parent, self.path):
                # it holds texts, for nobody but its user; what SQLite puts beside it gets the same mode
                if (mode := path.stat().st_mode) & 0o077:
                    path.chmod(mode & 0o700)
            self._connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
            for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", _TABLE):
                self._connection.execute(statement)
        except _FAILURES as error:
            self._fail(error)

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _try(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return the result of `work` on the database, or None if the cache file cannot be used."""
        if self._connection is None:
            return None
        try:
            return work(self._connection)
        except _FAILURES as error:
            self._fail(error)
        return None

    def _fail(self, error: Exception) -> None:
        """Create a damaged cache file again, but only once; in all other cases, continue without the file."""
        self._close()
        # a message of SQLite may quote what is damaged, and need not be UTF-8 then
        code = getattr(error, "sqlite_errorcode", 0 if isinstance(error, OSError) else sqlite3.SQLITE_ERROR)
        if code & 0xFF in _IN_USE:
            self._say("is in use by another process; continuing without it")
            return
        if self._may_start_anew and (code & 0xFF in _DAMAGED or code == sqlite3.SQLITE_IOERR_SHORT_READ):
            self._may_start_anew, self._damaged_rows = False, 0
            with contextlib.suppress(OSError):
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{self.path}{suffix}").unlink(missing_ok=True)
                self._say(f"is damaged ({error}) and is created again")
                self._open()
                return
        self._say(f"cannot be used ({error}); continuing without it")

    def _say(self, what: str) -> None:
        log_note(f"the cache of {self.subject} {printable(what)}", display_name(self.path))


def _check(name: bytes, row: bytes) -> bytes:
    return hashlib.blake2b(name + row, digest_size=_CHECK).digest()
