"""Vectors of texts, encoded once and kept in memory up to a limit."""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ranker.arrays import Int64Array
from ranker.extractors.semantic.matching import TextVectors
from ranker.learning.encoder.embedding import Embeddings, Encoder, Subwords

_KEPT = 600_000_000
"""Bytes of vectors that are kept: about 15,000 sentences of an encoder with 384 numbers for each sub-word."""
Vectors = OrderedDict[bytes, TextVectors]


def text_keys(pieces: Subwords) -> list[bytes]:
    """Return a key for each text; texts that the encoder does not distinguish have equal keys.

    For example, an encoder may ignore case.
    """
    codes = np.stack([pieces.ids, pieces.word], axis=1)
    return [
        hashlib.blake2b(codes[start:stop].tobytes(), digest_size=16).digest()
        for start, stop in zip(pieces.offsets[:-1].tolist(), pieces.offsets[1:].tolist(), strict=True)
    ]


@functools.lru_cache(maxsize=2)
def _store(_name: str) -> Vectors:
    return OrderedDict()


def text_vectors(
    encoder: Encoder,
    pieces: Subwords,
    keys: Sequence[bytes],
    layer: int | None,
    *,
    special: bool,
    count: Callable[[int], None] | None = None,
) -> list[TextVectors]:
    """Return the vectors of texts, including those of special tokens if `special` is set.

    `keys` are the keys that `text_keys` returns for the texts, and under which the vectors are cached.
    """
    store = _store(f"{encoder.files.digest} {layer} {special}")
    missing = np.array([number for number, key in enumerate(keys) if key not in store], dtype=np.int64)
    result = {key: store[key] for key in keys if key in store}
    if len(missing):
        chosen = pieces.take(missing)
        made = zip(missing.tolist(), _split(chosen, encoder.embed(chosen, layer, count), special), strict=True)
        result |= {keys[number]: vectors for number, vectors in made}
    for key, vectors in result.items():
        store[key] = vectors
        store.move_to_end(key)
    held = sum(vectors.size for vectors in store.values())
    while held > _KEPT:
        held -= store.popitem(last=False)[1].size
    return [result[key] for key in keys]


def _split(pieces: Subwords, embedded: Embeddings, special: bool) -> Iterator[TextVectors]:
    """Yield the vectors of each text; special tokens have weight 0."""
    for text in range(len(pieces)):
        rows: slice | Int64Array = slice(pieces.offsets[text], pieces.offsets[text + 1])
        word = pieces.word[rows]
        if not special:
            rows = pieces.offsets[text] + np.flatnonzero(word >= 0)
            word = word[word >= 0]
        # copies: a part would keep the vectors of all texts
        yield TextVectors(
            embedded.pieces[rows].copy(), (word >= 0).astype(np.float64), word.copy(), embedded.texts[text].copy()
        )
