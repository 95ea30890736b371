"""Matches the documents of the source, the references and the systems by document and segment.

A segment that a system or a reference lacks, or a reference that is empty, is left out; an empty output counts as
an output. Such gaps are counted in notes. A segment that belongs to nothing in the source is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ranker.corpora.documents import sgml
from ranker.corpora.documents.assessments import Assessment
from ranker.corpora.documents.manifest_schema import ManifestPart
from ranker.corpora.records import Candidate, Record, shown
from ranker.errors import DataError, nearest
from ranker.files import printable


class Notes:
    """Counts of irregularities in the parts of a corpus."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], dict[str, int]] = {}
        self.first: dict[tuple[str, str], str] = {}

    def add(self, part: ManifestPart, what: str, count: int, where: str) -> None:
        """Add `count` cases of the irregularity `what`, a plural noun, in a part; `where` is the place of one case."""
        counts = self.counts.setdefault((part.role, what), {})
        counts[part.name] = counts.get(part.name, 0) + count
        self.first.setdefault((part.role, what), where)

    def lines(self) -> list[str]:
        """Return one line per irregularity and role, with the counts for all parts of that role."""
        lines = []
        for (role, what), counts in self.counts.items():
            heading = role if role == "source" else f"{role}s"
            each = ", ".join(f"{name} {count:,}" for name, count in counts.items() if name)
            details = "; ".join(detail for detail in (each, f"the first: {self.first[role, what]}") if detail)
            lines.append(printable(f"{heading}: {what}: {sum(counts.values()):,} ({details})"))
        return lines


@dataclass
class _Source:
    """A source and the translations added so far; `candidates` are keyed by system name."""

    docid: str
    segment: str
    text: str
    file: str
    line: int
    references: dict[str, str] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)


@dataclass
class DocumentCorpus:
    """Builds a corpus from its parts, matching them by document and segment."""

    language_pair: str | None
    reference_names: frozenset[str]
    system_names: tuple[str, ...]
    notes: Notes
    sources: dict[tuple[str, str], _Source] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    rated: dict[tuple[int, str, str | None, str], str] = field(default_factory=dict)

    def records(self) -> list[Record]:
        """Return one record per source."""
        return [
            Record(
                source.text,
                list(source.references.values()),
                list(source.candidates.values()),
                lp=self.language_pair,
                doc=source.docid,
                # the segments of every document are numbered from 1
                seg_id=f"{source.docid}:{source.segment}",
                reference_names=list(source.references),
            )
            for source in self.sources.values()
        ]

    def add_source(self, part: ManifestPart, document: sgml.Document) -> None:
        """Add the segments of a source document."""
        docid = self.documents.setdefault(sgml.key(document.docid), document.docid)
        for segment in document.segments:
            source = _Source(docid, segment.id, segment.text, document.file, segment.line)
            first = self.sources.setdefault((sgml.key(docid), sgml.key(segment.id)), source)
            if first is not source:
                raise _stands_twice(document, segment, first.file, first.line)
            if not segment.text:
                self.notes.add(part, "empty segments", 1, f"{document.file}:{segment.line}")

    def find(self, docid: str, segment: str, file: str, line: int) -> _Source:
        """Return the source with the ids of a document and a segment, or raise an error if there is none."""
        source = self.sources.get((sgml.key(docid), sgml.key(segment)))
        if source is not None:
            return source
        known = self.documents.get(sgml.key(docid))
        what = (
            f"expected a document of the source, found {shown(docid)}{nearest(docid, self.documents.values())}"
            if known is None
            else f"expected a segment of document {shown(known)} of the source, found {shown(segment)}"
        )
        raise DataError(what, file=file, line=line)

    def add_translations(self, part: ManifestPart, documents: Sequence[sgml.Document]) -> None:
        """Add the translations of one reference or system, and note missing translations."""
        first_seen: dict[int, tuple[str, int]] = {}
        for document in documents:
            for segment in document.segments:
                source = self.find(document.docid, segment.id, document.file, segment.line)
                if id(source) in first_seen:
                    raise _stands_twice(document, segment, *first_seen[id(source)])
                first_seen[id(source)] = document.file, segment.line
                if part.role == "system":
                    is_reference = part.name in self.reference_names
                    source.candidates[part.name] = Candidate(part.name, segment.text, is_reference=is_reference)
                elif segment.text:
                    source.references[part.name] = segment.text
                else:
                    self.notes.add(part, "empty segments, skipped", 1, f"{document.file}:{segment.line}")
        for source in self.sources.values():
            if id(source) not in first_seen:
                self.notes.add(part, "missing segments", 1, f"segment {source.segment} of document {source.docid}")

    def add_assessments(self, assessments: Sequence[Assessment], file: str) -> None:
        """Add the scores of one assessment table to the candidates that they judge."""
        if not assessments:
            raise DataError(
                "contains no judgement, expected at least one: correct the file, or take it out of the manifest",
                file=file,
            )
        names = {sgml.key(name): name for name in self.system_names}
        for assessment in assessments:
            system = names.get(sgml.key(assessment.system))
            if system is None:
                raise DataError(self._unknown_system(assessment.system), file=file, line=assessment.line)
            source = self.find(assessment.doc, assessment.segment, file, assessment.line)
            candidate = source.candidates.get(system)
            if candidate is None:
                where = f"segment {shown(source.segment)} of document {shown(source.docid)}"
                what = f"system {shown(system)} has no output for {where}; expected a system that has one"
                raise DataError(what, file=file, line=assessment.line)
            rating = (id(source), system, assessment.judge, assessment.kind)
            if rating in self.rated:
                by = f" by {shown(assessment.judge)}" if assessment.judge else ""
                first = self.rated[rating]
                what = f"{shown(assessment.kind)} of system {shown(system)} is judged twice{by} (first in {first})"
                raise DataError(f"{what}; expected once by each judge", file=file, line=assessment.line)
            self.rated[rating] = f"{file}:{assessment.line}"
            candidate.ratings.append((assessment.kind, assessment.judge, assessment.value))

    def _unknown_system(self, name: str) -> str:
        if sgml.key(name) in map(sgml.key, self.reference_names):
            what = f"expected a system of the manifest, found reference {shown(name)}"
            return f"{what}; to rank it, list it under [systems] too"
        return f"expected a system of the manifest, found {shown(name)}{nearest(name, self.system_names)}"


def _stands_twice(document: sgml.Document, segment: sgml.Segment, file: str, line: int) -> DataError:
    what = f"segment {shown(segment.id)} of document {shown(document.docid)} is duplicated; remove one"
    return DataError(f"{what} (first in {file}:{line})", file=document.file, line=segment.line)
