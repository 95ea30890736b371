"""Agreement coefficients of judges, from counts summed over judged units.

A *unit* is what several judges give one *category* each: a candidate on a scale, or a pair of candidates called better,
worse or equal. Confusions (two judges) and coincidences (any number) are sums over units, so coefficients can be
resampled from sums; all functions take leading axes for that.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray

Weights = Literal["none", "linear", "quadratic"]
Distance = Literal["nominal", "ordinal", "interval"]
DISTANCES: tuple[Distance, ...] = ("nominal", "ordinal", "interval")


def cohen_kappa_of(
    counts: npt.ArrayLike, weights: Weights = "none", categories: npt.ArrayLike | None = None
) -> FloatArray:
    """Cohen's kappa (1960), or weighted kappa (1968), of confusion matrices; categories are one apart unless given."""
    table = np.asarray(counts, dtype=np.float64)
    expected = table.sum(axis=-1)[..., :, np.newaxis] * table.sum(axis=-2)[..., np.newaxis, :]
    return _chance_corrected(table, expected, weights, categories)


def scott_pi_of(counts: npt.ArrayLike) -> FloatArray:
    """Scott's pi (1955) of confusion matrices (last two axes), with chance agreement from both judges' pooled votes."""
    table = np.asarray(counts, dtype=np.float64)
    pooled = (table.sum(axis=-1) + table.sum(axis=-2)) / 2
    return _chance_corrected(table, pooled[..., :, np.newaxis] * pooled[..., np.newaxis, :])


def _chance_corrected(
    table: FloatArray, expected: FloatArray, weights: Weights = "none", categories: npt.ArrayLike | None = None
) -> FloatArray:
    values = np.arange(table.shape[-1]) if categories is None else np.asarray(categories)
    step = np.abs(np.subtract.outer(values, values)).astype(np.float64)
    costs = {"none": (step > 0).astype(np.float64), "linear": step, "quadratic": step**2}
    total = table.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        by_chance = (costs[weights] * expected).sum(axis=(-2, -1)) / total
        coefficient = 1.0 - (costs[weights] * table).sum(axis=(-2, -1)) / by_chance
    return np.asarray(np.where(by_chance > 0, coefficient, np.nan))


def agreement_sums(counts: npt.ArrayLike) -> FloatArray:
    """Return a row of terms per unit, from whose sums `fleiss_kappa_of` and `randolph_kappa_of` are computed."""
    table = np.asarray(counts, dtype=np.float64)
    judges = table.sum(axis=1, keepdims=True)
    several = judges[:, 0] > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        agreeing = ((table * (table - 1)).sum(axis=1, keepdims=True)) / (judges * (judges - 1))
        columns = np.concatenate([agreeing, np.ones_like(agreeing), table / judges], axis=1)
    return np.where(several[:, np.newaxis], columns, 0.0)


def fleiss_kappa_of(sums: npt.ArrayLike) -> FloatArray:
    """Fleiss' kappa (1971) from summed `agreement_sums`, whose last axis has 2 terms and one per category.

    If the numbers of judges differ, every unit has the same weight. NaN where all votes are in one category.
    """
    values = np.asarray(sums, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = values[..., 0] / values[..., 1]
        chance = ((values[..., 2:] / values[..., 1:2]) ** 2).sum(axis=-1)
        return np.asarray(np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan))


def randolph_kappa_of(sums: npt.ArrayLike) -> FloatArray:
    """Randolph's free-marginal kappa (2005) from summed `agreement_sums`, assuming equally likely categories."""
    values = np.asarray(sums, dtype=np.float64)
    chance = 1.0 / max(values.shape[-1] - 2, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((values[..., 0] / values[..., 1] - chance) / (1 - chance))


def coincidences(counts: npt.ArrayLike) -> FloatArray:
    """Return each unit's contribution to Krippendorff's coincidence matrix."""
    table = np.asarray(counts, dtype=np.float64)
    judges = table.sum(axis=1)
    pairs = table[:, :, np.newaxis] * table[:, np.newaxis, :]
    diagonal = np.arange(table.shape[1])
    pairs[:, diagonal, diagonal] -= table
    return np.asarray(pairs / np.where(judges > 1, judges - 1, np.inf)[:, np.newaxis, np.newaxis])


def krippendorff_alpha_of(
    sums: npt.ArrayLike, distance: Distance = "nominal", categories: npt.ArrayLike | None = None
) -> FloatArray:
    """Krippendorff's alpha (2011) from summed `coincidences`."""
    table = np.asarray(sums, dtype=np.float64)
    totals = table.sum(axis=-1)
    size = table.shape[-1]
    if distance == "nominal":
        apart = 1.0 - np.eye(size)
    elif distance == "interval":
        values = np.arange(size) if categories is None else np.asarray(categories, dtype=np.float64)
        apart = np.subtract.outer(values, values) ** 2
    else:
        # squared number of judgements between the middles of two categories
        middle = np.cumsum(totals, axis=-1) - totals / 2
        apart = (middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2
    number = totals.sum(axis=-1)
    expected = (totals[..., :, np.newaxis] * totals[..., np.newaxis, :] * apart).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        coefficient = 1.0 - (number - 1) * (table * apart).sum(axis=(-2, -1)) / expected
    return np.asarray(np.where(expected > 0, coefficient, np.nan))


def consistency_counts(counts: npt.ArrayLike, judges: int) -> FloatArray:
    """Count sets of `judges` judges: all, unanimous, unanimous apart from ties (Ye, Zhou and Lin 2007, section 2.1)."""
    worse, equal, better = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)

    def sets(number: FloatArray) -> FloatArray:
        product = np.ones_like(number)
        for taken in range(judges):
            product = product * np.maximum(number - taken, 0.0) / (taken + 1)
        return product

    same = sets(worse) + sets(equal) + sets(better)
    tolerant = sets(worse + equal) + sets(better + equal) - sets(equal)
    return np.stack([sets(worse + equal + better), same, tolerant], axis=-1)
