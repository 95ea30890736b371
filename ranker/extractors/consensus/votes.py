"""Vote counting: consensus features from similarities and relations of candidates."""

from __future__ import annotations

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array

COLUMNS = ("mean", "distinct", "near", "weighted", "diverse")
WORDING = "chrf"
"""Metric of similar wording, by which ``diverse`` detects copies."""
_COPY = 8
"""Exponent of text similarity in sharing a vote: a share of .02 at similarity .6, .4 at .9, and 1 for a copy."""


def normalise(similarity: FloatArray, *, lower: bool = False) -> FloatArray:
    """Return similarities relative to self-similarities, averaged over both directions, shape (..., texts, texts).

    If `lower` is set, the similarities are negated error rates, and are increased by 1 first.
    """
    shift = 1.0 if lower else 0.0
    alone = np.sqrt(np.maximum(np.diagonal(similarity, axis1=-2, axis2=-1) + shift, 0.0))
    unit = alone[..., :, np.newaxis] * alone[..., np.newaxis, :]
    values = np.clip(np.divide(similarity + shift, unit, out=np.zeros(unit.shape), where=unit > 0), 0.0, 1.0)
    return np.asarray(0.5 * (values + np.swapaxes(values, -1, -2)))


def count_votes(
    similarity: FloatArray,
    relation: FloatArray,
    text: Int64Array,
    voting: BoolArray,
    wording: FloatArray,
    neighbours: int,
) -> FloatArray:
    """Return consensus features, shape (sources, n, 5), for sources with n candidates each.

    `similarity`, `relation` and `wording` have shape (sources, voters, candidates); `text` numbers equal texts.
    """
    number = similarity.shape[-1]
    is_other = voting[:, :, np.newaxis] & ~np.eye(number, dtype=bool)
    equal = text[:, :, np.newaxis] == text[:, np.newaxis, :]
    share = 1.0 / np.maximum((equal & voting[:, :, np.newaxis]).sum(axis=1), 1)
    # related voters together count as one
    related = np.where(np.eye(number, dtype=bool), 1.0, relation) * voting[:, np.newaxis, :]
    weight = 1.0 / np.maximum(related.sum(axis=2), 1.0)
    features = (
        weighted_mean(similarity, is_other.astype(np.float64)),
        weighted_mean(similarity, share[:, :, np.newaxis] * (is_other & ~equal)),
        nearest(similarity, is_other, neighbours),
        weighted_mean(similarity, weight[:, :, np.newaxis] * is_other),
        weighted_mean(similarity, shared_votes(wording, voting)[:, :, np.newaxis] * is_other),
    )
    return np.stack(features, axis=2)


def shared_votes(wording: FloatArray, voting: BoolArray) -> FloatArray:
    """Return vote weights, shape (..., voters), by which voters with a high similarity in `wording` share a vote.

    Henikoff and Henikoff (1994) weigh sequences so that copies together count as one.
    """
    return np.asarray(1.0 / np.maximum((wording**_COPY * voting[..., np.newaxis, :]).sum(axis=-1), 1.0))


def nearest(similarity: FloatArray, is_other: BoolArray, neighbours: int) -> FloatArray:
    """Return each candidate i's mean similarity to its nearest voters j in the mask `is_other`; 0 without voters."""
    count = min(neighbours, similarity.shape[-2])
    ranked = np.where(is_other, similarity, -np.inf)
    highest = -np.partition(-ranked, count - 1, axis=-2)[..., :count, :]
    present = np.isfinite(highest)
    return np.asarray(np.where(present, highest, 0.0).sum(axis=-2) / np.maximum(present.sum(axis=-2), 1))


def weighted_mean(similarity: FloatArray, weight: FloatArray) -> FloatArray:
    """Return each candidate i's weighted mean similarity to the voters j; 0 where the total weight is 0."""
    total = weight.sum(axis=-2)
    return np.asarray(np.divide((similarity * weight).sum(axis=-2), total, out=np.zeros(total.shape), where=total > 0))
