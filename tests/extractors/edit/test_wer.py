from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.edit import distance
from ranker.extractors.edit.distance import edit_distance
from ranker.extractors.edit.per import PositionIndependentErrorRate
from ranker.extractors.edit.wer import WordErrorRate
from ranker.storage import kernels
from tests.effort import THOROUGH, examples, thorough
from tests.extractors.edit_rates import score, statistics


def plain_distance(candidate: list[int], reference: list[int]) -> int:
    """Fill the whole table, the twin of the bit vectors."""
    row = list(range(len(reference) + 1))
    for word in candidate:
        diagonal, row[0] = row[0], row[0] + 1
        for at, other in enumerate(reference, 1):
            diagonal, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, diagonal + (word != other))
    return row[-1]


@settings(deadline=None, max_examples=examples(300))
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(0, 200), st.integers(0, 200))
def test_bit_vectors_equal_the_table(seed, words, length, size):
    generator = np.random.default_rng(seed)
    candidate, reference = (generator.integers(0, words, number).astype(np.int32) for number in (length, size))
    assert edit_distance(candidate, reference) == plain_distance(candidate.tolist(), reference.tolist())


@pytest.mark.parametrize("size", [1, 63, 64, 65, 127, 128, 129, 192])
def test_references_that_fill_blocks(size):
    reference = np.arange(size, dtype=np.int32)
    for candidate in (reference, reference[1:], reference[:-1], reference[::-1].copy(), np.roll(reference, 1)):
        assert edit_distance(candidate, reference) == plain_distance(candidate.tolist(), reference.tolist())


@thorough
def test_long_references_are_compared_in_little_memory():
    generator = np.random.default_rng(0)
    for size in (101, 128, 129, 700, 2049) if THOROUGH else (101, 128, 129):
        candidate, reference = (generator.integers(0, 300, size + more).astype(np.int32) for more in (-90, 0))
        for compare in (distance._long_distance, edit_distance):
            with kernels.using("compiled"):
                found = compare(candidate, reference)
            assert found == plain_distance(candidate.tolist(), reference.tolist())
    words = np.arange(2000, dtype=np.int32)
    tracemalloc.start()
    with kernels.using("plain"), np.errstate(all="ignore"):
        assert distance._long_distance.py_func(words, words[::-1].copy()) == 2000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # the bits of all words for every word would be 500,000 bytes
    assert peak < 100_000


@pytest.mark.parametrize(
    ("references", "candidate", "wer", "per"),
    [
        (["a b c d"], "", 1.0, 1.0),
        ([""], "a b", 1.0, 1.0),
        ([""], "", 0.0, 0.0),
        (["a"], "b b b", 3.0, 3.0),
        (["a b c d e f", "a b x"], "a b c", 1 / 3, 1 / 3),
        (["x", ""], "a b", 1.0, 1.0),
        (["a b c"], "c a b", 2 / 3, 0.0),
    ],
)
def test_degenerate_sentences_and_the_best_reference(references, candidate, wer, per):
    assert score(WordErrorRate(), references, candidate) == pytest.approx(wer)
    assert score(PositionIndependentErrorRate(), references, candidate) == pytest.approx(per)


@pytest.mark.parametrize("kind", [WordErrorRate, PositionIndependentErrorRate])
def test_case_counts_on_request_and_without_a_reference_every_word_is_an_error(kind):
    assert statistics(kind(), [([], "a b c"), (["a"], "a")]).tolist() == [[3, 0], [0, 1]]
    assert statistics(kind(lowercase=False), [(["A b"], "a b")]).tolist() == [[1, 2]]
    assert not kind().higher_is_better


sentences = st.lists(st.sampled_from("abcde"), max_size=9).map(" ".join)


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(sentences, min_size=1, max_size=3), sentences)
def test_per_counts_bags_of_words_and_is_at_most_wer(references, candidate):
    words = candidate.split()
    rates = []
    for reference in references:
        other = reference.split()
        errors = max(len(words), len(other)) - sum((Counter(words) & Counter(other)).values())
        rates.append(errors / len(other) if other else min(errors, 1))
    value = score(PositionIndependentErrorRate(), references, candidate)
    assert value == pytest.approx(min(rates))
    assert value <= score(WordErrorRate(), references, candidate) + 1e-12
