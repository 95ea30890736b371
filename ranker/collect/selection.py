"""Active selection: the items from which the current ranker is expected to learn most.

The rule. The ranker is a linear function of standardised features, so that a comparison of two outputs tells it
something about the direction of the difference ``d`` of their features. Its weights ``w`` are taken to be normal before
any judgement, with a covariance proportional to the square of the covariance of the features within sources: what many
features of an output say together is expected to matter most. The chance that the first output is preferred is taken
to be ``p = 1 / (1 + exp(-w.d))``. The judgements so far then give a posterior of the weights, normal around its mode
with covariance ``S``. The variance of the difference of two scores is ``d'Sd``: large where judgements have not yet
said how to weigh what differs between the two outputs. One more judgement of them is expected to gain

    1/2 log(1 + p (1 - p) d'Sd)

nats of information about the weights: most where the ranker is least sure, nothing where its answer is certain. The
gain of an item is the sum over the comparisons in it. Items are chosen one after the other, each after the posterior
has been narrowed by those before it, so that the items of one batch do not all ask the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import (
    PREFERENCES,
    PreferencePairs,
    human_scores,
    ordered_pairs,
    preference_pairs,
    ratings_of,
)

PRIOR_VARIANCE = 1.0
"""Of the difference of two scores before any judgement, on average over pairs of outputs."""
_STEPS = 50
_CLOSE = 1e-14


@dataclass(frozen=True)
class Posterior:
    """What is known of the weights of `directions`: normal, shape (features,) and (features, features)."""

    mean: FloatArray
    covariance: FloatArray


def training_pairs(dataset: Dataset, kind: str) -> PreferencePairs:
    """Return the pairs of candidates of one source that judgements of `kind` put in an order; None before the first."""
    if kind == PREFERENCES or not len(ratings_of(dataset, kind)):
        return preference_pairs(dataset, aggregated=True)
    return ordered_pairs(human_scores(dataset, kind), dataset.candidate_offsets)


def directions(columns: FloatArray, offsets: Int64Array) -> FloatArray:
    """Return standardised features turned so that weights are independent and of variance 1 before any judgement."""
    sizes = np.diff(offsets)
    sums = np.add.reduceat(columns, offsets[:-1][sizes > 0], axis=0)
    centred = columns - np.repeat(sums / sizes[sizes > 0, np.newaxis], sizes[sizes > 0], axis=0)
    turned = columns @ (centred.T @ centred / len(columns))
    within = centred @ (centred.T @ centred / len(columns))
    # two outputs differ by twice the variance within sources
    variance = 2 * (within**2).sum(axis=1).mean()
    return np.asarray(turned * np.sqrt(PRIOR_VARIANCE / variance) if variance > 0 else turned)


def posterior_of(differences: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Posterior:
    """Return the posterior of a ranker's weights: Laplace's approximation of logistic regression on differences."""
    rows = np.asarray(differences, dtype=np.float64)
    counts = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    size = rows.shape[1]
    precision = np.eye(size)

    def loss(w: FloatArray) -> float:
        return float(counts @ np.logaddexp(0.0, -rows @ w) + w @ precision @ w / 2)

    mean = np.zeros(size)
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(np.clip(rows @ mean, -30, 30)))
        gradient = precision @ mean - rows.T @ (counts * chance)
        hessian = precision + (rows.T * (counts * chance * (1 - chance))) @ rows
        step = np.linalg.solve(hessian, gradient)
        decrease = float(gradient @ step)
        if decrease < _CLOSE:
            break
        length, value = 1.0, loss(mean)
        while loss(mean - length * step) > value - 1e-4 * length * decrease and length > _CLOSE:
            length /= 2
        mean = mean - length * step
    return Posterior(mean, np.asarray(np.linalg.inv(hessian)))


def expected_gain(posterior: Posterior, differences: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the gain of judging each pair, in nats, and the information ``p (1 - p)`` of its outcome."""
    rows = np.asarray(differences, dtype=np.float64)
    chance = 1.0 / (1.0 + np.exp(-np.clip(rows @ posterior.mean, -30, 30)))
    information = chance * (1 - chance)
    variance = ((rows @ posterior.covariance) * rows).sum(axis=1)
    return np.log1p(information * variance) / 2, information


def choose(
    posterior: Posterior,
    columns: FloatArray,
    items: Sequence[tuple[Int64Array, Int64Array]],
    count: int,
) -> list[int]:
    """Return the places of the items, given by the rows of `columns` they compare, by expected gain, largest first."""
    sizes = np.array([len(first) for first, _ in items], dtype=np.int64)
    if not sizes.sum():
        return []
    starts = np.concatenate([[0], np.cumsum(sizes)])
    owner = np.repeat(np.arange(len(items)), sizes)
    first, second = (np.concatenate([pair[side] for pair in items]) for side in (0, 1))
    rows = columns[first] - columns[second]
    covariance = posterior.covariance
    left = np.ones(len(items), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < min(count, len(items)):
        gain, information = expected_gain(Posterior(posterior.mean, covariance), rows)
        total = np.where(left, np.bincount(owner, weights=gain, minlength=len(items)), -np.inf)
        best = int(np.argmax(total))
        if total[best] <= 0:
            break
        chosen.append(best)
        left[best] = False
        inside = slice(starts[best], starts[best + 1])
        # the covariance after these comparisons (Woodbury), whatever their outcome
        block = rows[inside] * np.sqrt(information[inside])[:, np.newaxis]
        spread = covariance @ block.T
        covariance = covariance - spread @ np.linalg.solve(np.eye(len(block)) + block @ spread, spread.T)
    return chosen
