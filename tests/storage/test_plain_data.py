"""JSON and TOML that Python would take, or fail on in ways of its own, are refused in one line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest

from ranker.errors import DataError
from ranker.storage.plain_data import parse_json, parse_toml, record, with_nan


@dataclass(frozen=True)
class Example:
    count: int
    share: float
    kind: Literal["a", "b"]
    C: float | Literal["auto"]
    rows: tuple[tuple[float, ...], ...] = ()
    more: Mapping[str, int] = field(default_factory=dict)
    seed: int | None = None


SOUND = {"count": 1, "share": 0.5, "kind": "a", "C": "auto", "rows": [[1.0], []], "more": {"x": 1}, "seed": 2}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "x:1:1: not JSON: expecting value"),
        ('{"a": 1,\n}', "x:2:1: not JSON|x:1:8: not JSON"),
        ("[1] [2]", "x:1: not a single JSON value: more text follows"),
        ("[NaN]", "found NaN"),
        ("[-Infinity]", "found -Infinity"),
        ("[1e999]", "number 1e999 is out of range"),
        ('{"a": 1, "a": 2}', "key 'a' is duplicated"),
        ("[" * 100_000, "too deeply nested"),
        ("[" * 101 + "]" * 101, "x: not JSON as expected: too deeply nested"),
        ('{"a": ' * 101 + "1" + "}" * 101, "x: not JSON as expected: too deeply nested"),
        ("[" + "1" * 309 + "]", "a number has too many digits"),
        ("[" + "1" * 5000 + "]", "a number has too many digits"),
        ("[1, 2, 3]" + " " * 100, "has 109 characters, expected at most 50"),
    ],
)
def test_json_that_is_refused(text, says):
    with pytest.raises(DataError, match=says) as refused:
        parse_json(text, "x", most=50 if "at most" in says else 10**6)
    assert str(refused.value).isprintable()


def test_json_that_is_read():
    assert parse_json("[" * 100 + "]" * 100, "x")
    assert parse_json(' \n{"a": [1, -2.5e3, "\\u00e9", null, true]}\n ', "x") == {"a": [1, -2500.0, "é", None, True]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = \n", "x:1:5: not TOML"),
        ("a = " + "[" * 5000, "too deeply nested|not TOML"),
        ("a = " + "1" * 5000, "a number has too many digits"),
        ("a = 1\na = 2", "not TOML"),
    ],
)
def test_toml_that_is_refused(text, says):
    with pytest.raises(DataError, match=says) as refused:
        parse_toml(text, "x")
    assert str(refused.value).isprintable()


def test_toml_that_is_read():
    assert parse_toml('a = 1\n[b]\nc = ["x", 1.5]', "x") == {"a": 1, "b": {"c": ["x", 1.5]}}


def test_a_record_has_values_of_the_types_that_its_fields_declare():
    assert record(Example, SOUND) == Example(1, 0.5, "a", "auto", ((1.0,), ()), {"x": 1}, 2)
    assert record(Example, {**SOUND, "C": 1, "seed": None, "share": 3}) == Example(
        1, 3, "a", 1, ((1.0,), ()), {"x": 1}, None
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("count", value) for value in (True, 1.0, "1", None)),
        *(("share", value) for value in (None, False, "x", [])),
        *(("kind", value) for value in ("c", None, ["a"])),
        *(("C", value) for value in ("none", None, True)),
        *(("rows", value) for value in ("x", [1.0], [["x"]], {})),
        *(("more", value) for value in ([], {"x": "y"})),
        ("seed", 0.5),
        ("other", 1),
    ],
)
def test_a_record_of_other_values_is_refused(key, value):
    with pytest.raises((KeyError, TypeError, ValueError)):
        record(Example, {**SOUND, key: value})


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("count", "Expected 'int'"),
        ("kind", "Invalid enum value 'x'"),
        ("C", "Invalid enum value 'x'"),
        ("rows", "Expected 'array'"),
        ("more", "Expected 'object'"),
        ("seed", r"Expected 'int \| null'"),
    ],
)
def test_what_was_expected_is_said(key, expected):
    with pytest.raises(TypeError, match=rf"{expected}.* at '\$\.{key}'"):
        record(Example, {**SOUND, key: "x"})


def test_null_is_read_as_no_number():
    read = with_nan({"a": [None, 1], "b": "x"})
    assert math.isnan(read["a"][0])
    assert (read["a"][1], read["b"]) == (1, "x")
