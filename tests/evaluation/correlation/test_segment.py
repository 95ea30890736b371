from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from ranker.corpora.judgements import PreferencePairs, human_scores
from ranker.corpora.selection import select_language_pairs
from ranker.errors import DataError
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import source_spearman, tau_counts
from ranker.evaluation.metrics.evaluation import evaluate, named_scopes
from ranker.ranks import average_ranks, group_offsets, group_spearman
from tests.evaluation.made import graded


def all_pairs(human: np.ndarray) -> PreferencePairs:
    """List all strict pairs inside every item of human scores (systems, items); rows are item-major."""
    systems, items = human.shape
    better, worse = [], []
    for item in range(items):
        for a, b in combinations(range(systems), 2):
            if human[a, item] != human[b, item]:
                first, second = (a, b) if human[a, item] > human[b, item] else (b, a)
                better.append(item * systems + first)
                worse.append(item * systems + second)
    return PreferencePairs(np.array(better, int), np.array(worse, int), np.ones(len(better)))


@pytest.mark.parametrize("metric", ["a", "b"])
def test_tau_equals_the_workshops_tables(cases, metric):
    compared = 0
    for case in cases:
        human, scores = (np.array(case[key], dtype=float) for key in ("human", f"metric_{metric}"))
        if np.isnan(human).any() or np.isnan(scores).any():
            continue
        counts = tau_counts(scores.T.ravel(), all_pairs(human), np.zeros(scores.size, int), 1)[0]
        for variant in ("wmt12", "wmt13", "wmt14"):
            wanted = case["stats"][metric][variant]
            result = tau(counts, variant)
            if wanted["den"] == 0:
                assert np.isnan(result)
            else:
                assert result == pytest.approx(wanted["num"] / wanted["den"], abs=1e-9), (case["id"], variant)
                compared += 1
    assert compared > 100


@pytest.mark.parametrize("metric", ["a", "b"])
def test_source_spearman_equals_scipy_and_the_formula(cases, metric):
    compared = 0
    for case in cases:
        human, scores = (np.array(case[key], dtype=float).T for key in ("human", f"metric_{metric}"))
        if np.isnan(human).any() or np.isnan(scores).any():
            continue
        dataset = graded(human)
        result = source_spearman(dataset, scores.ravel(), human.ravel())
        formula = source_spearman(dataset, scores.ravel(), human.ravel(), tie_corrected=False)
        for index, value in enumerate(result):
            scipy_value = case["stats"][metric]["per_source_spearman_scipy"][index]
            if scipy_value is None or np.isnan(scipy_value):
                assert np.isnan(value)
                assert np.isnan(formula[index])
                continue
            assert value == pytest.approx(scipy_value, abs=1e-9)
            wanted = case["stats"][metric]["per_source_spearman_formula"][index]
            assert formula[index] == pytest.approx(wanted, abs=1e-9)
            compared += 1
    assert compared > 100


def test_equation_1_where_a_side_is_constant():
    first = [1, 2, 3, 4, 5, 5, 5, 5, 1, 1, 2, 7]
    second = [3, 3, 3, 3, 2, 2, 2, 2, 0, 0, 0, 1]
    offsets = [0, 4, 8, 11, 12]
    rho = group_spearman(first, second, offsets, tie_corrected=False, constant=True)
    # ranks 1.5, 1.5 and 3 against 2, 2 and 2: 1 - 6 * 1.5 / 24
    np.testing.assert_allclose(rho, [0.5, 1, 0.625, np.nan])
    assert np.isnan(group_spearman(first, second, offsets, tie_corrected=False)).all()
    with pytest.raises(ValueError, match="constant=True needs tie_corrected=False"):
        group_spearman(first, second, offsets, constant=True)


small = arrays(np.float64, st.integers(2, 9), elements=st.integers(0, 4).map(float))


@given(st.lists(small, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_ranks_and_rho_equal_scipy(groups, random):
    offsets = np.cumsum([0, *map(len, groups)])
    first = np.concatenate(groups)
    second = np.array([random.randint(0, 3) for _ in first], dtype=float)
    ranks = average_ranks(first, offsets)
    rho = group_spearman(first, second, offsets)
    for index, (start, stop) in enumerate(pairwise(offsets)):
        a, b = first[start:stop], second[start:stop]
        assert ranks[start:stop].tolist() == stats.rankdata(a).tolist()
        if len(set(a)) == 1 or len(set(b)) == 1:
            assert np.isnan(rho[index])
        else:
            assert rho[index] == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


def test_group_offsets_keep_the_order_inside_a_group():
    order, offsets = group_offsets(np.array(["b", "a", "b", "a", "c"]))
    assert order.tolist() == [1, 3, 0, 2, 4]
    assert offsets.tolist() == [0, 2, 4, 5]


def test_unjudged_candidates_do_not_count_and_undefined_sources_are_counted():
    human = np.array([[1, 2, np.nan], [3, 3, np.nan], [1, np.nan, np.nan], [np.nan] * 3])
    scores = np.array([[1, 2, np.nan], [1, 2, 5], [1, 2, 3], [1, 2, 3.0]])
    comparison = evaluate(graded(human), scores.ravel(), resamples=0)
    assert (comparison.main_scope.sources, comparison.cells[0].undefined) == (3, 2)
    assert comparison.estimate("segment.spearman").value == pytest.approx(1)
    assert np.isnan(comparison.estimate("segment.spearman").low)
    assert np.isnan(comparison.estimate("segment.tau.primary").value)
    scores[0, 0] = np.nan
    with pytest.raises(DataError, match="judged candidate has no score"):
        evaluate(graded(human), scores.ravel())


def test_means_over_language_pairs():
    generator = np.random.default_rng(2)
    parts = {lp: generator.normal(size=(size, 4)) for lp, size in (("aa-en", 10), ("bb-en", 40), ("en-aa", 20))}
    from ranker.corpora.dataset import concatenate_datasets

    dataset = concatenate_datasets([graded(human, lp) for lp, human in parts.items()])
    scores = np.concatenate([human.ravel() for human in parts.values()])
    scores = scores + generator.normal(size=len(scores))
    comparison = evaluate(dataset, scores, resamples=100)
    scopes = named_scopes(comparison)
    estimates = {name: comparison.estimate("segment.spearman", scope.id) for name, scope in scopes.items()}
    value = {name: estimate.value for name, estimate in estimates.items()}
    assert value["mean into English"] == pytest.approx((value["aa-en"] + value["bb-en"]) / 2)
    assert value["mean"] == pytest.approx((value["aa-en"] + value["bb-en"] + value["en-aa"]) / 3)
    pooled = comparison.estimate("segment.spearman.pooled", scopes["mean into English"].id)
    assert pooled.value == pytest.approx((value["aa-en"] + 4 * value["bb-en"]) / 5)
    assert pooled.low < pooled.value < pooled.high
    rho = source_spearman(dataset, scores, human_scores(dataset))[:50]
    cell = comparison.cell("segment.spearman", scopes["mean into English"].id, "scores")
    assert cell.detail["variance"] == pytest.approx(rho.var(ddof=1))
    english = select_language_pairs(dataset, ["*-en"])
    alone = evaluate(select_language_pairs(english, ["aa-en"]), scores[:40], resamples=100)
    assert alone.estimate("segment.spearman") == estimates["aa-en"]
    named = named_scopes(evaluate(english, scores[:200], resamples=0))
    assert list(named) == ["aa-en", "bb-en", "mean into English", "mean"]
    assert named["mean into English"] is named["mean"]
