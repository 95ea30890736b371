"""The ranker itself: what it learns, how it ranks, what it says, and what a model file keeps of it."""

from __future__ import annotations

import dataclasses
import inspect
from itertools import pairwise

import numpy as np
import pytest

from ranker import Features, Ranker, load_dataset, make_metric, train
from ranker.corpora.schema import table
from ranker.corpora.source_keys import short_keys
from ranker.errors import DataError, ModelError, NotTrainedError, OptionError
from ranker.metrics import Bleu
from ranker.ranking.by_score import rank_by
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.scorers import RankerScorer, trained_on
from ranker.ranking.settings import DEFAULTS, Settings
from ranker.ranking.training import standardiser
from ranker.storage.model_files import StoredModel, read_model, write_model
from tests.datasets import dataset_of
from tests.effort import thorough
from tests.golden_messages import check_messages
from tests.json_changes import changed


@pytest.fixture(scope="module")
def preferred():
    """Two language pairs, one judged more than the other, with preferences by their first rating."""
    sample = load_dataset("sample").select_sources(np.arange(120) < 40)
    generator = np.random.default_rng(0)
    first, second, relation = [], [], []
    for source, (start, stop) in enumerate(pairwise(sample.candidate_offsets)):
        for _ in range(6 if source % 2 else 2):
            pair = start + generator.choice(stop - start, size=2, replace=False)
            first.append(pair.min())
            second.append(pair.max())
            relation.append(generator.choice([">", "<", "="]))
    columns = {"first": first, "second": second, "relation": relation, "primary": np.ones(len(first), dtype=bool)}
    sources = sample.sources.assign(lp=["de-en" if source % 2 else "fr-en" for source in range(len(sample.sources))])
    return dataclasses.replace(sample, sources=sources, preferences=table("preferences", columns))


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "squared_hinge", "pairs": "balanced", "kind": "preferences", "C": 0.05},
        {"loss": "hinge", "pairs": "aggregated", "kind": "preferences"},
        {"loss": "squared_hinge", "C": "auto", "seed": 3, "kind": "adequacy"},
        {"C": 0.1, "kind": "fluency", "references_as_candidates": True},
    ],
    ids=lambda settings: settings["kind"] + str(settings.get("pairs", "")),
)
def test_a_loaded_ranker_trains_as_it_was_trained(settings, preferred, tmp_path):
    ranker = Ranker("bleu[order=1],bleu[order=2],chrf", **settings).fit(preferred)
    ranker.save(tmp_path / "x.model")
    loaded = Ranker.load(tmp_path / "x.model")
    assert loaded.settings == ranker.settings == Settings("bleu[order=1],bleu[order=2],chrf", **settings)
    again = loaded.fit(preferred)
    np.testing.assert_array_equal(again.weights, ranker.weights)
    assert again.training == ranker.training
    assert again.digest == ranker.digest


def test_saving_a_loaded_model_copies_it(preferred, tmp_path):
    Ranker("bleu,paraphrase", kind="adequacy").fit(preferred).save(tmp_path / "x.model")
    Ranker.load(tmp_path / "x.model").save(tmp_path / "y.model")
    assert (tmp_path / "x.model").read_bytes() == (tmp_path / "y.model").read_bytes()


@pytest.fixture(scope="module")
def trained(sample):
    return Ranker("bleu,ter,perp", kind="adequacy", C=0.01).fit(sample)


@pytest.fixture(scope="module")
def few():
    """Too few references for a language model; two candidates of the first source are equal."""
    texts = ["a cat sat on the mat", "the cat sat on a mat", "on the mat", "a cat sat on the mat"]
    return dataset_of([(["the cat sat on the mat"], texts), (["it rains again"], ["it rains", "rain", ""])])


