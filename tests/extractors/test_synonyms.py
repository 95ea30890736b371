"""Metrics with synonyms: their signatures name the WordNet, and without one they say once what they leave out."""

from __future__ import annotations

import logging

import pytest

from ranker import notation
from ranker.errors import MissingError
from ranker.extractors.registry import BUILT_IN, extractor_class, make_metric
from ranker.text.lexical import wordnet
from tests.datasets import dataset_of
from tests.extractors.small_wordnet import write_wordnet

DATA = dataset_of([(["a big automobile walks"], "a big car walked")])


@pytest.fixture
def _nothing_installed(monkeypatch):
    monkeypatch.setattr(wordnet, "installed_places", lambda: iter(()))
    monkeypatch.setattr(wordnet, "_NOTED", set())


@pytest.mark.usefixtures("_nothing_installed")
@pytest.mark.parametrize(
    ("text", "without", "elsewhere"),
    [
        ("meteor", "meteor[modules=exact+stem]", "meteor[wordnet=/nowhere]"),
        ("terp[costs=terpa]", "terp[costs=terpa,wordnet=none]", "terp[costs=terpa,wordnet=/nowhere]"),
    ],
)
def test_synonyms_are_left_out_and_it_is_said_once(text, without, elsewhere, caplog):
    with caplog.at_level(logging.WARNING):
        scores = [make_metric(name).transform(DATA)[0, 0] for name in (text, text, without)]
        make_metric("terp").transform(DATA)
    assert scores[0] == scores[1] == scores[2] > 0
    assert [record.getMessage() for record in caplog.records] == [
        f"ranker: note: {text} does not use synonyms: no WordNet found for synonyms: install the Debian package "
        "wordnet-base or NLTK's corpus 'wordnet', or name the directory of its files as wordnet=DIRECTORY"
    ]
    assert make_metric(text).signature() == make_metric(without).signature()
    with pytest.raises(MissingError, match="no such file"):
        make_metric(elsewhere).transform(DATA)


@pytest.mark.usefixtures("_nothing_installed")
def test_parity_names_it():
    note = make_metric("meteor[parity=meteor-1.5]").note(DATA)
    assert "WordNet 3.0 (wordnet=DIRECTORY; none is installed, so synonyms do not match)" in note


def aligned_by_meteor() -> list[str]:
    """Return every registered metric that can take METEOR's alignment, doing so."""
    result = []
    for name in sorted(BUILT_IN):
        takes = {option: values for option, values, _ in notation.option_table(extractor_class(name))}
        if "meteor" in takes.get("alignment", ""):
            result.append(f"{name}[alignment=meteor]")
    return result


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs the small WordNet, or removes it."""
    directory = write_wordnet(tmp_path / "wordnet")

    def install(there: bool) -> str:
        monkeypatch.setattr(wordnet, "installed_places", lambda: iter([directory] if there else []))
        return wordnet.find_wordnet(str(directory)).digest

    return install


@pytest.mark.parametrize(
    "text", [*aligned_by_meteor(), "lrscore[lexical=meteor,alignment=isozaki]", "combine[pef[alignment=meteor] - ter]"]
)
def test_the_signature_names_the_wordnet_of_the_alignment(installed, text):
    digest = installed(True)
    assert digest in make_metric(text).signature()
    installed(False)
    without = make_metric(text).signature()
    assert digest not in without
    assert "wordnet=none" in without or "modules=exact+stem," in without


def test_a_metric_without_synonyms_names_no_wordnet(installed):
    installed(True)
    for text in ("pef", "kendall[alignment=ribes]", "lrscore", "lrscore[alignment=isozaki]"):
        assert "wordnet" not in make_metric(text).signature()
