"""Statistics of pairs are those of the candidates scored one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ranker.extractors.registry import make_metric
from ranker.text.pairs import TextPairs
from tests.datasets import dataset_of

WORDS = ["a", "b", "c", "d", "ab", "ba", "abc", "the", "cat", "sat"]
METRICS = (
    *("chrf", "chrf[word_order=2]", "chrf[order=3,whitespace=true]", "chrf[epsilon=true]"),
    *("bleu", "bleu[smoothing=add-one]", "bleu[smoothing=epsilon,order=2]"),
)


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    items = [[" ".join(rng.choice(WORDS, rng.integers(0, 9))) for _ in range(rng.integers(1, 7))] for _ in range(12)]
    items += [[], ["", "", "a a a a", "a a"], ["x"]]
    return dataset_of([([], item) for item in items])


def all_pairs(texts) -> TextPairs:
    """Return every candidate with every candidate of its source as reference, itself included."""
    offsets = texts.candidate_offsets
    pairs = [
        (i, j)
        for first, last in itertools.pairwise(offsets.tolist())
        for j in range(first, last)
        for i in range(first, last)
    ]
    candidate, reference = np.array(pairs, dtype=np.int64).T
    return TextPairs(texts, candidate.copy(), reference.copy())


@pytest.mark.parametrize("name", METRICS)
def test_statistics_of_pairs_are_those_of_candidates_with_one_reference(texts, name):
    metric, pairs = make_metric(name), all_pairs(texts)
    result = metric.pair_statistics(pairs)
    np.testing.assert_array_equal(result, metric.statistics(pairs.dataset()))
    back = metric.swapped_statistics(result)
    if back is None:
        assert "epsilon=true" in name
        return
    order = np.lexsort((pairs.reference, pairs.candidate))
    np.testing.assert_array_equal(
        metric.score(back)[order], metric.score(result)[np.lexsort((pairs.candidate, pairs.reference))]
    )


def test_other_metrics_compare_pairs_too(texts):
    metric, pairs = make_metric("ter"), all_pairs(texts)
    assert metric.swapped_statistics(np.zeros((1, metric.width))) is None
    scores = metric.score(metric.pair_statistics(pairs))
    same = texts.candidates["text"].to_numpy(object)
    equal = same[pairs.candidate] == same[pairs.reference]
    assert (scores[equal & (same[pairs.candidate] != "")] == 0).all()
    assert (scores[~equal] > 0).all()
