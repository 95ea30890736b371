from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from ranker.apps.experiments.isozaki10 import (
    CORRELATIONS,
    METEOR_ABROAD,
    METRICS,
    ROOTS,
    _metric,
    language_pairs,
    plan,
)
from ranker.apps.experiments.published import published_table
from ranker.apps.experiments.settings import Settings
from ranker.corpora.dataset import concatenate_datasets
from ranker.corpora.judgements import human_scores
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.selection import select_language_pairs
from ranker.errors import DataError, OptionError
from ranker.evaluation.resampling.bootstrap import draws, stream
from ranker.extractors.registry import make
from tests.effort import thorough

pytestmark = thorough

PLACE = {title: place for place, title in enumerate(METRICS)}


@pytest.fixture(scope="module")
def adequacy(sample):
    return plan([sample], Settings(kind="adequacy", resamples=200)).run()


@pytest.fixture(scope="module")
def wins(preferred):
    return plan([preferred], Settings(resamples=200)).run()


def rows(experiment, title):
    return {row["metric"]: row for row in next(table for table in experiment.tables if table.title == title).rows}


def outputs(dataset, system):
    own = (dataset.candidates["system"] == system).to_numpy()
    return dataset.candidates["text"][own].tolist(), own


def corpus_bleu(dataset, system, times=None):
    sacrebleu = pytest.importorskip("sacrebleu")
    texts, _ = outputs(dataset, system)
    references = dataset.references.groupby("source")["text"].apply(list).tolist()
    order = np.repeat(np.arange(len(texts)), 1 if times is None else times)
    streams = [[references[source][number] for source in order] for number in range(len(references[0]))]
    return sacrebleu.BLEU(force=True).corpus_score([texts[source] for source in order], streams).score / 100


def test_what_was_judged(adequacy, wins):
    assert adequacy.tables[0].rows == (
        {"data": "sample", "language pair": "zh-en", "judged by": "adequacy", "systems": 7, "sources": 120},
    )
    assert [row["language pair"] for row in wins.tables[0].rows] == ["aa-en", "bb-en"]
    assert [row["judged by"] for row in wins.tables[0].rows] == ["expected wins", "expected wins"]


def test_every_metric_of_the_paper_stands_beside_its_published_figure(adequacy, wins):
    for name in CORRELATIONS:
        result = rows(adequacy, f"{name} with adequacy, sample")
        assert list(result) == list(METRICS)
        for row in result.values():
            assert row["low"] <= row[name] + 1e-9 <= row["high"] + 2e-9
    assert rows(adequacy, "Spearman with adequacy, sample")["NSR P^1/4"]["published NTCIR-7 adequacy"] == 0.947
    assert rows(adequacy, "Pearson with adequacy, sample")["BLEU"]["p against BLEU"] is None
    ranked = rows(wins, "Spearman with expected wins, simulated+simulated")
    assert ranked["NKT"]["published WMT07"] == pytest.approx(np.mean([0.845, 0.857, 0.607, 0.838, 0.700, 0.630]))
    assert ranked["PER"]["published WMT07"] is None
    assert list(published_table("isozaki10-ntcir7").index) == list(METRICS)
    assert set(published_table("isozaki10-wmt07").index) < set(METRICS)


@pytest.mark.parametrize("title", ["NKT P^1/4", "NSR", "sqrt(NKT)", "1 - sqrt(1 - NKT)"])
def test_word_order_is_the_mean_of_sentences(sample, adequacy, title):
    human = human_scores(sample, "adequacy")
    scores = make(METRICS[title]).transform(sample)[:, 0]
    scores = ROOTS[title](scores) if title in ROOTS else scores
    systems = sorted(set(sample.candidates["system"]))
    masks = [outputs(sample, system)[1] for system in systems]
    by_people = [sum(human[mask]) / sum(mask) for mask in masks]
    by_metric = [sum(scores[mask]) / sum(mask) for mask in masks]
    result = {name: rows(adequacy, f"{name} with adequacy, sample")[title][name] for name in CORRELATIONS}
    assert result["Spearman"] == pytest.approx(stats.spearmanr(by_people, by_metric).statistic)
    assert result["Pearson"] == pytest.approx(stats.pearsonr(by_people, by_metric).statistic)


