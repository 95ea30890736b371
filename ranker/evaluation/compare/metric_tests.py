"""Whether two metrics differ: null distributions of the difference of a figure, for all pairs of metrics at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ranker.arrays import FloatArray
from ranker.evaluation.compare.candidates import CandidateScores
from ranker.evaluation.compare.statistics import Family, Figures, SegmentFigures
from ranker.evaluation.compare.system_statistics import SystemFigures
from ranker.evaluation.correlation.correlation import pearson_rows
from ranker.evaluation.significance import williams


def randomised_units(
    family: Family, scored: Sequence[CandidateScores], permutations: int, generator: np.random.Generator
) -> Figures:
    """Approximate randomisation: the outputs of two metrics for whole units are swapped at random.

    Parameters
    ----------
    family : Family
    scored : sequence of CandidateScores
        On one scale, without statistics; see `ranker.evaluation.compare.candidates.part_of`.
    permutations : int
    generator : Generator

    Returns
    -------
    dict of float array, shape (1 + permutations, pairs)
        Differences by statistic, of the metrics ``(i, j)``, i < j in row order; the first row is what was observed.
    """
    columns = [family.measure(one).columns for one in scored]
    kept = np.ones((1 + permutations, family.units))
    kept[1:] = generator.integers(2, size=(permutations, family.units), dtype=np.int8)
    shared = family.shared.sum(axis=0)
    totals = [one.sum(axis=0) for one in columns]
    mine = [kept @ one for one in columns]
    found: dict[str, list[FloatArray]] = {}
    for i, j in combinations(range(len(scored)), 2):
        first = family.figures(shared, mine[i] + totals[j] - mine[j], scored[i])
        second = family.figures(shared, mine[j] + totals[i] - mine[i], scored[j])
        for identity, values in first.items():
            found.setdefault(identity, []).append(values - second[identity])
    return {identity: np.stack(each, axis=1) for identity, each in found.items()}


def williams_tests(family: Family, scored: Sequence[CandidateScores]) -> Figures:
    """Williams' test of every two metrics: p-values of the statistics that are one Pearson's r, shape (pairs,)."""
    if isinstance(family, SegmentFigures):
        human, values = family.human, np.array([one.scores[family.judged] for one in scored])
    elif isinstance(family, SystemFigures):
        human = family.human(family.shared.sum(axis=0))
        values = np.array([family.metric(family.measure(one).columns.sum(axis=0), one) for one in scored])
    else:
        return {}
    known = ~np.isnan(human) & ~np.isnan(values).any(axis=0)
    own = pearson_rows(human[known], values[:, known])
    first, second = np.triu_indices(len(scored), 1)
    between = pearson_rows(values[first][:, known], values[second][:, known])
    identity = "segment.pearson" if isinstance(family, SegmentFigures) else "system.pearson"
    return {identity: williams(own[first], own[second], between, int(known.sum()))}
