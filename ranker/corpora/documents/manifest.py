"""Corpora stored as a folder of SGML or XML files: ``manifest.toml`` declares the role of each file.

A licensed corpus is thus read as it was delivered, and details that its documentation leaves open are declared once::

    language_pair = "zh-en"

    [source]
    path = "source"                  # a file, a folder, a pattern such as "source/*.sgm", or a list of them
    encoding = "gb18030"

    [references]
    E01 = "translation/E01"

    [systems]
    E05 = "translation/E05"
    E06 = { path = "translation/E06", encoding = "gb18030", undecodable = "replace" }

    [assessment]                     # or [[assessment]], several times
    path = "assessment.txt"
    delimiter = "tab"                # or "whitespace", ",", "|", ...
    columns = { judge = 1, system = 2, doc = 3, segment = 4, fluency = 5, adequacy = 6 }
    scale = [1, 5]
    missing = ["-1", "NA"]

``columns`` may also be a list of names in their order, ``-`` skipping a column, or give titles of the first line
instead of numbers; ``fixed = { system = "E05" }`` replaces a column that a table lacks; for the rest see
`ranker.corpora.documents.assessments.Layout`. ``encoding`` may also be given once for all of ``[references]``
or ``[systems]``; files without it are read as UTF-8, or else as one of
`ranker.corpora.documents.encodings.fallback_encodings`. A file of several systems, as mteval has them, gives each the
documents of its own ``sysid``. A name under both ``[references]`` and ``[systems]`` is a reference that is ranked too.

A segment that a system or a reference lacks, or a reference that is empty, is left out; an empty output counts as
an output. Such gaps, guessed encodings, replaced bytes and text outside of segments are noted. A segment or a
score that belongs to nothing in the source is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ranker.corpora.dataset import Dataset
from ranker.corpora.documents import sgml
from ranker.corpora.documents.assembling import DocumentCorpus, Notes
from ranker.corpora.documents.assessments import parse_assessments
from ranker.corpora.documents.encodings import (
    common_encoding,
    declared_encoding,
    decode,
    fallback_encodings,
    with_superset,
)
from ranker.corpora.documents.manifest_schema import FILE_NAME, ManifestPart, parse_manifest
from ranker.corpora.records import assemble, shown
from ranker.errors import DataError, log_note, nearest
from ranker.files import display_name, printable, read_bytes, read_text


def read_manifest(path: str | Path, *, name: str | None = None) -> Dataset:
    """Read the corpus that a manifest describes; log notes on the corpus, by default to standard error."""
    dataset, notes = read_with_notes(path, name=name)
    for note in notes:
        log_note(note, dataset.name)
    return dataset


def read_with_notes(path: str | Path, *, name: str | None = None) -> tuple[Dataset, list[str]]:
    """Read a corpus like `read_manifest`, but return its notes instead of logging them."""
    path = Path(path)
    if path.is_dir():
        path = path / FILE_NAME
    file = display_name(path)
    manifest = parse_manifest(read_text(path), file)
    notes = Notes()
    files = _ManifestFiles(manifest.language_pair, path.parent, file, notes)
    references, systems = ([part.name for part in parts] for parts in (manifest.references, manifest.systems))
    corpus = DocumentCorpus(manifest.language_pair, frozenset(references), tuple(systems), notes)
    for document in files.documents(manifest.source):
        corpus.add_source(manifest.source, document)
    for part in (*manifest.references, *manifest.systems):
        corpus.add_translations(part, files.documents(part))
    for part, layout in manifest.assessments:
        for table, text in files.texts(part, ("cp1252",)):
            corpus.add_assessments(list(parse_assessments(text, table, layout)), table)
    dataset = assemble(corpus.records(), name or path.resolve().parent.name, file)
    if not len(dataset):
        raise DataError("no system has an output for any source, expected at least one", file=file)
    return dataset, notes.lines()


@dataclass
class _ManifestFiles:
    """Finds, decodes and parses the files that a manifest names, noting irregularities."""

    language_pair: str
    folder: Path
    manifest_file: str
    notes: Notes

    def paths(self, part: ManifestPart) -> list[Path]:
        """Return the files that a part's paths and patterns match; a folder matches all its visible files."""
        paths: list[Path] = []
        for pattern in part.paths:
            try:
                files = _matching(self.folder, pattern)
            except (OSError, ValueError) as error:
                reason = (error.strerror if isinstance(error, OSError) else None) or error
                what = f"{part}: expected a path, found {shown(pattern)} ({printable(str(reason))[:100]})"
                raise DataError(what, file=self.manifest_file) from None
            if not files:
                where = display_name(self.folder / pattern)
                raise DataError(f"{part}: expected files, found none at {where}", file=self.manifest_file)
            paths += files
        return list(dict.fromkeys(paths))

    def texts(self, part: ManifestPart, fallbacks: Sequence[str]) -> list[tuple[str, str]]:
        """Return the name and text of each file; files of unknown encoding are assumed to share one encoding."""
        raws = [(display_name(path), read_bytes(path)) for path in self.paths(part)]
        declared = [part.encoding or declared_encoding(raw, file) for file, raw in raws]
        unknown = [(file, raw) for (file, raw), name in zip(raws, declared, strict=True) if name is None]
        common = self.guess(unknown, part, fallbacks) if unknown else None
        texts = []
        for (file, raw), name in zip(raws, declared, strict=True):
            text = decode(raw, file, with_superset(name) if name else common or "utf-8", replace=part.replace)
            if part.replace and "\ufffd" in text:
                self.notes.add(part, f"characters that are not {name} and were replaced", text.count("\ufffd"), file)
            texts.append((file, text))
        return texts

    def guess(self, files: Sequence[tuple[str, bytes]], part: ManifestPart, fallbacks: Sequence[str]) -> str | None:
        """Return the first encoding that is valid for all `files`, or None; add a note if the encoding is uncertain."""
        used = common_encoding([raw for _, raw in files], ["utf-8", *fallbacks])
        non_ascii = [(file, raw) for file, raw in files if not raw.isascii()]
        if used in fallbacks:
            what = f"files not in UTF-8, read as {used}; if this is correct, specify the encoding"
            self.notes.add(part, what, len(non_ascii), non_ascii[0][0])
        elif (
            used and non_ascii and "gb2312" in fallbacks and common_encoding([raw for _, raw in non_ascii], ["gb2312"])
        ):
            what = "files read as UTF-8 that could also be GB2312; specify the encoding"
            self.notes.add(part, what, len(non_ascii), non_ascii[0][0])
        return used

    def documents(self, part: ManifestPart) -> list[sgml.Document]:
        """Return the documents of the source, a reference or a system, and note irregularities in them."""
        source, _, target = self.language_pair.partition("-")
        fallbacks = fallback_encodings(source) if part.role == "source" else fallback_encodings(target, source)
        texts = self.texts(part, fallbacks)
        documents = [
            document for file, text in texts for document in _own(sgml.parse_documents(text, file), part, file)
        ]
        for document in documents:
            if document.stray_line:
                where = f"{document.file}:{document.stray_line}"
                self.notes.add(part, "documents with text outside of segments, which is ignored", 1, where)
            if part.role != "source" and sgml.key(document.sysid or part.name) != sgml.key(part.name):
                where = f"{document.sysid} in {document.file}:{document.line}"
                self.notes.add(part, "documents with a different name for their system", 1, where)
        return documents


