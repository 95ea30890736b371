"""Signatures are one line whose parts can be told apart, whatever the values."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.errors import DataError
from ranker.extractors.registry import make
from ranker.signature import escaped, make_signature
from tests.datasets import dataset_of


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
