from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ranker.corpora.dataset import concatenate_datasets
from ranker.corpora.judgements import Judged
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, ModelError, OptionError
from ranker.evaluation.metrics.cross_validation import (
    SPEARMAN,
    THIS_MODEL,
    cross_validate,
    fold_of_sources,
    held_out_scores,
    train,
)
from ranker.evaluation.metrics.evaluation import evaluate
from ranker.extractors.needs import Needs
from ranker.extractors.ngram.bleu import Bleu
from ranker.learning.svm.ranksvm import RankSVM
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import candidate_scores, scorer_of
from ranker.ranking.training import TrainingTable
from tests.datasets import dataset_of
from tests.effort import thorough
from tests.evaluation.made import graded, preferred

TEXT = "the a red old small house boat tree man stands sails was by on near river hill town"
WORDS = TEXT.split()


def planted(feature: str, sources: int = 30, noise: float = 0.0, name: str = "planted", lp: str = "xx-en"):
    """Make a data set whose candidates people graded by one feature, with noise."""
    rng = np.random.default_rng(0)
    references = [" ".join(rng.choice(WORDS, 12)) for _ in range(sources)]
    texts = [
        [" ".join(word if rng.random() < share else rng.choice(WORDS) for word in line.split())[: rng.integers(30, 70)]
         for share in (0.3, 0.5, 0.7, 0.9)]
        for line in references
    ]  # fmt: skip
    records = [
        Record(
            f"{name} {reference}",
            [reference],
            [Candidate(f"s{index}", text) for index, text in enumerate(several)],
            lp=lp,
        )
        for reference, several in zip(references, texts, strict=True)
    ]
    values = FeatureSet.parse(feature).transform(assemble(records, name))[:, 0]
    values = values + noise * values.std() * rng.normal(size=len(values))
    for index, record in enumerate(records):
        for place, candidate in enumerate(record.candidates):
            candidate.ratings.append(("fluency_raw", None, float(values[4 * index + place])))
    return assemble(records, name)


def test_the_figures_are_those_of_a_cross_validation_by_hand(sample):
    ranker = Ranker("bleu1-4,ter", C=0.003)
    table = ranker.fit_table(sample)
    validation = cross_validate(ranker, table, folds=4, seed=3, resamples=20)
    fold = fold_of_sources(table, 4, 3)[sample.candidate_source]
    matrix = FeatureSet.parse("bleu1-4,ter").transform(sample)
    target, rho = table.target, []
    everything = Ranker("bleu1-4,ter", C=0.003).fit(sample)
    np.testing.assert_array_equal(ranker.weights, everything.weights)

    def pairs(rows):
        grades = [target[rows & (sample.candidate_source == item)] for item in np.unique(sample.candidate_source[rows])]
        return sum(int((grade[:, None] > grade).sum()) for grade in grades)

    for number in range(4):
        selected = fold != number
        mean, spread = matrix[selected].mean(axis=0), matrix[selected].std(axis=0)
        C = 0.003 * pairs(selected | True) / pairs(selected)
        svm = RankSVM(C=C, loss="squared_hinge").fit(
            (matrix[selected] - mean) / spread, target[selected], sample.candidate_source[selected]
        )
        scores = (matrix - mean) / spread @ svm.coef_
        rho += [
            spearmanr(scores[own], target[own])[0]
            for own in (sample.candidate_source == item for item in np.unique(sample.candidate_source[~selected]))
        ]
    assert validation.rows[0].name == THIS_MODEL
    assert validation.rows[0].spearman.value == pytest.approx(np.mean(rho), abs=1e-6)
    assert validation.rows[0].spearman.low < np.mean(rho) < validation.rows[0].spearman.high
    assert (validation.sources, validation.folds) == (120, 4)
    assert validation.rows[0].tau is None


