"""The ranking SVM against independent solvers, its own certificate, and scikit-learn's conventions."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ranker.errors import DataError, OptionError
from ranker.learning.svm import fitting, judgements, ranksvm, scoring
from ranker.learning.svm.ranksvm import RankSVM
from ranker.learning.svm.scoring import group_scorer
from tests.effort import thorough

LOSSES = ["hinge", "squared_hinge"]


def all_pairs(y, groups):
    y, groups = np.asarray(y), np.asarray(groups)
    return np.argwhere((groups[:, None] == groups[None, :]) & (y[:, None] > y[None, :]))


def objective(w, X, pairs, C, loss, weights=None):
    slack = np.maximum(0.0, 1.0 - (X[pairs[:, 0]] - X[pairs[:, 1]]) @ w)
    slack = slack if loss == "hinge" else slack**2
    return 0.5 * w @ w + C * (slack.sum() if weights is None else weights @ slack)


def listed_optimum(X, pairs, C, loss, weights=None):
    """The optimum of LIBLINEAR on the differences of every pair."""
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    signs = np.where(np.arange(len(pairs)) % 2, 1, -1)
    solver = LinearSVC(C=C, loss=loss, dual=True, fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0)
    solver.fit(differences * signs[:, None], signs, sample_weight=weights)
    return objective(solver.coef_[0], X, pairs, C, loss, weights)


def problem(seed, n=40, d=4, n_groups=5, n_grades=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.clip(np.round(X @ rng.normal(size=d) + rng.normal(size=n)), 0, n_grades - 1)
    return X, y, rng.integers(0, n_groups, n)


def test_every_golden_solution(shared_golden: Path):
    data = {row["id"]: row for row in map(json.loads, (shared_golden / "ranksvm_data.jsonl").read_text().splitlines())}
    solutions = [json.loads(line) for line in (shared_golden / "ranksvm_solutions.jsonl").read_text().splitlines()]
    assert len(solutions) == 80
    for solution in solutions:
        case = data[solution["id"]]
        X = np.array(case["X"])
        svm = RankSVM(C=solution["C"], loss=solution["loss"]).fit(X, case["y"], case["qid"])
        assert svm.objective_ == pytest.approx(solution["objective"], rel=1e-7), solution["id"]
        assert svm.duality_gap_ <= 1e-8 * svm.objective_
        np.testing.assert_allclose(svm.coef_, solution["w"], atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.03, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_grades_reach_the_optimum_over_listed_pairs(seed, C, loss):
    X, y, groups = problem(seed)
    pairs = all_pairs(y, groups)
    svm = RankSVM(C=C, loss=loss, tol=1e-10).fit(X, y, groups)
    assert svm.objective_ == pytest.approx(objective(svm.coef_, X, pairs, C, loss), rel=1e-12)
    assert svm.objective_ == pytest.approx(listed_optimum(X, pairs, C, loss), rel=1e-8)
    listed = RankSVM(C=C, loss=loss, tol=1e-10).fit(X, pairs=pairs)
    assert listed.objective_ == pytest.approx(svm.objective_, rel=1e-9)
    np.testing.assert_allclose(listed.coef_, svm.coef_, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_large_group_reaches_the_optimum(loss):
    X, y, _ = problem(7, n=200, n_grades=5)
    svm = RankSVM(C=0.01, loss=loss, tol=1e-10).fit(X, y)
    assert svm.objective_ == pytest.approx(listed_optimum(X, all_pairs(y, 0 * y), 0.01, loss), rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_weighted_preferences_reach_the_optimum(seed, loss):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(80)])
    weights = rng.choice([0.25, 1.0, 3.0], 80)
    svm = RankSVM(C=0.5, loss=loss, tol=1e-10).fit(X, pairs=pairs, pair_weight=weights)
    assert svm.objective_ == pytest.approx(listed_optimum(X, pairs, 0.5, loss, weights), rel=1e-8)


@pytest.mark.parametrize("C", [0.2, 5.0])
def test_one_pair_has_its_closed_form(C):
    X = [[3.0], [2.0]]
    assert RankSVM(C=C, tol=1e-12).fit(X, [1, 0]).coef_ == pytest.approx([min(1.0, C)], rel=1e-9)
    squared = RankSVM(C=C, loss="squared_hinge").fit(X, [1, 0])
    assert squared.coef_ == pytest.approx([2 * C / (1 + 2 * C)], rel=1e-9)


def test_features_that_are_no_numbers_are_refused_without_scikit_learn_too():
    grades = judgements.Grades(np.array([[0.0], [np.nan]]), np.array([1.0, 2.0]), np.zeros(2, dtype=np.int64))
    with pytest.raises(DataError, match="feature number 1 is nan in a row, after it was standardised: expected"):
        fitting.Fitting().fit(grades, None, np.random.RandomState(0))


def test_arguments_are_not_changed():
    X, y, groups = problem(6)
    pairs = all_pairs(y, groups)
    weights = np.ones(len(pairs))
    arguments = (X, y, groups, pairs, weights)
    for array in arguments:
        array.flags.writeable = False
    RankSVM().fit(X, y, groups)
    RankSVM(C="auto").fit(X, pairs=pairs, pair_weight=weights)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_pairs_the_minimum_is_zero(loss):
    for svm in (
        RankSVM(loss=loss).fit([[1.0], [2.0]], [3, 3]),
        RankSVM(loss=loss).fit([[1.0], [2.0]], [3, 4], groups=["a", "b"]),
        RankSVM(loss=loss).fit([[1.0], [2.0]], pairs=[]),
    ):
        assert svm.coef_.tolist() == [0.0]
        assert (svm.objective_, svm.duality_gap_, svm.n_iter_) == (0.0, 0.0, 0)


def test_rank_gives_average_ranks_inside_groups_and_ties_within_the_projects_tolerance():
    svm = RankSVM().fit([[1.0], [0.0]], [1, 0])
    X = np.array([[0.0], [5.0], [5.0 + 1e-13], [7.0], [1.0], [2.0]])
    assert svm.rank(X, ["a", "a", "a", "b", "b", "b"]).tolist() == [3.0, 1.5, 1.5, 1.0, 3.0, 2.0]
    assert svm.rank(X).tolist() == [6.0, 2.5, 2.5, 1.0, 5.0, 4.0]


def test_score_is_the_mean_spearman_of_groups_that_have_one():
    X, y, groups = problem(8, n=60)
    y[groups == 0] = 1.0
    svm = RankSVM().fit(X, y, groups)
    scores = svm.decision_function(X)
    expected = [spearmanr(scores[groups == group], y[groups == group])[0] for group in range(1, 5)]
    assert svm.score(X, y, groups) == pytest.approx(np.mean(expected))
    assert np.isnan(svm.score(X, np.ones(60), groups))


@pytest.mark.parametrize("loss", LOSSES)
def test_auto_takes_the_smallest_C_that_may_be_as_good_as_the_best_of_a_plain_cross_validation(loss):
    X, y, _ = problem(9, n=150, n_grades=100)
    groups = np.random.default_rng(9).permutation(np.repeat(np.arange(15), 10))
    y += 3.0 * (np.random.default_rng(0).random(150) < 0.5)
    svm = RankSVM(C="auto", loss=loss, cv=4, random_state=3).fit(X, y, groups)
    rho = np.full((7, 15), np.nan)
    for train, test in GroupKFold(4, shuffle=True, random_state=3).split(X, groups=groups):
        weight = len(all_pairs(y[train], groups[train]))
        for row, exponent in enumerate(range(-2, 5)):
            fold = RankSVM(C=10.0**exponent / weight, loss=loss).fit(X[train], y[train], groups[train])
            scores = fold.decision_function(X)
            for group in np.unique(groups[test]):
                own = groups == group
                rho[row, group] = spearmanr(scores[own], y[own])[0]
    results = svm.cv_results_
    np.testing.assert_allclose(results["mean_test_score"], rho.mean(axis=1), atol=5e-3)
    assert results["split_test_score"].shape == (7, 4)
    split = results["split_test_score"]
    behind = split[np.argmax(results["mean_test_score"])] - split
    good = results["mean_test_score"] >= results["mean_test_score"].max() - np.maximum(
        behind.std(axis=1, ddof=1) / 2, 1e-4
    )
    assert results["C"][good][0] == svm.C_
    assert svm.C_ * len(all_pairs(y, groups)) == pytest.approx(10.0 ** (np.flatnonzero(good)[0] - 2))
    final = RankSVM(C=svm.C_, loss=loss).fit(X, y, groups)
    np.testing.assert_array_equal(final.coef_, svm.coef_)
    assert not hasattr(svm.set_params(C=1.0).fit(X, y, groups), "cv_results_")


def test_auto_on_preferences_holds_out_connected_components():
    X, y, groups = problem(10, n=90, n_groups=12)
    pairs = all_pairs(y, groups)
    weights = np.random.default_rng(0).random(len(pairs))
    by_component = RankSVM(C="auto").fit(X, pairs=pairs, pair_weight=weights)
    by_group = RankSVM(C="auto").fit(X, groups=groups, pairs=pairs, pair_weight=weights)
    assert by_component.cv_results_["split_test_score"].shape == (7, 5)
    assert np.all(np.abs(by_component.cv_results_["mean_test_score"]) <= 1.0)
    # The components here are the groups that hold a pair, numbered in another order, so the folds may differ.
    assert by_component.cv_results_["mean_test_score"].max() == pytest.approx(
        by_group.cv_results_["mean_test_score"].max(), abs=0.05
    )
    assert by_component.C_ * weights.sum() == pytest.approx(10.0 ** np.round(np.log10(by_component.C_ * weights.sum())))


def test_too_few_steps_are_warned_of_with_the_gap_they_left():
    X, y, groups = problem(11)
    with pytest.warns(ConvergenceWarning, match=r"duality gap is .* after 1 Newton steps, expected 1.0e-08: raise"):
        svm = RankSVM(max_iter=1).fit(X, y, groups)
    optimum = RankSVM().fit(X, y, groups)
    assert optimum.objective_ < svm.objective_ <= optimum.objective_ + svm.duality_gap_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, r"C=0.0: expected a number from 1e-30 to 1e\+30, or 'auto'"),
        ({"C": "best"}, r"C='best': expected a number"),
        ({"C": float("inf")}, r"C=inf: expected"),
        ({"loss": "logistic"}, r"loss='logistic': expected one of 'hinge', 'squared_hinge'"),
        ({"tol": -1.0}, r"tol=-1.0: expected a positive number"),
        ({"max_iter": 0}, r"max_iter=0: expected a whole number of at least 1"),
        ({"cv": 1}, r"cv=1: expected a whole number of at least 2"),
    ],
)
def test_parameters_out_of_range_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        RankSVM(**parameters).fit([[1.0], [2.0]], [1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1, 2, 3], "groups": [0, 1]}, r"groups has 2 labels, X has 3 rows"),
        ({"y": [1, 2, 3], "groups": np.zeros((3, 1))}, r"groups of shape \(3, 1\): expected one label for each row"),
        ({"y": [1, 2, 3], "groups": [0.0, float("nan"), 1.0]}, r"groups has the label nan"),
        ({"y": [1, 2, 3], "groups": pd.Series(["a", None, "a"], dtype="string")}, r"groups has the label <NA>"),
        ({"y": [1, 2, np.nan]}, r"Input y contains NaN"),
        ({"y": [1, 2]}, r"inconsistent numbers of samples"),
        ({"y": None}, r"requires y to be passed, but the target y is None"),
        ({"y": [1, 2, 3], "pair_weight": [1.0]}, r"pair_weight without pairs"),
        ({"pairs": [0, 1]}, r"pairs of shape \(2,\) and type int64: expected whole numbers of shape \(n_pairs, 2\)"),
        ({"pairs": [[0.0, 1.0]]}, r"pairs of shape \(1, 2\) and type float64"),
        ({"pairs": [[0, 1], [1, 3]]}, r"pairs\[1\] is \[1, 3\]: expected row indices from 0 to 2"),
        ({"pairs": [[0, -1]]}, r"pairs\[0\] is \[0, -1\]: expected row indices"),
        ({"pairs": [[0, 1], [2, 2]]}, r"pairs\[1\] prefers row 2 to itself"),
        ({"pairs": [[0, 1]], "groups": ["a", "b", "b"]}, r"pairs\[0\] is \[0, 1\], rows of two groups"),
        ({"pairs": [[0, 1]], "pair_weight": [1.0, 1.0]}, r"pair_weight of shape \(2,\): expected \(1,\)"),
        ({"pairs": [[0, 1]], "pair_weight": [-1.0]}, r"pair_weight\[0\] is -1.0: expected a number of at least 0"),
        ({"pairs": [[0, 1]], "pair_weight": [np.nan]}, r"pair_weight\[0\] is nan"),
    ],
)
def test_data_that_says_nothing_sensible_is_refused_with_the_first_fault(arguments, message):
    with pytest.raises(ValueError, match=message):
        RankSVM().fit([[1.0], [2.0], [3.0]], **arguments)


def test_columns_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="the squares of the columns of X overflow: scale the columns"):
        RankSVM().fit([[1e200], [2e200]], [1, 2])


@pytest.mark.parametrize("arguments", [{"y": [1, 2, 3]}, {"pairs": [[0, 1], [1, 2]]}])
def test_auto_needs_two_groups(arguments):
    with pytest.raises(ValueError, match=r"C='auto' needs pairs in at least 2 groups for cross-validation, found 1"):
        RankSVM(C="auto").fit([[1.0], [2.0], [3.0]], **arguments)


def test_in_a_pipeline():
    X, y, groups = problem(12)
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(X, y, ranksvm__groups=groups)
    alone = RankSVM().fit(StandardScaler().fit_transform(X), y, groups)
    np.testing.assert_array_equal(
        pipeline.decision_function(X), alone.decision_function(StandardScaler().fit_transform(X))
    )


def test_in_a_grid_search_with_a_scaler_and_the_scorer_of_groups():
    X, y, groups = problem(14, n=80, n_groups=8)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RankSVM().set_fit_request(groups=True))
        grid = {"ranksvm__C": [1e-3, 1.0]}
        search = GridSearchCV(pipeline, grid, scoring=group_scorer(), cv=GroupKFold(4)).fit(X, y, groups=groups)
    train, test = next(GroupKFold(4).split(X, y, groups))
    by_hand = make_pipeline(StandardScaler(), RankSVM(C=1e-3)).fit(X[train], y[train], ranksvm__groups=groups[train])
    rho = [
        spearmanr(by_hand.predict(X[test])[groups[test] == group], y[test][groups[test] == group]).statistic
        for group in np.unique(groups[test])
    ]
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(np.mean(rho))


def test_a_scorer_of_groups_without_groups_is_refused():
    with pytest.raises(OptionError, match=r"call sklearn\.set_config\(enable_metadata_routing=True\) first"):
        group_scorer()


@pytest.mark.parametrize("groups", [None, np.zeros(2000, dtype=int)])
@thorough
def test_thousands_of_rows_in_one_group_are_remarked_on(groups):
    X = np.arange(2000.0)[:, np.newaxis]
    with pytest.warns(UserWarning, match=r"all 2,000 rows form one group, up to 1,999,000 pairs: give the source of"):
        RankSVM(C=1e-6, tol=1e-2).fit(X, np.arange(2000) % 2, groups)
    RankSVM(C=1e-6, tol=1e-2).fit(X, np.arange(2000) % 2, np.arange(2000) // 1999)


@parametrize_with_checks([RankSVM(), RankSVM(loss="squared_hinge")])
def test_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_example_in_the_documentation_is_true():
    assert doctest.testmod(ranksvm).failed == 0
    assert doctest.testmod(scoring).failed == 0
