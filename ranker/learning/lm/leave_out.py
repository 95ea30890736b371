"""Language model scores that leave out parts of the training text, without estimating a new model for each part.

A model trained on a candidate's own references overrates it. To score each source's candidates under the model of
all *other* sources' references, a group of training sentences is removed from the counts, the sentences of that group
are scored from the counts, and the training sentences are added back. Removing a sentence changes only these:
occurrences; the adjusted counts of n-grams that lose a preceding word; totals and counts of counts of the contexts
these follow; the vocabulary, if a word disappears. All of that is exact. The discounts are fixed: they stay those of
the whole text, three numbers per order that one source hardly changes. So the scores are those of
``estimate(count_ngrams(the other sentences), discounts=...)``, at the cost of two passes over the training text and
one over the scored text, whatever the number of groups.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array, offsets_of
from ranker.errors import DataError
from ranker.learning.lm.counts import ROOT, SENTENCE_END, SENTENCE_START, UNKNOWN, NgramCounts, TextSums, as_sentences
from ranker.learning.lm.kneser_ney import ZERO, SentenceScores, by_count, find_child
from ranker.storage.kernels import kernel, source_of


class _Counts(NamedTuple):
    """The trie and the counts that kernels update; one entry per node except in `first_child`, `total`, `followers`."""

    context: Int32Array
    word: Int32Array
    suffix: Int32Array
    first_child: Int32Array
    uses_occurrences: BoolArray  # adjusted count = occurrences: nothing precedes it, or top order
    occurrences: Int32Array
    adjusted: Int32Array
    total: Int64Array  # summed adjusted counts of the children
    followers: Int64Array  # four per context: children of adjusted count 0, 1, 2, and 3 or more


class _Groups(NamedTuple):
    """Sentences by group: the sentences of group ``g`` are ``members[offsets[g]:offsets[g + 1]]``."""

    members: Int64Array
    offsets: Int64Array


@kernel
def _adjust(counts: _Counts, node: int, change: int) -> None:
    context, before = counts.context[node], counts.adjusted[node]
    after = before + change
    counts.adjusted[node] = after
    counts.total[context] += change
    counts.followers[4 * context + min(before, 3)] -= 1
    counts.followers[4 * context + min(after, 3)] += 1


@kernel
def _add_sentence(counts: _Counts, longest: Int32Array, change: int) -> int:
    """Add a sentence (`change` is 1) or remove it (-1), and return the change in vocabulary size.

    `longest` has the node of the longest n-gram that ends at each position of the sentence.
    """
    words = 0
    for position in range(1, len(longest)):
        node = longest[position]
        while node != ROOT:
            shorter = counts.suffix[node]
            before = counts.occurrences[node]
            counts.occurrences[node] = before + change
            if counts.uses_occurrences[node]:
                _adjust(counts, node, change)
            if before == 0 or before + change == 0:
                if shorter != ROOT:
                    _adjust(counts, shorter, change)
                elif node != SENTENCE_END:
                    words += change
            node = shorter
    return words


@kernel
def _score_sentence(
    counts: _Counts, discounts: FloatArray, vocabulary_size: int, words: Int32Array
) -> tuple[float, int, int]:
    """Return a sentence's log10 probability, number of unknown words, and sum of matched n-gram lengths."""
    order = len(discounts)
    contexts = np.zeros(order + 1, dtype=np.int64)
    log10_prob, unknown, lengths = 0.0, 0, 0
    node, length = (SENTENCE_START, 1) if order > 1 else (ROOT, 0)
    for position in range(len(words) + 1):
        wanted = words[position] if position < len(words) else SENTENCE_END
        if counts.adjusted[wanted] == 0:
            wanted = UNKNOWN
            unknown += 1
        for size in range(length, -1, -1):
            contexts[size] = node
            node = counts.suffix[node]

        matched = length + 1
        child = find_child(counts.first_child, counts.word, contexts[length], wanted)
        while matched > 1 and (child < 0 or counts.adjusted[child] == 0):
            matched -= 1
            child = find_child(counts.first_child, counts.word, contexts[matched - 1], wanted)

        log10_prob += math.log10(
            _probability(counts, discounts, vocabulary_size, contexts[: length + 1], child, matched)
        )
        lengths += matched
        node, length = (child, matched) if matched < order else (counts.suffix[child], matched - 1)
    return log10_prob, unknown, lengths


