"""Agreement between the judges of a data set, per language pair and for every two judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, PREFERENCES, resolve_kind
from ranker.errors import DataError
from ranker.evaluation.judges.coefficients import (
    DISTANCES,
    agreement_sums,
    cohen_kappa_of,
    coincidences,
    consistency_counts,
    fleiss_kappa_of,
    krippendorff_alpha_of,
    randolph_kappa_of,
    scott_pi_of,
)
from ranker.evaluation.judges.votes import Votes, preference_votes, rating_orders, rating_votes
from ranker.evaluation.resampling.bootstrap import Estimate, draws, estimate, stream

MOST_CATEGORIES = 12
"""Maximum number of values of a scale for which categorical coefficients are computed."""


@dataclass(frozen=True)
class Consistency:
    """Agreement of sets of judges on the order of two candidates of a source (Ye, Zhou and Lin 2007, section 2.1)."""

    judges: int
    pairs: int
    agreeing: float
    with_ties: float


@dataclass(frozen=True)
class JudgePair:
    """Agreement of two judges on the units that both judged."""

    first: str
    second: str
    units: int
    agreeing: float
    kappa: float
    linear: float
    quadratic: float
    pi: float


@dataclass(frozen=True)
class JudgesAgreement:
    """Agreement of the judges of one language pair."""

    lp: str
    judges: int
    units: int
    judgements: int
    figures: Mapping[str, Estimate]
    pairs: tuple[Any, ...]
    """A `JudgePair`, or for marked errors a `ranker.evaluation.judges.marks.RaterPair`, for every two judges."""
    sources: int


def consistency(dataset: Dataset, kind: str, judges: int = 2) -> Consistency:
    """Measure how often sets of `judges` judges agree on the order of two candidates of a source."""
    orders = preference_votes(dataset) if kind == PREFERENCES else rating_orders(dataset, kind)
    total, same, tolerant = consistency_counts(orders.counts(), judges).sum(axis=0)
    nothing = float("nan")
    return Consistency(judges, int(total), same / total if total else nothing, tolerant / total if total else nothing)


def cohen_kappa(dataset: Dataset, kind: str) -> float:
    """Cohen's kappa (1960), averaged over pairs of judges, weighted by the number of units that both judged."""
    votes = preference_votes(dataset) if kind == PREFERENCES else rating_votes(dataset, kind)
    _, counts = _confusions(votes)
    return float(_weighted_mean(cohen_kappa_of(counts), counts.sum(axis=(-2, -1))))


def judges_agreement(
    dataset: Dataset, kind: str = AUTO, *, resamples: int = 1000, seed: int = 0
) -> tuple[JudgesAgreement, ...]:
    """Measure the agreement of judges for each language pair, and for all language pairs together."""
    kind = resolve_kind(dataset, kind)
    if kind == PREFERENCES:
        votes = orders = preference_votes(dataset)
    else:
        votes, orders = rating_votes(dataset, kind), rating_orders(dataset, kind)
    if not len(votes.several().judge):
        what = f"found no candidates with {kind} judgements by two judges"
        raise DataError(f"{what}: add such judgements, or choose another kind", file=dataset.name)
    agreements = []
    for lp in (*dataset.language_pairs, "all"):
        chosen = np.ones(len(dataset.sources), dtype=bool) if lp == "all" else dataset.source_language_pairs == lp
        pair_votes = votes.of_sources(chosen)
        if len(pair_votes.several().judge) and not (lp == "all" and len(dataset.language_pairs) == 1):
            agreements.append(_agreement(lp, pair_votes, orders.of_sources(chosen), resamples, seed))
    return tuple(agreements)


