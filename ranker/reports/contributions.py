"""What the extractors contribute to the scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.ranking import Ranker


def extractor_columns(ranker: Ranker) -> Int64Array:
    """Return the place of the extractor that makes each column, shape (columns,)."""
    return np.repeat(
        np.arange(len(ranker.feature_set.extractors)),
        [len(extractor.columns) for extractor in ranker.feature_set.extractors],
    ).astype(np.int64)


def shares(contributions: Sequence[FloatArray], sources: Sequence[Int64Array], owner: Int64Array) -> FloatArray:
    """Divide the variance of scores within sources: ``sum(contribution * score) / sum(score^2)`` of centred values."""
    products = np.zeros(len(owner))
    for matrix, source in zip(contributions, sources, strict=True):
        centred = within_sources(matrix, source)
        products += centred.T @ centred.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(owner, weights=products) / products.sum())


def within_sources(values: FloatArray, source: Int64Array) -> FloatArray:
    """Return `values` (candidates, k) minus their mean over the candidates of the same source."""
    counts = np.maximum(np.bincount(source), 1)
    means = np.stack([np.bincount(source, weights=column) for column in values.T], axis=1) / counts[:, np.newaxis]
    return np.asarray(values - means[source])
