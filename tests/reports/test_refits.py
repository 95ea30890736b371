from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from ranker import Ranker
from ranker.corpora import catalogue
from ranker.corpora.judgements import balanced, judged, preference_pairs
from ranker.errors import DataError
from ranker.learning.svm.ranksvm import RankSVM
from ranker.reports.refits import TrainingColumns, jackknife
from ranker.settings import Loss, PairCounting
from ranker.training_data import TrainingTable
from tests.datasets import dataset_of


@pytest.fixture(scope="module")
def learnt(model, sample):
    return TrainingColumns.of(model, sample)


def test_learning_again_on_everything_gives_the_same_weights(learnt, preferred, preferred_findings):
    assert learnt.deviation() == 0.0
    assert preferred_findings.deviation == 0.0
    with pytest.raises(DataError, match=r"is not the model's training data: fingerprint .* same order"):
        TrainingColumns.of(learnt.ranker, preferred)


def by_language_pair(dataset, shares):
    """Keep a share of the preferences of every language pair, so that balancing them matters."""
    pair = dataset.source_language_pairs[dataset.candidate_source[dataset.preferences["first"].to_numpy()]]
    drawn = np.random.default_rng(0).random(len(pair))
    selected = drawn < np.array([shares[item] for item in pair])
    return dataclasses.replace(dataset, preferences=dataset.preferences[selected].reset_index(drop=True))


@pytest.mark.parametrize("loss", get_args(Loss))
@pytest.mark.parametrize("pairs", get_args(PairCounting))
def test_learning_again_counts_pairs_as_the_training_did(pairs, loss, preferred):
    uneven = by_language_pair(preferred, {"de-en": 1.0, "fr-en": 0.3})
    ranker = Ranker("bleu[order=1],chrf", C=0.1, pairs=pairs, loss=loss).fit(uneven)
    assert TrainingColumns.of(ranker, uneven).deviation() == 0.0


@pytest.mark.parametrize("kind", ["adequacy", "fluency"])
def test_learning_again_from_grades_gives_the_same_weights(kind, sample):
    ranker = Ranker("bleu1-4", C="auto", kind=kind, loss="squared_hinge", pairs="balanced").fit(sample)
    assert ranker.training.pairs == "graded"
    assert TrainingColumns.of(ranker, sample).deviation() == 0.0


def test_sources_left_out_leave_balanced_pairs_balanced(preferred):
    uneven = by_language_pair(preferred, {"de-en": 1.0, "fr-en": 0.3})
    ranker = Ranker("bleu[order=1],chrf", C=0.1, loss="hinge", pairs="balanced").fit(uneven)
    learnt = TrainingColumns.of(ranker, uneven)
    source = learnt.table.group
    rows = ~((source % 4 == 0) & (source < 30))
    selected = uneven.select_sources(np.isin(np.arange(len(uneven.sources)), source[rows]))
    selected = selected.select_candidates(judged(selected, "preferences"))
    pairs = preference_pairs(selected, aggregated=True)
    fewer = balanced(pairs, selected.source_language_pairs[selected.candidate_source[pairs.better]])
    expected = RankSVM(C=0.1 * learnt.table.pairs.weight.sum() / fewer.weight.sum()).fit(
        learnt.table.columns[rows], pairs=np.stack([fewer.better, fewer.worse], axis=1), pair_weight=fewer.weight
    )
    assert learnt.weights(rows=rows) == pytest.approx(expected.coef_, abs=1e-9)


def test_weights_of_columns_left_out_are_zero_and_the_others_a_fit_of_their_own(learnt):
    used = np.array([True, False, True, True])
    result = learnt.weights(used)
    svm = RankSVM(C=1.0).fit(learnt.table.columns[:, used], learnt.table.target, learnt.table.group)
    assert result[1] == 0
    assert result[used] == pytest.approx(svm.coef_)
    assert not learnt.weights(np.zeros(4, dtype=bool)).any()


