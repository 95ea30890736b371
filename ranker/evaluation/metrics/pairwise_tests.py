"""Tests of pairs of metrics: null distributions of the difference of a statistic, for all pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ranker.arrays import FloatArray
from ranker.evaluation.choices import Test
from ranker.evaluation.correlation.pearson import pearson_rows
from ranker.evaluation.metrics.candidates import CandidateScores
from ranker.evaluation.metrics.perm_both import perm_both_outputs, perm_both_systems
from ranker.evaluation.metrics.statistics import SegmentStatistics, StatisticSet, StatisticValues
from ranker.evaluation.metrics.system_statistics import SystemStatistics
from ranker.evaluation.resampling.significance import williams


def null_differences(
    group: StatisticSet,
    scored: Sequence[CandidateScores],
    test: Test,
    permutations: int,
    generator: np.random.Generator,
) -> StatisticValues:
    """Return differences between all pairs of metrics under the null hypothesis, shape (1 + permutations, pairs).

    The first row has the observed differences. Statistics that the test does not apply to are left out.
    """
    if test == "randomisation":
        if isinstance(group, SystemStatistics) and any(scores.statistics is not None for scores in scored):
            return {}
        return randomised_units(group, [scores.standardise() for scores in scored], permutations, generator)
    if isinstance(group, SegmentStatistics):
        even = [scores.standardise() for scores in scored]
        return perm_both_outputs(group.language_pair, even, permutations, generator)
    if isinstance(group, SystemStatistics):
        return perm_both_systems(*_system_scores(group, scored), permutations, generator)
    return {}


def randomised_units(
    group: StatisticSet, scored: Sequence[CandidateScores], permutations: int, generator: np.random.Generator
) -> StatisticValues:
    """Return differences under the null hypothesis, from random swaps of two metrics' scores for whole units."""
    columns = [group.measure(metric_scores)[0] for metric_scores in scored]
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
    """P-values of Williams' test for all pairs of metrics, shape (pairs,); empty if `group` contains no Pearson's r."""
    if isinstance(group, SegmentStatistics):
        human, scores = group.human, [metric_scores.scores[group.judged] for metric_scores in scored]
    elif isinstance(group, SystemStatistics):
        human, scores = _system_scores(group, scored)
    else:
        return {}
    values = np.array(scores)
    known = ~np.isnan(human) & ~np.isnan(values).any(axis=0)
    own = pearson_rows(human[known], values[:, known])
    first, second = np.triu_indices(len(scored), 1)
    between = pearson_rows(values[first][:, known], values[second][:, known])
    identity = "segment.pearson" if isinstance(group, SegmentStatistics) else "system.pearson"
    return {identity: williams(own[first], own[second], between, int(known.sum()))}


def _system_scores(group: SystemStatistics, scored: Sequence[CandidateScores]) -> tuple[FloatArray, list[FloatArray]]:
    """Return the systems' human scores and, for each metric, the systems' metric scores, each of shape (systems,)."""
    by_metric = [group.metric(group.measure(scores)[0].sum(axis=0), scores) for scores in scored]
    return group.human(group.shared.sum(axis=0)), by_metric
