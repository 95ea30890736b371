"""Counting n-grams: each distinct n-gram of a text is a node of a trie, with the counts for Kneser-Ney smoothing.

A text is a CSR array of word ids. Its words are recoded so that a word *is* its unigram's node: node 0 is the empty
n-gram (the root), 1 ``<unk>``, 2 ``<s>``, 3 ``</s>``, and the words of the text follow by ascending id. Nodes of
one order are adjacent and sorted by (context, word), so the children of a node are adjacent and sorted by word: exact
look-ups need neither hashing nor strings. Memory is linear in the length of the text plus its distinct n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, Int32Array, Int64Array
from ranker.errors import DataError, OptionError

ROOT, UNKNOWN, SENTENCE_START, SENTENCE_END = range(4)
"""Nodes that every trie has: the empty n-gram, ``<unk>``, ``<s>`` and ``</s>``."""

MAX_ORDER = 6
"""Maximum n-gram order in the default build of KenLM."""

_FIRST_WORD = SENTENCE_END + 1


@dataclass(frozen=True)
class NgramTrie:
    """The distinct n-grams of a text as a trie."""

    word_ids: Int32Array
    starts: Int64Array
    context: Int32Array
    word: Int32Array
    suffix: Int32Array
    first_child: Int32Array

    @property
    def order(self) -> int:
        """Number of words in the longest n-grams."""
        return len(self.starts) - 2

    @property
    def vocabulary_size(self) -> int:
        """Number of words that have a probability: the words of the text, ``<unk>`` and ``</s>``, but not ``<s>``."""
        return len(self.word_ids) + 2

    def nodes(self, order: int) -> slice:
        """Return the range of node numbers of the n-grams with `order` words; order 0 is the root alone."""
        return slice(int(self.starts[order]), int(self.starts[order + 1]))

    def ngrams(self, order: int) -> Int32Array:
        """Return the n-grams of one order as unigram nodes in reading order, one row per n-gram."""
        node = np.arange(self.starts[order], self.starts[order + 1])
        rows = np.empty((len(node), order), dtype=np.int32)
        for column in reversed(range(order)):
            rows[:, column] = self.word[node]
            node = self.context[node]
        return rows

    def recode(self, values: npt.ArrayLike) -> Int32Array:
        """Turn word ids into unigram nodes; words that are not in the text become ``<unk>``."""
        ids = np.asarray(values)
        table = np.full(int(self.word_ids[-1]) + 2 if len(self.word_ids) else 1, UNKNOWN, dtype=np.int32)
        table[self.word_ids] = np.arange(_FIRST_WORD, _FIRST_WORD + len(self.word_ids))
        nodes: Int32Array = table[np.minimum(ids, len(table) - 1)]
        return nodes


@dataclass(frozen=True)
class NgramCounts:
    """The n-grams of a text with their counts."""

    trie: NgramTrie
    occurrences: Int32Array
    adjusted: Int32Array
    sentence_offsets: Int64Array
    longest: Int32Array


@dataclass(frozen=True)
class TextSums:
    """Totals and follower counts of a text's contexts, a mask of n-grams preceded by a word, and the text's size."""

    totals: Int64Array
    followers: Int64Array
    preceded: BoolArray
    vocabulary_size: int
    sentences: int

    @classmethod
    def of(cls, counts: NgramCounts) -> Self:
        """Compute these sums from the counts of a text's n-grams."""
        trie = counts.trie
        contexts = int(trie.starts[trie.order])
        child = slice(1, None)  # every node but the root is a child
        totals = np.bincount(trie.context[child], weights=counts.adjusted[child], minlength=contexts)
        cell = trie.context[child].astype(np.int64) * 4 + np.minimum(counts.adjusted[child], 3)
        followers = np.bincount(cell, minlength=4 * contexts).reshape(-1, 4)
        preceded = np.zeros(len(trie.word), dtype=np.bool_)
        preceded[trie.suffix[trie.starts[2] :]] = True
        sentences = len(counts.sentence_offsets) - 1
        return cls(totals.astype(np.int64), followers.astype(np.int64), preceded, trie.vocabulary_size, sentences)