def test_a_score_is_the_weighted_sum_of_standardised_features(trained, sample):
    columns = trained.feature_set.transform(sample)
    np.testing.assert_allclose(trained.mean, columns.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(trained.scale, columns.std(axis=0), rtol=1e-9)
    expected = ((columns - trained.mean) / trained.scale) @ trained.weights
    np.testing.assert_allclose(trained.candidate_scores(sample), expected, atol=1e-9)
    parts = trained.contributions(sample)
    assert parts.shape == (len(sample), len(trained.feature_set.columns))
    np.testing.assert_allclose(parts.sum(axis=1), expected, atol=1e-9)


def test_a_digest_is_of_what_scores_depend_on(trained, tmp_path):
    trained.save(tmp_path / "x.model")
    model = Ranker.load(tmp_path / "x.model").model
    training = dataclasses.replace(model.training, objective=1.0, duality_gap=1e-9, data="elsewhere")
    assert model.changed(training=training).digest == trained.digest
    sets = dataclasses.replace(model.weight_sets, weights=1.01 * model.weight_sets.weights)
    for change in ({"mean": model.mean * 1.01}, {"scale": model.scale * 1.01}, {"weight_sets": sets}):
        assert model.changed(**change).digest != trained.digest


@pytest.mark.parametrize(("features", "error"), [("bleu,chrf", KeyboardInterrupt), ("auto", DataError)])
def test_a_training_that_fails_changes_nothing(sample, monkeypatch, features, error):
    ranker = Ranker(features, kind="fluency", C=0.01).fit(sample)
    before, text = ranker.candidate_scores(sample), str(ranker.feature_set)

    def fail(*_, **__):
        raise error("stopped")

    monkeypatch.setattr("ranker.ranking.ranker.learn_weights", fail)
    other = dataclasses.replace(sample.select_sources(np.arange(len(sample.sources)) < 60), name="other")
    with pytest.raises(error):
        ranker.fit(other)
    assert str(ranker.feature_set) == text
    np.testing.assert_array_equal(ranker.candidate_scores(sample), before)


def test_means_and_scales_hide_the_noise_of_a_processor():
    columns = np.random.default_rng(0).standard_normal((200, 3)) * [1e-3, 1.0, 1e3] + [0.5, 1e-18, 2.0**10]
    noisy = columns * (1 + 1e-15 * np.random.default_rng(1).standard_normal(columns.shape))
    constant = np.full((200, 1), 0.1)
    mean, scale = standardiser(np.hstack([columns, constant]))
    for other in (noisy, columns[::-1]):
        again = standardiser(np.hstack([other, constant]))
        np.testing.assert_array_equal(again, [mean, scale])
    np.testing.assert_allclose(mean[:3], columns.mean(axis=0), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(scale, [*columns.std(axis=0), 1.0], rtol=1e-11)
    constant[::2] *= 1 + 2e-16
    assert standardiser(constant)[1] == 1.0


def test_it_learns_what_people_said(sample):
    """An output that people find better gets more, and the sign of every feature follows its direction."""
    ranker = Ranker("bleu,ter", kind="adequacy", C=0.01).fit(sample)
    bleu, ter = ranker.weights
    assert bleu > 0 > ter
    turned = dataclasses.replace(sample, ratings=sample.ratings.assign(value=-sample.ratings["value"]))
    np.testing.assert_allclose(
        Ranker("bleu,ter", kind="adequacy:higher", C=0.01).fit(turned).weights, -ranker.weights, atol=1e-6
    )


def test_a_feature_that_never_varies_counts_for_nothing(sample, few):
    """Its standard deviation is 0."""
    plain, more = (
        Ranker(features, kind="adequacy", C=0.01).fit(sample) for features in ("bleu", "bleu,combine[bleu - bleu]")
    )
    np.testing.assert_allclose(more.candidate_scores(few), plain.candidate_scores(few), atol=1e-9)


def test_equal_outputs_tie_and_ranks_skip(trained, few):
    ranked = rank_by(few, trained.candidate_scores(few))
    assert ranked["source"].tolist() == [0] * 4 + [1] * 3
    first = ranked[ranked["source"] == 0]
    tied = first[first["tied"]]
    assert sorted(tied["candidate"]) == [0, 3]
    assert tied["rank"].nunique() == 1
    shared = int(tied["rank"].iloc[0])
    assert sorted(first["rank"]) == sorted([*({1, 2, 3, 4} - {shared + 1}), shared])
    for _, rows in ranked.groupby("source"):
        assert (np.diff(rows["score"]) <= 1e-10).all()
        margins = rows["margin"].to_numpy()
        np.testing.assert_allclose(margins[:-1], -np.diff(rows["score"]), atol=1e-9)
        assert np.isnan(margins[-1])


def test_one_source_leaves_nothing_to_choose_C_by():
    ranker = Ranker("bleu", C="auto").fit(dataset_of([(["a b c d"], ["a b c d", "a b", "a"])], kind="fluency"))
    assert pytest.approx(1 / 3) == ranker.training.C
    assert ranker.training.chosen_by == "one source"
    assert ranker.training_notes == (
        "judgements of a single source: C cannot be chosen by cross-validation, so C is 1 / number of pairs",
    )


@pytest.mark.parametrize("sources", [1, 7])
def test_a_model_that_ties_everything_says_so(sources):
    ranker = Ranker("chrf", C="auto").fit(dataset_of([(["a b"], ["c d", "c d"])] * sources, kind="fluency"))
    assert ranker.training_notes == (
        "all weights are 0: no feature orders the judged candidates as people do, so the model ties all candidates",
    )


@thorough
def test_many_features_for_few_sources_are_said(sample):
    few = sample.select_sources(np.arange(len(sample.sources)) < 60)
    assert Ranker("standard-lexical", kind="fluency").fit(few).training_notes == (
        "60 sources: too few to weight 73 features against each other, so each weight depends on little but its own "
        "feature (C = 8.4e-06, the smallest value tried); compare with fewer features: --features ye07 or "
        "--features ye07-order",
    )
    assert Ranker("standard", kind="fluency", C=8.4e-6).fit(few).training_notes == ()
    assert Ranker("bleu1-4", kind="fluency").fit(few).training_notes == ()


def test_a_saved_ranker_is_the_same_ranker(trained, sample, tmp_path):
    trained.save(tmp_path / "x.model")
    trained.save(tmp_path / "y.model")
    assert (tmp_path / "x.model").read_bytes() == (tmp_path / "y.model").read_bytes()
    loaded = Ranker.load(tmp_path / "x.model")
    np.testing.assert_array_equal(loaded.candidate_scores(sample), trained.candidate_scores(sample))
    np.testing.assert_array_equal(loaded.contributions(sample), trained.contributions(sample))
    assert loaded.rank(sample).equals(trained.rank(sample))
    assert (loaded.signature(), loaded.digest, loaded.card()) == (trained.signature(), trained.digest, trained.card())
    assert str(loaded.feature_set) == str(FeatureSet.parse("bleu,ter,perp"))


def test_a_model_outlives_the_name_of_its_feature_set(trained, sample, tmp_path):
    trained.save(tmp_path / "x.model")
    stored = read_model(tmp_path / "x.model")
    settings = {**stored.model["settings"], "features": "a-set-of-before"}
    write_model(tmp_path / "y.model", StoredModel({**stored.model, "settings": settings}, stored.arrays), "")
    loaded = Ranker.load(tmp_path / "y.model")
    assert str(loaded.feature_set) == str(trained.feature_set)
    np.testing.assert_array_equal(loaded.candidate_scores(sample), trained.candidate_scores(sample))
    assert loaded.fit(sample).weights.tolist() == trained.weights.tolist()


def test_a_model_knows_the_sources_that_it_learnt_from(sample, tmp_path):
    rows = np.arange(len(sample.sources))
    ranker = Ranker("bleu", kind="fluency", C=1.0).fit(sample.select_sources(rows < 90))
    ranker.save(tmp_path / "x.model")
    loaded = Ranker.load(tmp_path / "x.model")
    assert loaded.digest == ranker.digest
    later, unseen = (sample.select_sources(rows >= first) for first in (60, 90))
    renamed = dataclasses.replace(later, name="other", references=later.references[:0])
    for model in (ranker, loaded):
        assert model.learnt_from(sample).tolist() == (rows < 90).tolist()
        assert model.learnt_from(renamed).mean() == 0.5
        assert trained_on(RankerScorer(model), renamed) == "was trained on 50% of the sources of other"
        assert not model.learnt_from(unseen).any()
        assert trained_on(RankerScorer(model), unseen) is None
        # sources without candidates do not count
        known = later.select_candidates(later.candidate_source < 30)
        assert trained_on(RankerScorer(model), known) == "was trained on all sources of sample"
    assert not Ranker.load("full").learnt_from(sample).any(), "models of before know their data set only"


def test_the_signature_names_what_changes_scores_and_nothing_else(trained, sample):
    parts = dict(part.split(":", 1) for part in trained.signature().split("|"))
    assert parts["model"] == trained.digest[:8]
    assert parts["data"] == f"sample#{sample.fingerprint[:8]}"
    assert (parts["kind"], parts["C"], parts["loss"]) == ("adequacy", "0.01", "squared_hinge")
    assert "seed" not in parts, "C was given, so nothing was drawn"
    again = Ranker("bleu,ter,perp", kind="adequacy", C=0.01, seed=5).fit(sample)
    assert again.signature() == trained.signature()
    seeded = dict(
        part.split(":", 1) for part in Ranker("bleu,ter", kind="adequacy", C="auto").fit(sample).signature().split("|")
    )
    assert seeded["seed"] == "0"
    other = Ranker("bleu,ter,perp", kind="fluency", C=0.01).fit(sample)
    assert other.digest != trained.digest


def test_an_untrained_ranker_says_so(few, tmp_path):
    ranker = Ranker("bleu")
    for use in (
        lambda: ranker.score(few),
        ranker.signature,
        lambda: ranker.digest,
        lambda: ranker.save(tmp_path / "x.model"),
    ):
        with pytest.raises(NotTrainedError, match="the ranker is not trained; call fit or load"):
            use()
    assert not list(tmp_path.iterdir())
    assert not any(hasattr(ranker, name) for name in ("weights", "weight_sets", "mean", "scale", "digest"))


def test_the_parameters_of_a_ranker_are_its_settings():
    parameters = {name: parameter.default for name, parameter in inspect.signature(Ranker).parameters.items()}
    assert parameters == dataclasses.asdict(DEFAULTS)
    assert Ranker("bleu", C=2.0, base=None).settings == Settings("bleu", C=2.0)
    with pytest.raises(TypeError, match="regularisation"):
        Ranker(regularisation=1.0)


@pytest.mark.parametrize("C", [0, -1.0, float("inf"), float("nan"), "much"])
def test_C_out_of_range(C):
    with pytest.raises(OptionError, match="expected a number from 1e-30"):
        Ranker("bleu", C=C)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("loss", "balance", "hinge | squared_hinge"),
        ("pairs", "balance", "judgements | aggregated | balanced (did you mean 'balanced'?)"),
        ("nonnegative", "no", "true or false"),
        ("references_as_candidates", 1, "true or false"),
        ("kind", None, "text"),
        ("features", ["bleu", "chrf"], "text"),
        ("features", None, "text"),
    ],
)
def test_types_and_choices_are_checked(option, value, expected):
    with pytest.raises(OptionError) as raised:
        Ranker(**{option: value})
    assert str(raised.value) == f"{option}={value!r}: expected {expected}"


