r"""Interpolated modified Kneser-Ney language models on arrays of word ids.

The estimator of Chen and Goodman (1999), section 4.1.6, as KenLM's ``lmplz`` computes it (Heafield et al. 2013): for
a word :math:`w` after the context :math:`h`, with :math:`h'` the context without its first word,

.. math::
    P(w \mid h) = \frac{a(hw) - D(a(hw))}{\sum_v a(hv)} + \gamma(h) P(w \mid h'), \qquad
    \gamma(h) = \frac{\sum_v D(a(hv))}{\sum_v a(hv)}

where :math:`a` are the adjusted counts (`ranker.learning.lm.counts.NgramCounts`), :math:`D` the order's discount
of a count, and the recursion ends in the uniform distribution over the vocabulary, ``<unk>`` and ``</s>`` included.
Nothing is pruned. Discounts are single precision as in ``lmplz``, because rounding can decide whether a discount is
out of range; all else is double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int32Array, Int64Array
from ranker.learning.lm.counts import (
    SENTENCE_END,
    SENTENCE_START,
    UNKNOWN,
    NgramCounts,
    NgramTrie,
    TextSums,
    as_sentences,
)
from ranker.storage.kernels import kernel

DISCOUNT_FALLBACK = (0.5, 1.0, 1.5)
"""Discounts of counts 1, 2 and 3 or more for texts too small to estimate them: those of ``lmplz``."""

ZERO = 1e-99
"""Back-off weight used in place of zero, because ARPA files write the logarithm of zero as -99."""


@dataclass(frozen=True)
class NgramModel:
    """Back-off language model: log10 probability and back-off weight of each n-gram in a trie."""

    trie: NgramTrie
    log10_prob: FloatArray
    log10_backoff: FloatArray
    discounts: FloatArray
    fallback_orders: tuple[int, ...]


@dataclass(frozen=True)
class SentenceScores:
    """Language model scores of sentences."""

    log10_prob: FloatArray
    tokens: Int64Array
    unknown: Int64Array
    matched_length: FloatArray
    closed: bool = False
    """True if the model has no probability for unknown words, which `log10_prob` then leaves out."""

    @property
    def log_perplexity(self) -> FloatArray:
        """Natural logarithm of the perplexity, counting ``</s>`` as a token: the feature of Ye et al. (2007)."""
        counted = self.tokens - self.unknown if self.closed else self.tokens
        return cast(FloatArray, -np.log(10.0) * self.log10_prob / (counted + 1))


def by_count(discounts: FloatArray) -> FloatArray:
    """Return discounts as an array indexed by order - 1 and by count (0, 1, 2, and 3 or more)."""
    return np.column_stack([np.zeros(len(discounts)), discounts])


def estimate_discounts(counts: NgramCounts) -> tuple[FloatArray, tuple[int, ...]]:
    """Estimate each order's discounts from its counts of counts (Chen and Goodman 1999, equation 26).

    Also returns the orders that get `DISCOUNT_FALLBACK` instead.
    """
    adjusted = counts.adjusted.copy()
    last = _last_ngrams(counts)
    # as lmplz does
    adjusted[last] = counts.occurrences[last]
    table = np.zeros((counts.trie.order, 3))
    fallback_orders = []
    for order in range(1, counts.trie.order + 1):
        estimated = discounts_from(np.bincount(np.minimum(adjusted[counts.trie.nodes(order)], 5), minlength=6)[1:5])
        table[order - 1] = DISCOUNT_FALLBACK if estimated is None else estimated
        if estimated is None:
            fallback_orders.append(order)
    return table, tuple(fallback_orders)


def _last_ngrams(counts: NgramCounts) -> list[int]:
    """Return, for each order below the highest, the n-gram that ``lmplz`` sorts last.

    ``lmplz`` sorts by the first appearance of words, last word first.
    """
    trie = counts.trie
    text = trie.word[counts.longest]
    appearance = np.zeros(trie.starts[2], dtype=np.int64)
    appearance[text[::-1]] = np.arange(len(text), 0, -1)
    appearance[: SENTENCE_END + 1] = range(-SENTENCE_END, 1)
    node = int(np.argmax(appearance[1:])) + 1
    last = []
    for order in range(1, trie.order):
        last.append(node)
        longer = trie.nodes(order + 1)
        extended = longer.start + np.flatnonzero(trie.suffix[longer] == node)
        if len(extended) == 0:
            break  # it begins with <s>
        before = extended
        for _ in range(order):
            before = trie.context[before]
        node = int(extended[np.argmax(appearance[before])])
    return last


def discounts_from(counts_of_counts: npt.NDArray[np.integer]) -> FloatArray | None:
    """Return an order's discounts, given its numbers of n-grams with adjusted counts 1 to 4, or None if undefined."""
    n1, n2, n3, n4 = counts_of_counts.astype(np.float32)
    if n1 == 0 or n2 == 0 or n3 == 0:
        return None
    # single precision as in lmplz: an estimate of exactly 0 must not become -1e-17 and fall back
    y = np.float32(n1 / (n1 + 2.0 * np.float64(n2)))
    discounts = [
        np.float32(count) - np.float32(count + 1) * y * more / number
        for count, number, more in ((1, n1, n2), (2, n2, n3), (3, n3, n4))
    ]
    if any(not 0 <= discount <= count for count, discount in enumerate(discounts, start=1)):
        return None
    return np.array(discounts, dtype=np.float64)


