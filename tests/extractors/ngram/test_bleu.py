from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import OptionError
from ranker.extractors.ngram.bleu import Bleu
from ranker.extractors.registry import make
from ranker.extractors.text.ngrams import ngram_matches
from ranker.extractors.text.tokens import token_batch
from tests import golden_values
from tests.datasets import dataset_of
from tests.effort import examples
from tests.golden_values import SHARED_ONLY


def scores(metric: Bleu, items) -> np.ndarray:
    return metric.transform(dataset_of(items))[:, 0]


@pytest.fixture(scope="module")
def inputs(golden) -> list[dict]:
    return golden_values.inputs(golden)


@pytest.fixture(scope="module")
def expected(golden) -> dict[str, dict[str, str]]:
    return golden_values.rows_of(golden, "bleu_sacrebleu.tsv")


SMOOTHINGS = {"exp": "exp", "floor": "floor", "add-k": "add-one", "none": "none"}


@pytest.mark.parametrize("theirs", SMOOTHINGS)
@pytest.mark.parametrize("effective", [True, False])
@pytest.mark.parametrize(("lowercase", "order"), [*((False, order) for order in range(1, 6)), (True, 4)])
def test_sentence_scores_equal_sacrebleu(inputs, expected, theirs, effective, lowercase, order):
    column = f"{'lc' if lowercase else 'cased'}.{theirs}.{'eff' if effective else 'noeff'}.N{order}"
    metric = Bleu(order=order, smoothing=SMOOTHINGS[theirs], effective_order=effective, lowercase=lowercase)
    actual = scores(metric, [(item["refs"], [item["hyp"]]) for item in inputs])
    theirs_scores = [float(expected[item["id"]][column]) / 100 for item in inputs]
    np.testing.assert_allclose(actual, theirs_scores, atol=1e-9, rtol=0)


def test_statistics_equal_sacrebleu(inputs, expected):
    metric = Bleu(order=5)
    rows = metric.statistics(dataset_of([(item["refs"], [item["hyp"]]) for item in inputs]))
    for item, row in zip(inputs, rows, strict=True):
        want = expected[item["id"]]
        assert row[:5].tolist() == [int(n) for n in want["correct"].split()], item["id"]
        assert row[5:10].tolist() == [int(n) for n in want["total"].split()]
        assert row[10:].tolist() == [int(want["sys_len"]), int(want["ref_len"]), 1]


@SHARED_ONLY
def test_corpus_scores_equal_sacrebleu(golden: Path, inputs):
    corpora = json.loads((golden / "bleu_sacrebleu.corpus.json").read_text())
    compared = 0
    for group, wanted in corpora.items():
        if group.startswith("_"):
            continue
        if group == "all.ref0":
            items = [(item["refs"][:1], [item["hyp"]]) for item in inputs]
        elif group == "all":
            items = [(item["refs"], [item["hyp"]]) for item in inputs]
        else:
            items = [(item["refs"], [item["hyp"]]) for item in inputs if item["group"] == group]
        dataset = dataset_of(items)
        for column, value in wanted.items():
            case, smoothing, order = column.split(".")
            metric = Bleu(
                order=int(order[1:]),
                smoothing=SMOOTHINGS[smoothing],
                effective_order=False,
                lowercase=case == "lc",
            )
            total = metric.statistics(dataset).sum(axis=0)
            assert metric.score(total) == pytest.approx(value["score"] / 100, abs=1e-9), (group, column)
            compared += 1
    assert compared > 100


sentences = st.lists(st.sampled_from(["a", "b", "c", "the", "cat", ".", "12,5", "x-y"]), max_size=12).map(" ".join)


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(sentences, min_size=1, max_size=3), sentences)
def test_any_sentence_equals_sacrebleu(references, candidate):
    metric = Bleu()
    expected = sacrebleu.metrics.BLEU(effective_order=True).sentence_score(candidate, references).score / 100
    assert scores(metric, [(references, [candidate])])[0] == pytest.approx(expected, abs=1e-12)


def plain_matches(candidate: list[str], references: list[list[str]], n: int) -> int:
    """Count clipped matches of n-grams in plain Python, the twin of the kernel."""

    def grams(words: list[str]) -> list[tuple[str, ...]]:
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    own = grams(candidate)
    return sum(
        min(own.count(gram), max((grams(reference).count(gram) for reference in references), default=0))
        for gram in set(own)
    )


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(st.lists(sentences, max_size=3), st.lists(sentences, max_size=3)), min_size=1, max_size=3))
def test_kernel_equals_plain_python(items):
    batch = token_batch(dataset_of(items), "none")
    rows = iter(ngram_matches(batch, 9))
    for references, candidates in items:
        for candidate in candidates:
            row = next(rows)
            words = [reference.split() for reference in references]
            assert row.tolist() == [plain_matches(candidate.split(), words, n) for n in range(1, 10)]


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=5), st.sampled_from(["epsilon", "add-one"]))
def test_range_and_identity(items, smoothing):
    metric = Bleu(smoothing=smoothing)
    values = scores(metric, [([reference], [candidate]) for reference, candidate in items])
    assert ((values >= 0) & (values <= 1)).all()
    same = scores(metric, [([reference], [reference]) for reference, _ in items])
    assert np.allclose(same, [1.0 if reference.split() else 0.0 for reference, _ in items])


def test_epsilon_is_the_stated_formula():
    value = scores(Bleu(smoothing="epsilon"), [(["the cat sat on the mat"], ["the cat ate"])])[0]
    e = 1e-7
    precisions = [(2 + e) / (3 + e), (1 + e) / (2 + e), e / (1 + e), e / e]
    assert value == pytest.approx(np.exp(np.mean(np.log(precisions)) + 1 - 6 / 3), rel=1e-12)


def test_degenerate_candidates():
    items = [(["a b"], ["", "   ", "z", "a"])]
    assert scores(Bleu(), items)[:3].tolist() == [0, 0, 0]
    assert scores(Bleu(smoothing="epsilon"), items)[:2].tolist() == [0, 0]
    assert scores(Bleu(smoothing="none", effective_order=False), items).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bleu[order=0]", "expected 1 to 9"),
        ("bleu[order=four]", "expected a whole number"),
        ("bleu[smoothing=laplace]", "expected exp | add-one | floor | epsilon | none"),
        ("bleu[smoothing=exp,value=1]", "takes no value"),
        ("bleu[smoothing=floor,value=nan]", "expected a positive number"),
        ("bleu[ordre=4]", "did you mean 'order'?"),
        ("blue", "did you mean 'bleu'?"),
    ],
)
def test_wrong_options_are_refused(text, message):
    with pytest.raises(OptionError, match=message.replace("|", r"\|").replace("?", r"\?")):
        make(text)


def test_notation_is_identity():
    for text in ("bleu", "bleu[order=2]", "bleu[smoothing=add-one,lowercase=true]"):
        assert str(make(text)) == text
        assert make(text) == make(text)
