"""JSON and TOML that Python would take, or fail on in ways of its own, are refused in one line."""

from __future__ import annotations

import pytest

from ranker.errors import DataError
from ranker.storage.plain_data import parse_json, parse_toml


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "x:1:1: not JSON: expecting value"),
        ('{"a": 1,\n}', "x:2:1: not JSON|x:1:8: not JSON"),
        ("[1] [2]", "x:1: not JSON: more follows after the end"),
        ("[NaN]", "found NaN"),
        ("[-Infinity]", "found -Infinity"),
        ("[1e999]", "number 1e999 is too large"),
        ('{"a": 1, "a": 2}', "key 'a' stands twice"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "1" * 5000 + "]", "a number has too many digits"),
        ("[1, 2, 3]" + " " * 100, "has 109 characters, expected 50 at most"),
    ],
)
def test_json_that_is_refused(text, says):
    with pytest.raises(DataError, match=says) as refused:
        parse_json(text, "x", most=50 if "at most" in says else 10**6)
    assert str(refused.value).isprintable()


def test_json_that_is_read():
    assert parse_json(' \n{"a": [1, -2.5e3, "\\u00e9", null, true]}\n ', "x") == {"a": [1, -2500.0, "é", None, True]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = \n", "x:1:5: not TOML"),
        ("a = nan", "expected a finite number, found nan"),
        ("a = 1e999", "expected a finite number, found 1e999"),
        ("a = " + "[" * 5000, "nested too deeply|not TOML"),
        ("a = " + "1" * 5000, "a number has too many digits"),
        ("a = 1\na = 2", "not TOML"),
        ("# " + "x" * (1 << 20), "characters, expected 1,048,576 at most"),
    ],
)
def test_toml_that_is_refused(text, says):
    with pytest.raises(DataError, match=says) as refused:
        parse_toml(text, "x")
    assert str(refused.value).isprintable()


def test_toml_that_is_read():
    assert parse_toml('a = 1\n[b]\nc = ["x", 1.5]', "x") == {"a": 1, "b": {"c": ["x", 1.5]}}