def test_the_same_seed_gives_the_same_folds_even_by_language_pair():
    joined = concatenate_datasets([planted("bleu"), planted("bleu", 13, name="more", lp="yy-en")])
    table = Ranker("bleu", C=1.0).fit_table(joined)
    fold = fold_of_sources(table, 5, 1)
    np.testing.assert_array_equal(fold, fold_of_sources(table, 5, 1))
    assert (fold != fold_of_sources(table, 5, 2)).any()
    pairs = joined.source_language_pairs
    for lp in ("xx-en", "yy-en"):
        sizes = np.bincount(fold[pairs == lp], minlength=5)
        assert sizes.max() - sizes.min() <= 1


def test_no_judgement_of_a_source_has_a_part_in_its_scores():
    data = planted("chrf", noise=0.5)
    ranker = Ranker("chrf,ter,length", C=0.1)
    table = ranker.fit_table(data)
    fold = fold_of_sources(table, 5, 0)
    before = held_out_scores(ranker, table, fold)
    held_out = (fold == 2)[table.group]
    turned = dataclasses.replace(table, target=np.where(held_out, -table.target, table.target))
    after = held_out_scores(ranker, turned, fold)
    np.testing.assert_allclose(after[held_out], before[held_out], atol=1e-7)
    assert np.abs(after - before).max() > 1e-3


@thorough
def test_a_model_worse_than_chrf_and_the_included_ranker_is_told_so():
    data = planted("chrf")
    ranker = Ranker("length", C=1.0)
    validation = cross_validate(ranker, ranker.fit_table(data), rivals={"full": scorer_of("full")}, resamples=200)
    assert [row.name for row in validation.rows] == [THIS_MODEL, "chrf", "full"]
    assert validation.rows[1].spearman.value == pytest.approx(1.0)
    chrf, full = validation.verdicts
    better = "ranks these held-out sources significantly better than the new model (Spearman "
    assert chrf.startswith(f"chrF {better}1.000 against ")
    assert full.startswith(f"the model full {better}.")


def test_a_difference_that_may_be_chance_is_called_so():
    data = planted("chrf", sources=36, noise=5.0)
    ranker = Ranker("chrf,chrf[beta=1.0],bleu,ter", C=1.0)
    validation = cross_validate(ranker, ranker.fit_table(data), resamples=200)
    lower = [row.name for row in validation.rows[1:] if row.spearman.value > validation.rows[0].spearman.value]
    assert lower
    assert len(validation.verdicts) == len(lower)
    assert all(
        verdict.startswith("the new model is not significantly different from ") for verdict in validation.verdicts
    )


def test_nothing_is_trained_if_what_to_compare_with_is_unknown(sample):
    ranker = Ranker("bleu", C=0.003)
    with pytest.raises(OptionError, match="unknown metric or feature 'bleuu'"):
        train(sample, ranker, compare=["bleuu"])
    assert ranker.training is None


def test_a_metric_is_not_called_a_model():
    ranker, data = Ranker("length", C=1.0), planted("bleu")
    validation = cross_validate(ranker, ranker.fit_table(data), rivals={"bleu": scorer_of("bleu")}, resamples=50)
    assert validation.verdicts[-1].startswith("bleu ranks these held-out sources significantly better than the new")


def test_few_sources_give_no_verdict():
    ranker = Ranker("length", C=1.0)
    validation = cross_validate(ranker, ranker.fit_table(planted("chrf", sources=12)), resamples=200)
    assert validation.verdicts == ("12 sources are too few to evaluate a model: do not rely on these values",)


def test_a_model_that_is_better_is_not_advised_against():
    data = planted("ter")
    ranker = Ranker("ter", C=1.0)
    validation = cross_validate(ranker, ranker.fit_table(data), resamples=100)
    assert validation.rows[0].spearman.value == pytest.approx(1.0)
    assert validation.verdicts == ()


def test_preferences_are_judged_by_tau_of_primary_pairs():
    human = np.random.default_rng(0).normal(size=(36, 4))
    data = preferred(human, repeated=3)
    texts = [f"{'w ' * int(10 + 5 * value)}r" for value in human.ravel()]
    data = dataclasses.replace(data, candidates=data.candidates.assign(text=texts))
    ranker = Ranker("length", C=1.0)
    validation = cross_validate(ranker, ranker.fit_table(data), resamples=50)
    assert validation.kind == "preferences"
    assert validation.rows[0].tau is not None
    assert validation.rows[0].tau.low <= validation.rows[0].tau.value <= validation.rows[0].tau.high
    assert all("(tau " in verdict for verdict in validation.verdicts)


