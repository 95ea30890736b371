from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import notation
from ranker.errors import OptionError


@dataclass(frozen=True)
class Thing:
    """Options of every type."""

    name: ClassVar[str] = "thing"
    count: int = 1
    rate: float = 0.5
    flag: bool = False
    mode: Literal["a", "b"] = "a"
    limit: float | None = None
    path: str = ""


@pytest.mark.parametrize(
    "text",
    [
        "thing",
        "thing[count=2]",
        "thing[rate=0.25,flag=true,mode=b]",
        "thing[limit=3.0]",
        "thing[path=x/y.txt]",
    ],
)
def test_parse_build_describe_is_identity(text):
    spec = notation.parse(text)
    assert notation.describe(notation.build(Thing, spec.name, dict(spec.options))) == text


@given(st.integers(), st.floats(allow_nan=False), st.booleans(), st.sampled_from("ab"))
def test_any_options_come_back(count, rate, flag, mode):
    thing = Thing(count, rate, flag, mode)
    spec = notation.parse(notation.describe(thing))
    assert notation.build(Thing, "thing", dict(spec.options)) == thing


def test_split_at_outer_commas_only():
    assert notation.split("a[x=1,y=b[z=2,w=3]], c") == ["a[x=1,y=b[z=2,w=3]]", "c"]
    assert notation.parse("a[x=1,y=b[z=2,w=3]]").options == (("x", "1"), ("y", "b[z=2,w=3]"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not of the form name[option=value,...]"),
        ("a[x=1", "'a[x=1' is not of the form"),
        ("a[x]", "'a[x]': 'x' is not of the form option=value"),
        ("a[x=1,x=2]", "'a[x=1,x=2]': option 'x' is given twice"),
        ("a[x=]", "'x=' is not of the form option=value"),
        ("1a", "'1a' is not of the form"),
    ],
)
def test_malformed_notation(text, message):
    with pytest.raises(OptionError) as caught:
        notation.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [("a]", "']' without '['"), ("a[b", "'[' without ']'")])
def test_unbalanced_brackets(text, message):
    with pytest.raises(OptionError) as caught:
        notation.split(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("count", "1.5", "expected a whole number"),
        ("rate", "fast", "expected a number"),
        ("flag", "yes", "expected true or false"),
        ("mode", "c", "expected a | b"),
        ("limit", "x", "expected a number | none"),
        ("colour", "red", "has no option 'colour'; its options are: count, rate, flag, mode, limit, path"),
        ("cuont", "1", "did you mean 'count'?"),
    ],
)
def test_wrong_values(option, value, expected):
    with pytest.raises(OptionError) as caught:
        notation.build(Thing, "thing", {option: value})
    assert expected in str(caught.value)


def test_option_table():
    assert list(notation.option_table(Thing))[3] == ("mode", "a | b", "a")
