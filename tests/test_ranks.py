"""Ties, and ranks inside groups: one rule, that noise does not change."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import rankdata

from ranker.apps.tuning.envelope import best_of_blocks
from ranker.arrays import offsets_of, pairs_in_blocks
from ranker.corpora.judgements import PreferencePairs
from ranker.corpora.records import Candidate, Record, assemble
from ranker.evaluation.correlation.pair_counts import count_pairs
from ranker.evaluation.correlation.pairwise_accuracy import pairwise_accuracy
from ranker.evaluation.correlation.segment import tau_counts
from ranker.learning.svm.ranksvm import RankSVM
from ranker.learning.svm.scoring import mean_group_spearman
from ranker.ranking.by_score import rank_by
from ranker.ranks import TIE, average_ranks, group_spearman, merge_ties, sort_counting
from ranker.storage import kernels
from tests.effort import examples
from tests.evaluation.correlation.plain import CORRELATIONS, correlate

# Steps that tie and steps that do not, both far from where the rule changes its mind; a grid of 1e-10 has its lines
# at every multiple of 5e-11.
STEPS = st.sampled_from([0.0, 5e-11, 9e-11, 1.5e-10, 1e-6, 0.3])


@st.composite
def grouped_scores(draw):
    """Scores in groups, small and large, and what noise of 1e-13 makes of them."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 7, 40]), min_size=1, max_size=5))
    groups = []
    for size in sizes:
        start = draw(st.integers(-20, 20)) * 5e-11
        steps = draw(st.lists(STEPS, min_size=size, max_size=size))
        order = draw(st.permutations(range(size)))
        groups.append((start + np.cumsum(steps))[list(order)])
    scores = np.concatenate(groups)
    noise = draw(arrays(np.float64, len(scores), elements=st.floats(-1e-13, 1e-13)))
    return scores, scores + noise, np.concatenate([[0], np.cumsum(sizes)])


def plain_merge(values):
    """The rule in words, for one group."""
    order = sorted((row for row in range(len(values)) if not np.isnan(values[row])), key=lambda row: values[row])
    merged, before = values.copy(), None
    for row in order:
        tied = before is not None and (values[row] == values[before] or values[row] - values[before] <= TIE)
        merged[row] = merged[before] if tied else values[row]
        before = row
    return merged


@given(grouped_scores())
def test_merged_scores_are_those_of_the_rule(drawn):
    scores, _, offsets = drawn
    merged = merge_ties(scores, offsets)
    expected = [plain_merge(scores[start:stop]) for start, stop in pairwise(offsets)]
    np.testing.assert_array_equal(merged, np.concatenate(expected))
    np.testing.assert_array_equal(merge_ties(merged, offsets), merged)
    ranks = [rankdata(item) for item in expected]
    np.testing.assert_array_equal(average_ranks(scores, offsets), np.concatenate(ranks))


def test_a_hair_across_a_grid_line_ties_and_ties_chain():
    line = 1234.5 * TIE
    values = [np.nextafter(line, 0), np.nextafter(line, 1), line + 0.9 * TIE, line + 1.8 * TIE, line + 2.9 * TIE]
    assert len(set(merge_ties(values).tolist())) == 2
    values = np.array([np.inf, np.nan, -np.inf, np.inf, 1.0, np.nan])
    np.testing.assert_array_equal(merge_ties(values), values)
    tables = np.array([[[0.0, 1e-11], [0.0, 1e-9]]])
    np.testing.assert_array_equal(merge_ties(tables), [[[0.0, 0.0], [0.0, 1e-9]]])
    assert merge_ties(np.zeros((3, 0))).shape == (3, 0)