def test_scores_decide_beside_preferences_where_they_are_learnt_from():
    data = planted("chrf")
    grades = data.ratings["value"].to_numpy(np.float64).reshape(-1, 4)
    data = dataclasses.replace(data, preferences=preferred(-grades).preferences)
    ranker = Ranker("length", C=1.0, kind="fluency")
    validation = cross_validate(ranker, ranker.fit_table(data), resamples=50)
    assert validation.better == ("chrf",)
    assert "(Spearman " in validation.verdicts[0]


def test_a_ranker_is_compared_on_the_sources_that_it_was_not_trained_on(monkeypatch):
    data = planted("chrf", sources=48, name="mine")
    ranker = Ranker("length", C=1.0)
    table = ranker.fit_table(data)
    rivals = {"full": scorer_of("full")}
    assert [row.note for row in cross_validate(ranker, table, rivals=rivals, resamples=100).rows] == [None, None, None]
    before = cross_validate(ranker, table, included=True, resamples=100)
    assert [row.name for row in before.rows] == [THIS_MODEL, "chrf", "full"]
    unseen = np.arange(len(data.sources)) % 4 > 0
    monkeypatch.setattr(Ranker, "learnt_from", lambda self, dataset: ~unseen)
    validation = cross_validate(ranker, table, included=True, resamples=100)
    own = held_out_scores(ranker, table, fold_of_sources(table, 5, 0))[unseen[table.group]]
    part = data.select_sources(unseen)
    expected = evaluate(part, own, resamples=0).estimate(SPEARMAN).value
    figure = f"{expected:.3f}".replace("0.", ".", 1)
    on = f"on the {int(unseen.sum())} sources that it was not trained on"
    assert [row.note for row in validation.rows] == [None, None, f"{on}, where this model has Spearman {figure}"]
    full = candidate_scores(scorer_of("full"), data)[unseen[data.candidate_source]]
    assert validation.rows[2].spearman.value == pytest.approx(
        evaluate(part, full, resamples=0).estimate(SPEARMAN).value
    )
    assert validation.rows[:2] == before.rows[:2]
    assert validation.better == ("chrf", "full")
    monkeypatch.setattr(Ranker, "learnt_from", lambda self, dataset: np.ones(len(data.sources), dtype=bool))
    nothing = cross_validate(ranker, table, included=True, resamples=100)
    assert nothing.rows[2].note == "was trained on all of these sources"
    assert np.isnan(nothing.rows[2].spearman.value)
    assert nothing.better == ("chrf",)
    monkeypatch.setattr(Ranker, "learnt_from", lambda self, dataset: np.arange(len(data.sources)) >= 20)
    few = cross_validate(ranker, table, included=True, resamples=100)
    assert few.rows[2] == dataclasses.replace(
        nothing.rows[2], note="was trained on 28 of these sources: too few others to compare"
    )


def test_sources_without_judgements_do_not_count_as_those_that_a_ranker_was_trained_on(monkeypatch):
    data = planted("chrf", sources=48)
    judged = np.arange(48) < 36
    rated = judged[data.candidate_source[data.ratings["candidate"].to_numpy()]]
    data = dataclasses.replace(data, ratings=data.ratings[rated].reset_index(drop=True))
    ranker = Ranker("length", C=1.0)
    table = ranker.fit_table(data)
    for known, note in ((~judged, None), (judged, "was trained on all of these sources")):
        monkeypatch.setattr(Ranker, "learnt_from", lambda self, dataset, known=known: known)
        assert cross_validate(ranker, table, included=True, resamples=10).rows[-1].note == note


