"""Agreement about whole systems: pairwise accuracy and soft pairwise accuracy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray
from ranker.ranks import merge_ties


def pairwise_accuracy(human: npt.ArrayLike, scores: npt.ArrayLike) -> FloatArray:
    """Share of pairs of systems that scores order as people do (Kocmi et al. 2021).

    Parameters
    ----------
    human, scores : array-like, shape (..., systems)
        Higher is better; leading axes broadcast. Pairs with a NaN are left out; a tie agrees with a tie alone
        (`ranker.ranks.merge_ties`).

    Returns
    -------
    float array, shape (...)
        In [0, 1]; NaN where there is no pair.
    """
    target, values = np.broadcast_arrays(merge_ties(human), merge_ties(scores))
    first, second = np.triu_indices(target.shape[-1], 1)
    by_human = np.sign(target[..., first] - target[..., second])
    by_score = np.sign(values[..., first] - values[..., second])
    known = ~np.isnan(by_human) & ~np.isnan(by_score)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((by_human == by_score) & known).sum(axis=-1) / known.sum(axis=-1))


def pairwise_p_values(scores: npt.ArrayLike, *, permutations: int = 1000, seed: int = 4) -> FloatArray:
    """One-sided p-values that one system is better than another, by swapping their scores segment by segment.

    Parameters
    ----------
    scores : array-like, shape (systems, segments)
        Without NaN. Sums are taken in single precision and with one set of swaps for all pairs, as in the WMT metrics
        task, so that equal seeds give equal figures.
    permutations : int, default 1000
    seed : int, default 4

    Returns
    -------
    float array, shape (pairs,)
        For the pairs ``(i, j)``, i < j, in row order: the share of permutations in which i is ahead of j by at least as
        much as it is.
    """
    values = np.asarray(scores, dtype=np.float64).astype(np.float32)
    generator = np.random.default_rng(seed)
    signs = np.rint(generator.random((permutations, values.shape[1]), dtype=np.float32)) * np.float32(2) - np.float32(1)
    swapped = signs @ values.T
    total = values.sum(axis=1)
    first, second = np.triu_indices(len(values), 1)
    extreme = swapped[:, first] - swapped[:, second] >= total[first] - total[second]
    return np.asarray(extreme.sum(axis=0) / permutations)


def limit_p_values(difference: npt.ArrayLike, squares: npt.ArrayLike) -> FloatArray:
    """Limit of `pairwise_p_values` for many segments and permutations, from sums.

    Under random swaps the summed difference of two systems has mean 0 and the sum of squared differences for variance,
    so ``p = 1 - Phi(sum d / sqrt(sum d^2))``.

    Parameters
    ----------
    difference, squares : array-like, shape (..., pairs)
        Sum over segments of the difference of two systems, and of its square.

    Returns
    -------
    float array, shape (..., pairs)
        In [0, 1]; .5 where the two never differ.
    """
    from scipy.special import ndtr

    total, variance = np.asarray(difference, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
    return np.asarray(ndtr(-np.where(variance > 0, total / deviation, 0.0)))


def soft_accuracy(human_p: npt.ArrayLike, metric_p: npt.ArrayLike) -> FloatArray:
    """Soft pairwise accuracy (Thompson et al. 2024): 1 - mean over pairs of |p by people - p by the metric|.

    Parameters
    ----------
    human_p, metric_p : array-like, shape (..., pairs)
        One-sided p-values, as of `pairwise_p_values`; NaN pairs are left out.

    Returns
    -------
    float array, shape (...)
        In [0, 1]; NaN without pairs.
    """
    apart = np.abs(np.asarray(human_p, dtype=np.float64) - np.asarray(metric_p, dtype=np.float64))
    known = ~np.isnan(apart)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1.0 - np.where(known, apart, 0.0).sum(axis=-1) / known.sum(axis=-1))


def soft_pairwise_accuracy(
    human: npt.ArrayLike, scores: npt.ArrayLike, *, permutations: int = 1000, seed: int = 4
) -> float:
    """Soft pairwise accuracy of complete tables of segment scores, shape (systems, segments)."""
    by_human, by_metric = (pairwise_p_values(one, permutations=permutations, seed=seed) for one in (human, scores))
    return float(soft_accuracy(by_human, by_metric))
