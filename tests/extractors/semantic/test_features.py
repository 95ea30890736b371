from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil

import numpy as np
import pytest

from ranker import compare_systems, evaluate, rerank, reward, threads
from ranker.errors import DataError, MissingError, ModelError, OptionError
from ranker.extractors.registry import make_features, make_metric
from ranker.extractors.semantic import features as module
from ranker.extractors.semantic.features import Semantic
from ranker.learning.encoder import embedding as encoders
from ranker.learning.encoder import files as encoder_files
from ranker.learning.encoder.files import SMALL, SMALL_PACKAGE
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import candidate_scores, scorer_of, systems_scorer
from tests.datasets import dataset_of
from tests.effort import thorough

NEEDED = ("torch", "transformers", "safetensors", "tokenizers", SMALL_PACKAGE)
needs_minilm = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED), reason="needs the extra semantic-test"
)
# other people's, when torch and transformers are imported
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


REFERENCES = ["The cat sat on the mat.", "A cat was sitting on the rug."]
CANDIDATES = [
    "The cat sat on the mat.",
    "the CAT sat on the mat.",
    "A kitten was sitting on a carpet.",
    "Interest rates rose again in March.",
    "",
    " \u00a0 ",
    "cat " * 2000,
    "The [SEP] cat [MASK]",
]


@pytest.fixture(scope="module")
def made():
    return dataset_of([(REFERENCES, CANDIDATES), (["It rains."], ["It is raining.", "It rains."])])


def test_texts_that_take_too_long_are_refused_before_they_are_encoded(monkeypatch):
    monkeypatch.setattr(module, "_LONGEST", 10)
    monkeypatch.setattr(module.Semantic, "_vectors", lambda *_: pytest.fail("encoded"))
    data = dataset_of(
        [(["The cat sat on the mat, and the dog sat on it."], ["Or did the cat sit on the dog, my dear?"])]
    )
    with pytest.raises(DataError, match=r"sub-words are too long for semantic \(the first: 'Or did the cat"):
        Semantic().transform(data)


@thorough
def test_columns_of_good_bad_and_odd_candidates(made):
    matrix = Semantic().transform(made)
    assert Semantic().columns == ("semantic.precision", "semantic.recall", "semantic.f", "semantic.cosine")
    assert np.isfinite(matrix).all()
    assert (np.abs(matrix) <= 1 + 1e-6).all()
    np.testing.assert_allclose(matrix[[0, 9]], 1, atol=1e-5)
    # equal up to case, which this encoder does not see: equal to the last bit, and so a tie
    np.testing.assert_array_equal(matrix[0], matrix[1])
    assert (matrix[4:6] == 0).all()
    assert (matrix[0] > matrix[2]).all()
    assert (matrix[2] > matrix[3]).all()
    assert matrix[6, 0] < 0.9
    assert matrix[7, 3] > matrix[3, 3]


def test_of_several_references_each_column_takes_the_best(made):
    alone = [Semantic().transform(dataset_of([([reference], CANDIDATES)])) for reference in REFERENCES]
    np.testing.assert_allclose(Semantic().transform(made)[: len(CANDIDATES)], np.maximum(*alone), atol=1e-5)


