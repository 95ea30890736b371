"""Greedy matching of vectors (Zhang et al. 2020, BERTScore): each token to the other text's most similar one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import Float32Array, FloatArray, Int32Array, Int64Array

_MOST_COSINES = 10_000_000
"""Maximum number of cosines in memory at once."""


@dataclass(frozen=True, eq=False)
class TextVectors:
    """Unit vectors of a text's sub-words, their weights and word numbers, and the unit vector of the whole text."""

    tokens: Float32Array
    weights: FloatArray
    word: Int32Array
    whole: Float32Array

    @property
    def size(self) -> int:
        """Approximate memory in bytes."""
        return self.tokens.nbytes + self.weights.nbytes + self.word.nbytes + self.whole.nbytes


def match(texts: Sequence[TextVectors], pairs: Int64Array) -> FloatArray:
    r"""Return the precision, recall, F score and cosine of each pair of indices into `texts`, shape (pairs, 4).

    With :math:`s_{ij}` the cosine of token i of the first text and token j of the second,

    .. math:: P = \frac{\sum_i w_i \max_j s_{ij}}{\sum_i w_i} \qquad
              R = \frac{\sum_j w_j \max_i s_{ij}}{\sum_j w_j} \qquad F = \frac{2PR}{P + R}

    A text in which nothing has weight gives 0 throughout, and F is 0 unless P and R are both positive. The values of a
    pair depend on its two texts alone, to the last bit, and those of the reversed pair are the same with P and R
    exchanged.
    """
    result = np.zeros((len(pairs), 4))
    totals = [float(text.weights.sum()) for text in texts]
    for row, (left, right) in enumerate(pairs.tolist()):
        if totals[left] <= 0 or totals[right] <= 0:
            continue
        first, second = texts[left], texts[right]
        rows, columns = _highest(first, second)
        precision = float((first.weights * rows).sum()) / totals[left]
        recall = float((second.weights * columns).sum()) / totals[right]
        f = 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0
        result[row] = precision, recall, f, first.whole @ second.whole
    return result


def _highest(first: TextVectors, second: TextVectors) -> tuple[Float32Array, Float32Array]:
    """Return the highest cosine of each token of two texts, computed for a limited number of pairs at a time."""
    rows = np.empty(len(first.tokens), dtype=np.float32)
    columns = np.full(len(second.tokens), -np.inf, dtype=np.float32)
    step = max(1, _MOST_COSINES // max(len(columns), 1))
    for start in range(0, len(rows), step):
        block = _cosines(first.tokens[start : start + step], second.tokens)
        rows[start : start + step] = block.max(axis=1)
        np.maximum(columns, block.max(axis=0), out=columns)
    return rows, columns


def _cosines(first: Float32Array, second: Float32Array) -> Float32Array:
    """Return the cosines between the tokens of two texts, each summed separately rather than by matrix multiplication.

    In a product of matrices the last bits of a sum depend on where it is in the result and on the number of threads.
    """
    cosines: Float32Array = np.einsum("ik,jk->ij", first, second)
    return cosines


@dataclass(frozen=True)
class WordMatch:
    """A word's number, the most similar word of the other text, and their similarity."""

    word: int
    partner: int
    similarity: float


def word_matches(text: TextVectors, other: TextVectors) -> list[WordMatch]:
    """Return each word's match in `other`, in the order of `text`; empty if one of the texts has no words."""
    if not (text.word >= 0).any() or not (other.word >= 0).any():
        return []
    similarity = _cosines(text.tokens, other.tokens)
    highest, at = similarity.max(axis=1), similarity.argmax(axis=1)
    matches = []
    for word in np.unique(text.word[text.word >= 0]).tolist():
        rows = np.flatnonzero(text.word == word)
        leading = rows[highest[rows].argmax()]
        matches.append(WordMatch(word, int(other.word[at[leading]]), float(highest[rows].mean())))
    return matches
