"""Reference words that two systems match, by frequency and by part of speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.evaluation.systems.contrast.pairing import ContrastedSystems
from ranker.extractors.dependency.parsed import parses_of
from ranker.text.tokens import TokenisedTexts, Tokenizer, distinct_sentences, tokenise

FREQUENCIES = (0, 1, 2, 3, 4, 5, 10, 100, 1000)
LENGTHS = (0, 10, 20, 30, 40, 50, 60)
_CHUNK = 100_000


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """Counts of units (words, tagged words, n-grams) in two translations and their references."""

    source: Int64Array
    unit: Int64Array
    translations: Int64Array
    references: Int64Array

    @classmethod
    def of(cls, values: npt.ArrayLike, offsets: Int64Array, sentences: Int64Array) -> UnitCounts:
        """Count the units of two translations of each source and of their references.

        `values` and `offsets` are the units of all sentences in CSR form; `sentences` (4, sources) selects sentences.
        """
        units = TokenisedTexts(np.asarray(values, dtype=np.int32), offsets, [])
        width = int(units.values.max(initial=0)) + 1
        keys = []
        for side in sentences:
            codes, ends = units.take(side)
            source = np.repeat(np.arange(len(side), dtype=np.int64), np.diff(ends))
            keys.append((source * width + codes)[codes >= 0])
        known, place = np.unique(np.concatenate(keys), return_inverse=True)
        parts = np.split(place, np.cumsum([len(key) for key in keys])[:-1])
        counts = np.stack([np.bincount(part, minlength=len(known)) for part in parts]).astype(np.int64)
        return cls(known // width, known % width, counts[:2], counts[2:])

    @property
    def matches(self) -> Int64Array:
        """Number of matched occurrences of each source's units in each system's translation, shape (2, entries)."""
        return np.minimum(self.translations, self.references)

    def statistics(self, sources: int, bucket: Int64Array, buckets: int) -> FloatArray:
        """Return each system's numbers of matches, words and reference words, shape (sources, buckets, 2, 3)."""
        place = self.source * buckets + bucket[self.unit]
        sums = [
            [np.bincount(place, weights=column, minlength=sources * buckets) for column in side]
            for side in zip(self.matches, self.translations, self.references, strict=True)
        ]
        return np.array(sums).transpose(2, 0, 1).reshape(sources, buckets, 2, 3)


def by_frequency(pair: ContrastedSystems, frequency: Int64Array) -> tuple[FloatArray, list[str]]:
    """Return word counts by range of `frequency`, in the form of `UnitCounts.statistics`, and the ranges' names.

    The shape of `frequency` is (vocabulary,).
    """
    segments = pair.batch.segments
    counts = UnitCounts.of(segments.values, segments.offsets, pair.sentences)
    bucket = bucket_of(frequency, FREQUENCIES)
    return counts.statistics(len(pair.rows), bucket, len(FREQUENCIES)), bucket_names(FREQUENCIES)


def by_part_of_speech(pair: ContrastedSystems, parser: str, *, lowercase: bool) -> tuple[FloatArray, list[str]]:
    """Return word counts by part of speech, in the form of `UnitCounts.statistics`, and the parts of speech.

    Words are those of the parser; a word is right if the reference has it with the same part of speech.
    """
    parses = parses_of(pair.dataset, parser)
    words = [word.lower() for word in parses.words] if lowercase else parses.words
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    word = np.fromiter(map(numbers.__getitem__, words), dtype=np.int64, count=len(words))
    tags = len(parses.tag_names)
    units, unit = np.unique(word * tags + parses.tags, return_inverse=True)
    distinct = distinct_sentences(pair.dataset)
    sentences = np.concatenate([distinct.candidate[pair.rows.T], distinct.reference[pair.reference.T]])
    counts = UnitCounts.of(unit, parses.offsets, sentences)
    return counts.statistics(len(pair.rows), units % tags, tags), list(parses.tag_names)


def reference_frequencies(pair: ContrastedSystems) -> Int64Array:
    """Number of occurrences of each word of the vocabulary in all references."""
    values, _ = pair.batch.segments.take(pair.batch.reference)
    return np.bincount(values, minlength=len(pair.batch.segments.vocabulary)).astype(np.int64)


def text_frequencies(
    pair: ContrastedSystems, lines: Sequence[str], tokenizer: Tokenizer, *, lowercase: bool
) -> Int64Array:
    """Number of occurrences of each word of the vocabulary in the `lines` of a text."""
    vocabulary = pair.batch.segments.vocabulary
    numbers = {word: number for number, word in enumerate(vocabulary)}
    frequencies = np.zeros(len(vocabulary) + 1, dtype=np.int64)
    for start in range(0, len(lines), _CHUNK):
        text = tokenise(lines[start : start + _CHUNK], tokenizer, lowercase=lowercase)
        place = np.array([numbers.get(word, -1) for word in text.vocabulary], dtype=np.int64)
        counts = np.bincount(text.values, minlength=len(place))
        np.add.at(frequencies, place, counts)
    return frequencies[:-1]


def bucket_of(values: npt.ArrayLike, bounds: Sequence[int]) -> Int64Array:
    """Return the bucket index of each value; every bound is the lowest value of a bucket."""
    return (np.searchsorted(bounds, np.asarray(values), side="right") - 1).astype(np.int64)


def bucket_names(bounds: Sequence[int]) -> list[str]:
    """Name the buckets between `bounds`, such as ``5-9``."""
    ends = [bound - 1 for bound in bounds[1:]]
    closed = [str(low) if low == high else f"{low}-{high}" for low, high in zip(bounds, ends, strict=False)]
    return [*closed, f"{bounds[-1]}+"]
