from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.apps.tuning.envelope import (
    best_of_blocks,
    order_in_blocks,
    project,
    sweep,
    wide_intervals,
)
from ranker.apps.tuning.hypotheses import StatisticsTable, objective_gain
from ranker.apps.tuning.iterations import problem_of
from ranker.apps.tuning.line_search import Problem
from ranker.extractors import registry
from ranker.extractors.base import Metric
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import MetricScorer, RankerScorer, Scorer
from tests.apps.tuning.lists import random_list
from tests.effort import examples

# metrics that look at alignments with the source have another way to the order of words, and resources are not needed;
# given says nothing about hypotheses
INSTEAD = {"lrscore": "lrscore[alignment=ribes]"}
METRICS = [INSTEAD.get(name, name) for name in registry.BUILT_IN if name not in ("combine", "given")]
METRICS = [name for name in METRICS if issubclass(registry.extractor_class(name.partition("[")[0]), Metric)]
MORE = ["bleu[order=2,smoothing=none]", "combine[bleu[order=4] - 2*ter]", "combine[meteor + lrscore[alignment=ribes]]"]


def chosen_plainly(scores, offsets):
    chosen = []
    for start, stop in itertools.pairwise(offsets):
        rows = range(start, stop)
        chosen.append(max(rows, key=lambda row: (scores[row], -row)) if len(rows) else -1)
    return chosen


def sum_plainly(problem, intercept, slope, step):
    chosen = chosen_plainly(intercept + step * slope, problem.offsets)
    return np.sum([problem.statistics[problem.row[row]] for row in chosen if row >= 0], axis=0)


def steps_between_crossings(problem, intercept, slope):
    """Return a step between any two neighbouring crossings of lines of one sentence, and beyond all of them."""
    crossings = []
    for start, stop in itertools.pairwise(problem.offsets):
        for combination, right in itertools.combinations(range(start, stop), 2):
            if slope[combination] != slope[right]:
                crossings.append((intercept[right] - intercept[combination]) / (slope[combination] - slope[right]))
    ends = np.unique(crossings)
    if not len(ends):
        return np.zeros(1)
    return np.concatenate([[ends[0] - 1], (ends[1:] + ends[:-1]) / 2, [ends[-1] + 1]])


def best_plainly(problem, intercept, slope):
    steps = steps_between_crossings(problem, intercept, slope)
    sums = np.array([sum_plainly(problem, intercept, slope, step) for step in steps])
    return objective_gain(problem.objective, sums).max()


def check_line_search(objective: Scorer, seed: int, **sizes: int) -> None:
    nbest, references = random_list(seed, **sizes)
    problem = problem_of(nbest, StatisticsTable(objective, references))
    random = np.random.default_rng(seed)
    weights = random.normal(size=nbest.features.shape[1])
    scores = project(problem.features, weights)
    for direction in (0, 1, random.normal(size=len(weights))):
        vector = np.eye(len(weights))[direction] if isinstance(direction, int) else direction
        step, gain = problem.best_step(scores, direction)
        best = best_plainly(problem, scores, project(problem.features, vector))
        assert gain == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert problem.gain(weights + step * vector) == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert gain >= problem.gain(weights) - 1e-12


@pytest.mark.parametrize("name", [*METRICS, *MORE])
def test_the_optimum_of_every_metric_is_that_of_all_crossings(name):
    objective = MetricScorer(registry.make_metric(name))
    for seed in range(2):
        check_line_search(objective, seed, references=1 + seed % 2)


def test_the_optimum_for_a_trained_ranker_is_that_of_all_crossings():
    from ranker.corpora import catalogue

    objective = RankerScorer(Ranker("bleu,chrf").fit(catalogue.load("sample")))
    for seed in range(2):
        check_line_search(objective, seed)


TOTAL = SimpleNamespace(higher_is_better=True, score=lambda statistics: np.asarray(statistics)[..., 0])
"""An objective that is a sum."""
# few different values, so that lines are parallel, equal, and cross in one point
SMALL = st.integers(-3, 3).map(float)


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-1.0, 2.0), (0.2, 0.2), (5.0, np.inf)])
def test_intervals_are_their_plain_twins(bounds):
    breakpoints = np.array([-3.0, -1.0, -1.0, 0.5, 0.5 + 1e-11, 4.0])
    expected = []
    for index, (left, right) in enumerate(itertools.pairwise([-np.inf, *breakpoints, np.inf])):
        left, right = max(left, bounds[0]), min(right, bounds[1])
        if right - left > 1e-10 * (1 + sum(abs(end) for end in (left, right) if np.isfinite(end))):
            expected.append((index, left, right))
    result = wide_intervals(breakpoints, *bounds, 1e-10)
    assert list(zip(*(array.tolist() for array in result), strict=True)) == expected


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_sweep_is_its_plain_twin(data):
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    number = sum(sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    intercept, slope = (np.array(data.draw(st.lists(SMALL, min_size=number, max_size=number))) for _ in range(2))
    statistics = np.array(data.draw(st.lists(SMALL, min_size=number, max_size=number))).reshape(-1, 1)
    problem = Problem(np.zeros((number, 1)), offsets, np.arange(number), statistics, TOTAL)
    assert best_of_blocks(intercept, offsets).tolist() == chosen_plainly(intercept, offsets)
    order = order_in_blocks(slope, offsets)
    breakpoints, sums = sweep(intercept, slope, order, offsets, problem.row, statistics)
    assert (np.diff(breakpoints) >= 0).all()
    steps = steps_between_crossings(problem, intercept, slope)
    expected = [sum_plainly(problem, intercept, slope, step) if number else np.zeros(1) for step in steps]
    result = sums[np.searchsorted(breakpoints, steps)]
    assert result.tolist() == np.array(expected).tolist()
    _, gain = problem.best_step(intercept, slope_direction(problem, slope))
    assert gain == max(value[0] for value in expected)


def slope_direction(problem, slope):
    """Let a problem have `slope` as its first column, and return that column."""
    object.__setattr__(problem, "features", slope[:, np.newaxis])
    return 0


def test_steps_keep_to_their_limits():
    nbest, references = random_list(1, sentences=8, hypotheses=8)
    problem = problem_of(nbest, StatisticsTable(MetricScorer(registry.make_metric("bleu")), references))
    weights = np.ones(3)
    scores = project(problem.features, weights)
    free = problem.best_step(scores, 0)
    for lowest, highest in ((-0.1, 0.05), (0.0, 0.3), (-np.inf, -1.0), (2.0, np.inf), (0.0, 0.0)):
        step, gain = problem.best_step(scores, 0, lowest, highest)
        assert lowest <= step <= highest or (lowest == highest and step == 0)
        assert gain <= free[1]
        for tried in np.linspace(max(lowest, -9), min(highest, 9), 300)[1:-1] if lowest < highest else []:
            assert problem.gain(weights + np.array([tried, 0, 0])) <= gain + 1e-12
