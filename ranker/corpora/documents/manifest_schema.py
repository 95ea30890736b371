"""What a ``manifest.toml`` says, as declared types: which files are the source, references, systems and assessments.

`ranker.corpora.documents.manifest` explains the file and reads what it names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from ranker.corpora.documents.assessments import PLACE, Layout
from ranker.corpora.documents.encodings import is_encoding
from ranker.corpora.documents.sgml import Role, key
from ranker.corpora.records import shown
from ranker.errors import DataError, nearest
from ranker.files import printable
from ranker.storage.plain_data import parse_toml

FILE_NAME = "manifest.toml"

_LANGUAGE_PAIR = re.compile(r"[A-Za-z]{2,3}(_[A-Za-z]+)?-[A-Za-z]{2,3}(_[A-Za-z]+)?\Z")
_DELIMITERS = {"tab": "\t"}
_SKIPPED = "-"
_NAMES = (*PLACE, "judge", "kind", "value")
"""Columns of an assessment table that are no kinds of judgement."""
Text = Annotated[str, msgspec.Meta(pattern=r"\A[^\0]*[^\s\0][^\0]*\Z")]
Paths = Text | Annotated[list[Text], msgspec.Meta(min_length=1)]
T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True)
class ManifestPart:
    """The source, one reference, one system, or assessments of one layout: what they are, and where."""

    role: Role | Literal["assessment"]
    name: str
    paths: tuple[str, ...]
    encoding: str | None = None
    replace: bool = False

    def __str__(self) -> str:
        return printable(f"{self.role} {self.name}".rstrip())


@dataclass(frozen=True)
class Manifest:
    """A corpus that lies in SGML or XML files."""

    language_pair: str
    source: ManifestPart
    references: tuple[ManifestPart, ...]
    systems: tuple[ManifestPart, ...]
    assessments: tuple[tuple[ManifestPart, Layout], ...] = ()


class _Tables(msgspec.Struct, forbid_unknown_fields=True):
    """The top level of a manifest; its parts are decoded one by one, so that messages can name them."""

    language_pair: str
    source: Any
    systems: Annotated[dict[str, Any], msgspec.Meta(min_length=1)]
    references: dict[str, Any] = {}
    assessment: dict[str, Any] | list[dict[str, Any]] = []

    def __post_init__(self) -> None:
        if not _LANGUAGE_PAIR.match(self.language_pair):
            raise ValueError(f"expected a language pair such as 'zh-en', found {shown(self.language_pair)}")


class _PartTable(msgspec.Struct, forbid_unknown_fields=True):
    """Where the source, a reference or a system is."""

    path: Paths
    encoding: str | None = None
    undecodable: str = "refuse"

    def __post_init__(self) -> None:
        _check_encoding(self.encoding)
        if self.undecodable not in ("refuse", "replace"):
            raise ValueError(f"undecodable: expected 'refuse' or 'replace', found {shown(self.undecodable)}")
        if self.undecodable == "replace" and self.encoding is None:
            raise ValueError("expected an encoding with undecodable = 'replace'")


class _AssessmentTable(msgspec.Struct, forbid_unknown_fields=True):
    """Where an assessment table is, and its layout."""

    path: Paths
    columns: list[Text] | dict[str, Annotated[int, msgspec.Meta(ge=1)] | Text]
    encoding: str | None = None
    delimiter: Annotated[str, msgspec.Meta(min_length=1)] = "tab"
    header: bool | None = None
    fixed: dict[str, Text] = {}
    scale: tuple[float, float] | None = None
    missing: list[str | int | float] = []

    def __post_init__(self) -> None:
        _check_encoding(self.encoding)
        self.check_columns()
        if self.header is False and self.titled:
            raise ValueError("header: expected true, because columns are given by title, found false")
        if self.scale and not self.scale[0] < self.scale[1]:
            what = f"expected the lowest and the highest score, such as [1, 5], found {shown(self.scale)}"
            raise ValueError(f"scale: {what}")

    def check_columns(self) -> None:
        declared = {*self.numbered, *self.fixed}
        kinds = declared - {*_NAMES}
        by_kind = bool(kinds) and not {"kind", "value"} & declared
        what = None
        if unknown := sorted({*self.fixed} - {*_NAMES[:-1]}):
            what = f"{shown(unknown[0])} in fixed is unknown; expected one of {', '.join(_NAMES[:-1])}"
        elif isinstance(self.columns, list) and len(self.numbered) < len(self.columns) - self.columns.count(_SKIPPED):
            twice = next(name for name in self.numbered if self.columns.count(name) > 1)
            what = f"expected every name once ({_SKIPPED!r} skips a column), found {shown(twice)} twice"
        elif repeated := sorted({*self.numbered} & {*self.fixed}):
            what = f"{shown(repeated[0])} is also in fixed; keep one of them"
        elif lacking := [name for name in PLACE if name not in declared]:
            what = f"{lacking[0]!r} is missing: expected its column here, or its constant value in fixed"
        elif not by_kind and (kinds or not {"kind", "value"} <= declared):
            listed = ", ".join(map(shown, self.numbered))
            what = f"expected kinds of judgement such as 'fluency', or 'kind' and 'value'; found {listed}"
        if what:
            raise ValueError(f"columns: {what}")

    @property
    def numbered(self) -> dict[str, int | str]:
        """Number or title of every column that is read, by its name."""
        if isinstance(self.columns, list):
            return {name: number for number, name in enumerate(self.columns, 1) if name != _SKIPPED}
        return {name: column.strip() if isinstance(column, str) else column for name, column in self.columns.items()}

    @property
    def titled(self) -> bool:
        return any(isinstance(column, str) for column in self.numbered.values())

    def layout(self) -> Layout:
        return Layout(
            self.numbered,
            dict(self.fixed),
            _DELIMITERS.get(self.delimiter, self.delimiter),
            self.titled if self.header is None else self.header,
            self.scale,
            frozenset(str(entry).strip() for entry in self.missing),
        )


def parse_manifest(text: str, file: str) -> Manifest:
    """Parse and check a manifest."""
    tables = decoded(parse_toml(text, file), _Tables, file)
    several = isinstance(tables.assessment, list)
    assessments = []
    for number, values in enumerate([tables.assessment] if isinstance(tables.assessment, dict) else tables.assessment):
        table = decoded(values, _AssessmentTable, file, f"assessment[{number}]" if several else "assessment")
        assessments.append((ManifestPart("assessment", "", _listed(table.path), table.encoding), table.layout()))
    return Manifest(
        tables.language_pair,
        _part("source", "", tables.source, {}, file),
        _parts("reference", tables.references, file),
        _parts("system", tables.systems, file),
        tuple(assessments),
    )


def decoded(values: object, kind: type[T], file: str, place: str = "") -> T:
    """Return the values of a TOML file, found at `place` in it, as a declared type, or say what does not fit where."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        what = f"{what[0].lower()}{what[1:]}".replace(", got ", ", found ").replace("`", "'").replace("object", "table")
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
            raise DataError(f"{role}s.{printable(name)}: expected names that differ in more than case", file=file)
    return tuple(_part(role, name, values[name], common, file) for name in names)


def _part(role: Role, name: str, value: Any, common: Mapping[str, Any], file: str) -> ManifestPart:
    values = {**common, **(value if isinstance(value, dict) else {"path": value})}
    files = decoded(values, _PartTable, file, f"{role}s.{printable(name)}" if name else role)
    return ManifestPart(role, name, _listed(files.path), files.encoding, files.undecodable == "replace")


def _listed(paths: str | list[str]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else tuple(paths)


def _check_encoding(name: str | None) -> None:
    if name is not None and not is_encoding(name):
        raise ValueError(f"encoding: expected one such as 'utf-8', 'gb18030' or 'cp1252', found {shown(name)}")
