"""Keys of sources by text, so that a source in several places counts as neither held-out nor new data."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.dataset import Dataset, view

UInt32Array = npt.NDArray[np.uint32]
_NONE = 0


@view
def same_source(dataset: Dataset) -> Int64Array:
    """Return the number of the first source with the same text as each source, shape (sources,)."""
    keys = _keys(dataset)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return np.where(keys == _NONE, np.arange(len(keys)), first[place.reshape(-1)])


def short_keys(dataset: Dataset) -> UInt32Array:
    """Return sorted, distinct 32-bit hashes of the sources that have candidates, for a model to store."""
    keys = _keys(dataset)[np.unique(dataset.candidate_source)]
    return np.unique(_short(keys[keys != _NONE]))


def among(dataset: Dataset, known: UInt32Array) -> BoolArray:
    """Return a mask of the sources whose `short_keys` are in `known`, shape (sources,)."""
    keys = _keys(dataset)
    return np.asarray((keys != _NONE) & np.isin(_short(keys), known))


def _short(keys: npt.NDArray[np.uint64]) -> UInt32Array:
    return (keys >> np.uint64(32)).astype(np.uint32)


@view
def _keys(dataset: Dataset) -> npt.NDArray[np.uint64]:
    """Return a hash of each source's text, or else of its references or candidates; 0 where all of them are empty."""
    keys = [f"source\n{text}" if text else "" for text in _texts(dataset.sources)]
    for name, table in (("references", dataset.references), ("candidates", dataset.candidates)):
        if all(keys):
            break
        of_source: dict[int, list[str]] = {}
        for source, text in zip(table["source"].tolist(), _texts(table), strict=True):
            if text and not keys[source]:
                of_source.setdefault(source, []).append(text)
        for source, several in of_source.items():
            keys[source] = "\n".join([name, *sorted(several)])
    digests = (hashlib.blake2b(key.encode(), digest_size=8).digest() if key else bytes(8) for key in keys)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _texts(table: pd.DataFrame) -> list[str]:
    return [" ".join(text.split()) for text in table["text"].fillna("")]