def _agreement(lp: str, votes: Votes, orders: Votes, resamples: int, seed: int) -> JudgesAgreement:
    several = votes.several()
    # nothing is resampled from a single source
    resamples = resamples if len(np.unique(several.source)) > 1 else 0
    blocks: dict[str, FloatArray] = {}
    for number in (2, 3):
        blocks[f"consistency {number}"] = orders.per_source(consistency_counts(orders.counts(), number))
    seen_again = votes.repeated()
    if len(seen_again):
        blocks["same judge"] = seen_again
    counts = votes.counts()
    if len(votes.categories) <= MOST_CATEGORIES:
        shares = agreement_sums(counts)
        shares[:, 2:] = votes.both_ways(shares[:, 2:], 1)
        blocks["shares"] = votes.per_source(shares)
        together = votes.both_ways(coincidences(counts), (1, 2))
        blocks["coincidences"] = votes.per_source(together.reshape(len(counts), -1))
    sample = {name: np.empty((resamples, block.shape[1])) for name, block in blocks.items()}
    pairs, confusions = _confusions(votes)
    by_source = votes.pair_matrix(pairs)
    of_pairs = _pair_figures(confusions, votes.categories)
    weighted: dict[str, FloatArray] = {name: np.empty(resamples) for name in of_pairs}
    size = votes.sources
    for start, weights in draws(size, resamples, stream(seed, lp)):
        stop = start + len(weights)
        for name, block in blocks.items():
            sample[name][start:stop] = weights @ block
        # a few weighted confusion matrices at a time, to limit memory
        step = max(1, 4_000_000 // max(confusions.size, 1))
        for begin in range(0, len(weights), step):
            part = np.asarray((by_source.T @ weights[begin : begin + step].T).T).reshape(-1, *confusions.shape)
            for name, values in _pair_figures(votes.both_ways(part, (-2, -1)), votes.categories).items():
                weighted[name][start + begin : start + begin + len(part)] = values
    figures: dict[str, Estimate] = {}
    totals = {name: block.sum(axis=0) for name, block in blocks.items()}
    whole, resampled = _figures(totals, votes.categories), _figures(sample, votes.categories)
    for name, value in whole.items():
        figures[name] = estimate(float(value), resampled[name])
    for name, values in of_pairs.items():
        figures[name] = estimate(float(values), weighted[name])
    return JudgesAgreement(
        lp,
        len(np.unique(several.judge)),
        len(np.unique(several.unit)),
        len(several.judge),
        figures,
        _judge_pairs(votes, pairs, confusions),
        len(np.unique(several.source)),
    )


def _figures(sums: Mapping[str, FloatArray], categories: FloatArray) -> dict[str, FloatArray]:
    """Compute the agreement figures, by name, from the sums of each figure's columns (last axis)."""
    figures: dict[str, FloatArray] = {}
    with np.errstate(invalid="ignore", divide="ignore"):
        for number in (2, 3):
            total, same, tolerant = np.moveaxis(sums[f"consistency {number}"], -1, 0)
            figures[f"consistency {number}"] = same / total
            figures[f"consistency {number} with ties"] = tolerant / total
        if "same judge" in sums:
            figures["same judge"] = sums["same judge"][..., 0] / sums["same judge"][..., 1]
    if "shares" in sums:
        figures["fleiss"] = fleiss_kappa_of(sums["shares"])
        figures["randolph"] = randolph_kappa_of(sums["shares"])
        size = len(categories)
        table = sums["coincidences"].reshape(*sums["coincidences"].shape[:-1], size, size)
        for distance in DISTANCES:
            figures[f"krippendorff {distance}"] = krippendorff_alpha_of(table, distance, categories)
    return figures


def _pair_figures(counts: FloatArray, categories: FloatArray) -> dict[str, FloatArray]:
    """Average the coefficients over pairs of judges, from confusion matrices (..., pairs, categories, categories)."""
    units = counts.sum(axis=(-2, -1))
    if counts.shape[-1] > MOST_CATEGORIES:
        return {}
    return {name: _weighted_mean(values, units) for name, values in _coefficients(counts, categories).items()}


def _coefficients(counts: FloatArray, categories: FloatArray) -> dict[str, FloatArray]:
    """Return the coefficients for each pair of judges, by name, in the order of the fields of `JudgePair`."""
    return {
        "cohen": cohen_kappa_of(counts),
        "cohen linear": cohen_kappa_of(counts, "linear", categories),
        "cohen quadratic": cohen_kappa_of(counts, "quadratic", categories),
        "scott": scott_pi_of(counts),
    }


def _weighted_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.where(known, values * weights, 0.0).sum(axis=-1)
        return np.asarray(total / np.where(known, weights, 0.0).sum(axis=-1))


def _confusions(votes: Votes) -> tuple[Int64Array, FloatArray]:
    """Return the codes of pairs of judges with common units, and confusion matrices (pairs, categories, categories)."""
    pairs, place = np.unique(votes.pairs.code, return_inverse=True)
    size = len(votes.categories)
    code = (place * size + votes.pairs.first) * size + votes.pairs.second
    counts = np.bincount(code, minlength=len(pairs) * size * size).reshape(len(pairs), size, size)
    return pairs.astype(np.int64), votes.both_ways(counts.astype(np.float64), (-2, -1))


def _judge_pairs(votes: Votes, pairs: Int64Array, counts: FloatArray) -> tuple[JudgePair, ...]:
    units = counts.sum(axis=(-2, -1))
    agreeing = np.trace(counts, axis1=-2, axis2=-1) / units
    columns, names = _coefficients(counts, votes.categories).values(), votes.judges
    return tuple(
        JudgePair(
            names[code // len(names)],
            names[code % len(names)],
            int(units[index]),
            float(agreeing[index]),
            *(float(column[index]) for column in columns),
        )
        for index, code in enumerate(pairs.tolist())
    )
