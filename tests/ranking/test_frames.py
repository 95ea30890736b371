"""Scores, ranks and explanations as data frames with the texts, of whatever form candidates come in."""

from __future__ import annotations

import doctest
import json
import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ranker
from ranker import Dataset, Features, Ranker, evaluate, from_frame, from_records, make_metric
from ranker.errors import DataError, MissingError, OptionError
from ranker.evaluation.metrics import cross_validation, evaluation
from ranker.evaluation.systems import run
from ranker.ranking import by_name
from tests.effort import further

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
    return from_records(RECORDS)


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


def test_rows_keep_the_order_and_the_index_of_the_frame(learnt, data):
    frame = data.to_frame().drop(columns="seg_id").sample(frac=1, random_state=1).set_axis([7, 7, 7, 0, 1, 1, 2, 3, 4])
    judges = pd.concat([frame.assign(judge="one"), frame.assign(judge="two")])
    one_by_one = [learnt.score(frame.iloc[[row]])["score"].iloc[0] for row in range(len(frame))]
    for rows, expected in ((frame, one_by_one), (judges, one_by_one * 2)):
        for result in (learnt.score(rows), learnt.explain(rows)):
            pd.testing.assert_index_equal(result.index, rows.index)
            for column in ("source", "system", "text"):
                assert result[column].tolist() == rows[column].tolist()
            np.testing.assert_allclose(result["score"], expected, atol=1e-12)
        np.testing.assert_array_equal(learnt.candidate_scores(rows), learnt.score(rows)["score"])
        np.testing.assert_array_equal(
            learnt.contributions(rows), learnt.explain(rows)[[*learnt.feature_set.columns]].to_numpy()
        )
    ranked = learnt.rank(judges)
    assert len(ranked) == len(frame)
    texts = judges.set_axis(range(len(judges)))["text"]
    again = learnt.rank(judges.reset_index(drop=True))
    assert texts.loc[again.index].tolist() == again["text"].tolist() == ranked["text"].tolist()


@pytest.mark.parametrize("column", ["source", "text", "system"])
@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_a_missing_text_is_refused_by_its_row(learnt, data, column, missing):
    frame = data.to_frame().rename(columns={"text": "mt"}).set_axis([*"abcdefghi"]).astype(object)
    shown = "mt" if column == "text" else column
    frame.loc["c", shown] = missing
    what = "a name" if column == "system" else "text"
    says = (
        f"frame, row 2 (index 'c'): column '{shown}': expected {what}, found nothing "
        "(pandas reads NA, None and null as missing: read the file with keep_default_na=False)"
    )
    for read in (learnt.score, learnt.rank, learnt.explain, learnt.candidate_scores, learnt.fit, ranker.rank):
        with pytest.raises(DataError) as refused:
            read(frame)
        assert str(refused.value) == says
    with pytest.raises(DataError, match=r"X, row 2 \(index 'c'\): column"):
        Features("bleu").fit(frame)
    scores = make_metric("chrf")
    with pytest.raises(DataError, match=r"translations\[1\]: expected a string, found NaN .*keep_default_na=False"):
        scores(pd.Series(["a", np.nan]), pd.Series(["a", "b"]))


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


def test_what_are_no_candidates_is_said(learnt, tmp_path):
    with pytest.raises(DataError, match=r"a list of strings has no sources: .* ranker\.from_texts"):
        learnt.rank(["a", "b"])
    with pytest.raises(DataError, match=r"records: expected a list of records, .* found 5"):
        learnt.rank(5)
    with pytest.raises(MissingError, match="'nowhere' is neither a file nor a known corpus"):
        learnt.rank("nowhere")
    with pytest.raises(MissingError, match="is neither a file nor a known corpus"):
        learnt.rank("x" * 5000)
    (tmp_path / "link").symlink_to(tmp_path / "removed")
    with pytest.raises(MissingError, match="is a link to a file that does not exist"):
        learnt.rank(str(tmp_path / "link"))


def test_rank_chooses_an_included_ranker(data, learnt, tmp_path, monkeypatch):
    learnt.save(tmp_path / "mine.model")
    frame = data.to_frame().set_axis([*"abcdefghi"])
    monkeypatch.setattr(by_name, "default_model", lambda given: tmp_path / "mine.model" if len(given) == 9 else None)
    chosen = ranker.rank(frame)
    pd.testing.assert_frame_equal(chosen, learnt.rank(frame))
    pd.testing.assert_frame_equal(ranker.rank(frame, model=tmp_path / "mine.model"), chosen)


def test_score_and_explain_take_a_metric_or_a_ranker_by_name(data, learnt, tmp_path):
    learnt.save(tmp_path / "mine.model")
    frame = data.to_frame().set_axis([*"abcdefghi"])
    pd.testing.assert_frame_equal(ranker.score(frame, tmp_path / "mine.model"), learnt.score(frame))
    pd.testing.assert_frame_equal(ranker.score(frame, learnt), learnt.score(frame))
    pd.testing.assert_frame_equal(ranker.explain(frame, model=tmp_path / "mine.model"), learnt.explain(frame))
    scores = ranker.score(frame, "wer")
    assert [*scores.index] == [*"abcdefghi"]
    assert scores["score"].tolist() == make_metric("wer").transform(data)[:, 0].tolist()
    with pytest.raises(OptionError, match="unknown metric or feature 'bley'"):
        ranker.score(frame, "bley")


