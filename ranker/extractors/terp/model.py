"""TERp's word tables, phrase tables and edit costs as arrays, and the costs of aligning words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array
from ranker.storage.kernels import kernel
from ranker.text.lexical.words import WordTables, share_stem, share_synset


class SearchCosts(NamedTuple):
    """Costs and limits of the search of TERp; if `relaxed`, shifts may match similar words and phrases too."""

    deletion: float
    insertion: float
    substitution: float
    stem: float
    synonym: float
    shift: float
    beam: float
    max_distance: int
    max_size: int
    relaxed: bool


class PhraseTable(NamedTuple):
    """Phrases that occur in some sentences, with their paraphrases and costs."""

    sentence_offsets: Int64Array
    occurrences: Int32Array
    entry_offsets: Int64Array
    word_offsets: Int64Array
    words: Int32Array
    cost: FloatArray


class EditModel(NamedTuple):
    """Word tables, stop words, phrase table and costs, which together determine the cost of edits."""

    words: WordTables
    is_stop: BoolArray
    phrases: PhraseTable
    costs: SearchCosts


def no_phrases() -> PhraseTable:
    """Return an empty phrase table for one sentence."""
    zero, nothing = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    return PhraseTable(np.zeros(2, dtype=np.int64), nothing.reshape(0, 3), zero, zero, nothing, np.zeros(0))


@kernel
def match_words(
    candidate: Int32Array,
    reference: Int32Array,
    words: WordTables,
    costs: SearchCosts,
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return costs of aligning each candidate word with each reference word, and masks of equal and similar pairs."""
    shape = len(candidate), len(reference)
    cost = np.zeros(shape)
    equal, alike = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    for i in range(shape[0]):
        word = candidate[i]
        for j in range(shape[1]):
            reference_word = reference[j]
            if word == reference_word:
                equal[i, j] = alike[i, j] = True
                continue
            cost[i, j] = costs.substitution
            if share_stem(words, word, reference_word):
                alike[i, j] = True
                cost[i, j] = min(cost[i, j], costs.stem)
            if share_synset(words, word, reference_word):
                alike[i, j] = True
                cost[i, j] = min(cost[i, j], costs.synonym)
    return cost, equal, alike
