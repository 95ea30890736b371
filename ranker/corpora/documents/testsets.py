"""Test sets of mteval and WMT in SGML or XML, as one file or as separate source, reference and system files.

Documents and segments are matched by their ids. A file of several systems or references gives each its own, named by
``sysid``, ``refid``, ``system`` or ``translator``, or else by the file. Some of the files may be plain text, one
segment per line in the order of the source. A note reports the segments that a system or a reference lacks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ranker.corpora.dataset import Dataset
from ranker.corpora.documents import sgml
from ranker.corpora.documents.assembling import DocumentCorpus, Notes
from ranker.corpora.documents.encodings import declared_encoding, decode, with_superset
from ranker.corpora.documents.manifest_schema import ManifestPart
from ranker.corpora.languages import language_code
from ranker.corpora.records import Record, assemble, shown
from ranker.errors import DataError, log_note
from ranker.files import STDIN, display_name, read_bytes, read_lines, without_gz

_START = re.compile(r"\ufeff?\s*<(\?xml\b|!doctype\s+(mteval|dataset)\b|(mteval|srcset|refset|tstset|dataset)\b)", re.I)
_ENDINGS = (".sgm", ".sgml", ".xml")


def looks_like_testset(text: str) -> bool:
    """True if `text` starts like a test set in SGML or XML."""
    return bool(_START.match(text))


def is_testset(path: str | Path) -> bool:
    """True if the name or the first characters of a file are those of an SGML or XML test set; pipes are not read."""
    if str(path) == STDIN:
        return False
    if without_gz(str(path).lower()).endswith(_ENDINGS):
        return True
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as stream:
            return looks_like_testset(stream.read(1000).decode("utf-8", errors="replace"))
    except (OSError, ValueError):
        # whoever reads it will say what is wrong with it
        return False


def read_markup(path: str | Path) -> str:
    """Read a file in the encoding that its XML declaration names, or else in UTF-8."""
    raw, name = read_bytes(path), display_name(path)
    return decode(raw, name, with_superset(declared_encoding(raw, name) or "utf-8"))


def parse_testset(text: str, file: str) -> list[Record]:
    r"""Parse a file with a source, outputs of systems and perhaps references; `text` has lines that end in ``\n``."""
    documents = sgml.parse_documents(text, file)
    by_role = {role: [document for document in documents if document.role == role] for role in sgml.ROLES}
    for role in ("source", "system"):
        if not by_role[role]:
            held = (
                ", ".join(name for name, role_documents in by_role.items() if role_documents)
                or "documents outside a set"
            )
            what = f"expected documents of a source and of systems, found only {held}"
            raise DataError(f"{what}: give the other files too: -s SOURCE -r REFERENCE... -t SYSTEM...", file=file)
    parts = [
        _Part(role, name, part_documents)
        for role in by_role
        for name, part_documents in _named(by_role[role], role, Path(file).name).items()
    ]
    return _records(parts, file)


def read_testset(
    source: str | Path | None, references: Sequence[str | Path], translations: Mapping[str, str | Path], name: str
) -> Dataset:
    """Read a test set from files of the source, the references and each system; without `source`, sources are empty."""
    files: list[tuple[sgml.Role, str | Path, str]] = [
        *(("source", path, "") for path in (source,) if path is not None),
        *(("reference", path, display_name(Path(path).name)) for path in references),
        *(("system", path, system) for system, path in translations.items()),
    ]
    parsed: dict[str, list[sgml.Document]] = {}
    for _, path, _ in files:
        if is_testset(path) and str(path) not in parsed:
            parsed[str(path)] = sgml.parse_documents(read_markup(path), display_name(path))
    parts: list[_Part | tuple[sgml.Role, str | Path, str]] = []
    for role, path, file_name in files:
        if str(path) not in parsed:
            parts.append((role, path, file_name))
            continue
        named = _named(_of_role(parsed[str(path)], role, display_name(path)), role, file_name)
        parts += [_Part(role, name, documents) for name, documents in named.items()]
    # ids come from the source, or else from the first file that has some
    like = next(part for part in parts if isinstance(part, _Part))
    whole = [part if isinstance(part, _Part) else _aligned(*part, like) for part in parts]
    if source is None:
        whole.insert(0, _without_source(like))
    file = display_name(files[0][1])
    return assemble(_records(whole, file), name, file)


@dataclass(frozen=True)
class _Part:
    """The source, a reference or a system: its role, name and documents."""

    role: sgml.Role
    name: str
    documents: list[sgml.Document]


def _without_source(like: _Part) -> _Part:
    """Return a source part that has the ids of the part `like`, but empty texts."""
    emptied = [
        replace(
            document,
            segments=tuple(replace(segment, text="") for segment in document.segments),
            sysid=None,
            role="source",
        )
        for document in like.documents
    ]
    return _Part("source", "", emptied)


def _of_role(documents: list[sgml.Document], role: sgml.Role, file: str) -> list[sgml.Document]:
    """Return the documents in `role` or, if there are none, references in place of system outputs or vice versa."""
    for accepted in sgml.ROLES[role]:
        accepted_documents = [document for document in documents if document.role in (accepted, None)]
        if accepted_documents:
            return accepted_documents
    held = ", ".join(sorted({f"a {document.role}" for document in documents}))
    raise DataError(f"expected documents of a {role}, found only those of {held}", file=file)


def _named(documents: list[sgml.Document], role: sgml.Role, file_name: str) -> dict[str, list[sgml.Document]]:
    """Group documents by the name of their system or reference; source documents form one group."""
    named: dict[str, tuple[str, list[sgml.Document]]] = {}
    for document in documents:
        name = "" if role == "source" else document.sysid or file_name
        named.setdefault(sgml.key(name), (name, []))[1].append(document)
    return dict(named.values())


def _aligned(role: sgml.Role, path: str | Path, name: str, like: _Part) -> _Part:
    """Convert the lines of a plain-text file to documents with the ids of the part `like`."""
    total = sum(len(document.segments) for document in like.documents)
    lines = iter(enumerate(read_lines(path, total, like.documents[0].file), 1))
    file = display_name(path)
    documents = []
    for document in like.documents:
        segments = []
        for segment, (number, text) in zip(document.segments, lines, strict=False):
            segments.append(sgml.Segment(segment.id, text, number))
        line = segments[0].line if segments else 0
        documents.append(replace(document, segments=tuple(segments), sysid=None, role=role, file=file, line=line))
    return _Part(role, name, [replace(document, languages=(None, None), stray_line=None) for document in documents])


def _records(parts: Sequence[_Part], file: str) -> list[Record]:
    parts = _distinct(parts)
    notes = Notes()
    systems = tuple(part.name for part in parts if part.role == "system")
    # a name that a reference has from its file is no translator's
    translators = frozenset(part.name for part in parts if part.role == "reference" and part.documents[0].sysid)
    corpus = DocumentCorpus(_language_pair(parts, file), translators, systems, notes)
    for testset_part in sorted(parts, key=lambda part: list(sgml.ROLES).index(part.role)):
        part = ManifestPart(testset_part.role, testset_part.name, ())
        if testset_part.role == "source":
            for document in testset_part.documents:
                corpus.add_source(part, document)
        else:
            corpus.add_translations(part, testset_part.documents)
    for note in notes.lines():
        log_note(note, file)
    return corpus.records()


def _distinct(parts: Sequence[_Part]) -> list[_Part]:
    """Number references that share a name (ref, ref2, ...); refuse systems that share a name."""
    distinct: list[_Part] = []
    for part in parts:
        taken = {sgml.key(earlier.name): earlier for earlier in distinct if earlier.role == part.role}
        if sgml.key(part.name) in taken and part.role == "system":
            first = taken[sgml.key(part.name)].documents[0].file
            what = f"system {shown(part.name)} is also in {first}; rename or remove one of them"
            raise DataError(what, file=part.documents[0].file, line=part.documents[0].line or None)
        name, number = part.name, 2
        while part.role == "reference" and sgml.key(name) in taken:
            name, number = f"{part.name}{number}", number + 1
        distinct.append(replace(part, name=name))
    return distinct


def _language_pair(parts: Sequence[_Part], file: str) -> str | None:
    """Return the language pair that the documents' tags name, or None."""
    sides: list[str] = []
    for side, which in enumerate(("source", "target")):
        named = {document.languages[side] or "" for part in parts for document in part.documents}
        codes = sorted({code for code in map(language_code, named) if code})
        if len(codes) > 1:
            raise DataError(
                f"expected one {which} language, found {', '.join(codes)}: split the file by language", file=file
            )
        sides += codes
    return "-".join(sides) if len(sides) == 2 else None