def test_evaluate_takes_frames(learnt, data):
    frame = data.to_frame().sample(frac=1, random_state=2)
    comparison = evaluate(frame, learnt.rank(frame), resamples=0)
    assert comparison.estimate("segment.spearman").value == pytest.approx(1)
    again = evaluate(data, learnt.rank(data), resamples=0)
    assert again.estimate("segment.spearman").value == pytest.approx(1)
    with pytest.raises(DataError, match="found DataFrame with 8 rows as scores of 9 candidates, expected the result"):
        evaluate(data, learnt.score(data).iloc[:8], resamples=0)


def test_scores_of_other_texts_are_refused(data):
    """Rows of a frame and candidates of a data set have the same numbers but another order."""
    frame = data.to_frame().sort_values("system", ignore_index=True)
    expected = r"scores: row \d has the score of .*, but the text of the data is .*: score the same data"
    for one, other in ((frame, from_frame(frame)), (from_frame(frame), frame)):
        assert evaluate(one, ranker.score(one, "chrf"), resamples=0).cells
        with pytest.raises(DataError, match=expected):
            evaluate(one, ranker.score(other, "chrf"), resamples=0)
    with pytest.raises(DataError, match=expected):
        evaluate(frame, ranker.score(frame, "chrf").iloc[::-1].reset_index(drop=True), resamples=0)


def test_numbers_of_candidates_are_not_numbers_of_rows(data):
    """A column of a result has no texts, but the name of its index."""
    frame = data.to_frame()
    scores = ranker.score(data, "chrf")
    in_order = evaluate(frame, scores["score"], resamples=0).estimate("segment.spearman").value
    kept = frame.sample(frac=1, random_state=3)
    assert evaluate(kept, scores["score"], resamples=0).estimate("segment.spearman").value == in_order
    judges = pd.concat([frame.assign(judge=judge) for judge in ("one", "two")], ignore_index=True)
    assert evaluate(judges, scores["score"], resamples=0).estimate("segment.spearman").value == in_order
    shuffled = kept.reset_index(drop=True)
    own = ranker.score(shuffled, "chrf")["score"]
    assert evaluate(shuffled, own, resamples=0).estimate("segment.spearman").value == in_order
    assert ranker.score(pa.table(shuffled), "chrf").index.name is None
    for given in (scores["score"], scores[["score"]], ranker.rank(data, model="full-lexical")["score"]):
        with pytest.raises(DataError, match="the index has the numbers of candidates in a data set, but the rows of"):
            evaluate(shuffled, given, resamples=0)


@pytest.mark.parametrize("texts", [[1, 2, 3], [1.0, 2.0, 3.0], ["a", None, "c"]])
def test_texts_of_numbers_are_those_that_were_read(texts):
    frame = pd.DataFrame({"source": "s", "system": [*"ABC"], "text": texts, "adequacy": [1, 2, 3]})
    read = frame.fillna({"text": ""})
    for given in (frame, frame.astype({"text": object}), frame.convert_dtypes()):
        found = evaluate(read, given.assign(score=[1.0, 2.0, 3.0]), resamples=0)
        assert found.estimate("segment.spearman").value == pytest.approx(1)


def test_rows_of_one_candidate_have_one_score(data):
    judges = pd.concat([data.to_frame().assign(judge=judge) for judge in ("one", "two")], ignore_index=True)
    own = judges["adequacy"].to_numpy() + (judges["judge"] == "two")
    with pytest.raises(
        DataError, match=r"human: rows 0 and 9 are of one candidate and have .*, expected one number per"
    ):
        evaluate(judges, judges["adequacy"], human=own, resamples=0)


def test_evaluate_takes_scores_in_the_order_of_the_frame(data):
    frame = data.to_frame().sample(frac=1, random_state=2)
    judges = pd.concat([frame.assign(judge="one"), frame.assign(judge="two")])
    for rows in (frame, frame.set_axis([5] * len(frame)), judges):
        best = rows["adequacy"]
        for scores in (best, best.to_numpy(), best.tolist(), pd.DataFrame({"score": best})):
            assert evaluate(rows, scores, resamples=0).estimate("segment.spearman").value == pytest.approx(1)
        mirrored = evaluate(rows, best, human=-best.to_numpy(), resamples=0)
        assert mirrored.estimate("segment.spearman").value == pytest.approx(-1)
    best = frame["adequacy"]
    shuffled = best.sample(frac=1, random_state=5)
    assert evaluate(frame, shuffled, resamples=0).estimate("segment.spearman").value == pytest.approx(1)
    with pytest.raises(DataError, match=r"scores: the index has duplicate labels, .*: use reset_index on the frame"):
        evaluate(frame.set_axis([5] * len(frame)), best, resamples=0)
    with pytest.raises(DataError, match="for the same candidates, or an array in their order"):
        evaluate(data, best.set_axis([*"abcdefghi"]), resamples=0)
    with pytest.raises(DataError, match=r"found an array of shape \(9,\), expected one number for each of 18 rows"):
        evaluate(judges, best.to_numpy(), resamples=0)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([1.0, 2.0], r"scores: found an array of shape \(2,\), expected one number for each of 9 candidates"),
        (1.0, r"scores: found an array of shape \(\), expected one number for each of 9 candidates"),
        (Ranker, "scores: found type, expected one number per candidate, such as the result of Ranker.score"),
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


@pytest.mark.parametrize("module", [ranker, by_name, evaluation, run, further(cross_validation)])
def test_the_examples_of_the_docstrings(module, monkeypatch):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_notes_are_logged(learnt, caplog):
    with caplog.at_level(logging.WARNING):
        learnt.score([{**RECORDS[0], "lp": "en-de"}])
    assert "these are in de" in caplog.text
