from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.evaluation.choices import ResamplingLevel
from ranker.evaluation.systems.human_ranking import HumanRanking, expected_wins, rank_clusters, rank_systems
from ranker.evaluation.systems.run import compare_systems
from ranker.evaluation.systems.trueskill import TrueSkill
from tests.evaluation.made import graded, preferred, same_outputs


@pytest.mark.parametrize("drift", [0.0, 0.05])
def test_trueskill_equals_the_library(drift):
    library = pytest.importorskip("trueskill")
    generator = np.random.default_rng(0)
    first = generator.integers(5, size=200)
    second = (first + generator.integers(1, 5, size=200)) % 5
    outcome = generator.integers(-1, 2, size=200)
    environment = library.TrueSkill(mu=0, sigma=0.5, beta=0.25, tau=drift, draw_probability=0.25)
    ratings = [environment.create_rating() for _ in range(5)]
    for a, b, result in zip(first, second, outcome, strict=True):
        a, b = (b, a) if result < 0 else (a, b)
        ratings[a], ratings[b] = library.rate_1vs1(ratings[a], ratings[b], drawn=result == 0, env=environment)
    skill, deviation = TrueSkill(drift=drift).rate(first, second, outcome, 5, np.arange(200))
    # the library's own approximation of the normal distribution is good to about 1e-7
    assert skill[0] == pytest.approx([rating.mu for rating in ratings], abs=1e-6)
    assert deviation[0] == pytest.approx([rating.sigma for rating in ratings], abs=1e-6)


def test_trueskill_survives_upsets_and_takes_what_is_listed():
    outcome = np.array([1, -1, 0])
    model = TrueSkill(sigma=0.5, beta=1e-3)
    skill, deviation = model.rate([0, 0, 0], [1, 1, 1], outcome, 2, [[0] * 50 + [1, 2], [1] * 52, [-1] * 52])
    assert np.isfinite(skill).all()
    assert (deviation > 0).all()
    assert skill[1, 0] < skill[1, 1]
    assert skill[2].tolist() == [0, 0]


def test_expected_wins_by_hand():
    wins = np.array([[0, 3, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]])
    result = expected_wins(wins)
    assert result[:3].tolist() == pytest.approx([3 / 4, (1 / 4 + 1 / 2) / 2, 1 / 2])
    assert np.isnan(result[3])


def test_clusters_are_cut_where_ranges_do_not_overlap():
    assert rank_clusters([1, 1, 3, 4, 4], [2, 2, 3, 5, 5]).tolist() == [1, 1, 2, 3, 3]
    assert rank_clusters([1, 2, 1], [3, 2, 3]).tolist() == [1, 1, 1]
    assert rank_clusters([], []).tolist() == []


@pytest.mark.parametrize("method", ["expected-wins", "trueskill"])
def test_systems_come_in_the_order_people_put_them_in(method):
    generator = np.random.default_rng(1)
    quality = np.array([0.0, 1.5, 1.45, 3.0])
    human = quality + generator.normal(size=(150, 4))
    (rankings,) = rank_systems(preferred(human), method=method, resamples=100)
    assert (rankings.lp, rankings.method) == ("xx-en", method)
    assert [system.system for system in rankings.systems][::3] == ["s3", "s0"]
    assert [system.cluster for system in rankings.systems] == [1, 2, 2, 3]
    assert [(system.low, system.high) for system in rankings.systems][::3] == [(1, 1), (4, 4)]
    assert {system.judgements for system in rankings.systems} == {450}
    assert rank_systems(preferred(human), method=method, resamples=100) == (rankings,)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("preferences", "expected-wins"),
        ("preferences", "bradley-terry"),
        ("preferences", "trueskill"),
        ("win-rate", "mean"),
    ],
)
def test_a_judgement_counts_for_every_system_that_gave_the_output(kind, method):
    (ranking,) = rank_systems(same_outputs(), kind, method=method, resamples=100)
    best, second, last = ranking.systems
    assert ({best.system, second.system}, last.system) == ({"s0", "s1"}, "s2")
    assert best.score == pytest.approx(second.score, abs=0.02 if method == "trueskill" else 1e-9)
    assert (best.judgements, best.cluster) == (second.judgements, second.cluster)
    if kind == "win-rate":
        assert best.score == 0.75
    elif method != "trueskill":
        assert best.rank == second.rank == 1


def test_systems_with_the_same_outputs_are_equal_by_preferences():
    (comparison,) = compare_systems(same_outputs(), resamples=100).comparisons
    found = [(each.system, each.rank, each.cluster, each.details["tied"]) for each in comparison.systems]
    assert found == [("s0", 1, 1, 0), ("s1", 1, 1, 0), ("s2", 3, 2, 0)]
    # as of one system that won 30 of 40 comparisons
    assert comparison.systems[0].score.value - comparison.systems[2].score.value == pytest.approx(np.log(3))


