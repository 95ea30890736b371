"""Greedy matching of vectors (Zhang et al. 2020, BERTScore): each token to the other text's most similar one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import Float32Array, FloatArray, Int32Array, Int64Array


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
        similarity = _cosines(first, second)
        precision = float((first.weights * similarity.max(axis=1)).sum()) / totals[left]
        recall = float((second.weights * similarity.max(axis=0)).sum()) / totals[right]
        f = 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0
        result[row] = precision, recall, f, first.whole @ second.whole
    return result


def _cosines(first: TextVectors, second: TextVectors) -> Float32Array:
    """Return the cosines between the tokens of two texts, each summed separately rather than by matrix multiplication.

    In a product of matrices the last bits of a sum depend on where it is in the result and on the number of threads.
    """
    cosines: Float32Array = np.einsum("ik,jk->ij", first.tokens, second.tokens)
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
    similarity = _cosines(text, other)
    highest, at = similarity.max(axis=1), similarity.argmax(axis=1)
    matches = []
    for word in np.unique(text.word[text.word >= 0]).tolist():
        rows = np.flatnonzero(text.word == word)
        leading = rows[highest[rows].argmax()]
        matches.append(WordMatch(word, int(other.word[at[leading]]), float(highest[rows].mean())))
    return matches
