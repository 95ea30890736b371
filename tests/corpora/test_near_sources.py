"""Sources that differ only by white space or a blank reference are noted and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ranker import from_frame, from_records, from_texts, load_dataset
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.near_sources import near_duplicate_sources
from tests.command_line import Command

NOTE = (
    "1 source differing from another only by white space or a blank reference (first: {later}, like {earlier}), so "
    "their candidates are not compared: make them equal, or give each a seg_id"
)


def rows(*sources: tuple[str, str, str]) -> pd.DataFrame:
    frame = pd.DataFrame([*sources], columns=["source", "ref", "system"])
    return frame.assign(text=[f"text {number}" for number in range(len(frame))])


@pytest.mark.parametrize(
    "other",
    ["one two ", " one two", "one  two", "one\u00a0two", "one\ttwo", "one\u3000two", "\ufeffone two", "one two\u200b"],
    ids=ascii,
)
def test_sources_that_differ_by_white_space_are_noted(
    other: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    frame = rows(("zero", "r", "A"), ("one two", "r", "A"), (other, "r", "B"))
    assert near_duplicate_sources(from_frame(frame)) == [(2, 1)]
    frame.to_csv(tmp_path / "x.csv", index=False)
    read_dataset(tmp_path / "x.csv")
    from_records(frame.to_dict("records"))
    said = [("frame", "row 2", "row 1"), (tmp_path / "x.csv", "line 4", "line 3"), ("records", "record 2", "record 1")]
    assert caplog.messages == [f"ranker: note: {n}: {NOTE.format(later=b, earlier=a)}" for n, b, a in said]


@pytest.mark.parametrize(
    ("sources", "count"),
    [
        ([("a", "r", "A"), ("a", "", "B"), ("a", " ", "C")], 2),
        ([("a", "r", "A"), ("a", "r ", "B")], 1),
        ([("a", "r", "A"), ("a", "s", "B")], 0),
        ([("a", "r", "A"), ("a ", "r", "A")], 0),
        ([("a", "r", "A"), ("A", "r", "B")], 0),
        ([("", "r", "A"), (" ", "", "B")], 0),
        ([("a", "r", "candidate1"), ("a", "r", "candidate2"), ("a ", "r", "candidate1")], 1),
        ([("a", "r", "candidate1"), ("a ", "r", "candidate1")], 0),
    ],
)
def test_sources_of_different_systems_that_look_equal(sources: list[tuple[str, str, str]], count: int) -> None:
    assert len(near_duplicate_sources(from_frame(rows(*sources)))) == count


def test_clean_data_have_none(caplog: pytest.LogCaptureFixture) -> None:
    assert near_duplicate_sources(load_dataset("sample")) == []
    from_texts({"A": ["x", "y"], "B": ["x", "y"]}, sources=["a", "a "])
    assert not caplog.records


def test_check_counts_them_and_empty_texts(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = rows(("a", "r", "A"), ("a ", "", "B"), ("b", "s", "A"), ("b", "s", "B"))
    records: list[dict[str, Any]] = frame.assign(text=["x", "", "\u00a0", "y"]).to_dict("records")
    Path("x.jsonl").write_text("\n".join(map(json.dumps, records)))
    checked = json.loads(command("data", "check", "x.jsonl", "-f", "json").out)
    assert checked["signature"].split("\n")[1:-1] == [
        "empty candidates: 2 (first: x.jsonl:2: x[2])",
        "sources that differ from another only by white space or a blank reference: 1 (first: x.jsonl:2: x[2])",
    ]


@pytest.mark.parametrize(
    ("keys", "differ"),
    [
        ({"lp": ["de-en", None]}, "a missing lp"),
        ({"doc": [None, "d"]}, "a missing doc"),
        ({"lp": ["de-en", None], "doc": ["d", None]}, "a missing lp or a missing doc"),
        ({"lp": ["de-en", ""], "seg_id": ["x7", "x7"]}, "a missing lp"),
    ],
)
def test_a_source_that_lacks_the_pair_or_the_document_in_some_rows_is_noted(
    keys: dict[str, list[Any]], differ: str, caplog: pytest.LogCaptureFixture
) -> None:
    frame = rows(("one", "r", "A"), ("one", "r", "B"), ("two", "r", "A"), ("two", "r", "B"))
    frame = frame.assign(**{key: values * 2 for key, values in keys.items()})
    if "seg_id" in keys:
        frame["seg_id"] = ["x7", "x7", "x8", "x8"]
    note = NOTE.format(later="row 1", earlier="row 0").replace("white space or a blank reference", differ)
    note = note.replace("give each a seg_id", "change the seg_id of one") if "seg_id" in keys else note
    note = note.replace("1 source", "2 sources")
    assert len(from_frame(frame).sources) == 4
    assert caplog.messages == [f"ranker: note: frame: {note}"]


def test_sources_of_different_documents_and_pairs_are_not_noted(caplog: pytest.LogCaptureFixture) -> None:
    frame = rows(("one", "r", "A"), ("one", "r", "B"), ("two", "r", "A"), ("two", "r", "B"))
    from_frame(frame.assign(lp=["de-en", "fr-en", "de-en", None]).iloc[:3])
    from_frame(frame.assign(doc=["c", "d", "d", "d"]))
    from_frame(rows(("one", "r", "A"), ("one", "r", "A"), ("x", "r", "B")).assign(doc=["d", None, None]))
    assert not caplog.records


@pytest.mark.parametrize("spelt", ["deu_eng", "DE-EN", "German-English"])
def test_a_pair_spelt_in_two_ways_is_one(spelt: str) -> None:
    frame = rows(("one", "r", "A"), ("one", "r", "B")).assign(lp=["de-en", spelt])
    for dataset in (from_frame(frame), from_records(frame.to_dict("records"))):
        assert dataset.sources["lp"].tolist() == ["de-en"]
    assert len(from_frame(frame.assign(seg_id="7")).sources) == 1
