"""Columns of the semantic extractor, each different pair of texts computed once and kept on disk.

One SQLite file an encoder and set of options, in ``$RANKER_CACHE`` or the platform's user cache directory, its rows
named by the sub-words of both texts: content-addressed as the cache of parses, safe under concurrent runs and under
kill -9, and free to be deleted.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import numpy as np

from ranker.arrays import BoolArray, FloatArray
from ranker.files import cache_directory
from ranker.learning.encoder.encoder import Pieces

_AT_ONCE = 500
_DIGEST = 16


def text_keys(pieces: Pieces) -> list[bytes]:
    """Return a key of every text: equal for texts that an encoder cannot tell apart, as those equal up to case."""
    both = np.stack([pieces.ids, pieces.word], axis=1)
    return [
        hashlib.blake2b(both[start:stop].tobytes(), digest_size=_DIGEST).digest()
        for start, stop in zip(pieces.offsets[:-1].tolist(), pieces.offsets[1:].tolist(), strict=True)
    ]


class ColumnCache:
    """Rows of numbers by key.

    Parameters
    ----------
    connection : sqlite3.Connection
    width : int
        Numbers in a row.
    """

    def __init__(self, connection: sqlite3.Connection, width: int) -> None:
        self._connection, self._width = connection, width

    def known(self, keys: Sequence[bytes]) -> tuple[FloatArray, BoolArray]:
        """Return the rows of `keys`, shape (keys, width), and a mask of those that are there."""
        rows: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            rows.update(self._connection.execute(f"SELECT pair, row FROM columns WHERE pair IN ({marks})", part))
        size = self._width * np.dtype(np.float64).itemsize
        rows = {key: row for key, row in rows.items() if len(row) == size}
        there = np.fromiter((key in rows for key in keys), dtype=bool, count=len(keys))
        joined = b"".join(rows.get(key, bytes(size)) for key in keys)
        return np.frombuffer(joined, dtype=np.float64).reshape(-1, self._width).copy(), there

    def keep(self, keys: Sequence[bytes], rows: FloatArray) -> None:
        """Write `rows`, shape (keys, width); they are safe when this returns."""
        packed = ((key, row.tobytes()) for key, row in zip(keys, rows, strict=True))
        self._connection.executemany("INSERT OR REPLACE INTO columns VALUES (?, ?)", packed)
        self._connection.commit()


@contextmanager
def opened(name: str, width: int) -> Iterator[ColumnCache]:
    """Open the cache for what `name` stands for: everything, besides the texts, that the numbers depend on."""
    directory = cache_directory() / "semantic"
    file = f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.sqlite"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        connection = _ready(sqlite3.connect(directory / file, timeout=60))
    except (OSError, sqlite3.Error):
        # a cache that cannot be used only costs time
        connection = _ready(sqlite3.connect(":memory:"))
    with closing(connection):
        yield ColumnCache(connection, width)


def _ready(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS columns (pair BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID"
        )
        connection.commit()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
