"""What margins mean to people: learnt from simulated judgements, kept in a model, shown by commands."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import Ranker
from ranker.corpora.dataset import concatenate_datasets
from ranker.corpora.judgements import Judged
from ranker.errors import DataError, OptionError
from ranker.evaluation.calibration import Reliability
from ranker.evaluation.correlation.tie_calibration import calibrate
from ranker.ranking.confidence import Confidence, JudgedPairs, fit_confidence, probability, tie_threshold
from ranker.ranking.scorers import RankerScorer
from tests.command_line import Command
from tests.effort import thorough
from tests.evaluation.made import graded


@pytest.fixture(scope="module")
def learnt(sample):
    ranker = Ranker("bleu,chrf", C=0.01).fit(sample.select_sources(np.arange(120) < 60))
    return ranker.calibrate(sample)


def test_the_probabilities_that_judgements_were_drawn_by_are_found():
    generator = np.random.default_rng(1)
    margin = generator.normal(scale=0.7, size=40_000)
    outcome = (generator.random(len(margin)) < probability(margin, 2.5, 0.3)).astype(float)
    found = fit_confidence(margin, outcome, np.ones(len(margin)))
    assert found.slope == pytest.approx(2.5, rel=0.08)
    assert found.lapse == pytest.approx(0.3, abs=0.03)
    assert fit_confidence(margin[:99], outcome[:99], np.ones(99)) is None


@given(st.lists(st.tuples(st.integers(-4, 4), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 3)), min_size=1))
def test_the_tie_threshold_meets_most_judgements(pairs):
    margin, outcome, weight = np.array(pairs, dtype=float).T

    def met(tie):
        right = (np.abs(margin) > tie) & (outcome == (margin > 0))
        return weight[right | ((np.abs(margin) <= tie) & (outcome == 0.5))].sum()

    assert met(tie_threshold(margin, outcome, weight)) == max(met(tie) for tie in [0.0, *np.abs(margin)])


def test_the_tie_threshold_is_that_of_tie_calibration_within_one_source():
    generator = np.random.default_rng(4)
    human, scores = generator.integers(0, 3, 40).astype(float), generator.normal(size=40)
    first, second = np.triu_indices(40, 1)
    outcome = 0.5 + 0.5 * np.sign(human[first] - human[second])
    found = tie_threshold(scores[first] - scores[second], outcome, np.ones(len(first)))
    assert found == pytest.approx(calibrate(human, scores, [0, 40]).epsilon, abs=1e-15)
    assert found > 0


def test_a_calibrated_ranker_ranks_as_before_and_says_how_sure_it_is(learnt, sample, tmp_path):
    plain = Ranker("bleu,chrf", C=0.01).fit(sample.select_sources(np.arange(120) < 60))
    before, after = plain.rank(sample), learnt.rank(sample)
    assert before.equals(after[before.columns])
    last = after["margin"].isna()
    assert after["confidence"][last].isna().all()
    assert not after["likely_tie"][last].any()
    by_margin = after[~last].sort_values("margin")["confidence"].to_numpy()
    assert by_margin.min() >= 0.5
    assert (np.diff(by_margin) >= 0).all()
    learnt.save(tmp_path / "x.model")
    assert Ranker.load(tmp_path / "x.model").rank(sample).equals(after)
    assert Ranker.load(tmp_path / "x.model").digest == learnt.digest == plain.digest
    known = sample.candidate_source[sample.ratings["candidate"].to_numpy()] < 60
    for data in (
        sample.select_sources(np.arange(120) < 60),
        dataclasses.replace(sample, ratings=sample.ratings[known].reset_index(drop=True)),
    ):
        with pytest.raises(DataError, match="trained on all judged sources of this data set: calibrate the ranker on "):
            plain.calibrate(data)
    with pytest.raises(DataError, match="contains no human judgements"):
        plain.calibrate(sample.select_sources(np.zeros(120, dtype=bool)))
    with pytest.raises(OptionError, match="nothing to calibrate on: expected judged data"):
        plain.calibrate()


def test_reliability_is_what_counting_gives(learnt, sample):
    scores = learnt.candidate_scores(sample)
    found = Reliability.of(RankerScorer(learnt), Judged(sample, "fluency"), scores)
    pairs = JudgedPairs.of(Judged(sample, "fluency"))
    right = (scores[pairs.first] > scores[pairs.second]) == (pairs.outcome > 0.5)
    strict = (pairs.outcome != 0.5) & (scores[pairs.first] != scores[pairs.second])
    assert found.pairs == strict.sum()
    assert np.mean(found.observed) == pytest.approx(right[strict].mean(), abs=1e-3)
    assert found.error < 0.06
    assert Reliability.of(RankerScorer(Ranker("chrf", C=1.0).fit(sample)), Judged(sample, "fluency"), scores) is None


def test_rounding_orders_no_pair(learnt, sample):
    tied = graded(np.array([[0.3, 0.1 + 0.2]] * 3))
    np.testing.assert_array_equal(JudgedPairs.of(Judged.of(tied)).outcome, 0.5)
    people = Judged.of(sample, "fluency")
    scores = np.arange(len(sample)) // 2 * 0.3
    rounded = scores + 1e-15 * np.random.default_rng(0).normal(size=len(scores))
    found = Reliability.of(RankerScorer(learnt), people, rounded)
    assert found.accuracy == Reliability.of(RankerScorer(learnt), people, scores).accuracy


def test_candidates_tie_without_confidence_too(sample):
    ranker = Ranker("chrf,consensus", C=0.01).fit(sample)
    learnt = [Confidence(1.0, 0.0, 0.0) if ranker.weight_sets.without(place) else None for place in range(3)]
    bare = dataclasses.replace(sample, references=sample.references.iloc[:0])
    both = concatenate_datasets([sample, bare])
    scores = np.concatenate([np.zeros(len(sample)), ranker.candidate_scores(bare)])
    found = Reliability.of(RankerScorer(ranker.with_confidence(learnt)), Judged(both, "fluency"), scores)
    assert found.accuracy_with_ties == found.accuracy


@thorough
def test_commands_learn_and_show_it(command: Command, tmp_path):
    model = str(tmp_path / "m.model")
    trained = json.loads(command("train", "sample", "-F", "bleu,chrf", "-o", model, "--format", "json").out)
    assert trained["cross_validation"]["confidence"]["slope"] > 0
    shown = command("rank", "sample", "--model", model, "--confidence").out.splitlines()
    assert shown[1].split() == ["rank", "system", "score", "margin", "confidence", "text"]
    assert shown[2].split()[4].endswith("%")
    ranked = json.loads(command("rank", "sample", "--model", model, "--format", "json").out)["sources"][0]["ranking"]
    assert 0.5 <= ranked[0]["confidence"] <= 1
    assert ranked[-1]["confidence"] is None
    assert "The predicted confidence is off by" in command("evaluate", "sample", "--model", model).out
