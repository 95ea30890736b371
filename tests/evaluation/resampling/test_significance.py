from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import OptionError
from ranker.evaluation.resampling.significance import (
    bootstrap_interval,
    bootstrap_p,
    clusters,
    holm,
    paired_permutation,
    resampled_p,
    resamples_needed,
    sign_test,
    smallest_p,
    westfall_young,
    williams,
)
from tests.effort import examples, thorough
from tests.evaluation.correlation.plain import correlate
from tests.evaluation.step_down import step_down_max_t


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
    result = paired_permutation(difference, np.zeros(8), permutations=40_000)
    assert result == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000))
    assert result == paired_permutation(difference, np.zeros(8), permutations=40_000)


def test_identical_values_give_one():
    assert paired_permutation([0.1, 0.2, np.nan], [0.1, 0.2, 0.3]) == 1
    assert np.isnan(paired_permutation([np.nan], [1.0]))
    assert np.isnan(paired_permutation([1.0, np.nan], [np.nan, 1.0]))


def test_means_that_are_equal_but_for_rounding_give_one():
    assert paired_permutation([0.1, 0.8, -0.4, 0.6, 0.3, -1.4], np.zeros(6)) == 1


def test_sign_test_equals_the_exact_binomial_test(golden):
    rows = json.loads((golden / "sign_test.json").read_text())
    for row in rows:
        assert sign_test(row["wins"], row["n"]) == pytest.approx(row["exact_two_sided"], abs=1e-12)
    assert len(rows) > 10


def test_the_exact_p_of_the_published_189_wins_is_above_the_printed_one():
    # one-sided, .0536 where the paper's normal approximation has .048
    assert sign_test(189, 347) / 2 == pytest.approx(0.0536, abs=5e-5)
    assert sign_test(158, 347) == pytest.approx(sign_test(189, 347))
    assert sign_test(0, 0) == 1
    with pytest.raises(OptionError, match="3 wins in 2 comparisons; expected 0 to 2"):
        sign_test(3, 2)


def test_williams_equals_mt_metrics_eval(cases):
    for case in cases:
        human, a, b = case["human"], case["metric_a"], case["metric_b"]
        wanted = case["compare_a_b"].get("mtme.williams.pearson.none")
        if wanted is None:
            continue
        r1, r2, r12 = (correlate(x, y).value for x, y in ((human, a), (human, b), (a, b)))
        result = williams(r1, r2, r12, human.size)
        if wanted["p"] is None or np.isnan(wanted["p"]):
            assert np.isnan(result)
        else:
            # it prints the tail of whichever correlation is the higher
            assert result / 2 == pytest.approx(wanted["p"], abs=1e-9)
    assert williams(0.5, 0.5, 1.0, 20) == 1
    assert np.isnan(williams(0.5, 0.4, 0.3, 3))


def test_bootstrap_p_is_uniform_where_there_is_no_difference():
    generator = np.random.default_rng(5)
    values = generator.normal(size=(300, 80))
    weights = generator.multinomial(80, np.full(80, 1 / 80), size=400)
    p = bootstrap_p(weights @ values.T / 80, values.mean(axis=1))
    assert p.shape == (300,)
    for level in (0.1, 0.5):
        assert (p <= level).mean() == pytest.approx(level, abs=0.09)
    assert np.isnan(bootstrap_p(np.full((5, 1), np.nan), [np.nan])).all()


def test_holm_steps_down_and_leaves_the_undefined_out():
    # 3 * .01, 2 * .02, 1 * .03 kept from falling
    assert holm([0.03, 0.01, np.nan, 0.02])[[1, 3, 0]].tolist() == pytest.approx([0.03, 0.04, 0.04])
    assert np.isnan(holm([0.03, 0.01, np.nan, 0.02])[2])
    assert holm([0.9, 0.8]).tolist() == [1, 1]


