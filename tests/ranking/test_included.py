from __future__ import annotations

import numpy as np
import pytest

from ranker import Dataset, load_dataset
from ranker.arrays import Int64Array
from ranker.corpora.judgements import Judged
from ranker.corpora.selection import without_references
from ranker.corpora.source_keys import short_keys
from ranker.errors import DataError, ModelError, OptionError
from ranker.extractors.semantic import features as semantic
from ranker.learning.encoder.files import EncoderFiles
from ranker.ranking import included as included_models
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import RankerScorer, systems_scorer
from tests.datasets import dataset_of, part_of_corpus, shuffled
from tests.effort import further, thorough

ENGLISH = ["The house that we saw was on the hill.", "They were not at home when it was found."]
GERMAN = ["Das Haus, das wir sahen, stand auf dem Hügel.", "Sie waren nicht zu Hause, als man es fand."]


def dataset(references: list[str], lp: str | None = None):
    return dataset_of([([reference], [reference, reference[::-1]]) for reference in references], lp=lp)


@pytest.mark.parametrize(
    ("references", "lp", "name"),
    [
        (ENGLISH, None, "full"),
        (GERMAN, None, "full-any"),
        (GERMAN, "zh-en", "full"),
        (ENGLISH, "en-de", "full-any"),
        ([""], None, "full-any"),
    ],
)
def test_the_ranker_suits_the_language(references, lp, name):
    data = dataset(references, lp)
    assert included_models.default_model(data) == name
    other = "full-any" if name == "full-any" and references != [""] else "consensus"
    assert included_models.default_model(without_references(data)) == other


@pytest.mark.parametrize(
    ("lp", "candidates", "name"),
    [("en-de", 3, "full-any"), ("en-de", 2, "full-any"), ("de-en", 2, "consensus"), (None, 3, "consensus")],
)
def test_without_references_agreement_is_by_the_encoder_of_the_language(lp, candidates, name):
    data = dataset_of([([], ["ein Satz", "ein anderer Satz", "kein Satz"][:candidates])], lp=[lp])
    assert included_models.default_model(data) == name
    assert included_models.default_model(data.in_context(np.arange(candidates) < 1)) == name


@pytest.mark.parametrize(("lp", "model"), [("en-de", "full-any"), ("de-en", "consensus")])
def test_without_references_one_or_two_candidates_are_compared_with_their_source(lp, model):
    texts = {
        "en-de": ["Heute regnet es stark.", "Gestern schien die Sonne.", "Heute regnet es."],
        "de-en": ["It rains a lot today.", "Yesterday the sun was shining.", "It rains today."],
    }
    source = texts["de-en" if lp == "en-de" else "en-de"][0]
    data = dataset_of([([], texts[lp][:2])], sources=[source], lp=lp)
    assert included_models.default_model(data) == model
    ranker = Ranker.load(model)
    assert ranker.rank(data)["text"].tolist() == texts[lp][:2]
    note = str(ranker.note(data))
    assert note.startswith(
        f"1 source {'without a reference and ' if model == 'full-any' else ''}with fewer than 3 candidates; ranked "
    )
    assert note.endswith(", by their source, which hardly tells good translations apart")
    with pytest.raises(
        (DataError, OptionError), match=r"has no reference|evidence about a translation, not about a sys"
    ):
        systems_scorer(RankerScorer(ranker)).statistics(data)
    bare = dataset_of([([], texts[lp][:2])], sources=[""], lp=lp)
    with pytest.raises(
        DataError, match=r"no source has 3 candidates to compare or a text to compare them with, and the"
    ):
        ranker.candidate_scores(bare)


def test_a_source_without_text_ties_where_others_have_what_to_compare():
    """References, which the ranker does not use, are no reason to refuse it."""
    texts, reference = ["That is my dog.", "This cat is yours.", "That is a dog."], ["That is my dog."]
    data = dataset_of([(reference, texts[:2]), (reference, texts)], sources=["", ""])
    ranker = Ranker.load("consensus")
    scores = ranker.candidate_scores(data)
    assert scores[0] == scores[1]
    assert len({*scores[2:].tolist()}) == 3
    what = "1 of 2 sources without a source text and with fewer than 3 candidates; their candidates tie"
    assert ranker.note(data) == what
    with pytest.raises(DataError, match="no source has 3 candidates to compare or a text to compare them with"):
        ranker.candidate_scores(data.select_sources([True, False]))


def test_sources_that_lack_the_same_are_counted_in_one_note():
    texts, reference = ["Das ist mein Hund.", "Das ist deine Katze."], ["Das ist mein Hund."]
    data = dataset_of([(reference, texts)] * 2, sources=["That is my dog.", ""], lp="en-de")
    assert Ranker.load("full-any").note(data) == (
        "all 2 sources with fewer than 3 candidates; ranked without consensus"
    )