def test_numbers_may_be_of_numpy_and_a_base_a_path(sample, tmp_path):
    ranker = Ranker("bleu", C=np.float32(0.5)).fit(sample)
    ranker.save(tmp_path / "x.model")
    assert Ranker.load(tmp_path / "x.model").settings == ranker.settings == Ranker("bleu", C=0.5).settings
    assert type(Ranker("bleu", seed=np.int64(3)).settings.seed) is int
    assert Ranker(base=tmp_path / "x.model").settings == Ranker(base=str(tmp_path / "x.model")).settings  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [make_metric, FeatureSet.parse, lambda text: Features(text).fit(None)])
@pytest.mark.parametrize("text", [None, 3, ["bleu"], Bleu()])
def test_names_that_are_no_text_are_refused(make, text):
    with pytest.raises(OptionError, match="expected names with options as one text, such as 'bleu"):
        make(text)


@pytest.mark.parametrize("options", [{"folds": 1}, {"folds": "5"}, {"folds": 2.5}, {"seed": -1}, {"seed": "1"}])
def test_a_training_refuses_folds_and_seeds_before_it_learns(sample, options):
    ranker = Ranker("bleu", C=0.1)
    with pytest.raises(OptionError, match=next(iter(options))):
        train(sample, ranker, **options)
    assert ranker.model is None


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5])
def test_seed_out_of_range(seed):
    with pytest.raises(OptionError, match="expected a whole number from 0 to 4294967295"):
        Ranker("bleu", seed=seed)


