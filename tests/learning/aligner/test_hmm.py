"""The kernels of the word aligner against plain Python, written from the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ranker.learning.aligner.hmm import JUMPS, REACH, hmm, ibm1


def bucket(jump: int) -> int:
    return min(max(jump, -REACH - 1), REACH + 1) + REACH + 1


def plain_hmm(
    lexical: np.ndarray, null: np.ndarray, jumps: np.ndarray, p0: float
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Forward-backward over states (last word's state that was not null, null or not), from the definition."""
    observed, states = lexical.shape
    memories = range(-1, states)
    jump = {k: np.array([jumps[bucket(i - k)] for i in range(states)]) for k in memories}
    move = {k: (1 - p0) * jump[k] / jump[k].sum() for k in memories}
    ahead = np.zeros((observed + 1, states + 1))
    ahead[0, 0] = 1
    for j, k in itertools.product(range(observed), memories):
        ahead[j + 1, k + 1] += ahead[j, k + 1] * p0 * null[j]
        ahead[j + 1, 1:] += ahead[j, k + 1] * move[k] * lexical[j]
    after = np.zeros((observed + 1, states + 1))
    after[observed] = 1
    for j, k in itertools.product(range(observed - 1, -1, -1), memories):
        after[j, k + 1] = after[j + 1, k + 1] * p0 * null[j] + (move[k] * lexical[j] * after[j + 1, 1:]).sum()
    total = after[0, 0]
    posterior, counts, exposures = np.zeros((observed, states)), np.zeros(JUMPS), np.zeros(JUMPS)
    for j, k in itertools.product(range(observed), memories):
        step = ahead[j, k + 1] * move[k] * lexical[j] * after[j + 1, 1:] / total
        posterior[j] += step
        for i in range(states):
            counts[bucket(i - k)] += step[i]
            exposures[bucket(i - k)] += step.sum() / jump[k].sum()
    nulls = [(ahead[j] * p0 * null[j] * after[j + 1]).sum() / total for j in range(observed)]
    return np.log(total), posterior, np.array(nulls), counts, exposures


@pytest.mark.parametrize(("observed", "states"), [(1, 1), (3, 2), (4, 3), (5, REACH + 1), (7, 3 * REACH + 2)])
def test_the_hmm_is_its_definition(observed: int, states: int) -> None:
    random = np.random.default_rng(states)
    lexical, null, jumps = random.random((observed, states)), random.random(observed), random.random(JUMPS)
    jumps[REACH + 3] = 0.0
    posterior, nulls, counts, exposures = np.empty_like(lexical), np.empty(observed), np.zeros(JUMPS), np.zeros(JUMPS)
    result = hmm(lexical, null, jumps, 0.2, posterior, nulls, counts, exposures)
    expected = plain_hmm(lexical, null, jumps, 0.2)
    for actual, peer in zip((result, posterior, nulls, counts, exposures), expected, strict=True):
        np.testing.assert_allclose(actual, peer, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(posterior.sum(axis=1) + nulls, 1, rtol=1e-12)


def test_ibm_model_1_is_the_hmm_of_equal_jumps() -> None:
    random = np.random.default_rng(0)
    lexical, null = random.random((9, 30)), random.random(9)
    result = [(np.empty_like(lexical), np.empty(9)) for _ in range(2)]
    equal = np.full(JUMPS, 0.3)
    joined = (
        ibm1(lexical, null, 0.1, *result[0]),
        hmm(lexical, null, equal, 0.1, *result[1], np.zeros(JUMPS), np.zeros(JUMPS)),
    )
    assert joined[0] == pytest.approx(joined[1], rel=1e-12)
    np.testing.assert_allclose(result[0][0], result[1][0], rtol=1e-12)
    np.testing.assert_allclose(result[0][1], result[1][1], rtol=1e-12)


def test_a_long_sentence_does_not_underflow() -> None:
    lexical, null = np.full((3000, 40), 1e-30), np.full(3000, 1e-30)
    posterior, nulls = np.empty_like(lexical), np.empty(3000)
    result = hmm(lexical, null, np.ones(JUMPS), 0.1, posterior, nulls, np.zeros(JUMPS), np.zeros(JUMPS))
    assert result == pytest.approx(3000 * np.log(1e-30), rel=1e-9)
    np.testing.assert_allclose(posterior.sum(axis=1) + nulls, 1, rtol=1e-9)