@pytest.mark.parametrize(("sources", "clusters"), [(1, [1, 1, 1]), (5, [1, 1, 1]), (6, [1, 2, 3])])
def test_people_tell_no_systems_apart_with_fewer_than_six_sources(sources, clusters):
    (rankings,) = rank_systems(graded(np.array([[1.0, 5.0, 3.0]] * sources)), resamples=50)
    assert [system.cluster for system in rankings.systems] == clusters
    assert [system.rank for system in rankings.systems] == [1, 2, 3]


def test_systems_that_people_never_preferred_or_put_behind_have_no_rank(caplog):
    human = np.array([[1.0, 2.0, np.nan], [np.nan, 1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 2.0, np.nan]])
    (rankings,) = rank_systems(preferred(human), resamples=50)
    assert [(system.system, system.score, system.rank) for system in rankings.systems] == [
        ("s1", 1.0, 1),
        ("s0", 0.0, 2),
    ]
    expected = "test xx-en: systems without a rank, because they neither won nor lost a comparison: s2"
    assert expected in caplog.text
    assert rank_systems(preferred(np.ones((3, 2))), resamples=50) == ()


@pytest.mark.parametrize("data", [graded, preferred])
def test_a_system_that_is_hardly_judged_may_have_any_rank_and_moves_no_other(data, caplog):
    human = np.tile([4.0, 3.0, 2.0, np.nan], (40, 1))
    human[:5, 3] = 1.0
    (rankings,) = rank_systems(data(human), resamples=400)
    ranges = [(system.system, system.low, system.high, system.cluster) for system in rankings.systems]
    assert ranges == [("s0", 1, 1, 1), ("s1", 2, 2, 2), ("s2", 3, 3, 3), ("s3", 1, 4, 3)]
    expected = "test xx-en: systems with judgements of fewer than 6 sources, so that any rank is possible: s3"
    assert caplog.text.count(expected) == 1
    human[:5, 3] = 5.0
    (rankings,) = rank_systems(data(human), resamples=400)
    ranges = [(system.system, system.rank, system.low, system.high, system.cluster) for system in rankings.systems]
    assert ranges == [("s3", 1, 1, 4, 1), ("s0", 2, 1, 2, 1), ("s1", 3, 2, 3, 2), ("s2", 4, 3, 4, 3)]
    human[:6, 3] = 5.0
    (rankings,) = rank_systems(data(human), resamples=400)
    assert (rankings.systems[0].system, rankings.systems[0].high) == ("s3", 1)


def test_ties_are_no_judgements_of_expected_wins():
    human = np.tile([2.0, 1.0, 2.0], (40, 1))
    human[20:, 0] = np.nan
    human[:, 1] = np.where(np.arange(40) < 20, 2.0, 1.0)
    human[0] = [3.0, 2.0, 2.0]
    (rankings,) = rank_systems(preferred(human), method="expected-wins", resamples=100)
    assert {(system.system, system.low, system.high) for system in rankings.systems} >= {("s0", 1, 3)}


def test_a_note_names_systems_whose_means_are_of_other_sources(caplog):
    human = np.tile([3.0, 2.0, 1.0], (40, 1))
    human[36:, 1] = human[30:, 2] = np.nan
    rank_systems(graded(human), resamples=0)
    assert caplog.text.count("different sources") == 1
    assert (
        "test xx-en: systems were judged on different sources (of 40 sources: s2 on 30), so their mean" in caplog.text
    )


def test_scores_standardised_per_judge_are_called_so():
    names = ["s0", "s1"]

    def ranking(*judges: str | None) -> HumanRanking:
        rated = [
            [Candidate(name, "t", [("score", judge, float(place + number))]) for place, name in enumerate(names)]
            for number, judge in enumerate(judges)
        ]
        data = assemble([Record(f"s{number}", ["r"], outputs) for number, outputs in enumerate(rated)], "test")
        (found,) = rank_systems(data, "score", resamples=0)
        return found

    assert (ranking("a", "b").title, ranking("a", "b").method) == ("mean, standardised per judge", "mean")
    assert ranking(None, None).title == "mean"


def clusters(dataset: Dataset, level: ResamplingLevel) -> list[int]:
    result = compare_systems(dataset, ["bleu"], level=level, resamples=20)
    return [system.cluster for ranking in result.human for system in ranking.systems]


@pytest.mark.parametrize("compared", [False, True])
def test_people_rank_systems_over_the_resampled_documents(compared):
    # in seven of ten documents, all outputs of s0 are better
    human = np.repeat(np.where(np.arange(10) < 7, 2.0, 0.0), 20)[:, np.newaxis] * [1.0, 0.0] + [0.0, 1.0]
    scored = graded(human, documents=20)
    dataset = dataclasses.replace(preferred(human), sources=scored.sources) if compared else scored
    assert clusters(dataset, "segment") == [1, 2]
    assert clusters(dataset, "document") == [1, 1]


def test_graded_systems_rank_by_their_mean():
    human = np.array([[1, 5, np.nan], [2, 4, 3], [1, 5, 3]])
    (rankings,) = rank_systems(graded(human), resamples=0)
    assert [(system.system, system.score, system.rank) for system in rankings.systems] == [
        *(("s1", pytest.approx(14 / 3), 1), ("s2", 3, 2), ("s0", pytest.approx(4 / 3), 3)),
    ]
