from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.semantic.cache import keep_columns, known_columns, text_keys
from ranker.extractors.semantic.matching import TokenVectors, match, tokens_of, word_matches
from ranker.learning.encoder.encoder import Pieces, unit
from ranker.storage.row_cache import RowCache
from tests.effort import examples


def random_tokens(lengths: list[int], seed: int, width: int = 5) -> TokenVectors:
    generator = np.random.default_rng(seed)
    size = sum(lengths)
    return TokenVectors(
        unit(generator.normal(size=(size, width)).astype(np.float32)),
        generator.integers(0, 3, size) / 2,
        np.cumsum([0, *lengths]),
        np.concatenate([np.zeros(0, dtype=np.int32), *(np.arange(length, dtype=np.int32) for length in lengths)]),
    )


def plain(tokens: TokenVectors, one: int, other: int) -> list[float]:
    """Precision, recall and F as they are defined, token by token."""
    left, right = (range(*tokens.offsets[text : text + 2]) for text in (one, other))

    def mean(rows, columns):
        total = sum(tokens.weights[row] for row in rows)
        best = {row: max(float(tokens.vectors[row] @ tokens.vectors[column]) for column in columns) for row in rows}
        return sum(tokens.weights[row] * best[row] for row in rows) / total

    if not (sum(tokens.weights[list(left)]) and sum(tokens.weights[list(right)])):
        return [0.0, 0.0, 0.0]
    precision, recall = mean(left, right), mean(right, left)
    joined = precision > 0 and recall > 0
    return [precision, recall, 2 * precision * recall / (precision + recall) if joined else 0.0]


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.integers(0, 7), min_size=1, max_size=5), st.integers(0, 1000))
def test_matching_equals_a_plain_loop(lengths, seed):
    tokens = random_tokens(lengths, seed)
    left, right = (side.ravel() for side in np.indices((len(lengths), len(lengths))))
    result = match(tokens, left, right)
    wanted = [plain(tokens, *pair) for pair in zip(left, right, strict=True)]
    np.testing.assert_allclose(result, wanted, atol=1e-6)
    # the other way round precision is recall
    np.testing.assert_allclose(match(tokens, right, left), result[:, [1, 0, 2]], atol=1e-6)


# two texts: [ a ##a b ] and [ c ], the first with special tokens 1 and 2
PIECES = Pieces(
    np.array([1, 10, 11, 12, 2, 1, 13, 2], dtype=np.int32),
    np.array([-1, 0, 0, 1, -1, -1, 0, -1], dtype=np.int32),
    np.array([0, 5, 8]),
    np.array([0, 5, 8]),
)


def test_words_are_the_means_of_their_sub_words():
    vectors = np.eye(8, dtype=np.float32)
    weights = np.array([9.0, 1, 2, 4, 9, 9, 5, 9])
    tokens = tokens_of(PIECES, vectors, weights, words=True)
    assert tokens.word.tolist() == [-1, 0, 1, -1, -1, 0, -1]
    assert tokens.offsets.tolist() == [0, 4, 7]
    assert tokens.weights.tolist() == [0, 1.5, 4, 0, 0, 5, 0]
    np.testing.assert_allclose(tokens.vectors[1], (vectors[1] + vectors[2]) / np.sqrt(2))
    alone = tokens_of(PIECES, vectors, weights, words=True, special=False)
    assert alone.offsets.tolist() == [0, 2, 3]
    assert alone.weights.tolist() == [1.5, 4, 5]
    assert tokens_of(PIECES, vectors, weights, special=False).word.tolist() == [0, 0, 1, 0]


def test_special_tokens_can_be_matched_but_do_not_count():
    vectors = np.zeros((8, 2), dtype=np.float32)
    vectors[:, 0] = 1
    vectors[[0, 3]] = [0, 1]  # b of the first text is like its own beginning only
    ones = np.ones(8)
    left, right = np.array([1]), np.array([0])
    assert match(tokens_of(PIECES, vectors, ones), left, right)[0].tolist() == pytest.approx([1, 2 / 3, 0.8])
    vectors[5] = [0, 1]
    assert match(tokens_of(PIECES, vectors, ones), left, right)[0].tolist() == pytest.approx([1, 1, 1])
    without = match(tokens_of(PIECES, vectors, ones, special=False), left, right)
    assert without[0].tolist() == pytest.approx([1, 2 / 3, 0.8])


def test_words_and_what_they_matched():
    vectors = unit(np.array([[1, 0], [1, 0], [1, 1], [0, 1], [1, 0], [1, 0], [0, 1], [1, 0]], dtype=np.float32))
    tokens = tokens_of(PIECES, vectors, np.ones(8), special=False)
    result = word_matches(tokens, 0, 1)
    assert [(item.word, item.partner) for item in result] == [(0, 0), (1, 0)]
    assert [item.similarity for item in result] == pytest.approx([np.sqrt(0.5) / 2, 1.0])
    sizes = np.array([2, 1])
    assert (np.array([item.similarity for item in result]) @ sizes) / 3 == pytest.approx(
        match(tokens, np.array([0]), np.array([1]))[0, 0]
    )
    # a word that is most like a special token matched no word
    assert word_matches(tokens_of(PIECES, vectors, np.ones(8)), 0, 1)[0].partner == -1


def test_the_cache_gives_back_what_it_was_given():
    rows = np.random.default_rng(0).normal(size=(1200, 4))
    keys = [str(number).encode() for number in range(1200)]
    with RowCache("semantic", "one") as cache:
        assert not known_columns(cache, keys, 4)[1].any()
        keep_columns(cache, keys[::2], rows[::2])
    with RowCache("semantic", "one") as cache:
        result, there = known_columns(cache, keys, 4)
        np.testing.assert_array_equal(there, np.arange(1200) % 2 == 0)
        np.testing.assert_array_equal(result[there], rows[::2])


def test_keys_tell_texts_apart_by_their_sub_words():
    first, second = text_keys(PIECES)
    assert first != second
    assert text_keys(PIECES.take(np.array([1, 0]))) == [second, first]
