from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.edit.per import PositionIndependentErrorRate
from ranker.extractors.edit.wer import WordErrorRate
from ranker.extractors.registry import make_metric
from tests.effort import examples
from tests.extractors.edit_rates import score, statistics
from tests.golden_values import SHARED_ONLY, expected, items_of

sentences = st.lists(st.sampled_from("abcde"), max_size=9).map(" ".join)


@pytest.mark.parametrize("case", ["lc", "cased"])
@pytest.mark.parametrize(("references", "which"), [(1, "ref0"), (None, "best")])
def test_sentences_equal_the_formula(golden, case, references, which):
    metric = PositionIndependentErrorRate(lowercase=case == "lc")
    rows = statistics(metric, items_of(golden, references))
    want = expected(golden, "per.tsv", *(f"{case}.{part}.{which}" for part in ("errors", "len", "per")))
    np.testing.assert_array_equal(rows, want[:, :2])
    np.testing.assert_allclose(metric.score(rows), want[:, 2], atol=1e-12, rtol=0)


@SHARED_ONLY
@pytest.mark.parametrize("case", ["lc", "cased"])
@pytest.mark.parametrize(("references", "which"), [(1, "ref0"), (None, "bestrate")])
def test_corpora_equal_the_formula(golden, case, references, which):
    metric = PositionIndependentErrorRate(lowercase=case == "lc")
    for group, values in json.loads((golden / "wer_per.corpus.json").read_text()).items():
        want = values[f"per.{case}.{which}"]
        total = statistics(metric, items_of(golden, references, group)).sum(axis=0)
        assert total.tolist() == [want["errors"], want["length"]]
        assert metric.score(total) == pytest.approx(want["rate"], abs=1e-12)


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(sentences, min_size=1, max_size=3), sentences)
def test_plain_bags_of_words_and_the_bound_on_wer(references, candidate):
    words = candidate.split()
    rates = []
    for reference in references:
        other = reference.split()
        errors = max(len(words), len(other)) - sum((Counter(words) & Counter(other)).values())
        rates.append(errors / len(other) if other else min(errors, 1))
    value = score(PositionIndependentErrorRate(), references, candidate)
    assert value == pytest.approx(min(rates))
    assert value <= score(WordErrorRate(), references, candidate) + 1e-12


@settings(deadline=None, max_examples=examples(30))
@given(sentences.filter(bool), st.randoms(use_true_random=False))
def test_order_does_not_matter(reference, random):
    words = reference.split()
    random.shuffle(words)
    assert score(PositionIndependentErrorRate(), [reference], " ".join(words)) == 0


def test_degenerate_sentences():
    metric = PositionIndependentErrorRate()
    assert score(metric, ["a b c"], "") == 1
    assert score(metric, [""], "a b") == 1
    assert score(metric, [""], "") == 0
    assert statistics(metric, [([], "a b")]).tolist() == [[2, 0]]
    assert not make_metric("per").higher_is_better
