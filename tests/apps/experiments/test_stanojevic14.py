from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.stanojevic14 import ALPHAS, METRICS, plan
from ranker.corpora.judgements import preference_pairs
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import tau_counts
from ranker.extractors.registry import make
from ranker.text.lexical import wordnet
from ranker.text.lexical.wordnet import find_wordnet
from tests.extractors.small_wordnet import write_wordnet


@pytest.fixture(scope="module")
def experiment(preferred):
    return plan(preferred, Settings()).run()


def test_every_metric_and_language_pair(experiment):
    table = experiment.tables[0]
    assert [row["metric"] for row in table.rows] == list(METRICS)
    for row in table.rows:
        assert row["average tau"] == pytest.approx((row["aa-en"] + row["bb-en"]) / 2)
        assert row["average tau"] > 0.5
    assert sum(row["average rank"] for row in table.rows) == pytest.approx(sum(range(1, 8)))


def test_language_pairs_whose_candidates_nobody_ordered_are_left_out(preferred):
    pair = preferred.source_language_pairs[preferred.candidate_source[preferred.preferences["first"]]]
    ties = preferred.preferences.assign(relation=np.where(pair == "aa-en", ">", "="))
    partly = plan(dataclasses.replace(preferred, preferences=ties), Settings(sweeps=False)).run().tables[0]
    assert list(partly.rows[0]) == ["metric", "aa-en", "average rank", "average tau"]
    assert all(row["average tau"] == row["aa-en"] for row in partly.rows)


def test_equals_the_metric_itself(experiment, preferred):
    scores = make("kendall[alpha=0.5]").transform(preferred)[:, 0]
    first = preferred.source_language_pairs[preferred.candidate_source] == "aa-en"
    counts = tau_counts(scores, preference_pairs(preferred), np.where(first, 0, 1), 2)
    row = next(row for row in experiment.tables[0].rows if row["metric"] == "Kendall")
    assert row["aa-en"] == pytest.approx(tau(counts, "wmt13")[0])


def test_sweeps_meet_the_main_table(experiment):
    alpha = experiment.tables[1]
    assert [row["alpha"] for row in alpha.rows] == list(ALPHAS)
    middle = next(row for row in alpha.rows if row["alpha"] == 0.5)
    main = {row["metric"]: row["average tau"] for row in experiment.tables[0].rows}
    assert {name: middle[name] for name in METRICS} == pytest.approx(main)
    # alpha 1 leaves the lexical score alone, which all outputs share here: nothing but ties
    assert all(np.isnan(value) for name, value in alpha.rows[-1].items() if name != "alpha")
    for table, parameter, value in ((experiment.tables[2], "beta", 0.6), (experiment.tables[3], "gamma", 0.0)):
        row = next(row for row in table.rows if row[parameter] == value)
        assert row["PEF"] == pytest.approx(main["PEF"])


def test_the_signature_names_the_wordnet_of_meteors_alignment(preferred, tmp_path, monkeypatch):
    directory = write_wordnet(tmp_path / "wordnet")
    signatures = []
    for there in ([directory], []):
        monkeypatch.setattr(wordnet, "installed_places", lambda there=there: iter(there))
        signatures.append(plan(preferred, Settings(alignment="meteor", sweeps=False)).run().signature)
    assert f"wordnet:{find_wordnet(str(directory)).digest}" in signatures[0]
    assert signatures[1] == signatures[0].replace(find_wordnet(str(directory)).digest, "none")
    assert "wordnet" not in plan(preferred, Settings(sweeps=False)).run().signature
