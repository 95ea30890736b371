"""Comparison of pairs of candidates of the same source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ranker.arrays import Int32Array, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.schema import ALIGNMENT, TEXT, table
from ranker.storage.kernels import kernel
from ranker.text.ngrams import hash_slot, matches_of_tables
from ranker.text.tokens import TokenBatch


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Pairs of candidates of the same source; the second of each pair serves as the only reference of the first."""

    texts: Dataset
    candidate: Int64Array
    reference: Int64Array

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.candidate)

    def dataset(self) -> Dataset:
        """Return the pairs as a data set, with a separate source for each text that serves as a reference."""
        rows, source = np.unique(self.reference, return_inverse=True)
        texts = self.texts.candidates
        within = np.arange(len(self)) - np.searchsorted(source, source)
        candidates = pd.DataFrame(
            {
                "source": source.astype(np.int64),
                "system": pd.Series(pa.array(within).cast(pa.large_string()).to_pandas(), dtype=TEXT),
                "text": _take(texts["text"], self.candidate),
                "is_reference": np.zeros(len(self), dtype=bool),
            }
        )
        if ALIGNMENT in texts:
            candidates[ALIGNMENT] = _take(texts[ALIGNMENT], self.candidate)
        alone = references_alone(self.texts, rows)
        return Dataset(alone.name, alone.sources, alone.references, candidates, alone.ratings, alone.preferences)


def references_alone(texts: Dataset, rows: Int64Array) -> Dataset:
    """Return a data set in which each candidate in `rows` is the only reference of a source without candidates."""
    numbers = np.arange(len(rows))
    sources = texts.sources.iloc[texts.candidate_source[rows]].reset_index(drop=True)
    references = table("references", {"source": numbers})
    references["text"] = _take(texts.candidates["text"], rows)
    if ALIGNMENT in texts.candidates:
        references[ALIGNMENT] = _take(texts.candidates[ALIGNMENT], rows)
    return Dataset(
        texts.name,
        sources.assign(seg_id=pd.Series(numbers.astype(str), dtype=TEXT)),
        references,
        table("candidates"),
        table("ratings"),
        table("preferences"),
    )


def _take(column: pd.Series, rows: Int64Array) -> pd.Series:
    return column.take(rows).reset_index(drop=True)


def pair_ngram_matches(batch: TokenBatch, pairs: TextPairs, order: int) -> Int64Array:
    """Count the n-grams shared by the two texts of each pair, as `ngram_matches` does, but reading each text once."""
    source = batch.candidate_source[pairs.reference]
    sources = np.unique(source)
    bounds = np.append(np.searchsorted(source, sources), len(source))
    return _pair_matches(
        batch.segments.values,
        batch.segments.offsets,
        batch.candidate,
        pairs.candidate,
        pairs.reference,
        order,
        batch.candidate_offsets[sources],
        batch.candidate_offsets[sources + 1],
        bounds,
    )


@kernel
def _number(keys: Int64Array, numbers: Int64Array, key: np.int64, known: np.int64) -> tuple[np.int64, np.int64]:
    """Return the number assigned to `key`, which is `known` if the key is new, and the updated count of known keys."""
    slot = hash_slot(keys, key)
    if keys[slot] == -1:
        keys[slot] = key
        numbers[slot] = known
        known += 1
    return numbers[slot], known


@kernel
def _ngram_numbers(
    values: Int32Array,
    offsets: Int64Array,
    sentences: Int64Array,
    starts: Int64Array,
    n: int,
    keys: Int64Array,
    numbers: Int64Array,
    word: Int64Array,
    gram: Int64Array,
) -> np.int64:
    """Replace the numbers of n-grams in `gram` by those of (n + 1)-grams, and return how many are distinct."""
    keys[:] = -1
    known = np.int64(0)
    for text in range(len(sentences)):
        first = offsets[sentences[text]]
        for at in range(starts[text + 1] - starts[text] - n):
            position = starts[text] + at
            key = np.int64(values[first + at]) if n == 0 else (gram[position] << 32) | word[position + n]
            gram[position], known = _number(keys, numbers, key, known)
            if n == 0:
                word[position] = gram[position]
    return known