@pytest.mark.parametrize(("lp", "model"), [("en-de", "full-any"), ("de-en", "consensus")])
def test_the_source_is_not_read_where_there_are_three_candidates(lp, model, monkeypatch):
    texts = ["Die Katze schläft", "Die Katze schlafen", "Katze schläft die"]
    data, pairs = dataset_of([([], texts)], lp=lp), semantic.Semantic._pairs
    compared = []

    def noted(self: semantic.Semantic, dataset: Dataset, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
        if self.against == "source":
            compared.extend(dataset.candidates["text"].tolist())
        return pairs(self, dataset, rows)

    monkeypatch.setattr(semantic.Semantic, "_pairs", noted)
    ranker = Ranker.load(model)
    assert len({*ranker.candidate_scores(data).tolist()}) == 3
    assert not compared
    scores = ranker.candidate_scores(dataset_of([([], texts), ([], ["Katze", "Katzen"])], lp=lp))
    assert scores[3] != scores[4]
    assert compared == ["Katze", "Katzen"]
    assert "source text" not in str(ranker.note(dataset_of([([], texts)], sources=[""], lp=lp)))
    adapted = Ranker(base=model).fit(dataset_of([([], texts)] * 4, lp=lp, kind="fluency"))
    assert adapted.weights.shape == ranker.weights.shape
    assert compared == ["Katze", "Katzen"]


def test_without_references_and_language_pair_many_words_tell_the_language():
    texts = ["Er sah das Haus auf dem Hügel nicht", "Das Haus auf dem Hügel sah er nie", "Ein Haus stand dort"]
    data = dataset_of([([], texts)] * 8, kind="fluency")
    assert included_models.default_model(data) == "full-any"
    features, notes = included_models.standard_features(Judged.of(data))
    assert features == FeatureSet.parse("reference-free-any")
    assert notes == ("no references, translations that do not look English: using the feature set reference-free-any",)


@pytest.mark.parametrize(
    ("lp", "candidates", "references", "name"),
    [
        ("de-en", 3, True, "standard"),
        ("en-de", 3, True, "full-any"),
        ("de-en", 3, False, "reference-free"),
        (None, 3, False, "reference-free"),
        ("en-de", 3, False, "reference-free-any"),
        ("de-en", 2, False, "reference-free-any"),
    ],
)
def test_the_standard_features_suit_language_references_and_number_of_candidates(lp, candidates, references, name):
    texts = ["the boat on the river", "the boat in a river", "no boat"][:candidates]
    data = dataset_of([(["the boat is on the river"] * references, texts)] * 8, lp=lp, kind="fluency")
    features, notes = included_models.standard_features(Judged.of(data))
    assert features == FeatureSet.parse(name)
    assert len(notes) == (name != "standard")
    assert all(note.endswith(f": using the feature set {name}") for note in notes)


@pytest.mark.parametrize(
    ("lp", "references", "seen", "name"),
    [
        ("en-de", True, 129, "full-any"),
        ("en-de", True, 131, "standard-lexical-any"),
        ("de-en", True, 139, "standard"),
        ("de-en", True, 141, "standard-lexical"),
        ("en-de", False, 141, "consensus[trust=source].diverse"),
    ],
)
def test_the_standard_features_have_no_encoder_that_knows_too_many_of_the_sources(
    monkeypatch, lp, references, seen, name
):
    texts = ["the boat on the river", "the boat in a river", "no boat"]
    sources = [f"source {number}" for number in range(220)]
    items = [(["the boat is on the river"] * references, texts if number < 200 else texts[:1]) for number in range(220)]
    data = dataset_of(items, sources=sources, lp=lp, kind="fluency")
    monkeypatch.setattr(EncoderFiles, "training_sources", short_keys(data.select_sources(np.arange(220) < seen)))
    features, notes = included_models.standard_features(Judged.of(data))
    assert str(features) == str(FeatureSet.parse(name))
    assert ("the encoder was trained on" in notes[0] if notes else False) == (name not in ("full-any", "standard"))
    few = data.select_sources(np.arange(220) > 215)
    assert "the encoder" not in "".join(included_models.standard_features(Judged.of(few))[1]), "few, but none known"


def test_smaller_feature_sets_are_named_as_far_as_the_data_have_what_they_need():
    sample = load_dataset("sample")
    assert included_models.fewer_features(sample, 41) == ["ye07", "ye07-order"]
    assert included_models.fewer_features(sample, 40) == ["ye07", "bleu1-4"]
    assert included_models.fewer_features(sample, 8) == []
    assert included_models.fewer_features(dataset(ENGLISH), 73) == ["bleu1-4"], (
        "too few references for a language model"
    )
    assert included_models.fewer_features(dataset(GERMAN * 60, "en-de"), 73) == ["bleu1-4"], "no parser"
    assert included_models.fewer_features(without_references(sample), 73) == []


@pytest.mark.parametrize("name", included_models.names())
def test_a_ranker_that_ships_is_what_its_feature_set_says(name):
    ranker = Ranker.load(name)
    source = "semantic[encoder=encoder-any,against=source].cosine"
    features = {"consensus": f"agreement,{source}", "full-any": f"full-any,{source}"}.get(name, name)
    assert str(ranker.feature_set) == str(FeatureSet.parse(features))
    assert len(ranker.weight_sets.weights) > 1
    assert not ranker.weight_sets.need_references
    assert ranker.training is not None
    assert ranker.training.data == {
        "full-any": "mqm21+bio21-mqm+wmt24-esa+wmt12+wmt14+wmt19-darr",
        "full-lexical": "wmt12+wmt13+wmt14",
    }.get(name, "mqm21+bio21-mqm+wmt12+wmt14+wmt19-darr")
    card = (included_models.locate(name) / "CARD.md").read_text(encoding="utf-8")
    # without the title, which the card has of its own
    assert card.endswith(ranker.card().split("\n\n", 1)[1])
    assert "wmt15" in card


@pytest.mark.parametrize("name", included_models.names())
def test_agreement_is_never_a_reason_against_a_candidate(name):
    ranker = Ranker.load(name)
    agreement = [column.startswith("consensus") for column in map(str, ranker.feature_set.columns)]
    assert (ranker.weight_sets.weights[:, agreement] >= 0).all()
    assert (ranker.weight_sets.weights[0, agreement] > 0).all()


@pytest.mark.parametrize("name", ["full", "full-any", "full-lexical"])
def test_the_scores_of_a_source_do_not_depend_on_the_other_sources(name):
    sample = load_dataset("sample")
    some = np.arange(len(sample.sources)) < 8
    part = some & (np.arange(len(sample.sources)) % 4 == 0)
    together, ranker = sample.select_sources(some), Ranker.load(name)
    apart = ranker.candidate_scores(sample.select_sources(part))
    np.testing.assert_array_equal(ranker.candidate_scores(together)[part[together.candidate_source]], apart)


@pytest.mark.parametrize("name", [name if name == "consensus" else further(name) for name in included_models.names()])
def test_scores_are_the_same_to_the_last_bit_in_whatever_order_candidates_and_sources_come(name):
    sample, ranker = load_dataset("sample"), Ranker.load(name)
    dataset = sample.select_sources(np.arange(len(sample.sources)) < 60)
    scores = ranker.candidate_scores(dataset)
    for seed in (0, 1):
        reordered, order = shuffled(dataset, seed)
        np.testing.assert_array_equal(ranker.candidate_scores(reordered), scores[order])


@pytest.mark.parametrize("name", ["full", "full-any"])
def test_a_ranker_that_ships_prefers_the_reference(name):
    data = dataset(ENGLISH if name == "full" else GERMAN)
    scores = Ranker.load(name).candidate_scores(data)
    assert (np.diff(scores.reshape(-1, 2), axis=1) < 0).all()


@pytest.mark.parametrize(
    ("reference", "better", "worse"),
    [
        ("我很喜欢那只坐在垫子上的猫。", "我喜欢坐在垫子上的那只猫。", "他不去北京买一本很贵的书。"),
        ("私はマットの上の猫が好きです。", "マットの上の猫が好きです。", "彼は東京で本を買いません。"),
        ("ฉันชอบแมวที่นั่งอยู่บนเสื่อ", "ฉันชอบแมวที่อยู่บนเสื่อ", "เขาไม่ซื้อหนังสือในกรุงเทพ"),
    ],
)
def test_full_any_sees_the_better_one_where_there_are_no_spaces(reference, better, worse):
    data, ranker = dataset_of([([reference], [better, worse])]), Ranker.load("full-any")
    assert np.diff(ranker.candidate_scores(data)) < 0
    assert not ranker.note(data) or "written without spaces" not in ranker.note(data)


def test_a_file_goes_before_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert included_models.locate("full").is_dir()
    (tmp_path / "full").write_text("mine")
    with pytest.raises(ModelError, match="is not a model file"):
        Ranker.load("full")


@pytest.mark.parametrize("name", included_models.names())
@thorough
def test_included_rankers_know_their_training_sources_by_content(name, shared, tmp_path):
    ranker = Ranker.load(name)
    for corpus, seen in (("wmt14-rr", 1.0), ("wmt21-mqm", 0.0)):
        path = part_of_corpus(shared / "data" / f"{corpus}.jsonl.gz", tmp_path, most=30, judged=seen == 1.0)
        known = ranker.learnt_from(load_dataset(path)).mean()
        # of the others, the encoder learnt from most sources of both corpora
        assert known == seen if name == "full-lexical" else known > 0
    assert not ranker.learnt_from(load_dataset("sample")).any()
