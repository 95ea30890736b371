"""Minimum error rate training: weights that make a linear model choose the translations that score best by a metric.

Och (2003): the score as a function of one step along a direction is piecewise constant, and `line_search` finds its
best interval exactly. Line searches are repeated in the manner of Powell (1964) from many starting points, as in Cer,
Manning and Jurafsky (2010).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ranker.apps.tuning.envelope import project
from ranker.apps.tuning.line_search import Problem
from ranker.apps.tuning.weights import WeightSpace
from ranker.arrays import FloatArray
from ranker.ranking.scorers import sign_of
from ranker.threads import jobs


@dataclass(frozen=True)
class MertSearch:
    """Settings of the search for weights."""

    restarts: int = 20
    directions: int = 5
    tolerance: float = 1e-6
    rounds: int = 100
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Climb:
    """Result of the search from one starting point."""

    start: FloatArray
    weights: FloatArray
    start_gain: float
    gain: float
    rounds: int
    searches: int


@dataclass(frozen=True, eq=False)
class Optimum:
    """Result of the searches from all starting points."""

    weights: FloatArray
    score: float
    start_score: float
    best_start: int
    climbs: tuple[Climb, ...]
    seconds: float


def optimise(
    problem: Problem,
    space: WeightSpace,
    search: MertSearch,
    *,
    iteration: int = 1,
    earlier: Iterable[FloatArray] = (),
) -> Optimum:
    """Search from the start of `space`, from `earlier` best points and from random points, several searches at once."""
    began = time.perf_counter()
    points = [space.start, *earlier, *space.restarts(search.restarts, search.seed, iteration)]
    # + 0.0 makes -0 a 0
    first = {(point + 0.0).tobytes(): number for number, point in reversed(list(enumerate(points)))}
    numbers = sorted(first.values())
    problem.prepare()

    def run(number: int) -> Climb:
        return climb(problem, space, search, points[number], draws=(iteration, number))

    pool = ThreadPoolExecutor(jobs())
    try:
        climbs = tuple(pool.map(run, numbers))
    finally:
        pool.shutdown(cancel_futures=True)
    best = max(range(len(climbs)), key=lambda index: climbs[index].gain)
    weights, gain = climbs[best].weights, climbs[best].gain
    normal = space.normal(weights)
    # scaling changes choices only by rounding; a start that nothing improves keeps its digits
    if gain > climbs[0].start_gain and problem.gain(normal) >= gain:
        weights, gain = normal, problem.gain(normal)
    sign = sign_of(problem.objective)
    return Optimum(
        weights,
        sign * gain,
        sign * climbs[0].start_gain,
        numbers[best],
        climbs,
        time.perf_counter() - began,
    )


def climb(
    problem: Problem, space: WeightSpace, search: MertSearch, start: FloatArray, *, draws: tuple[int, int] = (1, 0)
) -> Climb:
    """Search from one starting point by line searches (Powell 1964) until a round of searches gains nothing."""
    random = np.random.default_rng([search.seed, *draws, 1])
    weights = start.copy()
    scores = project(problem.features, weights)
    gain = first = problem.gain(weights)
    free, axes = np.flatnonzero(space.free), np.eye(len(start))
    searches = rounds = 0
    while rounds < search.rounds:
        rounds += 1
        before, gain_before = weights.copy(), gain
        random_directions = [
            np.where(space.free, random.normal(size=len(start)) / problem.spread, 0.0) for _ in range(search.directions)
        ]
        for direction in [*free.tolist(), *random_directions, None]:
            if direction is None:
                direction = weights - before
                if np.count_nonzero(direction) < 2:
                    continue
            vector = axes[direction] if isinstance(direction, int) else direction
            step, promised = problem.best_step(scores, direction, *space.steps(weights, vector))
            searches += 1
            if step == 0 or promised <= gain:
                continue
            moved = np.where(space.free, np.clip(weights + step * vector, space.lower, space.upper), weights)
            moved_scores = project(problem.features, moved)
            reached = problem.gain_of(moved_scores)
            # sums along a line carry rounding errors; what counts is the score of the point itself
            if reached > gain:
                weights, scores, gain = moved, moved_scores, reached
        if gain - gain_before <= search.tolerance:
            break
        # normalised if that keeps the gain, so that long searches do not drift to extreme scales
        normal = space.normal(weights)
        normal_scores = project(problem.features, normal)
        if problem.gain_of(normal_scores) == gain:
            weights, scores = normal, normal_scores
    return Climb(start, weights, first, gain, rounds, searches)
