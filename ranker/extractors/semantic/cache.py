"""Columns of the semantic extractor, each different pair of texts computed once and kept on disk.

There is one file per encoder and set of options; rows are named by the sub-words of both texts. See
`ranker.storage.row_cache`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from ranker.arrays import BoolArray, FloatArray
from ranker.learning.encoder.encoder import Pieces
from ranker.storage.row_cache import RowCache

_DIGEST = 16


def text_keys(pieces: Pieces) -> list[bytes]:
    """Return a key of every text: equal for texts that an encoder cannot tell apart, as those equal up to case."""
    codes = np.stack([pieces.ids, pieces.word], axis=1)
    return [
        hashlib.blake2b(codes[start:stop].tobytes(), digest_size=_DIGEST).digest()
        for start, stop in zip(pieces.offsets[:-1].tolist(), pieces.offsets[1:].tolist(), strict=True)
    ]


def known_columns(cache: RowCache, keys: Sequence[bytes], width: int) -> tuple[FloatArray, BoolArray]:
    """Return the rows of `keys`, shape (keys, width), and a mask of those that are there."""
    rows = cache.known(keys)
    missing = bytes(width * np.dtype(np.float64).itemsize)
    columns = np.frombuffer(b"".join(rows.get(key, missing) for key in keys), dtype=np.float64)
    return columns.reshape(-1, width).copy(), np.fromiter((key in rows for key in keys), dtype=bool, count=len(keys))


def keep_columns(cache: RowCache, keys: Sequence[bytes], rows: FloatArray) -> None:
    """Write `rows`, shape (keys, width); they are safe when this returns."""
    cache.keep({key: row.tobytes() for key, row in zip(keys, rows, strict=True)})
