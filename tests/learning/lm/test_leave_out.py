"""Scores that leave a group's training sentences out: against estimating anew without them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import DataError
from ranker.learning.lm.counts import NgramCounts, count_ngrams
from ranker.learning.lm.kneser_ney import SentenceScores, estimate, log10_scores
from ranker.learning.lm.leave_out import leave_out_scores
from tests.effort import examples

Sentences = list[list[int]]


def csr(sentences: Sentences) -> tuple[np.ndarray, np.ndarray]:
    values = np.array([value for sentence in sentences for value in sentence], dtype=np.int32)
    return values, np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)


def assert_same(found: SentenceScores, row: int, expected: SentenceScores) -> None:
    assert found.log10_prob[row] == pytest.approx(expected.log10_prob[0], rel=1e-9)
    assert found.tokens[row] == expected.tokens[0]
    assert found.unknown[row] == expected.unknown[0]
    assert found.matched_length[row] == pytest.approx(expected.matched_length[0])


sentence = st.lists(st.integers(0, 5), max_size=7)


@settings(max_examples=examples(80), deadline=None)
@given(
    st.integers(1, 6),
    st.lists(st.tuples(sentence, st.integers(0, 3)), min_size=1, max_size=12),
    st.lists(st.tuples(st.lists(st.integers(0, 7), max_size=7), st.integers(0, 4)), max_size=8),
)
def test_scores_are_those_of_a_model_estimated_anew(
    order: int, training: list[tuple[list[int], int]], scored: list[tuple[list[int], int]]
) -> None:
    # group 9 is never left out, so every model has something to learn from
    training = [*training, ([0, 1, 2], 9)]
    counts = count_ngrams(*csr([words for words, _ in training]), order)
    discounts = estimate(counts).discounts
    scores = leave_out_scores(
        counts,
        discounts,
        [group for _, group in training],
        *csr([words for words, _ in scored]),
        np.array([group for _, group in scored], dtype=np.int64),
    )
    for row, (words, group) in enumerate(scored):
        others = [sentence for sentence, its_group in training if its_group != group]
        anew = estimate(count_ngrams(*csr(others), order), discounts=discounts)
        assert_same(scores, row, log10_scores(anew, *csr([words])))


@pytest.fixture(scope="module")
def corpus() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(8)
    return csr([generator.geometric(0.05, size=length).tolist() for length in generator.integers(0, 20, size=150)])


@pytest.fixture(scope="module")
def counts(corpus: tuple[np.ndarray, np.ndarray]) -> NgramCounts:
    return count_ngrams(*corpus, 3)


def test_order_of_the_sentences_changes_nothing(counts: NgramCounts, corpus: tuple[np.ndarray, np.ndarray]) -> None:
    before = counts.occurrences.copy(), counts.adjusted.copy()
    discounts = estimate(counts).discounts
    groups = np.arange(150) // 4
    expected = leave_out_scores(counts, discounts, groups, *corpus, groups)
    # had the sentences of a group not been put back exactly, those scored after it would show it
    shuffled = np.random.default_rng(1).permutation(150)
    values, offsets = corpus
    sentences = [values[offsets[s] : offsets[s + 1]].tolist() for s in shuffled]
    scores = leave_out_scores(counts, discounts, groups, *csr(sentences), groups[shuffled])
    np.testing.assert_array_equal(scores.log10_prob, expected.log10_prob[shuffled])
    np.testing.assert_array_equal(counts.occurrences, before[0])
    np.testing.assert_array_equal(counts.adjusted, before[1])


def test_wrong_arguments_are_named(counts: NgramCounts, corpus: tuple[np.ndarray, np.ndarray]) -> None:
    discounts = estimate(counts).discounts
    with pytest.raises(DataError, match=r"all 150 training sentences belong to group de-1: without this group"):
        leave_out_scores(counts, discounts, ["de-1"] * 150, [0], [0, 1], ["de-1"])
