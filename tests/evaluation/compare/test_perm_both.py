from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ranker.corpora.judgements import PreferencePairs, human_scores, preference_pairs
from ranker.errors import OptionError
from ranker.evaluation.compare.candidates import CandidateScores, by_language_pair, part_of
from ranker.evaluation.compare.metric_tests import randomised_units
from ranker.evaluation.compare.perm_both import perm_both_outputs, perm_both_systems
from ranker.evaluation.compare.statistics import SegmentStatistics
from ranker.evaluation.compare.system_statistics import SystemStatistics
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import tau_counts
from tests.evaluation.compare.perm_both_plain import SWAPPED, perm_both, standardised
from tests.evaluation.correlation.plain import correlate
from tests.evaluation.made import preferred

NAMES = {"pearson": "pearson", "kendall_b": "kendall-b"}


def test_exact_enumeration_equals_the_stored_one(cases):
    compared = 0
    for case in cases[::2]:
        for key, wanted in case["compare_a_b"].items():
            kind, _, name, *_ = key.split(".")
            if kind == "exact":
                result = perm_both(case["human"], case["metric_b"], case["metric_a"], NAMES[name], permutations=4096)
                assert result.exact
                assert result.greater == pytest.approx(wanted["p"], abs=1e-9), case["id"]
                assert result.difference == pytest.approx(wanted["delta"], abs=1e-9)
                compared += 1
    assert compared > 10


def test_random_permutations_equal_mt_metrics_eval_within_their_error(cases):
    deviations = []
    for case in cases[::2]:
        for name, actual in NAMES.items():
            wanted = case["compare_a_b"].get(f"mtme.perm_both.{name}.none")
            if wanted is None or case["human"].size <= 10:
                continue
            result = perm_both(case["human"], case["metric_b"], case["metric_a"], actual, permutations=500)
            assert result.difference == pytest.approx(wanted["delta"], abs=1e-9)
            middle = np.clip((result.greater + wanted["p"]) / 2, 0.01, 0.99)
            error = np.sqrt(middle * (1 - middle) * (1 / 500 + 1 / wanted["k"]))
            deviations.append((result.greater - wanted["p"]) / error)
    assert len(deviations) > 30
    assert np.abs(deviations).max() < 4.5
    assert np.std(deviations) < 1.4


@pytest.mark.parametrize("average", ["none", "item", "system"])
@pytest.mark.parametrize("name", SWAPPED)
def test_every_correlation_equals_its_definition(name, average):
    generator = np.random.default_rng(0)
    human, first, second = np.round(generator.normal(size=(3, 3, 2)), 1)
    result = perm_both(human, first, second, name, average, permutations=64)
    left, right = standardised(first.ravel()).reshape(3, 2), standardised(second.ravel()).reshape(3, 2)
    differences = []
    for swap in product([False, True], repeat=6):
        mask = np.array(swap).reshape(3, 2)
        a = correlate(human, np.where(mask, right, left), name, average)
        b = correlate(human, np.where(mask, left, right), name, average)
        differences.append(np.nan_to_num(a.value) - np.nan_to_num(b.value))
    observed = differences[0]
    assert result.difference == pytest.approx(observed, abs=1e-9)
    assert result.greater == pytest.approx((np.array(differences) >= observed - 1e-9).mean(), abs=1e-9)
    assert result.two_sided == pytest.approx((np.abs(differences) >= abs(observed) - 1e-9).mean(), abs=1e-9)


def test_identical_metrics_give_one_and_unknown_names_are_refused():
    human, scores = np.random.default_rng(1).normal(size=(2, 4, 30))
    result = perm_both(human, scores, scores * 2 + 1, "kendall-b", "item", permutations=50)
    assert (result.greater, result.two_sided, result.exact) == (1, 1, False)
    assert perm_both(human, scores, scores, permutations=50).two_sided == 1
    assert perm_both(human, scores, -scores, seed=3) == perm_both(human, scores, -scores, seed=3)
    with pytest.raises(OptionError, match="no correlation 'spearman'"):
        perm_both(human, scores, scores, "spearman")


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


class Signs:
    """Gives prepared signs instead of random ones, as 0 and 1."""

    def __init__(self, signs: np.ndarray) -> None:
        self.signs = signs

    def integers(self, high, size, dtype):
        assert (high, size) == (2, self.signs.shape)
        return self.signs.astype(dtype)


def test_swaps_by_products_of_matrices_equal_swaps_one_by_one(piece):
    part, metrics = piece
    signs = np.ones((40, len(part.rows)), dtype=int)
    signs[:, part.needed] = np.random.default_rng(3).integers(2, size=(40, part.needed.sum()))
    result = perm_both_outputs(part, metrics, 40, Signs(signs[:, part.needed]))
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
        result = randomised_units(family, metrics[:2], 6, Signs(selected))
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


def test_swapped_systems_keep_the_observed_difference_first():
    generator = np.random.default_rng(5)
    human, first, second = generator.normal(size=(3, 6))
    result = perm_both_systems(human, [first, second], 300, generator)
    wanted = np.corrcoef(human, first)[0, 1] - np.corrcoef(human, second)[0, 1]
    assert result["system.pearson"][0, 0] == pytest.approx(wanted)
    exact = perm_both(human[:, np.newaxis], first[:, np.newaxis], second[:, np.newaxis], permutations=64)
    share = (np.abs(result["system.pearson"][1:, 0]) >= abs(wanted) - 1e-9).mean()
    assert share == pytest.approx(exact.two_sided, abs=4 * 0.5 / np.sqrt(300))