@kernel
def _starts(offsets: Int64Array, sentences: Int64Array) -> Int64Array:
    starts = np.zeros(len(sentences) + 1, dtype=np.int64)
    for text in range(len(sentences)):
        starts[text + 1] = starts[text] + offsets[sentences[text] + 1] - offsets[sentences[text]]
    return starts


@kernel
def _capacity(size: int) -> int:
    capacity = 16
    while capacity < 2 * size:
        capacity *= 2
    return capacity


@kernel
def _source_pairs(
    values: Int32Array,
    offsets: Int64Array,
    sentences: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    base: int,
    order: int,
    matches: Int64Array,
) -> None:
    """Write n-gram matches of a source's pairs to `matches`, shape (pairs, order); `base` is the first text's row."""
    starts = _starts(offsets, sentences)
    size = starts[-1]
    capacity = _capacity(size)
    keys, numbers = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    word, gram = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    # distinct n-grams of each text that other texts contain too, and their counts in the text
    listed, times = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    ends = np.empty(len(sentences), dtype=np.int64)
    count, texts = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32)
    for n in range(order):
        known = _ngram_numbers(values, offsets, sentences, starts, n, keys, numbers, word, gram)
        texts[:known] = 0
        for text in range(len(sentences)):
            stop = starts[text + 1] - n
            for position in range(starts[text], stop):
                if count[gram[position]] == 0:
                    texts[gram[position]] += 1
                count[gram[position]] += 1
            for position in range(starts[text], stop):
                count[gram[position]] = 0
        for text in range(len(sentences)):
            stop = starts[text + 1] - n
            for position in range(starts[text], stop):
                count[gram[position]] += 1
            end = starts[text]
            for position in range(starts[text], stop):
                number = gram[position]
                if count[number] > 0:
                    if texts[number] > 1:
                        listed[end], times[end] = number, count[number]
                        end += 1
                    count[number] = 0
            ends[text] = end
        at = 0
        while at < len(reference):
            opposite = reference[at]
            for entry in range(starts[opposite - base], ends[opposite - base]):
                count[listed[entry]] = times[entry]
            while at < len(reference) and reference[at] == opposite:
                candidate_row = candidate[at] - base
                if candidate[at] == opposite:
                    shared = max(starts[candidate_row + 1] - starts[candidate_row] - n, 0)
                else:
                    shared = np.int64(0)
                    for entry in range(starts[candidate_row], ends[candidate_row]):
                        shared += min(times[entry], count[listed[entry]])
                matches[at, n] = shared
                at += 1
            for entry in range(starts[opposite - base], ends[opposite - base]):
                count[listed[entry]] = 0


def _words_to_sort(
    values: Int32Array,
    offsets: Int64Array,
    sentences: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    *_: Any,
) -> int:
    lengths = np.diff(offsets)[sentences]
    return int(len(values) + lengths[candidate].sum() + lengths[reference].sum())


def _pair_matches_of_tables(
    values: Int32Array,
    offsets: Int64Array,
    sentences: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    order: int,
    *_: Any,
) -> Int64Array:
    each = np.arange(len(candidate) + 1)
    return matches_of_tables(values, offsets, sentences[candidate], sentences[reference], each, each, order)


@kernel(
    elements=3_000_000,
    size=_words_to_sort,
    plain=_pair_matches_of_tables,
    rows=("firsts", "lasts"),
    offsets=("bounds",),
)
def _pair_matches(
    values: Int32Array,
    offsets: Int64Array,
    sentences: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    order: int,
    firsts: Int64Array,
    lasts: Int64Array,
    bounds: Int64Array,
) -> Int64Array:
    result = np.zeros((bounds[-1] - bounds[0], order), dtype=np.int64)
    for source in range(len(firsts)):
        pairs = slice(bounds[source], bounds[source + 1])
        _source_pairs(
            values,
            offsets,
            sentences[firsts[source] : lasts[source]],
            candidate[pairs],
            reference[pairs],
            firsts[source],
            order,
            result[pairs.start - bounds[0] : pairs.stop - bounds[0]],
        )
    return result
