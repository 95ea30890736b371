from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from ranker.corpora import catalogue
from ranker.extractors import registry
from ranker.extractors.base import Extractor
from ranker.extractors.feature_sets import FeatureSet, declarations

ROOT = Path(__file__).resolve().parents[1]
in_checkout = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="documents are not part of the wheel")


@in_checkout
def test_the_reference_is_up_to_date():
    spec = importlib.util.spec_from_file_location("build", ROOT / "docs" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    written = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert written == build.reference(), "run: python docs/build.py"


@pytest.mark.parametrize("name", registry.names())
def test_everything_registered_loads_and_is_documented(name):
    made = registry.make(name)
    assert isinstance(made, Extractor)
    assert made.name == name
    assert str(made) == name
    text = type(made).__doc__
    assert re.search(r"[A-Z]\w+.*\(?(19|20)\d\d", text), f"{name} cites nothing"
    assert "Parameters" in text


@pytest.mark.parametrize("name", declarations())
def test_every_feature_set_loads(name):
    assert FeatureSet.parse(name).columns
    assert name not in registry.names()


@pytest.mark.parametrize("name", catalogue.cards())
def test_every_card_says_what_is_needed(name):
    card = catalogue.card(name)
    assert card.title
    assert card.description.strip()
    assert card.licence
    assert card.files
    assert card.bundled or (card.obtain and card.homepage.startswith("http"))


def test_the_sample_card_says_first_that_it_is_synthetic():
    first_line = catalogue.card("sample").description.strip().splitlines()[0]
    assert "Synthetic" in first_line
    assert "proves nothing about quality" in first_line
