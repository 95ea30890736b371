from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.text.word_places import word_places


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n", []),
        ("The cat's 3.5 kg!", ["The", "cat", "'", "s", "3", ".", "5", "kg", "!"]),
        ("well-known", ["well", "-", "known"]),
        ("他来了。abc", ["他", "来", "了", "。", "abc"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("cafe\u0301 bon", ["cafe\u0301", "bon"]),
        ("ja 👩‍👩‍👧👍🏽!", ["ja", "👩‍👩‍👧", "👍🏽", "!"]),
        ("บันน้ำ", ["บั", "น", "น้ำ"]),
        ("បន្តិច 🇩🇪🇫🇷", ["ប", "ន្តិ", "ច", "🇩🇪", "🇫🇷"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("\u0301a", ["\u0301", "a"]),
        # Malayalam and Sinhala words may end with a joiner; Persian ones have non-joiners inside
        ("അവന്\u200d. ഞാന്\u200d വന്നു", ["അവന്\u200d", ".", "ഞാന്\u200d", "വന്നു"]),
        ("ක්\u200dරම", ["ක්\u200dරම"]),
        ("می\u200cخواهم برم", ["می\u200cخواهم", "برم"]),
        ("Donau\u00addampf", ["Donau\u00addampf"]),
    ],
)
def test_words_are_found_where_they_are(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in word_places(text)] == words


@given(st.text())
def test_places_follow_each_other_and_leave_out_white_space_only(text: str) -> None:
    places = word_places(text)
    assert all(start < end for start, end in places)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(places))
    inside = {at for start, end in places for at in range(start, end)}
    assert inside == {at for at, character in enumerate(text) if not character.isspace()}
    # no mark begins a word after a letter
    assert not any(
        unicodedata.category(text[start])[0] == "M" and start > 0 and text[start - 1].isalpha() for start, _ in places
    )
