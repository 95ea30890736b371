from __future__ import annotations

import gzip
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of
from tests.effort import examples
from tests.extractors.edit_rates import statistics
from tests.golden_values import inputs


def scores(notation, items):
    return make_metric(notation).transform(dataset_of(items))[:, 0]


@pytest.fixture(scope="module")
def ribes_golden(golden):
    path = golden / "ribes.jsonl.gz"
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


@pytest.mark.parametrize("case", ["lc", "cased"])
def test_aligned_words_equal_figure_1(golden, ribes_golden, case):
    rows = {row["id"]: row for row in ribes_golden}
    items, want = [], []
    for item in inputs(golden):
        for reference, figure in zip(item["refs_tok"], rows[item["id"]][case]["fig1"], strict=True):
            if figure["precision"] is not None:
                items.append(([reference], item["hyp_tok"]))
                want.append((figure["precision"], figure["n"] / len(reference.split())))
    options = f"[alignment=isozaki,tokenizer=none,lowercase={'true' if case == 'lc' else 'false'}]"
    precision, recall = np.array(want).T
    np.testing.assert_allclose(scores("precision" + options, items), precision, atol=1e-12, rtol=0)
    np.testing.assert_allclose(scores("recall" + options, items), recall, atol=1e-12, rtol=0)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    np.testing.assert_allclose(scores("f1" + options, items), f1, atol=1e-12, rtol=0)


def test_repeated_words_without_a_telling_neighbour_stay_unaligned():
    items = [(["a b a b"], "a x a y")]
    assert scores("precision", items)[0] == 0.5
    assert scores("precision[alignment=isozaki]", items)[0] == 0


words = st.lists(st.sampled_from("abcd"), max_size=7)


@settings(deadline=None, max_examples=examples(25))
@given(words, st.lists(words, min_size=1, max_size=3))
def test_equal_counting_by_hand(candidate, references):
    best = np.zeros(3)
    for reference in references:
        matched = sum((Counter(candidate) & Counter(reference)).values())
        precision, recall = (matched / len(side) if side else 0.0 for side in (candidate, reference))
        f1 = 2 * precision * recall / (precision + recall) if matched else 0.0
        best = np.maximum(best, [precision, recall, f1])
    items = [([" ".join(item) for item in references], " ".join(candidate))]
    result = [scores(name, items)[0] for name in ("precision", "recall", "f1")]
    assert result == pytest.approx(best)


def test_a_corpus_sums_words_first():
    items = [(["a b c d"], "a b"), (["a"], "b c d e")]
    for name, want in (("precision", 2 / 6), ("recall", 2 / 5), ("f1", 4 / 11)):
        metric = make_metric(name)
        assert metric.score(statistics(metric, items).sum(axis=0)) == pytest.approx(want)


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "bp"])
def test_empty_sentences_score_0(name):
    assert scores(name, [(["a"], ""), ([""], "")]).tolist() == [0, 0]
