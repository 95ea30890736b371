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