def test_fewer_sources_than_folds_make_fewer_folds_and_one_source_none():
    data = planted("chrf", sources=3)
    ranker = Ranker("chrf", C=1.0)
    assert cross_validate(ranker, ranker.fit_table(data), resamples=10).folds == 3
    single = data.select_sources([True, False, False])
    with pytest.raises(DataError, match=r"1 source with judgements: cross-validation requires at least 2"):
        cross_validate(ranker, ranker.fit_table(single))
    table = ranker.fit_table(data)
    with pytest.raises(OptionError, match="folds=1: expected at least 2"):
        cross_validate(ranker, table, folds=1)
    with pytest.raises(ModelError, match="not trained"):
        cross_validate(Ranker("chrf"), table)


def test_data_without_references_is_compared_with_rankers_that_need_none_only(monkeypatch):
    data = planted("bleu")
    monkeypatch.setattr(Bleu, "needs", Needs(references=0))
    no_references = dataclasses.replace(data, references=data.references.iloc[:0])
    ranker = Ranker("bleu", C=1.0)
    table = ranker.fit_table(no_references)
    validation = cross_validate(ranker, table, rivals={"consensus": scorer_of("consensus")}, resamples=10)
    assert [row.name for row in validation.rows] == [THIS_MODEL, "consensus"]
    with pytest.raises(DataError, match="has no reference"):
        cross_validate(ranker, table, rivals={"chrf": scorer_of("chrf")})


def test_rows_of_one_text_are_never_in_two_folds():
    """Random preferences that come again in other rows cannot be predicted from those rows."""
    rng = np.random.default_rng(0)
    texts = [[" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(2)] for _ in range(40)]
    items = [(["a b c d e f"], texts[number % 40]) for number in range(400)]
    names = [f"source {number % 40}" for number in range(400)]
    data = dataset_of(items, sources=names, kind="fluency")
    better = rng.random(40) < 0.5
    sign = np.where(better[data.candidate_source % 40], 1.0, -1.0)
    data = dataclasses.replace(data, ratings=data.ratings.assign(value=data.ratings["value"] * sign))
    ranker = Ranker("ngrams[order=2],bleu1-4,length,hamming", kind="fluency")
    table = ranker.fit_table(data)
    fold = fold_of_sources(table, 5, 0)
    assert all(len(set(fold[number::40])) == 1 for number in range(40))
    assert len(set(fold)) == 5
    part = table.take(np.isin(data.candidate_source % 40, [0, 1]))
    assert len(part.sources) == 20
    assert len(part.blocks) == 2
    fitted = part.learn(C="auto", loss="hinge")
    assert fitted.cv_results["split_test_score"].shape[1] == 2, "as many folds as texts"


def test_texts_that_people_ordered_in_a_later_row_only_are_spread_over_the_folds():
    human = np.array([[1.0, 1.0]] * 12 + [[1.0, 2.0]] * 2)
    data = graded(human)
    texts = [f"source {number}" for number in [*range(12), 0, 1]]
    data = dataclasses.replace(data, sources=data.sources.assign(text=texts))
    table = TrainingTable.of(Judged.of(data))
    assert len(table.blocks) == 2
    for seed in range(8):
        assert len(set(fold_of_sources(table, 2, seed)[table.sources])) == 2


def test_one_text_in_many_rows_leaves_nothing_to_hold_out():
    data = dataset_of([(["a b c"], ["a b", "c"])] * 20, sources=["one text"] * 20, kind="fluency")
    ranker = Ranker("bleu1-4", kind="fluency")
    table = ranker.fit_table(data)
    assert ranker.training.chosen_by == "one source"
    with pytest.raises(DataError, match="1 source with judgements: cross-validation requires at least 2"):
        cross_validate(ranker, table)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20))
def test_pair_weight_counts_pairs_of_a_group_with_different_grades(rows):
    group, target = np.array(rows).T
    brute = sum(
        group[i] == group[j] and target[i] != target[j] for i in range(len(group)) for j in range(i + 1, len(group))
    )
    table = SimpleNamespace(group=group, target=target.astype(float), pairs=None)
    assert TrainingTable.pair_weight.fget(table) == brute
