"""The bill of materials of a wheel follows CycloneDX 1.6 and names all that the wheel contains and needs."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.scripts import module_of

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="documents are not part of the wheel")
FILES = {
    "models/made/CARD.md": "---\nlanguage: en\nlicense: cc-by-sa-4.0\n---\n",
    "models/made/model.json": "{}",
    "data/invented.toml": 'licence = "Apache-2.0, as the project"\n',
    "data/invented/texts.jsonl": "",
    "data/other.toml": 'licence = "none here"\n',
    "data/making/script.py": "",
}


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    return module_of(ROOT / "docs" / "sbom.py")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, project) -> Path:
    path = tmp_path_factory.mktemp("dist") / "mt_ranker-1.2-py3-none-any.whl"
    head = [f"Name: {project['name']}", "Version: 1.2", f"License-Expression: {project['license']}"]
    head += [f"Requires-Dist: {line}" for line in project["dependencies"]]
    head += ["Requires-Dist: not-installed-anywhere>=1; extra == 'plot'"]
    with ZipFile(path, "w") as archive:
        archive.writestr("mt_ranker-1.2.dist-info/METADATA", "\n".join(head))
        for name, text in FILES.items():
            archive.writestr(f"ranker/share/{name}", text)
    return path


@pytest.fixture(scope="module")
def bill(sbom, wheel) -> dict[str, Any]:
    return json.loads(json.dumps(sbom.bill(wheel)))


def test_it_has_the_form_of_cyclonedx(bill, sbom, wheel):
    assert sbom.bill(wheel) == bill
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    components = [bill["metadata"]["component"], *bill["components"]]
    refs = [component["bom-ref"] for component in components]
    assert len(set(refs)) == len(refs)
    for item in (*components, *(file for part in components for file in part.get("components", ()))):
        assert item["name"]
        assert item["type"] in {"library", "machine-learning-model", "data", "file"}
        # one expression, or a list of names
        assert {key for licence in item.get("licenses", ()) for key in licence} in (set(), {"expression"}, {"license"})
        assert all(re.fullmatch("[0-9a-f]{64}", digest["content"]) for digest in item.get("hashes", ()))
    assert all({item["ref"], *item["dependsOn"]} <= set(refs) for item in bill["dependencies"])


def test_it_names_the_wheel_and_what_the_wheel_contains(bill, wheel, project):
    subject = bill["metadata"]["component"]
    assert subject["purl"] == "pkg:pypi/mt-ranker@1.2"
    assert subject["licenses"] == [{"expression": project["license"]}]
    assert subject["hashes"][0]["content"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    parts = {item["name"]: item for item in bill["components"] if item["type"] != "library"}
    assert set(parts) == {"made", "invented"}
    assert parts["made"]["licenses"] == [{"expression": "CC-BY-SA-4.0"}]
    assert parts["invented"]["licenses"] == [{"expression": "Apache-2.0"}]
    assert [file["name"] for file in parts["made"]["components"]] == ["CARD.md", "model.json"]
    assert parts["made"]["components"][1]["hashes"][0]["content"] == hashlib.sha256(b"{}").hexdigest()


def test_it_names_all_that_is_needed_and_no_extras(bill, project):
    libraries = {canonicalize_name(item["name"]): item for item in bill["components"] if item["type"] == "library"}
    direct = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    assert direct <= set(libraries)
    assert "thinc" in libraries, "what dependencies depend on is needed too"
    assert "not-installed-anywhere" not in libraries
    assert all(library["version"] == metadata.version(name) for name, library in libraries.items())
    graph = {item["ref"]: item["dependsOn"] for item in bill["dependencies"]}
    named = {item.split("/", 1)[1].split("@")[0] for item in graph["pkg:pypi/mt-ranker@1.2"] if item.startswith("pkg:")}
    assert named == direct


def test_a_part_without_a_licence_is_refused(sbom, tmp_path):
    with ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("a.dist-info/METADATA", "Name: a\nVersion: 1")
        archive.writestr("ranker/share/models/made/CARD.md", "# made\n")
    with pytest.raises(ValueError, match=r"models/made/CARD\.md: no licence found"):
        sbom.bill(tmp_path / "a.whl")
