"""How often human judges agree with a ranker, by the margin of its scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, human_scores, preference_pairs
from ranker.evaluation.bootstrap import Estimate, estimate, resampled_sums, stream
from ranker.ranks import merge_ties

BINS = 10
_STEPS = 50


@dataclass(frozen=True)
class Bin:
    """Pairs of candidates with similar score differences."""

    low: float
    high: float
    mean: float
    pairs: int
    agreement: Estimate


@dataclass(frozen=True)
class MarginCalibration:
    """Agreement by margin."""

    bins: tuple[Bin, ...]
    pairs: int
    tied: int
    slope: float


def strict_pairs(dataset: Dataset, kind: str) -> tuple[Int64Array, Int64Array]:
    """Return the better and the worse candidate of every pair that the judges order."""
    if kind == PREFERENCES:
        pairs = preference_pairs(dataset)
        return pairs.better, pairs.worse
    human = merge_ties(human_scores(dataset, kind), dataset.candidate_offsets)
    return graded_pairs(human, dataset.candidate_source)


def graded_pairs(values: FloatArray, group: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the higher and the lower row of all pairs of rows in a group whose values differ."""
    rows = np.arange(len(values))
    partners = np.searchsorted(group, group, side="right") - rows - 1
    first = np.repeat(rows, partners)
    starts = np.cumsum(partners) - partners
    second = np.arange(len(first)) - starts[first] + first + 1
    with np.errstate(invalid="ignore"):
        difference = values[first] - values[second]
        strict = np.abs(difference) > 0
    first, second, above = first[strict], second[strict], difference[strict] > 0
    return np.where(above, first, second), np.where(above, second, first)


def calibrate(
    margins: FloatArray, source: Int64Array, sources: int, *, bins: int = BINS, resamples: int = 1000, seed: int = 0
) -> MarginCalibration:
    """Count agreement by margin."""
    untied = margins != 0
    tied = int((~untied).sum())
    margins, source = margins[untied], source[untied]
    if not len(margins):
        return MarginCalibration((), 0, tied, float("nan"))
    size = np.abs(margins)
    edges = np.unique(np.quantile(size, np.linspace(0, 1, bins + 1)[1:-1]))
    place = np.searchsorted(edges, size, side="left")
    bins = len(edges) + 1
    agrees = margins > 0
    counts = np.bincount(source * bins + place, minlength=sources * bins).reshape(sources, bins)
    agreed = np.bincount((source * bins + place)[agrees], minlength=sources * bins).reshape(sources, bins)
    sums = resampled_sums(
        np.concatenate([counts, agreed], axis=1).astype(np.float64), resamples, stream(seed, "calibration")
    )
    used_bins = []
    for number in np.flatnonzero(counts.sum(axis=0)):
        inside = size[place == number]
        with np.errstate(invalid="ignore", divide="ignore"):
            samples = sums[:, bins + number] / sums[:, number]
        share = agreed[:, number].sum() / len(inside)
        used_bins.append(
            Bin(float(inside.min()), float(inside.max()), float(inside.mean()), len(inside), estimate(share, samples))
        )
    return MarginCalibration(tuple(used_bins), len(margins), tied, _slope(margins))


def _slope(margins: FloatArray) -> float:
    """Maximise the log-likelihood ``-sum log(1 + exp(-slope * margin))``, which is concave, by Newton's method."""
    if (margins > 0).all():
        return float("inf")
    if (margins < 0).all():
        return float("-inf")
    scale = float(np.abs(margins).mean())
    scaled, slope = margins / scale, 0.0
    for _ in range(_STEPS):
        share = 0.5 * (1.0 - np.tanh(0.5 * slope * scaled))
        gradient = float(scaled @ share)
        step = gradient / float((scaled * scaled) @ (share * (1.0 - share)))
        slope += float(np.clip(step, -1.0, 1.0))
        if abs(step) < 1e-12:
            break
    return slope / scale
