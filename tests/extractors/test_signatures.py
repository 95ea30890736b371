"""Signatures name every resource that changes a score."""

from __future__ import annotations

import pytest

from ranker import notation
from ranker.extractors.lexical import wordnet
from ranker.extractors.registry import BUILT_IN, extractor_class, make_metric
from tests.extractors.small_wordnet import write_wordnet


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
