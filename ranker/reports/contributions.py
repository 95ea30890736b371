"""What the extractors contribute to the scores, and how extractors, scores and human scores correlate."""

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


def correlations(
    columns: Sequence[FloatArray],
    owner: Int64Array,
    scores: Sequence[FloatArray],
    human: Sequence[FloatArray],
    sources: Sequence[Int64Array],
) -> FloatArray:
    """Correlate extractors (means of features that rise with the score), scores and human scores within sources."""
    matrices = [np.column_stack(pair) for pair in zip(columns, scores, strict=True)]
    centred = np.concatenate([within_sources(*arguments) for arguments in zip(matrices, sources, strict=True)])
    people = np.concatenate([_people_within(*arguments) for arguments in zip(human, sources, strict=True)])
    turned = centred[:, :-1] * np.where(centred[:, -1] @ centred[:, :-1] < 0, -1.0, 1.0)
    by_extractor = np.equal.outer(owner, np.arange(owner.max() + 1)).astype(np.float64)
    measures = np.column_stack([turned @ (by_extractor / by_extractor.sum(axis=0)), centred[:, -1]])
    return _with_people(measures, people)


def score_correlations(scores: FloatArray, human: FloatArray, source: Int64Array) -> FloatArray:
    """Correlate the scores of several metrics, and human scores if available, within sources."""
    known = np.isfinite(scores).all(axis=1)
    return _with_people(within_sources(scores[known], source[known]), _people_within(human[known], source[known]))


def _people_within(human: FloatArray, source: Int64Array) -> FloatArray:
    """Return the scores of people less their mean over the source, divided by their standard deviation."""
    values = np.full(len(human), np.nan)
    known = ~np.isnan(human)
    if known.any():
        values[known] = within_sources(human[known, np.newaxis], source[known])[:, 0]
        values /= np.nanstd(values) or 1.0
    return values


def _with_people(measures: FloatArray, people: FloatArray) -> FloatArray:
    """Return the correlations of columns, and of people's scores as the last unless all are NaN."""
    known = ~np.isnan(people)
    matrix = _pearson(measures)
    if known.any():
        last = _pearson(np.column_stack([measures[known], people[known]]))
        matrix = np.pad(matrix, (0, 1))
        matrix[-1] = matrix[:, -1] = last[-1]
    return matrix


def within_sources(values: FloatArray, source: Int64Array) -> FloatArray:
    """Return `values` (candidates, k) minus their mean over the candidates of the same source."""
    counts = np.maximum(np.bincount(source), 1)
    means = np.stack([np.bincount(source, weights=column) for column in values.T], axis=1) / counts[:, np.newaxis]
    return np.asarray(values - means[source])


def _pearson(matrix: FloatArray) -> FloatArray:
    """Return the correlations of columns; NaN of those that do not vary, but for rounding."""
    centred = matrix - matrix.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    scale[scale < 1e-9 * np.sqrt(len(matrix))] = np.nan
    units = centred / scale
    return np.asarray(np.clip(units.T @ units, -1, 1))
