from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.corpora.graphemes import cluster_starts


def clusters(text: str) -> list[str]:
    return [text[start:end] for start, end in itertools.pairwise([*cluster_starts(text), len(text)])]


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("", []),
        ("abc 1", ["a", "b", "c", " ", "1"]),
        ("cafe\u0301", ["c", "a", "f", "e\u0301"]),
        ("เร็วเข้า น้ำ", ["เ", "ร็", "ว", "เ", "ข้", "า", " ", "น้ำ"]),
        ("ကောင်းကောင်း။", ["ကော", "င်း", "ကော", "င်း", "။"]),
        ("သတ္တဝါ", ["သ", "တ္တ", "ဝါ"]),
        ("បន្តិច", ["ប", "ន្តិ", "ច"]),
        ("བཀྲ་ཤིས", ["བ", "ཀྲ", "་", "ཤི", "ས"]),
        ("नमस्ते", ["न", "म", "स्ते"]),
        ("क्\u200dष", ["क्\u200dष"]),
        ("か\u3099", ["か\u3099"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),
        ("\u1112\u1161\u11ab글", ["\u1112\u1161\u11ab", "글"]),
        ("👩\u200d👩\u200d👧👍🏽❤\ufe0f", ["👩\u200d👩\u200d👧", "👍🏽", "❤\ufe0f"]),
        ("🇩🇪🇫🇷🇬", ["🇩🇪", "🇫🇷", "🇬"]),
        ("a\n\u0301b", ["a", "\n", "\u0301", "b"]),
    ],
)
def test_a_character_has_its_marks(text: str, characters: list[str]) -> None:
    assert clusters(text) == characters


_PARTS = (
    "a",
    "\u0301",
    "क्षि",
    "ก",
    "เ",
    "็",
    "ำ",
    "က",
    "ေ",
    "မ္မ",
    "ន្តិ",
    "\u1100",
    "\u1161",
    "\u11ab",
    "가",
    "각",
    "葛",
    "か",
    "\u3099",
)


@given(st.lists(st.sampled_from([*_PARTS, "👩", "🏽", "\ufe0f", "\u200d", "🇩", " ", "\n", "."])).map("".join))
def test_clusters_are_those_of_unicode(text: str) -> None:
    regex = pytest.importorskip("regex")
    assert clusters(text) == regex.findall(r"\X", text)
