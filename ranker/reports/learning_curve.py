"""Agreement of a ranker with human judgements by the amount of training data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.ranks import merge_ties
from ranker.reports.calibration import graded_pairs
from ranker.reports.refits import TrainingColumns
from ranker.training_data import stratified_folds

FOLDS = 5
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Proportions of the sources outside a fold."""
FEWEST = 4
"""Minimum number of training sources."""


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Agreement on held-out sources, by number of training sources."""

    sources: Int64Array
    agreement: FloatArray
    low: FloatArray
    high: FloatArray
    folds: int


def learning_curve(training: TrainingColumns, *, folds: int = FOLDS, seed: int = 0) -> LearningCurve | None:
    """Train on increasing parts of the data outside each fold, and measure agreement inside the fold.

    The sources of every language pair are assigned to folds and parts at random; smaller parts are subsets of larger
    ones. C times the number of pairs is constant, as in the ranker's training.
    """
    table = training.table
    sources, first, inverse = np.unique(table.group, return_index=True, return_inverse=True)
    pair = training.language_pair[first]
    fold = stratified_folds(pair, folds, seed, table.block[first])
    order = _order(pair, seed)
    sizes = [share for share in SHARES if share * len(sources) * (folds - 1) / folds >= FEWEST]
    if len(sizes) < 2:
        return None
    if table.pairs is not None:
        better, worse, weight = table.pairs.better, table.pairs.worse, table.pairs.weight
    else:
        assert table.target is not None
        better, worse = graded_pairs(table.target, table.group)
        weight = np.ones(len(better))
    agreement = np.full((folds, len(sizes)), np.nan)
    counts = np.zeros((folds, len(sizes)))
    for number in range(folds):
        outside = order[fold[order] != number]
        held_out = fold[inverse[better]] == number
        for place, share in enumerate(sizes):
            learnt = np.zeros(len(sources), dtype=bool)
            learnt[outside[: round(share * len(outside))]] = True
            counts[number, place] = learnt.sum()
            scores = table.columns @ training.weights(rows=learnt[inverse])
            agreement[number, place] = _agreement(
                scores, table.group, better[held_out], worse[held_out], weight[held_out]
            )
    if np.isnan(agreement).all(axis=0).any():
        return None
    return LearningCurve(
        counts.mean(axis=0).round().astype(np.int64),
        np.nanmean(agreement, axis=0),
        np.nanmin(agreement, axis=0),
        np.nanmax(agreement, axis=0),
        folds,
    )


def _order(strata: Int64Array, seed: int) -> Int64Array:
    """Shuffle units so that any beginning holds about the same share of every stratum."""
    shuffled = np.lexsort((np.random.default_rng(seed).permutation(len(strata)), strata))
    counts = np.bincount(strata)
    starts = np.cumsum(counts) - counts
    rank = np.empty(len(strata))
    rank[shuffled] = np.arange(len(strata)) - starts[strata[shuffled]]
    return np.argsort((rank + 0.5) / counts[strata], kind="stable").astype(np.int64)


def _agreement(
    scores: FloatArray, group: Int64Array, better: Int64Array, worse: Int64Array, weight: FloatArray
) -> float:
    if not weight.sum():
        return float("nan")
    offsets = np.append(np.flatnonzero(np.diff(group, prepend=-1)), len(group))
    merged = merge_ties(scores, offsets)
    return float(((np.sign(merged[better] - merged[worse]) + 1) / 2) @ weight / weight.sum())
