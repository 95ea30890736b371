"""Word and phrase tables for METEOR's matchers, and the list of all matches between two sentences.

A match covers one word or, for paraphrases, several on either side. Modules are numbered exact 0, stem 1, synonym 2,
paraphrase 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import Int32Array, Int64Array
from ranker.extractors.meteor.phrases import Paraphrases
from ranker.storage.kernels import kernel
from ranker.text.lexical.words import WordTables, share_stem, share_synset

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
MODULES = ("exact", "stem", "synonym", "paraphrase")


class MatchTables(NamedTuple):
    """Tables of the words and paraphrases in a batch of sentences."""

    words: WordTables
    paraphrases: Paraphrases


@kernel
def _are_paraphrases(paraphrases: Paraphrases, first: np.int32, second: np.int32) -> bool:
    start, stop = paraphrases.offsets[first], paraphrases.offsets[first + 1]
    place = start + np.searchsorted(paraphrases.values[start:stop], second)
    return bool(place < stop and paraphrases.values[place] == second)


def words_alone_match(sentence: int, tables: MatchTables) -> bool:
    """True if the reference with index `sentence` can be matched only by single words with equal forms or stems."""
    phrases = tables.paraphrases.sentence_offsets
    return not len(tables.words.synsets) and bool(phrases[sentence] == phrases[sentence + 1])


def matches_by_word(
    candidate: list[int], reference: list[int], candidate_stems: list[int], reference_stems: list[int]
) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """Return the result of `list_matches` for words that match by form or stem, computed with dictionaries.

    Without a stemmer, each word is its own stem.
    """
    places: dict[int, list[int]] = {}
    for place, stem in enumerate(candidate_stems):
        places.setdefault(stem, []).append(place)
    matches: list[tuple[int, int, int, int]] = []
    offsets = [0]
    for word, stem in zip(reference, reference_stems, strict=True):
        alike = places.get(stem, ())
        matches += [(place, 1, 1, EXACT) for place in alike if candidate[place] == word]
        matches += [(place, 1, 1, STEM) for place in alike if candidate[place] != word]
        offsets.append(len(matches))
    return offsets, matches


@kernel(elements=80_000)
def list_matches(
    candidate: Int32Array, reference: Int32Array, sentences: tuple[int, int], tables: MatchTables
) -> tuple[Int64Array, Int32Array]:
    """Return the matches between a candidate and a reference in CSR form, grouped by first reference word."""
    size, length = len(candidate), len(reference)
    matches = np.empty((2 * (size + length) + 16, 4), dtype=np.int32)
    offsets = np.zeros(length + 1, dtype=np.int64)
    synonyms = np.empty(size, dtype=np.int32)
    stemmed = np.empty(size, dtype=np.int32)
    words = tables.words
    phrase_offsets, phrases = tables.paraphrases.sentence_offsets, tables.paraphrases.occurrences
    occurrence, occurrence_stop = phrase_offsets[sentences[1]], phrase_offsets[sentences[1] + 1]
    phrase_start, phrase_stop = phrase_offsets[sentences[0]], phrase_offsets[sentences[0] + 1]
    count = 0
    for j in range(length):
        word = reference[j]
        stem_count = synonym_count = 0
        needed = count + 2 * size
        first_occurrence = occurrence
        while occurrence < occurrence_stop and phrases[occurrence, 0] == j:
            occurrence += 1
        needed += (occurrence - first_occurrence) * (phrase_stop - phrase_start)
        if needed > len(matches):
            grown = np.empty((2 * needed, 4), dtype=np.int32)
            grown[:count] = matches[:count]
            matches = grown
        for i in range(size):
            candidate_word = candidate[i]
            if candidate_word == word:
                matches[count, 0], matches[count, 1], matches[count, 2], matches[count, 3] = i, 1, 1, EXACT
                count += 1
                continue
            if share_stem(words, candidate_word, word):
                stemmed[stem_count] = i
                stem_count += 1
            if share_synset(words, candidate_word, word):
                synonyms[synonym_count] = i
                synonym_count += 1
        for k in range(stem_count):
            matches[count, 0], matches[count, 1], matches[count, 2], matches[count, 3] = stemmed[k], 1, 1, STEM
            count += 1
        for k in range(synonym_count):
            matches[count, 0], matches[count, 1], matches[count, 2], matches[count, 3] = synonyms[k], 1, 1, SYNONYM
            count += 1
        for here in range(first_occurrence, occurrence):
            for there in range(phrase_start, phrase_stop):
                if _are_paraphrases(tables.paraphrases, phrases[here, 2], phrases[there, 2]):
                    matches[count, 0] = phrases[there, 0]
                    matches[count, 1] = phrases[there, 1]
                    matches[count, 2] = phrases[here, 1]
                    matches[count, 3] = PARAPHRASE
                    count += 1
        offsets[j + 1] = count
    return offsets, matches[:count]