def as_sentences(values: npt.ArrayLike, offsets: npt.ArrayLike) -> tuple[Int32Array, Int64Array]:
    """Convert values and offsets of word ids in CSR form to arrays of the expected types."""
    return np.asarray(values, dtype=np.int32), np.asarray(offsets, dtype=np.int64)


def count_ngrams(values: npt.ArrayLike, offsets: npt.ArrayLike, order: int = 3) -> NgramCounts:
    """Count the n-grams of up to `order` words in sentences, each enclosed in one ``<s>`` and one ``</s>``."""
    if not 1 <= order <= MAX_ORDER:
        raise OptionError(f"n-gram order {order}: expected 1 to {MAX_ORDER}")
    ids, bounds = as_sentences(values, offsets)
    if len(bounds) == 1:
        raise DataError("a language model requires at least one training sentence, found none")
    word_ids = np.flatnonzero(np.bincount(ids)).astype(np.int32)
    types = _FIRST_WORD + len(word_ids)
    recoded = np.zeros(int(word_ids[-1]) + 1 if len(word_ids) else 0, dtype=np.int32)
    recoded[word_ids] = np.arange(_FIRST_WORD, types)
    sentence_offsets = bounds + 2 * np.arange(len(bounds))
    text, depth = between_boundaries(recoded[ids], bounds, sentence_offsets)

    contexts = [np.zeros(types, dtype=np.int32)]
    words = [np.arange(types, dtype=np.int32)]
    suffixes = [np.zeros(types, dtype=np.int32)]
    occurrences = [np.bincount(text, minlength=types).astype(np.int32)]
    starts = [0, 1, types]
    longest = text.copy()
    for length in range(2, order + 1):
        ends = np.flatnonzero(depth >= length - 1)
        # (context, word) in one integer: nodes and words are below 2^31, so the product fits
        keys = longest[ends - 1].astype(np.int64) * types + text[ends]
        distinct, first, which, repeats = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        if starts[-1] + len(distinct) > np.iinfo(np.int32).max:
            raise DataError(f"more than 2^31 distinct n-grams up to order {length}: use a lower order or less text")
        contexts.append((distinct // types).astype(np.int32))
        words.append((distinct % types).astype(np.int32))
        suffixes.append(longest[ends[first]])
        occurrences.append(repeats.astype(np.int32))
        longest[ends] = starts[-1] + which
        starts.append(starts[-1] + len(distinct))

    context = np.concatenate(contexts)
    # the root is nobody's child
    first_child = np.searchsorted(context[1:], np.arange(starts[-1] + 1)).astype(np.int32) + np.int32(1)
    trie = NgramTrie(
        word_ids=word_ids,
        starts=np.array(starts, dtype=np.int64),
        context=context,
        word=np.concatenate(words),
        suffix=np.concatenate(suffixes),
        first_child=first_child,
    )
    raw = np.concatenate(occurrences)
    return NgramCounts(trie, raw, _adjusted_counts(trie, raw), sentence_offsets, longest)


def between_boundaries(
    words: Int32Array, offsets: Int64Array, padded_offsets: Int64Array
) -> tuple[Int32Array, Int64Array]:
    """Return sentences enclosed in ``<s>`` and ``</s>``, and each position's distance from the sentence's start."""
    text = np.empty(padded_offsets[-1], dtype=np.int32)
    depth = np.arange(len(text)) - np.repeat(padded_offsets[:-1], np.diff(padded_offsets))
    inside = np.ones(len(text), dtype=np.bool_)
    inside[padded_offsets[:-1]] = False
    inside[padded_offsets[1:] - 1] = False
    text[inside] = words
    text[padded_offsets[:-1]] = SENTENCE_START
    text[padded_offsets[1:] - 1] = SENTENCE_END
    return text, depth


def _adjusted_counts(trie: NgramTrie, occurrences: Int32Array) -> Int32Array:
    longer = trie.suffix[trie.starts[2] :]
    preceding = np.bincount(longer, minlength=len(trie.suffix)).astype(np.int32)
    # an n-gram that no word precedes begins with <s>, or is of the highest order
    adjusted = np.where(preceding > 0, preceding, occurrences)
    adjusted[[ROOT, UNKNOWN, SENTENCE_START]] = 0
    return adjusted
