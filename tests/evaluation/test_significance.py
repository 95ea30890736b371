from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from ranker.evaluation.judges import cohen_kappa, consistency
from ranker.evaluation.significance import bootstrap_interval, paired_permutation


def test_interval_is_that_of_the_mean():
    values = np.random.default_rng(0).normal(3, 2, size=400)
    low, high = bootstrap_interval([*values, np.nan], resamples=4000)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.06)
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert np.isnan(bootstrap_interval([np.nan])).all()


def test_permutation_p_equals_the_exact_enumeration():
    difference = np.array([0.5, 1.0, -0.2, 0.7, 0.4, 0.3, -0.1, 0.9])
    signs = np.array(list(product([-1, 1], repeat=len(difference))))
    exact = (np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12).mean()
    found = paired_permutation(difference, np.zeros(8), permutations=40_000)
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000))
    assert found == paired_permutation(difference, np.zeros(8), permutations=40_000)


def test_identical_values_give_one():
    assert paired_permutation([0.1, 0.2, np.nan], [0.1, 0.2, 0.3]) == 1
    assert np.isnan(paired_permutation([np.nan], [1.0]))


def test_p_is_uniform_where_there_is_no_difference():
    generator = np.random.default_rng(3)
    found = [paired_permutation(*generator.normal(size=(2, 30)), permutations=199, seed=i) for i in range(200)]
    assert np.mean(np.array(found) <= 0.1) == pytest.approx(0.1, abs=0.07)


def scored(rows: list[dict[str, float]]):
    """One source; a candidate for each mapping of judges to fluency."""
    candidates = [
        Candidate(f"s{i}", "t", [("fluency", judge, value) for judge, value in row.items()])
        for i, row in enumerate(rows)
    ]
    return assemble([Record("s", ["r"], candidates)], "test")


def test_consistency_counts_agreement_and_contradiction():
    made = scored([{"a": 1, "b": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 2}])
    # pairs: 0<1 both; 0<2 both; 1=2 for a, 1>2 for b: a tie contradicts nothing
    found = consistency(made, "fluency")
    assert (found.pairs, found.agreeing, found.with_ties) == (3, pytest.approx(2 / 3), 1)
    made = scored([{"a": 1, "b": 2, "c": 1}, {"a": 2, "b": 1, "c": 1}])
    found = consistency(made, "fluency", 3)
    assert (found.pairs, found.agreeing, found.with_ties) == (1, 0, 0)
    assert consistency(made, "fluency", 2).pairs == 3
    assert consistency(made, "fluency", 2).with_ties == pytest.approx(2 / 3)


def test_kappa_is_scikit_learns():
    made = scored([{"a": 1, "b": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 2}, {"a": 5, "b": 5}, {"a": 4}])
    # observed .75; expected by the marginals (1: 1/16, 2: 2/16, 5: 1/16) .25
    assert cohen_kappa(made, "fluency") == pytest.approx((0.75 - 0.25) / (1 - 0.25))


def test_one_judge_is_not_enough():
    with pytest.raises(DataError, match="no fluency scores of two judges"):
        consistency(scored([{"a": 1}, {"a": 2}]), "fluency")
