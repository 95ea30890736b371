"""Choice of one hypothesis per sentence: by weights, by a trained ranker, by an oracle, or by minimum Bayes risk."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ranker.apps.tuning.envelope import best_of_blocks, project
from ranker.apps.tuning.hypotheses import (
    StatisticsTable,
    all_hypotheses,
    check_last,
    check_sentences,
    dataset_of,
    distinct_hypotheses,
    objective_gain,
    references_of,
)
from ranker.apps.tuning.pairwise import mean_pairwise
from ranker.apps.tuning.weights import Weights
from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.checks.faults import fault_note, outranked
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.in_memory import from_texts
from ranker.corpora.formats.nbest import NBestList
from ranker.errors import DataError, OptionError, counted
from ranker.extractors.base import Metric, check_new_texts
from ranker.files import display_name
from ranker.ranking.scorers import MetricScorer, RankerScorer, Scorer, candidate_scores, systems_scorer, votes_of
from ranker.ranks import TIE, merge_ties

_SWEEPS = 100
_ROUNDING = 1e-13
"""Scores whose relative difference is at most this may differ by rounding alone."""


def model_scores(nbest: NBestList, weights: Weights) -> FloatArray:
    """Return the weighted sum of the features of every hypothesis, shape (hypotheses,)."""
    return project(nbest.features, weights.fit(nbest.layout, nbest.name))


def best_hypotheses(
    nbest: NBestList, scores: npt.ArrayLike, sentences: int | None = None, out: BoolArray | None = None
) -> Int64Array:
    """Return the index of each sentence's best hypothesis by score: the first if tied, -1 if there is none.

    A hypothesis in the mask `out` is the best only if all of its sentence are.
    """
    number = sentences if sentences is not None else int(nbest.sentence.max(initial=-1)) + 1
    values = np.asarray(scores, dtype=np.float64)
    return best_of_blocks(values if out is None else np.where(out, -np.inf, values), nbest.offsets(number))


def tied_note(nbest: NBestList, scores: FloatArray) -> str | None:
    """Return a note if hypotheses tie in most sentences whose scores differ by more than rounding, or None."""
    offsets = nbest.offsets(int(nbest.sentence.max(initial=-1)) + 1)
    first = offsets[:-1][np.diff(offsets) > 0]
    highest, lowest = np.maximum.reduceat(scores, first), np.minimum.reduceat(scores, first)
    differ = highest - lowest > _ROUNDING * np.maximum(np.abs(highest), np.abs(lowest))
    merged = merge_ties(scores, np.append(first, len(scores)))
    tied = differ & (np.maximum.reduceat(merged, first) == np.minimum.reduceat(merged, first))
    if not 2 * tied.sum() > differ.sum():
        return None
    what = f"in {counted(int(tied.sum()), 'sentence')} scores differ by at most {TIE:g} and so tie"
    return f"{what}: the first hypothesis is chosen; multiply the weights or scores by a large number"


def sentence_scores(nbest: NBestList, references: Dataset, objective: Scorer) -> FloatArray:
    """Return the objective's sentence score of every hypothesis, higher is better, shape (hypotheses,)."""
    table = StatisticsTable(objective, references)
    row = table.rows(nbest)
    return objective_gain(objective, table.statistics)[row]


def sound_scores(nbest: NBestList, references: Dataset, objective: Scorer, out: BoolArray) -> FloatArray:
    """Return `sentence_scores`, in which hypotheses that are no translations, such as those `out`, do not vote."""
    if not out.any():
        return sentence_scores(nbest, references, objective)
    check_new_texts(objective.feature_set.members, "hypotheses")
    check_sentences(nbest, references)
    _, row, _ = distinct_hypotheses(nbest)
    return votes_of(objective).values(all_hypotheses(nbest, references), partial(candidate_scores, objective))[row]


def outranked_hypotheses(nbest: NBestList, references: Dataset | None) -> tuple[BoolArray, str | None]:
    """Return a mask of faulty hypotheses whose sentence has a sound one, and a note on the faults, or None."""
    if references is None:
        references = references_of([""] * (int(nbest.sentence.max(initial=-1)) + 1), [], [], nbest.name)
    check_last(nbest, references)
    _, row, _ = distinct_hypotheses(nbest)
    dataset = all_hypotheses(nbest, references)
    return outranked(dataset)[row], fault_note(dataset)


def score_of_choice(nbest: NBestList, references: Dataset, objective: Scorer, chosen: npt.ArrayLike) -> float:
    """Return the objective's joint score of the `chosen` hypotheses; no other hypothesis's statistics are extracted."""
    check_new_texts(objective.feature_set.members, "hypotheses")
    rows = np.asarray(chosen, dtype=np.int64)
    statistics = objective.statistics(dataset_of(nbest, references, rows[rows >= 0]))
    return float(objective.score(statistics.sum(axis=0)))


