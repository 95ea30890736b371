from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ranker.errors import OptionError
from ranker.evaluation.correlation.pair_counts import (
    accuracy_with_ties,
    consistency_share,
    count_pairs,
    tau,
    tau_b,
    tau_c,
)
from ranker.evaluation.correlation.pairwise_accuracy import limit_p_values, pairwise_accuracy, soft_accuracy
from ranker.evaluation.correlation.pearson import moments, pearson_of_moments, pearson_rows
from ranker.evaluation.correlation.tie_calibration import calibrate
from tests.effort import examples
from tests.evaluation.correlation.plain import (
    correlate,
    group_correlation,
    grouped_table,
    pairwise_p_values,
    soft_pairwise_accuracy,
)

AVERAGES = {"none": "none", "item": "item", "sys": "system"}
NAMES = {
    "pearson": "pearson",
    "spearman": "spearman",
    "kendall_b": "kendall-b",
    "kendall_c": "kendall-c",
    "kendall_acc23": "accuracy",
}


def metrics(cases):
    for case in cases:
        for name in "ab":
            yield case["id"], case["human"], case[f"metric_{name}"], case["stats"][name]


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", NAMES)
def test_correlations_equal_mt_metrics_eval(cases, name, average):
    compared = 0
    for identity, human, scores, wanted in metrics(cases):
        if f"mtme.{name}.{average}" not in wanted:
            continue
        value, _, groups = wanted[f"mtme.{name}.{average}"]
        correlation = correlate(human, scores, NAMES[name], AVERAGES[average])
        assert correlation.groups == groups, identity
        if groups:
            assert correlation.value == pytest.approx(value, abs=1e-9), identity
            compared += 1
        else:
            assert np.isnan(correlation.value)
    assert compared > 80


@pytest.mark.parametrize("variant", ["wmt12", "wmt13", "wmt14", "xties"])
def test_pooled_taus_equal_the_workshops_tables(cases, variant):
    compared = 0
    for identity, human, scores, wanted in metrics(cases):
        counts = count_pairs(*grouped_table(human, scores, "item")).sum(axis=0)
        target = wanted[variant]
        if target["den"]:
            assert tau(counts, variant) == pytest.approx(target["num"] / target["den"], abs=1e-9), identity
            compared += 1
        else:
            assert np.isnan(tau(counts, variant))
        assert (counts[0], counts[1], counts[2]) == (
            *(wanted["concordant"], wanted["discordant"], wanted["metric_ties"]),
        )
        if counts[:3].sum():
            assert consistency_share(counts) == pytest.approx(wanted["acc_ties_wrong"], abs=1e-9)
    assert compared > 100


@pytest.mark.parametrize("average", AVERAGES)
def test_tie_calibration_equals_mt_metrics_eval(cases, average):
    for identity, human, scores, wanted in metrics(cases):
        target = wanted.get(f"mtme.tiesopt_acc23.{average}")
        if target is None:
            continue
        table = grouped_table(human, scores, AVERAGES[average])
        calibration = calibrate(*table)
        if target["corr"] is None or np.isnan(target["corr"]):
            assert np.isnan(calibration.accuracy)
            continue
        assert calibration.accuracy == pytest.approx(target["corr"], abs=1e-9), identity
        assert calibration.epsilon <= target["epsilon"] + 1e-9
        reached = accuracy_with_ties(count_pairs(*table, epsilon=calibration.epsilon))
        assert np.nanmean(reached) == pytest.approx(calibration.accuracy, abs=1e-9)


def test_no_threshold_is_better_than_the_calibrated_one():
    generator = np.random.default_rng(0)
    human = generator.integers(0, 4, size=60).astype(float)
    scores = np.round(human + generator.normal(size=60) * 2, 2)
    offsets = [0, 7, 7, 8, 30, 60]
    calibration = calibrate(human, scores, offsets)
    assert calibration.groups == 3
    thresholds = np.unique(np.concatenate([[0], np.abs(np.subtract.outer(scores, scores)).ravel()]))
    reached = [
        np.nanmean(accuracy_with_ties(count_pairs(human, scores, offsets, epsilon=threshold)))
        for threshold in thresholds
    ]
    assert calibration.accuracy == pytest.approx(max(reached), abs=1e-12)
    assert calibration.epsilon == thresholds[np.flatnonzero(np.array(reached) >= max(reached) - 1e-12)[0]]


def plainly_counted(human, scores):
    counts = [0] * 5
    for a, b in combinations(range(len(human)), 2):
        by_human, by_score = np.sign(human[a] - human[b]), np.sign(scores[a] - scores[b])
        if by_human == 0:
            counts[4 if by_score == 0 else 3] += 1
        else:
            counts[2 if by_score == 0 else 0 if by_score == by_human else 1] += 1
    return counts


