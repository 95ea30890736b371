from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.registry import make
from tests.datasets import dataset_of
from tests.effort import examples, thorough


def test_gtm_rewards_long_runs():
    dataset = dataset_of([(["a b c d e f"], "a b c x e f")])
    size = (3**2 + 2**2) ** 0.5
    assert make("gtm[exponent=2,measure=precision]").transform(dataset)[0, 0] == pytest.approx(size / 6)
    assert make("gtm").transform(dataset)[0, 0] == pytest.approx(5 / 6)


def plain_skip_bigrams(words: list[str], distance: int) -> Counter:
    pairs = combinations(range(len(words)), 2)
    return Counter((words[i], words[j]) for i, j in pairs if distance < 0 or j - i - 1 <= distance)


def plain_lcs(one: list[str], other: list[str]) -> int:
    best = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            best[i + 1][j + 1] = best[i][j] + 1 if a == b else max(best[i][j + 1], best[i + 1][j])
    return best[-1][-1]


words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=9)


@settings(deadline=None, max_examples=examples(80))
@given(words, words, st.integers(-1, 4))
def test_kernels_equal_plain_python(candidate, reference, distance):
    dataset = dataset_of([([" ".join(reference)], " ".join(candidate))])
    left, right = plain_skip_bigrams(candidate, distance), plain_skip_bigrams(reference, distance)
    matched = sum((left & right).values())
    columns = make(f"rouge_s[distance={distance},measure=recall]").transform(dataset)[0, 0]
    assert columns == pytest.approx(matched / right.total() if right else 0)
    columns = make("rouge_l[measure=precision]").transform(dataset)[0, 0]
    assert columns == pytest.approx(plain_lcs(candidate, reference) / len(candidate) if candidate else 0)
    columns = make("gtm[measure=precision]").transform(dataset)[0, 0]
    common = sum((Counter(candidate) & Counter(reference)).values())
    assert columns == pytest.approx(common / len(candidate) if candidate else 0)


@thorough
def test_the_largest_exponent_overflows_nothing():
    text = "a " * 2000
    assert make("gtm[exponent=50]")([text], [text]).corpus == pytest.approx(1)
