"""Scores, ranks and explanations as data frames with the texts, of whatever form candidates come in."""

from __future__ import annotations

import doctest
import json
import logging

import numpy as np
import pandas as pd
import pytest

import ranker
from ranker import Dataset, Ranker, evaluate
from ranker.corpora import catalogue
from ranker.errors import DataError, MissingError
from ranker.evaluation.compare import evaluation
from ranker.frames import included, labelled

RECORDS = [
    {
        "lp": "de-en",
        "seg_id": str(number),
        "source": f"Satz {number}",
        "references": [f"this is sentence {number}"],
        "candidates": [
            {"system": "A", "text": f"that sentence {number} are", "adequacy": 1},
            {"system": "B", "text": f"this is sentence {number}", "adequacy": 3},
            {"system": "C", "text": f"this sentence {number}", "adequacy": 2},
        ],
    }
    for number in range(3)
]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset.from_records(RECORDS)


@pytest.fixture(scope="module")
def learnt(data) -> Ranker:
    return Ranker("bleu[order=1],chrf", C=0.1).fit(data)


def test_every_form_of_candidates_gives_the_same_scores(learnt, data, tmp_path):
    path = tmp_path / "candidates.json"
    path.write_text(json.dumps(RECORDS), encoding="utf-8")
    expected = learnt.candidate_scores(data)
    for form in (data, RECORDS, iter(RECORDS), path, str(path), data.to_frame()):
        scored = learnt.score(form)
        assert [*scored] == ["lp", "seg_id", "source", "system", "text", "score"]
        np.testing.assert_array_equal(scored["score"], expected)
        assert scored["text"].tolist() == data.candidates["text"].tolist()
        assert scored["source"].iloc[3] == "Satz 1"


def test_rows_bear_the_index_of_the_frame(learnt, data):
    frame = data.to_frame().drop(columns="seg_id").sample(frac=1, random_state=1)
    frame.index = [f"row {number}" for number in frame.index]
    scored = learnt.score(frame)
    pd.testing.assert_series_equal(scored["text"].sort_index(), frame["text"].sort_index())
    joined = frame.assign(score=scored["score"])
    assert joined["score"].notna().all()
    judges = pd.concat([frame.assign(judge="one"), frame.assign(judge="two")])
    assert len(learnt.score(judges)) == len(frame)


def test_it_learns_from_a_frame_too(learnt, data):
    again = Ranker("bleu[order=1],chrf", C=0.1).fit(data.to_frame())
    np.testing.assert_array_equal(again.weights, learnt.weights)


def test_ranks_are_best_first(learnt, data):
    ranked = learnt.rank(data)
    assert ranked["system"].tolist() == ["B", "C", "A"] * 3
    assert ranked["rank"].tolist() == [1, 2, 3] * 3
    assert ranked.index.tolist() == [1, 2, 0, 4, 5, 3, 7, 8, 6]
    np.testing.assert_array_equal(ranked["margin"].isna(), ranked["rank"] == 3)


def test_explanations_add_up_to_scores(learnt, data):
    explained = learnt.explain(data)
    assert [*explained][-3:] == ["score", "bleu[order=1]", "chrf"]
    np.testing.assert_allclose(explained[["bleu[order=1]", "chrf"]].sum(axis=1), learnt.score(data)["score"])


def test_notes_are_logged(learnt, caplog):
    with caplog.at_level(logging.WARNING):
        learnt.score([{**RECORDS[0], "lp": "en-de"}])
    assert "these are in de" in caplog.text


def test_what_are_no_candidates_is_said(learnt):
    with pytest.raises(DataError, match=r"a list of strings has no sources: .* Dataset\.from_texts"):
        learnt.rank(["a", "b"])
    with pytest.raises(DataError, match=r"records: expected a list of records, .* found 5"):
        learnt.rank(5)
    with pytest.raises(MissingError, match="'nowhere' is neither a file nor a known corpus"):
        learnt.rank("nowhere")


def test_rank_chooses_an_included_ranker(data, learnt, tmp_path, monkeypatch):
    learnt.save(tmp_path / "mine.model")
    frame = data.to_frame().set_axis([*"abcdefghi"])
    monkeypatch.setattr(included, "suited", lambda given: tmp_path / "mine.model" if len(given) == 9 else None)
    chosen = ranker.rank(frame)
    pd.testing.assert_frame_equal(chosen, learnt.rank(frame))
    pd.testing.assert_frame_equal(ranker.rank(frame, model=tmp_path / "mine.model"), chosen)


def test_evaluate_takes_frames(learnt, data):
    frame = data.to_frame().sample(frac=1, random_state=2)
    comparison = evaluate(frame, learnt.rank(frame), resamples=0)
    assert comparison.estimate("segment.spearman").value == pytest.approx(1)
    again = evaluate(data, learnt.rank(data), resamples=0)
    assert again.estimate("segment.spearman").value == pytest.approx(1)
    with pytest.raises(DataError, match="a data frame with 8 rows as scores of 9 candidates"):
        evaluate(data, learnt.score(data).iloc[:8], resamples=0)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([1.0, 2.0], r"scores: found an array of shape \(2,\), expected one number for each of 9 candidates"),
        (1.0, r"scores: found an array of shape \(\), expected one number for each of 9 candidates"),
        (Ranker("bleu"), "scores: found Ranker, expected one number per candidate, such as the result of Ranker.score"),
        ("chrf", "scores: found str, expected one number per candidate"),
    ],
)
def test_evaluate_refuses_what_are_no_scores(data, scores, says):
    with pytest.raises(DataError, match=says):
        evaluate(data, scores, resamples=0)


def test_rankers_describe_themselves(learnt):
    assert repr(Ranker("bleu")) == "<Ranker bleu: not trained>"
    assert repr(learnt) == (
        "<Ranker bleu[order=1],chrf: 2 features, trained on adequacy of records (3 sources, 9 candidates)>"
    )
    assert Ranker("bleu")._repr_html_() == "<p>&lt;Ranker bleu: not trained&gt;</p>"
    assert "<th>chrf</th>" in learnt._repr_html_()


def test_public_names_are_listed():
    assert {*ranker.__all__} <= {*dir(ranker)}
    assert all(getattr(ranker, name) is not None for name in ranker.__all__)
    assert not {"Any", "TYPE_CHECKING", "importlib", "annotations"} & {*dir(ranker)}
    assert "errors" in dir(ranker)


@pytest.mark.parametrize("module", [ranker, labelled, evaluation])
def test_the_examples_of_the_docstrings(module, monkeypatch):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_the_sample_is_a_corpus_by_name(learnt):
    assert len(learnt.score("sample")) == len(catalogue.load("sample"))
