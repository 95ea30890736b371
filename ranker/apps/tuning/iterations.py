"""Tuning in iterations: search for weights, decode with them, merge the n-best lists, search again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np

from ranker.apps.tuning.decoder import Decoder
from ranker.apps.tuning.hypotheses import StatisticsTable, check_sentences
from ranker.apps.tuning.line_search import Problem
from ranker.apps.tuning.mert import MertSearch, Optimum, optimise
from ranker.apps.tuning.state import State
from ranker.apps.tuning.weights import Weights, WeightSpace, check_names, weight_space
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.nbest import Layout, NBestList, merge
from ranker.errors import OptionError
from ranker.ranking.scorers import Scorer

Report = Callable[[str], None]
UNCHANGED = 1e-4
"""Tuning with a decoder ends when no weight changes by more than this."""


@dataclass(frozen=True)
class IterationPlan:
    """Settings of the iterations of tuning."""

    search: MertSearch = dataclasses.field(default_factory=MertSearch)
    iterations: int = 1
    fixed: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """Result of one iteration of tuning: the sizes of the list and the search, the scores, and the weights."""

    iteration: int
    hypotheses: int
    new: int
    start: float
    score: float
    best_start: int
    points: int
    searches: int
    seconds: float
    weights: tuple[float, ...]
    stopped: str = ""


@dataclass(frozen=True, eq=False)
class Tuned:
    """Result of tuning: the weights at the start and the end, the iterations, and the merged n-best list."""

    start: Weights
    weights: Weights
    steps: tuple[Step, ...]
    nbest: NBestList

    @property
    def stopped(self) -> str:
        """Reason why tuning ended."""
        return self.steps[-1].stopped or "all iterations done"


def tune(
    objective: Scorer,
    references: Dataset,
    nbest: NBestList | None = None,
    *,
    start: Weights | None = None,
    decoder: Decoder | None = None,
    state: State | None = None,
    plan: IterationPlan | None = None,
    report: Report = lambda _: None,
) -> Tuned:
    """Find the weights that choose the best-scoring hypotheses from n-best lists."""
    plan = plan or IterationPlan()
    if nbest is None and (decoder is None or start is None):
        raise OptionError("no input: give an n-best list (--nbest), or a decoder (--decoder) and weights (--start)")
    if decoder is not None and state is None:
        raise OptionError("a decoder requires a directory for its lists: give --state DIR")
    given = nbest if nbest is not None else start
    assert given is not None
    layout = given.layout
    space = _space(layout, start, plan, "" if nbest is None else nbest.name)
    if nbest is not None:
        check_sentences(nbest, references)
    with state.open(decoder) if decoder is not None and state is not None else nullcontext():
        return _iterate(objective, references, nbest, layout, decoder, state, space, plan, report)


def _iterate(
    objective: Scorer,
    references: Dataset,
    nbest: NBestList | None,
    layout: Layout,
    decoder: Decoder | None,
    state: State | None,
    space: WeightSpace,
    plan: IterationPlan,
    report: Report,
) -> Tuned:
    table = StatisticsTable(objective, references)
    steps: list[Step] = []
    together: NBestList | None = None
    for iteration in range(1, plan.iterations + 1):
        weights = np.array(steps[-1].weights) if steps else space.start
        new_nbest = nbest if iteration == 1 else None
        if new_nbest is None and decoder is not None and state is not None:
            report(f"iteration {iteration}: decoding")
            current = Weights(layout, tuple(weights.tolist()))
            check = partial(_check_list, weights=current, references=references)
            new_nbest = state.decode(decoder, iteration, current, check)
        before = len(together) if together is not None else 0
        if new_nbest is not None:
            together = new_nbest if together is None else merge(together, new_nbest)
        assert together is not None
        earlier = [np.array(step.weights) for step in steps[:-1]] + ([space.start] if steps else [])
        current_space = dataclasses.replace(space, start=weights)
        problem = problem_of(together, table)
        report(f"iteration {iteration}: searching over {len(together):,} hypotheses")
        optimum = optimise(problem, current_space, plan.search, iteration=iteration, earlier=earlier)
        # what a given list leaves unchanged says nothing about the decoder's
        decoded_by = None if iteration == 1 and nbest is not None else decoder
        done = _step(iteration, together, before, optimum, weights, decoded_by)
        steps.append(done)
        report(f"iteration {iteration}: {objective.name} {done.start:.6f} -> {done.score:.6f}")
        if done.stopped:
            break
    assert together is not None
    return Tuned(
        Weights(layout, tuple(space.start.tolist())), Weights(layout, steps[-1].weights), tuple(steps), together
    )


def problem_of(nbest: NBestList, table: StatisticsTable) -> Problem:
    """Return the line search problem for an n-best list; statistics that `table` lacks are extracted."""
    row = table.rows(nbest)
    offsets = nbest.offsets(len(table.references.sources))
    return Problem(nbest.features, offsets, row, table.statistics, table.objective)


def _space(layout: Layout, start: Weights | None, plan: IterationPlan, name: str) -> WeightSpace:
    check_names(layout, name)
    columns = sum(size for _, size in layout)
    values = np.full(columns, 1.0 / columns) if start is None else start.fit(layout, name)
    space = weight_space(layout, values, fixed=plan.fixed, bounds=plan.bounds)
    return dataclasses.replace(space, start=space.normal(space.start))


def _check_list(nbest: NBestList, weights: Weights, references: Dataset) -> None:
    """Refuse a decoder's n-best list with unexpected sentences or features."""
    check_sentences(nbest, references)
    weights.fit(nbest.layout, nbest.name)


def _step(
    iteration: int,
    together: NBestList,
    before: int,
    optimum: Optimum,
    start: FloatArray,
    decoder: Decoder | None,
) -> Step:
    new = len(together) - before
    stopped = ""
    if iteration > 1 and decoder is not None and new == 0:
        stopped = "no new hypothesis"
    elif decoder is None and iteration > 1 and optimum.score == optimum.start_score:
        stopped = "no better weights"
    elif decoder is not None and np.abs(optimum.weights - start).max(initial=0.0) <= UNCHANGED:
        stopped = "weights no longer change"
    return Step(
        iteration=iteration,
        hypotheses=len(together),
        new=new,
        start=optimum.start_score,
        score=optimum.score,
        best_start=optimum.best_start,
        points=len(optimum.climbs),
        searches=sum(climb.searches for climb in optimum.climbs),
        seconds=round(optimum.seconds, 3),
        weights=tuple(optimum.weights.tolist()),
        stopped=stopped,
    )
