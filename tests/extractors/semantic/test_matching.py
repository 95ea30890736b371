from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from ranker.extractors.semantic import matching
from ranker.extractors.semantic import vectors as module
from ranker.extractors.semantic.matching import TextVectors, match, word_matches
from ranker.extractors.semantic.vectors import text_keys, text_vectors
from ranker.learning.encoder.embedding import Embeddings, Subwords, unit
from tests.effort import examples


def random_text(length: int, generator: np.random.Generator, width: int = 5) -> TextVectors:
    tokens = unit(generator.normal(size=(length, width)).astype(np.float32))
    whole = unit(generator.normal(size=(1, width)).astype(np.float32))[0]
    return TextVectors(tokens, generator.integers(0, 3, length) / 2, np.arange(length, dtype=np.int32), whole)


def plain(first: TextVectors, second: TextVectors) -> list[float]:
    """Precision, recall, F and cosine as they are defined, token by token."""

    def mean(text, other):
        best = [max(float(token @ each) for each in other.tokens) for token in text.tokens]
        return sum(weight * value for weight, value in zip(text.weights, best, strict=True)) / sum(text.weights)

    if not (sum(first.weights) and sum(second.weights)):
        return [0.0] * 4
    precision, recall = mean(first, second), mean(second, first)
    joined = precision > 0 and recall > 0
    f = 2 * precision * recall / (precision + recall) if joined else 0.0
    return [precision, recall, f, float(first.whole @ second.whole)]


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.integers(0, 7), min_size=1, max_size=5), st.integers(0, 1000))
def test_matching_equals_a_plain_loop(lengths, seed):
    generator = np.random.default_rng(seed)
    texts = [random_text(length, generator) for length in lengths]
    pairs = np.indices((len(lengths), len(lengths))).reshape(2, -1).T
    result = match(texts, pairs)
    np.testing.assert_allclose(result, [plain(texts[one], texts[other]) for one, other in pairs], atol=1e-6)
    # the other way round precision is recall
    np.testing.assert_allclose(match(texts, pairs[:, ::-1]), result[:, [1, 0, 2, 3]], atol=1e-6)


def test_matching_in_blocks_changes_no_bit(monkeypatch):
    generator = np.random.default_rng(3)
    texts = [random_text(length, generator, width=384) for length in (37, 52, 1)]
    pairs = np.indices((3, 3)).reshape(2, -1).T
    whole = match(texts, pairs)
    for most in (1, 100, 700):
        monkeypatch.setattr(matching, "_MOST_COSINES", most)
        np.testing.assert_array_equal(match(texts, pairs), whole)


# two texts: [ a ##a b ] and [ c ], the first with special tokens 1 and 2
PIECES = Subwords(
    np.array([1, 10, 11, 12, 2, 1, 13, 2], dtype=np.int32),
    np.array([-1, 0, 0, 1, -1, -1, 0, -1], dtype=np.int32),
    np.array([0, 5, 8]),
    np.array([0, 5, 8]),
)


class _Encoder:
    """Gives the vectors that it has, and counts the texts that it is asked for."""

    class files:
        digest = "of a test"

    def __init__(self, vectors):
        self.vectors, self.encoded = np.asarray(vectors, dtype=np.float32), 0

    def embed(self, pieces, layer, count):
        self.encoded += len(pieces)
        rows = np.concatenate([np.flatnonzero(PIECES.ids == piece)[:1] for piece in pieces.ids])
        return Embeddings(self.vectors[rows], np.ones((len(pieces), self.vectors.shape[1]), dtype=np.float32))


@pytest.fixture(autouse=True)
def _nothing_kept():
    module._store.cache_clear()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_reversed_pair_has_the_same_bits(threads):
    """Whatever the kernel of a matrix product, which adds up by place, and however many threads it has."""
    random = np.random.default_rng(0)
    texts = [random_text(length, random, width=384) for length in (1, 2, 7, 30, 130, 515)]
    pairs = np.array([(left, right) for left in range(6) for right in range(6)])
    with threadpool_limits(threads):
        there, back = match(texts, pairs), match(texts, pairs[:, ::-1])
    np.testing.assert_array_equal(there, back[:, [1, 0, 2, 3]])
    np.testing.assert_array_equal(there, match(texts, pairs))


def test_special_tokens_can_be_matched_but_do_not_count():
    vectors = np.zeros((8, 2), dtype=np.float32)
    vectors[:, 0] = 1
    vectors[[0, 3]] = [0, 1]  # b of the first text is like its own beginning only
    keys, pair = [b"first", b"second"], np.array([[1, 0]])
    with_special = text_vectors(_Encoder(vectors), PIECES, keys, None, special=True)
    assert [text.weights.tolist() for text in with_special] == [[0, 1, 1, 1, 0], [0, 1, 0]]
    assert match(with_special, pair)[0, :3].tolist() == pytest.approx([1, 1, 1])
    without = text_vectors(_Encoder(vectors), PIECES, keys, None, special=False)
    assert [text.word.tolist() for text in without] == [[0, 0, 1], [0]]
    assert match(without, pair)[0, :3].tolist() == pytest.approx([1, 2 / 3, 0.8])


def test_a_text_is_encoded_once_while_there_is_room(monkeypatch):
    encoder, keys = _Encoder(np.eye(8)), [b"first", b"second"]
    first = text_vectors(encoder, PIECES, keys, None, special=False)
    again = text_vectors(encoder, PIECES.take(np.array([1, 0])), keys[::-1], None, special=False)
    assert encoder.encoded == 2
    assert [text.tokens.tolist() for text in again] == [text.tokens.tolist() for text in first[::-1]]
    monkeypatch.setattr(module, "_KEPT", first[0].size)
    text_vectors(encoder, PIECES.take(np.array([0])), keys[:1], None, special=False)
    text_vectors(encoder, PIECES.take(np.array([1])), keys[1:], None, special=False)
    assert encoder.encoded == 3


def test_words_and_what_they_matched():
    vectors = unit(np.array([[1, 0], [1, 0], [1, 1], [0, 1], [1, 0], [1, 0], [0, 1], [1, 0]], dtype=np.float32))
    texts = text_vectors(_Encoder(vectors), PIECES, [b"first", b"second"], None, special=False)
    result = word_matches(*texts)
    assert [(item.word, item.partner) for item in result] == [(0, 0), (1, 0)]
    assert [item.similarity for item in result] == pytest.approx([np.sqrt(0.5) / 2, 1.0])
    sizes = np.array([2, 1])
    assert (np.array([item.similarity for item in result]) @ sizes) / 3 == pytest.approx(
        match(texts, np.array([[0, 1]]))[0, 0]
    )
    # a word that is most like a special token matched no word
    special = text_vectors(_Encoder(vectors), PIECES, [b"first", b"second"], None, special=True)
    assert word_matches(*special)[0].partner == -1


def test_keys_tell_texts_apart_by_their_sub_words():
    first, second = text_keys(PIECES)
    assert first != second
    assert text_keys(PIECES.take(np.array([1, 0]))) == [second, first]