def _matching(folder: Path, pattern: str) -> list[Path]:
    """Return the files that a path or pattern matches, including the files in matching folders."""
    path = folder / pattern
    if path.exists():
        matched = [path]
    else:
        if any("**" in part and part != "**" for part in path.parts):
            # from Python 3.13 on, this would mean the same as "*"
            raise ValueError("Invalid pattern: '**' can only be an entire path component")
        # pathlib matches relative patterns only
        anchor = Path(path.anchor)
        matched = list(anchor.glob(str(path.relative_to(anchor))) if Path(pattern).anchor else folder.glob(pattern))
    inside = [entry for each in matched if each.is_dir() for entry in each.iterdir() if not entry.name.startswith(".")]
    return sorted(file for file in [*matched, *inside] if file.is_file())


def _own(documents: list[sgml.Document], part: ManifestPart, file: str) -> list[sgml.Document]:
    """Return the documents of `part` from a file that may contain several sets or systems."""
    roles = next(roles for role, roles in sgml.ROLES.items() if role == part.role)
    groups = [[document for document in documents if document.role in (role, None)] for role in roles]
    groups = [group for group in groups if group]
    if not groups:
        held = ", ".join(
            f"<{name}>" for name, role in sgml.SETS.items() if role in {document.role for document in documents}
        )
        raise DataError(f"{part}: expected documents of a {part.role}, found only {held}", file=file)
    if part.role == "source":
        return groups[0]
    for group in groups:
        own = [document for document in group if sgml.key(document.sysid or "") == sgml.key(part.name)]
        nameless = next((document for document in group if not document.sysid), None)
        if own and nameless is not None:
            what = "document without sysid; expected one, because the file contains several systems"
            raise DataError(what, file=file, line=nameless.line)
        if own:
            return own
    systems = {sgml.key(document.sysid or ""): document.sysid or "" for document in groups[0]}
    if len(systems) > 1:
        listed = ", ".join(map(shown, list(systems.values())[:8])) + nearest(part.name, systems.values())
        raise DataError(f"{part}: expected documents with the sysid {shown(part.name)}, found only {listed}", file=file)
    return groups[0]
