"""Writes the software bill of materials of a wheel, in CycloneDX 1.6: ``python docs/sbom.py dist/*.whl``.

It lists what the wheel contains (models and data with their licences and the digests of their files) and what it
needs (all packages that its dependencies lead to, in the versions installed here). The same wheel in the same
environment gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import uuid
from email.message import Message
from email.parser import HeaderParser
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZipFile

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SHARED = PurePosixPath("ranker/share")
"""The folder of the wheel that holds what is not code."""
KINDS = {"models": "machine-learning-model", "data": "data"}
_LICENCE = re.compile(r"^licen[sc]e *[:=] *\"?(.*?)\"?$", flags=re.MULTILINE)


def bill(wheel: Path) -> dict[str, Any]:
    """Return the bill of a wheel as the object that becomes JSON."""
    content = wheel.read_bytes()
    with ZipFile(wheel) as archive:
        name = next(path for path in archive.namelist() if path.endswith(".dist-info/METADATA"))
        head = HeaderParser().parsestr(archive.read(name).decode("utf-8"))
        parts = included(archive, head["Version"])
    subject = package(head["Name"], head["Version"], licences(head)) | {"hashes": [digest(content)]}
    needed, graph = dependencies(head)
    graph[subject["bom-ref"]] = sorted([*graph[subject["bom-ref"]], *(part["bom-ref"] for part in parts)])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([digest(content), needed]))}",
        "version": 1,
        "metadata": {"component": subject},
        "components": [*parts, *needed],
        "dependencies": [{"ref": ref, "dependsOn": on} for ref, on in sorted(graph.items())],
    }


def digest(content: bytes) -> dict[str, str]:
    """Return a hash as CycloneDX has it."""
    return {"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}


def package(name: str, version: str, licensed: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the component of a Python package."""
    purl = f"pkg:pypi/{canonicalize_name(name)}@{version}"
    component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    return component | ({"licenses": licensed} if licensed else {})


def licences(head: Message) -> list[dict[str, Any]]:
    """Return the licence that the metadata of a package declare: an expression, or names."""
    classifiers = [line for line in head.get_all("Classifier") or [] if line.startswith("License ::")]
    names = [line.rsplit(" :: ", 1)[-1] for line in classifiers]
    short = (head.get("License") or "").strip()
    for text in (head.get("License-Expression"), short if "\n" not in short else None):
        if text:
            return [licence(text)]
    return [{"license": {"name": name}} for name in names]


def licence(text: str) -> dict[str, Any]:
    """Return a licence as an SPDX expression if it is one, otherwise as a name."""
    try:
        return {"expression": canonicalize_license_expression(text)}
    except InvalidLicenseExpression:
        return {"license": {"name": text}}


def included(archive: ZipFile, version: str) -> list[dict[str, Any]]:
    """Return the components of the models and data sets in a wheel, with their files."""
    folders: dict[PurePosixPath, list[PurePosixPath]] = {}
    for path in sorted(map(PurePosixPath, archive.namelist())):
        if path.is_relative_to(SHARED) and len(path.relative_to(SHARED).parts) > 2:
            folders.setdefault(SHARED.joinpath(*path.relative_to(SHARED).parts[:2]), []).append(path)
    names = set(archive.namelist())
    cards = {
        folder: next((card for card in (folder / "CARD.md", folder.with_suffix(".toml")) if str(card) in names), None)
        for folder in folders
    }
    # a folder without a card holds code
    return [component(archive, folder, folders[folder], card, version) for folder, card in cards.items() if card]


def component(
    archive: ZipFile, folder: PurePosixPath, files: list[PurePosixPath], card: PurePosixPath, version: str
) -> dict[str, Any]:
    """Return the component of a folder of a wheel; the licence is that of its card."""
    declared = _LICENCE.search(archive.read(str(card)).decode("utf-8"))
    if declared is None:
        raise ValueError(f"{card}: no licence found")
    inside = [
        {"type": "file", "name": str(path.relative_to(folder)), "hashes": [digest(archive.read(str(path)))]}
        for path in files
    ]
    return {
        "type": KINDS[folder.parent.name],
        "bom-ref": str(folder),
        "name": folder.name,
        "version": version,
        "licenses": [licence(declared[1].partition(",")[0])],
        "components": inside,
    }


def dependencies(head: Message) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """Return the components that a package leads to, as installed, and who needs whom."""
    packages: dict[str, dict[str, Any]] = {}
    graph: dict[str, list[str]] = {}

    def visit(needing: Message, extras: set[str]) -> str:
        described = package(needing["Name"], needing["Version"], licences(needing))
        ref = described["bom-ref"]
        if ref in graph and not extras:
            return ref
        known = graph.setdefault(ref, [])
        for line in needing.get_all("Requires-Dist") or []:
            wanted = Requirement(line)
            if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras or {""}):
                known.append(visit(metadata.metadata(wanted.name), wanted.extras))
        graph[ref] = sorted(set(known))
        if needing is not head:
            packages[ref] = described
        return ref

    visit(head, set())
    return [packages[ref] for ref in sorted(packages)], graph


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        target = path.with_name("-".join(path.name.split("-")[:2]) + ".cdx.json")
        target.write_text(json.dumps(bill(path), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(f"written: {target}", file=sys.stderr)