@needs_minilm
@pytest.mark.parametrize("options", [{}, {"layer": 6}])
def test_values_equal_bert_score(shared_golden, options, monkeypatch):
    torch = pytest.importorskip("torch")
    bert_score = pytest.importorskip("bert_score", reason="needs the extra semantic-test")
    count = 500 if not options else 60
    rows = [json.loads(line) for line in (shared_golden / "inputs.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["hyp"].strip()][:count]
    pairs = dataset_of((row["refs"][:1], row["hyp"]) for row in rows)
    candidates, references = [row["hyp"] for row in rows], [row["refs"][0] for row in rows]
    # more threads only wait for each other where other tests run beside this one
    monkeypatch.setattr(threads, "_jobs", 1)
    torch.set_num_threads(1)
    scorer = bert_score.BERTScorer(
        model_type=str(encoder_files.find(SMALL).directory),
        num_layers=options.get("layer", 4),
        nthreads=0,
        device="cpu",
    )
    wanted = np.stack([column.numpy() for column in scorer.score(candidates, references)], axis=1)
    columns = Semantic(SMALL, special_tokens="match", **options).transform(pairs)[:, :3]
    assert len(columns) == count
    np.testing.assert_allclose(columns, wanted, atol=1e-5)


@needs_minilm
def test_the_cosine_equals_sentence_transformers(made):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(encoder_files.find(SMALL).directory), device="cpu", local_files_only=True)
    texts = [REFERENCES[0], *CANDIDATES[:4]]
    vectors = model.encode(texts, normalize_embeddings=True)
    columns = Semantic(SMALL).transform(dataset_of([(REFERENCES[:1], CANDIDATES[:4])]))[:, 3]
    np.testing.assert_allclose(columns, vectors[1:] @ vectors[0], atol=1e-5)


def test_a_second_run_takes_everything_from_the_cache(made, monkeypatch):
    first = Semantic().transform(made)
    monkeypatch.setattr(encoders.Encoder, "embed", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(Semantic().transform(made), first)
    np.testing.assert_array_equal(
        Semantic().transform(dataset_of([(REFERENCES, CANDIDATES[::-1])])), first[: len(CANDIDATES)][::-1]
    )


def test_small_blocks_and_another_order_change_nothing(made, monkeypatch, tmp_path):
    first = Semantic().transform(made)
    monkeypatch.setenv("RANKER_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "_ROUND", 40)
    seen = []
    monkeypatch.setattr(module.progress, "report", lambda what, done, total: seen.append((done, total)))
    turned = dataset_of([(["It rains."], ["It rains.", "It is raining."]), (REFERENCES, CANDIDATES)])
    np.testing.assert_array_equal(Semantic().transform(turned), first[[9, 8, *range(len(CANDIDATES))]])
    assert seen == sorted(seen)
    assert seen[-1] == (18, 18)
    assert len(seen) > 4


def test_the_content_of_an_encoder_is_part_of_the_signature_wherever_it_is(tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(encoder_files.find("encoder-en").directory, folder)
    names = [f"semantic[encoder={folder}].f", f"consensus[metric=semantic[encoder={folder}]]"]
    before = [make_features(name).signature() for name in names]
    assert all("mine" not in signature for signature in before)
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(settings | {"title": "another"}), encoding="utf-8")
    assert {*before}.isdisjoint(make_features(name).signature() for name in names)


def test_the_source_can_stand_in_for_references(made):
    extractor = Semantic(against="source")
    assert not extractor.needs.references
    sources = dataset_of([([], CANDIDATES)], sources=REFERENCES)
    columns = FeatureSet((extractor,)).transform(sources)
    np.testing.assert_allclose(columns, Semantic().transform(dataset_of([(REFERENCES[:1], CANDIDATES)])), atol=1e-5)
    nothing = made.select_candidates(np.zeros(len(made), dtype=bool))
    assert Semantic(against="source").transform(nothing).shape == (0, 4)


def test_a_source_without_text_is_not_compared_with():
    """Scores of 0 for all candidates said nothing, and nothing said so."""
    extractor = "semantic[against=source]"
    texts = dataset_of([(REFERENCES[:1], CANDIDATES[:4]), (REFERENCES[:1], CANDIDATES[:4])], sources=["", "a cat"])
    wanted = (
        r"has no source text, which column 'semantic\[against=source\]\.\w+' requires \(missing in 1 of 2 sources\)"
    )
    with pytest.raises(DataError, match=wanted):
        FeatureSet.parse(extractor).transform(texts)
    with pytest.raises(DataError, match=wanted):
        evaluate(texts, f"{extractor}.f", human=np.arange(8.0))
    with pytest.raises(DataError, match="sources are missing"):
        make_metric(f"{extractor}.f")(["a cat"])
    with pytest.raises(DataError, match=r"no sources: .* requires a list of them in 'sources'"):
        reward(f"{extractor}.f")(["a cat"])


def test_a_source_without_text_is_ranked_by_what_is_left():
    training = dataset_of([([reference], CANDIDATES[:4]) for reference in REFERENCES], kind="fluency")
    ranker = Ranker("semantic[against=source],chrf").fit(training)
    texts = dataset_of([(REFERENCES[:1], CANDIDATES[:4]), (REFERENCES[:1], CANDIDATES[:4])], sources=["", "a cat"])
    parts = ranker.contributions(texts)
    assert not parts[:4, :4].any()
    assert parts[4:, :4].any()
    assert "1 of 2 sources without a source text; ranked without semantic" in str(ranker.note(texts))


def test_a_model_without_weights_for_a_source_without_text_names_what_is_missing():
    """So are models of version 0.1.0."""
    training = dataset_of([([reference], CANDIDATES[:4]) for reference in REFERENCES], kind="fluency")
    ranker = Ranker("semantic[against=source],chrf").fit(training)
    sets = ranker.weight_sets
    kept = sets.used[:, 0]
    ranker.model = ranker.model.part(
        weight_sets=dataclasses.replace(sets, used=sets.used[kept], weights=sets.weights[kept])
    )
    texts = dataset_of([(REFERENCES[:1], CANDIDATES[:4])] * 2, sources=["", "a cat"])
    assert ranker.note(texts) == "1 of 2 sources without a source text; their candidates tie"
    assert not ranker.contributions(texts)[:4].any()
    with pytest.raises(DataError, match=r"has no source text, which column 'semantic\[against=source\]\.\w+' requires"):
        ranker.candidate_scores(texts.select_sources([True, False]))


def test_hypotheses_against_each_other_are_compared_with_their_sources_too(caplog):
    training = dataset_of([([reference], CANDIDATES[:4]) for reference in REFERENCES], kind="fluency")
    model = Ranker("semantic[against=source],chrf").fit(training)
    texts = dataset_of([([], CANDIDATES[:4]), ([], CANDIDATES[1:4])], sources=["a cat", "the mat"])
    scores = rerank(texts, mbr=model)["score"]
    assert not caplog.messages
    bare = dataset_of([([], CANDIDATES[:4]), ([], CANDIDATES[1:4])], sources=["", "the mat"])
    assert (rerank(bare, mbr=model)["score"] != scores).tolist() == [True, False]
    assert caplog.messages == ["ranker: note: test: 1 of 2 sources without a source text; ranked without semantic"]


def test_systems_are_scored_by_a_comparison_with_the_source_that_was_learnt():
    training = dataset_of([([], CANDIDATES[:4])] * 2, sources=REFERENCES, kind="fluency")
    model = Ranker("consensus,semantic[against=source].f").fit(training)
    compared = compare_systems(training, model, resamples=2)
    assert {each.system for each in compared.comparisons[0].systems} == {"s0", "s1", "s2", "s3"}
    scorer = systems_scorer(scorer_of(model))
    assert str(scorer.note(training)).startswith("systems are scored without consensus")
    rewards = reward(model, checks=False)(CANDIDATES[:4], sources=REFERENCES[:1] * 4)
    assert rewards == pytest.approx(candidate_scores(scorer, training)[:4])


@pytest.mark.parametrize("options", ["", "[special_tokens=match]", "[against=source]"])
def test_a_trained_ranker_is_saved_and_loaded_and_explains(made, options, tmp_path, monkeypatch):
    training = dataset_of([([reference], CANDIDATES[:4]) for reference in REFERENCES], kind="fluency")
    ranker = Ranker(f"semantic{options}").fit(training)
    assert "#" in ranker.feature_set.extractors[0].signature()
    ranker.save(tmp_path / "a.model")
    again = Ranker.load(tmp_path / "a.model")
    np.testing.assert_array_equal(again.candidate_scores(made), ranker.candidate_scores(made))
    assert again.signature() == ranker.signature()
    evidence = again.feature_set.extractors[0].evidence(made, 2)
    names = ["source"] if "source" in options else ["reference 1", "reference 2"]
    assert list(evidence) == [title for name in names for title in (name, f"{name}, its own words")]
    if not options:
        assert evidence["reference 1"][1].startswith("kitten~cat 0.")
        assert [item.split("~")[0] for item in evidence["reference 2, its own words"]] == [
            "A",
            "cat",
            "was",
            "sitting",
            "on",
            "the",
            "rug",
            ".",
        ]
    Ranker("semantic.f").fit(training).save(tmp_path / "column.model")
    monkeypatch.setattr(encoder_files.EncoderFiles, "digest", "0" * 64)
    with pytest.raises(ModelError, match="trained with a different encoder"):
        Ranker.load(tmp_path / "column.model").score(made)
    with pytest.raises(
        ModelError, match=r"trained with a different encoder .* than the one installed as .encoder-en' \(00000000"
    ):
        again.candidate_scores(made)


def test_a_layer_that_no_encoder_has_is_refused():
    with pytest.raises(OptionError, match=r"semantic\[layer=0\]: expected a whole number from 1"):
        Semantic(layer=0)


def test_without_the_packages_everything_but_transform_works(made, monkeypatch):
    monkeypatch.setattr(encoder_files.importlib.util, "find_spec", lambda name: None)
    assert FeatureSet.parse("semantic[layer=2],bleu").columns[0] == "semantic[layer=2].precision"
    with pytest.raises(MissingError, match=r"pip install onnxruntime tokenizers\Z"):
        FeatureSet.parse("bleu,semantic").transform(made)