def joint_null(seed: int, resamples: int, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated differences of unlike spread under the null hypothesis, and observed ones."""
    generator = np.random.default_rng(seed)
    null = generator.normal(size=(resamples, pairs)) + generator.normal(size=(resamples, 1))
    spread = generator.uniform(0.1, 9, size=pairs)
    return null * spread, generator.normal(size=pairs) * 3 * spread


@pytest.mark.parametrize("pairs", [1, 2, 7, 28])
def test_westfall_young_equals_the_step_down_in_plain_python(pairs, monkeypatch):
    null, observed = joint_null(pairs, 60, pairs)
    wanted = step_down_max_t(null, observed)
    assert westfall_young(null, observed) == pytest.approx(wanted, abs=1e-12)
    # the same in blocks of three pairs
    monkeypatch.setattr("ranker.evaluation.resampling.significance._CHUNK", 180)
    assert westfall_young(null, observed) == pytest.approx(wanted, abs=1e-12)


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 12), st.floats(0, 0.4))
def test_westfall_young_is_at_least_the_raw_p_and_keeps_the_order(seed, resamples, pairs, missing):
    null, observed = joint_null(seed, resamples, pairs)
    generator = np.random.default_rng(seed)
    null[generator.random(null.shape) < missing] = np.nan
    raw, adjusted = resampled_p(null, observed), westfall_young(null, observed)
    known = ~np.isnan(raw)
    assert (np.isnan(adjusted) == ~known).all()
    assert (adjusted[known] >= raw[known]).all()
    assert (adjusted[known] <= 1).all()
    with np.errstate(invalid="ignore"):
        statistic = np.abs(observed[known]) / np.sqrt(np.nanmean(null[:, known] ** 2, axis=0))
    assert (np.diff(adjusted[known][np.argsort(-statistic)]) >= 0).all()
    for pair in range(pairs):
        alone = westfall_young(null[:, [pair]], observed[[pair]])
        assert alone == pytest.approx(raw[[pair]], nan_ok=True)


def test_westfall_young_leaves_the_undefined_and_the_identical_out():
    null, observed = joint_null(3, 200, 6)
    wanted = westfall_young(null[:, :4], observed[:4])
    observed[4], observed[5] = np.nan, 1e-17
    # what is the same up to rounding must not be blown up by its own tiny spread
    null[:, 5] *= 1e-18
    result = westfall_young(null, observed)
    assert result[:4].tolist() == wanted.tolist()
    assert np.isnan(result[4])
    assert result[5] == 1
    assert np.isnan(westfall_young(np.full((9, 2), np.nan), [1.0, 2.0])).all()
    # no resample differs from the null hypothesis at all, but what was observed does
    assert westfall_young(np.zeros((99, 1)), [0.5]) == pytest.approx(0.01)


def family_wise_errors(correct, swapped: bool) -> float:
    """Return how often any of 8 equally good metrics comes out different, with noise that they partly share."""
    first, second = np.triu_indices(8, 1)
    trials, wrong = 300, 0
    generator = np.random.default_rng(11)
    for _ in range(trials):
        values = generator.normal(size=(80, 8)) * np.linspace(0.5, 2, 8) + generator.normal(size=(80, 1))
        apart = values[:, first] - values[:, second]
        if swapped:
            null = (generator.integers(2, size=(199, 80)) * 2 - 1) @ apart / 80
        else:
            null = generator.multinomial(80, np.full(80, 1 / 80), size=199) @ apart / 80 - apart.mean(axis=0)
        wrong += bool((correct(null, apart.mean(axis=0)) < 0.05).any())
    return wrong / trials


@pytest.mark.parametrize("swapped", [False, True])
@thorough
def test_westfall_young_keeps_the_family_wise_error(swapped):
    error = 2 * np.sqrt(0.05 * 0.95 / 300)
    assert family_wise_errors(westfall_young, swapped) <= 0.05 + error
    assert family_wise_errors(resampled_p, swapped) > 0.3


@pytest.mark.parametrize(
    ("correction", "pairs", "factor"), [("holm", 66, 66), ("westfall-young", 66, 1), ("none", 3, 1)]
)
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.3])
def test_resamples_needed_is_the_first_number_that_can_be_significant(correction, pairs, factor, alpha):
    assert smallest_p(1000, pairs, correction) == pytest.approx(factor / 1001)
    needed = resamples_needed(pairs, correction, alpha)
    assert smallest_p(needed, pairs, correction) < alpha <= smallest_p(needed - 1, pairs, correction)
    # Holm's smallest value is that of the pair that no resample is as extreme as
    p = np.r_[1 / (1 + needed), np.ones(pairs - 1)]
    assert (holm(p)[0] < alpha) or correction != "holm"


def test_a_cluster_ends_where_one_is_behind_any_of_it():
    ahead = np.zeros((5, 5), dtype=bool)
    ahead[0, 2] = ahead[0, 3] = ahead[2, 3] = True
    assert clusters([0.9, 0.8, 0.7, 0.6, np.nan], ahead).tolist() == [1, 1, 2, 3, 0]
    assert clusters([0.6, 0.9], np.zeros((2, 2))).tolist() == [1, 1]
