"""Language models stored as the counts from which they are estimated: small arrays, readable by any NumPy.

A model of a few hundred thousand words takes 2 MB as counts, and estimating it from them takes as long as opening its
ARPA file. Context and suffix of an n-gram follow from the order of the n-grams, so they are not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, Int32Array, Int64Array
from ranker.errors import ModelError
from ranker.learning.lm.counts import MAX_ORDER, SENTENCE_END, NgramCounts, NgramTrie, as_sentences
from ranker.learning.lm.kneser_ney import NgramModel, SentenceScores, estimate, estimate_discounts, log10_scores
from ranker.storage.array_rules import ArrayRule, check_arrays

_FIRST_WORD = SENTENCE_END + 1
_UNSOUND = "language model: its arrays do not fit each other; the file is damaged or was modified: copy it again"
SCHEMA = {
    "words": ArrayRule("uint8", ("bytes",)),
    "starts": ArrayRule("int64", ("orders",), least=0, increasing=True),
    "children": ArrayRule("int32", ("nodes",), least=0),
    "word": ArrayRule("int32", ("nodes",), least=0, below="nodes"),
    "adjusted": ArrayRule("int32", ("nodes",), least=0),
    "discounts": ArrayRule("float64", ("highest", 3), least=0.0, most=3.0),
}
"""The arrays of `to_arrays`: words joined by line feeds, then the columns of `NgramTrie` and `NgramCounts`."""


def to_arrays(counts: NgramCounts, vocabulary: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the counts, words and discounts of a language model as arrays with the names in `SCHEMA`."""
    trie = counts.trie
    words = [vocabulary[word_id] for word_id in trie.word_ids.tolist()]
    return {
        "words": np.frombuffer("\n".join(words).encode("utf-8", "surrogatepass"), dtype=np.uint8),
        "starts": trie.starts,
        "children": np.diff(trie.first_child),
        "word": trie.word,
        "adjusted": counts.adjusted,
        "discounts": estimate_discounts(counts)[0],
    }


class CountsModel:
    """Language model estimated from stored counts."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        sizes = check_arrays(arrays, SCHEMA, "language model")
        try:
            text = arrays["words"].tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise ModelError(_UNSOUND) from None
        self.arrays = arrays
        self.words = text.split("\n") if text else []
        starts = arrays["starts"]
        sound = 1 <= sizes["highest"] == sizes["orders"] - 2 <= MAX_ORDER and starts[0] == 0
        if not (
            sound and starts[1] == 1 and starts[2] == len(self.words) + _FIRST_WORD and starts[-1] == sizes["nodes"]
        ):
            raise ModelError(_UNSOUND)
        trie = _trie(starts, arrays["children"], arrays["word"])
        counts = NgramCounts(trie, arrays["adjusted"], arrays["adjusted"], np.zeros(1, np.int64), np.zeros(0, np.int32))
        self.model: NgramModel = estimate(counts, discounts=arrays["discounts"])
        self._number = {word: number for number, word in enumerate(self.words)}

    @property
    def order(self) -> int:
        """Number of words in the longest n-grams."""
        return self.model.trie.order

    def knows(self, words: Sequence[str]) -> BoolArray:
        """True for words in the model's vocabulary, shape (words,)."""
        return np.fromiter((word in self._number for word in words), dtype=np.bool_, count=len(words))

    def scores(
        self, words: Sequence[str], values: npt.ArrayLike, offsets: npt.ArrayLike, *, matched: bool = True
    ) -> SentenceScores:
        """Score sentences enclosed by ``<s>`` and ``</s>``; see `ranker.learning.lm.kneser_ney.log10_scores`."""
        ids, bounds = as_sentences(values, offsets)
        number = np.array([self._number.get(word, len(self.words)) for word in words], dtype=np.int32)
        return log10_scores(self.model, number[ids], bounds)


def _trie(starts: Int64Array, children: Int32Array, word: Int32Array) -> NgramTrie:
    """Rebuild the trie, deriving contexts from the numbers of children and suffixes from shorter n-grams."""
    nodes, types = len(word), int(starts[2])
    if int(children.sum(dtype=np.int64)) != nodes - 1 or (word[:types] != np.arange(types)).any():
        raise ModelError(_UNSOUND)
    context = np.concatenate([[0], np.repeat(np.arange(nodes), children)]).astype(np.int32)
    suffix = np.zeros(nodes, dtype=np.int32)
    keys = context.astype(np.int64) * types + word
    for order in range(2, len(starts) - 1):
        shorter, part = (slice(int(starts[length]), int(starts[length + 1])) for length in (order - 1, order))
        wanted = suffix[context[part]].astype(np.int64) * types + word[part]
        place = np.minimum(np.searchsorted(keys[shorter], wanted), shorter.stop - shorter.start - 1)
        level = (context[part] < shorter.start) | (context[part] >= shorter.stop)
        if level.any() or (np.diff(keys[part]) <= 0).any() or (keys[shorter][place] != wanted).any():
            raise ModelError(_UNSOUND)
        suffix[part] = shorter.start + place
    first_child = np.concatenate([[1], 1 + np.cumsum(children)]).astype(np.int32)
    return NgramTrie(np.arange(types - _FIRST_WORD, dtype=np.int32), starts, context, word, suffix, first_child)
