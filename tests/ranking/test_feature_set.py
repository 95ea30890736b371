"""Feature sets: what a list of extractors is called, the matrix that it makes, and what it refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker import Ranker, load_dataset
from ranker.corpora.dataset import Dataset
from ranker.corpora.own_references import references_among_candidates
from ranker.errors import DataError, ModelError
from ranker.extractors.base import SentenceMean
from ranker.extractors.ngram.bleu import Bleu
from ranker.extractors.registry import BUILT_IN, make, make_features
from ranker.ranking.feature_set import FeatureSet, _change, feature_set_files
from ranker.share import directory
from ranker.storage.model_files import StoredModel, read_model, write_model
from ranker.text.function_words import function_words
from tests.datasets import dataset_of
from tests.effort import thorough


@pytest.fixture(scope="module")
def sample():
    return load_dataset("sample").select_sources(np.arange(120) < 110)


@pytest.fixture(scope="module")
def few():
    return dataset_of([(["the cat sat on the mat"], ["a cat sat on the mat", "cats", ""]), (["it rains"], "it rains")])


def test_every_file_declares_a_feature_set():
    result = feature_set_files()
    assert set(result) == {path.stem for path in directory("features").glob("*.toml")}
    for name, item in result.items():
        assert item.description
        assert tuple(map(str, FeatureSet.parse(name).extractors)) == tuple(
            map(str, map(make_features, item.extractors))
        )


def test_names_and_extractors_are_put_in_one_list():
    features = FeatureSet.parse("ter,bleu1-4,chrf[beta=1]")
    orders = ",".join(f"bleu[{order}smoothing=add-one]" for order in ("order=1,", "order=2,", "order=3,", ""))
    assert str(features) == f"ter,{orders},chrf[beta=1.0]"
    assert FeatureSet.parse(str(features)) == features
    assert features.columns == tuple(map(str, features.extractors))
    assert len(FeatureSet.parse("ds").columns) == 15


def test_the_matrix_has_the_columns_of_each_extractor_side_by_side(few):
    features = FeatureSet.parse("ter,length,bleu")
    matrix = features.transform(few)
    assert matrix.shape == (len(few), len(features.columns))
    expected = [extractor.transform(few) for extractor in features.extractors]
    np.testing.assert_array_equal(matrix, np.concatenate(expected, axis=1))


def test_a_column_of_an_extractor_is_a_feature(few):
    features = FeatureSet.parse("length.longer,ter,length[unit=character].shorter")
    assert features.columns == ("length.longer", "ter", "length[unit=character].shorter")
    np.testing.assert_array_equal(features.transform(few)[:, 0], FeatureSet.parse("length").transform(few)[:, 1])
    assert str(FeatureSet.parse(str(features))) == str(features)


def test_a_signature_is_the_name_of_a_declared_set_with_a_digest():
    whole = FeatureSet.parse("bleu,ter").signature()
    assert whole == f"{make('bleu').signature()},{make('ter').signature()}"
    name, digest = FeatureSet.parse("bleu1-4").signature().split("#")
    assert (name, len(digest)) == ("bleu1-4", 8)
    # however it is written, a set is the same set
    assert FeatureSet.parse(str(FeatureSet.parse("bleu1-4"))).signature() == f"bleu1-4#{digest}"
    first, second, *rest = map(str, FeatureSet.parse("bleu1-4").extractors)
    assert "#" not in FeatureSet.parse(",".join([second, first, *rest])).signature()


def test_a_source_without_reference_is_refused_where_a_feature_needs_one(few):
    dataset = dataset_of([(["r"], "a"), ([], "b"), ([], "c"), ([], [])], lp="de-en")
    with pytest.raises(DataError) as refused:
        FeatureSet.parse("ter,bleu").transform(dataset)
    message = (
        "test[de-en:2] has no reference, which column 'ter' requires (missing in 2 of 4 sources): add references, or"
    )
    assert str(refused.value) == f"{message}, to rank translations, choose features that need none, such as consensus"
    # a source that has nothing to be scored needs nothing
    FeatureSet.parse("ter").check_inputs(dataset.select_sources([True, False, False, True]))


def test_a_feature_that_is_no_finite_number_is_refused(few, monkeypatch):
    values = np.array([[0.5], [np.nan], [1.0], [1.0]])
    monkeypatch.setattr(Bleu, "transform", lambda self, dataset: values)
    with pytest.raises(DataError, match=r"column 'bleu' is nan for system 's1' of test\[1\]"):
        FeatureSet.parse("ter,bleu").transform(dataclasses.replace(few))


def test_features_that_learn_from_what_is_ranked_are_0_where_that_is_too_little(sample, few):
    features = FeatureSet.parse("bleu,perp,ter,perp[order=2]")
    learning = features.columns_of([False, True, False, True])
    assert learning.tolist() == [False, True, False, True]
    assert features.missing_requirement(sample) is None
    assert (
        features.missing_requirement(few) == "2 reference sentences are too few for a language model, which needs 100"
    )
    assert (features.transform(few)[:, learning] == 0).all()
    np.testing.assert_array_equal(features.transform(few)[:, ~learning], FeatureSet.parse("bleu,ter").transform(few))
    assert (features.transform(sample)[:, learning] > 0).all()


@thorough
def test_what_was_learnt_is_kept_and_restored(sample, few):
    features = FeatureSet.parse("bleu,paraphrase")
    fitted, matrix = features.fit_transform(sample)
    assert matrix.shape == (len(sample), len(features.columns))
    states = fitted.states()
    assert list(states) == ["extractor1"], "bleu learns nothing"
    again = features.with_states(states)
    np.testing.assert_array_equal(again.transform(few), fitted.transform(few))
    assert str(again) == str(features) == str(fitted)


def test_references_are_scored_as_candidates(few):
    features = FeatureSet.parse("bleu,ter")
    dataset = dataset_of([(["a b c", "a b d"], ["a b"])])
    others = dataset_of([(["a b d"], "a b c"), (["a b c"], "a b d")])
    np.testing.assert_array_equal(features.transform_references(dataset, exclude_self=True), features.transform(others))
    together, rows = references_among_candidates(dataset)
    np.testing.assert_array_equal(features.transform(together)[rows], features.transform(others))
    unmarked = dataclasses.replace(together, candidates=together.candidates.assign(is_reference=False))
    np.testing.assert_array_equal(features.transform_references(dataset), features.transform(unmarked)[rows])


@thorough
def test_equal_tables_give_equal_scores_however_they_were_selected() -> None:
    """What learns from whatever is ranked learns from the data set that it is given, and from no other."""
    whole = load_dataset("sample")
    part = whole.select_sources(np.arange(len(whole.sources)) % 3 == 0).select_candidates(np.arange(280) % 2 == 0)
    tables = (part.sources, part.references, part.candidates, part.ratings, part.preferences)
    alike = Dataset(part.name, *(table.copy() for table in tables))
    assert alike.fingerprint == part.fingerprint
    features = FeatureSet.parse("bleu,nist,perp,perp[leave_out=true,order=2],length,ter")
    assert features.transform(part).tobytes() == features.transform(alike).tobytes()
    ranker = Ranker.load("full-any")
    assert ranker.candidate_scores(part).tobytes() == ranker.candidate_scores(alike).tobytes()


def test_large_data_are_computed_in_parts(sample, monkeypatch):
    features = FeatureSet.parse("bleu,ribes,consensus[trust=source].weighted")
    rows = np.arange(len(sample)) % 5 != 1
    whole, selected = features.transform(sample), features.transform(sample.in_context(rows))
    monkeypatch.setattr("ranker.ranking.feature_set._KEPT_ROWS", 100)
    monkeypatch.setattr("ranker.ranking.feature_set._PART", 37)
    sizes, matrix = [], FeatureSet._matrix
    monkeypatch.setattr(
        FeatureSet, "_matrix", lambda self, part, *rest: sizes.append(len(part)) or matrix(self, part, *rest)
    )
    np.testing.assert_array_equal(features.transform(sample), whole)
    assert max(sizes) < 60
    assert len(sizes) > 10
    np.testing.assert_array_equal(features.transform(sample.in_context(rows)), selected)
    # what learns from all that is ranked cannot be taken apart
    for features in ("consensus.weighted", "nist", "perp", "combine[nist + bleu]"):
        sizes.clear()
        FeatureSet.parse(features).transform(sample)
        assert sizes == [len(sample)]


def plug_in(scale):
    """Return a class of metrics, the number of words times an option that is `scale` by default."""

    class Words(SentenceMean):
        name = "words"

        def sentence_scores(self, dataset):
            return self.scale * dataset.candidates["text"].str.split().str.len().to_numpy(float)

    Words.__annotations__ = {"scale": float, "tokenizer": str, "lowercase": bool}
    Words.scale, Words.tokenizer, Words.lowercase = scale, "none", False
    return dataclasses.dataclass(frozen=True)(Words)


@pytest.mark.parametrize(
    ("features", "says"),
    [
        ("words", r"words: the model was trained with scale=1\.0, now 3\.0: restore"),
        ("combine[words + 2*chrf]", r"scale=1\.0, now 3\.0"),
        ("ngrams[words=function,function_words=list]", "trained with function_words=[0-9a-f]{12}, now [0-9a-f]{12}: "),
    ],
)
def test_a_model_whose_features_have_changed_does_not_score(features, says, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(BUILT_IN, "words", f"{__name__}:Plugged")
    monkeypatch.setitem(globals(), "Plugged", plug_in(1.0))
    (tmp_path / "list").write_text("the\na\n")
    learnt = Ranker(f"chrf,{features}", C=1.0).fit(sample)
    learnt.save("x.model")
    before = Ranker.load("x.model").candidate_scores(sample)
    np.testing.assert_array_equal(before, learnt.candidate_scores(sample))
    monkeypatch.setitem(globals(), "Plugged", plug_in(3.0))
    (tmp_path / "list").write_text("the\nan\n")
    function_words.cache_clear()
    for use in (Ranker.score, Ranker.rank, Ranker.explain):
        with pytest.raises(ModelError, match=says):
            use(Ranker.load("x.model"), sample)
    with pytest.raises(ModelError, match=says):
        Ranker(base="x.model").fit(sample)
    stored = read_model("x.model")
    old = StoredModel({key: value for key, value in stored.model.items() if key != "signatures"}, stored.arrays)
    write_model("x.model", old, "card")
    assert Ranker.load("x.model").digest == learnt.digest
    Ranker.load("x.model").score(sample)


def test_options_of_another_version_are_no_change():
    assert _change("a[x=1,old=2]", "a[x=1,new=3]") is None
    assert _change("a[m=b[x=1,y=2]]", "a[m=b[y=3,x=1]]") == "y=2, now 3"
    assert _change("a[m=b[x=1].f,x=2]#12", "a[m=b[x=1].f,x=2]#34") is None