def estimate(counts: NgramCounts, *, discounts: FloatArray | None = None) -> NgramModel:
    """Estimate an interpolated modified Kneser-Ney model, by default with estimated discounts."""
    trie = counts.trie
    fallback_orders: tuple[int, ...] = ()
    if discounts is None:
        discounts, fallback_orders = estimate_discounts(counts)
    table = by_count(discounts)

    whole = TextSums.of(counts)
    prob = np.full(len(trie.word), 1.0 / whole.vocabulary_size)
    backoff = np.ones(len(trie.word))
    for order in range(1, trie.order + 1):
        nodes, contexts = trie.nodes(order), trie.nodes(order - 1)
        adjusted = counts.adjusted[nodes]
        discount = table[order - 1][np.minimum(adjusted, 3)]
        total = whole.totals[contexts]
        # by whole numbers, so that the sum does not depend on how the words are numbered
        taken = np.zeros(len(total))
        for count in range(1, 4):
            taken += table[order - 1][count] * whole.followers[contexts, count]
        np.divide(taken, total, out=backoff[contexts], where=total > 0)
        np.maximum(backoff[contexts], ZERO, out=backoff[contexts])
        lower = prob[trie.suffix[nodes]]
        context = trie.context[nodes]
        prob[nodes] = (adjusted - discount) / total[context - contexts.start] + backoff[context] * lower
    # never predicted, and the root is no n-gram: 1, so that the logarithms are 0
    prob[SENTENCE_START] = 1.0
    prob[0] = backoff[0] = 1.0
    return NgramModel(trie, np.minimum(np.log10(prob), 0.0), np.log10(backoff), table[:, 1:], fallback_orders)


@kernel(tables=("first_child", "word"))
def find_child(first_child: Int32Array, word: Int32Array, node: int, wanted: int) -> int:
    """Return the child of `node` that ends with the unigram node `wanted`, or -1 if there is none."""
    if node == 0:
        return wanted
    low, high = int(first_child[node]), int(first_child[node + 1])
    while low < high:
        middle = (low + high) // 2
        if word[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    child: int = low if low < first_child[node + 1] and word[low] == wanted else -1
    return child


@kernel(
    elements=50_000,
    tables=("first_child", "word", "suffix", "log10_prob", "log10_backoff"),
    offsets=("offsets",),
)
def _score(
    words: Int32Array,
    offsets: Int64Array,
    first_child: Int32Array,
    word: Int32Array,
    suffix: Int32Array,
    log10_prob: FloatArray,
    log10_backoff: FloatArray,
    order: int,
) -> tuple[FloatArray, Int64Array, Int64Array]:
    sentences = len(offsets) - 1
    totals = np.zeros(sentences)
    unknown = np.zeros(sentences, dtype=np.int64)
    matched = np.zeros(sentences, dtype=np.int64)
    for sentence in range(sentences):
        node, length = SENTENCE_START, 1
        total, missing, lengths = 0.0, 0, 0
        for position in range(offsets[sentence], offsets[sentence + 1] + 1):
            wanted = words[position] if position < offsets[sentence + 1] else SENTENCE_END
            missing += wanted == UNKNOWN
            child = find_child(first_child, word, node, wanted)
            while child < 0:
                total += log10_backoff[node]
                node = suffix[node]
                length -= 1
                child = find_child(first_child, word, node, wanted)
            total += log10_prob[child]
            length += 1
            lengths += length
            node = child
            if length == order:
                node = suffix[child]
                length -= 1
        totals[sentence] = total
        unknown[sentence] = missing
        matched[sentence] = lengths
    return totals, unknown, matched


def log10_scores(model: NgramModel, values: npt.ArrayLike, offsets: npt.ArrayLike) -> SentenceScores:
    """Score sentences, each enclosed by ``<s>`` and ``</s>``, exactly as KenLM does with the model's ARPA file."""
    ids, bounds = as_sentences(values, offsets)
    trie = model.trie
    totals, unknown, matched = _score(
        trie.recode(ids),
        bounds,
        trie.first_child,
        trie.word,
        trie.suffix,
        model.log10_prob,
        model.log10_backoff,
        trie.order,
    )
    tokens = np.diff(bounds)
    return SentenceScores(totals, tokens, unknown, matched / (tokens + 1))
