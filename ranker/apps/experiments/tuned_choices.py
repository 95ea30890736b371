"""Choices among the outputs of several systems, tuned to a metric: shared by the experiments with MERT.

Every output of a system is a hypothesis for its source, with features that need no reference; weights are found on one
side of the sources, and the outputs that they choose are scored on both.
`ranker.apps.experiments.choice_comparison` compares choices.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ranker.apps.experiments.aligners import WordAligner, with_spaces
from ranker.apps.experiments.settings import Settings
from ranker.apps.tuning.envelope import best_of_blocks, project
from ranker.apps.tuning.line_search import Problem
from ranker.apps.tuning.mert import MertSearch, optimise
from ranker.apps.tuning.nbest_features import FeatureOptions, from_dataset
from ranker.apps.tuning.weights import weight_space
from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.formats.nbest import NBestList
from ranker.corpora.formats.pharaoh import attach_all
from ranker.errors import DataError
from ranker.extractors.base import Metric
from ranker.extractors.composed.combine import Combination
from ranker.extractors.order.lrscore import LRscore
from ranker.progress import report
from ranker.ranking.scorers import Scorer, scorer_of


def all_features(settings: Settings) -> str:
    """Return the notation of the outputs' features, including the language model's if there is one."""
    return settings.features if settings.lm is None else f"lm,{settings.features}"


def tuning_signed(settings: Settings) -> dict[str, object]:
    """Return the tuning settings that a signature lists, by name."""
    return {
        "features": all_features(settings),
        "lm": None if settings.lm is None else f"{settings.lm.name}#{settings.lm.fingerprint[:8]}",
        "restarts": settings.restarts,
        "iterations": settings.iterations,
        "runs": settings.runs,
        "seed": settings.seed,
    }


@dataclass(frozen=True, eq=False)
class Side:
    """The tuning or test side of a language pair: sources, with the systems' outputs as hypotheses."""

    dataset: Dataset
    features: FloatArray
    aligned: Dataset | None

    def statistics(self, metric: Metric | Scorer) -> FloatArray:
        """Return the additive statistics of every hypothesis, shape (candidates, k), extracted once per metric."""
        if isinstance(metric, Combination):
            return np.concatenate([self.statistics(member) for member in metric.metrics], axis=1)
        aligned = self.aligned is not None and needs_alignments([metric])
        return _statistics(self.aligned if aligned and self.aligned else self.dataset, metric)

    def problem(self, metric: Metric | Scorer) -> Problem:
        """Return the line search problem whose objective is `metric`."""
        rows = np.arange(len(self.dataset))
        offsets = self.dataset.candidate_offsets
        return Problem(self.features, offsets, rows, self.statistics(metric), scorer_of(metric))

    def choose(self, weights: FloatArray) -> Int64Array:
        """Return the candidate that `weights` choose for every source, shape (sources,)."""
        return best_of_blocks(project(self.features, weights), self.dataset.candidate_offsets)

    def score(self, metric: Metric | Scorer, chosen: Int64Array) -> float:
        """Return the corpus score of the `chosen` candidates, one per source."""
        return float(metric.score(self.statistics(metric)[chosen].sum(axis=0)))


@view
def _statistics(dataset: Dataset, metric: Metric | Scorer) -> FloatArray:
    return scorer_of(metric).statistics(dataset)


@dataclass(frozen=True, eq=False)
class TuningPair:
    """The tuning and test sides of a language pair."""

    name: str
    nbest: NBestList
    tuning: Side
    test: Side
    aligner: WordAligner | None


@dataclass(frozen=True, eq=False)
class LanguagePairPart:
    """Sources of one language pair, and their split into a tuning and a test side."""

    name: str
    dataset: Dataset
    first: BoolArray
    settings: Settings

    def make(self, *, align: bool) -> TuningPair:
        """Extract the features of all hypotheses and, if `align` is true, align their words."""
        dataset = self.dataset
        text = _lm_text(self.settings.lm, self.name)
        selection = from_dataset(dataset, FeatureOptions(all_features(self.settings), text))
        aligned, aligner = None, None
        if align:
            spaced = with_spaces(dataset)
            aligner = self.settings.aligners.aligner(spaced, self.name)
            aligned = attach_all(spaced, aligner.align(spaced))
        sides = []
        for keep in (self.first, ~self.first):
            features = np.ascontiguousarray(selection.nbest.features[keep[dataset.candidate_source]])
            sides.append(Side(dataset.select_sources(keep), features, aligned and aligned.select_sources(keep)))
        return TuningPair(self.name, selection.nbest, sides[0], sides[1], aligner)


@dataclass(frozen=True, eq=False)
class TuningRun:
    """Result of one run of tuning."""

    weights: FloatArray
    iterations: int
    searches: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of tuning one language pair to every metric; axes of `scores`: tuning metric, scoring metric, run."""

    pair: TuningPair
    runs: list[list[TuningRun]]
    scores: dict[str, FloatArray]
    start: dict[str, FloatArray]
    choices: list[Int64Array]
    extraction: list[float]


def needs_alignments(metrics: Sequence[Metric | Scorer]) -> bool:
    """True if any metric, or any member of a combination, needs words aligned with the source."""
    return any(
        needs_alignments(metric.metrics)
        if isinstance(metric, Combination)
        else isinstance(metric, LRscore) and metric.alignment == "bilingual" and metric.aligner is None
        for metric in metrics
    )


def language_pairs(dataset: Dataset, settings: Settings, *, align: bool) -> list[TuningPair]:
    """Make every language pair's tuning and test sides, split by document, or by source if there are no documents."""
    return [part.make(align=align) for part in language_pair_parts(dataset, settings)]


