from __future__ import annotations

import numpy as np
import pytest

from ranker import threads
from ranker.apps.tuning.hypotheses import StatisticsTable
from ranker.apps.tuning.iterations import IterationPlan, problem_of, tune
from ranker.apps.tuning.mert import MertSearch, optimise
from ranker.apps.tuning.weights import weight_space
from ranker.extractors.registry import make_metric
from ranker.ranking.scorers import MetricScorer, sign_of
from tests.apps.tuning.lists import random_list
from tests.effort import further, thorough


def problem(metric="bleu[order=4]", seed=0, **sizes):
    nbest, references = random_list(seed, **{"sentences": 30, "hypotheses": 12, "columns": 4, **sizes})
    objective = MetricScorer(make_metric(metric))
    return nbest, problem_of(nbest, StatisticsTable(objective, references))


@pytest.mark.parametrize("metric", ["bleu[order=4]", *map(further, ("ter", "chrf", "combine[bleu - ter]"))])
def test_the_score_is_never_behind_any_starting_point(metric):
    for seed in range(2):
        nbest, search_problem = problem(metric, seed)
        space = weight_space(nbest.layout, np.ones(4))
        optimum = optimise(search_problem, space, MertSearch(restarts=4, seed=seed))
        gain = sign_of(search_problem.objective) * optimum.score
        assert gain >= max(climb.start_gain for climb in optimum.climbs)
        assert gain == max(climb.gain for climb in optimum.climbs) == search_problem.gain(optimum.weights)
        assert np.abs(optimum.weights).sum() == pytest.approx(1)
        assert all(climb.gain >= climb.start_gain for climb in optimum.climbs)


def test_two_weights_reach_the_best_of_all_directions():
    # with two columns only the angle matters, so all choices can be listed
    nbest, search_problem = problem(columns=2, sentences=12, hypotheses=6)
    angles = np.linspace(0, 2 * np.pi, 4_001)
    best = max(search_problem.gain(np.array([np.cos(angle), np.sin(angle)])) for angle in angles)
    optimum = optimise(search_problem, weight_space(nbest.layout, np.ones(2)), MertSearch())
    assert optimum.score >= best - 1e-12


@thorough
def test_the_same_seed_gives_the_same_bytes_with_any_number_of_threads():
    nbest, search_problem = problem()
    space = weight_space(nbest.layout, np.ones(4))
    result = []
    for jobs in (1, 3, 1):
        with threads.using(jobs):
            result.append(optimise(search_problem, space, MertSearch(restarts=5, seed=7)))
    assert len({left.weights.tobytes() for left in result}) == 1
    right = optimise(search_problem, space, MertSearch(restarts=5, seed=8))
    assert [climb.start.tolist() for climb in right.climbs] != [climb.start.tolist() for climb in result[0].climbs]


@thorough
def test_restart_points_are_the_same_for_every_metric_and_differ_between_iterations():
    starts = {}
    for metric in ("bleu", "ter", "chrf"):
        nbest, search_problem = problem(metric)
        space = weight_space(nbest.layout, np.ones(4))
        result = [optimise(search_problem, space, MertSearch(restarts=3), iteration=iteration) for iteration in (1, 2)]
        starts[metric] = [[climb.start.tolist() for climb in item.climbs[1:]] for item in result]
    assert starts["bleu"] == starts["ter"] == starts["chrf"]
    assert starts["bleu"][0] != starts["bleu"][1]


def test_bounds_and_fixed_weights_are_kept():
    nbest, search_problem = problem()
    space = weight_space(nbest.layout, [9.0, 1, 1, 1], fixed=["f.2=0.25", "f.3"], bounds=["f.1=0:0.5", "f.4=:-0.1"])
    assert space.start.tolist() == [0.5, 0.25, 1, -0.1]
    optimum = optimise(search_problem, space, MertSearch(restarts=6))
    points = [optimum.weights, *(climb.weights for climb in optimum.climbs), *(climb.start for climb in optimum.climbs)]
    for point in points:
        assert 0 <= point[0] <= 0.5
        assert point[1] == 0.25
        assert point[2] == 1
        assert point[3] <= -0.1
    assert len({climb.start.tobytes() for climb in optimum.climbs}) == 7


def test_earlier_points_are_starting_points_and_equal_ones_are_searched_once():
    nbest, search_problem = problem()
    space = weight_space(nbest.layout, np.ones(4))
    earlier = [np.array([1.0, 0, 0, 0]), np.ones(4), np.array([1.0, -0.0, 0, 0])]
    optimum = optimise(search_problem, space, MertSearch(restarts=0), earlier=earlier)
    assert [climb.start.tolist() for climb in optimum.climbs] == [[1, 1, 1, 1], [1, 0, 0, 0]]


def test_further_iterations_on_one_list_go_on_until_nothing_is_better():
    nbest, references = random_list(5, sentences=20, hypotheses=10, columns=6)
    objective = MetricScorer(make_metric("bleu"))
    plan = IterationPlan(search=MertSearch(restarts=1), iterations=50)
    tuned = tune(objective, references, nbest, plan=plan)
    scores = [step.score for step in tuned.steps]
    assert scores == sorted(scores)
    assert tuned.stopped == "no better weights"
    assert len(tuned.steps) < 50
    assert scores[-1] > tuned.steps[0].start
