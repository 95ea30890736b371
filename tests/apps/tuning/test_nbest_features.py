from __future__ import annotations

import numpy as np
import pytest

from ranker.apps.tuning.hypotheses import read_references
from ranker.apps.tuning.nbest_features import FeatureOptions, from_dataset, write_selection
from ranker.corpora import catalogue
from ranker.corpora.formats.nbest_reading import read_nbest
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, OptionError
from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of

TEXTS = {
    "A": ["the cat sat", "it rains", "dogs"],
    "B b": ["the cat sat", "rain ||| falls", "dogs ran"],
    "C=": ["a cat"],
}


def corpus(references=(("the cat sat", "one cat"), ("it rains",), ("dogs run",))):
    records = [
        Record(
            f"source {index}",
            list(references[index]),
            [Candidate(system, texts[index]) for system, texts in TEXTS.items() if index < len(texts)],
        )
        for index in range(3)
    ]
    records.insert(1, Record("nobody", ["none"], []))
    return assemble(records, "small")


def test_outputs_become_hypotheses_with_their_features():
    selection = from_dataset(corpus(), FeatureOptions("words,systems,chrf,bleu[order=1],bleu[order=2]"))
    nbest = selection.nbest
    assert nbest.sentence.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert nbest.text_of([4]) == ["rain | | | falls"]
    assert nbest.columns == ("words", "system_A", "system_B_b", "system_C_", "agree_chrf", "agree_bleu", "agree_bleu2")
    assert nbest.features[:, 0].tolist() == [3, 3, 2, 2, 5, 1, 2]
    assert nbest.features[:3, 1:4].tolist() == np.eye(3).tolist()
    assert selection.source.tolist() == [0, 2, 3]
    assert selection.references.sources["text"].tolist() == ["source 0", "source 1", "source 2"]


def test_agreement_is_the_mean_score_against_every_other_output():
    selection = from_dataset(corpus(), FeatureOptions("chrf"))
    metric = make_metric("chrf")
    texts = selection.nbest.text_of(np.arange(len(selection.nbest)))
    for row, sentence in enumerate(selection.nbest.sentence.tolist()):
        others = [at for at in np.flatnonzero(selection.nbest.sentence == sentence).tolist() if at != row]
        pairs = dataset_of(([texts[at]], texts[row]) for at in others)
        assert selection.nbest.features[row, 0] == pytest.approx(metric.transform(pairs).mean(), abs=1e-12)


def test_the_language_model_never_learns_from_the_lists_own_references():
    dataset = catalogue.load("sample")
    own = dataset.references["text"].tolist()
    other = [f"the {word} city library of number {index}" for index, word in enumerate(["old", "new", "wide"] * 60)]
    plain = from_dataset(dataset, FeatureOptions("lm", other))
    mixed = from_dataset(dataset, FeatureOptions("lm", [*own[:100], *other, *(f" {text} " for text in own[100:])]))
    assert mixed.left_out == len(own)
    assert mixed.nbest.features.tolist() == plain.nbest.features.tolist()
    assert plain.nbest.columns == ("lm", "unknown")
    assert (plain.nbest.features[:, 0] < 0).all()
    with pytest.raises(DataError, match=rf"found 0 \(not counting {len(own)} that"):
        from_dataset(dataset, FeatureOptions("lm", own))
    with pytest.raises(OptionError, match="--lm-text FILE or --lm-data CORPUS"):
        from_dataset(dataset, FeatureOptions("lm"))


def test_list_references_and_sources_are_written_beside_each_other(tmp_path):
    selection = from_dataset(corpus())
    written = write_selection(selection, tmp_path / "dev.nbest.gz")
    assert [path.name for path in written] == ["dev.nbest.gz", "dev.ref0", "dev.ref1", "dev.src"]
    hidden = write_selection(selection, tmp_path / ".nbest.gz")
    assert [path.name for path in hidden] == [".nbest.gz", ".ref0", ".ref1", ".src"]
    again = read_nbest(written[0])
    assert again.layout == selection.nbest.layout
    assert again.features.tolist() == selection.nbest.features.tolist()
    assert written[2].read_text() == "one cat\n\n\n"
    references = read_references(written[1:3], written[3])
    for table in ("sources", "references"):
        expected = getattr(selection.references, table)[["text"]].to_numpy().tolist()
        assert getattr(references, table)[["text"]].to_numpy().tolist() == expected


def test_corpora_without_outputs_or_references_are_refused():
    with pytest.raises(DataError, match="contains no system outputs"):
        from_dataset(corpus().select_candidates(np.zeros(7, dtype=bool)))
    unreferenced = from_dataset(corpus(((), (), ())).select_sources([True, False, True, True]), FeatureOptions("words"))
    with pytest.raises(DataError, match="contains no references, which tuning requires"):
        write_selection(unreferenced, "never.nbest")


def test_references_of_an_earlier_list_are_not_left_beside_a_new_one(tmp_path):
    write_selection(from_dataset(corpus()), tmp_path / "dev.nbest")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(DataError, match=r"dev\.ref1 would be read as references of this list: delete it"):
        write_selection(from_dataset(corpus((("a",), ("b",), ("c",)))), tmp_path / "dev.nbest")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
