"""Sums over pairs against a twin in plain Python that takes them one by one."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import DataError
from ranker.learning.svm import pair_loss
from ranker.learning.svm.pair_loss import PairLoss, PairSet
from tests.effort import examples

LOSSES = [
    PairLoss(np.inf, 3.0, 0.0),
    PairLoss(1.0, 0.5, 0.5),
    PairLoss(0.25, 8.0, 2.0),
    PairLoss(1e-3, 1e3, 1.0),
]


def list_pairs(offsets, grades):
    """Every (better, worse) of one group with different grades."""
    return [
        (i, j)
        for first, last in pairwise(offsets)
        for i, j in product(range(first, last), repeat=2)
        if grades[i] > grades[j]
    ]


def twin(pairs, weights, scores, rows, loss):
    """Row alphas, totals and curvature, pair by pair, added without rounding errors."""
    terms = [[] for _ in scores]
    totals = [[], [], []]
    curvature = np.zeros((rows.shape[1], rows.shape[1]))
    for (better, worse), weight in zip(pairs, weights, strict=True):
        slack = 1.0 - (scores[better] - scores[worse])
        if slack <= 0:
            continue
        if slack <= loss.width:
            alpha = weight * loss.slope * slack
            totals[1].append(weight * slack)
            totals[2].append(weight * slack * slack)
            difference = rows[better] - rows[worse]
            curvature += weight * np.outer(difference, difference)
        else:
            alpha = weight * loss.cap
            totals[0].append(weight * slack)
        terms[better].append(alpha)
        terms[worse].append(-alpha)
    return np.array([math.fsum(row) for row in terms]), [math.fsum(total) for total in totals], curvature


def assert_same(pair_set: PairSet, expected, scores, rows, loss):
    row_alpha, totals = pair_set.alphas(scores, loss)
    scale = max(1.0, loss.slope) * (1.0 + np.abs(scores).max()) * len(scores) ** 2
    np.testing.assert_allclose(row_alpha, expected[0], rtol=0, atol=1e-14 * scale)
    np.testing.assert_allclose(totals, expected[1], rtol=0, atol=1e-14 * scale * (1.0 + np.abs(scores).max()))
    np.testing.assert_allclose(pair_set.curvature(scores, rows, loss.width), expected[2], rtol=1e-11, atol=1e-10)


@st.composite
def problems(draw):
    """Groups with ties in the grades, and scores that often tie or meet a threshold exactly."""
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=5))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = sum(sizes)
    grades = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=np.float64)
    quarters = st.integers(-12, 12).map(lambda value: value / 4)
    score = quarters | st.floats(-4, 4, allow_subnormal=False)
    scores = np.array(draw(st.lists(score, min_size=n, max_size=n)))
    rows = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, 3))
    return offsets, grades, scores, rows, draw(st.sampled_from(LOSSES))


@settings(deadline=None, max_examples=examples(150))
@given(problems())
def test_graded_pairs_agree_with_the_plain_twin(problem):
    offsets, grades, scores, rows, loss = problem
    pairs = list_pairs(offsets, grades)
    pair_set = PairSet.graded(offsets, grades)
    assert pair_set.total_weight == len(pairs)
    assert_same(pair_set, twin(pairs, np.ones(len(pairs)), scores, rows, loss), scores, rows, loss)


@settings(deadline=None, max_examples=examples(60))
@given(problems(), st.data())
def test_listed_pairs_count_with_their_weights_and_may_repeat_or_contradict(problem, data):
    offsets, _, scores, rows, loss = problem
    inside = [
        (i, j) for first, last in pairwise(offsets.tolist()) for i, j in product(range(first, last), repeat=2) if i != j
    ]
    pairs = data.draw(st.lists(st.sampled_from(inside), max_size=40)) if inside else []
    weights = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.25]), min_size=len(pairs), max_size=len(pairs)))
    better, worse = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    pair_set = PairSet(len(scores), better, worse, np.array(weights))
    assert pair_set.total_weight == sum(weights)
    assert_same(pair_set, twin(pairs, weights, scores, rows, loss), scores, rows, loss)


def test_the_sums_of_a_narrow_zone_are_exact_to_its_width():
    # A difference of prefix sums would be off by the rounding error of all scores together, 1e-12 and more.
    rng = np.random.default_rng(5)
    width, n = 1e-8, 600
    scores = np.concatenate([rng.normal(3.0, 5.0, n), rng.normal(0.0, 5.0, n)])
    scores[n : n + 20] = scores[:20] - 1.0 + np.linspace(0.1, 0.9, 20) * width
    offsets, grades = np.array([0, 2 * n]), np.repeat([1.0, 0.0], n)
    _, totals = PairSet.graded(offsets, grades).alphas(scores, PairLoss(width, 1.0 / width, 1.0))
    slack = 1.0 - (scores[:n, None] - scores[None, n:])
    in_zone = slack[(slack > 0) & (slack <= width)]
    assert len(in_zone) >= 20
    assert totals.zone_slack == pytest.approx(in_zone.sum(), rel=1e-5)
    assert totals.zone_squares == pytest.approx((in_zone**2).sum(), rel=1e-5)


def test_more_pairs_than_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr(pair_loss, "MOST_PAIRS", 9)
    expected = (
        r"groups of up to 5 rows have 10 pairs, expected at most 9: compare rows in smaller groups, or give pairs"
    )
    with pytest.raises(DataError, match=expected):
        PairSet.graded(np.array([0, 5]), np.zeros(5))


def test_gaps_and_values_of_the_losses():
    pairs = PairSet(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 2.0, 1.0]))
    scores = np.array([0.9, 0.0, 2.0])  # slacks 0.1, 2.1 and 3.0
    hinge = PairLoss(0.2, 10.0, 2.0)
    _, totals = pairs.alphas(scores, hinge)
    assert hinge.unsmoothed(totals) == pytest.approx(2.0 * (0.1 + 2 * 2.1 + 3.0))
    assert hinge.smoothing_gap(totals) == pytest.approx((2.0 - 10.0 * 0.1) * 0.1)
    assert hinge.narrowed(0.1) == pytest.approx(PairLoss(0.02, 100.0, 2.0))
    squared = PairLoss(np.inf, 4.0, 0.0)
    row_alpha, totals = pairs.alphas(scores, squared)
    assert squared.unsmoothed(totals) == pytest.approx(2.0 * (0.01 + 2 * 4.41 + 9.0))
    assert squared.smoothing_gap(totals) == 0.0
    np.testing.assert_allclose(row_alpha, [0.4 + 16.8, -0.4 + 12.0, -16.8 - 12.0])
