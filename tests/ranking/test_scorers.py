from __future__ import annotations

import numpy as np
import pytest

from ranker.corpora import catalogue
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, OptionError
from ranker.extractors.needs import Needs
from ranker.extractors.registry import make_metric
from ranker.ranking.ranker import Ranker
from ranker.ranking.ranker_scorer import RankerScorer, make_scorer
from ranker.ranking.scorers import MetricScorer, result_head, trained_on


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
        np.testing.assert_array_equal(scorer.candidate_scores(sample), scorer.sign * scorer.score(statistics))
        assert scorer.score(np.stack([statistics.sum(axis=0)] * 2)).shape == (2,)
        assert scorer.learnt == (() if scorer.kind == "metric" else ("fluency",))
        assert (scorer.learnt_from(sample) == (scorer.kind == "ranker")).all()
        assert trained_on(scorer, sample) == (
            "was trained on all sources of sample" if scorer.kind == "ranker" else None
        )
        assert result_head(scorer, sample).startswith("ranker:")


def test_a_rankers_corpus_score_is_the_mean_of_its_scores(sample, ranker):
    scorer = RankerScorer(ranker)
    total = scorer.statistics(sample).sum(axis=0)
    assert scorer.score(total) == pytest.approx(ranker.candidate_scores(sample).mean())


def test_a_scorer_is_chosen_by_one_option():
    assert make_scorer("bleu", None).name == "bleu"
    assert make_scorer(None, "full-any").kind == "ranker"
    for joined in ((None, None), ("bleu", "full")):
        with pytest.raises(OptionError, match="give either --metric NAME, such as --metric bleu, or --model FILE"):
            make_scorer(*joined)


class Broken(MetricScorer):
    def score(self, statistics):
        scores = super().score(statistics)
        scores[2] = np.nan
        return scores


def test_a_score_that_is_no_number_is_refused():
    records = [Record("x", ["a"], [Candidate(name, "a") for name in "ABC"], seg_id="7")]
    with pytest.raises(DataError, match="the score by bleu is nan for system 'C' of "):
        Broken(make_metric("bleu")).candidate_scores(assemble(records, "t"))


def test_whether_the_data_are_too_few_is_asked_once(sample, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Ranker("bleu,perp", C=1.0).fit(sample).save("m")
    requested, messages = [], ""
    inner = Needs.missing
    monkeypatch.setattr(
        Needs, "missing", lambda self, data: (self.references > 1 and requested.append(len(data))) or inner(self, data)
    )
    for words in (["rank", "sample"], ["evaluate", "--data", "sample"], ["score", "sample"]):
        requested.clear()
        messages += command(*words, "--model", "m").err
        assert len(requested) == 1
    assert messages.count("trained on all sources of sample") == 1
