"""Scores from elsewhere as a metric and as a feature."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ranker import from_records
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.selection import select_language_pairs
from ranker.errors import DataError, ModelError, OptionError
from ranker.extractors.base import check_new_texts
from ranker.extractors.composed.combine import with_files
from ranker.extractors.composed.external_scores import ExternalScores, with_given_scores
from ranker.extractors.registry import make, make_metric
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import candidate_scores, make_scorer
from ranker.storage.model_files import StoredModel, read_model, write_model
from tests.datasets import dataset_of
from tests.golden_messages import check_messages

TEXTS = [["a b c d", "a b c", "a b"], ["e f g", "e f", "g"], ["h i", "h", "i h"]]
SCORES = np.array([0.9, 0.5, 0.1, 0.8, 0.85, 0.2, 0.3, 0.2, 0.1])


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Three sources with three outputs each, and a file of their scores in the order of the segments."""
    monkeypatch.chdir(tmp_path)
    Path("comet.tsv").write_text("".join(f"s{n}\t{score}\n" for n in range(3) for score in SCORES[n::3]))
    return dataset_of([([texts[0]], texts) for texts in TEXTS], kind="fluency")


def test_the_identity_is_the_name_and_not_the_file(data: Dataset) -> None:
    single = make("given[file=comet.tsv]")
    assert str(single) == "given[name=comet]"
    assert make(str(single)) == ExternalScores(name="comet")
    assert single.columns == ("given[name=comet]",)
    assert str(make("given[file=comet.tsv,name=x,direction=lower]")) == "given[name=x,direction=lower]"
    for name in ("a b", "a[b", "a=b", "a\x1bb", "a\u202eb"):
        with pytest.raises(OptionError, match="expected a name without spaces") as raised:
            ExternalScores(name=name)
        assert str(raised.value).isprintable()
    assert str(make("given[file=dir.d/sp ace=\x1b.b.tsv]")) == "given[name=sp_ace_\\x1b]"
    unnamed = with_files(make("given"), {"given": "comet.tsv"})
    assert str(unnamed) == "given"
    assert unnamed.transform(data)[:, 0].tolist() == SCORES.tolist()


def test_scores_are_those_of_the_file_and_their_means(data: Dataset) -> None:
    metric = make_metric("given[file=comet.tsv]")
    rows = metric.statistics(data)
    np.testing.assert_array_equal(metric.score(rows), SCORES)
    assert metric.score(rows[::3].sum(axis=0)) == pytest.approx(SCORES[::3].mean())
    assert not metric.needs.references


def test_parts_of_a_data_set_keep_their_scores(data: Dataset) -> None:
    """Scores in the order of the segments are matched with the whole data set before parts are selected."""
    metric = make_metric("given[file=comet.tsv]")
    some = np.array([False, True, True])
    selected = np.arange(9) % 4 > 0
    with pytest.raises(DataError, match=r"comet.tsv:3: system 's0' has 3 scores, expected 2, one for each of its seg"):
        metric.transform(data.select_sources(some))
    whole = with_given_scores(data, [make_metric("bleu"), metric])
    assert metric.transform(whole)[:, 0].tolist() == SCORES.tolist()
    assert with_given_scores(whole, [metric]) is whole
    assert metric.transform(whole.select_sources(some))[:, 0].tolist() == SCORES[3:].tolist()
    assert metric.transform(whole.select_candidates(selected))[:, 0].tolist() == SCORES[selected].tolist()
    joined = whole.select_candidates(selected).select_sources(some)
    assert metric.transform(joined)[:, 0].tolist() == SCORES[3:][selected[3:]].tolist()
    assert metric.transform(select_language_pairs(joined, ["?"]))[:, 0].tolist() == SCORES[3:][selected[3:]].tolist()
    added = with_references_as_candidates(whole)
    with pytest.raises(
        DataError, match=r"comet.tsv: no score 'comet' of system 'reference1' for test\[1\] \(missing for 3 of 12"
    ):
        metric.transform(added)
    outputs = added.select_candidates(~added.candidates["is_reference"].to_numpy(bool))
    assert metric.transform(outputs)[:, 0].tolist() == SCORES.tolist()
    together = concatenate_datasets([whole.select_sources(~some), whole.select_sources(some)])
    assert metric.transform(together)[:, 0].tolist() == SCORES.tolist()


