"""Spans of candidates that cost a part of the score: their places, their sum, and what is wrong there."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ranker import Ranker, explain_spans, from_records, from_texts
from ranker.cli.main import run
from ranker.corpora.dataset import Dataset
from ranker.corpora.marked_errors import checked_errors
from ranker.evaluation.explanations.spans import EVIDENCE_SETS, candidate_spans, spans_frame, word_weights
from ranker.evaluation.explanations.word_evidence import COLUMNS
from ranker.ranking.scorers import RankerScorer, reference_scores
from tests.datasets import dataset_of
from tests.effort import further

RECORD = {
    "lp": "de-en",
    "seg_id": "7",
    "source": "Der Mann kaufte am Montag 15 Autos für 300 Euro.",
    "references": ["On Monday the man bought 15 cars for 300 euros."],
    "candidates": [
        {"system": "A", "text": "On Monday the man bought 51 cars for 300 euros."},
        {"system": "B", "text": "On Monday the man bought 15 cars."},
        {"system": "C", "text": "On Monday the man bought 15 cars for 300 euros."},
    ],
}


def spans_of(dataset: Dataset, model: str = "full-lexical"):
    ranker = Ranker.load(model)
    matrix = ranker.votes.values(dataset, ranker.contributions)
    return ranker, matrix, [*candidate_spans(ranker, dataset, matrix, votes=ranker.votes)]


def marked(source: str, output: str, reference: str, lp: str = "de-en", model: str = "full-lexical"):
    frame = explain_spans(from_texts([output], [reference], [source], lp=lp), model=model)
    placed = frame[frame["start"].notna() & (frame["side"] == "target")]
    assert [output[start:end] for start, end in zip(placed["start"], placed["end"], strict=True)] == [*placed["text"]]
    return dict(zip(placed["text"], placed["category"], strict=True))


@pytest.mark.parametrize("model", ["full-lexical", further("full"), further("full-any")])
def test_costs_add_up_to_the_distance_from_the_best_reference(sample: Dataset, model: str) -> None:
    some = sample.select_sources(np.arange(len(sample.sources)) < 12)
    ranker, matrix, explained = spans_of(some, model)
    references, owner = reference_scores(RankerScorer(ranker), some), some.references["source"].to_numpy()
    assert [each.row for each in explained] == [*range(len(some))]
    for each in explained:
        best = references[owner == some.candidate_source[each.row]].max()
        assert each.distance == pytest.approx(best - matrix[each.row].sum(), abs=1e-9)
        assert sum(span.cost for span in each.spans) == pytest.approx(each.distance, abs=1e-12)
        assert [span.start for span in each.spans if span.category == "rest"] == [None]
        assert all(span.cost >= 0 for span in each.spans[:-1])


@pytest.mark.parametrize("model", ["consensus", further("full"), further("full-any")])
def test_candidates_with_a_fault_do_not_change_the_distance_of_others(model: str) -> None:
    references = [*RECORD["references"], "The man bought 15 cars for 300 euros on Monday."]
    other = {**RECORD, "seg_id": "8", "source": "Es regnet heute.", "references": ["It rains today."]}
    other["candidates"] = [{"system": name, "text": f"It {name} today."} for name in ("rains", "snows", "burns")]
    faulty = [{"system": "D", "text": RECORD["source"]}, {"system": "E", "text": ""}]
    records = [{**RECORD, "references": references}, other]
    _, _, explained = spans_of(from_records(records), model)
    records[0]["candidates"] = [*RECORD["candidates"], *faulty]
    _, _, with_faulty = spans_of(from_records(records), model)
    distances = [each.distance for each in with_faulty]
    assert distances[:3] + distances[5:] == pytest.approx([each.distance for each in explained], abs=1e-6)
    assert min(distances[3:5]) > max(distances[:3])
    assert [each.spans for each in with_faulty[5:]] == [each.spans for each in explained[3:]]


def test_where_candidates_tie_their_distance_is_0(tmp_path, capsys) -> None:
    texts = ["Der Bus hatte zehn Minuten Verspätung.", "The bus was late.", "Der Bus kam zehn Minuten zu früh."]
    record = {"lp": "en-de", "source": texts[1], "references": ["Der Bus kam zu spät."], "candidates": texts}
    _, _, explained = spans_of(from_records([record]), "full")
    assert [each.distance for each in explained if each.row != 1] == [0, 0]
    (tmp_path / "data.json").write_text(json.dumps([record]), encoding="utf-8")
    with pytest.raises(SystemExit, match="0"):
        run(["explain", str(tmp_path / "data.json"), "--model", "full", "--spans"])
    assert capsys.readouterr().out.count("+0.00  behind the best reference") == 2


def test_without_references_the_best_candidate_lacks_nothing() -> None:
    texts = ["the man is old", "the man is bold", "a man is cold and old"]
    _, matrix, explained = spans_of(dataset_of([([], texts)], lp="de-en"))
    assert {each.against for each in explained} == {"candidate"}
    assert min(each.distance for each in explained) == 0
    scores = matrix.sum(axis=1)
    assert [each.distance for each in explained] == pytest.approx([*(scores.max() - scores)])


def test_references_among_the_candidates_that_have_no_score_are_left_out() -> None:
    candidates = [*RECORD["candidates"], {"system": "R", "text": RECORD["references"][0], "is_reference": True}]
    dataset = from_records([{**RECORD, "candidates": candidates}])
    _, _, explained = spans_of(dataset)
    assert [each.row for each in explained] == [0, 1, 2]


@pytest.mark.parametrize(
    ("lp", "source", "output", "reference", "wrong"),
    [
        ("en-de", "The woman laughs.", "Der Mann 👩‍👩‍👧 lacht.", "Die Frau 👩‍👩‍👧 lacht.", "Mann"),
        ("en-ar", "The man laughed today.", "ضحكت المرأة اليوم.", "ضحك الرجل اليوم.", "المرأة"),
        ("en-zh", "The cat ate fish.", "那只狗昨天吃了鱼。", "那只猫昨天吃了鱼。", "狗"),
        ("en-hi", "The boy is sleeping.", "बिल्ली सो रही है।", "लड़का सो रहा है।", "बिल्ली"),
        ("en-ru", "The man laughed.", "Женщина громко смеялась.", "Мужчина громко смеялся.", "Женщина"),
        ("en-he", "The man laughed.", "האישה צחקה בקול.", "האיש צחק בקול.", "האישה"),
        ("en-ja", "It is a cat.", "これは犬です。", "これは猫です。", "犬"),
    ],
)
def test_places_count_characters_in_any_script(lp: str, source: str, output: str, reference: str, wrong: str) -> None:
    found = marked(source, output, reference, lp, "full-any")
    assert any(wrong in text for text in found), found


@pytest.mark.parametrize(
    ("output", "text", "category"),
    [
        ("On Monday the man bought 51 cars for 300 euros.", "51", "numbers"),
        ("On Tuesday the man bought 15 cars for 300 euros.", "Tuesday", "dates"),
        ("On Monday the man kaufte 15 cars for 300 euros.", "kaufte", "untranslated"),
        ("On Monday the man didn't buy 15 cars for 300 euros.", "didn't", "negation"),
        ("On Monday the man never bought 15 cars for 300 euros.", "never", "negation"),
        ("On Monday the man sold 15 cars for 300 euros.", "sold", "opposite"),
        ("On Monday Smith bought 15 cars for 300 euros.", "Smith", "name"),
        ("On Monday the man the man the man the man bought 15 cars for 300 euros.", "the man the man", "repetition"),
        ("On Monday the man purchased 15 bananas for 300 euros.", "bananas", "other words"),
    ],
)
def test_spans_say_what_is_wrong(output: str, text: str, category: str) -> None:
    found = marked(RECORD["source"], output, RECORD["references"][0], model="full")
    assert [kind for words, kind in found.items() if text in words] == [category], found


def test_missing_words_have_no_place_or_that_in_the_source() -> None:
    frame = explain_spans([RECORD], model="full-lexical")
    rows = frame[frame["system"] == "B"].to_dict("records")
    number, rest = rows
    assert (number["side"], RECORD["source"][number["start"] : number["end"]]) == ("source", "300")
    assert (rest["category"], rest["instead"]) == ("rest", "for 300 euros")
    assert frame[frame["system"] == "C"]["severity"].tolist() == ["no-error"]
    assert frame[frame["system"] == "C"]["category"].tolist() == ["rest"]


def test_whole_outputs_that_are_no_translation_are_marked() -> None:
    texts = [RECORD["source"], " ", "I'm sorry, but I can't assist with that request."]
    candidates = [{"system": name, "text": text} for name, text in zip("DEF", texts, strict=True)]
    frame = explain_spans([{**RECORD, "candidates": [*RECORD["candidates"], *candidates]}], model="full-lexical")
    faults = {
        row["system"]: (row["category"], row["text"])
        for row in frame.to_dict("records")
        if row["system"] in "DEF" and row["severity"] == "major" and row["side"] == "target"
    }
    assert faults == {"D": ("copy", texts[0]), "E": ("empty", ""), "F": ("refusal", texts[2].rstrip("."))}


def test_spans_are_marked_errors_of_a_data_set() -> None:
    dataset = from_records([RECORD])
    _, _, explained = spans_of(dataset)
    frame = spans_frame(dataset, explained)
    names = ["candidate", "rater", "start", "end", "severity", "category", "side"]
    import pyarrow as pa

    texts = {
        "target": pa.chunked_array([dataset.candidates["text"].tolist()], pa.large_string()),
        "source": pa.chunked_array([dataset.sources["text"].tolist()], pa.large_string()),
    }
    errors, wrong = checked_errors({name: frame[name].tolist() for name in names}, texts, dataset.candidate_source)
    assert wrong is None
    assert len(errors) == len(frame)


def test_weights_are_those_of_the_evidence() -> None:
    weights = word_weights()
    assert weights["major"] > 0
    for name in EVIDENCE_SETS.values():
        assert weights[name].keys() <= {"cut", "intercept", *COLUMNS}
        assert 0 < weights[name]["cut"] < 1
        assert all(weight >= 0 for column, weight in weights[name].items() if column in COLUMNS)


def test_command_marks_words_and_costs_add_up(tmp_path, capsys) -> None:
    (tmp_path / "data.json").write_text(json.dumps([RECORD]), encoding="utf-8")
    options = ["explain", str(tmp_path / "data.json"), "--model", "full-lexical", "--spans"]
    with pytest.raises(SystemExit, match="0"):
        run(options)
    shown = capsys.readouterr().out
    assert "A: On Monday the man bought [51] cars for 300 euros." in shown
    assert "25-27" in shown
    assert "behind the best reference" in shown
    with pytest.raises(SystemExit, match="0"):
        run([*options, "-f", "json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    first = rows[0]
    assert (first["start"], first["end"], first["text"], first["instead"]) == (25, 27, "51", "15")
    assert (first["rater"], first["severity"], first["category"], first["side"]) == (
        "ranker",
        "major",
        "numbers",
        "target",
    )


@pytest.mark.parametrize("option", [["--by", "family"], ["--pair", "A", "B"]])
def test_spans_are_of_single_candidates(tmp_path, capsys, option: list[str]) -> None:
    (tmp_path / "data.json").write_text(json.dumps([RECORD]), encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        run(["explain", str(tmp_path / "data.json"), "--spans", *option])
    assert "--spans marks words of single candidates" in capsys.readouterr().err


def test_spans_need_data(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(["explain", "--spans"])
    assert "ranker explain DATA --spans" in capsys.readouterr().err


def test_check_prints_places(tmp_path, capsys) -> None:
    (tmp_path / "data.json").write_text(json.dumps([RECORD]), encoding="utf-8")
    with pytest.raises(SystemExit, match="0"):
        run(["check", str(tmp_path / "data.json"), "--spans", "--examples", "2"])
    shown = capsys.readouterr().out
    assert "numbers: 15 -> 51 (de-en 7 A, target 25-27)" in shown
    assert "numbers: 300 -> nothing (de-en 7 B, source 39-42)" in shown


def test_a_candidate_of_a_frame_is_its_row():
    data = from_texts({"A": ["It burns.", "It rains."], "B": ["It rains.", "It snows."]}, ["It rains.", "It snows."])
    frame = data.to_frame().sort_values("system")
    spans = explain_spans(frame, model="full-lexical").dropna(subset=["start"])
    texts = frame["text"].iloc[spans["candidate"]]
    assert {*spans["candidate"]} == {0, 1}
    assert spans["text"].tolist() == [
        text[start:end] for text, start, end in zip(texts, spans["start"], spans["end"], strict=True)
    ]
