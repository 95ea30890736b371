"""Active selection, and the statistics of the owner's page."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from ranker.collect.campaign import connect, settings_of
from ranker.collect.figures import QUEUE, feature_columns, refresh_queue
from ranker.collect.selection import Posterior, choose, directions, expected_gain, posterior_of
from ranker.corpora.judgements import human_scores
from ranker.corpora.records import Candidate, Record, assemble
from tests.collect.conftest import Client, judge_all, serving
from tests.collect.test_quality import careful, judge_in_file


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(200, 4))


def test_the_posterior_is_where_its_density_has_no_slope(rows):
    posterior = posterior_of(rows)
    chance = 1 / (1 + np.exp(rows @ posterior.mean))
    np.testing.assert_allclose(posterior.mean, rows.T @ chance, atol=1e-6)
    # the curvature by finite differences
    step = 1e-4

    def slope(w):
        return w - rows.T @ (1 / (1 + np.exp(rows @ w)))

    curvature = np.stack(
        [(slope(posterior.mean + e) - slope(posterior.mean - e)) / (2 * step) for e in step * np.eye(4)]
    )
    np.testing.assert_allclose(np.linalg.inv(curvature), posterior.covariance, rtol=1e-5)


def test_scores_differ_by_variance_one_before_any_judgement():
    generator = np.random.default_rng(1)
    columns = generator.normal(size=(300, 5)) @ generator.normal(size=(5, 5))
    offsets = np.arange(0, 301, 3)
    example = directions(columns, offsets)
    pairs = [(s + a, s + b) for s in offsets[:-1] for a in range(3) for b in range(3) if a != b]
    first, second = np.array(pairs).T
    # of independent outputs: pairs inside a source of three differ by 3/2 of the variance around their mean, times 2
    assert ((example[first] - example[second]) ** 2).sum(axis=1).mean() == pytest.approx(1.5)


def test_the_gain_is_the_information_that_a_judgement_brings(rows):
    """Half the log determinant of the posterior's precision, before and after, with the outcome's curvature."""
    posterior = posterior_of(rows[:50])
    gains, information = expected_gain(posterior, rows[50:60])
    for row, gain, weight in zip(rows[50:60], gains, information, strict=True):
        before = np.linalg.inv(posterior.covariance)
        after = before + weight * np.outer(row, row)
        assert gain == pytest.approx((np.linalg.slogdet(after)[1] - np.linalg.slogdet(before)[1]) / 2)


def test_items_of_a_batch_do_not_ask_the_same():
    # two copies of the best question, and a weaker one about something else
    columns = np.array([[3.0, 0], [0, 0], [3.0, 0], [0, 0], [0, 2.0], [0, 0]])
    items = [(np.array([0]), np.array([1])), (np.array([2]), np.array([3])), (np.array([4]), np.array([5]))]
    prior = Posterior(np.zeros(2), np.eye(2))
    assert choose(prior, columns, items, 3) == [0, 2, 1]
    # equal to what a posterior from scratch says after the first was asked
    narrowed = posterior_of(np.zeros((0, 2)))
    information = 0.25
    narrowed = Posterior(narrowed.mean, np.linalg.inv(np.eye(2) + information * np.outer([3, 0], [3, 0])))
    gains, _ = expected_gain(narrowed, np.array([[3.0, 0], [0, 2.0]]))
    assert gains[1] > gains[0]


def test_certain_answers_and_equal_outputs_are_not_asked_for():
    prior = Posterior(np.array([50.0, 0]), np.eye(2) * 1e-4)
    gains, _ = expected_gain(prior, np.array([[5.0, 0], [0, 0]]))
    assert gains[0] < 1e-6
    assert choose(prior, np.zeros((2, 2)), [(np.array([0]), np.array([1]))], 5) == []


@pytest.mark.parametrize("kind", ["ranking", "fluency"])
def test_the_queue_puts_chosen_items_in_front(campaign, sample, kind):
    path, created = campaign(kind, next="active")
    quality = dict(zip(sample.candidates["text"], human_scores(sample, "fluency"), strict=True))
    connection = connect(path)
    settings = settings_of(connection)
    columns = feature_columns(settings, sample)
    # before any judgement, and after some
    for _ in range(2):
        assert refresh_queue(connection, settings, columns) == QUEUE
        front = [row["id"] for row in connection.execute("SELECT id FROM item WHERE place < 0 ORDER BY place")]
        assert len(front) == QUEUE
        judge_in_file(path, {"judge1": (careful(quality, kind), 9)}, 20)
        requested = [row["item"] for row in connection.execute("SELECT item FROM assignment ORDER BY id DESC LIMIT 20")]
        assert requested[::-1] == front[:20]
    assert connection.execute("SELECT count(*) FROM item WHERE place < 0").fetchone()[0] == QUEUE - 20
    assert created.items > QUEUE
    connection.close()


def test_a_campaign_without_references_is_served_uniformly_and_says_so(campaign, caplog):
    records = [Record(f"s{n}", [], [Candidate("A", f"a {n}"), Candidate("B", f"b {n}")]) for n in range(12)]
    data = assemble(records, "x")
    path, created = campaign("pairwise", data=data, show="source")
    with closing(connect(path)) as connection:
        # as a file may say that was changed
        connection.execute("UPDATE settings SET next = 'active'")
    with serving(path) as address:
        assert judge_all(Client(address), created.links["judge1"], lambda texts: [1, 2]) == 12
    assert "items are chosen uniformly: " in caplog.text
