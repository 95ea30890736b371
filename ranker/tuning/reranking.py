"""Choosing one hypothesis a sentence: by weights, by a trained ranker, by an oracle, or by minimum Bayes risk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.nbest import NBestList
from ranker.errors import DataError, OptionError, counted
from ranker.extractors.base import Metric
from ranker.extractors.scorers import Scorer
from ranker.tuning.envelope import best_of_blocks, project
from ranker.tuning.hypotheses import StatisticsTable, dataset_of, distinct_hypotheses
from ranker.tuning.pairwise import mean_pairwise
from ranker.tuning.weights import Weights

_SWEEPS = 100


def model_scores(nbest: NBestList, weights: Weights) -> FloatArray:
    """Return the weighted sum of the features of every hypothesis, shape (hypotheses,)."""
    return project(nbest.features, weights.fit(nbest.layout, nbest.name))


def best_hypotheses(nbest: NBestList, scores: npt.ArrayLike, sentences: int | None = None) -> Int64Array:
    """Return the best hypothesis of every sentence by score, of equal ones the first; -1 where there is none."""
    number = sentences if sentences is not None else int(nbest.sentence.max(initial=-1)) + 1
    return best_of_blocks(np.asarray(scores, dtype=np.float64), nbest.offsets(number))


def sentence_scores(nbest: NBestList, references: Dataset, objective: Scorer) -> FloatArray:
    """Return the objective's score of every hypothesis by itself, higher is better, shape (hypotheses,)."""
    table = StatisticsTable(objective, references)
    row = table.rows(nbest)
    return objective.gain(table.statistics)[row]


def score_of_choice(nbest: NBestList, references: Dataset, objective: Scorer, chosen: npt.ArrayLike) -> float:
    """Return the objective's score of one hypothesis a sentence; only their statistics are extracted."""
    objective.check_new_texts("hypotheses")
    rows = np.asarray(chosen, dtype=np.int64)
    statistics = objective.statistics(dataset_of(nbest, references, rows[rows >= 0]))
    return float(objective.score(statistics.sum(axis=0)))


def oracle(nbest: NBestList, references: Dataset, objective: Scorer) -> Int64Array:
    """Return the choice that the objective likes best, found by ascent, shape (sentences,).

    It begins with every sentence's best hypothesis by itself. Then every sentence's best exchange, all others kept, is
    looked for, and the most gainful of these exchanges are made as long as they gain together, until none does. For
    objectives that are means of sentence scores that is the optimum, for others a lower bound of it.
    """
    table = StatisticsTable(objective, references)
    row = table.rows(nbest)
    offsets = nbest.offsets(len(references.sources))
    statistics = table.statistics
    chosen = best_of_blocks(objective.gain(statistics)[row], offsets)
    for _ in range(_SWEEPS):
        chosen_statistics = statistics[row[chosen]]
        total = chosen_statistics.sum(axis=0)
        before = float(objective.gain(total))
        gains = objective.gain(total + statistics[row] - np.repeat(chosen_statistics, np.diff(offsets), axis=0))
        better = best_of_blocks(gains, offsets)
        sentences = np.flatnonzero(gains[better] > before)
        sentences = sentences[np.argsort(-gains[better[sentences]], kind="stable")]
        if not len(sentences):
            break
        changes = statistics[row[better[sentences]]] - statistics[row[chosen[sentences]]]
        together = objective.gain(total + np.cumsum(changes, axis=0))
        best = int(np.argmax(together))
        if together[best] <= before + 1e-12 * max(1.0, abs(before)):
            break
        chosen[sentences[: best + 1]] = better[sentences[: best + 1]]
    return chosen


def posterior(nbest: NBestList, scores: npt.ArrayLike | None = None, scale: float = 1.0) -> FloatArray:
    """Return the probability of every hypothesis among those of its sentence, shape (hypotheses,)."""
    if not np.isfinite(scale):
        raise OptionError(f"--scale {scale}: expected a finite number")
    number = int(nbest.sentence.max(initial=-1)) + 1
    with np.errstate(over="ignore"):
        scaled = np.zeros(len(nbest)) if scores is None else scale * np.asarray(scores, dtype=np.float64)
    if not np.isfinite(scaled).all():
        raise OptionError(f"--scale {scale:g}: too large for the scores of {nbest.name}")
    highest = np.full(number, -np.inf)
    np.maximum.at(highest, nbest.sentence, scaled)
    raised = np.exp(scaled - highest[nbest.sentence])
    return np.asarray(raised / np.bincount(nbest.sentence, raised, minlength=number)[nbest.sentence])


def expected_gains(
    nbest: NBestList, metric: Metric, probability: FloatArray | None = None, references: Dataset | None = None
) -> FloatArray:
    r"""Return the expected gain of every hypothesis if the others are what is right, shape (hypotheses,).

    .. math:: \sum_{h'} P(h') G(h, h')

    over the hypotheses h' of the sentence, h among them, with the metric's score G of h against h' as its only
    reference (Kumar and Byrne 2004, equation 5). The highest has the minimum Bayes risk.
    """
    first, row, _ = distinct_hypotheses(nbest)
    if references is not None and len(nbest) and nbest.sentence[-1] >= len(references.sources):
        raise DataError(
            f"has hypotheses for sentence {nbest.sentence[-1]}, of {counted(len(references.sources), 'source')}: "
            "sentence numbers start at 0",
            file=nbest.name,
        )
    chances = posterior(nbest) if probability is None else probability
    mass = np.asarray(np.bincount(row, chances, minlength=len(first)), dtype=np.float64)
    return mean_pairwise(nbest, first, metric, mass, references)[0][row]