def test_parts_keep_the_scores_attached_to_the_whole(data: Dataset) -> None:
    metric = make_metric("given[file=comet.tsv]")
    scored, first = with_given_scores(data, [metric]), np.array([True, False, False])
    other = with_given_scores(data.select_sources([True, True, True]), [metric]).select_sources(first)
    part = scored.select_sources(first)
    assert metric.transform(part).tolist() == metric.transform(other).tolist()
    changed = part.candidates.assign(**{metric._column: [1.0, 2.0, 3.0]})
    others_scores = dataclasses.replace(part, candidates=changed)
    assert metric.transform(others_scores)[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_without_a_file_scores_are_a_column_of_the_data(data: Dataset) -> None:
    metric = make_metric("given[name=fluency]")
    assert metric.transform(data)[:, 0].tolist() == [0.0, -1.0, -2.0] * 3
    with pytest.raises(
        DataError, match=r"test: given\[name=comet\]: the data has no column 'comet' \(there are 'fluency'"
    ):
        make_metric("given[name=comet]").transform(data)
    # several judges, as several runs of a language model
    ratings = data.ratings.assign(judge="one")
    twice = pd.concat([ratings, ratings.assign(judge="two", value=ratings["value"] + 1)], ignore_index=True)
    assert metric.transform(dataclasses.replace(data, ratings=twice))[:, 0].tolist() == [0.5, -0.5, -1.5] * 3


def test_the_direction_is_told_or_known_by_the_name(data: Dataset) -> None:
    Path("ter-refA.seg.score").write_text("s0\t-0.5\ns1\t0.1\n")
    Path("ter-positive.seg.score").write_text("s0\t0.5\ns1\t0.0\n")
    Path("metricx.tsv").write_text("s0\t-0.5\ns1\tNone\ns2\t0\n")

    def direction(text: str) -> str:
        metric = make_metric(text)
        assert metric.note(data) is None, "a ranker learns the direction of a feature"
        return f"{'higher' if metric.higher_is_better else 'lower'}: {metric.direction_note()}"

    check_messages("given_directions", direction)


def test_negated_errors_are_turned_in_files_and_in_columns(data: Dataset) -> None:
    """MetricX as WMT publishes it, beside MetricX as its program writes it: a ranker may learn from one of them."""
    errors = 25 * (1 - SCORES)
    for file, values in (("metricx.plain.tsv", errors), ("metricx.wmt.tsv", -errors)):
        Path(file).write_text("".join(f"s{n}\t{score}\n" for n in range(3) for score in values[n::3]))
        column = dataclasses.replace(data, ratings=data.ratings.assign(kind="metricx", value=values))
        for dataset, text in ((data, f"given[file={file}]"), (column, "given[name=metricx]")):
            scorer = make_scorer(text, None)
            assert scorer.metric.transform(dataset)[:, 0] == pytest.approx(errors)
            assert not scorer.higher_is_better
            assert candidate_scores(scorer, dataset) == pytest.approx(-errors)
            note = "no score is above 0, so errors are" if values[0] < 0 else "lower scores are taken to be better"
            assert f"{scorer.metric}: {note}" in (scorer.note(dataset) or "")
            stated = make_metric(f"{text[:-1]},direction=higher]")
            assert stated.transform(dataset)[:, 0] == pytest.approx(values)


def test_the_signature_has_the_digest_of_the_file(data: Dataset) -> None:
    before = make_metric("given[file=comet.tsv]").signature()
    assert before.startswith("given[name=comet,direction=higher,file=")
    Path("other.tsv").write_text(Path("comet.tsv").read_text())
    assert make_metric("given[file=other.tsv,name=comet]").signature() == before
    Path("comet.tsv").write_text(Path("comet.tsv").read_text().replace("0.9", "0.8"))
    assert make_metric("given[file=comet.tsv]").signature() != before
    assert make_metric("given[name=comet]").signature() == "given[name=comet,direction=higher]"


def test_the_signature_tells_reversed_signs(data: Dataset) -> None:
    errors = -1 - SCORES
    Path("metricx.tsv").write_text("".join(f"s{n}\t{score}\n" for n in range(3) for score in errors[n::3]))
    column = dataclasses.replace(data, ratings=data.ratings.assign(kind="metricx", value=errors))
    for text, dataset in (("given[file=metricx.tsv]", data), ("given[name=metricx]", column)):
        reversed_signs, stated = make_metric(text), make_metric(f"{text[:-1]},direction=lower]")
        np.testing.assert_array_equal(reversed_signs.transform(dataset), -stated.transform(dataset))
        first, second = (metric.resolved(dataset).signature() for metric in (reversed_signs, stated))
        assert first == second.replace("direction=lower", "direction=lower,negated=true") != second


def test_attached_scores_do_not_change_the_digest_of_the_data(data: Dataset) -> None:
    attached = with_given_scores(data, [make_metric("given[file=comet.tsv]")])
    assert len(attached.candidates.columns) == len(data.candidates.columns) + 1
    assert attached.fingerprint == data.fingerprint
    assert attached.content_digest() != data.content_digest()


def test_a_missing_score_is_an_error_only_where_it_is_asked_for(data: Dataset) -> None:
    Path("gap.tsv").write_text(Path("comet.tsv").read_text().replace("0.85", "None"))
    metric = make_metric("given[file=gap.tsv]")
    with pytest.raises(
        DataError, match=r"gap.tsv: no score 'gap' of system 's1' for test\[2\] \(missing for 1 of 9 candidates\)"
    ):
        metric.transform(data)
    whole = with_given_scores(data, [metric])
    assert metric.transform(whole.select_sources([True, False, True])).shape == (6, 1)


def test_sums_keep_the_files_of_their_metrics(data: Dataset) -> None:
    sum_of = make_metric("combine[2*given[file=comet.tsv] - ter]")
    assert str(sum_of) == "combine[2*given[name=comet] - ter]"
    expected = 2 * SCORES - make_metric("ter").transform(data)[:, 0]
    np.testing.assert_allclose(sum_of.transform(data)[:, 0], expected, rtol=0, atol=1e-12)
    again = with_files(make_metric(str(sum_of)), {"comet": "comet.tsv", "other": "x"})
    np.testing.assert_allclose(again.transform(data)[:, 0], expected, rtol=0, atol=1e-12)


def test_a_model_keeps_the_name_and_is_given_the_file(data: Dataset) -> None:
    text = "bleu[smoothing=add-one],given[file=comet.tsv],combine[given[file=comet.tsv] - ter]"
    ranker = Ranker(text, C=1.0).fit(data)
    ranker.save("m.model")
    with zipfile.ZipFile("m.model") as archive:
        assert not any(b"comet.tsv" in archive.read(name) for name in archive.namelist())
    loaded = Ranker.load("m.model")
    assert loaded.digest == ranker.digest
    with pytest.raises(
        DataError, match=r"the data has no column 'comet' .*: give a file, as in: ranker rank --given comet=FILE"
    ):
        loaded.candidate_scores(data)
    supplied = loaded.with_files({"comet": "comet.tsv"})
    np.testing.assert_array_equal(supplied.candidate_scores(data), ranker.candidate_scores(data))
    assert supplied.signature() == ranker.signature()
    # the scores may also be a column of the new data
    column = dataclasses.replace(data, ratings=data.ratings.assign(kind="comet", value=SCORES))
    np.testing.assert_array_equal(loaded.candidate_scores(column), ranker.candidate_scores(data))


def test_penalties_that_are_missing_are_made_of_marked_errors() -> None:
    candidate = {"system": "A", "text": "helo", "errors": [{"start": 0, "end": 4, "severity": "major"}]}
    marked = from_records([{"source": "Hallo", "candidates": [candidate]}])
    for name, advice in (("mqm_total", ", but 1 marked error: ranker data convert"), ("comet", ": give a file")):
        with pytest.raises(DataError) as refused:
            make_metric(f"given[name={name}]").transform(marked)
        assert f"has no column '{name}' (it has no columns of scores){advice}" in str(refused.value)


@pytest.mark.parametrize("text", ["given[file=secret.txt,name=x]", "combine[bleu + given[file=secret.txt,name=x]]"])
def test_a_model_never_names_a_file_to_read(text: str, data: Dataset) -> None:
    """Whoever writes a model cannot make others read a file of theirs."""
    Path("secret.txt").write_text("password\n")
    plain = text.replace("file=secret.txt,", "")
    Ranker(text.replace("secret.txt", "comet.tsv"), C=1.0).fit(data).save("m.model")
    stored = read_model(Path("m.model"))
    assert stored.model["features"] == stored.model["settings"]["features"] == plain
    forged = json.loads(json.dumps(stored.model).replace("given[", "given[file=secret.txt,"))
    write_model("forged.model", StoredModel(forged, stored.arrays), "")
    with pytest.raises(
        ModelError, match=r"forged.model: refers to a file with scores, which is not allowed in a model"
    ) as messages:
        Ranker.load("forged.model")
    assert "password" not in str(messages.value)


def test_texts_that_nobody_scored_are_refused(data: Dataset) -> None:
    scorer = make_scorer("combine[bleu + given[file=comet.tsv]]", None)
    with pytest.raises(OptionError, match=r"given\[name=comet\] has scores of .* only, not of hypotheses"):
        check_new_texts(scorer.feature_set.members, "hypotheses")
    check_new_texts(make_scorer("bleu", None).feature_set.members, "hypotheses")
    with pytest.raises(OptionError, match="not of references: use another"):
        FeatureSet.parse("bleu,given[file=comet.tsv]").transform_references(data)


def test_given_scores_on_another_scale_than_in_training_are_noted(data: Dataset) -> None:
    ranker = Ranker("bleu[order=1],given[file=comet.tsv]", kind="fluency", C=1.0).fit(data)
    assert ranker.note(data) is None
    for scale, median in ((100.0, "30"), (-10.0, "-3")):
        rows = "".join(f"s{n}\t{score * scale}\n" for n in range(3) for score in SCORES[n::3])
        Path(f"scaled{median}.tsv").write_text(rows)
        note = ranker.with_files({"comet": f"scaled{median}.tsv"}).note(data)
        assert note == (
            f"given[name=comet]: the median is {median} here, but 0.439 on average in training (standard deviation "
            "0.31); check that the scores have the same scale"
        )