def test_jackknife_is_its_formula_over_plain_fits(learnt):
    result = jackknife(learnt, groups=5, seed=3)
    group, target, columns = learnt.table.group, learnt.table.target, learnt.table.columns

    def strict(rows):
        better = (target[rows, None] > target[None, rows]) & (group[rows, None] == group[None, rows])
        return np.argwhere(better)

    total = len(strict(np.arange(len(group))))
    part = np.empty(120, dtype=int)
    part[np.random.default_rng(3).permutation(120)] = np.arange(120) % 5
    for number in range(5):
        rows = np.flatnonzero(part[group] != number)
        pairs = strict(rows)
        svm = RankSVM(C=total / len(pairs)).fit(columns[rows], pairs=pairs)
        # the hinge's minimum is flat; what is certified is the objective
        assert result.replicates[number] == pytest.approx(svm.coef_, abs=1e-3)
    spread = result.replicates - result.replicates.mean(axis=0)
    error = np.sqrt(4 / 5 * (spread**2).sum(axis=0))
    assert result.error == pytest.approx(error)
    assert result.high - result.low == pytest.approx(2 * t.ppf(0.975, 4) * error)
    assert (result.high + result.low) / 2 == pytest.approx(learnt.ranker.weights)


def test_jackknife_deals_the_sources_of_every_language_pair_evenly(preferred_findings, preferred, monkeypatch):
    learnt = TrainingColumns.of(preferred_findings.ranker, preferred)
    left_out = []

    def weights(self, used=None, rows=None):
        _, first = np.unique(learnt.table.group[~rows], return_index=True)
        left_out.append(np.bincount(learnt.language_pair[~rows][first]).tolist())
        return np.zeros(3)

    monkeypatch.setattr(TrainingColumns, "weights", weights)
    jackknife(learnt, groups=10)
    assert left_out == [[2, 2]] * 10


def test_jackknife_errors_are_the_spread_of_weights_over_many_data_sets():
    generator = np.random.default_rng(0)
    true = np.array([1.0, 0.5, 0.0])

    dataset = dataset_of([([], list("abcd"))] * 60, sources=[str(number) for number in range(60)])

    def draw():
        columns = generator.normal(size=(240, 3))
        target = columns @ true + generator.normal(size=240)
        training = SimpleNamespace(C=0.02, loss="squared_hinge")
        ranker = SimpleNamespace(training=training, weights=np.zeros(3), base=None)
        return TrainingColumns(ranker, TrainingTable(dataset, np.ones(240, bool), "fluency", target, columns=columns))

    drawn = [draw() for _ in range(40)]
    spread = np.std([item.weights() for item in drawn], axis=0)
    errors = np.mean([jackknife(item, groups=15).error for item in drawn[:8]], axis=0)
    assert errors == pytest.approx(spread, rel=0.35)


def test_one_source_has_no_jackknife(sample):
    single = sample.select_sources(np.arange(120) == 3)
    with pytest.raises(DataError, match="1 training source"):
        jackknife(TrainingColumns.of(Ranker("bleu").fit(single), single))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20))
def test_pair_weight_counts_pairs_of_a_group_with_different_grades(rows):
    group, target = np.array(rows).T
    brute = sum(
        group[i] == group[j] and target[i] != target[j] for i in range(len(group)) for j in range(i + 1, len(group))
    )
    table = SimpleNamespace(group=group, target=target.astype(float), pairs=None)
    assert TrainingTable.pair_weight.fget(table) == brute


@pytest.mark.parametrize("exclude_self", [False, True])
def test_a_ranker_that_learnt_from_references_is_refitted_to_the_same_weights(exclude_self: bool) -> None:
    sample = catalogue.load("sample").select_sources(np.arange(120) < 30)
    ranker = Ranker("bleu,chrf,perp", references_as_candidates=True, exclude_self=exclude_self).fit(sample)
    np.testing.assert_allclose(TrainingColumns.of(ranker, sample).weights(), ranker.weights, atol=1e-6)
