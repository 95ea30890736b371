"""What a ``manifest.toml`` says, checked: which files are the source, the references, the systems, the assessments.

`ranker.corpora.documents.manifest` explains the file and reads what it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from ranker.corpora.documents.assessments import PLACE, Layout
from ranker.corpora.documents.encodings import is_encoding
from ranker.corpora.documents.sgml import Role, key
from ranker.corpora.records import shown
from ranker.errors import DataError, nearest
from ranker.files import printable
from ranker.storage.plain_data import parse_toml

FILE_NAME = "manifest.toml"

_LANGUAGE_PAIR = re.compile(r"[A-Za-z]{2,3}(_[A-Za-z]+)?-[A-Za-z]{2,3}(_[A-Za-z]+)?\Z")
_DECODING = ("encoding", "undecodable")
_DELIMITERS = {"tab": "\t"}
_SKIPPED = "-"


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


def parse_manifest(text: str, file: str) -> Manifest:
    """Parse and check a manifest."""
    values = parse_toml(text, file)
    return _ManifestReader(text, file).manifest(values)


class _ManifestReader:
    """Takes checked values out of the tables of a manifest, or says where and how they differ."""

    def __init__(self, text: str, file: str) -> None:
        self.lines, self.file = text.split("\n"), file

    def fail(self, what: str, table: str, name: str | None = None, index: int = 0) -> NoReturn:
        where = f"[{table}] " if table else ""
        where += f"{printable(name)}: " if name else ""
        raise DataError(f"{where}{what}", file=self.file, line=self.line_of(table, name, index))

    def line_of(self, table: str, name: str | None, index: int) -> int | None:
        """Return the line of a key, or else of the heading of the `index`-th table of that name, or None."""
        current, seen, heading = "", 0 if not table else -1, None
        wanted = f"{table}.{name}".lstrip(".")
        for number, line in enumerate(self.lines, 1):
            title = re.match(r"\s*\[{1,2}\s*([\w.-]+)\s*\]{1,2}\s*(#.*)?\Z", line)
            if title:
                current = title[1]
                seen += current == table
                if current == wanted:
                    return number
                if current == table and seen == index:
                    heading = number
            key_there = name and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[.=]", line)
            if key_there and current == table and seen == index:
                return number
        return heading

    def check_keys(self, values: Mapping[str, Any], known: Iterable[str], table: str = "", index: int = 0) -> None:
        known = list(known)
        for name in values:
            if name not in known:
                self.fail(f"unknown key{nearest(name, known)}; expected one of {', '.join(known)}", table, name, index)

    def manifest(self, values: Mapping[str, Any]) -> Manifest:
        self.check_keys(values, ("language_pair", "source", "references", "systems", "assessment"))
        pair = values.get("language_pair")
        if not isinstance(pair, str) or not _LANGUAGE_PAIR.match(pair):
            self.fail(f"expected a language pair such as 'zh-en', found {shown(pair)}", "", "language_pair")
        if "source" not in values:
            self.fail("is missing; expected the path of the source", "", "source")
        return Manifest(
            pair,
            self.part("source", "", values["source"], {}, "source"),
            self.parts(values.get("references", {}), "references", "reference"),
            self.parts(values.get("systems"), "systems", "system"),
            self.tables(values.get("assessment", [])),
        )

    def parts(self, values: Any, table: str, role: Role) -> tuple[ManifestPart, ...]:
        if not isinstance(values, dict) or (role == "system" and not values):
            self.fail(f"expected a table of name = 'path', found {shown(values)}", "", table)
        common = {name: values[name] for name in _DECODING if name in values}
        names = [name for name in values if name not in _DECODING]
        for name in names:
            if not name.strip() or [key(entry) for entry in names].count(key(name)) > 1:
                self.fail("expected names that differ in more than case", table, name)
        return tuple(self.part(role, name, values[name], common, table) for name in names)

    def part(self, role: Role, name: str, value: Any, common: Mapping[str, Any], table: str) -> ManifestPart:
        own = value if isinstance(value, dict) else {"path": value}
        values = {**common, **own}
        # the table of the source is the part itself, those of the others hold one part a key
        where = (table, name) if name else ("", table)
        if unknown := next((each for each in own if each not in ("path", *_DECODING)), None):
            self.fail(f"unknown key {shown(unknown)}; expected path, {', '.join(_DECODING)}", *where)
        undecodable = values.get("undecodable", "refuse")
        if undecodable not in ("refuse", "replace"):
            self.fail(f"undecodable: expected 'refuse' or 'replace', found {shown(undecodable)}", *where)
        encoding = self.encoding(values.get("encoding"), *where)
        if undecodable == "replace" and encoding is None:
            self.fail("expected an encoding with undecodable = 'replace'", *where)
        return ManifestPart(role, name, self.paths(values.get("path"), *where), encoding, undecodable == "replace")

    def paths(self, value: Any, table: str, name: str, index: int = 0) -> tuple[str, ...]:
        paths = value if isinstance(value, list) else [value]
        if not paths or not all(isinstance(path, str) and path.strip() and "\0" not in path for path in paths):
            self.fail(f"expected a path or a list of paths, found {shown(value)}", table, name, index)
        return tuple(paths)

    def encoding(self, value: Any, table: str, name: str, index: int = 0) -> str | None:
        if value is not None and not (isinstance(value, str) and is_encoding(value)):
            what = f"expected an encoding such as 'utf-8', 'gb18030' or 'cp1252', found {shown(value)}"
            self.fail(what, table, name, index)
        return value

    def tables(self, values: Any) -> tuple[tuple[ManifestPart, Layout], ...]:
        tables = values if isinstance(values, list) else [values]
        if not all(isinstance(table, dict) for table in tables):
            self.fail(f"expected a table, found {shown(values)}", "", "assessment")
        return tuple(self.table(table, index) for index, table in enumerate(tables))

    def table(self, values: Mapping[str, Any], index: int) -> tuple[ManifestPart, Layout]:
        at = "assessment"
        known = ("path", "encoding", "delimiter", "header", "columns", "fixed", "scale", "missing")
        self.check_keys(values, known, at, index)
        delimiter = values.get("delimiter", "tab")
        if not isinstance(delimiter, str) or not delimiter:
            self.fail(f"expected text such as 'tab', found {shown(delimiter)}", at, "delimiter", index)
        columns = self.columns(values.get("columns"), index)
        fixed = values.get("fixed", {})
        if not isinstance(fixed, dict) or not all(
            isinstance(constant, str) and constant.strip() for constant in fixed.values()
        ):
            self.fail(f"expected a table of name = 'text', found {shown(fixed)}", at, "fixed", index)
        self.check_columns(columns, fixed, index)
        titled = any(isinstance(column, str) for column in columns.values())
        header = values.get("header", titled)
        if not isinstance(header, bool) or (titled and not header):
            expected = "true, because columns are given by title" if titled else "true or false"
            self.fail(f"expected {expected}, found {shown(header)}", at, "header", index)
        layout = Layout(
            columns,
            fixed,
            _DELIMITERS.get(delimiter, delimiter),
            header,
            self.scale(values.get("scale"), index),
            self.missing(values.get("missing", []), index),
        )
        encoding = self.encoding(values.get("encoding"), at, "encoding", index)
        return ManifestPart("assessment", "", self.paths(values.get("path"), at, "path", index), encoding), layout

    def columns(self, value: Any, index: int) -> dict[str, int | str]:
        """Return columns by name; a list names them in their order, ``-`` being of no use."""
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            named = [entry for entry in value if entry != _SKIPPED]
            if len(set(named)) < len(named):
                twice = next(entry for entry in named if named.count(entry) > 1)
                what = f"expected every name once ({_SKIPPED!r} skips a column), found {shown(twice)} twice"
                self.fail(what, "assessment", "columns", index)
            return {entry: number for number, entry in enumerate(value, 1) if entry != _SKIPPED}
        if not isinstance(value, dict) or not all(
            (type(entry) is int and entry > 0) or (isinstance(entry, str) and entry.strip()) for entry in value.values()
        ):
            what = "expected a list of names, or a table of name = column number, from 1, or title"
            self.fail(f"{what}; found {shown(value)}", "assessment", "columns", index)
        return {name: column.strip() if isinstance(column, str) else column for name, column in value.items()}

    def check_columns(self, columns: Mapping[str, Any], fixed: Mapping[str, Any], index: int) -> None:
        self.check_keys(fixed, (*PLACE, "judge", "kind"), "assessment", index)
        declared = {*columns, *fixed}
        what = None
        if repeated := sorted(set(columns) & set(fixed)):
            what = f"{shown(repeated[0])} is also in fixed; keep one of them"
        elif lacking := [name for name in PLACE if name not in declared]:
            what = f"{lacking[0]!r} is missing: expected its column here, or its constant value in fixed"
        kinds = declared - {*PLACE, "judge", "kind", "value"}
        if what is None and not (
            kinds if not {"kind", "value"} & declared else {"kind", "value"} <= declared and not kinds
        ):
            listed = ", ".join(map(shown, columns))
            what = f"expected kinds of judgement such as 'fluency', or 'kind' and 'value'; found {listed}"
        if what:
            self.fail(what, "assessment", "columns", index)

    def scale(self, value: Any, index: int) -> tuple[float, float] | None:
        if value is None:
            return None
        numbers = value if isinstance(value, list) else []
        if [type(number) in (int, float) for number in numbers] != [True, True] or not numbers[0] < numbers[1]:
            what = f"expected the lowest and the highest score, such as [1, 5], found {shown(value)}"
            self.fail(what, "assessment", "scale", index)
        return float(numbers[0]), float(numbers[1])

    def missing(self, value: Any, index: int) -> frozenset[str]:
        if not isinstance(value, list) or not all(type(entry) in (str, int, float) for entry in value):
            self.fail(f"expected a list such as ['NA', '-1'], found {shown(value)}", "assessment", "missing", index)
        return frozenset(str(entry).strip() for entry in value)
