"""Test sets of mteval and WMT in SGML or XML, as one file or as files of source, references and systems.

Documents and segments are matched by their ids. A file of several systems or references gives each its own, named by
``sysid``, ``refid``, ``system`` or ``translator``, or else by the file. Beside such files plain ones may stand, one
segment a line in the order of the source. What a system or a reference lacks is said in a note.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ranker.corpora.dataset import Dataset
from ranker.corpora.documents import sgml
from ranker.corpora.documents.assembling import DocumentCorpus, Notes
from ranker.corpora.documents.encodings import declared_encoding, decode, with_superset
from ranker.corpora.documents.manifest_schema import ManifestPart
from ranker.corpora.languages import language_code
from ranker.corpora.records import Record, assemble, shown
from ranker.errors import DataError
from ranker.files import STDIN, display_name, read_bytes, read_lines

_LOG = logging.getLogger(__name__)
_START = re.compile(r"\ufeff?\s*<(\?xml\b|!doctype\s+(mteval|dataset)\b|(mteval|srcset|refset|tstset|dataset)\b)", re.I)
_ENDINGS = (".sgm", ".sgml", ".xml")
# what may stand in for documents of a role where a file has none, as in a reference that is scored as a system
_ROLES: dict[sgml.Role, tuple[sgml.Role, ...]] = {
    "source": ("source",),
    "reference": ("reference", "system"),
    "system": ("system", "reference"),
}


def looks_like_testset(text: str) -> bool:
    """Whether `text` starts as a test set in SGML or XML does."""
    return bool(_START.match(text))


def is_testset(path: str | Path) -> bool:
    """Whether a file is a test set in SGML or XML, by its name or its first characters; standard input never is."""
    if str(path) == STDIN:
        return False
    if str(path).lower().removesuffix(".gz").endswith(_ENDINGS):
        return True
    try:
        with Path(path).open("rb") as stream:
            return looks_like_testset(stream.read(1000).decode("utf-8", errors="replace"))
    except (OSError, ValueError):
        # whoever reads it will say what is wrong with it
        return False


def read_markup(path: str | Path) -> str:
    """Read a file in the encoding that its XML declaration names, else UTF-8.

    Raises
    ------
    DataError
        With the place of the first byte that does not fit.
    """
    raw = read_bytes(path)
    return decode(raw, display_name(path), with_superset(declared_encoding(raw) or "utf-8"))


def parse_testset(text: str, file: str) -> list[Record]:
    r"""Parse a file that holds source, systems and perhaps references; `text` has lines that end in ``\n``.

    Raises
    ------
    DataError
        With file and line: damaged markup, no source, no system, or ids that the source does not have.
    """
    documents = sgml.parse_documents(text, file)
    by_role = {role: [one for one in documents if one.role == role] for role in _ROLES}
    for role in ("source", "system"):
        if not by_role[role]:
            held = ", ".join(name for name, found in by_role.items() if found) or "documents outside a set"
            what = f"expected documents of a source and of systems, found only {held}"
            raise DataError(f"{what}: give the other files too: -s SOURCE -r REFERENCE... -t SYSTEM...", file=file)
    parts = [_Part(role, name, found) for role in by_role for name, found in _named(by_role[role], role, file).items()]
    return _records(parts, file)


def read_testset(
    source: str | Path | None, references: Sequence[str | Path], translations: Sequence[str | Path], name: str
) -> Dataset:
    """Read a test set from the files of its source, its references and its systems.

    Without `source` the sources are empty.

    Raises
    ------
    DataError
        With file and line: damaged markup, a file without documents of its kind, ids that the source does not have,
        two systems of one name, or a plain file that has another number of lines than the source has segments.
    """
    files: list[tuple[sgml.Role, str | Path]] = [
        *(("source", path) for path in (source,) if path is not None),
        *(("reference", path) for path in references),
        *(("system", path) for path in translations),
    ]
    parsed: dict[str, list[sgml.Document]] = {}
    for _, path in files:
        if is_testset(path) and str(path) not in parsed:
            parsed[str(path)] = sgml.parse_documents(read_markup(path), display_name(path))
    parts: list[_Part | tuple[sgml.Role, str | Path]] = []
    for role, path in files:
        if str(path) not in parsed:
            parts.append((role, path))
            continue
        found = _named(_of_role(parsed[str(path)], role, display_name(path)), role, display_name(path))
        parts += [_Part(role, name, documents) for name, documents in found.items()]
    # ids come from the source, or else from the first file that has some
    like = next(one for one in parts if isinstance(one, _Part))
    whole = [one if isinstance(one, _Part) else _aligned(*one, like) for one in parts]
    if source is None:
        whole.insert(0, _without_source(like))
    file = display_name(files[0][1])
    return assemble(_records(whole, file), name, file)


@dataclass(frozen=True)
class _Part:
    """The source, a reference or a system: its documents."""

    role: sgml.Role
    name: str
    documents: list[sgml.Document]


def _without_source(like: _Part) -> _Part:
    """Return empty sources with the ids of another part."""
    emptied = [
        replace(one, segments=tuple(replace(segment, text="") for segment in one.segments), sysid=None, role="source")
        for one in like.documents
    ]
    return _Part("source", "", emptied)


def _of_role(documents: list[sgml.Document], role: sgml.Role, file: str) -> list[sgml.Document]:
    """Return the documents of a file that are of `role`, or may pass for it."""
    for accepted in _ROLES[role]:
        found = [one for one in documents if one.role in (accepted, None)]
        if found:
            return found
    held = ", ".join(sorted({f"a {one.role}" for one in documents}))
    raise DataError(f"expected documents of a {role}, found only those of {held}", file=file)


def _named(documents: list[sgml.Document], role: sgml.Role, file: str) -> dict[str, list[sgml.Document]]:
    """Return the documents of every system or reference, by its name; those of the source are one."""
    named: dict[str, tuple[str, list[sgml.Document]]] = {}
    for one in documents:
        name = "" if role == "source" else one.sysid or Path(file).name
        named.setdefault(sgml.key(name), (name, []))[1].append(one)
    return dict(named.values())


def _aligned(role: sgml.Role, path: str | Path, like: _Part) -> _Part:
    """Return the lines of a plain file as documents with the ids of those of another part."""
    total = sum(len(document.segments) for document in like.documents)
    lines = iter(enumerate(read_lines(path, total, like.documents[0].file), 1))
    file = display_name(path)
    name = "" if role == "source" else "stdin" if str(path) == STDIN else display_name(Path(path).name)
    documents = []
    for document in like.documents:
        segments = []
        for segment, (number, text) in zip(document.segments, lines, strict=False):
            segments.append(sgml.Segment(segment.id, text, number))
        line = segments[0].line if segments else 0
        documents.append(replace(document, segments=tuple(segments), sysid=None, role=role, file=file, line=line))
    return _Part(role, name, [replace(one, languages=(None, None), stray_line=None) for one in documents])


def _records(parts: Sequence[_Part], file: str) -> list[Record]:
    parts = _distinct(parts)
    notes = Notes()
    names = {role: [one.name for one in parts if one.role == role] for role in _ROLES}
    corpus = DocumentCorpus(_language_pair(parts, file), frozenset(names["reference"]), tuple(names["system"]), notes)
    for one in sorted(parts, key=lambda part: list(_ROLES).index(part.role)):
        part = ManifestPart(one.role, one.name, ())
        if one.role == "source":
            for document in one.documents:
                corpus.add_source(part, document)
        else:
            corpus.add_translations(part, one.documents)
    for note in notes.lines():
        _LOG.warning("ranker: note: %s: %s", file, note)
    return corpus.records()


def _distinct(parts: Sequence[_Part]) -> list[_Part]:
    """Give references of one name other names, after their files; refuse systems of one name."""
    distinct: list[_Part] = []
    for one in parts:
        taken = {sgml.key(other.name): other for other in distinct if other.role == one.role}
        if sgml.key(one.name) in taken and one.role == "system":
            first = taken[sgml.key(one.name)].documents[0].file
            what = f"system {shown(one.name)} is also in {first}; rename or remove one of them"
            raise DataError(what, file=one.documents[0].file, line=one.documents[0].line or None)
        name, number = one.name, 2
        while one.role == "reference" and sgml.key(name) in taken:
            name, number = f"{one.name}{number}", number + 1
        distinct.append(replace(one, name=name))
    return distinct


def _language_pair(parts: Sequence[_Part], file: str) -> str | None:
    """Return the language pair that the tags name, or None."""
    sides: list[str] = []
    for side, which in enumerate(("source", "target")):
        named = {one.languages[side] or "" for part in parts for one in part.documents}
        codes = sorted({code for code in map(language_code, named) if code})
        if len(codes) > 1:
            raise DataError(f"expected one {which} language, found {', '.join(codes)}: split the files", file=file)
        sides += codes
    return "-".join(sides) if len(sides) == 2 else None
