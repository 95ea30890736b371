"""Notations and signatures: each can be read back, and is refused with what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import notation
from ranker.errors import DataError, OptionError
from ranker.extractors.registry import make
from ranker.signature import escaped, make_signature
from tests.datasets import dataset_of
from tests.golden_messages import check_messages


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


@given(st.integers(-(10**9), 10**9), st.floats(allow_nan=False), st.booleans(), st.sampled_from("ab"))
def test_any_options_come_back(count, rate, flag, mode):
    thing = Thing(count, rate, flag, mode)
    spec = notation.parse(notation.describe(thing))
    assert notation.build(Thing, "thing", dict(spec.options)) == thing


def test_split_at_outer_commas_only():
    assert notation.split("a[x=1,y=b[z=2,w=3]], c") == ["a[x=1,y=b[z=2,w=3]]", "c"]
    assert notation.parse("a[x=1,y=b[z=2,w=3]]").options == (("x", "1"), ("y", "b[z=2,w=3]"))


def test_option_table():
    assert list(notation.option_table(Thing))[3] == ("mode", "a | b", "a")


def test_what_is_malformed_or_wrong_is_refused_with_what_was_expected():
    check_messages("notation", notation.parse)
    check_messages("sums", notation.parse_sum)
    check_messages("options", lambda text: notation.build(Thing, "thing", dict([text.split("=")])))
    for text, message in (("a]", "']' without '['"), ("a[b", "'[' without ']'")):
        with pytest.raises(OptionError) as caught:
            notation.split(text)
        assert message in str(caught.value)


def test_open_brackets_gives_the_name_and_what_is_inside():
    assert notation.open_brackets(" combine[a[x=1] - 2*b] ") == ("combine", "a[x=1] - 2*b")
    assert notation.open_brackets("a") == notation.open_brackets("a[]") == ("a", "")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a", [(1, "a", 1)]),
        ("-a", [(-1, "a", 2)]),
        ("a-b", [(1, "a", 1), (-1, "b", 3)]),
        (" a[x=1,y=b[z=2]] - 2*b ", [(1, "a[x=1,y=b[z=2]]", 2), (-2, "b", 22)]),
        ("+ .5 * a + 1e-3*b[x=-1+2] - 2.*c_d.e", [(0.5, "a", 8), (0.001, "b[x=-1+2]", 17), (-2, "c_d.e", 32)]),
    ],
)
def test_sums(text, terms):
    assert notation.parse_sum(text) == tuple(notation.Term(float(weight), *rest) for weight, *rest in terms)


names = st.text("ab1_.", max_size=4).map("a".__add__)
options = st.sampled_from(["", "[a=1]", "[a=-1+2,b=x*3]", "[a=b[c=1,d=e - 2*f],g=2]"])
weights = st.floats(1e-12, 1e25) | st.integers(1, 10**20).map(float) | st.just(1.0)


@given(st.lists(st.tuples(weights, st.booleans(), names, options), min_size=1, max_size=4))
def test_any_sum_comes_back(parts):
    terms = [notation.Term(-weight if minus else weight, name + rest) for weight, minus, name, rest in parts]
    written = notation.write_sum(terms)
    back = notation.parse_sum(written)
    assert [(term.weight, term.text) for term in back] == [(term.weight, term.text) for term in terms]
    assert notation.write_sum(back) == written
    assert all(written[term.place - 1 :].startswith(term.text) for term in back)


@given(st.text("ab2*+-. []=,", max_size=12))
def test_any_text_is_a_sum_or_refused_with_the_character(text):
    refusal = None
    try:
        terms = notation.parse_sum(text)
    except OptionError as error:
        refusal = str(error)
    assert terms if refusal is None else "at character " in refusal


def test_nesting_is_bounded():
    text = "bleu"
    for _ in range(4):
        text = f"combine[{text} + {text}]"
    make(text)
    for deep in ("combine[" * 40 + "bleu" + "]" * 40, "bleu[order=" + "[" * 5000):
        with pytest.raises(OptionError, match=r"nested more than 6 deep|without|not of the form"):
            make(deep)


def test_parts_are_joined_and_none_left_out() -> None:
    head = make_signature({"ranker": "1.0", "metric": "bleu[order=4]"})
    whole = make_signature(head, {"data": "x#1a", "kind": None, "C": 0.5, "pairs": True}, "fallback")
    assert whole == "ranker:1.0|metric:bleu[order=4]|data:x#1a|C:0.5|pairs:True|fallback"
    assert make_signature() == ""


@given(st.text(st.sampled_from("ab|%:\r\n70CAD25")))
def test_a_value_is_one_part_and_can_be_read_back(value: str) -> None:
    assert make_signature({"a": value, "b": 1}).split("|")[0] == f"a:{escaped(value)}"
    assert "\n" not in escaped(value)
    unescaped = escaped(value)
    for code in ("7C", "0A", "0D", "25"):
        unescaped = unescaped.replace(f"%{code}", f"\0{code}")
    assert unquote(unescaped.replace("%", "%25").replace("\0", "%")) == value


def test_a_name_of_scores_with_a_bar_is_escaped() -> None:
    extractor = make("given[name=a|b]")
    assert str(extractor) == "given[name=a|b]"
    assert extractor.signature() == "given[name=a%7Cb,direction=higher]"
    with pytest.raises(DataError, match=r"no column 'a\|b'"):
        extractor.transform(dataset_of([(["x"], "x")]))
