from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.lexical.stems import stemmer_of
from ranker.extractors.lexical.wordnet import WordNet
from ranker.extractors.lexical.words import word_tables
from ranker.extractors.meteor.matching import EXACT, PARAPHRASE, STEM, SYNONYM, MatchTables, list_matches
from ranker.extractors.meteor.phrases import Paraphrases, no_paraphrases
from tests.effort import examples

VOCABULARY = ["walk", "walks", "car", "automobile", "drive", "drove"]
WORDNET = WordNet({"car": (1, 65), "automobile": (1,), "drive": (129, 7), "walk": (129,)}, {"drove": ("drive",)}, "")


@settings(deadline=None, max_examples=examples(100))
@given(
    st.lists(st.integers(0, 5), max_size=7),
    st.lists(st.integers(0, 5), max_size=7),
    st.sampled_from([None, "english"]),
    st.sampled_from([None, WORDNET]),
)
def test_matches_of_words(candidate, reference, stemmer, wordnet):
    stem, synsets = stemmer_of(stemmer) if stemmer else None, wordnet.synsets if wordnet else None
    tables = MatchTables(word_tables(VOCABULARY, stem, synsets), no_paraphrases(2))
    ids = [np.array(left, dtype=np.int32) for left in (candidate, reference)]
    offsets, matches = list_matches(*ids, (0, 1), tables)
    stems = [{0, 1}] if stemmer else []
    # walk and drive share a synset, drove is a form of drive; 1, 65 and 129 are the same bit of a signature
    synonyms = [{2, 3}, {0, 4}, {0, 5}, {1, 4}, {1, 5}, {0, 1}, {4, 5}] if wordnet else []
    expected = []
    for word in reference:
        rows = [(i, 1, 1, EXACT) for i, right in enumerate(candidate) if right == word]
        rows += [(i, 1, 1, STEM) for i, right in enumerate(candidate) if {word, right} in stems]
        rows += [(i, 1, 1, SYNONYM) for i, right in enumerate(candidate) if {word, right} in synonyms]
        expected.append(rows)
    result = [[tuple(row) for row in matches[offsets[j] : offsets[j + 1]].tolist()] for j in range(len(reference))]
    assert result == expected


def test_matches_of_phrases_and_room_for_many():
    # phrase 0, two words, at every place of both sentences is a paraphrase of phrase 1, one word
    size = 60
    occurrences = [(start, length, length == 1) for start in range(size) for length in (1, 2) if start + length <= size]
    phrases = Paraphrases(
        np.array([0, len(occurrences), 2 * len(occurrences)], dtype=np.int64),
        np.array(occurrences * 2, dtype=np.int32),
        np.array([0, 1, 2], dtype=np.int64),
        np.array([1, 0], dtype=np.int32),
    )
    tables = MatchTables(word_tables([str(word) for word in range(2 * size)], None, None), phrases)
    sentences = np.arange(2 * size, dtype=np.int32).reshape(2, size)
    offsets, matches = list_matches(sentences[0], sentences[1], (0, 1), tables)
    assert len(matches) == 2 * size * (size - 1)
    assert {tuple(row) for row in matches[offsets[3] : offsets[4]].tolist()} == {
        *((i, 2, 1, PARAPHRASE) for i in range(size - 1)),
        *((i, 1, 2, PARAPHRASE) for i in range(size)),
    }


@pytest.mark.parametrize("language", ["english", "german"])
def test_stemmers_are_those_of_the_language(language):
    tables = word_tables(["häuser", "haus", "houses", "house"], stemmer_of(language), None)
    same = [tables.stems[0] == tables.stems[1], tables.stems[2] == tables.stems[3]]
    assert same == [language == "german", True]
