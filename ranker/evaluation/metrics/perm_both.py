"""PERM-BOTH (Deutsch, Dror and Roth 2021): random swaps of single scores between two metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.judgements import PreferencePairs
from ranker.evaluation.correlation.pairwise_accuracy import pairwise_accuracy
from ranker.evaluation.correlation.pearson import pearson_rows
from ranker.evaluation.metrics.candidates import CandidateScores, LanguagePairData, standardised
from ranker.evaluation.metrics.statistics import StatisticValues

_ROWS = 100
_METRIC_PAIRS = 24


def perm_both_outputs(
    language_pair: LanguagePairData,
    scored: Sequence[CandidateScores],
    permutations: int,
    generator: np.random.Generator,
) -> StatisticValues:
    """PERM-BOTH at segment level: swap the scores of two metrics for random candidates.

    A sum over preferences of the sign of a score difference, taken for two metrics and subtracted, changes its sign if
    both candidates of a preference are swapped; such a function of two signs s and t is ``a s + b t``. So the
    difference of two taus is linear in the signs of the candidates, and so are the sums that Pearson's r is made of:
    all permutations of all pairs of metrics are products of matrices.
    """
    needed = np.flatnonzero(language_pair.needed)
    signs = np.ones((1 + permutations, len(needed)), dtype=np.int8)
    signs[1:] = generator.integers(2, size=(permutations, len(needed)), dtype=np.int8) * 2 - 1
    judged = np.flatnonzero(language_pair.judged)
    human = language_pair.human[judged] - language_pair.human[judged].mean() if len(judged) else np.zeros(0)
    taus = _distinct_taus(language_pair)
    differences: dict[str, list[FloatArray]] = {}
    for block in _blocks(list(combinations(scored, 2))):
        columns: list[FloatArray] = []
        places: list[tuple[str, int]] = []
        for first, second in block:
            for identities, pairs in taus:
                places.extend((identity, len(columns)) for identity in identities)
                wins_only = identities == ("segment.consistency",)
                columns.append(_tau_weights(first.scores, second.scores, pairs, wins_only))
            places.append(("segment.pearson", len(columns)))
            columns.extend(_moment_weights(first.scores, second.scores, judged, human))
        sums = _products(signs, np.stack(columns, axis=1)[needed])
        pair = -1
        for identity, place in places:
            if identity != "segment.pearson":
                differences.setdefault(identity, []).append(sums[:, place])
                continue
            pair += 1
            first, second = block[pair]
            values = _pearson_difference(first.scores[judged], second.scores[judged], human, sums[:, place : place + 3])
            differences.setdefault(identity, []).append(values)
    return {identity: np.stack(each, axis=1) for identity, each in differences.items()}


def perm_both_systems(
    human: FloatArray, metric: Sequence[FloatArray], permutations: int, generator: np.random.Generator
) -> StatisticValues:
    """PERM-BOTH at system level: swap the standardised scores of two metrics for random systems."""
    swap = np.zeros((1 + permutations, len(human)), dtype=bool)
    swap[1:] = generator.random((permutations, len(human))) < 0.5
    differences: dict[str, list[FloatArray]] = {"system.accuracy": [], "system.pearson": []}
    for first, second in combinations([standardised(values) for values in metric], 2):
        left, right = np.where(swap, second, first), np.where(swap, first, second)
        differences["system.accuracy"].append(pairwise_accuracy(human, left) - pairwise_accuracy(human, right))
        differences["system.pearson"].append(pearson_rows(human, left) - pearson_rows(human, right))
    return {identity: np.stack(each, axis=1) for identity, each in differences.items()}


def _distinct_taus(language_pair: LanguagePairData) -> list[tuple[tuple[str, ...], PreferencePairs]]:
    """Group statistics that are sums over the same preferences; return each group's ids and preferences."""
    official, primary = language_pair.pairs.get("official"), language_pair.pairs.get("primary")
    taus: list[tuple[tuple[str, ...], PreferencePairs]] = []
    if primary is not None:
        taus.append((("segment.consistency",), primary))
        if official is not None and len(official.better) == len(primary.better):
            # the primary preferences are a subset of the official preferences
            return [*taus, (("segment.tau.official", "segment.tau.primary"), primary)]
        taus.append((("segment.tau.primary",), primary))
    return [*taus, *([(("segment.tau.official",), official)] if official is not None else [])]


def _blocks(
    pairs: list[tuple[CandidateScores, CandidateScores]],
) -> Iterator[list[tuple[CandidateScores, CandidateScores]]]:
    for start in range(0, len(pairs), _METRIC_PAIRS):
        yield pairs[start : start + _METRIC_PAIRS]


def _products(signs: npt.NDArray[np.int8], columns: FloatArray) -> FloatArray:
    products = np.empty((len(signs), columns.shape[1]))
    for start in range(0, len(signs), _ROWS):
        products[start : start + _ROWS] = signs[start : start + _ROWS].astype(np.float64) @ columns
    return products


def _tau_weights(first: FloatArray, second: FloatArray, pairs: PreferencePairs, wins_only: bool) -> FloatArray:
    """Return each candidate's share of the difference of two taus; swapping its two scores flips the sign.

    With `wins_only`, the terms are those of consistencies instead of taus.
    """

    def outcome(better: FloatArray, worse: FloatArray) -> FloatArray:
        difference = better - worse
        return np.asarray(difference > 0, dtype=np.float64) if wins_only else np.sign(difference)

    better, worse = pairs.better, pairs.worse
    together = outcome(first[better], first[worse]) - outcome(second[better], second[worse])
    crossed = outcome(first[better], second[worse]) - outcome(second[better], first[worse])
    weight = np.bincount(better, weights=together + crossed, minlength=len(first))
    weight += np.bincount(worse, weights=together - crossed, minlength=len(first))
    return np.asarray(weight / (2 * len(better)))


def _moment_weights(first: FloatArray, second: FloatArray, judged: Int64Array, human: FloatArray) -> list[FloatArray]:
    """Return half the differences of two metrics in each candidate's score, squared score, and score x human score."""
    left, right = first[judged], second[judged]
    columns = []
    for values in ((left - right) / 2, (left**2 - right**2) / 2, human * (left - right) / 2):
        column = np.zeros(len(first))
        column[judged] = values
        columns.append(column)
    return columns


def _pearson_difference(first: FloatArray, second: FloatArray, human: FloatArray, moved: FloatArray) -> FloatArray:
    middle = np.array([(first + second).sum(), (first**2 + second**2).sum(), (human * (first + second)).sum()]) / 2
    spread = np.sqrt((human**2).sum())

    def r(sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            left = sums[:, 1] - sums[:, 0] ** 2 / len(human)
            return np.asarray(np.where(left > 1e-12 * sums[:, 1], sums[:, 2] / np.sqrt(left) / spread, np.nan))

    return r(middle + moved) - r(middle - moved)
