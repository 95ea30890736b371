"""Paraphrase tables: phrases of one or several words with the same meaning (Bannard and Callison-Burch 2005).

The format is Meteor's, plain or gzipped: three lines per entry: the probability, a phrase and its paraphrase.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from ranker.arrays import Int32Array, Int64Array
from ranker.errors import DataError
from ranker.files import display_name, read_text
from ranker.text.lexical.phrases import Phrase, find_occurrences
from ranker.text.tokens import TokenisedTexts


class Paraphrases(NamedTuple):
    """Occurrences of a paraphrase table's phrases in sentences, and the pairs of phrases that are paraphrases."""

    sentence_offsets: Int64Array
    occurrences: Int32Array
    offsets: Int64Array
    values: Int32Array


def no_paraphrases(sentences: int) -> Paraphrases:
    """Return an empty `Paraphrases` object for a batch of `sentences` sentences."""
    nothing = np.zeros(0, dtype=np.int32)
    return Paraphrases(
        np.zeros(sentences + 1, dtype=np.int64), nothing.reshape(0, 3), np.zeros(1, dtype=np.int64), nothing
    )


def find_paraphrases(path: str, segments: TokenisedTexts) -> Paraphrases:
    """Find the phrases of the table at `path` that occur in `segments`, and their paraphrases in both directions."""
    numbers = {word: number for number, word in enumerate(segments.vocabulary)}
    # a table has millions of phrases: a phrase is kept only if its neighbouring words are neighbours in a sentence
    size = len(numbers)
    neighbours = set((segments.values[:-1].astype(np.int64) * size + segments.values[1:]).tolist())
    entries: list[tuple[Phrase, Phrase]] = []
    for phrases in _entries(path):
        first, second = (tuple(numbers.get(word, -1) for word in phrase.split()) for phrase in phrases)
        if first == second or -1 in first or -1 in second:
            continue
        if all(
            word * size + following in neighbours for phrase in (first, second) for word, following in pairwise(phrase)
        ):
            entries.append((first, second))
    sentence_offsets, occurrences, known = find_occurrences(
        chain.from_iterable(entries), segments, np.arange(len(segments.lengths))
    )
    pairs = {(known[first], known[second]) for first, second in entries if first in known and second in known}
    pairs |= {(second, first) for first, second in pairs}
    ordered = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    offsets = np.searchsorted(ordered[:, 0], np.arange(len(known) + 1)).astype(np.int64)
    return Paraphrases(sentence_offsets, occurrences, offsets, np.ascontiguousarray(ordered[:, 1]))


def _entries(path: str) -> Iterator[tuple[str, str]]:
    lines = io.StringIO(read_text(path))
    for number, probability in enumerate(lines):
        line = 3 * number + 1
        try:
            float(probability)
        except ValueError:
            actual = probability.strip()
            raise DataError(
                f"expected a probability, then two lines with a phrase and its paraphrase, found {actual!r}",
                file=display_name(path),
                line=line,
            ) from None
        first, second = next(lines, ""), next(lines, "")
        if not first.strip() or not second.strip():
            raise DataError("expected three lines per entry, found fewer", file=display_name(path), line=line)
        yield first, second
