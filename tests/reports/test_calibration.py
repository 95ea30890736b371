from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ranker.corpora.judgements import human_scores, preference_pairs
from ranker.reports.calibration import calibrate, strict_pairs


def test_pairs_of_scores_are_those_of_a_loop(sample):
    human = human_scores(sample, "fluency")
    brute = set()
    for first, last in zip(sample.candidate_offsets, sample.candidate_offsets[1:], strict=False):
        brute |= {(i, j) for i in range(first, last) for j in range(first, last) if human[i] > human[j] + 1e-9}
    better, worse = strict_pairs(sample, "fluency")
    assert set(zip(better.tolist(), worse.tolist(), strict=True)) == brute
    assert len(better) == len(brute)


def test_pairs_of_preferences_are_the_judgements(preferred):
    better, worse = strict_pairs(preferred, "preferences")
    pairs = preference_pairs(preferred)
    assert np.array_equal(better, pairs.better)
    assert np.array_equal(worse, pairs.worse)


@pytest.fixture(scope="module")
def margins():
    generator = np.random.default_rng(1)
    size = generator.exponential(size=4000)
    agrees = generator.random(4000) < 1 / (1 + np.exp(-1.7 * size))
    return np.where(agrees, size, -size), generator.integers(300, size=4000)


def test_bins_count_agreement_and_are_about_equally_full(margins):
    values, source = margins
    calibration = calibrate(np.concatenate([values, [0.0, 0.0]]), np.concatenate([source, [0, 0]]), 300, resamples=200)
    assert (calibration.pairs, calibration.tied) == (4000, 2)
    assert [entry.pairs for entry in calibration.bins] == [400] * 10
    for item in calibration.bins:
        inside = values[(abs(values) >= item.low) & (abs(values) <= item.high)]
        assert item.mean == pytest.approx(abs(inside).mean())
        assert item.agreement.value == pytest.approx((inside > 0).mean())
        assert item.agreement.low <= item.agreement.value <= item.agreement.high
        # about the binomial interval, as pairs are independent here
        width = 2 * 1.96 * np.sqrt(item.agreement.value * (1 - item.agreement.value) / 400)
        assert item.agreement.high - item.agreement.low == pytest.approx(width, rel=0.35, abs=0.01)


def test_slope_is_that_of_logistic_regression_without_intercept(margins):
    values, source = margins
    agrees = values > 0
    expected = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(np.abs(values)[:, None], agrees)
    assert calibrate(values, source, 300, resamples=0).slope == pytest.approx(expected.coef_[0, 0], rel=1e-5)


def test_degenerate_pairs():
    nothing = calibrate(np.zeros(3), np.zeros(3, dtype=int), 1)
    assert (nothing.bins, nothing.pairs, nothing.tied) == ((), 0, 3)
    assert np.isnan(nothing.slope)
    always = calibrate(np.ones(5), np.arange(5), 5)
    assert [(item.pairs, item.agreement.value) for item in always.bins] == [(5, 1.0)]
    assert always.slope == np.inf
    assert calibrate(-np.ones(5), np.arange(5), 5).slope == -np.inf
