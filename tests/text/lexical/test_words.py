from __future__ import annotations

import numpy as np
import pytest

from ranker.errors import DataError
from ranker.text.function_words import ENGLISH, function_words
from ranker.text.lexical.phrases import find_occurrences
from ranker.text.meteor_tokenizer import tokenize_meteor
from ranker.text.tokens import tokenise


def test_occurrences_of_phrases_are_numbered_as_they_come():
    segments = tokenise(["he passed away", "in the end he died", ""], "none")
    ids = {word: number for number, word in enumerate(segments.vocabulary)}
    phrases = [tuple(ids[word] for word in phrase.split()) for phrase in ("died", "he passed", "he", "end passed")]
    offsets, occurrences, numbers = find_occurrences(phrases, segments, np.array([1, 2, 0, 1]))
    assert numbers == {phrases[2]: 0, phrases[0]: 1, phrases[1]: 2}
    assert offsets.tolist() == [0, 2, 2, 4, 6]
    assert occurrences.tolist() == [[3, 1, 0], [4, 1, 1], [0, 1, 0], [0, 2, 2], [3, 1, 0], [4, 1, 1]]


def test_english_holds_what_meteor_tokens_look_like():
    sentence = "He didn't say that it's theirs, but (as I've heard) they'll go - without us!"
    content = [token for token in tokenize_meteor([sentence])[0] if token not in ENGLISH]
    assert content == ["say", "heard", "go"]
    assert all(word == word.lower() for word in ENGLISH)


def test_lists_by_name_or_file(tmp_path):
    assert function_words("english") == (ENGLISH, "english")
    assert function_words("none") == (frozenset(), "none")
    for name, text in (("one", "The\nof\n"), ("two", "of the"), ("other", "of the a")):
        (tmp_path / name).write_text(text)
    left, right, second = (function_words(str(tmp_path / name)) for name in ("one", "two", "other"))
    assert left == right
    assert left[0] == {"the", "of"}
    assert left[1] != second[1]
    with pytest.raises(DataError, match="no such file"):
        function_words(str(tmp_path / "nowhere"))
