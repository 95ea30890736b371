"""JSON whose values are of the wrong type, missing, out of range, too deep or there twice."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ranker.corpora.formats.reading import read_dataset
from ranker.errors import DataError
from tests.corpora.damage import HEADER, LINES, RECORDS, ROWS, damaged, refusal, table

WRONG = [None, True, False, 0, 7, -1.5, "", "text", [], ["text"], [1], [None], [[]], [{}], {}, {"a": "b"}, {"a": 1}]
WRONG_IDS = [json.dumps(item) for item in WRONG]


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_name(value: object) -> bool:
    return value is None or isinstance(value, str) or type(value) is int


def is_number(value: object) -> bool:
    return type(value) in (int, float)


def is_texts(value: object) -> bool:
    return is_text(value) or (isinstance(value, list) and all(map(is_text, value)))


# path in the record -> what may stand there
PLACES: dict[tuple[str | int, ...], Callable[[Any], bool]] = {
    ("lp",): is_name,
    ("doc",): is_name,
    ("seg_id",): is_name,
    ("source",): is_text,
    # the names of the references must be as many
    ("references",): lambda value: is_texts(value) and False,
    ("references", 0): is_text,
    ("reference_names",): lambda value: value is None,
    ("reference_names", 1): is_text,
    ("candidates",): lambda value: value in ([], ["text"], {}, {"a": "b"}),
    ("candidates", 0): is_text,
    ("candidates", 0, "system"): is_name,
    ("candidates", 0, "text"): is_text,
    ("candidates", 0, "human"): lambda value: value in (None, {}, {"a": 1}),
    ("candidates", 0, "human", "fluency"): lambda value: is_number(value) or value in (None, {}, {"a": 1}),
    ("candidates", 0, "human", "fluency", "j1"): is_number,
    ("candidates", 0, "human", "mqm"): lambda value: is_number(value) or value in (None, {}, {"a": 1}),
    ("candidates", 1, "is_reference"): lambda value: isinstance(value, bool),
}


def changed(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """Return the third record with another value at `path`."""
    copied: Any = copy.deepcopy(RECORDS[2])
    inside = copied
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return copied  # type: ignore[no-any-return]


@pytest.mark.parametrize("value", WRONG, ids=WRONG_IDS)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
@pytest.mark.parametrize("form", ["lines", "array"])
def test_wrong_types_in_json(form: str, place: tuple[str | int, ...], value: object, tmp_path: Path) -> None:
    items = [RECORDS[0], RECORDS[1], changed(place, value), RECORDS[3]]
    if form == "lines":
        path, raw, line = tmp_path / "x.jsonl", "\n".join(map(json.dumps, items)), 3
    else:
        path, raw = tmp_path / "x.json", json.dumps(items, indent=1)
        line = raw[: raw.index('"seg_id": 2')].count("\n")
        line = next(n for n, text in enumerate(raw.split("\n"), 1) if n > line and text == " {")
    if PLACES[place](value):
        path.write_text(raw, encoding="utf-8")
        assert len(read_dataset(path).sources) == 4
    else:
        # a whole value of the wrong type is named by its key, one inside a list by the list's
        key = next(str(key) for key in reversed(place) if isinstance(key, str))
        says = "reference_names: expected" if place == ("references",) and (value is None or is_texts(value)) else key
        damaged(path, raw, line, says)


@pytest.mark.parametrize("value", [*WRONG, *(item for item in ("x", 3, [1]))], ids=lambda value: json.dumps(value))
def test_wrong_types_of_whole_records(value: object, tmp_path: Path) -> None:
    raw = "\n".join([LINES[0], json.dumps(value), LINES[1]])
    damaged(tmp_path / "x.jsonl", raw, 2, r"record: expected an object|expected keys")
    damaged(tmp_path / "x.json", f"[{LINES[0]},\n{json.dumps(value)}]", 2, r"record: expected an object|expected keys")


@pytest.mark.parametrize("keys", [("source", "references"), ("candidates",)])
def test_missing_keys(keys: tuple[str, ...], tmp_path: Path) -> None:
    copied = copy.deepcopy(RECORDS)
    for key in keys:
        del copied[1][key]
    damaged(tmp_path / "x.jsonl", "\n".join(map(json.dumps, copied)), 2, 'expected keys "source", "references"')
    for record in (
        {"src": "x", "ref": "r"},
        {"src": "x", "mt_": "m"},
        {"src": None, "mt": "x"},
    ):
        damaged(tmp_path / "y.jsonl", f"{LINES[0]}\n{json.dumps(record)}", 2, "expected (keys|a string)")


@pytest.mark.parametrize("key", ["lp", "doc", "seg_id", "references", "reference_names"])
def test_keys_that_may_be_missing(key: str, tmp_path: Path) -> None:
    copied = copy.deepcopy(RECORDS)
    for item in copied:
        del item[key]
        if key == "references":
            del item["reference_names"]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, copied)), encoding="utf-8")
    assert len(read_dataset(tmp_path / "x.jsonl").sources) == 4


@pytest.mark.parametrize(
    "spellings",
    [("source", "src"), ("candidates", "tgt"), ("candidates", "mt"), ("references", "ref"), ("refs", "reference")],
)
def test_two_spellings_of_one_key(spellings: tuple[str, str], tmp_path: Path) -> None:
    example = {"source": "x", "candidates": {"A": "a"}, spellings[0]: {"A": "a"}, spellings[1]: {"A": "a"}}
    keys = f"keys '{spellings[0]}' and '{spellings[1]}' mean the same; keep one of them"
    damaged(tmp_path / "x.json", json.dumps(example), 1, keys)


NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "9" * 5000, '"3"', "true", "[3]"]
NOT_JSON = ["nan", "+1", ".5", "01", "1_000", "0x10", "3,5", "'3'", "--1", "1e", "", "\u0663"]


@pytest.mark.parametrize("number", [*NUMBERS, *NOT_JSON], ids=lambda text: text[:12])
@pytest.mark.parametrize("place", ['"j1": 3', '"mqm": -1'])
def test_numbers_that_are_none(place: str, number: str, tmp_path: Path) -> None:
    key, _, _ = place.partition(":")
    line = LINES[1].replace(place, f"{key}: {number}")
    says = "not JSON" if number in NOT_JSON else "a finite number|a JSON value|too many digits"
    damaged(tmp_path / "x.jsonl", "\n".join([LINES[0], line, LINES[2]]), 2, says)
    damaged(tmp_path / "x.json", f"[{LINES[0]},\n{line},\n{LINES[2]}]", 2, says)


@pytest.mark.parametrize(
    "number", ["NaN", "-Infinity", "1e999", "9" * 400, "9" * 5000, "1.0"], ids=lambda text: text[:12]
)
@pytest.mark.parametrize("key", ["seg_id", "lp", "source", "meta"])
def test_odd_numbers_elsewhere(key: str, number: str, tmp_path: Path) -> None:
    line = f'{{"source": "x", "candidates": {{"A": "a"}}, "{key}": {number}}}'
    if key == "source":
        line = f'{{"source": {number}, "candidates": {{"A": "a"}}}}'
    path = tmp_path / "x.jsonl"
    fine = number == "1e999" or number.isdigit() or number == "1.0"
    if len(number) < 5000 and ((key == "meta" and fine) or (number == "9" * 400 and key in ("seg_id", "lp"))):
        path.write_text(line)
        assert len(read_dataset(path)) == 1
    else:
        damaged(path, f"{LINES[0]}\n{line}\n", 2)


@pytest.mark.parametrize("depth", [1, 40, 400, 900, 950, 980, 1000, 5000, 200_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("place", ["meta", "source", "candidates", "record"])
def test_deep_nesting(place: str, opening: str, depth: int, tmp_path: Path) -> None:
    nested = opening * depth + "1" + {"[": "]", '{"a":': "}"}[opening] * depth
    line = nested if place == "record" else LINES[1].replace("{", f'{{"{place}": {nested}, ', 1)
    if place in ("source", "candidates"):
        line = '{"source": "x", "candidates": {"A": "a"}, "meta": 1}'
        line = re.sub(rf'"{place}": ("x"|{{"A": "a"}})', lambda _: f'"{place}": {nested}', line)
    path = tmp_path / "x.jsonl"
    path.write_text(f"{LINES[0]}\n{line}\n", encoding="utf-8")
    if place == "meta" and depth <= 40:
        assert len(read_dataset(path).sources) == 2
    elif place == "meta":
        # Python's own limit decides
        try:
            assert len(read_dataset(path).sources) == 2
        except DataError:
            refusal(lambda: read_dataset(path), path, 2, "too deeply nested")
    else:
        refusal(lambda: read_dataset(path), path, 2, "nested|expected")


@pytest.mark.parametrize("depth", range(900, 1000, 3))
def test_nesting_at_the_edge_of_what_can_be_shown(depth: int, tmp_path: Path) -> None:
    line = f'{{"source": {"[" * depth}1{"]" * depth}, "candidates": {{"A": "a"}}}}'
    damaged(tmp_path / "x.jsonl", f"{LINES[0]}\n{line}\n", 2, "nested|expected a string")


@pytest.mark.parametrize(
    ("found", "twice"),
    [
        ('"doc": "d"', '"doc": "d", "doc": "e"'),
        ('"source"', '"source": "x", "source"'),
        ('"text": "output"', '"text": "output", "text": "output"'),
        ('"j1": 3', '"j1": 3, "j1": 3'),
        ('"mqm"', '"mqm": 1, "mqm"'),
    ],
)
def test_keys_that_stand_twice(found: str, twice: str, tmp_path: Path) -> None:
    raw = "\n".join([LINES[0], LINES[1].replace(found, twice)])
    damaged(tmp_path / "x.jsonl", raw, 2, "is duplicated in an object; rename or remove one of them")


def test_systems_that_stand_twice(tmp_path: Path) -> None:
    right = [{"system": "A", "text": "a"}, {"system": "A", "text": "a"}]
    unnamed = [{"system": "candidate2", "text": "a"}, {"text": "b"}]
    path = tmp_path / "x.jsonl"
    for candidates in (right, unnamed, [{"system": 1, "text": "a"}, {"system": "1", "text": "a"}]):
        line = json.dumps({"source": "x", "candidates": candidates})
        damaged(path, f"{LINES[0]}\n{line}\n", 2, "is listed twice for one source; rename or remove one of them")
    left = '{"src": "x", "ref": "r", "mt": "m", "system": "A"}'
    damaged(
        path, f"{left}\n{LINES[0]}\n{left}\n", 3, r"system 'A' is listed twice for one source.*\(line 1 has it too\)"
    )
    damaged(path, '{"src": "x", "tgt": {"A": "a", "A": "b"}}', 1, "key 'A' is duplicated in an object")
    damaged(path, '{"src": "x", "tgt": {"": "a"}}', 1, "tgt: expected a name, found ''")
    for delimiter, name in ((",", "x.csv"), ("\t", "x.tsv")):
        rows = [HEADER, *ROWS, ROWS[3]]
        damaged(tmp_path / name, table(delimiter, rows), 8, "column 'fluency': system 'B' is judged twice")
        unjudged = [[*row[:5], "", "", row[7]] for row in rows]
        damaged(
            tmp_path / name, table(delimiter, [HEADER, *unjudged[1:]]), 8, "system 'B' is listed twice for one source"
        )
        other_text = [*ROWS[3][:5], "j2", "4", "other"]
        damaged(tmp_path / name, table(delimiter, [HEADER, *ROWS, other_text]), 8, "is listed twice for one source")
        without_judge = [[*row[:5], "", *row[6:]] for row in ROWS[:1]]
        damaged(
            tmp_path / name,
            table(delimiter, [HEADER, *without_judge, ROWS[0]]),
            3,
            "judged twice; expected one judgement",
        )


def test_sources_that_stand_twice(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    says = "seg_id '1' of language pair 'zh-en' is duplicated (first on line 1); each source needs a unique one"
    damaged(path, "\n".join([LINES[0], LINES[1], LINES[0]]), 3, re.escape(says))
    numbered = [{"seg_id": 2, "source": "x", "candidates": {"A": "a"}}, {"source": "y", "candidates": {"A": "a"}}]
    damaged(path, "\n".join(map(json.dumps, numbered)), 2, r"seg_id '2' is duplicated \(first on line 1\)")
    for column, value in ((2, "other source"), (3, "other reference"), (3, "")):
        row = [*ROWS[3]]
        row[column] = value
        says = "seg_id '2': source, references or doc differ from line 4, expected the same"
        damaged(tmp_path / "x.csv", table(",", [HEADER, *ROWS[:3], row, *ROWS[4:]]), 5, says)


@pytest.mark.parametrize(
    ("path", "column"),
    [(("source",), "text"), (("references", 0), "text"), (("candidates", "A"), "text"), (("seg_id",), "seg_id")],
)
def test_a_nul_is_refused_with_its_line(tmp_path: Path, path: tuple[str | int, ...], column: str) -> None:
    rows = [{"seg_id": str(n), "source": "x", "references": ["r"], "candidates": {"A": "t"}} for n in range(3)]
    place: Any = rows[1]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = "a\0b"
    file = tmp_path / "x.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=rf"{column} contains the character NUL") as refused:
        read_dataset(file)
    assert (refused.value.file, refused.value.line) == (str(file), 2)
