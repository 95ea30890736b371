from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.edit.distance import edit_distance
from ranker.extractors.edit.wer import WordErrorRate
from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of
from tests.effort import examples
from tests.extractors.edit_rates import score, statistics
from tests.golden_values import SHARED_ONLY, expected, items_of


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


@pytest.mark.parametrize("case", ["lc", "cased"])
@pytest.mark.parametrize(("references", "which"), [(1, "ref0"), (None, "best")])
def test_sentences_equal_jiwer(golden, case, references, which):
    metric = WordErrorRate(lowercase=case == "lc")
    rows = statistics(metric, items_of(golden, references))
    want = expected(golden, "wer.tsv", *(f"{case}.{part}.{which}" for part in ("edits", "len", "wer")))
    np.testing.assert_array_equal(rows, want[:, :2])
    np.testing.assert_allclose(metric.score(rows), want[:, 2], atol=1e-12, rtol=0)


@SHARED_ONLY
@pytest.mark.parametrize("case", ["lc", "cased"])
@pytest.mark.parametrize(("references", "which"), [(1, "ref0"), (None, "bestrate")])
def test_corpora_equal_jiwer(golden, case, references, which):
    metric = WordErrorRate(lowercase=case == "lc")
    for group, values in json.loads((golden / "wer_per.corpus.json").read_text()).items():
        want = values[f"wer.{case}.{which}"]
        total = statistics(metric, items_of(golden, references, group)).sum(axis=0)
        assert total.tolist() == [want["errors"], want["length"]]
        assert metric.score(total) == pytest.approx(want["rate"], abs=1e-12)


@pytest.mark.parametrize(
    ("references", "candidate", "value"),
    [
        (["a b c d"], "", 1.0),
        ([""], "a b", 1.0),
        ([""], "", 0.0),
        (["a"], "b b b", 3.0),
        (["a b c d e f", "a b x"], "a b c", 1 / 3),
        (["x", ""], "a b", 1.0),
    ],
)
def test_degenerate_sentences_and_the_best_reference(references, candidate, value):
    assert score(WordErrorRate(), references, candidate) == pytest.approx(value)


def test_without_a_reference_every_word_is_an_error():
    metric = WordErrorRate()
    assert statistics(metric, [([], "a b c"), (["a"], "a")]).tolist() == [[3, 0], [0, 1]]
    assert statistics(metric, [([], "a b c")]).tolist() == [[3, 0]]


def test_lower_is_better_and_the_notation_is_the_identity():
    assert not make_metric("wer").higher_is_better
    assert str(make_metric("wer[lowercase=false]")) == "wer[lowercase=false]"
    assert WordErrorRate(lowercase=False).statistics(dataset_of([(["A b"], "a b")])).tolist() == [[1, 2]]