@settings(max_examples=examples(40))
@given(grouped_scores(), st.randoms(use_true_random=False))
def test_noise_changes_nothing_that_counts_ties(drawn, random):
    scores, noisy, offsets = drawn
    human = np.array([random.randrange(3) for _ in scores], dtype=np.float64)
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    better, worse = np.nonzero((group[:, None] == group) & (human[:, None] > human))
    pairs = PreferencePairs(better, worse, np.ones(len(better)))
    data = assemble(
        [
            Record(f"s{number}", ["r"], [Candidate(str(row), "c") for row in np.flatnonzero(group == number)])
            for number in range(len(offsets) - 1)
        ],
        "made",
    )
    ranked = [rank_by(data, each)[["candidate", "rank", "tied"]] for each in (scores, noisy)]
    assert ranked[0].equals(ranked[1])
    joined = [merge_ties(each, offsets) for each in (scores, noisy)]
    for result in (
        [tau_counts(each, pairs, group, len(offsets) - 1) for each in joined],
        [count_pairs(human, each, offsets) for each in joined],
        [group_spearman(each, human, offsets) for each in (scores, noisy)],
        [best_of_blocks(each, offsets) for each in (scores, noisy)],
        [RankSVM().fit([[0.0], [1.0]], [0, 1]).rank(each[:, None], group) for each in (scores, noisy)],
    ):
        np.testing.assert_array_equal(*result)
    assert [joined[0][row] for row in best_of_blocks(scores, offsets)] == [
        max(joined[0][start:stop]) for start, stop in pairwise(offsets)
    ]


@given(
    arrays(np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=st.integers(-3, 3)),
    st.data(),
)
def test_noise_changes_no_correlation_of_tables(human, data):
    of_shape = {"shape": human.shape}
    scores = 0.1 * data.draw(arrays(np.float64, elements=st.integers(-3, 3), **of_shape))
    noisy = scores + data.draw(arrays(np.float64, elements=st.floats(-1e-13, 1e-13), **of_shape))
    for name in CORRELATIONS:
        for average in ("none", "item", "system"):
            first, second = (correlate(human, each, name, average) for each in (scores, noisy))
            assert first.value == pytest.approx(second.value, abs=1e-9, nan_ok=True), (name, average)
            assert (first.groups, first.undefined) == (second.groups, second.undefined)
    np.testing.assert_array_equal(pairwise_accuracy(human, scores), pairwise_accuracy(human, noisy))


@pytest.mark.parametrize("mode", ["plain", "compiled"])
def test_groups_with_nan_have_no_correlation(mode):
    with kernels.using(mode):
        for corrected in (True, False):
            rho = group_spearman([1, 2, np.nan, 1, 2], [1, 2, 3, 2, 1], [0, 3, 5], tie_corrected=corrected)
            np.testing.assert_array_equal(rho, [np.nan, -1])
    assert mean_group_spearman([1, 2, np.nan, 1, 2], [1, 2, 3, 1, 2], [0, 0, 0, 1, 1]) == 1


@given(st.lists(st.integers(-3, 3), max_size=40), st.sampled_from([np.int32, np.int64, np.float64]))
def test_sorting_counts_the_inversions(values, dtype):
    example = np.array(values, dtype=dtype)
    inversions = sum(before > after for place, after in enumerate(values) for before in values[:place])
    assert sort_counting(example, np.empty_like(example)) == inversions
    assert example.tolist() == sorted(values)


@pytest.mark.parametrize("offsets", [[1, 3], [0, 2], [0, 4]])
def test_offsets_that_do_not_cover_all_rows_are_refused(offsets):
    with pytest.raises(ValueError, match=r"expected from 0 to the number of rows, 3"):
        average_ranks([1.0, 2.0, 3.0], offsets)


@given(st.lists(st.integers(0, 5), max_size=8))
def test_pairs_in_blocks_are_all_pairs_of_every_block(sizes: list[int]) -> None:
    offsets = offsets_of(sizes)
    first, second = pairs_in_blocks(offsets)
    expected = [
        pair for start, stop in itertools.pairwise(offsets) for pair in itertools.combinations(range(start, stop), 2)
    ]
    assert sorted(zip(first.tolist(), second.tolist(), strict=True)) == sorted(expected)
