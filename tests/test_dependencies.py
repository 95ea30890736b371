"""What pyproject.toml promises to run with is what the tests are run with."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
OLDEST = ROOT / ".ci" / "oldest.txt"


@pytest.mark.skipif(not OLDEST.is_file(), reason="only in a checkout")
def test_the_oldest_versions_tested_are_the_oldest_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["test"]]
    pinned = [Requirement(line) for line in OLDEST.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    oldest = {one.name: Version(next(iter(one.specifier)).version) for one in pinned}
    lowest = {one.name: Version(bound.version) for one in declared for bound in one.specifier if bound.operator == ">="}
    assert oldest == lowest
