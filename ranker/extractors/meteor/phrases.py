"""Paraphrase tables: which phrases, of one word or several, mean the same (Bannard and Callison-Burch 2005).

The format is Meteor's, plain or gzipped: three lines an entry, the probability, a phrase and its paraphrase.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ranker.arrays import Int32Array, Int64Array, offsets_of
from ranker.errors import DataError
from ranker.extractors.text.tokens import Segments
from ranker.files import display_name, read_bytes, read_text, sha256


@dataclass(frozen=True, eq=False)
class Phrases:
    """Phrases of a paraphrase table where they occur in sentences, and which of them are paraphrases.

    Parameters
    ----------
    offsets : int64 array, shape (sentences + 1,)
        Occurrences in sentence ``i`` are rows ``offsets[i]:offsets[i + 1]`` of `occurrences`.
    occurrences : int32 array, shape (occurrences, 3)
        First word, number of words and number of the phrase; sorted by first word, then by number of words.
    related_offsets : int64 array, shape (phrases + 1,)
    related : int32 array
        Paraphrases of phrase ``i``, sorted, are ``related[related_offsets[i]:related_offsets[i + 1]]``.
    """

    offsets: Int64Array
    occurrences: Int32Array
    related_offsets: Int64Array
    related: Int32Array


def no_phrases(sentences: int) -> Phrases:
    """Return the phrases of an empty table in that many sentences."""
    empty = np.zeros(1, dtype=np.int64)
    return Phrases(
        np.zeros(sentences + 1, dtype=np.int64), np.zeros((0, 3), dtype=np.int32), empty, np.zeros(0, dtype=np.int32)
    )


def find_phrases(path: str, segments: Segments) -> Phrases:
    """Return the phrases of the table at `path` that occur in `segments`; a pair holds in both directions.

    Raises
    ------
    DataError
        If the file cannot be read or is not of the format.
    """
    numbers = {word: number for number, word in enumerate(segments.vocabulary)}
    # a table has millions of phrases: only those are kept whose neighbouring words are neighbours in the sentences too
    size = len(numbers)
    neighbours = set((segments.values[:-1].astype(np.int64) * size + segments.values[1:]).tolist())
    known: dict[tuple[int, ...], int] = {}
    pairs: set[tuple[int, int]] = set()
    for phrases in _entries(path):
        words = [tuple(numbers.get(word, -1) for word in phrase.split()) for phrase in phrases]
        if words[0] == words[1] or any(-1 in phrase for phrase in words):
            continue
        if not all(first * size + second in neighbours for phrase in words for first, second in pairwise(phrase)):
            continue
        first, second = (known.setdefault(phrase, len(known)) for phrase in words)
        pairs |= {(first, second), (second, first)}
    ordered = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    related_offsets = np.searchsorted(ordered[:, 0], np.arange(len(known) + 1)).astype(np.int64)
    occurrences, offsets = _occurrences(known, segments)
    return Phrases(offsets, occurrences, related_offsets, np.ascontiguousarray(ordered[:, 1]))


@functools.cache
def table_digest(path: str) -> str:
    """Return twelve hexadecimal digits that tell one table from another."""
    return sha256(read_bytes(path))[:12]


def _entries(path: str) -> Iterator[tuple[str, str]]:
    lines = io.StringIO(read_text(path))
    for number, probability in enumerate(lines):
        line = 3 * number + 1
        try:
            float(probability)
        except ValueError:
            found = probability.strip()
            raise DataError(
                f"expected a probability, then two lines with a phrase and its paraphrase, found {found!r}",
                file=display_name(path),
                line=line,
            ) from None
        first, second = next(lines, ""), next(lines, "")
        if not first.strip() or not second.strip():
            raise DataError("an entry has three lines, found fewer", file=display_name(path), line=line)
        yield first, second


def _occurrences(known: dict[tuple[int, ...], int], segments: Segments) -> tuple[Int32Array, Int64Array]:
    lengths = sorted({len(phrase) for phrase in known})
    rows: list[tuple[int, int, int]] = []
    counts = []
    for start, stop in zip(segments.offsets[:-1].tolist(), segments.offsets[1:].tolist(), strict=True):
        words = tuple(segments.values[start:stop].tolist())
        before = len(rows)
        for first in range(len(words)):
            for length in lengths:
                phrase = known.get(words[first : first + length])
                if phrase is not None and first + length <= len(words):
                    rows.append((first, length, phrase))
        counts.append(len(rows) - before)
    offsets = offsets_of(counts)
    return np.array(rows, dtype=np.int32).reshape(-1, 3), offsets
