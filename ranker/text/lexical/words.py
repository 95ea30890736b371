"""Stems and synsets of a vocabulary as arrays, and the kernels that compare words by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ranker.arrays import Int32Array, Int64Array, UInt64Array, offsets_of
from ranker.storage.kernels import kernel


class WordTables(NamedTuple):
    """Stem and synsets of each word of a vocabulary."""

    stems: Int32Array
    synset_offsets: Int64Array
    synsets: Int32Array
    signatures: UInt64Array


def word_tables(
    vocabulary: Sequence[str],
    stem: Callable[[str], str] | None,
    synsets: Callable[[str], Iterable[int]] | None,
) -> WordTables:
    """Tabulate each word's stem and synsets; None for `stem` or `synsets` turns off matching by stem or synset."""
    sorted_synsets = [sorted(synsets(word)) if synsets else [] for word in vocabulary]
    offsets = offsets_of([len(synsets_of_word) for synsets_of_word in sorted_synsets])
    values = np.fromiter((synset for row in sorted_synsets for synset in row), dtype=np.int32, count=int(offsets[-1]))
    signatures = np.zeros(len(vocabulary), dtype=np.uint64)
    words = np.repeat(np.arange(len(vocabulary)), np.diff(offsets))
    np.bitwise_or.at(signatures, words, np.uint64(1) << (values.astype(np.uint64) % np.uint64(64)))
    stems = np.zeros(0, dtype=np.int32) if stem is None else stem_numbers(vocabulary, stem)
    return WordTables(stems, offsets, values, signatures)


def stem_numbers(vocabulary: Sequence[str], stem: Callable[[str], str]) -> Int32Array:
    """Return a number for each word's stem, counted from 0 in order of first occurrence, shape (vocabulary,)."""
    numbers: dict[str, int] = {}
    return np.fromiter((numbers.setdefault(stem(word), len(numbers)) for word in vocabulary), dtype=np.int32)


# inlined: a call would count references to all of the tables for every pair of words
@kernel(inline="always")
def share_stem(tables: WordTables, first: int, second: int) -> bool:
    """True if two words have the same stem and matching by stems is on."""
    return len(tables.stems) > 0 and tables.stems[first] == tables.stems[second]


@kernel(inline="always")
def share_synset(tables: WordTables, first: int, second: int) -> bool:
    """True if two words have a synset in common."""
    if tables.signatures[first] & tables.signatures[second] == 0:
        return False
    here, here_stop = tables.synset_offsets[first], tables.synset_offsets[first + 1]
    there, there_stop = tables.synset_offsets[second], tables.synset_offsets[second + 1]
    while here < here_stop and there < there_stop:
        if tables.synsets[here] == tables.synsets[there]:
            return True
        if tables.synsets[here] < tables.synsets[there]:
            here += 1
        else:
            there += 1
    return False
