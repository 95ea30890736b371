from __future__ import annotations

import pytest

from ranker.learning.encoder.embedding import load

TEXTS = ["", "  The cat's  \n 3.5 kg! ", "他来了，abc。", "नमस्ते 👩‍👩‍👧 दुनिया", "cafe\u0301 ﬁne \ud800", "שָׁלוֹם עולם"]


@pytest.mark.parametrize("name", ["encoder-en", "encoder-any"])
def test_places_of_sub_words_are_those_that_words_are_made_of(name: str) -> None:
    encoder = load(name)
    pieces = encoder.split(TEXTS)
    for number, text in enumerate(TEXTS):
        words = pieces.word[pieces.offsets[number] : pieces.offsets[number + 1]]
        words = words[words >= 0].tolist()
        places = encoder.places(text)
        assert len(places) == len(words)
        for word, (start, end) in zip(words, places, strict=True):
            assert 0 <= start <= end <= len(text)
            piece = text[start:end].strip().encode("utf-8", "replace").decode()
            assert piece in encoder.words(text)[word]
