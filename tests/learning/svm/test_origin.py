"""The ranking SVM that stays near given weights: its minimum, its certificate, and its two limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from ranker.learning.svm.fitting import GRID
from ranker.learning.svm.ranksvm import RankSVM
from tests.learning.svm.test_ranksvm import LOSSES, all_pairs
from tests.learning.svm.test_ranksvm import problem as problem_without_origin


def problem(seed, **sizes):
    """The problem of the other tests, and weights to stay near."""
    X, y, groups = problem_without_origin(seed, **sizes)
    return X, y, groups, np.random.default_rng(seed + 100).normal(size=X.shape[1])


def objective(w, differences, C, loss, origin):
    slack = np.maximum(0.0, 1.0 - differences @ w)
    return 0.5 * (w - origin) @ (w - origin) + C * (slack.sum() if loss == "hinge" else (slack**2).sum())


def dual_optimum(differences, C, loss, origin):
    """Maximise the dual over listed pairs, whose bounds L-BFGS-B keeps; the weights are ``origin + D' alpha``."""
    margin = 1.0 - differences @ origin
    curvature = 0.0 if loss == "hinge" else 1.0 / (2.0 * C)

    def negated(alpha):
        moved = alpha @ differences
        value = 0.5 * moved @ moved + 0.5 * curvature * alpha @ alpha - margin @ alpha
        return value, differences @ moved + curvature * alpha - margin

    bounds = [(0.0, C if loss == "hinge" else None)] * len(differences)
    result = minimize(
        negated, np.zeros(len(differences)), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return -result.fun


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.02, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_the_maximum_of_the_dual_over_listed_pairs(seed, C, loss):
    X, y, groups, origin = problem(seed)
    pairs = all_pairs(y, groups)
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    bound = dual_optimum(differences, C, loss, origin)
    graded = RankSVM(C=C, loss=loss, tol=1e-10).fit(X, y, groups, origin=origin)
    listed = RankSVM(C=C, loss=loss, tol=1e-10).fit(X, pairs=pairs, origin=origin)
    for svm in (graded, listed):
        value = objective(svm.coef_, differences, C, loss, origin)
        assert svm.objective_ == pytest.approx(value, rel=1e-11)
        assert 0.0 <= svm.duality_gap_ <= 1e-10 * value
        assert value - svm.duality_gap_ <= bound * (1.0 + 1e-6)
        assert value == pytest.approx(bound, rel=1e-6)
        assert bound <= value * (1.0 + 1e-12)
    np.testing.assert_allclose(graded.coef_, listed.coef_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_bounds_the_distance_to_the_minimum_when_steps_run_out(loss):
    X, y, groups, origin = problem(4)
    best = RankSVM(C=0.5, loss=loss, tol=1e-11).fit(X, y, groups, origin=origin)
    for steps in (1, 2, 3):
        rough = RankSVM(C=0.5, loss=loss, tol=1e-14, max_iter=steps).fit(X, y, groups, origin=origin)
        assert rough.duality_gap_ >= 0.0
        assert best.objective_ * (1 - 1e-10) <= rough.objective_ <= best.objective_ + rough.duality_gap_ + 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_an_origin_of_zeros_gives_the_same_bytes_as_none(loss):
    X, y, groups, origin = problem(5, n=80)
    for arguments in ({"y": y, "groups": groups}, {"pairs": all_pairs(y, groups)}):
        plain = RankSVM(C=0.3, loss=loss).fit(X, **arguments)
        zeros = RankSVM(C=0.3, loss=loss).fit(X, **arguments, origin=0 * origin)
        assert zeros.coef_.tobytes() == plain.coef_.tobytes()
        assert (zeros.objective_, zeros.duality_gap_, zeros.n_iter_) == (
            plain.objective_, plain.duality_gap_, plain.n_iter_
        )  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.0, 1e-30, 1e-20])
def test_a_vanishing_C_gives_the_origin_exactly(C, loss):
    X, y, groups, origin = problem(6)
    svm = RankSVM(C=C, loss=loss).fit(X, y, groups, origin=origin)
    assert svm.coef_.tobytes() == origin.tobytes()
    assert svm.duality_gap_ <= 1e-8 * svm.objective_


@pytest.mark.parametrize("loss", LOSSES)
def test_a_large_C_forgets_the_origin(loss):
    X, y, groups, origin = problem(7, n=120, d=3)
    plain = RankSVM(C=1e4, loss=loss).fit(X, y, groups)
    near = RankSVM(C=1e4, loss=loss).fit(X, y, groups, origin=origin)
    far = np.abs(origin - plain.coef_).max()
    np.testing.assert_allclose(near.coef_, plain.coef_, atol=1e-3 * far)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_move_grows_with_C_and_columns_that_never_differ_keep_their_weight(loss):
    X, y, groups, origin = problem(8)
    X[:, 2] = 7.0
    moves = []
    for C in (1e-4, 1e-2, 1.0):
        coef = RankSVM(C=C, loss=loss).fit(X, y, groups, origin=origin).coef_
        assert coef[2] == origin[2]
        moves.append(np.linalg.norm(coef - origin))
    assert 0.0 < moves[0] < moves[1] < moves[2]


def test_one_pair_has_its_closed_form():
    X, origin, C = [[3.0], [2.0]], [0.4], 0.25
    assert RankSVM(C=C).fit(X, [1, 0], origin=origin).coef_ == pytest.approx([0.65], rel=1e-9)
    squared = RankSVM(C=C, loss="squared_hinge").fit(X, [1, 0], origin=origin)
    assert squared.coef_ == pytest.approx([(0.4 + 2 * C) / (1 + 2 * C)], rel=1e-9)


def search(seed, target):
    rng = np.random.default_rng(seed)
    X, groups, origin = rng.normal(size=(200, 5)), np.repeat(np.arange(40), 5), np.array([1.0, 0, 0, 0, 0])
    return RankSVM(C="auto", loss="squared_hinge").fit(X, target(X, rng), groups, origin=origin)


def test_auto_stays_at_the_origin_unless_the_best_is_ahead_of_it_by_two_standard_errors():
    ahead = []
    for seed in range(8):
        svm = search(seed, lambda X, rng: X[:, 0] + rng.normal(size=200))
        mean, split = svm.cv_results_["mean_test_score"], svm.cv_results_["split_test_score"]
        best = mean.argmax()
        ahead.append((split[best] - split[0]).mean() / ((split[best] - split[0]).std(ddof=1) / np.sqrt(5) or 1.0))
        assert (svm.C_ == 0.0) == (ahead[-1] <= 2.0)
        assert svm.C_ or svm.coef_.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert any(1.0 < item <= 2.0 for item in ahead)
    np.testing.assert_allclose(svm.cv_results_["C"] * 400, np.append(0.0, GRID))


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ([1.0, 2.0], r"origin of shape \(2,\): expected \(1,\), one weight for each column of X"),
        ([np.nan], r"origin\[0\] is nan: expected a finite number"),
    ],
)
def test_an_origin_that_does_not_fit_is_refused(origin, message):
    with pytest.raises(ValueError, match=message):
        RankSVM().fit([[1.0], [2.0]], [1, 2], origin=origin)


def test_without_an_origin_C_must_be_positive():
    with pytest.raises(ValueError, match=r"C=0\.0: expected a number from 1e-30"):
        RankSVM(C=0.0).fit([[1.0], [2.0]], [1, 2])
