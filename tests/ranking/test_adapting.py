"""A ranker adapted from another: what it keeps, what it learns, what it says, and what its file holds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker import Ranker, load_dataset
from ranker.corpora.schema import table
from ranker.errors import ModelError
from ranker.evaluation.metrics.cross_validation import fold_of_sources, held_out_scores
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.settings import Settings
from ranker.storage.escapes import markdown_text
from ranker.storage.model_files import StoredModel, read_model, write_model
from tests.effort import thorough
from tests.json_changes import changed

FEATURES = "bleu[order=1],ter,perp"


@pytest.fixture(scope="module")
def sample():
    """32 sources with four references each: enough for a language model."""
    return load_dataset("sample").select_sources(np.arange(120) < 32)


@pytest.fixture(scope="module")
def few(sample):
    """Too few references for a language model."""
    return sample.select_sources(np.arange(32) < 12)


@pytest.fixture(scope="module")
def turned(sample):
    """What was best is worst."""
    return dataclasses.replace(sample, ratings=sample.ratings.assign(value=-sample.ratings["value"]))


@pytest.fixture(scope="module")
def base(sample, tmp_path_factory):
    """The file of a ranker with weights for few references too."""
    path = tmp_path_factory.mktemp("base") / "base.model"
    Ranker(FEATURES, kind="adequacy", C=0.01).fit(sample).save(path)
    return str(path)


def adapted(base, dataset, **options):
    return Ranker(base=base, **{"kind": "adequacy:higher", **options}).fit(dataset)


def test_features_means_and_scales_are_those_of_the_base(base, turned):
    start, ranker = Ranker.load(base), adapted(base, turned, C=0.001)
    assert str(ranker.feature_set) == str(FeatureSet.parse(FEATURES))
    np.testing.assert_array_equal(ranker.mean, start.mean)
    np.testing.assert_array_equal(ranker.scale, start.scale)
    assert ranker.settings.base == "base.model"
    assert ranker.base.name == ranker.training.base == f"base.model#{start.digest[:8]}"


@thorough
def test_what_extractors_learnt_stays_that_of_the_base(sample, turned, tmp_path):
    path = tmp_path / "x.model"
    start = Ranker("bleu[order=1],paraphrase", kind="adequacy", C=0.01).fit(sample)
    start.save(path)
    half = turned.select_sources(np.arange(32) % 2 == 0)
    states, selected = adapted(str(path), half, C=0.01).feature_set.states(), start.feature_set.states()
    assert states.keys() == selected.keys()
    for name, arrays in selected.items():
        for key, values in arrays.items():
            np.testing.assert_array_equal(states[name][key], values)


def test_no_penalty_to_speak_of_keeps_the_weights_and_a_large_one_forgets_them(base, turned):
    start = Ranker.load(base)
    near, far = (adapted(base, turned, C=C) for C in (1e-20, 100.0))
    np.testing.assert_allclose(near.weight_sets.weights, start.weight_sets.weights, rtol=1e-12)
    assert (far.weight_sets.weights[:, 0] < 0.0).all()
    assert (start.weight_sets.weights[:, 0] > 0.0).all()
    assert far.weight_sets.weights[1, 2] == 0.0


def test_judgements_that_contradict_the_base_move_it_as_far_as_cross_validation_says(base, turned):
    ranker = adapted(base, turned)
    training = ranker.training
    assert training.C > 0.0
    assert training.gain > 0.3
    assert training.chosen_by == "cross-validation"
    (note,) = ranker.training_notes
    assert note.startswith(f"adapted from {training.base} with C = {training.C:g}, which increased the agreement with ")
    assert note.endswith("(mean Spearman)")
    assert f"|base:{training.base}|" in ranker.signature()
    assert f"- Adapted from: {markdown_text(training.base)}, C = {training.C:g}\n" in ranker.card()


def test_judgements_that_agree_with_the_base_leave_it_as_it_is(base, sample):
    ranker, start = adapted(base, sample), Ranker.load(base)
    assert (ranker.training.C, ranker.training.gain) == (0.0, 0.0)
    np.testing.assert_array_equal(ranker.score(sample), start.score(sample))
    (note,) = ranker.training_notes
    assert note == (
        f"the weights of {ranker.training.base} are kept: no change improves the agreement with the held-out "
        "judgements of 32 sources by two standard errors"
    )
    assert ranker.digest == start.digest


def test_one_source_leaves_nothing_to_choose_by(base, sample):
    single = sample.select_sources(np.arange(32) == 0)
    ranker = adapted(base, single)
    np.testing.assert_array_equal(ranker.weights, Ranker.load(base).weights)
    assert (ranker.training.chosen_by, ranker.training.gain) == ("one source", None)
    (note,) = ranker.training_notes
    assert note.endswith(f"C cannot be chosen by cross-validation, so the weights of {ranker.training.base} are kept")


def test_few_references_adapt_all_sets_and_leave_the_missing_columns_alone(base, few):
    ranker, start = adapted(base, few, C=0.01), Ranker.load(base)
    moved = ranker.weight_sets.weights != start.weight_sets.weights
    assert moved.tolist() == [[True, True, False]] * 2
    assert ranker.weight_sets.titles == ("without perp",)
    assert (ranker.weight_sets.of_sources(few) == ranker.weight_sets.weights[1]).all()


def test_c_is_chosen_on_the_set_that_most_sources_use_and_every_set_is_adapted_with_it(sample, few, tmp_path):
    """Without references, on the columns that need none; a source with them teaches all columns."""
    path = tmp_path / "x.model"
    Ranker("bleu[order=1],consensus.mean", kind="adequacy", C=0.01).fit(sample).save(path)
    start = Ranker.load(path)
    turned = dataclasses.replace(few, ratings=few.ratings.assign(value=-few.ratings["value"]))
    without = dataclasses.replace(turned, references=turned.references.iloc[:0])
    ranker = Ranker(base=str(path), kind="adequacy")
    table = ranker.fit_table(without)
    assert start.weight_sets.titles[table.main_weight_set - 1] == "without bleu"
    moved = ranker.weight_sets.weights != start.weight_sets.weights
    needs_none = np.array([False, True])
    np.testing.assert_array_equal(moved, start.weight_sets.columns & needs_none)
    alone = start.weight_sets.weights[table.main_weight_set, needs_none]
    chosen = table.learn(table.columns[:, needs_none], C="auto", loss="squared_hinge", seed=0, origin=alone)
    assert ranker.training.C == chosen.C > 0.0
    np.testing.assert_array_equal(ranker.weight_sets.weights[table.main_weight_set, needs_none], chosen.coef)
    some = turned.references["source"] == 0
    mixed = dataclasses.replace(turned, references=turned.references[some].reset_index(drop=True))
    assert (adapted(str(path), mixed, C=0.01).weights != start.weights).all()


def test_columns_for_english_stay_as_they_are_where_translations_are_not(sample, few, tmp_path):
    path = tmp_path / "x.model"
    english, german = (
        dataclasses.replace(entry, sources=entry.sources.assign(lp=lp))
        for entry, lp in ((sample, "de-en"), (few, "en-de"))
    )
    Ranker("bleu[order=1],ngrams[words=content]", kind="adequacy", C=0.01).fit(english).save(path)
    start, ranker = Ranker.load(path), adapted(str(path), german, C=0.01)
    ranker.save(tmp_path / "y.model")
    for item in (ranker, Ranker.load(tmp_path / "y.model")):
        assert item.weight_sets.by_language
        moved = (item.weight_sets.weights != start.weight_sets.weights).any(axis=0)
        np.testing.assert_array_equal(moved, item.feature_set.columns_of([True, False]))
        np.testing.assert_array_equal(item.weight_sets.choose(german), 1)


def test_a_loaded_adapted_ranker_is_the_same_and_adapts_again_without_the_file_of_the_base(base, turned, tmp_path):
    ranker = adapted(base, turned, C=0.001)
    ranker.save(tmp_path / "x.model")
    loaded = Ranker.load(tmp_path / "x.model")
    assert loaded.settings == ranker.settings == Settings(kind="adequacy:higher", C=0.001, base="base.model")
    assert (loaded.digest, loaded.signature(), loaded.card()) == (ranker.digest, ranker.signature(), ranker.card())
    np.testing.assert_array_equal(loaded.score(turned), ranker.score(turned))
    assert loaded.fit(turned).digest == ranker.digest


def test_an_adapted_ranker_can_be_adapted_again(base, turned, tmp_path):
    adapted(base, turned, C=0.001).save(tmp_path / "once.model")
    twice = adapted(str(tmp_path / "once.model"), turned, C=0.001)
    assert twice.training.base.startswith("once.model#")
    assert np.linalg.norm(twice.weights - Ranker.load(base).weights) > np.linalg.norm(
        Ranker.load(tmp_path / "once.model").weights - Ranker.load(base).weights
    )


def test_held_out_scores_stay_near_the_base(base, turned):
    ranker = Ranker(base=base, kind="adequacy", C=0.001)
    learnt = ranker.fit_table(turned)
    fold = fold_of_sources(learnt, 2, 0)
    scores = held_out_scores(ranker, learnt, fold)
    selected = fold[learnt.group] == 0
    targets = learnt.take(selected)
    penalty = 0.001 * learnt.pair_weight / targets.pair_weight
    svm = targets.learn(
        learnt.columns[selected], C=penalty, loss="squared_hinge", seed=0, origin=Ranker.load(base).weights
    )  # fmt: skip
    np.testing.assert_allclose(scores[~selected], learnt.columns[~selected] @ svm.coef, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        '{"-base": null}',
        '{"base.name": 1}',
        '{"base.name": "other"}',
        '{"base.by_language": "yes"}',
        '{"-base.weights.1": null}',
        '{"base.weights.0.weights": [1e300, 1e300, 1e300]}',
        '{"base.weights": "many"}',
    ],
)
def test_files_without_a_sound_base_are_refused(base, few, tmp_path, change):
    adapted(base, few, C=0.01).save(tmp_path / "x.model")
    stored = read_model(tmp_path / "x.model")
    write_model(tmp_path / "x.model", StoredModel(changed(stored.model, change), stored.arrays), "card")
    with pytest.raises(ModelError, match=r"model\.json is incomplete or contradicts itself"):
        Ranker.load(tmp_path / "x.model")


def test_preferences_are_adapted_to_as_well(base, few):
    first = few.candidate_offsets[:-1]
    columns = {"first": first, "second": first + 1, "relation": [">", "<"] * 6, "primary": np.ones(12, dtype=bool)}
    preferred = dataclasses.replace(few, preferences=table("preferences", columns))
    ranker = adapted(base, preferred, kind="preferences")
    assert (ranker.training.preferences, ranker.training.pairs) == (12, "aggregated")
    assert "12 sources" in ranker.training_notes[0]
