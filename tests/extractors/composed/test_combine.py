from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker import notation
from ranker.errors import OptionError
from ranker.extractors.registry import make, make_metric
from tests.datasets import dataset_of
from tests.effort import examples

WEIGHTED = [
    (1, "bleu[order=2]"),
    (-2, "ter"),
    (0.5, "meteor[parameters=METR,modules=exact+stem]"),
    (1, "chrf[lowercase=true]"),
    (-1, "wer"),
    (0.25, "ribes"),
    (1, "rouge_l"),
    (0.1, "nist[order=2]"),
    (3, "f1[alignment=isozaki]"),
    (-1, "combine[per - 2*bp]"),
]
SENTENCES = ["the cat sat on the mat", "The Cat", "a mat , a cat", "", "on the mat sat the cat", "cats sat"]


@pytest.fixture(scope="module")
def dataset():
    return dataset_of([(SENTENCES[:1], SENTENCES), (SENTENCES[:1] + SENTENCES[4:], SENTENCES[1:])])


def sum_of(terms) -> str:
    return notation.write_sum([notation.Term(weight, text) for weight, text in terms])


terms = st.lists(
    st.tuples(st.sampled_from([1, -1, 2.0, -0.5, 1e-3]), st.sampled_from(WEIGHTED)), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=examples(12))
@given(terms)
def test_the_score_is_the_weighted_sum_of_segments_and_of_corpora(dataset, chosen):
    chosen = [(weight, text) for weight, (_, text) in chosen]
    metric = make_metric(f"combine[{sum_of(chosen)}]").fit(dataset)
    rows = metric.statistics(dataset)
    alone = [(weight, make_metric(text).fit(dataset)) for weight, text in chosen]
    segments = sum(weight * item.transform(dataset)[:, 0] for weight, item in alone)
    np.testing.assert_allclose(metric.score(rows), segments, atol=1e-12)
    totals = [(weight, item, item.statistics(dataset).sum(axis=0)) for weight, item in alone]
    corpus = sum(weight * item.score(total) for weight, item, total in totals)
    assert metric.score(rows.sum(axis=0)) == pytest.approx(corpus, abs=1e-12)
    stacked = metric.score(np.stack([rows, 2 * rows]))
    assert stacked.shape == (2, len(rows))


@settings(deadline=None, max_examples=examples(20))
@given(terms)
def test_the_notation_comes_back_as_one_metric(chosen):
    text = f"combine[{sum_of([(weight, text) for weight, (_, text) in chosen])}]"
    metric = make(text)
    assert make(str(metric)) == metric
    assert str(make(str(metric))) == str(metric)
    assert hash(make(str(metric))) == hash(metric)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("combine[bleu-2.0*ter]", "combine[bleu - 2*ter]"),
        ("combine[1*bleu[order=4,lowercase=true] +.50*ter]", "combine[bleu[lowercase=true] + 0.5*ter]"),
        ("combine[-1*ter]", "combine[-ter]"),
        ("combine[ bleu - ter ]", "combine"),
        ("combine[]", "combine"),
        ("combine[combine[bleu-ter]+combine[wer]]", "combine[combine + combine[wer]]"),
        ("combine[lrscore[lexical=combine[bleu-wer],alignment=isozaki]]",) * 2,
    ],
)
def test_one_way_of_writing(text, written):
    assert str(make(text)) == written


def test_a_combination_is_better_the_higher_whatever_it_is_made_of(dataset):
    assert make_metric("combine[ter]").higher_is_better
    assert not make_metric("ter").higher_is_better


def test_scopes_do_not_mix():
    assert make("combine[bleu - nist]").fit_scope == "ranked"
    assert make("combine[bleu - paraphrase.f]").fit_scope == "train"
    with pytest.raises(OptionError, match="some metrics learn from training data, others from the data being ranked"):
        make("combine[paraphrase.f + nist]")
