"""Agreement about whole systems: pairwise accuracy and soft pairwise accuracy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray
from ranker.ranks import merge_ties


def pairwise_accuracy(human: npt.ArrayLike, scores: npt.ArrayLike) -> FloatArray:
    """Proportion of pairs of systems that the scores order as people do (Kocmi et al. 2021)."""
    target, values = np.broadcast_arrays(merge_ties(human), merge_ties(scores))
    first, second = np.triu_indices(target.shape[-1], 1)
    by_human = np.sign(target[..., first] - target[..., second])
    by_score = np.sign(values[..., first] - values[..., second])
    known = ~np.isnan(by_human) & ~np.isnan(by_score)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((by_human == by_score) & known).sum(axis=-1) / known.sum(axis=-1))


def limit_p_values(difference: npt.ArrayLike, squares: npt.ArrayLike) -> FloatArray:
    """One-sided p-values for one system being better, by the normal approximation to random swaps of segment scores.

    Under random swaps the summed difference of two systems has mean 0 and the sum of squared differences for variance,
    so ``p = 1 - Phi(sum d / sqrt(sum d^2))``.
    """
    from scipy.special import ndtr

    total, variance = np.asarray(difference, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
    return np.asarray(ndtr(-np.where(variance > 0, total / deviation, 0.0)))


def soft_accuracy(human_p: npt.ArrayLike, metric_p: npt.ArrayLike) -> FloatArray:
    """Soft pairwise accuracy (Thompson et al. 2024): 1 minus the mean over pairs of ``|human_p - metric_p|``."""
    apart = np.abs(np.asarray(human_p, dtype=np.float64) - np.asarray(metric_p, dtype=np.float64))
    known = ~np.isnan(apart)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1.0 - np.where(known, apart, 0.0).sum(axis=-1) / known.sum(axis=-1))
