"""Occurrences in sentences of the phrases of a paraphrase table."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from ranker.arrays import Int32Array, Int64Array
from ranker.files import read_bytes, sha256
from ranker.text.tokens import TokenisedTexts

Phrase = tuple[int, ...]
"""The ids of a phrase's words."""


def find_occurrences(
    phrases: Iterable[Phrase], segments: TokenisedTexts, sentences: Int64Array
) -> tuple[Int64Array, Int32Array, dict[Phrase, int]]:
    """Find all occurrences of `phrases` in sentences, and number the phrases found.

    Return the offset of each sentence's occurrences, a row (first word, length, number) for each occurrence, and the
    numbers of the phrases.
    """
    known = frozenset(phrases)
    longest: dict[int, int] = {}
    for phrase in known:
        longest[phrase[0]] = max(longest.get(phrase[0], 0), len(phrase))
    numbers: dict[Phrase, int] = {}
    rows: list[tuple[int, int, int]] = []
    ends = [0]
    for sentence in sentences.tolist():
        words = tuple(segments.numbers(sentence).tolist())
        for first, word in enumerate(words):
            for size in range(1, min(longest.get(word, 0), len(words) - first) + 1):
                phrase = words[first : first + size]
                if phrase in known:
                    rows.append((first, size, numbers.setdefault(phrase, len(numbers))))
        ends.append(len(rows))
    return np.array(ends, dtype=np.int64), np.array(rows, dtype=np.int32).reshape(-1, 3), numbers


@functools.cache
def table_digest(path: str) -> str:
    """Return the first twelve hexadecimal digits of the SHA-256 of a table's file."""
    return sha256(read_bytes(path))[:12]
