"""Token batches reduced to words of one class, or to stems."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ranker.arrays import BoolArray, offsets_of
from ranker.corpora.dataset import Dataset, view
from ranker.text.function_words import function_words
from ranker.text.lexical.stems import stemmer_of
from ranker.text.lexical.words import stem_numbers
from ranker.text.tokens import TokenBatch, TokenisedTexts, Tokenizer, token_batch

WordClass = Literal["all", "content", "function", "numbers", "punctuation"]


def in_class(vocabulary: Sequence[str], words: WordClass, functions: str = "english") -> BoolArray:
    """Return a mask of the words of `vocabulary` that belong to the class `words`, shape (vocabulary,)."""
    if words == "all":
        return np.ones(len(vocabulary), dtype=bool)
    if words == "numbers":
        belongs = (any(map(str.isdigit, word)) for word in vocabulary)
    elif words == "punctuation":
        belongs = (not any(map(str.isalnum, word)) for word in vocabulary)
    else:
        listed, _ = function_words(functions)
        belongs = ((word.lower() in listed) == (words == "function") for word in vocabulary)
    return np.fromiter(belongs, dtype=bool, count=len(vocabulary))


@view
def class_batch(
    dataset: Dataset,
    words: WordClass,
    *,
    stemmer: str | None = None,
    functions: str = "english",
    tokenizer: Tokenizer = "13a",
    lowercase: bool = True,
) -> TokenBatch:
    """Return the token batch of `dataset` with only the words of a class, as stems if `stemmer` is given."""
    batch = token_batch(dataset, tokenizer, lowercase=lowercase)
    segments = batch.segments
    if words != "all":
        segments = _only(segments, in_class(segments.vocabulary, words, functions))
    if stemmer is not None:
        segments = _stemmed(segments, stemmer)
    return batch if segments is batch.segments else dataclasses.replace(batch, segments=segments)


def _only(segments: TokenisedTexts, mask: BoolArray) -> TokenisedTexts:
    tokens = mask[segments.values]
    offsets = offsets_of(tokens)[segments.offsets]
    return TokenisedTexts(segments.values[tokens], offsets.astype(np.int64), segments.vocabulary)


def _stemmed(segments: TokenisedTexts, stemmer: str) -> TokenisedTexts:
    stems = stem_numbers(segments.vocabulary, stemmer_of(stemmer))
    _, first = np.unique(stems, return_index=True)
    return TokenisedTexts(stems[segments.values], segments.offsets, [segments.vocabulary[word] for word in first])
