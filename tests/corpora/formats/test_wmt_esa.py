"""Error span annotations of WMT 2025."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ranker.corpora.formats.json_lines import parse_records
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.wmt_esa import is_wmt_esa
from ranker.corpora.judgements import human_scores
from ranker.errors import DataError

LINE: dict[str, Any] = {
    "scores": {
        "A": {"human1": 80, "errors1": [{"start_i": 1}], "annotator1": "j1", "human2": 90.5, "annotator2": "j2"},
        "refA": {"human1": 100, "annotator1": "j1", "human2": None},
        "B": {"human1": 60, "human2": 70, "human3": 50, "annotator2": "j2", "annotator3": "j2"},
    },
    "src_text": "Ahoj",
    "tgt_text": {"refA": "Hallo", "A": "Hallo!", "B": "", "C": "Tag"},
    "doc_id": "cs-de_DE_#_news_#_d.1_#_0",
    "video": "x.mp4",
}


def write(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def test_scores_become_ratings_by_their_annotators(tmp_path):
    other = {**LINE, "doc_id": "en-sr_Cyrl_RS_#_news_#_d.1_#_0", "scores": {}}
    dataset = read_dataset(write(tmp_path / "x.jsonl", LINE, other))
    assert dataset.sources[["lp", "doc", "seg_id"]].to_numpy().tolist() == [
        ["cs-de_DE", "d.1", "d.1:0"],
        ["en-sr_Cyrl_RS", "d.1", "d.1:0"],
    ]
    assert dataset.references["text"].tolist() == ["Hallo", "Hallo"]
    assert dataset.candidates["system"].tolist() == ["refA", "A", "B", "C"] * 2
    assert dataset.candidates["is_reference"].tolist() == [True, False, False, False] * 2
    assert sorted(dataset.ratings[["candidate", "judge", "kind", "value"]].to_numpy().tolist()) == [
        [0, "j1", "esa", 100.0],
        [1, "j1", "esa", 80.0],
        [1, "j2", "esa", 90.5],
        [2, "j2", "esa", 70.0],
        [2, "j2 (round 3)", "esa", 50.0],
        [2, "round 1", "esa", 60.0],
    ]
    # standardised for each annotator, as all scores by judges are
    assert human_scores(dataset, "esa")[:3].argsort().tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"doc_id": "cs-de_#_news"}, "doc_id: expected PAIR_#_DOMAIN_#_DOCUMENT_#_SEGMENT, found 'cs-de_#_news'"),
        ({"doc_id": 1}, "doc_id: expected a string, found 1"),
        ({"src_text": None}, "src_text: expected a string, found null"),
        ({"src_text": "\ud800"}, "src_text: expected text that can be encoded in UTF-8"),
        ({"tgt_text": ["a"]}, "tgt_text: expected a JSON object"),
        ({"tgt_text": {"A": 1}}, "A: expected a string, found 1"),
        ({"tgt_text": {"": "a"}}, "tgt_text: expected a name, found ''"),
        ({"scores": {"D": {}}}, "scores: expected a system of tgt_text, found 'D'"),
        ({"scores": {"A": [{"human": 1}]}}, "A: expected a JSON object"),
        ({"scores": {"A": {"human1": "9"}}}, "human1: expected a finite number, found '9'"),
        ({"scores": {"A": {"human1": True}}}, "human1: expected a finite number, found true"),
        ({"scores": {"A": {"human1": 1, "annotator1": {}}}}, "annotator1: expected a string"),
    ],
)
def test_what_is_not_of_the_format_is_refused_with_its_line(changes, says, tmp_path):
    file = write(tmp_path / "x.jsonl", LINE, {**LINE, **changes})
    with pytest.raises(DataError) as refused:
        read_dataset(file)
    assert str(refused.value).startswith(f"{file}:2: {says}")


def test_other_json_is_not_taken_for_it():
    assert is_wmt_esa(json.dumps(LINE))
    text = '{"src": "doc_id src_text tgt_text", "mt": "b", "ref": "c"}\n'
    assert not is_wmt_esa(text)
    assert len(parse_records(text, "x")) == 1
