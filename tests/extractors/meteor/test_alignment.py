from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.meteor.alignment import SearchOptions, align
from ranker.extractors.meteor.matching import EXACT, PARAPHRASE, STEM, SYNONYM, MatchTables, list_matches
from ranker.extractors.meteor.phrases import Paraphrases, no_paraphrases
from ranker.text.lexical.stems import stemmer_of
from ranker.text.lexical.wordnet import WordNet
from ranker.text.lexical.words import word_tables
from tests.effort import examples

WEIGHTS = (1.0, 0.6, 0.8, 0.6)


def overlap(first, second) -> bool:
    """Tell whether two matches (j, i, words of the candidate, words of the reference, module) share a word."""
    (j, i, m, n, _), (other_j, other_i, other_m, other_n, _) = first, second
    return (j < other_j + other_n and other_j < j + n) or (i < other_i + other_m and other_i < i + m)


def run(size, length, matches, beam, as_meteor):
    offsets = np.searchsorted([match[0] for match in matches], np.arange(length + 1)).astype(np.int64)
    rows = np.array([match[1:] for match in matches], dtype=np.int32).reshape(-1, 4)
    chunks, places, chosen = align(size, length, offsets, rows, SearchOptions(np.array(WEIGHTS), beam, as_meteor))
    return chunks, [(j, *rows[row].tolist()) for j, row in zip(places.tolist(), chosen.tolist(), strict=True)]


@st.composite
def problems(draw):
    size, length = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    single = st.tuples(
        st.integers(0, length - 1),
        st.integers(0, size - 1),
        st.integers(1, 2),
        st.integers(1, 2),
        st.integers(0, 3),
    )
    fits = single.filter(lambda match: match[0] + match[3] <= length and match[1] + match[2] <= size)
    words = fits.map(lambda match: (*match[:2], *((1, 1) if match[4] < PARAPHRASE else match[2:4]), match[4]))
    return (
        size,
        length,
        sorted(set(draw(st.lists(words, max_size=14))), key=lambda match: (match[0], match[4], match[1])),
    )


@settings(deadline=None, max_examples=examples(100))
@given(problems())
def test_a_wide_beam_finds_the_best_alignment(problem):
    size, length, matches = problem
    matches = matches[:9]

    def cost(chosen):
        chunks = sum(
            k == 0 or chosen[k - 1][0] + chosen[k - 1][3] != match[0] or chosen[k - 1][1] + chosen[k - 1][2] != match[1]
            for k, match in enumerate(chosen)
        )
        weight = sum(round(1000 * WEIGHTS[match[4]] * (match[2] + match[3])) for match in chosen)
        return (-weight, chunks, sum(abs(match[0] - match[1]) for match in chosen))

    possible = []
    for mask in product((False, True), repeat=len(matches)):
        chosen = [match for match, taken in zip(matches, mask, strict=True) if taken]
        if not any(overlap(a, b) for k, a in enumerate(chosen) for b in chosen[:k]):
            possible.append(chosen)
    chunks, result = run(size, length, matches, 10_000, False)
    assert cost(result) == min(map(cost, possible))
    assert cost(result)[1] == chunks


# "go" is duplicated in the reference beside equal words in between; taking "going" costs a chunk
RIVALS = [(0, 0, 1, 1, EXACT), (2, 3, 1, 1, STEM), (4, 2, 1, 1, EXACT), (6, 3, 1, 1, STEM)]


def test_meteor_takes_no_disputed_stem_that_costs_a_chunk():
    assert run(4, 7, RIVALS, 40, False) == (3, [RIVALS[0], RIVALS[1], RIVALS[2]])
    assert run(4, 7, RIVALS, 40, True) == (2, [RIVALS[0], RIVALS[2]])


def test_meteor_prefers_what_comes_first_where_distances_would_decide():
    # one comma of the candidate, two of the reference
    matches = [(1, 5, 1, 1, EXACT), (5, 5, 1, 1, EXACT)]
    assert run(6, 7, matches, 40, False) == (1, [matches[1]])
    assert run(6, 7, matches, 40, True) == (1, [matches[0]])


VOCABULARY = ["walk", "walks", "car", "automobile", "drive", "drove"]
WORDNET = WordNet(
    {"car": (1, 65), "automobile": (1,), "drive": (129, 7), "walk": (129,)}, {"drove": (("drive", 2),)}, ""
)


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
