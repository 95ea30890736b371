"""Rankers where something is missing: references, enough of them, or other candidates."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker import Ranker
from ranker.corpora.dataset import concatenate_datasets
from ranker.corpora.judgements import judged
from ranker.errors import DataError
from ranker.extractors.consensus.features import Consensus
from ranker.extractors.ngram.chrf import Chrf
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.weight_sets import WeightSets, usable, usable_sets
from tests.datasets import dataset_of

REFERENCE = "the cat sat on the mat"


def corpus(sources, candidates=4, references=1, kind="fluency", lp=None):
    """Make sources whose candidates lose words more and more, and are judged accordingly."""
    items = []
    for number in range(sources):
        words = [*REFERENCE.split(), f"w{number % 7}", f"v{number % 5}"]
        texts = [" ".join([*words[place:], *(["x"] * (place + number % 2))]) for place in range(candidates)]
        items.append(([" ".join(words)] * references, texts))
    return dataset_of(items, kind=kind, lp=lp)


@pytest.fixture(scope="module")
def trained():
    return Ranker("chrf,perp,consensus,combine[bleu - ter]", C=0.1).fit(corpus(120))


@pytest.mark.parametrize(
    ("features", "without"),
    [
        ("bleu,chrf", [[]]),
        ("bleu,perp", [[], ["perp"]]),
        ("consensus", [[]]),
        ("bleu,consensus", [[], ["consensus"], ["bleu"]]),
        ("bleu,combine[bleu + perp]", [[], ["combine[bleu + perp]"]]),
        ("bleu,given[name=x]", [[], ["bleu"]]),
        (
            "bleu,perp,consensus",
            [[], ["perp"], ["consensus"], ["bleu", "perp"], ["perp", "consensus"]],
        ),
    ],
)
def test_there_are_weights_for_what_the_features_make_possible_and_no_more(features, without):
    extractors = FeatureSet.parse(features).extractors
    result = [
        [str(extractor) for extractor, used in zip(extractors, row, strict=True) if not used]
        for row in usable_sets(extractors)
    ]
    assert result[0] == []
    assert sorted(result) == sorted(without)
    assert [len(item) for item in result] == sorted(map(len, result))


def test_every_set_is_the_ranker_of_what_is_left(trained):
    data = corpus(120)
    for place in range(len(trained.weight_sets.used)):
        missing = trained.weight_sets.without(place)
        left = [str(extractor) for extractor in trained.feature_set.extractors if extractor not in missing]
        alone = Ranker(",".join(left), C=0.1).fit(data)
        columns = trained.feature_set.columns_of(trained.weight_sets.used[place])
        np.testing.assert_allclose(trained.weight_sets.weights[place][columns], alone.weights, atol=1e-6)
        assert not trained.weight_sets.weights[place][~columns].any()


def test_each_source_is_scored_by_what_there_is_of_it(trained):
    parts = [corpus(120), corpus(3, candidates=2), corpus(2, references=0), corpus(4, candidates=1)]
    mixed = concatenate_datasets(parts)
    scores = trained.candidate_scores(mixed)
    matrix = trained.feature_set.transform(mixed, partial=True)
    standardised = (matrix - trained.mean) / trained.scale
    titles = ["without consensus", "by consensus alone"]
    places = [1 + trained.weight_sets.titles.index(title) for title in titles]
    weights = trained.weight_sets.weights[[0, places[0], places[1], places[0]]]
    part = np.repeat(np.arange(4), [len(item) for item in parts])
    np.testing.assert_allclose(scores, (weights[part] * standardised).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(trained.contributions(mixed).sum(axis=1), scores, atol=1e-12)
    # nothing of a reference is in the scores without
    assert (trained.contributions(mixed)[part == 2][:, [0, 1, -1]] == 0).all()
    note = trained.note(mixed)
    assert "7 of 129 sources with fewer than 3 candidates; ranked without consensus" in note
    assert "2 of 129 sources without a reference; ranked by consensus alone" in note
    assert trained.note(parts[0]) is None


def test_notes_of_features_are_on_the_sources_that_they_score():
    thai = dataclasses.replace(corpus(20), references=corpus(20).references.assign(text="ฉันรักคุณมากที่สุดในโลกนี้"))
    ranker = Ranker("bleu[tokenizer=13a],consensus", C=0.1).fit(thai)
    note = ranker.note(thai)
    assert note.startswith("the references are Thai, written without spaces, so tokenizer=13a treats each clause as ")
    mixed = concatenate_datasets([thai, corpus(1, references=0)])
    assert ranker.note(mixed) == f"1 of 21 sources without a reference; ranked without bleu; {note}"


def test_few_references_leave_out_what_learns_from_them_only(trained):
    few = corpus(5)
    assert trained.note(few) == (
        "5 reference sentences are too few for a language model, which needs 100; ranked without perp"
    )
    consensus = trained.feature_set.columns_of([False, False, True, False])
    assert trained.contributions(few)[:, consensus].any()


def test_sources_that_lack_different_things_are_named_in_one_note():
    sets = WeightSets.of(FeatureSet.parse("consensus,ds"), by_language=True)
    mixed = concatenate_datasets([corpus(1, references=0, lp="de-en"), corpus(2, lp="en-de"), corpus(1, lp="de-en")])
    assert sets.note(mixed) == "3 of 4 sources without a reference or not in English; ranked without ds"


def test_without_any_references(trained):
    none = corpus(6, references=0)
    assert trained.note(none) == "all 6 sources without a reference; ranked by consensus alone"
    assert np.isfinite(trained.candidate_scores(none)).all()
    plain = Ranker("chrf,perp", C=0.1).fit(corpus(120))
    with pytest.raises(DataError, match=r"has no reference, which column 'chrf' requires \(missing in 6 of 6"):
        plain.candidate_scores(none)


def test_too_few_candidates_for_anything(trained):
    alone = Ranker("consensus", C=0.1).fit(corpus(120, references=0))
    two = corpus(3, candidates=2)
    with pytest.raises(DataError, match="no source has 3 candidates to compare, and the model has no"):
        alone.candidate_scores(two)
    mixed = concatenate_datasets([corpus(5), two])
    assert (alone.candidate_scores(mixed)[20:] == 0).all()
    assert alone.rank(mixed)["tied"].iloc[-2:].all()
    assert alone.note(mixed) == "3 of 8 sources with fewer than 3 candidates; their candidates tie"


def test_unjudged_candidates_vote_in_training_and_in_evaluation():
    data = corpus(30, references=0)
    selected = data.ratings["candidate"].to_numpy() % 4 != 1
    data = dataclasses.replace(data, ratings=data.ratings[selected].reset_index(drop=True))
    ranker = Ranker("consensus", C=0.1)
    table = ranker.fit_table(data)
    rows = judged(data, "fluency")
    features = FeatureSet.parse("consensus").transform(data)[rows]
    np.testing.assert_allclose(table.columns * ranker.scale + ranker.mean, features, atol=1e-12)
    scores = ranker.candidate_scores(data.in_context(rows))
    np.testing.assert_array_equal(scores, ranker.candidate_scores(data)[rows])
    # three are judged, but four vote
    assert usable(ranker.feature_set.extractors, data).all()
    alone = data.select_candidates(rows)
    assert np.abs(ranker.candidate_scores(alone) - scores).max() > 1e-6
    same = dataclasses.replace(alone)
    assert same.fingerprint == alone.fingerprint
    np.testing.assert_array_equal(ranker.candidate_scores(same), ranker.candidate_scores(alone))


def test_only_what_compares_candidates_is_computed_for_those_that_are_not_selected(monkeypatch):
    data, rows = corpus(5), np.arange(20) % 4 != 1
    sizes = {}
    for kind in (Chrf, Consensus):
        made = kind.transform

        def transform(self, dataset, kind=kind, made=made):
            sizes[kind] = len(dataset)
            return made(self, dataset)

        monkeypatch.setattr(kind, "transform", transform)
    FeatureSet.parse("chrf,consensus").transform(data.in_context(rows))
    assert sizes == {Chrf: 15, Consensus: 20}


def test_sources_without_a_selected_candidate_need_no_reference():
    data = concatenate_datasets([corpus(5), corpus(1, references=0, candidates=2)])
    ranker = Ranker("chrf", C=0.1).fit(corpus(30))
    rows = data.candidate_source < 5
    np.testing.assert_array_equal(ranker.candidate_scores(data.in_context(rows)), ranker.candidate_scores(corpus(5)))
    with pytest.raises(DataError, match="has no reference"):
        ranker.candidate_scores(data)


def test_sources_with_few_candidates_teach_no_consensus():
    """Their columns tell nothing apart, and change neither mean nor direction of the others."""
    data = corpus(40)
    mixed = concatenate_datasets([data, corpus(10, candidates=2)])
    left, right = (Ranker("chrf,consensus", C=0.1).fit(each) for each in (data, mixed))
    np.testing.assert_allclose(left.mean[1:], right.mean[1:], atol=1e-3)


def test_english_only_features_are_left_out_in_other_languages():
    """Only if the training data are in English: what was learnt for another language stays as it is."""
    data = corpus(30, lp="de-en")
    ranker = Ranker("chrf,ngrams[words=content],consensus.weighted", C=0.1).fit(data)
    left_out = "without ngrams"
    assert left_out in ranker.weight_sets.titles
    german = corpus(4, lp="en-de")
    assert "all 4 sources not in English; ranked without ngrams" in ranker.note(german)
    columns = ranker.feature_set.columns_of([False, True, False])
    assert not ranker.contributions(german)[:, columns].any()
    assert ranker.contributions(data)[:, columns].any()
    mixed = concatenate_datasets([data, german])
    english = np.arange(len(mixed)) < len(data)
    np.testing.assert_allclose(ranker.candidate_scores(mixed)[english], ranker.candidate_scores(data), atol=1e-12)
    np.testing.assert_allclose(ranker.contributions(mixed)[~english][:, columns], 0)
    other = Ranker("chrf,ngrams[words=content],consensus.weighted", C=0.1).fit(corpus(30, lp="en-de"))
    assert left_out not in other.weight_sets.titles
    assert other.note(german) is None
    assert other.contributions(german)[:, columns].any()


def test_every_set_has_a_title_of_its_own():
    """Of several extractors with one name, the notation says which are missing."""
    text = "ngrams,ngrams[words=content],perp,perp[unit=tags],consensus.mean,consensus.weighted"
    features = FeatureSet.parse(text)
    sets = WeightSets.of(features, by_language=True)
    assert len(set(sets.titles)) == len(sets.titles) == len(sets.used) - 1
    assert "without ngrams[words=content], perp[unit=tags]" in sets.titles
    assert "without consensus" in sets.titles
    assert "by consensus alone" in sets.titles
