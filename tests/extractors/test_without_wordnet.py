"""Where no WordNet is installed, METEOR and TERp leave synonyms out and say so once."""

from __future__ import annotations

import logging

import pytest

from ranker.errors import MissingError
from ranker.extractors.lexical import wordnet
from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of

DATA = dataset_of([(["a big automobile walks"], "a big car walked")])


@pytest.fixture(autouse=True)
def _nothing_installed(monkeypatch):
    monkeypatch.setattr(wordnet, "installed_places", lambda: iter(()))
    monkeypatch.setattr(wordnet, "_NOTED", set())


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


def test_parity_names_it():
    note = make_metric("meteor[parity=meteor-1.5]").note(DATA)
    assert "WordNet 3.0 (wordnet=DIRECTORY; none is installed, so synonyms do not match)" in note