def test_models_that_do_not_fit_this_version_are_refused(trained, tmp_path):
    path = tmp_path / "x.model"
    trained.save(path)
    stored = read_model(path)

    def load(change):
        write_model(path, StoredModel(changed(stored.model, change), stored.arrays), "card")
        Ranker.load(path)

    check_messages("changed_models", load, ModelError, tmp_path)


def test_nonnegative_weights_have_the_sign_of_their_feature_and_stay_in_the_model(sample, tmp_path):
    features = "bleu,ter,length,chrf,ngrams.1.f1,rouge_l"
    ranker = Ranker(features, nonnegative=True, kind="fluency").fit(sample)
    assert (ranker.weights * ranker.feature_set.signs >= 0).all()
    assert ranker.feature_set.signs.tolist() == [1, -1, -1, -1, 1, 1, 1]
    assert (ranker.weights == 0).any()
    assert not (Ranker(features, kind="fluency").fit(sample).weights * ranker.feature_set.signs >= 0).all()
    ranker.save(tmp_path / "x.model")
    loaded = Ranker.load(tmp_path / "x.model")
    assert "|nonnegative:true|" in loaded.signature() == ranker.signature()
    assert loaded.settings.nonnegative
    for options in ({"base": "full-any"}, {"loss": "hinge"}):
        with pytest.raises(OptionError, match=r"nonnegative=True: not possible with (base full-any|loss hinge)"):
            Ranker(nonnegative=True, **options)


def test_sources_without_judgements_do_not_hide_that_an_encoder_was_trained_on_all_others(sample, monkeypatch):
    known = short_keys(sample.select_sources(np.arange(120) < 40))
    monkeypatch.setattr(FeatureSet, "pretraining_sources", property(lambda self: known))
    rated = sample.candidate_source[sample.ratings["candidate"].to_numpy()] < 40
    data = dataclasses.replace(sample, ratings=sample.ratings[rated].reset_index(drop=True))
    with pytest.raises(DataError, match="the encoder was trained on 40 of 120 sources: give other data to learn from"):
        Ranker("bleu").fit(data)
