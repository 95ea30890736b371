"""Contribution of each extractor: the agreement lost by training without it, and its share of the score variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, source_language_pairs
from ranker.corpora.judgements import human_scores, preference_pairs
from ranker.evaluation.bootstrap import Estimate, estimate, resampled_sums, stream
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import source_spearman, tau_counts
from ranker.ranking import Ranker
from ranker.ranks import merge_ties
from ranker.reports.breakdown import within
from ranker.reports.refits import TrainingColumns

_STATISTICS = 5


@dataclass(frozen=True)
class Ablation:
    """Effect of training without one extractor."""

    extractor: str
    columns: int
    spearman: Estimate
    tau: Estimate


def extractor_columns(ranker: Ranker) -> Int64Array:
    """Return the place of the extractor that makes each column, shape (columns,)."""
    return np.repeat(
        np.arange(len(ranker.feature_set.extractors)),
        [len(extractor.columns) for extractor in ranker.feature_set.extractors],
    ).astype(np.int64)


def ablate(
    training: TrainingColumns,
    datasets: Sequence[Dataset],
    kinds: Sequence[str],
    columns: Sequence[FloatArray],
    usable: Sequence[BoolArray],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[Ablation, ...]:
    """Train without each extractor in turn and compare with training on all of them."""
    ranker = training.ranker
    used = ranker.feature_set.columns_of(np.all(usable, axis=0))
    owner = extractor_columns(ranker)
    places = [int(place) for place in np.unique(owner[used])]
    if len(places) < 2:
        return ()
    weights = np.stack([training.weights(used & (owner != place)) for place in [-1, *places]], axis=1)
    scores = [matrix @ weights for matrix in columns]
    spearman, taus = _differences(datasets, kinds, scores, resamples, seed)
    return tuple(
        Ablation(str(ranker.feature_set.extractors[place]), int((owner == place).sum()), rho, each)
        for place, rho, each in zip(places, spearman, taus, strict=True)
    )


def shares(contributions: Sequence[FloatArray], sources: Sequence[Int64Array], owner: Int64Array) -> FloatArray:
    """Divide the variance of the scores within sources among the extractors.

    With the mean over the source subtracted from all values, ``sum(contribution * score) / sum(score^2)``.
    """
    products = np.zeros(len(owner))
    for matrix, source in zip(contributions, sources, strict=True):
        centred = within(matrix, source)
        products += centred.T @ centred.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(owner, weights=products) / products.sum())


def _differences(
    datasets: Sequence[Dataset], kinds: Sequence[str], scores: Sequence[FloatArray], resamples: int, seed: int
) -> tuple[list[Estimate], list[Estimate]]:
    """Compare the columns of `scores` from the second with the first: mean over language pairs, then data sets."""
    means = []
    for place, (dataset, kind, columns) in enumerate(zip(datasets, kinds, scores, strict=True)):
        statistics = _statistics(dataset, kind, columns)
        pairs = source_language_pairs(dataset)
        present = sorted({str(pair) for pair in pairs[statistics.any(axis=(1, 2))]})
        wanted = [pair for pair in present if pair.endswith("-en")] or present
        blocks = [statistics[pairs == pair].reshape(int((pairs == pair).sum()), -1) for pair in wanted]
        names = [f"{place}/{pair}" for pair in wanted]
        # the first row holds the figures themselves, the others the resampled ones
        totals = [
            np.concatenate([block.sum(axis=0)[np.newaxis], resampled_sums(block, resamples, stream(seed, name))])
            for block, name in zip(blocks, names, strict=True)
        ]
        cells = np.stack([total.reshape(len(total), columns.shape[1], _STATISTICS) for total in totals])
        with np.errstate(invalid="ignore"):
            figures = np.stack([cells[..., 0] / cells[..., 1], tau(cells[..., 2:])], axis=-1)
        means.append(figures.mean(axis=0))
    overall = np.mean(means, axis=0)
    changes = overall[:, 1:] - overall[:, :1]
    spearman, taus = (
        [estimate(change[0], change[1:]) for change in changes[..., index].T] for index in range(changes.shape[-1])
    )
    return spearman, taus


def _statistics(dataset: Dataset, kind: str, scores: FloatArray) -> FloatArray:
    """Return additive statistics (sources, rankers, 5): rho, whether it is defined, and the counts of tau."""
    size = len(dataset.sources)
    human, pairs = human_scores(dataset, kind), preference_pairs(dataset)
    sums = np.zeros((size, scores.shape[1], _STATISTICS))
    for index, each in enumerate(scores.T):
        column = merge_ties(each, dataset.candidate_offsets)
        rho = source_spearman(dataset, column, human)
        sums[:, index, 0] = np.nan_to_num(rho)
        sums[:, index, 1] = ~np.isnan(rho)
        if len(pairs.better):
            sums[:, index, 2:] = tau_counts(column, pairs, dataset.candidate_source, size)
    return sums
