"""Greedy matching of vectors (Zhang et al. 2020, BERTScore): every token takes the most similar one opposite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import Float32Array, FloatArray, Int32Array, Int64Array, offsets_of
from ranker.learning.encoder.encoder import Pieces, unit


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """What is matched: sub-words or words of texts; those of text ``i`` are ``offsets[i]`` to ``offsets[i + 1]``."""

    vectors: Float32Array
    weights: FloatArray
    offsets: Int64Array
    word: Int32Array


def tokens_of(
    pieces: Pieces, vectors: Float32Array, weights: FloatArray, *, special: bool = True, words: bool = False
) -> TokenVectors:
    """Put together what is matched."""
    ordinary = pieces.word >= 0
    weights = np.where(ordinary, weights, 0.0)
    if words:
        text = np.repeat(np.arange(len(pieces)), np.diff(pieces.offsets))
        new = np.ones(len(pieces.ids), dtype=bool)
        # special tokens never run together, nor do words on either side of one
        new[1:] = (text[1:] != text[:-1]) | (pieces.word[1:] != pieces.word[:-1]) | ~ordinary[1:]
        starts = np.flatnonzero(new)
        sizes = np.diff(np.append(starts, len(new)))
        return _token_vectors(
            unit(np.add.reduceat(vectors, starts, axis=0)) if len(starts) else vectors,
            np.add.reduceat(weights, starts) / sizes if len(starts) else weights,
            np.searchsorted(starts, pieces.offsets),
            pieces.word[starts],
            special=special,
        )
    return _token_vectors(vectors, weights, pieces.offsets, pieces.word, special=special)


def _token_vectors(
    vectors: Float32Array, weights: FloatArray, offsets: Int64Array, word: Int32Array, *, special: bool
) -> TokenVectors:
    if special:
        return TokenVectors(vectors, weights, offsets, word)
    keep = word >= 0
    return TokenVectors(vectors[keep], weights[keep], offsets_of(keep)[offsets], word[keep])


def match(tokens: TokenVectors, candidate: Int64Array, target: Int64Array) -> FloatArray:
    r"""Return precision, recall and F of every pair of texts, shape (pairs, 3).

    With :math:`s_{ij}` the cosine of token i of the candidate and token j of the other text,

    .. math:: P = \frac{\sum_i w_i \max_j s_{ij}}{\sum_i w_i} \qquad
              R = \frac{\sum_j w_j \max_i s_{ij}}{\sum_j w_j} \qquad F = \frac{2PR}{P + R}

    A text in which nothing has weight gives 0 throughout, and so does F unless P and R are both positive.
    """
    result = np.zeros((len(candidate), 3))
    ends = _ends(tokens)
    totals = [float(tokens.weights[slice(*each)].sum()) for each in ends]
    # each pair by itself: the value of a pair depends on nothing else, to the last bit
    for pair, (left, right) in enumerate(zip(candidate.tolist(), target.tolist(), strict=True)):
        if totals[left] <= 0 or totals[right] <= 0:
            continue
        own, other = slice(*ends[left]), slice(*ends[right])
        similarity = tokens.vectors[own] @ tokens.vectors[other].T
        precision = tokens.weights[own] @ similarity.max(axis=1) / totals[left]
        recall = tokens.weights[other] @ similarity.max(axis=0) / totals[right]
        both = precision > 0 and recall > 0
        result[pair] = precision, recall, 2 * precision * recall / (precision + recall) if both else 0.0
    return result


def _ends(tokens: TokenVectors) -> list[tuple[int, int]]:
    """Return where the tokens of every text begin and end."""
    return list(zip(tokens.offsets[:-1].tolist(), tokens.offsets[1:].tolist(), strict=True))


@dataclass(frozen=True)
class WordMatch:
    """A word, the word of the other text that is most like it, and how like they are."""

    word: int
    partner: int
    similarity: float


def word_matches(tokens: TokenVectors, text: int, other: int) -> list[WordMatch]:
    """Return for each word of `text` what it matched in `other`, in order; nothing if one of them has no words."""
    own, target = (slice(*tokens.offsets[number : number + 2]) for number in (text, other))
    words, partners = tokens.word[own], tokens.word[target]
    if not (words >= 0).any() or not (partners >= 0).any():
        return []
    similarity = tokens.vectors[own] @ tokens.vectors[target].T
    highest, at = similarity.max(axis=1), similarity.argmax(axis=1)
    matches = []
    for word in np.unique(words[words >= 0]).tolist():
        rows = np.flatnonzero(words == word)
        leading = rows[highest[rows].argmax()]
        matches.append(WordMatch(word, int(partners[at[leading]]), float(highest[rows].mean())))
    return matches
