"""What TERp knows of words: stems, synsets and which of them shifts do not carry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array, UInt64Array, offsets_of
from ranker.extractors.text.porter import porter_stem
from ranker.extractors.text.wordnet import WordNet, part_of_speech

_ANY, _NOUN, _VERB, _ADJECTIVE = 0, 1, 2, 3
# endings of inflected forms and what base forms have instead, by part of speech as `part_of_speech` numbers them
_ENDINGS: dict[int, tuple[tuple[str, str], ...]] = {
    _NOUN: (
        *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")),
        ("ies", "y"),
    ),
    _VERB: (*(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),),
    _ADJECTIVE: (("er", ""), ("est", "")),
}


class WordFacts(NamedTuple):
    """What decides whether words of a vocabulary match.

    Parameters
    ----------
    stems : int32 array, shape (words,) or (0,)
        Number of the stem of every word; empty if stems do not match.
    synset_offsets, synsets : int64 array, shape (words + 1,), and int64 array
        Synsets of word ``i``, sorted, are ``synsets[synset_offsets[i]:synset_offsets[i + 1]]``.
    signatures : uint64 array, shape (words,)
        A bit for each synset modulo 64: words with no bit in common share no synset.
    stop : bool array, shape (words,)
        Words that are not shifted without another word.
    """

    stems: Int32Array
    synset_offsets: Int64Array
    synsets: Int64Array
    signatures: UInt64Array
    stop: BoolArray


def word_facts(
    vocabulary: Sequence[str], *, stems: bool, wordnet: WordNet | None, stop_words: Iterable[str]
) -> WordFacts:
    """Look up the words of `vocabulary` once each; None for no synonyms."""
    numbers: dict[str, int] = {}
    stemmed = [numbers.setdefault(porter_stem(word), len(numbers)) for word in vocabulary] if stems else []
    found = [sorted(synsets_of_any_form(wordnet, word.lower())) if wordnet else [] for word in vocabulary]
    counts = [len(synsets) for synsets in found]
    offsets = offsets_of(counts)
    synsets = np.fromiter((synset for one in found for synset in one), dtype=np.int64, count=int(offsets[-1]))
    signatures = np.zeros(len(vocabulary), dtype=np.uint64)
    bits = np.uint64(1) << (synsets % 64).astype(np.uint64)
    np.bitwise_or.at(signatures, np.repeat(np.arange(len(vocabulary)), counts), bits)
    stop = frozenset(stop_words)
    return WordFacts(
        np.array(stemmed, dtype=np.int32),
        offsets,
        synsets,
        signatures,
        np.fromiter((word.lower() in stop for word in vocabulary), dtype=np.bool_, count=len(vocabulary)),
    )


def synsets_of_any_form(wordnet: WordNet, word: str) -> set[int]:
    """Return the synsets of a word, and those that its possible base forms have as the part of speech it would be of.

    Exceptions and all endings are tried whether or not the word is a lemma itself, as the library does that TERp looks
    words up with. So "might", a form of the verb "may", is no synonym of the month.
    """
    bases = [
        (word[: -len(ending)] + replacement, part)
        for part, endings in _ENDINGS.items()
        for ending, replacement in endings
        if word.endswith(ending)
    ]
    irregular = wordnet.exceptions.get(word, ())
    bases += zip(irregular, wordnet.exception_parts.get(word, [_ANY] * len(irregular)), strict=True)
    found = set(wordnet.lemmas.get(word, ()))
    for base, part in bases:
        for synset in wordnet.lemmas.get(base, ()):
            if part == _ANY or part_of_speech(synset) in (part, _ANY):
                found.add(synset)
    return found


@njit(cache=True, nogil=True)
def share_synset(facts: WordFacts, first: int, second: int) -> bool:
    """Tell whether two words of the vocabulary have a synset in common."""
    if facts.signatures[first] & facts.signatures[second] == 0:
        return False
    here, here_stop = facts.synset_offsets[first], facts.synset_offsets[first + 1]
    there, there_stop = facts.synset_offsets[second], facts.synset_offsets[second + 1]
    while here < here_stop and there < there_stop:
        if facts.synsets[here] == facts.synsets[there]:
            return True
        if facts.synsets[here] < facts.synsets[there]:
            here += 1
        else:
            there += 1
    return False


@njit(cache=True, nogil=True)
def match_words(
    candidate: Int32Array,
    reference: Int32Array,
    facts: WordFacts,
    substitution: float,
    stem: float,
    synonym: float,
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Compare every word of a candidate with every word of a reference.

    Returns
    -------
    cost : float array, shape (candidate words, reference words)
        Least cost of aligning the two.
    equal, alike : bool array, of that shape
        Whether they are the same word, and whether they are the same, have a common stem or are synonyms.
    """
    shape = len(candidate), len(reference)
    cost = np.zeros(shape)
    equal, alike = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    for i in range(shape[0]):
        word = candidate[i]
        for j in range(shape[1]):
            other = reference[j]
            if word == other:
                equal[i, j] = alike[i, j] = True
                continue
            cost[i, j] = substitution
            if len(facts.stems) > 0 and facts.stems[word] == facts.stems[other]:
                alike[i, j] = True
                cost[i, j] = min(cost[i, j], stem)
            if share_synset(facts, word, other):
                alike[i, j] = True
                cost[i, j] = min(cost[i, j], synonym)
    return cost, equal, alike
