"""From similarities and relations of the candidates of sources to features: how the votes are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array

COLUMNS = ("mean", "distinct", "near", "weighted", "independent", "independent_near", "quality", "diverse")
WORDING = "chrf"
"""By this similarity of their wording, candidates are found to be copies for ``diverse``."""
_SLOPE = 0.5
_COPY = 8
"""Power of the likeness of wording by which a vote is shared: .02 of it at .6, .4 at .9, all of it for a copy."""


@dataclass(frozen=True, eq=False)
class NormalisedSimilarity:
    """Similarities on a scale on which relatives can be found: 1 is a text with itself, 0 nothing in common."""

    values: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, similarity: FloatArray, *, lower: bool) -> NormalisedSimilarity:
        """Divide by the similarity of both sides with themselves; of error rates, `lower`, 1 less the rate is taken."""
        alone = np.diagonal(similarity, axis1=-2, axis2=-1)
        normalised = cls.between(similarity, alone, alone, lower=lower)
        return cls(0.5 * (normalised.values + np.swapaxes(normalised.values, -1, -2)), normalised.unit)

    @classmethod
    def between(
        cls, similarity: FloatArray, references: FloatArray, candidates: FloatArray, *, lower: bool
    ) -> NormalisedSimilarity:
        """Make it of similarities (..., references, candidates), given those of both sides with themselves."""
        shift = 1.0 if lower else 0.0
        sides = (np.sqrt(np.maximum(values + shift, 0.0)) for values in (references, candidates))
        unit = next(sides)[..., :, np.newaxis] * next(sides)[..., np.newaxis, :]
        values = np.divide(similarity + shift, unit, out=np.zeros(unit.shape), where=unit > 0)
        return cls(np.clip(values, 0.0, 1.0), unit)

    def take(self, chosen: BoolArray) -> NormalisedSimilarity:
        """Return those of some sources."""
        return NormalisedSimilarity(self.values[chosen], self.unit[chosen])

    def scaled(self, excess: FloatArray) -> FloatArray:
        """Return `excess`, as a share of `unit`, on the scale of the similarity."""
        return excess * self.unit


def count_votes(
    similarity: FloatArray,
    relation: FloatArray,
    excess: FloatArray,
    text: Int64Array,
    voting: BoolArray,
    wording: FloatArray,
    neighbours: int,
) -> FloatArray:
    """Return the features of candidates, shape (sources, n, 8), of sources with n each.

    `similarity`, `relation`, `excess` and `wording` are of voter and candidate, shape (sources, n, n); `text` numbers
    equal texts.
    """
    number = similarity.shape[-1]
    is_other = voting[:, :, np.newaxis] & ~np.eye(number, dtype=bool)
    equal = text[:, :, np.newaxis] == text[:, np.newaxis, :]
    share = 1.0 / np.maximum((equal & voting[:, :, np.newaxis]).sum(axis=1), 1)
    # of the voters, those related count together as one
    related = np.where(np.eye(number, dtype=bool), 1.0, relation) * voting[:, np.newaxis, :]
    weight = 1.0 / np.maximum(related.sum(axis=2), 1.0)
    rest = similarity - excess
    independent = weighted_mean(rest, weight[:, :, np.newaxis] * is_other)
    features = (
        weighted_mean(similarity, is_other.astype(np.float64)),
        weighted_mean(similarity, share[:, :, np.newaxis] * (is_other & ~equal)),
        nearest(similarity, is_other, neighbours),
        weighted_mean(similarity, weight[:, :, np.newaxis] * is_other),
        independent,
        nearest(rest, is_other, neighbours),
        weighted_mean(rest, (weight * quality(independent, voting))[:, :, np.newaxis] * is_other),
        weighted_mean(similarity, shared_votes(wording, voting)[:, :, np.newaxis] * is_other),
    )
    return np.stack(features, axis=2)


def shared_votes(wording: FloatArray, voting: BoolArray) -> FloatArray:
    """Return votes that candidates of like wording share, (..., n, n) to (..., n), as sequences are weighed.

    Henikoff and Henikoff (1994) weigh sequences so that copies together count as one.
    """
    return np.asarray(1.0 / np.maximum((wording**_COPY * voting[..., np.newaxis, :]).sum(axis=-1), 1.0))


def quality(independent: FloatArray, voting: BoolArray) -> FloatArray:
    """Return how much more the votes of good candidates count, (..., n) to (..., n): 1 for the mean voter."""
    number = np.maximum(voting.sum(axis=-1, keepdims=True), 1)
    centred = independent - np.where(voting, independent, 0.0).sum(axis=-1, keepdims=True) / number
    spread = np.sqrt(np.where(voting, centred**2, 0.0).sum(axis=-1, keepdims=True) / number)
    standardised = np.divide(centred, spread, out=np.zeros(centred.shape), where=spread > 1e-12)
    return np.asarray(np.exp(_SLOPE * standardised))


def nearest(similarity: FloatArray, is_other: BoolArray, neighbours: int) -> FloatArray:
    """Return the mean of the highest similarities to voters `is_other`, (..., j, i) to (..., i); 0 without any."""
    count = min(neighbours, similarity.shape[-2])
    ranked = np.where(is_other, similarity, -np.inf)
    highest = -np.partition(-ranked, count - 1, axis=-2)[..., :count, :]
    present = np.isfinite(highest)
    return np.asarray(np.where(present, highest, 0.0).sum(axis=-2) / np.maximum(present.sum(axis=-2), 1))


def weighted_mean(similarity: FloatArray, weight: FloatArray) -> FloatArray:
    """Return weighted means over voters, (..., j, i) to (..., i); 0 where nothing has weight."""
    total = weight.sum(axis=-2)
    return np.asarray(np.divide((similarity * weight).sum(axis=-2), total, out=np.zeros(total.shape), where=total > 0))
