from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ranker import compare_systems, evaluate, reward, score
from ranker.corpora import catalogue
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, OptionError
from ranker.extractors.needs import Needs
from ranker.extractors.registry import make_metric
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import (
    MetricScorer,
    RankerScorer,
    Scorer,
    candidate_scores,
    learnt_from,
    learnt_kinds,
    make_scorer,
    result_head,
    sign_of,
    trained_on,
    type_of,
)


@pytest.fixture(scope="module")
def sample():
    return catalogue.load("sample")


@pytest.fixture(scope="module")
def ranker(sample):
    return Ranker("bleu[smoothing=add-one],ter", C=1.0).fit(sample)


def test_metrics_and_rankers_score_rows_and_sums_alike(sample, ranker):
    for scorer in (MetricScorer(make_metric("ter")), RankerScorer(ranker)):
        statistics = scorer.statistics(sample)
        assert len(statistics) == len(sample)
        np.testing.assert_array_equal(candidate_scores(scorer, sample), sign_of(scorer) * scorer.score(statistics))
        assert scorer.score(np.stack([statistics.sum(axis=0)] * 2)).shape == (2,)
        assert learnt_kinds(scorer) == (() if type_of(scorer) == "metric" else ("fluency",))
        assert (learnt_from(scorer, sample) == (type_of(scorer) == "ranker")).all()
        assert trained_on(scorer, sample) == (
            "was trained on all sources of sample" if type_of(scorer) == "ranker" else None
        )
        assert result_head(scorer, sample).startswith("ranker:")


def test_a_rankers_corpus_score_is_the_mean_of_its_scores(sample, ranker):
    scorer = RankerScorer(ranker)
    total = scorer.statistics(sample).sum(axis=0)
    assert scorer.score(total) == pytest.approx(ranker.candidate_scores(sample).mean())


def test_a_scorer_is_chosen_by_one_option():
    assert make_scorer("bleu", None).name == "bleu"
    assert type_of(make_scorer(None, "full-any")) == "ranker"
    for joined in ((None, None), ("bleu", "full")):
        with pytest.raises(OptionError, match="give either --metric NAME, such as --metric bleu, or --model FILE"):
            make_scorer(*joined)


class Words(Scorer):
    """Mean number of words: the seven members alone."""

    name = "words"
    feature_set = FeatureSet(())

    def statistics(self, dataset):
        words = dataset.candidates["text"].str.split().str.len().to_numpy(float)
        return np.stack([words, np.ones(len(words))], axis=1)

    def score(self, statistics):
        return np.asarray(statistics)[..., 0] / np.asarray(statistics)[..., 1]

    def signature(self, dataset=None):
        return "words"

    def note(self, dataset):
        return "words are counted"


def test_a_scorer_of_ones_own_is_evaluated_and_compares_systems(sample):
    compared = evaluate(sample, [Words()], resamples=2)
    assert compared.to_frame()["metric"].unique().tolist() == ["words"]
    alone = evaluate(sample, Words(), resamples=0).estimate("segment.spearman").value
    assert compared.estimate("segment.spearman").value == alone
    means = {
        row.system: row.score.value for row in compare_systems(sample, [Words()], resamples=2).comparisons[0].systems
    }
    scores = pd.Series(candidate_scores(Words(), sample)).groupby(sample.candidates["system"].to_numpy(object)).mean()
    assert means == pytest.approx(scores.to_dict())
    assert reward(Words(), checks=False)(completions=["one two", "one"]) == [2.0, 1.0]


class TooFew(Words):
    def statistics(self, dataset):
        return super().statistics(dataset)[:3]


def test_scores_of_another_number_of_candidates_are_refused(sample):
    message = r"words: found scores of shape \(3,\), expected one for each of 840 candidates: correct TooFew"
    for call in (score, evaluate):
        with pytest.raises(OptionError, match=message):
            call(sample, TooFew())


class Broken(MetricScorer):
    def score(self, statistics):
        scores = super().score(statistics)
        scores[2] = np.nan
        return scores


def test_a_score_that_is_no_number_is_refused():
    records = [Record("x", ["a"], [Candidate(name, "a") for name in "ABC"], seg_id="7")]
    with pytest.raises(DataError, match="the score by bleu is nan for system 'C' of "):
        candidate_scores(Broken(make_metric("bleu")), assemble(records, "t"))


def test_a_reference_without_another_reference_is_named_where_a_score_is_refused(sample):
    candidates = [Candidate("A", "a"), Candidate("B", "a b"), Candidate("ref", "b", is_reference=True)]
    data = assemble([Record("x", ["b"], candidates, seg_id="7", reference_names=["ref"])], "t")
    with pytest.raises(DataError, match=r"ranker gives no score to 'ref', the only reference of .*: expected another"):
        candidate_scores(RankerScorer(Ranker("bleu", C=1.0).fit(sample)), data)


def test_whether_the_data_are_too_few_is_asked_once(sample, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Ranker("bleu,perp", C=1.0).fit(sample).save("m")
    requested, messages = [], ""
    inner = Needs.enough_references

    def enough(self, data):
        requested.extend([len(data)] * (self.references > 1))
        return inner(self, data)

    monkeypatch.setattr(Needs, "enough_references", enough)
    for words in (["rank", "sample"], ["evaluate", "--data", "sample"], ["score", "sample"]):
        requested.clear()
        messages += command(*words, "--model", "m").err
        assert len(requested) == 1
    assert messages.count("trained on all sources of sample") == 1
