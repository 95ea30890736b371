"""The last bits of the ranking SVM: one optimum has one vector of weights, and what ties there ties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ranker.learning.svm import newton, polish
from ranker.learning.svm.polish import exact_product, rounded
from ranker.learning.svm.ranksvm import RankSVM
from tests.learning.svm.test_ranksvm import LOSSES, all_pairs, objective, problem

COLUMNS = {
    "real": lambda X: X,
    "whole": lambda X: np.round(1.5 * X),
    "standardised": lambda X: (np.round(1.5 * X) - np.round(1.5 * X).mean(axis=0)) / np.round(1.5 * X).std(axis=0),
    "duplicated": lambda X: np.hstack([np.round(1.5 * X)] * 2),
    "opposed": lambda X: np.hstack([np.round(1.5 * X), -np.round(1.5 * X[:, :2])]),
    "offset": lambda X: X + 1e6,
}


def fits(X, y, groups, **parameters):
    """Fits that stop early and late, of rows in other orders, on grades and on their pairs."""
    for seed, tol in ((None, 1e-8), (1, 1e-6), (2, 1e-8), (3, 1e-10)):
        order = np.arange(len(y)) if seed is None else np.random.default_rng(seed).permutation(len(y))
        yield RankSVM(tol=tol, **parameters).fit(X[order], y[order], groups[order])
    pairs = np.random.default_rng(0).permutation(all_pairs(y, groups))
    yield RankSVM(**parameters).fit(X, pairs=pairs)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("C", [0.003, 0.3, 10.0])
def test_one_optimum_has_the_same_bytes_however_it_is_reached(C, columns, loss):
    X, y, groups = problem(4, n=120, n_groups=15)
    result = list(fits(columns(X), y, groups, C=C, loss=loss))
    assert {entry.coef_.tobytes() for entry in result} == {result[0].coef_.tobytes()}
    for item in result:
        assert item.duality_gap_ <= 1e-11 * item.objective_
        pairs = all_pairs(y, groups)
        assert item.objective_ == pytest.approx(objective(item.coef_, columns(X), pairs, C, loss), rel=1e-9)


# Differences of pairs, and two rows that tie by the minimum: at a corner, where every margin is 1, and for columns that
# the pairs cannot tell apart, some of them pairs that contradict each other.
CORNERS = [
    ([[2, 1], [1, 2]], [[1, 0], [0, 1]]),
    ([[1, 0], [0, 2]], [[1, 0], [0, 2]]),
    ([[3, 0, 1], [0, 3, 1], [1, 1, 4]], [[1, 0, 0], [0, 1, 0]]),
    ([[3, 7], [6, 1]], [[3, 7], [6, 1]]),
]
ALIKE = [
    ([[1, 1], [3, 3], [-2, -2]], [[4, 1], [1, 4]]),
    ([[1, 2], [2, 1], [-1, -2], [-2, -1], [1, 2], [2, 1], [3, 3]], [[5, -2], [-2, 5]]),
]


@pytest.mark.parametrize(
    ("loss", "C", "differences", "tied"),
    [("hinge", 100.0, *case) for case in CORNERS]
    + [(loss, C, *case) for loss in LOSSES for C in (0.04, 0.5, 100.0) for case in ALIKE],
)
def test_exact_ties_of_the_optimum_are_ties(loss, C, differences, tied):
    count = len(differences)
    worse = np.random.default_rng(0).integers(-9, 10, (count, len(differences[0])))
    X, rows = np.vstack([worse + differences, worse]), np.array(tied)
    pairs = np.stack([np.arange(count), np.arange(count) + count], axis=1)
    for scale, shift in ((1.0, 0.0), (0.1, 1 / 3), (7.7, -100.1)):
        svm = RankSVM(C=C * scale**-2, loss=loss).fit(scale * X + shift, pairs=pairs)
        assert svm.rank(scale * rows + shift).tolist() == [1.5, 1.5]
        assert np.ptp(svm.decision_function(scale * rows)) <= 1e-11


def test_ties_of_few_whole_columns_do_not_depend_on_the_solver():
    rng = np.random.default_rng(8)
    X = rng.integers(0, 6, (600, 3)).astype(float)
    groups = np.repeat(np.arange(60), 10)
    y = X @ [1.0, 2.0, 1.0] + rng.integers(-3, 4, 600)
    ranks = [left.rank(X, groups) for left in fits(X, y, groups, C=0.05)]
    assert (
        sum(len(set(ranks[0][groups == group])) < len(set(map(tuple, X[groups == group]))) for group in range(60)) > 5
    )
    for right in ranks[1:]:
        np.testing.assert_array_equal(right, ranks[0])


@pytest.mark.parametrize("loss", LOSSES)
def test_what_cannot_be_solved_on_the_margin_stays_certified(loss, monkeypatch):
    X, y, groups = problem(3)
    exact = RankSVM(loss=loss).fit(X, y, groups)
    monkeypatch.setattr(polish, "LISTED", 1)
    listed = RankSVM(loss=loss).fit(X, y, groups)
    monkeypatch.undo()
    monkeypatch.setattr(polish, "DISTINCT", 0)
    distinct = RankSVM(loss=loss).fit(X, y, groups)
    monkeypatch.undo()
    monkeypatch.setattr(newton, "rounded", lambda coef, origin: coef + 1.0)
    unrounded = RankSVM(loss=loss).fit(X, y, groups)
    for item in (listed, distinct, unrounded):
        assert item.duality_gap_ <= 1e-8 * item.objective_
        assert item.objective_ == pytest.approx(exact.objective_, rel=1e-8)
        np.testing.assert_allclose(item.coef_, exact.coef_, atol=1e-4)


@given(
    arrays(np.float64, st.tuples(st.integers(0, 30), st.integers(1, 4)), elements=st.floats(-1e6, 1e6)),
    st.data(),
)
def test_exact_products_are_the_rounded_sums(rows, data):
    factors = data.draw(
        arrays(np.float64, len(rows), elements=st.floats(-1e6, 1e6).map(lambda x: float(np.float32(x))))
    )
    rows = rows.astype(np.float32).astype(np.float64)
    # products of single precision numbers are exact in double precision
    expected = [math.fsum(column * factors) for column in rows.T]
    np.testing.assert_allclose(exact_product(rows, factors), expected, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(exact_product(rows * (1 + 1e-9), factors), rows.T @ factors, rtol=1e-6, atol=1e-1)


def test_exact_products_do_not_depend_on_the_order_of_the_rows():
    random = np.random.default_rng(0)
    rows = random.standard_normal((5000, 3)) * 10.0 ** random.integers(-8, 8, (5000, 3))
    factors = random.standard_normal(5000)
    expected = exact_product(rows, factors)
    for _ in range(5):
        order = random.permutation(5000)
        np.testing.assert_array_equal(exact_product(rows[order], factors[order]), expected)
    # of terms so large that their sum could overflow on the way, too
    large = exact_product(np.array([[1e300], [1e300], [-1e300]]), np.ones(3))
    np.testing.assert_array_equal(large, [1e300])


@pytest.mark.parametrize("noise", [0.0, 1e-15, -1e-15])
def test_rounding_hides_noise_also_beside_a_power_of_two(noise):
    coef = np.array([0.5, 1 / 3, -0.1, 0.0, 1e-20])
    result = rounded(coef * (1 + noise))
    np.testing.assert_array_equal(result, rounded(coef))
    assert np.abs(result - coef).max() <= 2.0**-41
    assert result[0] == 0.5
    assert result[4] == 0
    np.testing.assert_array_equal(rounded(np.zeros(3)), np.zeros(3))