def oracle_choice(nbest: NBestList, references: Dataset, objective: Scorer) -> Int64Array:
    """Choose one hypothesis per sentence by ascent towards the best joint score, shape (sentences,).

    The search starts from each sentence's best hypothesis by itself. Each round finds the best replacement in every
    sentence with all others unchanged, and makes the most gainful of them, as many as gain most together; it ends when
    none gains. If the objective is a mean of sentence scores, this is the optimum, otherwise a lower bound of it.
    """
    table = StatisticsTable(objective, references)
    row = table.rows(nbest)
    offsets = nbest.offsets(len(references.sources))
    statistics = table.statistics
    chosen = best_of_blocks(objective_gain(objective, statistics)[row], offsets)
    for _ in range(_SWEEPS):
        chosen_statistics = statistics[row[chosen]]
        total = chosen_statistics.sum(axis=0)
        before = float(objective_gain(objective, total))
        gains = objective_gain(
            objective, total + statistics[row] - np.repeat(chosen_statistics, np.diff(offsets), axis=0)
        )
        better = best_of_blocks(gains, offsets)
        sentences = np.flatnonzero(gains[better] > before)
        sentences = sentences[np.argsort(-gains[better[sentences]], kind="stable")]
        if not len(sentences):
            break
        changes = statistics[row[better[sentences]]] - statistics[row[chosen[sentences]]]
        together = objective_gain(objective, total + np.cumsum(changes, axis=0))
        best = int(np.argmax(together))
        if together[best] <= before + 1e-12 * max(1.0, abs(before)):
            break
        chosen[sentences[: best + 1]] = better[sentences[: best + 1]]
    return chosen


def posterior(
    nbest: NBestList, scores: npt.ArrayLike | None = None, scale: float = 1.0, out: BoolArray | None = None
) -> FloatArray:
    """Return the probability of every hypothesis within its sentence, 0 for those in the mask `out`."""
    if not np.isfinite(scale):
        raise OptionError(f"--scale {scale}: expected a finite number")
    number = int(nbest.sentence.max(initial=-1)) + 1
    with np.errstate(over="ignore"):
        scaled = np.zeros(len(nbest)) if scores is None else scale * np.asarray(scores, dtype=np.float64)
    if not np.isfinite(scaled).all():
        raise OptionError(f"--scale {scale:g}: too large for the scores of {nbest.name}; give a smaller number")
    if out is not None:
        scaled = np.where(out, -np.inf, scaled)
    highest = np.full(number, -np.inf)
    np.maximum.at(highest, nbest.sentence, scaled)
    raised = np.exp(scaled - highest[nbest.sentence])
    return np.asarray(raised / np.bincount(nbest.sentence, raised, minlength=number)[nbest.sentence])


def expected_gains(
    nbest: NBestList, gain: Metric | Scorer, probability: FloatArray | None = None, references: Dataset | None = None
) -> FloatArray:
    r"""Return the expected gain of every hypothesis with the other hypotheses as references, shape (hypotheses,).

    .. math:: \sum_{h'} P(h') G(h, h')

    over the hypotheses h' of the sentence, h among them, with the score G of h by a metric or ranker against h' as its
    only reference (Kumar and Byrne 2004, equation 5). The highest has the minimum Bayes risk.
    """
    first, row, _ = distinct_hypotheses(nbest)
    if references is not None:
        check_last(nbest, references)
    chances = posterior(nbest) if probability is None else probability
    mass = np.asarray(np.bincount(row, chances, minlength=len(first)), dtype=np.float64)
    return mean_pairwise(nbest, first, gain, mass, references)[0][row]


def gain_by(scorer: Scorer) -> Metric | Scorer:
    """Return the gain of one hypothesis against another: the scorer's metric, or its ranker without consensus."""
    check_new_texts(scorer.feature_set.members, "hypotheses against each other")
    if isinstance(scorer, MetricScorer):
        return scorer.metric
    if not scorer.feature_set.needs.references:
        what = "minimum Bayes risk requires a ranker that uses references"
        raise OptionError(f"{scorer.name}: {what}; to choose by the scores of this one, give it as the model")
    return systems_scorer(scorer)


def language_note(gain: Metric | Scorer, nbest: NBestList, references: Dataset | None = None) -> str | None:
    """Return the note of a gain on the hypotheses, which serve as references here, such as on their language, or None.

    `references` has the sources, as for `expected_gains`.
    """
    sentences, first = np.unique(nbest.sentence, return_index=True)
    if not len(first):
        return None
    texts, sources = nbest.text_of(first), None
    if references is not None:
        check_last(nbest, references)
        sources = references.sources["text"].iloc[sentences].tolist()
    # a ranker's scorer would also say that systems are scored without consensus
    noting = gain.ranker if isinstance(gain, RankerScorer) else gain
    return noting.note(from_texts(texts, texts, sources, name=nbest.name))


def expected_given_gains(nbest: NBestList, path: str | Path, probability: FloatArray | None = None) -> FloatArray:
    """Return expected gains like `expected_gains`, from a NumPy file of pairwise gains that another program computed.

    For each sentence of n hypotheses, in order, it has n x n numbers: a row per hypothesis with its gain against each.
    """
    file = display_name(path)
    try:
        gains = np.load(path, allow_pickle=False)
        gains = np.asarray(gains, dtype=np.float64).reshape(-1)
    except (OSError, ValueError, EOFError, TypeError) as error:
        raise DataError(f"expected an array of numbers in NumPy's format ({error})", file=file) from None
    sizes = np.bincount(nbest.sentence)
    if not np.isfinite(gains).all():
        raise DataError("has gains that are NaN or infinite, expected finite numbers: compute them again", file=file)
    if len(gains) != (sizes**2).sum():
        expected = f"expected {(sizes**2).sum():,}, n x n for each sentence of n hypotheses"
        raise DataError(f"has {len(gains):,} gains, {expected}: compute them for {nbest.name}", file=file)
    chances = posterior(nbest) if probability is None else probability
    ends = np.cumsum(sizes)
    blocks = zip(np.split(gains, np.cumsum(sizes**2)[:-1]), np.split(chances, ends[:-1]), strict=True)
    return np.concatenate([block.reshape(len(chance), len(chance)) @ chance for block, chance in blocks])
