"""What is probably a slip in a file is refused, or a note of every command tells it, in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
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
        ([{"seg_id": "１"}, {"seg_id": "1"}], "seg_ids '１' and '1' look the same: write both alike, or rename one"),
        (
            [{"seg_id": "d1:01"}, {"seg_id": "d1:1"}],
            "seg_ids 'd1:01' and 'd1:1' look the same: write both alike, or rename one",
        ),
        (
            [{"system": "A"}, {"system": "\u202aA\u200d"}],
            "systems 'A' and '\\u202aA\\u200d' look the same: write both alike, or rename one",
        ),
        ([{"doc": "d"}, {"doc": "d "}], "docs 'd' and 'd ' look the same: write both alike, or rename one"),
        (
            [{"lp": "de-en", "src_lang": "fr", "tgt_lang": "en"}],
            "lp 'de-en' contradicts the other columns or keys for languages, 'fr-en': correct or remove one",
        ),
        (
            [{"lp": "de-en", "tgt_lang": "fr"}],
            "lp 'de-en' contradicts the other columns or keys for languages, '?-fr': correct or remove one",
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


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "frame", "records"])
@pytest.mark.parametrize(
    "header",
    [
        [*ROW],
        ["\ufeffsource", "reference", "system", "text"],
        ["Source ", "Reference", "System", "Text"],
        ["src", "ref", "system", "mt"],
        ["reference", "source", "text", "system"],
    ],
)
def test_a_header_in_the_middle_is_refused(tmp_path, ending, header):
    with pytest.raises(DataError) as error:
        read(tmp_path / f"x.{ending}", [ROW, dict(zip(ROW, header, strict=True)), {**ROW, "source": "x"}])
    assert error.value.what == "the names of the columns are repeated here: remove this line"
    assert error.value.line == {"csv": 3, "tsv": 3, "jsonl": 2}.get(ending)


def test_what_is_only_called_like_columns_is_no_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("system,source,text\nmt,source,a\nreference,text,b\n", encoding="utf-8")
    assert len(read_dataset(path)) == 2
    with pytest.raises(DataError, match="column 'text' is missing"):
        from_frame(pd.DataFrame(index=range(3)))


def test_the_header_of_a_wide_table_in_the_middle_is_refused(tmp_path):
    row = {"source": "s", "atlas": "a", "birch": "b"}
    with pytest.raises(DataError, match="the names of the columns are repeated here"):
        read(tmp_path / "x.csv", [row, {key: key for key in row}])
    read(tmp_path / "y.jsonl", rows({"source": "source", "text": "text", "reference": "reference"}))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("swallowing", "ends"),
    [
        ('s,r,A,"t1\ns,r,A,t2\ns,r,A,t3"', 2),
        ('s,"r,A,t1\ns,r 3",A,t2', 1),
        ('"s,r,A,t1\ns,r,A,t2\ns",r,A,t', 2),
        ('s,r,A,"t1\ns,r,A,t2\n",r,A,t', None),
        ('s,r,A,"One line, and\nanother"', 0),
        ('s,r,A,"a\n\nb"', 0),
    ],
)
def test_a_quote_that_swallows_rows_is_noted(tmp_path, caplog, end, swallowing, ends):
    path = tmp_path / "x.csv"
    path.write_bytes(f"source,reference,system,text\nz,r,A,t0\n{swallowing}\n".replace("\n", end).encode())
    if ends is None:
        with pytest.raises(DataError, match="expected 4 fields as in the first line, found 7"):
            read_dataset(path)
        return
    assert len(read_dataset(path)) == 2
    what = f"a cell of this row holds the ends of {ends} row{'s' * (ends > 1)}: is a quote left open?"
    assert caplog.messages == ([f"ranker: note: {path}:3: {what}"] if ends else [])


@pytest.mark.parametrize(
    ("cell", "noted"), [('"he said ""yes"""', True), ('""', False), ('"yes"', False), ('say "yes"', False)]
)
@pytest.mark.parametrize(
    "before", ["source\tsystem\ttext\nt\tA\tx\n", "system\tdoc\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"]
)
def test_quotes_of_spreadsheets_in_tsv_are_noted(tmp_path, caplog, before, cell, noted):
    path = tmp_path / "x.tsv"
    row = f"s\tA\t{cell}" if before.startswith("source") else f"A\td\t1\tr\ts\t{cell}\tAccuracy\tMinor"
    path.write_text(f"{before}{row}\n", encoding="utf-8")
    assert read_dataset(path).candidates["text"].tolist()[-1] == cell
    what = "this line has a cell quoted as in CSV, and TSV is read without quoting: if the quotes are no part of the"
    place = f"{path}:{before.count(chr(10)) + 1}"
    assert caplog.messages == [f"ranker: note: {place}: {what} text, save the file without them, or as CSV"] * noted


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (('Der Hund\t"The dog, yes."', 'Die Katze\t"The cat, no."', "Das\tThat"), 2),
        (('Der, Hund\t"The dog, yes."', 'Die Katze\t"The cat, no."', "Das\tThat"), None),
        (('Der Hund\t"The dog, yes."', "Das\tThat"), None),
        (('"Der Hund"\t"dog"', '"Die Katze"\tcat'), 2),
        (('"Der Hund"\t"dog"', 'Die Katze\t"cat" and'), None),
    ],
)
def test_tsv_with_whole_cells_in_quotes_is_noted(tmp_path, caplog, rows, line):
    path = tmp_path / "x.tsv"
    path.write_text("source\ttext\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    read_dataset(path)
    what = "this line has a cell quoted as in CSV, and TSV is read without quoting: if the quotes are no part of the"
    expected = [f"ranker: note: {path}:{line}: {what} text, save the file without them, or as CSV"]
    assert caplog.messages == (expected if line else [])


def test_tsv_with_a_quoted_header_is_refused(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text('"source"\t"text"\n"s"\t"t"\n', encoding="utf-8")
    what = "column '\"source\"' is quoted as in CSV, and TSV is read without quoting: save the file without quotes, or"
    with pytest.raises(DataError, match=re.escape(f"{path}:1: {what} as CSV")):
        read_dataset(path)
    path.write_text('source\ttext\t"note"\ns\tt\tx\n', encoding="utf-8")
    assert len(read_dataset(path)) == 1


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("columns", ["source,reference,text", "source,system,text", "source,reference,A,B"])
def test_empty_rows_at_the_end_of_a_table_are_left_out(tmp_path, caplog, ending, columns):
    path = tmp_path / f"x.{ending}"
    size = columns.count(",")
    full = "\n".join(",".join(f"{name} {row}" for name in columns.split(",")) for row in (1, 2))
    whole = f"{columns}\n{full}\n{',' * size}\n{',' * size}\n"
    path.write_text(whole.replace(",", "\t") if ending == "tsv" else whole, encoding="utf-8")
    assert len(read_dataset(path).sources) == 2
    assert caplog.messages[0] == f"ranker: note: {path}:4: 2 rows without content left out at the end of the file"


@pytest.mark.parametrize("keys", [["seg_id"], ["doc"], ["seg_id", "judge"]])
def test_numbers_that_were_made_floats_are_the_whole_numbers(tmp_path, keys):
    rows = [{"source": f"s{n}", "system": "A", "text": "t", "score": n, **dict.fromkeys(keys, n)} for n in (1, 2)]
    floats = [{**row, **{key: float(row[key]) for key in keys}} for row in rows]
    assert read(tmp_path / "f.jsonl", floats).fingerprint == read(tmp_path / "x.jsonl", rows).fingerprint
    with pytest.raises(DataError, match=r"found 1\.5"):
        read(tmp_path / "y.jsonl", [{**rows[0], **dict.fromkeys(keys, 1.5)}])


@pytest.mark.parametrize("missing", [{"system": ""}, {"system": None}, {}])
@pytest.mark.parametrize("first", [0, 1])
def test_a_row_without_a_system_among_others_is_refused(tmp_path, missing, first):
    rows = [{"source": "s", "text": "t", "system": "A"}, {"source": "s", "text": "u", **missing}]
    with pytest.raises(DataError, match=r"x\.jsonl:2: system: expected a name in every line or in none, found"):
        read(tmp_path / "x.jsonl", [rows[first], rows[1 - first]])


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


def test_outputs_that_are_given_twice_are_noted(tmp_path, command):
    for name, sources in {"one": range(30), "two": range(20, 60), "other": range(60, 90)}.items():
        changes = [{"source": f"s {at}", "text": f"t {at}", "seg_id": str(at)} for at in sources]
        read(tmp_path / f"{name}.csv", rows(*changes))
    paths = {name: str(tmp_path / f"{name}.csv") for name in ("one", "two", "other")}

    def printed(*names: str) -> str:
        return command("score", "-m", "chrf", "--level", "system", *(paths[name] for name in names)).err

    assert "note: one: 30 of 30 outputs are in other data too: give them once" in printed("one", "one")
    assert "note: two: 10 of 40 outputs are in other data too: give them once" in printed("one", "two", "other")
    assert "other data" not in printed("one", "other")
