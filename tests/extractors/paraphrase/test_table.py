from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from ranker.extractors.paraphrase.table import START, Cooccurrences, estimate


def plain_direction(rows, weights, given, place, iterations, null, discount):
    """Expectation-maximisation over lists of (words, places, closeness) of every pair of sentences."""
    probability = defaultdict(lambda: START)
    counts = {}
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for pair, weight in zip(rows, weights, strict=True):
            for words, places, closeness in pair:
                mass = null * START + sum(probability[w] * c for w, p, c in pair if p[place] == places[place])
                counts[words] += weight * probability[words] * closeness / mass
        for words, count in counts.items():
            totals[words[given]] += count
        probability = {
            words: max(count - discount, 0) / max(totals[words[given]], 1e-12) for words, count in counts.items()
        }
    return probability, counts


def made_up(seed):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(12):
        sides = [rng.integers(0, 5, rng.integers(0, 4)).tolist() for _ in range(2)]
        rows.append(
            [
                ((a, b), (i, j), float(np.float32(rng.uniform(0.1, 1))))
                for i, a in enumerate(sides[0])
                for j, b in enumerate(sides[1])
            ]
        )
    return rows


def cooccurrences(rows):
    flat = [row for pair in rows for row in pair]
    places = np.array([[*words, *where] for words, where, _ in flat], dtype=np.int32).reshape(-1, 4)
    starts = np.concatenate([[0], np.cumsum([len(pair) for pair in rows])]).astype(np.int64)
    return Cooccurrences.of(starts, places, np.array([closeness for *_, closeness in flat], dtype=np.float32))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_equals_plain_python(seed):
    rows = made_up(seed)
    weights = np.random.default_rng(seed).uniform(0, 2, len(rows))
    fitted = estimate(cooccurrences(rows), weights, iterations=4, null=0.3, discount=0.1, least=0.05, least_count=0.3)
    forward, count = plain_direction(rows, weights, 0, 1, 4, 0.3, 0.1)
    backward, other = plain_direction(rows, weights, 1, 0, 4, 0.3, 0.1)
    want = {
        words: (forward[words] * backward[words]) ** 0.5
        for words in sorted(forward)
        if forward[words] * backward[words] >= 0.05**2 and min(count[words], other[words]) >= 0.3
    }
    assert list(zip(fitted.first.tolist(), fitted.second.tolist(), strict=True)) == list(want)
    np.testing.assert_allclose(fitted.similarity, list(want.values()), rtol=1e-5)
    assert len(fitted) > 3


def test_a_weight_of_0_leaves_a_pair_out():
    rows = made_up(7)
    weights = np.ones(len(rows))
    weights[4:] = 0
    options = {"least": 0.01, "least_count": 0.1, "discount": 0.05}
    some, few = estimate(cooccurrences(rows), weights, **options), estimate(cooccurrences(rows[:4]), **options)
    np.testing.assert_array_equal(some.first, few.first)
    np.testing.assert_array_equal(some.similarity, few.similarity)


def test_what_goes_together_wins_over_what_stands_by():
    together = [[((0, 9), (0, 0), 1.0), ((n % 8 + 1, 9), (1, 0), 1.0)] for n in range(40)]
    fitted = estimate(cooccurrences(together), least_count=2)
    similarity = dict(
        zip(zip(fitted.first.tolist(), fitted.second.tolist(), strict=True), fitted.similarity, strict=True)
    )
    assert 0.5 < similarity.pop((0, 9)) <= 1
    assert max(similarity.values()) < 0.3
