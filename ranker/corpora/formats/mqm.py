"""Tab-separated errors marked by MQM raters, one per line: a corpus with texts, marked errors and penalties.

The first line names the columns: ``system``, ``doc``, ``seg_id`` (or ``doc_seg_id`` or ``global_seg_id``),
``rater``, ``source``, ``target``, ``category``, ``severity``; other columns are ignored. Names in camel case, such as
``docSegId``, are those in snake case. Rows with the severity ``HOTW-test`` say whether a rater found an error that was
put into the text to test attention; they are left out, which a note says. The marks ``<v>`` and ``</v>``
around an error are taken out of the texts and become its place; an error without them has none. A system called
``ref``, ``refA``, ``ref-B`` or ``Human-A`` is a person: its output is a reference, and a candidate.

Penalties are those of Freitag et al. (2021), section 3: major 5, minor 1, but 0.1 for minor punctuation, 25 for major
non-translation, else 0; critical counts as major; summed over a rater's errors of an output and averaged over its
raters (`ranker.corpora.severity_weights.penalties`). Other weights of severities, and of categories, can be given.
Ratings: ``mqm_total``, the parts ``mqm_accuracy``, ``mqm_fluency``, ``mqm_style``, ``mqm_terminology`` and
``mqm_other`` (non-translation among them), ``mqm_fluency_style``, and the number of raters ``mqm_n``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ranker.corpora.formats.tables import table_rows
from ranker.corpora.marked_errors import NO_ERROR, SIDES, MarkedError
from ranker.corpora.records import Candidate, Record, first_repeated, shown
from ranker.corpora.severity_weights import all_weights, checked_weight
from ranker.errors import DataError, counted, log_note

_REQUIRED = ("system", "rater", "source", "target", "category", "severity")
_SEGMENT = ("global_seg_id", "seg_id", "doc_seg_id")
_MARK = re.compile(r"</?v>")
_PERSON = re.compile(r"(ref(erence)?[-._]?[A-Z0-9]?|human[-._][A-Z0-9])\Z", re.IGNORECASE)
_NONE = ("no-error", "no error", "none", "")
_ATTENTION_CHECK = "hotw-test"
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_mqm(header: list[str]) -> bool:
    """True if the columns are those of an MQM error file."""
    return {"system", "target", "category", "severity"} <= {*map(_column_name, header)}


def _column_name(name: str) -> str:
    """Return the name of a column in snake case."""
    return _CAMEL_CASE.sub("_", name.strip()).lower()


@dataclass
class _Segment:
    record: Record
    outputs: dict[str, tuple[Candidate, int]] = field(default_factory=dict)
    """Candidates, with the first line of each."""


def parse_mqm(text: str, file: str, severity_weights: Mapping[str, float] | None = None) -> list[Record]:
    r"""Parse MQM errors; `text` has lines that end in ``\n``."""
    weights = all_weights(severity_weights)
    rows = table_rows(text, file, "\t", quoted=False)
    header = [*map(_column_name, next(rows)[1])]
    for name in _REQUIRED:
        if name not in header:
            what = f"column {name!r} is missing; expected {', '.join(_REQUIRED)} and seg_id, found {shown(header)}"
            raise DataError(what, file=file, line=1)
    twice = first_repeated(name for name in header if name)
    if twice is not None:
        raise DataError(f"column {shown(twice)} is duplicated; rename or remove one column", file=file, line=1)
    segment_column = next((name for name in _SEGMENT if name in header), None)
    if segment_column is None:
        raise DataError(f"column 'seg_id' is missing; expected one of {', '.join(_SEGMENT)}", file=file, line=1)
    segments: dict[tuple[str, str], _Segment] = {}
    uneven: list[int] = []
    checks: list[int] = []
    for line, fields in rows:
        row = dict(zip(header, fields, strict=True))
        if row["severity"].strip().lower() == _ATTENTION_CHECK:
            checks.append(line)
            continue
        _add(segments, row, segment_column, weights, file, line)
        if any(_MARK.findall(row[name]) not in ([], ["<v>", "</v>"]) for name in SIDES):
            uneven.append(line)
    if checks:
        what = f"{counted(len(checks), 'attention check')} (severity HOTW-test) left out"
        log_note(f"{what} (the first on line {checks[0]})", file)
    if uneven:
        what = f"{counted(len(uneven), 'error')} not marked by one <v> and one </v> after it"
        how = "the place is from the first <v> to the last </v>, or none"
        log_note(f"{what} (the first on line {uneven[0]}): {how}", file)
    return [segment.record for segment in segments.values()]


def _add(
    segments: dict[tuple[str, str], _Segment],
    row: Mapping[str, str],
    segment_column: str,
    weights: Mapping[str, float],
    file: str,
    line: int,
) -> None:
    for name in ("system", "rater", segment_column):
        if not row[name].strip():
            raise DataError(f"{name}: expected a name, found {shown(row[name])}", file=file, line=line)
    system, rater, segment_id = (row[name].strip() for name in ("system", "rater", segment_column))
    doc = row.get("doc", "").strip()
    source, target = (_MARK.sub("", row[name]) for name in ("source", "target"))
    key = (doc, segment_id)
    segment = segments.get(key)
    if segment is None:
        # segments are numbered over all documents, or within each
        seg_id = f"{doc}:{segment_id}" if segment_column == "doc_seg_id" else segment_id
        record = Record(source, [], [], doc=doc or None, seg_id=seg_id, line=line, reference_names=[])
        segment = segments[key] = _Segment(record)
    elif segment.record.source.split() != source.split():
        what = f"source of segment {shown(segment_id)} differs from line {segment.record.line}; expected the same text"
        raise DataError(what, file=file, line=line)
    if system not in segment.outputs:
        candidate = Candidate(system, target, is_reference=bool(_PERSON.match(system)))
        segment.outputs[system] = candidate, line
        segment.record.candidates.append(candidate)
        if candidate.is_reference:
            segment.record.references.append(target)
            segment.record.reference_names = [*(segment.record.reference_names or ()), system]
    output, first = segment.outputs[system]
    if output.text.split() != target.split():
        what = f"target of system {shown(system)} differs from line {first}; expected the same text"
        raise DataError(what, file=file, line=line)
    if not row["severity"].strip() and row["category"].strip().lower() not in _NONE:
        what = f"expected a severity for the error {shown(row['category'].strip())}, or no category, found nothing"
        raise DataError(f"severity: {what}", file=file, line=line)
    severity = NO_ERROR if row["severity"].strip().lower() in _NONE else row["severity"].strip().lower()
    category = "" if severity == NO_ERROR else row["category"].strip()
    checked_weight(severity, category, weights, file, line)
    side, whole = (SIDES[1], segment.record.source) if "<v>" not in row["target"] else (SIDES[0], output.text)
    start, end = _place(row[side], whole)
    output.errors.append(MarkedError(severity, start, end, category, rater, SIDES[0] if start is None else side))


def _place(marked: str, text: str) -> tuple[int, int] | tuple[None, None]:
    """Return the place in `text` of the span between the first and last tag in `marked`, whatever the white space."""
    before, opening, rest = marked.partition("<v>")
    inside, closing, _ = rest.rpartition("</v>")
    if not opening or not closing:
        return None, None
    start, length = len(_MARK.sub("", before)), len(_MARK.sub("", inside))
    plain = _MARK.sub("", marked)
    if plain == text:
        return start, start + length
    filled = [at for at, character in enumerate(text) if not character.isspace()]
    first, last = (len("".join(plain[:end].split())) for end in (start, start + length))
    begin = filled[first] if first < len(filled) else len(text)
    return begin, filled[last - 1] + 1 if last > first else begin
