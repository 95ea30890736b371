from __future__ import annotations

import numpy as np
import pytest

from ranker.corpora.judgements import PreferencePairs, human_scores, preference_pairs
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import tau_counts
from ranker.evaluation.metrics.candidates import CandidateScores, by_language_pair, part_of, standardised
from ranker.evaluation.metrics.pairwise_tests import randomised_units
from ranker.evaluation.metrics.perm_both import perm_both_outputs, perm_both_systems
from ranker.evaluation.metrics.statistics import SegmentStatistics
from ranker.evaluation.metrics.system_statistics import SystemStatistics
from tests.evaluation.made import preferred


class Prepared:
    """Gives prepared choices, 0 and 1, instead of random ones; a random number below one half swaps."""

    def __init__(self, choices: np.ndarray) -> None:
        self.choices = choices

    def integers(self, high, size, dtype):
        assert (high, size) == (2, self.choices.shape)
        return self.choices.astype(dtype)

    def random(self, size):
        assert size == self.choices.shape
        return np.where(self.choices == 1, 0.0, 0.9)


def pooled(cases, key):
    """Yield people, both metrics and what a program says of the cells of each table that people judged."""
    for case in cases[::2]:
        if wanted := case["compare_a_b"].get(key):
            known = ~np.isnan(case["human"])
            yield case["human"][known], [case[f"metric_{name}"][known] for name in "ba"], wanted


def test_all_swaps_equal_the_stored_enumeration(cases):
    compared = 0
    for human, metrics, wanted in pooled(cases, "exact.perm_both.pearson.none"):
        swaps = (np.arange(2 ** len(human))[:, np.newaxis] >> np.arange(len(human))) & 1
        result = perm_both_systems(human, metrics, len(swaps), Prepared(swaps))["system.pearson"][:, 0]
        assert result[0] == pytest.approx(wanted["delta"], abs=1e-9)
        assert (np.nan_to_num(result[1:]) >= result[0] - 1e-12).mean() == pytest.approx(wanted["p"], abs=1e-9)
        compared += 1
    assert compared > 5


def test_random_swaps_equal_mt_metrics_eval_within_their_error(cases):
    deviations = []
    for human, metrics, wanted in pooled(cases, "mtme.perm_both.pearson.none"):
        if len(human) <= 10:
            continue
        result = perm_both_systems(human, metrics, 500, np.random.default_rng(0))["system.pearson"][:, 0]
        assert result[0] == pytest.approx(wanted["delta"], abs=1e-9)
        greater = (1 + (result[1:] >= result[0] - 1e-12).sum()) / 501
        middle = np.clip((greater + wanted["p"]) / 2, 0.01, 0.99)
        deviations.append((greater - wanted["p"]) / np.sqrt(middle * (1 - middle) * (1 / 500 + 1 / wanted["k"])))
    assert len(deviations) > 15
    assert np.abs(deviations).max() < 4.5
    assert np.std(deviations) < 1.4


@pytest.fixture(scope="module")
def piece():
    generator = np.random.default_rng(2)
    human = np.round(generator.normal(size=(25, 5)), 1)
    dataset = preferred(human, repeated=20)
    pairs = {"official": preference_pairs(dataset, primary=False), "primary": preference_pairs(dataset)}
    (result,) = by_language_pair(dataset, human_scores(dataset, "win-rate"), pairs)
    metrics = [
        CandidateScores(f"m{index}", np.round(human.ravel() + generator.normal(size=125), 1)) for index in range(3)
    ]
    return result, [part_of(metric, result).standardise() for metric in metrics]


def test_swaps_by_products_of_matrices_equal_swaps_one_by_one(piece):
    part, metrics = piece
    signs = np.ones((40, len(part.rows)), dtype=int)
    signs[:, part.needed] = np.random.default_rng(3).integers(2, size=(40, part.needed.sum()))
    result = perm_both_outputs(part, metrics, 40, Prepared(signs[:, part.needed]))
    place = -1
    for i in range(3):
        for j in range(i + 1, 3):
            place += 1
            for row in range(41):
                selected = np.ones(len(part.rows), dtype=bool) if row == 0 else signs[row - 1] == 1
                left = np.where(selected, metrics[i].scores, metrics[j].scores)
                right = np.where(selected, metrics[j].scores, metrics[i].scores)
                for selection, pairs in part.pairs.items():
                    wanted = plain_tau(left, pairs) - plain_tau(right, pairs)
                    assert result[f"segment.tau.{selection}"][row, place] == pytest.approx(wanted, abs=1e-12)
                pairs = part.pairs["primary"]
                wanted = (left[pairs.better] > left[pairs.worse]).mean() - (
                    right[pairs.better] > right[pairs.worse]
                ).mean()
                assert result["segment.consistency"][row, place] == pytest.approx(wanted, abs=1e-12)
                known = part.judged
                wanted = np.corrcoef(left[known], part.human[known])[0, 1]
                wanted -= np.corrcoef(right[known], part.human[known])[0, 1]
                assert result["segment.pearson"][row, place] == pytest.approx(wanted, abs=1e-9)


def plain_tau(scores: np.ndarray, pairs: PreferencePairs) -> float:
    return float(tau(tau_counts(scores, pairs, np.zeros(len(scores), int), 1)[0]))


def test_swapped_sources_equal_figures_of_swapped_scores(piece):
    part, metrics = piece
    selected = np.random.default_rng(4).integers(2, size=(6, part.sources))
    for family in (SegmentStatistics(part), SystemStatistics(part)):
        result = randomised_units(family, metrics[:2], 6, Prepared(selected))
        for row in range(6):
            stay = selected[row][part.source] == 1
            mixed = [
                CandidateScores("x", np.where(stay, metrics[a].scores, metrics[b].scores)) for a, b in ((0, 1), (1, 0))
            ]
            shared = family.shared.sum(axis=0)
            left, right = (family.values(shared, family.measure(each)[0].sum(axis=0), each) for each in mixed)
            for identity in left:
                if identity != "segment.acc-eq":  # thresholds stay those of the metrics
                    wanted = left[identity] - right[identity]
                    assert result[identity][1 + row, 0] == pytest.approx(wanted, abs=1e-9), identity


@pytest.mark.parametrize("value", [0.1, 0.3, 0.5])
def test_constant_scores_are_standardised_to_0(value):
    scores = np.full(36, value)
    scores[7] = np.nan
    np.testing.assert_array_equal(standardised(scores), np.where(np.isnan(scores), np.nan, 0.0))
