"""Metrics called on lists of texts."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from ranker import from_texts, make_metric
from ranker.errors import DataError
from ranker.extractors import base
from ranker.ranking.scorers import MetricScorer

HYPOTHESES = ["the cat sat on the mat", "it rain today", "where is the key"]
REFERENCES = ["the cat sat on a mat", "it rains today", "where is my key"]


@pytest.mark.parametrize("name", ["chrf", "bleu[order=2]", "ter", "wer", "nist"])
def test_the_scores_are_those_of_a_data_set(name):
    metric = make_metric(name)
    scores = metric(HYPOTHESES, REFERENCES)
    rows = MetricScorer(metric).statistics(from_texts(HYPOTHESES, REFERENCES))
    np.testing.assert_array_equal(scores.segments, metric.score(rows))
    assert float(scores) == scores.corpus == metric.score(rows.sum(axis=0))
    assert scores.higher_is_better == metric.higher_is_better


def test_several_references_and_a_language(capsys):
    several = [[item, "something else"] for item in REFERENCES]
    assert make_metric("bleu")(HYPOTHESES, several).corpus >= make_metric("bleu")(HYPOTHESES, REFERENCES).corpus
    assert "tokenizer=zh" in make_metric("bleu")(["我们走"], ["我们来"], lp="en-zh").signature


def test_it_prints_as_one_line():
    scores = make_metric("ter")(["a b"], ["a c"])
    assert repr(scores) == "<ter: 0.5000 of 1 segment, lower is better>"
    assert scores.to_frame().to_dict("list") == {"ter": [0.5]}
    assert "<td>0.5</td>" in scores._repr_html_()


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("bleu", (["a"],), "texts: references are missing; bleu requires one per translation"),
        ("bleu", (["a", "b"], ["a", []]), r"texts: references\[1\] is empty; bleu requires one"),
        ("chrf", ("abc", ["a"]), "translations: expected a list of strings, found 'abc'"),
        ("chrf", (["a", "b"], ["a"]), "2 translations but references for 1"),
    ],
)
def test_what_cannot_be_scored_is_refused(name, arguments, message):
    with pytest.raises(DataError, match=message):
        make_metric(name)(*arguments)


def test_the_examples_of_the_docstrings():
    result = doctest.testmod(base)
    assert result.attempted
    assert not result.failed
