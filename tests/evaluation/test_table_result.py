"""Results as frames, at a prompt and in a notebook."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ranker import Dataset, Ranker, evaluate, from_frame, from_texts, make_metric, train
from ranker.evaluation.explanations.pairs import check_pair, explain_pairs
from ranker.evaluation.systems.run import compare_systems
from ranker.ranking.scorers import MetricScorer

REFERENCES = ["the cat sat on the mat", "it rains today", "where is the key", "he <b>smiles</b>"]


@pytest.fixture(scope="module")
def data() -> Dataset:
    texts = {"A": REFERENCES, "B": [text.replace("the", "a") for text in REFERENCES], "C": ["no"] * len(REFERENCES)}
    frame = from_texts(texts, REFERENCES, [f"source {number}" for number in range(4)]).to_frame()
    return from_frame(frame.assign(adequacy=[3, 2, 1] * 4))


def test_an_evaluation_is_a_table(data):
    comparison = evaluate(data, np.tile([0.9, 0.5, 0.1], 4), resamples=10)
    frame = comparison.to_frame()
    assert len(frame) == len(comparison.cells)
    row = frame[frame["statistic"] == "segment.spearman"].iloc[0]
    assert (row["scope"], row["metric"], row["count"]) == (comparison.main_scope.id, "scores", 4)
    assert row["value"] == pytest.approx(1)
    lines = repr(comparison).splitlines()
    assert lines[0] == "<Comparison: scores on frame ?, 4 sources>"
    assert lines[2].split()[:3] == ["segment.spearman", "scores", "1.0000"]
    assert "<td>segment.spearman</td>" in comparison._repr_html_()


def test_a_comparison_of_systems_is_a_table(data):
    result = compare_systems(data, {"chrf": MetricScorer(make_metric("chrf"))}, resamples=100)
    frame = result.to_frame()
    assert frame["system"].tolist() == ["A", "B", "C"]
    assert frame["score"].iloc[0] == pytest.approx(1)
    assert frame["p"].isna().sum() == 1
    assert repr(result).startswith("<SystemsResult: systems of frame by chrf>\n")
    assert "<td>A</td>" in result._repr_html_()


def test_explanations_are_tables(data):
    ranker = Ranker("bleu[order=1],chrf", C=0.1).fit(data)
    explanations = explain_pairs(ranker, data, ranker.contributions(data), check_pair(data, "A", "C"))
    first, *_, last = explanations
    assert repr(first).startswith("<PairExplanation: A is above C by ")
    assert set(first.to_frame()["extractor"]) == {"bleu", "chrf"}
    assert "<b>smiles" not in last._repr_html_()


def test_a_training_without_cross_validation_is_one_line(data):
    result = train(data, Ranker("chrf", C=0.1), folds=0)
    assert repr(result) == f"<TrainingResult: {repr(result.ranker)[1:-1]}>"


@pytest.mark.parametrize("scorer", ["ter", make_metric("ter"), MetricScorer(make_metric("ter"))])
def test_a_metric_can_be_evaluated_by_name(data, scorer):
    found = evaluate(data, scorer, resamples=0)
    assert repr(found).startswith("<Comparison: ter on frame ?, 4 sources>")
    by_scores = evaluate(data, -make_metric("ter").transform(data)[:, 0], resamples=0)
    assert found.estimate("segment.spearman").value == by_scores.estimate("segment.spearman").value > 0


def test_a_mapping_names_scores_that_are_given_in_any_form(data):
    scores = np.tile([0.9, 0.5, 0.1], 4)
    assert repr(evaluate(data, {1: scores, "T": "ter"}, resamples=0)).startswith("<Comparison: 1, T on frame")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores": [0.1] * 11 + [np.inf]}, "scores: row 11 is inf, expected finite numbers"),
        ({"human": [-np.inf] * 12}, "human: row 0 is -inf, expected finite numbers"),
        ({"human": [np.nan] * 12}, "human: no candidate has a score, expected a number for those that people judged"),
        ({"levels": []}, "levels: expected some of segment, document, system, found none"),
        ({"kind": None}, "kind=None: expected the name of a kind of judgement, such as fluency"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(data, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        evaluate(data, **{"scores": "chrf", "resamples": 0, **options})


def test_what_can_only_be_compared_with_itself_is_left_out(data):
    candidates = [{"text": "a b", "system": "ref", "is_reference": True, "human": {"fluency": 5}}]
    candidates += [{"text": text, "system": text, "human": {"fluency": 3}} for text in ("a", "b")]
    first = {"source": "x", "references": [], "candidates": candidates}
    second = {
        "source": "y",
        "references": ["a b"],
        "candidates": [{"text": t, "human": {"fluency": len(t)}} for t in ("a b", "a")],
    }
    found = evaluate([second, {**first, "references": ["a b"]}], "chrf", kind="fluency", resamples=0)
    assert found.main_scope.sources == 2
