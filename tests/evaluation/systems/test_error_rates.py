"""How often systems that are equally good are found to differ; bench/systems.py has the same on real outputs."""

from __future__ import annotations

import numpy as np
import pytest

from bench.systems import dealt, error_rate, two_groups
from tests.effort import further

SIMULATIONS = 400
# more than this from .05 comes up once in a thousand runs
MARGIN = 3.3 * np.sqrt(0.05 * 0.95 / SIMULATIONS)


def share(sums):
    return sums[..., 0] / sums[..., 1]


def outputs(quality: float, seed: int) -> np.ndarray:
    """Make statistics of 480 outputs, matched words and words, of skewed lengths."""
    generator = np.random.default_rng(seed)
    words = 1 + generator.geometric(0.05, size=480)
    return np.stack([generator.binomial(words, quality), words], axis=1).astype(float)


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_two_halves_of_the_same_system_differ_as_often_as_they_should(test):
    rates = error_rate(share, dealt(outputs(0.6, 0), 2), test=test, simulations=SIMULATIONS, resamples=199)
    assert rates == pytest.approx((0.05, 0.05), abs=MARGIN)
    assert rates[0] == rates[1]


@pytest.mark.parametrize("test", ["bs", further("ar")])
def test_any_error_among_all_pairs_is_as_rare(test):
    same = dealt(outputs(0.6, 0), 4)
    settings = {"test": test, "simulations": SIMULATIONS, "resamples": 199}
    pairs, clusters = error_rate(share, same, **settings)
    assert clusters <= pairs < 0.05 + MARGIN
    assert error_rate(share, same, correction="none", **settings)[0] > 0.12
    groups = two_groups(outputs(0.6, 0), outputs(0.4, 1), 4)
    pairs, clusters = error_rate(share, groups, groups=2, **settings)
    assert clusters <= pairs < 0.05 + MARGIN
    # the groups themselves are told apart
    assert min(error_rate(share, groups, **settings)) > 0.9