@kernel
def _probability(
    counts: _Counts,
    discounts: FloatArray,
    vocabulary_size: int,
    contexts: Int64Array,
    ngram: int,
    matched: int,
) -> float:
    """Return a word's probability, interpolated from the uniform distribution; `ngram` is its longest known n-gram."""
    share = np.zeros(len(contexts))
    for size in range(matched, 0, -1):
        total = counts.total[contexts[size - 1]]
        if total > 0:
            count = counts.adjusted[ngram]
            share[size - 1] = (count - discounts[size - 1][min(count, 3)]) / total
        ngram = counts.suffix[ngram]
    prob = 1.0 / vocabulary_size
    for size in range(len(contexts)):
        total = counts.total[contexts[size]]
        if total > 0:
            taken = 0.0
            for count in range(1, 4):
                taken += discounts[size][count] * counts.followers[4 * contexts[size] + count]
            prob = share[size] + max(taken / total, ZERO) * prob
    return min(prob, 1.0)


def _score_groups_on_lists(
    counts: _Counts, discounts: FloatArray, vocabulary_size: int, longest: Int32Array, *rest: Any
) -> tuple[FloatArray, Int64Array, Int64Array]:
    lists: Any = _Counts(*(column.tolist() for column in counts))
    scores: tuple[FloatArray, Int64Array, Int64Array] = source_of(_score_groups)(
        lists, discounts.tolist(), vocabulary_size, longest.tolist(), *rest
    )
    return scores


@kernel(elements=120_000, plain=_score_groups_on_lists)
def _score_groups(
    counts: _Counts,
    discounts: FloatArray,
    vocabulary_size: int,
    longest: Int32Array,
    longest_offsets: Int64Array,
    training: _Groups,
    words: Int32Array,
    offsets: Int64Array,
    scored: _Groups,
) -> tuple[FloatArray, Int64Array, Int64Array]:
    sentences = len(offsets) - 1
    totals = np.zeros(sentences)
    unknown = np.zeros(sentences, dtype=np.int64)
    matched = np.zeros(sentences, dtype=np.int64)
    for group in range(len(scored.offsets) - 1):
        to_score = scored.members[scored.offsets[group] : scored.offsets[group + 1]]
        if len(to_score) == 0:
            continue
        left_out = training.members[training.offsets[group] : training.offsets[group + 1]]
        for sentence in left_out:
            own = longest[longest_offsets[sentence] : longest_offsets[sentence + 1]]
            vocabulary_size += _add_sentence(counts, own, -1)
        for sentence in to_score:
            totals[sentence], unknown[sentence], matched[sentence] = _score_sentence(
                counts, discounts, vocabulary_size, words[offsets[sentence] : offsets[sentence + 1]]
            )
        for sentence in left_out:
            own = longest[longest_offsets[sentence] : longest_offsets[sentence + 1]]
            vocabulary_size += _add_sentence(counts, own, 1)
    return totals, unknown, matched


def leave_out_scores(
    counts: NgramCounts,
    discounts: FloatArray,
    training_groups: npt.ArrayLike,
    values: npt.ArrayLike,
    offsets: npt.ArrayLike,
    groups: npt.ArrayLike,
) -> SentenceScores:
    """Score each sentence with the language model of the training sentences of all groups except its own."""
    trie = counts.trie
    ids, bounds = as_sentences(values, offsets)
    table = by_count(discounts)
    own, groups_of_training = np.asarray(groups), np.asarray(training_groups)
    training_sentences = len(counts.sentence_offsets) - 1
    labels, codes = np.unique(np.concatenate([groups_of_training, own]), return_inverse=True)
    training, scored = (
        _members(part, len(labels)) for part in (codes[:training_sentences], codes[training_sentences:])
    )
    text = TextSums.of(counts)
    whole = (np.diff(training.offsets) == text.sentences) & (np.diff(scored.offsets) > 0)
    if whole.any():
        raise DataError(
            f"all {text.sentences} training sentences belong to group {labels[whole][0]}: "
            "without this group, no training data is left; add sentences of other groups"
        )
    totals, unknown, matched = _score_groups(
        _changeable(counts, text),
        table,
        text.vocabulary_size,
        counts.longest,
        counts.sentence_offsets,
        training,
        trie.recode(ids),
        bounds,
        scored,
    )
    tokens = np.diff(bounds)
    return SentenceScores(totals, tokens, unknown, matched / (tokens + 1))


def _members(codes: npt.NDArray[np.intp], groups: int) -> _Groups:
    sizes = np.bincount(codes, minlength=groups)
    return _Groups(np.argsort(codes, kind="stable").astype(np.int64), offsets_of(sizes))


def _changeable(counts: NgramCounts, text: TextSums) -> _Counts:
    trie = counts.trie
    return _Counts(
        trie.context,
        trie.word,
        trie.suffix,
        trie.first_child,
        ~text.preceded,
        counts.occurrences.copy(),
        counts.adjusted.copy(),
        text.totals.copy(),
        text.followers.flatten(),
    )