@settings(max_examples=examples(40))
@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=70), min_size=1, max_size=3))
def test_counts_of_small_and_large_groups_equal_the_enumeration(groups):
    rows = np.array([row for group in groups for row in group], dtype=float).reshape(-1, 2)
    offsets = np.cumsum([0, *map(len, groups)])
    result = count_pairs(rows[:, 0], rows[:, 1], offsets)
    for counts, (start, stop) in zip(result, pairwise(offsets), strict=True):
        assert counts.tolist() == plainly_counted(*rows[start:stop].T)
        if stop - start > 1:
            wanted = stats.kendalltau(*rows[start:stop].T).statistic
            assert tau_b(counts) == pytest.approx(wanted, abs=1e-12, nan_ok=True)


def test_a_large_group_equals_scipy():
    generator = np.random.default_rng(1)
    human = np.round(generator.normal(size=3000), 1)
    scores = np.round(human + generator.normal(size=3000), 1)
    for name, wanted in (
        ("kendall-b", stats.kendalltau(human, scores).statistic),
        ("kendall-c", stats.kendalltau(human, scores, variant="c").statistic),
        ("spearman", stats.spearmanr(human, scores).statistic),
        ("pearson", stats.pearsonr(human, scores).statistic),
    ):
        assert group_correlation(human, scores, [0, 3000], name)[0] == pytest.approx(wanted, abs=1e-12)


def test_cells_nobody_judged_are_left_out():
    human = np.array([[1, 2, np.nan], [3, np.nan, np.nan], [2, 5, 4.0]])
    scores = np.array([[1, 2, 3], [9, 9, 9], [0, 3, 3.0]])
    correlation = correlate(human, scores, "pearson", "item")
    assert (correlation.groups, correlation.undefined) == (2, 1)
    assert correlation.value == pytest.approx((stats.pearsonr([1, 3, 2], [1, 9, 0]).statistic + 1) / 2)
    with pytest.raises(OptionError, match="xties: expected five counts"):
        tau([1, 2, 3], "xties")


def test_pearson_from_sums_and_along_rows():
    generator = np.random.default_rng(3)
    human, scores = generator.normal(size=(2, 50))
    wanted = stats.pearsonr(human, scores).statistic
    assert pearson_of_moments(moments(human, scores).sum(axis=0)) == pytest.approx(wanted, abs=1e-12)
    stacked = np.stack([scores, -scores, np.zeros(50), np.full(50, 0.1)])
    assert pearson_rows(human, stacked)[:2] == pytest.approx([wanted, -wanted], abs=1e-12)
    assert np.isnan(pearson_rows(human, stacked)[2:]).all()
    assert np.isnan(pearson_of_moments(moments(human, np.full(50, 0.1)).sum(axis=0)))
    gaps = np.where(np.arange(50) < 30, human, np.nan)
    assert pearson_rows(gaps, scores) == pytest.approx(stats.pearsonr(human[:30], scores[:30]).statistic, abs=1e-12)


def test_soft_pairwise_accuracy_and_agreement_equal_mt_metrics_eval(cases):
    close = 0
    for case in cases:
        for name in "ab":
            human, scores, wanted = case["human"], case[f"metric_{name}"], case["stats"][name]
            agreeing, pairs = wanted["mtme.agreement.none"]
            assert pairwise_accuracy(human.ravel(), scores.ravel()) == pytest.approx(agreeing / pairs, abs=1e-12)
            soft = wanted.get("mtme.soft_pairwise_accuracy")
            if soft is not None:
                accuracy, noise = soft_pairwise_accuracy(human, scores)
                assert accuracy == pytest.approx(soft, abs=noise + 1e-9), case["id"]
                close += noise < 0.01
    assert close > 50


def test_p_values_tend_to_their_limit():
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(5, 400)) + np.linspace(0, 0.15, 5)[:, np.newaxis]
    first, second = np.triu_indices(5, 1)
    apart = scores[first] - scores[second]
    limit = limit_p_values(apart.sum(axis=1), (apart**2).sum(axis=1))
    result, with_ties = pairwise_p_values(scores, permutations=8000)
    assert with_ties == pytest.approx(result, abs=1e-3)
    assert result == pytest.approx(limit, abs=4 * 0.5 / np.sqrt(8000))
    assert limit_p_values([0.0], [0.0]).tolist() == [0.5]


def test_undefined_pairs_of_systems_are_left_out():
    assert pairwise_accuracy([1, 2, np.nan], [1, 2, 3]) == 1
    assert pairwise_accuracy([1, 2, 3], [[3, 2, 1], [1, 2, 3], [1, 1, 3]]).tolist() == pytest.approx([0, 1, 2 / 3])
    assert np.isnan(pairwise_accuracy([1], [1]))
    assert soft_accuracy([0.1, np.nan], [0.3, 0.9]) == pytest.approx(0.8)
    assert np.isnan(soft_accuracy([np.nan], [0.9]))


@pytest.mark.parametrize("size", range(2, 30))
def test_no_correlation_exceeds_one_by_rounding(size):
    values = np.arange(float(size))
    for sign in (1.0, -1.0):
        counts = count_pairs(values, sign * values, [0, size])
        assert tau_b(counts).tolist() == pytest.approx([sign])
        assert np.abs([tau_b(counts), tau_c(counts, size, size)]).max() <= 1
