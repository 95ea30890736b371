"""Typed content of a ``manifest.toml``: the files of the source, references, systems and assessments.

`ranker.corpora.documents.manifest` explains the file and reads what it names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from ranker.corpora.documents.assessments import Layout, Text
from ranker.corpora.documents.encodings import is_encoding
from ranker.corpora.documents.sgml import Role, key
from ranker.corpora.records import shown
from ranker.errors import DataError, nearest
from ranker.files import printable
from ranker.storage.plain_data import parse_toml

FILE_NAME = "manifest.toml"

_LANGUAGE_PAIR = re.compile(r"[A-Za-z]{2,3}(_[A-Za-z]+)?-[A-Za-z]{2,3}(_[A-Za-z]+)?\Z")
Paths = Text | Annotated[list[Text], msgspec.Meta(min_length=1)]
T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True)
class ManifestPart:
    """One part of a corpus (source, reference, system, or assessments of one layout): role, name and paths."""

    role: Role | Literal["assessment"]
    name: str
    paths: tuple[str, ...]
    encoding: str | None = None
    replace: bool = False

    def __str__(self) -> str:
        return printable(f"{self.role} {self.name}".rstrip())


@dataclass(frozen=True)
class Manifest:
    """A corpus stored in SGML or XML files, as declared by its manifest."""

    language_pair: str
    source: ManifestPart
    references: tuple[ManifestPart, ...]
    systems: tuple[ManifestPart, ...]
    assessments: tuple[tuple[ManifestPart, Layout], ...] = ()


class _Tables(msgspec.Struct, forbid_unknown_fields=True):
    """The top level of a manifest; its parts are decoded one at a time, so that error messages can name them."""

    language_pair: str
    source: Any
    systems: Annotated[dict[str, Any], msgspec.Meta(min_length=1)]
    references: dict[str, Any] = {}
    assessment: dict[str, Any] | list[dict[str, Any]] = []

    def __post_init__(self) -> None:
        if not _LANGUAGE_PAIR.match(self.language_pair):
            raise ValueError(f"expected a language pair such as 'zh-en', found {shown(self.language_pair)}")


class _PartTable(msgspec.Struct, forbid_unknown_fields=True):
    """Manifest table that locates the source, a reference or a system."""

    path: Paths
    encoding: str | None = None
    undecodable: str = "refuse"

    def __post_init__(self) -> None:
        _check_encoding(self.encoding)
        if self.undecodable not in ("refuse", "replace"):
            raise ValueError(f"undecodable: expected 'refuse' or 'replace', found {shown(self.undecodable)}")
        if self.undecodable == "replace" and self.encoding is None:
            raise ValueError("undecodable = 'replace': expected an encoding too, such as encoding = 'cp1252'")


class _AssessmentTable(Layout, kw_only=True):
    """Manifest table with the location and layout of an assessment table."""

    path: Paths
    encoding: str | None = None

    def __post_init__(self) -> None:
        _check_encoding(self.encoding)
        super().__post_init__()


def parse_manifest(text: str, file: str) -> Manifest:
    """Return the manifest in the text of a ``manifest.toml``, or raise an error that names the wrong entry."""
    tables = decoded(parse_toml(text, file), _Tables, file)
    several = isinstance(tables.assessment, list)
    assessments = []
    for number, values in enumerate([tables.assessment] if isinstance(tables.assessment, dict) else tables.assessment):
        table = decoded(values, _AssessmentTable, file, f"assessment[{number}]" if several else "assessment")
        assessments.append((ManifestPart("assessment", "", _listed(table.path), table.encoding), table))
    return Manifest(
        tables.language_pair,
        _part("source", "", tables.source, {}, file),
        _parts("reference", tables.references, file),
        _parts("system", tables.systems, file),
        tuple(assessments),
    )


_KINDS = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list"}


def _kind(kind: str) -> str:
    return _KINDS.get(kind, f"a {kind}")


def decoded(values: object, kind: type[T], file: str, place: str = "") -> T:
    """Convert the values at `place` in a TOML file to the type `kind`, or raise an error that names the wrong value."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        what = f"{what[0].lower()}{what[1:]}".replace(", got ", ", found ").replace("`", "'").replace("object", "table")
        if what.startswith("expected '"):
            what = re.sub("'([a-z |]+)'", lambda kinds: " or ".join(map(_kind, kinds[1].split(" | "))), what)
        if "matching regex" in what:
            what = "expected text, found nothing or a character NUL"
        elif fault := re.fullmatch(r"table (missing required|contains unknown) field '(.*)'", what):
            known = kind.__struct_fields__
            is_missing = fault[1] == "missing required"
            what = f"key {fault[2]!r} is {'missing' if is_missing else 'unknown' + nearest(fault[2], known)}"
            what += f"; expected {', '.join(known)}"
        where = f"{place}{path.removesuffix('`')}".removeprefix(".")
        raise DataError(printable(f"{where}: {what}" if where else what), file=file) from None


def _parts(role: Role, values: Mapping[str, Any], file: str) -> tuple[ManifestPart, ...]:
    common = {name: values[name] for name in ("encoding", "undecodable") if name in values}
    names = [name for name in values if name not in common]
    for name in names:
        if not name.strip() or [key(entry) for entry in names].count(key(name)) > 1:
            raise DataError(f"{role}s.{printable(name)}: expected a name that is unique, ignoring case", file=file)
    return tuple(_part(role, name, values[name], common, file) for name in names)


def _part(role: Role, name: str, value: Any, common: Mapping[str, Any], file: str) -> ManifestPart:
    values = {**common, **(value if isinstance(value, dict) else {"path": value})}
    files = decoded(values, _PartTable, file, f"{role}s.{printable(name)}" if name else role)
    return ManifestPart(role, name, _listed(files.path), files.encoding, files.undecodable == "replace")


def _listed(paths: str | list[str]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else tuple(paths)


def _check_encoding(name: str | None) -> None:
    if name is not None and not is_encoding(name):
        raise ValueError(f"encoding: expected a name such as 'utf-8', 'gb18030' or 'cp1252', found {shown(name)}")
