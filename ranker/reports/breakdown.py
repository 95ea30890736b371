"""Scores of a ranker by system and by reference length, and correlations of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, source_language_pairs
from ranker.evaluation.bootstrap import Estimate, estimate, resampled_sums, stream
from ranker.extractors.text.tokens import source_segments, token_batch
from ranker.ranks import merge_ties

FEWEST_SYSTEMS = 3
"""Minimum number of systems for a correlation."""
EDGES = (10, 20, 30, 40, 60)
"""Lower bounds of the length buckets, in words of the reference."""


@dataclass(frozen=True, eq=False)
class SystemWins:
    """Proportions of wins of the systems of a language pair, by a ranker and by human judgements."""

    language_pair: str
    systems: tuple[str, ...]
    ranker: FloatArray
    people: FloatArray
    pairs: Int64Array
    correlation: float


def by_system(dataset: Dataset, scores: FloatArray, better: Int64Array, worse: Int64Array) -> tuple[SystemWins, ...]:
    """Count the wins of every system per language pair; pairs with fewer than `FEWEST_SYSTEMS` systems are skipped."""
    gain = _agreed(dataset, scores, better, worse)
    system = dataset.candidates["system"].to_numpy(object)
    pair = source_language_pairs(dataset)[dataset.candidate_source[better]]
    tables = []
    for name in sorted(set(pair)):
        of_pair = pair == name
        code, systems = pd.factorize(np.concatenate([system[better[of_pair]], system[worse[of_pair]]]))
        if len(systems) < FEWEST_SYSTEMS:
            continue
        counts = np.bincount(code)
        ranker = np.bincount(code, weights=np.concatenate([gain[of_pair], 1 - gain[of_pair]])) / counts
        people = np.bincount(code[: int(of_pair.sum())], minlength=len(systems)) / counts
        order = np.lexsort((systems, -people))
        spread = ranker.std() > 0 and people.std() > 0
        tables.append(
            SystemWins(
                str(name),
                tuple(systems[order]),
                ranker[order],
                people[order],
                counts[order].astype(np.int64),
                float(np.corrcoef(ranker, people)[0, 1]) if spread else float("nan"),
            )
        )
    return tuple(tables)


@dataclass(frozen=True, eq=False)
class LengthBuckets:
    """Sources grouped by the length of their references."""

    labels: tuple[str, ...]
    sources: Int64Array
    agreement: tuple[Estimate, ...]
    systems: tuple[str, ...]
    scores: FloatArray


def by_length(
    dataset: Dataset,
    scores: FloatArray,
    pairs: tuple[Int64Array, Int64Array] | None,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> LengthBuckets:
    """Group sources with candidates by the mean length of their references, by their own length without any."""
    source = dataset.candidate_source
    filled = np.diff(dataset.candidate_offsets) > 0
    place = np.searchsorted(EDGES, _lengths(dataset), side="right")
    used, bucket = np.unique(place[filled], return_inverse=True)
    place = np.full(len(filled), -1)
    place[filled] = bucket
    starts = (1, *EDGES)
    labels = tuple(
        f"{starts[bucket]}–{EDGES[bucket] - 1}" if bucket < len(EDGES) else f"{EDGES[-1]}+" for bucket in used
    )
    code, systems = pd.factorize(dataset.candidates["system"].to_numpy(object))
    centred = within(scores[:, np.newaxis], source)[:, 0]
    order = np.argsort(-np.bincount(code, weights=centred) / np.bincount(code), kind="stable")
    shape = (len(systems), len(used))
    cell = code * len(used) + place[source]
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    with np.errstate(invalid="ignore"):
        means = np.bincount(cell, weights=centred, minlength=counts.size).reshape(shape) / counts
    agreement: list[Estimate] = []
    if pairs is not None:
        gain, of_pair = _agreed(dataset, scores, *pairs), source[pairs[0]]
        sums = np.stack(
            [np.bincount(of_pair, weights=gain, minlength=len(filled)), np.bincount(of_pair, minlength=len(filled))],
            axis=1,
        )
        for number in range(len(used)):
            block = sums[place == number]
            sample = resampled_sums(block, resamples, stream(seed, "length", number))
            with np.errstate(invalid="ignore", divide="ignore"):
                total = block.sum(axis=0)
                agreement.append(estimate(total[0] / total[1], sample[:, 0] / sample[:, 1]))
    return LengthBuckets(
        labels,
        np.bincount(bucket, minlength=len(used)).astype(np.int64),
        tuple(agreement),
        tuple(systems[order]),
        means[order],
    )


def correlations(
    columns: Sequence[FloatArray],
    owner: Int64Array,
    scores: Sequence[FloatArray],
    human: Sequence[FloatArray],
    sources: Sequence[Int64Array],
) -> FloatArray:
    """Correlate extractors, scores and human scores within sources.

    An extractor with several features is represented by their mean; features that decrease as the score increases are
    negated.
    """
    matrices = [np.column_stack(pair) for pair in zip(columns, scores, strict=True)]
    centred = np.concatenate([within(*arguments) for arguments in zip(matrices, sources, strict=True)])
    people = np.concatenate([_people_within(*arguments) for arguments in zip(human, sources, strict=True)])
    turned = centred[:, :-1] * np.where(centred[:, -1] @ centred[:, :-1] < 0, -1.0, 1.0)
    by_extractor = np.equal.outer(owner, np.arange(owner.max() + 1)).astype(np.float64)
    measures = np.column_stack([turned @ (by_extractor / by_extractor.sum(axis=0)), centred[:, -1]])
    return _with_people(measures, people)


def score_correlations(scores: FloatArray, human: FloatArray, source: Int64Array) -> FloatArray:
    """Correlate the scores of several metrics, and human scores if available, within sources."""
    known = np.isfinite(scores).all(axis=1)
    return _with_people(within(scores[known], source[known]), _people_within(human[known], source[known]))


def _people_within(human: FloatArray, source: Int64Array) -> FloatArray:
    """Return the scores of people less their mean over the source, divided by their standard deviation."""
    values = np.full(len(human), np.nan)
    known = ~np.isnan(human)
    if known.any():
        values[known] = within(human[known, np.newaxis], source[known])[:, 0]
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


def within(values: FloatArray, source: Int64Array) -> FloatArray:
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


def _agreed(dataset: Dataset, scores: FloatArray, better: Int64Array, worse: Int64Array) -> FloatArray:
    """Return 1 for every pair that the scores order as people do, 1/2 for a tie, else 0."""
    merged = merge_ties(scores, dataset.candidate_offsets)
    return np.asarray((np.sign(merged[better] - merged[worse]) + 1) / 2)


def _lengths(dataset: Dataset) -> FloatArray:
    """Return the mean length of the references of every source in words, or its own length where there is none."""
    batch = token_batch(dataset, "13a")
    counts = np.diff(batch.reference_offsets)
    source = np.repeat(np.arange(len(counts)), counts)
    totals = np.bincount(source, weights=batch.reference_lengths, minlength=len(counts))
    own = source_segments(dataset, "13a").lengths
    return np.where(counts > 0, totals / np.maximum(counts, 1), own)
