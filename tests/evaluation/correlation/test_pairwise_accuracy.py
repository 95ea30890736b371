from __future__ import annotations

import numpy as np
import pytest

from ranker.evaluation.correlation.pairwise_accuracy import limit_p_values, pairwise_accuracy, soft_accuracy
from tests.evaluation.correlation.plain import pairwise_p_values, soft_pairwise_accuracy


def test_soft_pairwise_accuracy_and_agreement_equal_mt_metrics_eval(cases):
    compared = 0
    for case in cases:
        for name in "ab":
            human, scores, wanted = case["human"], case[f"metric_{name}"], case["stats"][name]
            agreeing, pairs = wanted["mtme.agreement.none"]
            assert pairwise_accuracy(human.ravel(), scores.ravel()) == pytest.approx(agreeing / pairs, abs=1e-12)
            soft = wanted.get("mtme.soft_pairwise_accuracy")
            if soft is not None:
                assert soft_pairwise_accuracy(human, scores) == pytest.approx(soft, abs=1e-9), case["id"]
                compared += 1
    assert compared > 80


def test_p_values_tend_to_their_limit():
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(5, 400)) + np.linspace(0, 0.15, 5)[:, np.newaxis]
    first, second = np.triu_indices(5, 1)
    apart = scores[first] - scores[second]
    limit = limit_p_values(apart.sum(axis=1), (apart**2).sum(axis=1))
    result = pairwise_p_values(scores, permutations=8000)
    assert result == pytest.approx(limit, abs=4 * 0.5 / np.sqrt(8000))
    assert limit_p_values([0.0], [0.0]).tolist() == [0.5]


def test_undefined_pairs_of_systems_are_left_out():
    assert pairwise_accuracy([1, 2, np.nan], [1, 2, 3]) == 1
    assert pairwise_accuracy([1, 2, 3], [[3, 2, 1], [1, 2, 3], [1, 1, 3]]).tolist() == pytest.approx([0, 1, 2 / 3])
    assert np.isnan(pairwise_accuracy([1], [1]))
    assert soft_accuracy([0.1, np.nan], [0.3, 0.9]) == pytest.approx(0.8)
    assert np.isnan(soft_accuracy([np.nan], [0.9]))
