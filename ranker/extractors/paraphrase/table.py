"""Table of word substitutions, learnt from the unmatched words of sentence pairs with the same meaning.

Where a candidate and its reference agree except for a few words, these words likely have the same meaning. So each of
the *residual* words, which match nothing, is paired with all residual words near it in the other sentence, and over
many pairs of sentences the expectation-maximisation of IBM model 1 (Brown et al. 1993) finds out which belong together:
every residual word of one sentence comes from a residual word of the other, or from none,

    p(a comes from b) = t(a|b) w(a, b) / (null + sum over b' of t(a|b') w(a, b'))

with ``w`` the closeness of the two positions. Expected counts are reduced by an absolute discount before they become
``t`` again, so that pairs met only once or twice are not learnt. This is done in both directions, and the similarity of
two words is the geometric mean of both values of ``t``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import Float32Array, FloatArray, Int32Array, Int64Array
from ranker.storage.kernels import kernel

START = 0.02
"""Initial value of every probability t."""


@dataclass(frozen=True, eq=False)
class Cooccurrences:
    """Pairs of nearby unmatched words, one from each sentence, in many pairs of sentences."""

    first: Int32Array
    second: Int32Array
    kind: Int32Array
    row: Int32Array
    column: Int32Array
    closeness: Float32Array
    starts: Int64Array

    @classmethod
    def of(cls, starts: Int64Array, places: Int32Array, closeness: Float32Array) -> Cooccurrences:
        """Make cooccurrences from `places`, shape (rows, 4): first word, second word, and their positions."""
        keys = (places[:, 0].astype(np.int64) << 32) | places[:, 1]
        kinds, kind = np.unique(keys, return_inverse=True)
        return cls(
            (kinds >> 32).astype(np.int32),
            (kinds & 0xFFFFFFFF).astype(np.int32),
            kind.astype(np.int32).ravel(),
            np.ascontiguousarray(places[:, 2]),
            np.ascontiguousarray(places[:, 3]),
            closeness,
            starts,
        )


@dataclass(frozen=True, eq=False)
class Substitutions:
    """Pairs of words, and the similarity of each pair."""

    first: Int32Array
    second: Int32Array
    similarity: Float32Array

    def __len__(self) -> int:
        """Return the number of pairs of words."""
        return len(self.first)


@kernel
def _expected_counts(
    kind: Int32Array,
    place: Int32Array,
    closeness: Float32Array,
    starts: Int64Array,
    pair_weight: FloatArray,
    probability: FloatArray,
    null: float,
) -> FloatArray:
    """Return each word pair's expected count, if the word at each `place` comes from one word near it, or from none."""
    counts = np.zeros(len(probability))
    longest = 0
    for each in place:
        longest = max(longest, each + 1)
    total = np.zeros(longest)
    for pair in range(len(starts) - 1):
        if pair_weight[pair] == 0.0:
            continue
        for at in range(starts[pair], starts[pair + 1]):
            total[place[at]] = null
        for at in range(starts[pair], starts[pair + 1]):
            total[place[at]] += probability[kind[at]] * closeness[at]
        for at in range(starts[pair], starts[pair + 1]):
            share = probability[kind[at]] * closeness[at] / total[place[at]]
            counts[kind[at]] += pair_weight[pair] * share
    return counts


def _direction(
    cooccurrences: Cooccurrences,
    condition: Int32Array,
    place: Int32Array,
    pair_weight: FloatArray,
    options: tuple[int, float, float],
) -> tuple[FloatArray, FloatArray]:
    """Return each word pair's probability given its word in `condition`, and its expected count, estimated by EM."""
    iterations, null, discount = options
    probability = np.full(len(condition), START)
    counts = np.zeros(len(condition))
    for _ in range(iterations):
        counts = _expected_counts(
            cooccurrences.kind,
            place,
            cooccurrences.closeness,
            cooccurrences.starts,
            pair_weight,
            probability,
            null * START,
        )
        totals = np.bincount(condition, weights=counts) if len(condition) else counts
        probability = np.maximum(counts - discount, 0.0) / np.maximum(totals[condition], 1e-12)
    return probability, counts


def estimate(
    cooccurrences: Cooccurrences,
    pair_weight: npt.ArrayLike | None = None,
    *,
    iterations: int = 8,
    null: float = 0.3,
    discount: float = 0.5,
    least: float = 0.03,
    least_count: float = 4.0,
) -> Substitutions:
    """Learn a table of substitutions; `pair_weight` contains a weight for each sentence pair, 0 to leave a pair out."""
    pairs = len(cooccurrences.starts) - 1
    weight = np.ones(pairs) if pair_weight is None else np.asarray(pair_weight, dtype=np.float64)
    options = (iterations, null, discount)
    forward, count = _direction(cooccurrences, cooccurrences.first, cooccurrences.column, weight, options)
    backward, other_count = _direction(cooccurrences, cooccurrences.second, cooccurrences.row, weight, options)
    similarity = np.sqrt(forward * backward)
    chosen = (similarity >= least) & (np.minimum(count, other_count) >= least_count)
    return Substitutions(
        cooccurrences.first[chosen], cooccurrences.second[chosen], similarity[chosen].astype(np.float32)
    )
