"""Whether two metrics differ: null distributions of the difference of a figure, for all pairs of metrics at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ranker.arrays import FloatArray
from ranker.evaluation.compare.candidates import CandidateScores
from ranker.evaluation.compare.statistics import SegmentStatistics, StatisticSet, StatisticValues
from ranker.evaluation.compare.system_statistics import SystemStatistics
from ranker.evaluation.correlation.correlation import pearson_rows
from ranker.evaluation.significance import williams


def randomised_units(
    group: StatisticSet, scored: Sequence[CandidateScores], permutations: int, generator: np.random.Generator
) -> StatisticValues:
    """Approximate randomisation: the outputs of two metrics for whole units are swapped at random."""
    columns = [group.measure(metric_scores).columns for metric_scores in scored]
    unswapped = np.ones((1 + permutations, group.units))
    unswapped[1:] = generator.integers(2, size=(permutations, group.units), dtype=np.int8)
    shared = group.shared.sum(axis=0)
    totals = [column.sum(axis=0) for column in columns]
    own = [unswapped @ column for column in columns]
    differences: dict[str, list[FloatArray]] = {}
    for i, j in combinations(range(len(scored)), 2):
        first = group.values(shared, own[i] + totals[j] - own[j], scored[i])
        second = group.values(shared, own[j] + totals[i] - own[i], scored[j])
        for identity, values in first.items():
            differences.setdefault(identity, []).append(values - second[identity])
    return {identity: np.stack(each, axis=1) for identity, each in differences.items()}


def williams_tests(group: StatisticSet, scored: Sequence[CandidateScores]) -> StatisticValues:
    """Williams' test of every two metrics: p-values of the statistics that are one Pearson's r, shape (pairs,)."""
    if isinstance(group, SegmentStatistics):
        human, values = group.human, np.array([metric_scores.scores[group.judged] for metric_scores in scored])
    elif isinstance(group, SystemStatistics):
        human = group.human(group.shared.sum(axis=0))
        values = np.array(
            [group.metric(group.measure(metric_scores).columns.sum(axis=0), metric_scores) for metric_scores in scored]
        )
    else:
        return {}
    known = ~np.isnan(human) & ~np.isnan(values).any(axis=0)
    own = pearson_rows(human[known], values[:, known])
    first, second = np.triu_indices(len(scored), 1)
    between = pearson_rows(values[first][:, known], values[second][:, known])
    identity = "segment.pearson" if isinstance(group, SegmentStatistics) else "system.pearson"
    return {identity: williams(own[first], own[second], between, int(known.sum()))}
