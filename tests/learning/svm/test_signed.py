"""Weights of one sign: their minimum by another program, its optimality conditions, and its certificate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from ranker.learning.svm.fitting import Fitting
from ranker.learning.svm.judgements import Grades
from ranker.learning.svm.ranksvm import RankSVM
from tests.learning.svm.test_ranksvm import all_pairs, problem


def fitted(X, y, groups, signs, C, **options):
    return Fitting(C, "squared_hinge", signs=signs, **options).fit(
        Grades(X, y.astype(float), groups), None, np.random.RandomState(0)
    )


@pytest.mark.parametrize("C", [1e-3, 0.1, 30.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_minimum_is_that_of_another_program_over_listed_pairs(seed, C):
    X, y, groups = problem(seed, n=60, d=7)
    # columns that repeat others, and noise
    X = np.hstack([X, X[:, :2] + 0.1 * np.random.default_rng(seed).normal(size=(len(X), 2)), X[:, :1]])
    signs = np.random.default_rng(seed + 50).choice([-1.0, 1.0], X.shape[1])
    pairs = all_pairs(y, groups)
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]

    def objective(w):
        slack = np.maximum(0.0, 1.0 - differences @ w)
        return 0.5 * w @ w + C * slack @ slack, w - 2.0 * C * differences.T @ slack

    result = fitted(X, y, groups, signs, C)
    bounds = [(0.0, None) if sign > 0 else (None, 0.0) for sign in signs]
    best = minimize(
        objective, np.zeros(len(signs)), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-11},
    )  # fmt: skip
    assert result.objective == pytest.approx(best.fun, rel=1e-10)
    np.testing.assert_allclose(result.coef, best.x, atol=1e-5 * np.abs(best.x).max())
    value, gradient = objective(result.coef)
    assert result.objective == pytest.approx(value, rel=1e-12)
    assert 0.0 <= result.duality_gap <= 1e-12 * value
    at_zero, size = result.coef == 0.0, C * np.abs(differences).sum(axis=0).max()
    assert (signs * result.coef >= 0.0).all()
    assert at_zero.any()
    assert np.abs(gradient[~at_zero]).max(initial=0.0) <= 1e-9 * size
    assert (signs * gradient)[at_zero].min() >= -1e-9 * size


def test_bounds_that_do_not_bind_change_nothing_and_opposed_columns_get_nothing():
    X, y, groups = problem(1, n=60, d=4)
    free = RankSVM(C=0.1, loss="squared_hinge").fit(X, y, groups)
    same = fitted(X, y, groups, np.sign(free.coef_), 0.1)
    np.testing.assert_allclose(same.coef, free.coef_, rtol=1e-10)
    alone = np.array([[1.0], [0.0], [2.0], [1.0]])
    judged = np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1])
    assert fitted(alone, *judged, np.array([-1.0]), 1.0).coef.tolist() == [0.0]
    assert fitted(alone, *judged, np.array([1.0]), 1.0).coef == pytest.approx([0.8])
    assert fitted(X, y, groups, np.sign(free.coef_), "auto", cv=3).cv_results["mean_test_score"].max() > 0