def test_bleu_is_that_of_the_corpus_and_resamples_are_as_if_scored_anew(sample):
    settings = Settings(kind="adequacy", resamples=3, seed=5)
    (part,) = language_pairs(sample, settings)
    human = human_scores(sample, "adequacy")
    systems = sorted(set(sample.candidates["system"]))
    (_, drawn), *_ = draws(120, 3, stream(5, "sample", "zh-en"))
    values = [part.values, *({name: part.samples[name][index] for name in CORRELATIONS} for index in range(3))]
    for times, result in zip([np.ones(120, dtype=int), *drawn], values, strict=True):
        by_metric = [corpus_bleu(sample, system, times) for system in systems]
        by_people = [np.average(human[outputs(sample, system)[1]], weights=times) for system in systems]
        expected = stats.spearmanr(by_people, by_metric).statistic, stats.pearsonr(by_people, by_metric).statistic
        assert result["Spearman"][PLACE["BLEU"]] == pytest.approx(expected[0])
        assert result["Pearson"][PLACE["BLEU"]] == pytest.approx(expected[1])


def test_people_score_by_expected_wins(preferred, wins):
    data = select_language_pairs(preferred, ["aa-en"])
    systems = data.candidates["system"].tolist()
    won = Counter(
        (systems[a], systems[b]) for a, b in zip(data.preferences["first"], data.preferences["second"], strict=True)
    )
    names = sorted(set(systems))
    by_people = [
        np.mean([won[a, b] / (won[a, b] + won[b, a]) for b in names if b != a and won[a, b] + won[b, a]]) for a in names
    ]
    scores = make("nkt").transform(data)[:, 0]
    by_metric = [scores[[system == name for system in systems]].mean() for name in names]
    row = rows(wins, "Pearson with expected wins, simulated+simulated")["NKT"]
    assert row["aa-en (4)"] == pytest.approx(stats.pearsonr(by_people, by_metric).statistic)
    assert row["Pearson"] == pytest.approx((row["aa-en (4)"] + row["bb-en (4)"]) / 2)


def test_a_metric_that_tells_no_system_from_another_is_undefined(wins):
    # all outputs have the words of the reference
    row = rows(wins, "Spearman with expected wins, simulated+simulated")["BP"]
    assert all(np.isnan(row[key]) for key in ("Spearman", "low", "high", "p against BLEU"))


def test_several_data_sets_and_their_mean(sample, preferred):
    small = sample.select_sources(np.arange(120) < 10)
    result = plan([small, preferred], Settings(resamples=20)).run()
    titles = [table.title for table in result.tables]
    assert titles[-1] == "Pearson with several kinds of judgements, all data sets"
    overall = rows(result, titles[-1])["WER"]
    assert overall["Pearson"] == pytest.approx((overall["sample"] + overall["simulated+simulated"]) / 2)
    assert "kind:" in result.signature
    assert json.loads(result.json())["signature"] == result.signature
    with pytest.raises(OptionError, match="two data sets are called 'sample'"):
        plan([sample, sample], Settings()).run()


def test_references_among_the_candidates_are_no_systems(sample):
    small = sample.select_sources(np.arange(120) < 10)
    settings = Settings(kind="fluency", resamples=0)
    (alone,), (among,) = (language_pairs(item, settings) for item in (small, with_references_as_candidates(small)))
    assert among.systems == 7
    for name in CORRELATIONS:
        np.testing.assert_allclose(among.values[name], alone.values[name])


def test_meteor_abroad_uses_nothing_english():
    assert str(_metric("METEOR", "en")) == "meteor"
    assert _metric("METEOR", "cs") == make(METEOR_ABROAD)


def test_two_systems_are_too_few():
    records = [Record("s", ["a b c"], [Candidate(name, "a b", [("adequacy", None, 1.0)]) for name in "xy"])]
    data = assemble(records, "tiny")
    with pytest.raises(DataError, match="no language pair has 3 systems with judgements of adequacy"):
        plan([data], Settings()).run()
    with pytest.raises(DataError, match="no judgements of kind 'fluency'"):
        plan([concatenate_datasets([data])], Settings(kind="fluency")).run()
