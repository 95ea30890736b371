"""``perp[model=FILE]``: the perplexity under a language model that the user brings."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from ranker.errors import DataError
from ranker.extractors import registry
from ranker.extractors.fluency.features import Perplexity
from ranker.learning.lm import kenlm_files
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.text.tokens import tokenise
from tests.datasets import dataset_of
from tests.learning.lm.small import CLOSED, OPEN, write_arpa_file, write_binary_file, write_text_model

kenlm = pytest.importorskip("kenlm", reason="KenLM is not installed")

CANDIDATES = ["The cat sat .", "Mat the on a cat!", "", "The dog saw a man.", "A zebra, the cat."]
PLAIN_SIGNATURE = "perp[order=3,leave_out=false,oov=false,match=false,unit=words,tokenizer=13a,lowercase=true]"


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    return write_arpa_file(tmp_path / "small.arpa")


@pytest.fixture
def unreferenced():
    return dataset_of([([], CANDIDATES), ([], CANDIDATES[:2])], kind="fluency")


@pytest.mark.parametrize("form", ["arpa", "klm"])
def test_equals_kenlm_without_a_reference(arpa, unreferenced, form):
    path = arpa if form == "arpa" else write_binary_file(arpa.with_suffix(".klm"))
    perp = registry.make(f"perp[model={path},oov=true,match=true]")
    assert perp.fit_scope == "none"
    assert not perp.needs.references
    assert FeatureSet((perp,)).missing_requirement(unreferenced) is None
    columns = FeatureSet((perp,)).transform(unreferenced)
    reader = kenlm.Model(str(path))
    for text, row in zip([*CANDIDATES, *CANDIDATES[:2]], columns, strict=True):
        words = tokenise([text], lowercase=True).words(0)
        full = list(reader.full_scores(" ".join(words)))
        expected = -np.log(10) * reader.score(" ".join(words)) / (len(words) + 1)
        unknown = sum(item for _, _, item in full) / max(len(words), 1)
        np.testing.assert_allclose(row, [expected, unknown, np.mean([length for _, length, _ in full])], atol=1e-6)
    np.testing.assert_array_equal(perp.transform(unreferenced), columns)
    np.testing.assert_array_equal(Perplexity(model=str(path)).fit(unreferenced).transform(unreferenced), columns[:, :1])


def test_signature_has_the_files_digest_and_changes_nothing_without_one(arpa):
    assert Perplexity().signature() == PLAIN_SIGNATURE
    assert str(Perplexity()) == "perp"
    before = Perplexity(model=str(arpa)).signature()
    assert before == f"perp[oov=false,match=false,unit=words,tokenizer=13a,lowercase=true,model={digest(arpa)}]"
    write_arpa_file(arpa, order=2)
    assert Perplexity(model=str(arpa)).signature() != before


def digest(path: Path) -> str:
    return kenlm_files.digest(path)[:12]


def test_options_that_do_not_go_together(arpa, unreferenced):
    with pytest.raises(DataError, match=r"small\.arpa: is a model of order 3, but perp\[order=4\] requests another"):
        FeatureSet((Perplexity(order=4, model=str(arpa)),)).transform(unreferenced)
    write_arpa_file(arpa, order=4)
    assert Perplexity(order=4, model=str(arpa)).transform(unreferenced).shape == (7, 1)


def test_notes_tell_of_another_vocabulary_and_of_other_words(arpa, unreferenced):
    perp = Perplexity(model=str(arpa))
    assert perp.note(unreferenced) is None
    assert perp.note(dataset_of([([], ["", ""])])) is None
    assert Perplexity().note(unreferenced) is None
    russian = dataset_of([([], ["кошка сидит", "собака"])])
    assert perp.note(russian) == (
        f"{arpa}: all of the candidates' words are out of vocabulary for this language model: expected a "
        "model of their language, trained with the same tokenizer and lowercase as perp"
    )
    mixed = dataset_of([([], ["кошка сидит на mat", "the собака"])])
    assert "67% of the candidates' words are out of vocabulary" in perp.note(mixed)
    assert FeatureSet((perp,)).transform(russian).shape == (2, 1)
    assert dataclasses.replace(perp, lowercase=False).note(unreferenced) == (
        f"{arpa}: was trained with tokenizer=13a,lowercase=true, but perp uses tokenizer=13a,lowercase=false: "
        "use the options of the model"
    )
    assert dataclasses.replace(perp, tokenizer="auto").note(unreferenced) is None
    assert "perp uses tokenizer=none" in dataclasses.replace(perp, tokenizer="none").note(unreferenced)
    # binary files do not say
    binary = write_binary_file(arpa.with_suffix(".klm"))
    assert Perplexity(model=str(binary), tokenizer="none").note(unreferenced) is None


def test_a_ranker_keeps_the_path(arpa, unreferenced, tmp_path):
    ranker = Ranker(f"perp[model={arpa}],perp[model={arpa},lowercase=false]").fit(unreferenced)
    ranker.save(tmp_path / "lm.model")
    loaded = Ranker.load(tmp_path / "lm.model")
    assert loaded.signature() == ranker.signature()
    assert digest(arpa) in loaded.signature()
    np.testing.assert_array_equal(loaded.candidate_scores(unreferenced), ranker.candidate_scores(unreferenced))
    arpa.unlink()
    with pytest.raises(DataError, match=r"small\.arpa: no such file, expected a language model"):
        Ranker.load(tmp_path / "lm.model").candidate_scores(unreferenced)


def test_references_are_scored_as_candidates_are(arpa):
    perp = Perplexity(model=str(arpa))
    dataset = dataset_of([(["The cat sat .", "A dog ran ."], ["x"])])
    others = dataset_of([(["A dog ran ."], ["The cat sat ."]), (["The cat sat ."], ["A dog ran ."])])
    result = FeatureSet((perp,)).transform_references(dataset, exclude_self=True)
    np.testing.assert_array_equal(result, perp.transform(others))


KNOWN_TEXTS = ["the cat", "the lynx sat down", "down down down sat", "lynx lynx", "the cat lynx"]
BY_HAND = [
    # log10 probabilities of "the lynx sat down" are those of the, sat after an unknown word, down, and the end
    (-0.2 - 0.4 - 0.3, 3),
    (-0.2 - 0.9 - (0.1 + 0.9) - (0.1 + 0.7), 4),
    (-0.3 - 0.9 - 2 * (0.1 + 0.9) - (0.1 + 0.9) - (0.1 + 0.7), 5),
    (-0.7, 1),
    (-0.2 - 0.4 - 0.7, 3),
]


@pytest.mark.parametrize("form", ["arpa", "gz", "zero"])
def test_words_without_a_probability_are_left_out_counted_and_named(tmp_path, form):
    path = write_text_model(tmp_path / f"closed.{form}", CLOSED, form)
    dataset = dataset_of([([], KNOWN_TEXTS)])
    perp = Perplexity(model=str(path), oov=True)
    expected = [-np.log(10) * log10 / counted for log10, counted in BY_HAND]
    np.testing.assert_allclose(perp.transform(dataset)[:, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(perp.transform(dataset)[:, 1], [0, 1 / 4, 0, 1, 1 / 3])
    assert perp.note(dataset) == (
        f"{path}: has no probability for unknown words (<unk>): 4 of the candidates' 15 words (26.7%) are out of "
        "vocabulary and left out, as SRILM does"
    )
    assert perp.note(dataset_of([([], ["the cat"])])) is None
    note = perp.note(dataset_of([([], ["lynx lynx"])]))
    assert note.count(";") == 1
    assert "expected a model of their language" in note
    assert perp.signature().endswith(f",model={digest(path)},unknown=left-out]")


def test_a_model_of_unknown_words_scores_them(tmp_path):
    perp = Perplexity(model=str(write_text_model(tmp_path / "open.arpa", OPEN)))
    dataset = dataset_of([([], KNOWN_TEXTS)])
    fluent = -np.log(10) * (-0.2 - (0.2 + 1.5) - 0.9 - 1.0 - 0.8) / 5
    np.testing.assert_allclose(perp.transform(dataset)[1, 0], fluent, rtol=1e-6)
    assert perp.note(dataset) is None
    assert "unknown" not in perp.signature()
