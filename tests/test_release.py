"""What a release says of itself: version, licences, citation, model cards."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ranker import share
from ranker.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
in_checkout = pytest.mark.skipif(not (ROOT / "CITATION.cff").is_file(), reason="only in a checkout")
HEAD = re.compile(r"---\n(.*?)\n---\n\n# ", flags=re.DOTALL)
KEYS = {"language", "license", "library_name", "tags"}
SECTIONS = {"Intended use", "Data", "Biases", "Limits"}


def lacking(card: Path) -> set[str]:
    """Return the keys of the head and the sections that a card lacks."""
    text = card.read_text(encoding="utf-8")
    head = HEAD.match(text)
    keys = set(re.findall(r"^(\w+): *\S", head[1], flags=re.MULTILINE)) if head else set()
    return (KEYS - keys) | (SECTIONS - set(re.findall(r"^## (.*)$", text, flags=re.MULTILINE)))


def test_every_model_card_has_a_head_that_model_hubs_read_and_says_what_it_is_for():
    cards = {card.parent.name: lacking(card) for card in share.directory("models").glob("*/CARD.md")}
    assert set(cards) == {path.name for path in share.directory("models").iterdir()}
    assert {name: what for name, what in cards.items() if what} == {}


def test_a_card_names_the_licence_that_lies_beside_it():
    for licence in share.directory("models").glob("*/LICENSE-*.txt"):
        name = licence.stem.removeprefix("LICENSE-").lower()
        assert f"\nlicense: {name}\n" in licence.with_name("CARD.md").read_text(encoding="utf-8")


@in_checkout
def test_the_licence_expression_and_the_licence_files_cover_what_ships():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    beside = {path for pattern in ("LICEN*", "NOTICE*") for path in (ROOT / "models").glob(f"*/{pattern}")}
    licences = {path.stem.removeprefix("LICENSE-") for path in beside if path.stem.startswith("LICENSE-")}
    assert project["license"].split(" AND ") == ["Apache-2.0", *sorted(licences)]
    listed = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert beside | {ROOT / "LICENSE"} == listed


@in_checkout
def test_the_version_is_in_one_place_and_the_citation_has_it():
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert configuration["project"]["dynamic"] == ["version"]
    source = configuration["tool"]["hatch"]["version"]
    result = re.search(source["pattern"], (ROOT / source["path"]).read_text(encoding="utf-8"))
    assert result is not None
    assert result["version"] == VERSION
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@in_checkout
def test_the_classifiers_and_the_example_of_ci_name_the_same_versions_of_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [line.rsplit(" ", 1)[-1] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    page = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', re.search(r"^ +python: \[(.*)\]$", page, flags=re.MULTILINE)[1]) == named
    assert project["requires-python"] == f">={named[0]}"
    assert "make wheel" in page
    assert all(f"Python {version}" in page for version in named)
