from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.lexical.phrases import find_occurrences
from ranker.extractors.lexical.words import share_stem, share_synset, word_tables
from ranker.extractors.text.tokens import tokenise
from tests.effort import examples


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.sets(st.integers(0, 300), max_size=5), min_size=2, max_size=6))
def test_words_share_what_their_sets_share(synsets):
    vocabulary = [str(word) for word in range(len(synsets))]
    tables = word_tables(vocabulary, lambda word: str(int(word) // 2), lambda word: synsets[int(word)])
    plain = word_tables(vocabulary, None, None)
    for first in range(len(synsets)):
        for second in range(len(synsets)):
            assert share_synset(tables, first, second) == bool(synsets[first] & synsets[second])
            assert share_stem(tables, first, second) == (first // 2 == second // 2)
            assert not share_stem(plain, first, second)
            assert not share_synset(plain, first, second)


def test_occurrences_of_phrases_are_numbered_as_they_come():
    segments = tokenise(["he passed away", "in the end he died", ""], "none")
    ids = {word: number for number, word in enumerate(segments.vocabulary)}
    phrases = [tuple(ids[word] for word in phrase.split()) for phrase in ("died", "he passed", "he", "end passed")]
    offsets, occurrences, numbers = find_occurrences(phrases, segments, np.array([1, 2, 0, 1]))
    assert numbers == {phrases[2]: 0, phrases[0]: 1, phrases[1]: 2}
    assert offsets.tolist() == [0, 2, 2, 4, 6]
    assert occurrences.tolist() == [[3, 1, 0], [4, 1, 1], [0, 1, 0], [0, 2, 2], [3, 1, 0], [4, 1, 1]]
