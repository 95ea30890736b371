"""What is probably a slip in a file is refused, or a note of every command tells it, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ranker import from_frame, from_records
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.sanity import notes_of
from ranker.errors import DataError

ROW = {"source": "Hallo", "reference": "hello", "system": "A", "text": "hi"}


def rows(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**ROW, "source": f"Hallo {at}", **change} for at, change in enumerate(changes)]


def read(path: Path, records: list[dict[str, Any]]) -> Dataset:
    """Read records as a file, or in memory, as the name says."""
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        case ".csv" | ".tsv":
            separator = "," if path.suffix == ".csv" else "\t"
            lines = [separator.join(records[0]), *(separator.join(map(str, record.values())) for record in records)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        case ".frame":
            import pandas as pd

            return from_frame(pd.DataFrame(records))
        case _:
            return from_records(records)
    return read_dataset(path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "frame", "records"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            [{"system": "sys0"}, {"system": "sys0 "}],
            "systems 'sys0' and 'sys0 ' look the same: write both alike, or rename one",
        ),
        (
            [{"system": "sys0"}, {"system": "sys\u200b0"}],
            "systems 'sys0' and 'sys\\u200b0' look the same: write both alike, or rename one",
        ),
        (
            [{"judge": "j1", "score": 1}, {"judge": "j1\u00a0", "score": 2}],
            "judges 'j1' and 'j1\\xa0' look the same: write both alike, or rename one",
        ),
        ([{"seg_id": "1"}, {"seg_id": "01"}], "seg_ids '1' and '01' look the same: write both alike, or rename one"),
        ([{"seg_id": "1"}, {"seg_id": "1.0"}], "seg_ids '1' and '1.0' look the same: write both alike, or rename one"),
        ([{"doc": "d"}, {"doc": "d "}], "docs 'd' and 'd ' look the same: write both alike, or rename one"),
        (
            [{"lp": "de-en", "src_lang": "fr", "tgt_lang": "en"}],
            "lp 'de-en' contradicts the other columns or keys for languages, 'fr-en': correct or remove one",
        ),
    ],
)
def test_names_that_look_the_same_are_refused(tmp_path, ending, changes, message):
    with pytest.raises(DataError) as error:
        read(tmp_path / f"x.{ending}", rows(*changes))
    assert error.value.what == message


def test_numbers_of_segments_of_several_language_pairs_and_other_names_are_none(tmp_path):
    read(tmp_path / "x.csv", rows({"lp": "de-en", "seg_id": "1"}, {"lp": "fr-en", "seg_id": "01"}))
    read(tmp_path / "y.csv", rows({"seg_id": "a1", "system": "A"}, {"seg_id": "a01", "system": "a"}))


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_header_in_the_middle_is_refused(tmp_path, ending):
    with pytest.raises(DataError) as error:
        read(tmp_path / f"x.{ending}", [ROW, {key: key for key in ROW}, ROW])
    assert (error.value.line, error.value.what) == (3, "the first line is repeated here: remove this line")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quote_that_swallows_rows_is_noted(tmp_path, caplog, end):
    path = tmp_path / "x.csv"
    text = "source,reference,system,text\n" + "".join(
        f's{at},r{at},A,{quoted}\n' for at, quoted in enumerate(['t0', '"t1', 't2', 't3"', 't4']))  # fmt: skip
    path.write_bytes(text.replace("\n", end).encode())
    assert len(read_dataset(path)) == 3
    assert caplog.messages == [
        f"ranker: note: {path}:3: a cell of this row holds 2 lines that look like rows: is a quote left open?"
    ]
    caplog.clear()
    path.write_text('source,reference,system,text\ns,r,A,"One line, and\nanother"\nt,r,A,"a\n\nb"\n', encoding="utf-8")
    read_dataset(path)
    assert not caplog.messages


def notes(dataset: Dataset) -> list[str]:
    return [note.text for note in notes_of(dataset)]


@pytest.mark.parametrize("ending", ["jsonl", "records"])
def test_records_of_one_source_are_noted(tmp_path, caplog, ending):
    one = {"source": "s", "references": ["r"], "candidates": {"A": "x"}}
    places = ("record 1", "record 0") if ending == "records" else ("line 2", "line 1")
    read(tmp_path / f"x.{ending}", [one, {**one, "candidates": {"A": "y"}}])
    repeated = f"1 source is repeated with outputs of the same systems (first: {places[0]}, like {places[1]})"
    assert caplog.messages[0].endswith(f"{repeated}: remove one, or give each a seg_id")
    caplog.clear()
    read(tmp_path / f"x.{ending}", [one, {**one, "candidates": {"B": "y"}}])
    assert "1 source equal to another (first" in caplog.messages[0]
    assert len(caplog.messages) == 1
    caplog.clear()
    read(tmp_path / f"x.{ending}", [{**one, "seg_id": 1}, {**one, "seg_id": 2}])
    assert not caplog.messages


def test_a_source_without_outputs_is_noted(tmp_path):
    one = {"source": "s", "references": ["r"], "candidates": {"A": "x"}}
    dataset = read(
        tmp_path / "x.jsonl", [one, {**one, "source": "t", "candidates": {}}, {**one, "source": "u", "candidates": []}]
    )
    assert "2 sources have no output" in notes(dataset)


def test_an_empty_reference_is_noted(tmp_path):
    one = {"source": "s", "references": ["r", " "], "candidates": {"A": "x"}}
    assert "1 reference is empty" in notes(read(tmp_path / "x.jsonl", [one]))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_one_source_and_reference_in_two_language_pairs_is_noted(tmp_path, ending):
    same = [{**ROW, "lp": "de-en"}, {**ROW, "lp": "de-fr", "system": "B"}]
    assert "1 source has the same text and reference in another language pair" in notes(
        read(tmp_path / f"x.{ending}", same)
    )
    apart = [same[0], {**same[1], "reference": "salut"}]
    assert not any("language pair" in note for note in notes(read(tmp_path / f"y.{ending}", apart)))


@pytest.mark.parametrize("words", [("score", "-m", "chrf", "--data"), ("data", "check")])
def test_commands_print_these_notes(tmp_path, command, words):
    path = tmp_path / "x.jsonl"
    one = {"source": "s", "references": ["r", ""], "candidates": {"A": "x"}}
    read(path, [one, {"source": "t", "references": ["r"], "candidates": {}}])
    printed = command(*words, str(path))
    for what in ("1 reference is empty", "1 source has no output"):
        assert what in printed.out + printed.err


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "frame", "records"])
@pytest.mark.parametrize("value", [1e308, -1e200])
def test_ratings_that_no_sum_could_hold_are_refused(tmp_path, ending, value):
    with pytest.raises(DataError) as error:
        read(tmp_path / f"x.{ending}", rows({"fluency": 3.0}, {"fluency": value}))
    assert error.value.what == f"'fluency' is {value:g}: expected a number of at most 1e+15 in magnitude"
