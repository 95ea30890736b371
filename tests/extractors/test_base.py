"""Views of data sets, and what every registered extractor promises about `fit`, `width` and its fitted form."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from ranker.corpora.dataset import Dataset, view
from ranker.corpora.own_references import with_references_as_candidates
from ranker.errors import DataError, MissingError, ModelError, OptionError
from ranker.extractors.base import FittedExtractor, Metric, join_notes
from ranker.extractors.order.metrics import word_permutations
from ranker.extractors.order.source_orders import bilingual_orders
from ranker.extractors.registry import BUILT_IN, extractor_class, make, make_metric
from ranker.metrics import Bleu, Chrf, TranslationEditRate
from ranker.notation import option_table, options_of
from ranker.text.lexical.word_classes import class_batch
from ranker.text.reference_pairs import reference_pairs
from ranker.text.tokens import distinct_sentences, source_segments, token_batch
from tests.datasets import dataset_of
from tests.extractors.test_fit_scopes import RANKED, VARIANTS, dataset

CALLS: list[tuple[object, ...]] = []
# scores from elsewhere are no matter of texts; see test_given.py
OF_TEXTS = sorted({*BUILT_IN} - {"given"})
ALL = [*OF_TEXTS, *VARIANTS, *RANKED]


@view
def scaled_sizes(data: Dataset, scale: int, *, more: int = 0) -> np.ndarray:
    """Count, and note the call."""
    CALLS.append((len(data), scale, more))
    if scale < 0:
        raise ValueError("negative")
    return np.diff(data.candidate_offsets) * scale + more


def test_a_view_is_made_once_for_a_data_set_and_its_options():
    CALLS.clear()
    data = dataset(range(4))
    first = scaled_sizes(data, 2)
    assert first.tolist() == [10, 10, 10, 10]
    assert scaled_sizes(data, scale=2) is first
    assert scaled_sizes(data, 2, more=0) is first
    assert scaled_sizes(data, 2, more=1).tolist() == [11, 11, 11, 11]
    assert CALLS == [(20, 2, 0), (20, 2, 1)]
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            scaled_sizes(data, -1)
    assert len(CALLS) == 4


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_an_extractor_is_shown_as_its_notation(name):
    assert repr(make(name)) == str(make(name)) == name
    assert repr([make_metric("bleu[order=2,smoothing=none]")]) == "[bleu[order=2,smoothing=none]]"


@pytest.mark.parametrize(
    "derive",
    [
        lambda example: example.select_sources([True, True, False, True]),
        lambda example: example.select_candidates(np.arange(len(example)) % 5 > 0),
        lambda example: with_references_as_candidates(example),
        lambda example: dataclasses.replace(example, candidates=example.candidates.assign(text="x y z")),
    ],
)
def test_derived_data_sets_have_views_of_their_own(derive):
    data = dataset(range(4))
    views = [
        token_batch,
        reference_pairs,
        distinct_sentences,
        source_segments,
        bilingual_orders,
        lambda data: class_batch(data, "content"),
        lambda data: word_permutations(data, "bilingual", "13a"),
    ]
    before = [item(data) for item in views]
    derived = derive(data)
    for each_view, old in zip(views, before, strict=True):
        assert each_view(derived) is not old
        assert each_view(derived) is each_view(derived)
        assert each_view(data) is old
    scores = make("bleu").transform(derived)
    again = dataclasses.replace(derived)
    np.testing.assert_array_equal(scores, make("bleu").transform(again))


WIDTHS = ["chrf[word_order=2]", "bleu[order=2]", "nist[order=3]", "lrscore[lexical=wer]"]


@pytest.mark.parametrize("text", [*(text for text in ALL if isinstance(make(text), Metric)), *WIDTHS])
def test_statistics_have_the_declared_width(text):
    data = dataset(range(4))
    metric = make_metric(text).fit(data)
    rows = metric.statistics(data)
    assert rows.dtype == np.float64
    assert rows.shape == (len(data), metric.width) == (len(data), make_metric(text).width)
    assert metric.score(np.stack([rows, rows])).shape == (2, len(data))


@pytest.mark.parametrize("text", ALL)
def test_fit_returns_a_fitted_form_of_the_same_identity(text):
    data = dataset(range(4))
    extractor = make(text)
    if text == "semantic":
        try:
            extractor.check_ready()
        except (MissingError, ModelError) as error:
            pytest.skip(str(error))
    fitted = extractor.fit(data)
    assert isinstance(fitted, FittedExtractor)
    assert isinstance(fitted, Metric) == isinstance(extractor, Metric)
    assert str(fitted) == str(extractor)
    assert fitted.columns == extractor.columns
    assert fitted.signature().startswith(extractor.signature())
    assert fitted.transform(data).shape == (len(data), len(extractor.columns))
    if extractor.fit_scope == "none":
        assert fitted is extractor
        assert not extractor.state()
        return
    assert bool(fitted.state()) == (extractor.fit_scope == "train")
    if text == "semantic":  # there is nothing that it must learn
        return
    calls = [extractor.transform, *([extractor.statistics] if isinstance(extractor, Metric) else [])]
    for call in calls:
        with pytest.raises(ModelError, match=r"is not fitted"):
            call(data)
    if extractor.fit_scope == "train":
        restored = extractor.with_state(fitted.state())
        np.testing.assert_array_equal(restored.transform(data), fitted.transform(data))
    few = dataset(range(2))
    np.testing.assert_array_equal(fitted.fit(few).transform(few), extractor.fit(few).transform(few))


@pytest.mark.parametrize("text", RANKED)
def test_what_was_learnt_serves_other_data(text):
    """Rows of candidates do not change when the model stays and the other candidates go."""
    example, few = dataset(range(4)), dataset(range(1, 3))
    fitted = make(text).fit(example)
    selected = fitted.transform(example)[5:15]
    if "leave_out" in text:
        selected = make("perp").fit(example).transform(example)[5:15]  # nothing is left out for other data
    np.testing.assert_allclose(fitted.transform(few), selected, rtol=0, atol=1e-9)
    assert not np.allclose(make(text).fit(few).transform(few), selected)


def test_an_alpha_is_of_the_language_pairs_that_it_was_learnt_from():
    data = dataset(range(2))
    other = dataclasses.replace(data, sources=data.sources.assign(lp="cs-en"))
    with pytest.raises(
        DataError, match=r"learnt from de-en and has no alpha for cs-en: fit it on data with this language pair"
    ):
        make_metric("lrscore[theta=0.3]").fit(data).statistics(other)


@pytest.fixture(scope="module")
def graded():
    """Better and worse translations; the last of the first source equals its reference."""
    references = ["the cat sat on the mat", "a cat was sitting here"]
    candidates = ["the cat sat on a mat", "on the mat", "x y", "", "the cat sat on the mat"]
    return dataset_of([(references, candidates), (["it rains again today"], ["today it rains again"])])


PLAIN = {"combine": "combine[bleu - 2*ter]", "lrscore": "lrscore[alignment=isozaki]"}
"""Notations of those that need an option, or word alignments otherwise."""


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_an_extractor_is_a_value_whose_notation_is_its_identity(name):
    text = PLAIN.get(name, name)
    single = make(text)
    assert single == make(text) == make(str(single))
    assert hash(single) == hash(make(text))
    assert str(single) == text
    assert len(set(single.columns)) == len(single.columns) > 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        single.tokenizer = "char"
    with pytest.raises(OptionError, match="nonsense"):
        make(f"{name}[nonsense=1]")


@pytest.mark.parametrize("name", [name for name in OF_TEXTS if isinstance(make(PLAIN.get(name, name)), Metric)])
def test_a_metric_is_one_finite_column_and_equal_texts_are_best(name, graded):
    metric = make_metric(PLAIN.get(name, name)).fit(graded)
    column = metric.transform(graded)
    assert column.shape == (len(graded), 1)
    assert np.isfinite(column).all()
    others, equal = column[:4, 0], column[4, 0]
    assert (equal >= others).all() if metric.higher_is_better else (equal <= others).all()
    nothing = graded.select_candidates(np.zeros(len(graded), dtype=bool))
    assert metric.transform(nothing).shape == (0, 1)


def test_notes_are_joined_once_each():
    assert join_notes(["a", None, "b", "a", ""]) == "a; b"
    assert join_notes([None, None]) is None
    assert join_notes([]) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bleu(smoothing="exponential"), "bleu[smoothing='exponential']: expected exp | add-one | floor"),
        (lambda: Bleu(tokenizer="13b"), "bleu[tokenizer='13b']: expected auto | 13a"),
        (lambda: Bleu(lowercase="no"), "bleu[lowercase='no']: expected true or false"),
        (lambda: Bleu(lowercase=1), "bleu[lowercase=1]: expected true or false"),
        (lambda: Bleu(order="4"), "bleu[order='4']: expected a whole number"),
        (lambda: Bleu(order=4.0), "bleu[order=4.0]: expected a whole number"),
        (lambda: Bleu(order=True), "bleu[order=True]: expected a whole number"),
        (lambda: Bleu(order=None), "bleu[order=None]: expected a whole number"),
        (lambda: Bleu(effective_order="none"), "bleu[effective_order='none']: expected true or false | none"),
        (lambda: Chrf(beta="2"), "chrf[beta='2']: expected a number"),
        (lambda: TranslationEditRate(beam=10**20), "expected a whole number of at most 1,000,000,000 in magnitude"),
    ],
)
def test_an_option_of_another_type_is_refused_in_python_as_in_the_notation(make, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_option_of_every_extractor_has_a_type_that_is_checked(name):
    kind = extractor_class(name)
    for option in options_of(kind):
        with pytest.raises(OptionError):
            kind(**{option: [object()]})


def test_a_class_whose_types_cannot_be_evaluated_is_made_without_a_check():
    from typing import ClassVar as Kept

    @dataclasses.dataclass(frozen=True)
    class Vowels(Bleu):
        name: Kept[str] = "vowels"

    assert Vowels().order == 4


def test_options_equal_in_python_have_one_notation():
    assert str(Chrf(beta=3)) == str(make_metric("chrf[beta=3]")) == "chrf[beta=3.0]"
    assert Chrf(beta=3).signature() == make_metric("chrf[beta=3]").signature()
    assert str(Bleu(order=np.int64(2), smoothing=np.str_("floor"))) == "bleu[order=2,smoothing=floor]"
    assert type(dataclasses.replace(Bleu(), order=np.int32(3)).order) is int


@pytest.mark.parametrize(
    "text",
    [
        *(
            name
            for name in OF_TEXTS
            if len(make(name).columns) == 1 and make(name).fit_scope == "none" and name != "lrscore"
        ),
        *("meteor", "meteor[parameters=li,modules=exact,function_words=none]", "meteor[parameters=li]"),
        *("meteor[tokenizer=auto,modules=exact]", "combine[meteor + ter]", "lrscore[lexical=meteor,alignment=meteor]"),
        *("kendall[alignment=meteor]", "pef[alignment=meteor,tokenizer=meteor]", "meteor_parts.score"),
        *("ngrams[tokenizer=auto].1.f1", "consensus[metric=meteor].mean", "consensus[metric=bleu,trust=source].near"),
    ],
)
def test_a_resolved_signature_determines_the_score(text):
    translations = ["die Katzen saßen auf den Matten", "ein Mann sah die drei kleinen Häuser, 他说的话", "das Haus"]
    references = ["die Katze sitzt auf der Matte", "der Mann sieht drei kleine Häuser 他说话", "das kleine Haus"]
    scores = {}
    for lp in (None, "en-de", "de-en", "en-fi", "en-fr", "en-cs", "en-th", "en-zh_TW", "en-nb", "en-xyz"):
        score = make_metric(text)(translations, references, translations, lp=lp)
        assert scores.setdefault(score.signature, score.corpus) == score.corpus
        assert "=auto" not in score.signature.replace("wordnet=auto", "")


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_default_can_be_written(name):
    for option, _, default in option_table(extractor_class(name)):
        assert make(f"{name}[{option}={default}]") == make(name)
    for option, field in options_of(extractor_class(name)).items():
        if field.default is None and field.type == "str | None":
            assert extractor_class(name)(**{option: "none"}) == make(name)


def test_a_file_called_none_is_written_with_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none").write_text("")
    assert str(make("meteor[paraphrases=./none]")) == "meteor[paraphrases=./none]"
    assert "wordnet" not in make("meteor[wordnet=none,language=en]").signature()


@pytest.mark.parametrize(
    "text",
    [
        "ngrams[words=content,function_words=FILE]",
        "meteor[modules=exact,function_words=FILE]",
        "paraphrase[function_words=FILE]",
        "terp[stop_words=FILE]",
        "kendall[alignment=bilingual,aligner=FILE]",
        "lrscore[aligner=FILE]",
    ],
)
def test_a_signature_has_the_digest_of_a_file_in_place_of_its_name(text, tmp_path):
    signatures = []
    for name, content in (("one", "the of"), ("other", "the of"), ("third", "the a")):
        (tmp_path / name).write_text(content)
        signatures.append(make(text.replace("FILE", str(tmp_path / name))).signature())
    assert signatures[0] == signatures[1] != signatures[2]
