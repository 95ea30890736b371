"""Relations of voters: none between independent ones, and copies share one vote."""

from __future__ import annotations

import numpy as np
import pytest

from ranker.extractors.consensus.relatives import relation_to, relatives, vote_weights


def independent(nearness) -> np.ndarray:
    """Return similarities of voters that are alike only as far as they are near to what is right."""
    example = np.multiply.outer(nearness, nearness)
    np.fill_diagonal(example, 1.0)
    return example


def everyone(similarity) -> np.ndarray:
    return np.ones(similarity.shape, dtype=bool)


def copied(similarity, voter: int, copies: int) -> np.ndarray:
    """Return similarities with `copies` more of one voter at the end."""
    rows = [*range(len(similarity)), *[voter] * copies]
    example = similarity[np.ix_(rows, rows)].copy()
    group = [voter, *range(len(similarity), len(rows))]
    example[np.ix_(group, group)] = 1.0
    return example


def test_independent_voters_of_any_quality_are_no_relatives():
    similarity = independent([0.9, 0.8, 0.8, 0.5, 0.3])
    relations = relatives(similarity, everyone(similarity))
    np.testing.assert_allclose(relations.relation, np.eye(5), atol=1e-6)
    np.testing.assert_allclose(np.exp(relations.nearness), [0.9, 0.8, 0.8, 0.5, 0.3], atol=0.02)
    np.testing.assert_allclose(vote_weights(relations.relation), 1, atol=1e-6)


@pytest.mark.parametrize("copies", [1, 3, 10])
@pytest.mark.parametrize("voter", [0, 4])
def test_copies_share_one_vote_and_change_nobody_elses(copies, voter):
    rng = np.random.default_rng(0)
    noise = 1 + 0.05 * rng.normal(size=(6, 6))
    similarity = np.clip(independent(rng.uniform(0.5, 0.9, 6)) * (noise + noise.T) / 2, 0, 1)
    np.fill_diagonal(similarity, 1.0)
    before = vote_weights(relatives(similarity, everyone(similarity)).relation)
    more = copied(similarity, voter, copies)
    after = vote_weights(relatives(more, everyone(more)).relation)
    group = [voter, *range(6, 6 + copies)]
    assert after[group].sum() == pytest.approx(before[voter], abs=0.02)
    np.testing.assert_allclose(np.delete(after, group), np.delete(before, voter), atol=0.02)
    assert after.sum() == pytest.approx(before.sum(), abs=0.05)


def test_what_copies_have_in_common_counts_as_much_as_expected_of_voters_so_good():
    similarity = copied(independent([0.9, 0.8, 0.7, 0.85, 0.4]), 4, 5)
    relations = relatives(similarity, everyone(similarity))
    left = similarity - relations.excess
    assert left[4, 5:] == pytest.approx(0.16, abs=0.02)
    np.testing.assert_allclose(left[:4, :4], similarity[:4, :4], atol=0.02)


def test_a_batch_is_its_members_and_unknown_pairs_are_no_relatives():
    rng = np.random.default_rng(1)
    batch = np.stack([copied(independent(rng.uniform(0.3, 0.9, 5)), 2, 3) for _ in range(4)])
    together = relatives(batch, everyone(batch))
    for number, item in enumerate(batch):
        np.testing.assert_allclose(together.relation[number], relatives(item, everyone(item)).relation, atol=1e-12)
    known = everyone(batch[0])
    known[2, 5:] = known[5:, 2] = False
    assert (relatives(batch[0], known).relation[2, 5:] == 0).all()


def test_candidates_that_do_not_vote_are_related_as_if_they_did():
    similarity = copied(independent([0.9, 0.8, 0.7, 0.85, 0.4, 0.6]), 4, 4)
    relations = relatives(similarity, everyone(similarity))
    relation, excess = relation_to(similarity, relations.nearness, vote_weights(relations.relation))
    off = ~np.eye(len(similarity), dtype=bool)
    np.testing.assert_allclose(relation[off], relations.relation[off], atol=0.03)
    np.testing.assert_allclose(excess[off], relations.excess[off], atol=0.03)


def test_voters_without_anything_in_common_are_fine():
    nothing = np.eye(3)
    assert np.isfinite(relatives(nothing, everyone(nothing)).relation).all()
    alone = np.ones((1, 1))
    assert relatives(alone, everyone(alone)).relation.tolist() == [[1.0]]
    empty = np.zeros((2, 2))
    assert np.isfinite(relatives(empty, everyone(empty)).excess).all()
