"""What METEOR's matchers know of the words of a batch, as arrays, and the list of all matches of two sentences.

A match covers one word or, for paraphrases, several on either side. Modules are numbered exact 0, stem 1, synonym 2,
paraphrase 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from ranker.arrays import Int32Array, Int64Array, UInt64Array, offsets_of
from ranker.extractors.meteor.phrases import Phrases
from ranker.extractors.text.stems import stem_numbers
from ranker.extractors.text.wordnet import WordNet

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
MODULES = ("exact", "stem", "synonym", "paraphrase")


class WordTables(NamedTuple):
    """What matchers know of words and phrases.

    Parameters
    ----------
    stems : int32 array, shape (words,) or (0,)
        Number of the stem of every word; empty for no stem matches.
    synset_offsets, synsets : int64 array, shape (words + 1,), and int32 array
        Synsets of word ``i``, sorted, are ``synsets[synset_offsets[i]:synset_offsets[i + 1]]``.
    signatures : uint64 array, shape (words,)
        A bit for each synset modulo 64: words with no bit in common share no synset.
    phrase_offsets, occurrences, related_offsets, related
        The arrays of `Phrases`.
    """

    stems: Int32Array
    synset_offsets: Int64Array
    synsets: Int32Array
    signatures: UInt64Array
    phrase_offsets: Int64Array
    occurrences: Int32Array
    related_offsets: Int64Array
    related: Int32Array


def word_tables(
    vocabulary: Sequence[str], stemmer: str | None, wordnet: WordNet | None, phrases: Phrases
) -> WordTables:
    """Look up the words of `vocabulary` once each; None for no stemmer or no WordNet."""
    stems = np.zeros(0, dtype=np.int32) if stemmer is None else stem_numbers(vocabulary, stemmer)
    found = [sorted(wordnet.synsets(word)) if wordnet else [] for word in vocabulary]
    offsets = offsets_of([len(synsets) for synsets in found])
    synsets = np.fromiter((synset for one in found for synset in one), dtype=np.int32, count=int(offsets[-1]))
    signatures = np.zeros(len(vocabulary), dtype=np.uint64)
    words = np.repeat(np.arange(len(vocabulary)), np.diff(offsets))
    np.bitwise_or.at(signatures, words, np.uint64(1) << (synsets.astype(np.uint64) % np.uint64(64)))
    return WordTables(
        stems,
        offsets,
        synsets,
        signatures,
        phrases.offsets,
        phrases.occurrences,
        phrases.related_offsets,
        phrases.related,
    )


@njit(cache=True, nogil=True)
def _share_synset(tables: WordTables, first: np.int32, second: np.int32) -> bool:
    if tables.signatures[first] & tables.signatures[second] == 0:
        return False
    here, here_stop = tables.synset_offsets[first], tables.synset_offsets[first + 1]
    there, there_stop = tables.synset_offsets[second], tables.synset_offsets[second + 1]
    while here < here_stop and there < there_stop:
        if tables.synsets[here] == tables.synsets[there]:
            return True
        if tables.synsets[here] < tables.synsets[there]:
            here += 1
        else:
            there += 1
    return False


@njit(cache=True, nogil=True)
def _related(tables: WordTables, first: np.int32, second: np.int32) -> bool:
    start, stop = tables.related_offsets[first], tables.related_offsets[first + 1]
    place = start + np.searchsorted(tables.related[start:stop], second)
    return bool(place < stop and tables.related[place] == second)


@njit(cache=True, nogil=True)
def list_matches(
    candidate: Int32Array, reference: Int32Array, sentences: tuple[int, int], tables: WordTables
) -> tuple[Int64Array, Int32Array]:
    """List all matches between a candidate and a reference.

    Parameters
    ----------
    candidate, reference : int32 array
        Word ids.
    sentences : pair of int
        Their rows among the sentences whose phrases `tables` knows.
    tables : WordTables

    Returns
    -------
    offsets : int64 array, shape (reference words + 1,)
        Matches that begin at reference word ``j`` are rows ``offsets[j]:offsets[j + 1]``.
    matches : int32 array, shape (matches, 4)
        First candidate word, words of the candidate, words of the reference, module; sorted by module, then by the
        first word of the candidate.
    """
    size, length = len(candidate), len(reference)
    matches = np.empty((2 * (size + length) + 16, 4), dtype=np.int32)
    offsets = np.zeros(length + 1, dtype=np.int64)
    synonyms = np.empty(size, dtype=np.int32)
    stemmed = np.empty(size, dtype=np.int32)
    occurrence, occurrence_stop = tables.phrase_offsets[sentences[1]], tables.phrase_offsets[sentences[1] + 1]
    count = 0
    for j in range(length):
        word = reference[j]
        stem_count = synonym_count = 0
        needed = count + 2 * size
        first_occurrence = occurrence
        while occurrence < occurrence_stop and tables.occurrences[occurrence, 0] == j:
            occurrence += 1
        phrase_start, phrase_stop = tables.phrase_offsets[sentences[0]], tables.phrase_offsets[sentences[0] + 1]
        needed += (occurrence - first_occurrence) * (phrase_stop - phrase_start)
        if needed > len(matches):
            grown = np.empty((2 * needed, 4), dtype=np.int32)
            grown[:count] = matches[:count]
            matches = grown
        for i in range(size):
            other = candidate[i]
            if other == word:
                matches[count, 0], matches[count, 1], matches[count, 2], matches[count, 3] = i, 1, 1, EXACT
                count += 1
                continue
            if len(tables.stems) > 0 and tables.stems[other] == tables.stems[word]:
                stemmed[stem_count] = i
                stem_count += 1
            if _share_synset(tables, other, word):
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
                if _related(tables, tables.occurrences[here, 2], tables.occurrences[there, 2]):
                    matches[count, 0] = tables.occurrences[there, 0]
                    matches[count, 1] = tables.occurrences[there, 1]
                    matches[count, 2] = tables.occurrences[here, 1]
                    matches[count, 3] = PARAPHRASE
                    count += 1
        offsets[j + 1] = count
    return offsets, matches[:count]
