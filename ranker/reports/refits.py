"""Retraining of a ranker without some of its training sources or features.

Features are extracted once; every refit is solved to the same certified optimum as the original training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.errors import DataError, ModelError, counted
from ranker.ranking import Ranker
from ranker.settings import Loss
from ranker.training_data import TrainingTable, stratified_folds

GROUPS = 20
"""Number of groups of sources for `jackknife`."""


@dataclass(frozen=True, eq=False)
class TrainingColumns:
    """A ranker and what it learnt from."""

    ranker: Ranker
    table: TrainingTable

    @property
    def language_pair(self) -> Int64Array:
        """A number for the language pair of every candidate."""
        codes = np.unique(self.table.dataset.source_language_pairs.astype(str), return_inverse=True)[1]
        return codes[self.table.group].astype(np.int64)

    @classmethod
    def of(cls, ranker: Ranker, dataset: Dataset) -> TrainingColumns:
        """Extract the training features of `ranker` again from its training data."""
        training = ranker.training
        if training is None:
            raise ModelError("the ranker is not trained; call fit or load")
        if dataset.fingerprint != training.data_hash:
            raise DataError(
                f"is not the model's training data: fingerprint {dataset.fingerprint[:8]}, expected "
                f"{training.data_hash[:8]} ({training.data}); give the same corpora in the same order, "
                "and the same language pairs",
                file=dataset.name,
            )
        return cls(ranker, ranker.training_table(dataset))

    def weights(self, used: BoolArray | None = None, rows: BoolArray | None = None) -> FloatArray:
        """Retrain, starting from the weights of the base if the ranker was adapted from another."""
        training = self.ranker.training
        assert training is not None
        table = self.table if rows is None else self.table.take(rows)
        chosen = np.ones(table.columns.shape[1], dtype=bool) if used is None else used
        weights = np.zeros(len(chosen))
        origin = self.ranker.base.weights[0, chosen] if self.ranker.base else None
        if table.pair_weight and chosen.any():
            penalty = training.C * (self.table.pair_weight / table.pair_weight)
            learnt = table.learn(table.columns[:, chosen], C=penalty, loss=cast(Loss, training.loss), origin=origin)
            weights[chosen] = learnt.coef
        elif origin is not None:
            weights[chosen] = origin
        return weights

    def deviation(self) -> float:
        """Return the largest difference between the weights of a full refit and the ranker's."""
        return float(np.abs(self.weights() - self.ranker.weights).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class WeightIntervals:
    """Weights with their uncertainty."""

    groups: int
    error: FloatArray
    low: FloatArray
    high: FloatArray
    replicates: FloatArray


def jackknife(training: TrainingColumns, *, groups: int = GROUPS, seed: int = 0) -> WeightIntervals:
    """Estimate the uncertainty of the weights by the delete-a-group jackknife over sources.

    The sources of every language pair are randomly divided into G groups, and the ranker is trained G times, leaving
    out one group each time. The squared standard error of a weight is ``(G - 1) / G * sum over groups of (w_g - mean
    w)^2`` (Kott 2001), the interval ``w +- t * error`` with Student's t of G - 1 degrees of freedom.
    """
    from scipy.stats import t

    sources, first, inverse = np.unique(training.table.group, return_index=True, return_inverse=True)
    parts = min(groups, len(sources))
    if parts < 2:
        raise DataError(f"{counted(len(sources), 'training source')}; confidence intervals of weights need at least 2")
    part = stratified_folds(training.language_pair[first], parts, seed, training.table.block[first])
    replicates = np.stack([training.weights(rows=part[inverse] != number) for number in range(parts)])
    spread = ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
    error = np.sqrt((parts - 1) / parts * spread)
    half = t.ppf(0.975, parts - 1) * error
    weights = training.ranker.weights
    return WeightIntervals(parts, error, weights - half, weights + half, replicates)