def language_pair_parts(dataset: Dataset, settings: Settings) -> list[LanguagePairPart]:
    """Divide a corpus into language pairs, and the sources of each pair into a tuning and a test side."""
    outputs = dataset.select_candidates(~dataset.is_reference)
    filled = (outputs.sources["text"].fillna("").str.strip() != "").to_numpy(bool)
    complete = outputs.select_sources(filled & (np.diff(outputs.candidate_offsets) > 0))
    first = split(complete, settings.seed)
    parts = []
    for name in complete.language_pairs:
        of_pair = complete.source_language_pairs == name
        alone = complete.select_sources(of_pair)
        chosen = first[of_pair]
        if chosen.all() or not chosen.any():
            chosen = split(alone, settings.seed)
        if not chosen.any():
            raise DataError(
                f"language pair {name}: too few documents for a tuning part and a test part; use more documents",
                file=dataset.name,
            )
        parts.append(LanguagePairPart(name, alone, chosen, settings))
    return parts


def split(dataset: Dataset, seed: int) -> BoolArray:
    """Draw a mask of the tuning side, shape (sources,): about half of the sources, in whole documents."""
    document, names = pd.factorize(dataset.sources["doc"], sort=True)
    alone = document < 0
    document[alone] = len(names) + np.arange(alone.sum())  # a source without a document is one of its own
    if len(np.unique(document)) < 2:
        document = np.arange(len(document))
    sizes = np.bincount(document)
    order = np.random.default_rng(seed).permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    # the last document is on the test side, however large it is
    return np.asarray(np.isin(document, order[:-1][before[:-1] < len(document) / 2]), dtype=bool)


def _lm_text(corpus: Dataset | None, name: str) -> list[str]:
    """Return the references of `corpus` in the target language of the language pair `name`."""
    if corpus is None:
        return []
    target = name.partition("-")[2]
    keep = np.array(
        [language_pair.partition("-")[2] == target for language_pair in corpus.source_language_pairs], dtype=bool
    )
    texts: list[str] = corpus.references["text"][keep[corpus.references["source"].to_numpy()]].tolist()
    return texts


def tune(pair: TuningPair, metric: Metric | Scorer, settings: Settings, run: int) -> TuningRun:
    """Find the weights that score best by `metric` on the tuning side (Cer, Manning and Jurafsky 2010, section 3)."""
    began = time.process_time()
    problem = pair.tuning.problem(metric)
    space = weight_space(pair.nbest.layout, equal_weights(pair))
    search = MertSearch(restarts=settings.restarts, seed=settings.seed + run)
    searches = 0
    for iteration in range(1, settings.iterations + 1):
        optimum = optimise(problem, space, search, iteration=iteration)
        searches += sum(climb.searches for climb in optimum.climbs)
        if iteration > 1 and optimum.score == optimum.start_score:
            break
        space = dataclasses.replace(space, start=optimum.weights)
    return TuningRun(space.start, iteration, searches, time.process_time() - began)


def equal_weights(pair: TuningPair) -> FloatArray:
    """Return the equal weights from which tuning starts, shape (columns,)."""
    columns = pair.nbest.features.shape[1]
    return np.full(columns, 1.0 / columns)


def tune_and_score(
    pair: TuningPair,
    tuned_to: Mapping[str, Metric | Scorer],
    scored: Mapping[str, Metric | Scorer],
    settings: Settings,
    place: tuple[int, int],
) -> Outcome:
    """Tune to each metric in all runs, score the choices, and report progress at `place` (pair index, pair count)."""
    sides = {"tuning": pair.tuning, "test": pair.test}
    number = settings.runs
    scores = {side: np.zeros((len(tuned_to), len(scored), number)) for side in sides}
    runs: list[list[TuningRun]] = []
    choices, extraction = [], []
    for metric in tuned_to.values():
        began = time.process_time()
        for tuning_side in sides.values():
            tuning_side.statistics(metric)
        extraction.append(time.process_time() - began)
    for row, metric in enumerate(tuned_to.values()):
        runs.append([tune(pair, metric, settings, at) for at in range(number)])
        for name, side in sides.items():
            for at, optimum in enumerate(runs[-1]):
                chosen = side.choose(optimum.weights)
                scores[name][row, :, at] = [side.score(scoring_metric, chosen) for scoring_metric in scored.values()]
                if name == "test" and at == 0:
                    choices.append(chosen)
        report("metrics tuned to", place[0] * len(tuned_to) + row + 1, place[1] * len(tuned_to))
    untuned = equal_weights(pair)
    start = {
        name: np.array([side.score(scoring_metric, side.choose(untuned)) for scoring_metric in scored.values()])
        for name, side in sides.items()
    }
    return Outcome(pair, runs, scores, start, choices, extraction)
