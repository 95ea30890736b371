from __future__ import annotations

import gzip
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ranker.extractors.ngram.brevity import BrevityPenalty
from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of
from tests.effort import examples
from tests.extractors.edit_rates import statistics
from tests.golden_values import SHARED_ONLY, expected, inputs, items_of

MEASURES = {"p": "precision", "r": "recall", "f": "f1"}
MEASURES_PR = ("precision", "recall")


def scores(notation, items):
    return make_metric(notation).transform(dataset_of(items))[:, 0]


def tokenised(golden, references=None):
    return [(item["refs_tok"][:references], item["hyp_tok"]) for item in inputs(golden)]


@pytest.mark.parametrize("case", ["lc", "cased"])
@pytest.mark.parametrize("measure", MEASURES)
def test_matched_words_equal_gtm_with_exponent_1(golden, case, measure):
    notation = f"{MEASURES[measure]}[tokenizer=none,lowercase={'true' if case == 'lc' else 'false'}]"
    want = expected(golden, "gtm_e1.tsv", f"{case}.{measure}.ref0")[:, 0]
    np.testing.assert_allclose(scores(notation, tokenised(golden, 1)), want, atol=1e-12, rtol=0)


@pytest.mark.parametrize("case", ["lc", "cased"])
def test_of_several_references_the_best_f_counts(golden, case):
    want = expected(golden, "gtm_e1.tsv", f"{case}.f.bestref")[:, 0]
    result = scores(f"f1[tokenizer=none,lowercase={'true' if case == 'lc' else 'false'}]", tokenised(golden))
    np.testing.assert_allclose(result, want, atol=1e-12, rtol=0)


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


PAPER = {
    "e0": (
        "he read the book because he was interested in world history",
        "he was interested in world history because he read the book",
    ),
    "e1": ("Bob hit John yesterday", "John hit Bob yesterday"),
    "e2": ("the book was read by the boy", "the boy read the book"),
}


@SHARED_ONLY
@pytest.mark.parametrize("name", PAPER)
def test_the_papers_examples(golden, name):
    example = json.loads((golden / "isozaki_examples.json").read_text())[name]
    candidate, reference = PAPER[name]
    precision, recall = (scores(f"{item}[alignment=isozaki]", [([reference], candidate)])[0] for item in MEASURES_PR)
    assert precision == pytest.approx(example["precision"], abs=1e-12)
    assert recall == pytest.approx(example["n"] / len(reference.split()), abs=1e-12)


def test_repeated_words_without_a_telling_neighbour_stay_unaligned():
    items = [(["a b a b"], "a x a y")]
    assert scores("precision", items)[0] == 0.5
    assert scores("precision[alignment=isozaki]", items)[0] == 0


words = st.lists(st.sampled_from("abcd"), max_size=7)


@settings(deadline=None, max_examples=examples(25))
@given(words, st.lists(words, min_size=1, max_size=3))
@example(["a", "a", "b", "b", "b"], [["a"] * 7, ["a"]])  # F is 4/12 and 2/6: the first counts
def test_equal_counting_by_hand(candidate, references):
    best = (0.0, 0.0, 0.0)
    for reference in references:
        matched = sum((Counter(candidate) & Counter(reference)).values())
        precision, recall = (matched / len(side) if side else 0.0 for side in (candidate, reference))
        f1 = 2 * precision * recall / (precision + recall) if matched else 0.0
        if f1 > best[2] + 1e-12:
            best = precision, recall, f1
    items = [([" ".join(item) for item in references], " ".join(candidate))]
    result = [scores(name, items)[0] for name in ("precision", "recall", "f1")]
    assert result == pytest.approx(best)


def test_a_corpus_sums_words_first():
    items = [(["a b c d"], "a b"), (["a"], "b c d e")]
    for name, want in (("precision", 2 / 6), ("recall", 2 / 5), ("f1", 4 / 11)):
        metric = make_metric(name)
        assert metric.score(statistics(metric, items).sum(axis=0)) == pytest.approx(want)


def test_bp_equals_sacrebleu(golden):
    columns = BrevityPenalty().transform(dataset_of(items_of(golden)))[:, 0]
    np.testing.assert_allclose(columns, expected(golden, "bleu_sacrebleu.tsv", "bp")[:, 0], atol=1e-12, rtol=0)


@SHARED_ONLY
def test_bp_of_a_corpus_comes_from_summed_lengths(golden):
    metric = BrevityPenalty()
    corpora = json.loads((golden / "bleu_sacrebleu.corpus.json").read_text())
    for group in ("de-en", "fi-en", "ted"):
        items = items_of(golden, None, group)
        total = statistics(metric, items).sum(axis=0)
        wanted = corpora[group]["cased.exp.N4"]
        assert total.tolist() == [wanted["sys_len"], wanted["ref_len"]]
        assert metric.score(total) == pytest.approx(wanted["bp"], abs=1e-12)


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "bp"])
def test_empty_sentences_score_0(name):
    assert scores(name, [(["a"], ""), ([""], "")]).tolist() == [0, 0]
