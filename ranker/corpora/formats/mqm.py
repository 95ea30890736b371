"""Errors marked by MQM raters, tab-separated, one per line: a corpus with texts and penalties.

The first line names the columns: ``system``, ``doc``, ``seg_id`` (or ``doc_id``, ``doc_seg_id``, ``global_seg_id``),
``rater``, ``source``, ``target``, ``category``, ``severity``; others are passed over. The marks ``<v>`` and ``</v>``
around an error are taken out of the texts. A system called ``ref``, ``refA``, ``ref-B`` or ``Human-A`` is a person: its
output is a reference, and a candidate.

Penalties are those of Freitag et al. (2021), section 3: major 5, minor 1, but 0.1 for minor punctuation, 25 for
non-translation, else 0; summed over a rater's errors of an output and averaged over its raters. Other weights of
severities can be given, also of those that the paper does not have, such as critical. Ratings: ``mqm_total``,
the parts ``mqm_accuracy``, ``mqm_fluency``, ``mqm_style``, ``mqm_terminology`` and ``mqm_other`` (non-translation among
them), ``mqm_fluency_style``, and the number of raters ``mqm_n``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ranker.corpora.formats.tables import table_rows
from ranker.corpora.records import Candidate, Record, first_repeated, number_in, shown
from ranker.errors import DataError, OptionError

_REQUIRED = ("system", "rater", "source", "target", "category", "severity")
_SEGMENT = ("global_seg_id", "seg_id", "doc_seg_id")
_MARK = re.compile(r"</?v>")
_PERSON = re.compile(r"(ref(erence)?[-._]?[A-Z0-9]?|human[-._][A-Z0-9])\Z", re.IGNORECASE)
_WEIGHTS = {"major": 5.0, "minor": 1.0}
_NONE = ("neutral", "no-error", "no error", "none", "")
_HEAVIEST = 1_000_000
_PARTS = ("accuracy", "fluency", "style", "terminology")


def is_mqm(header: list[str]) -> bool:
    """True if the columns are those of a file of MQM errors."""
    return {"system", "target", "category", "severity"} <= {name.strip().lower() for name in header}


@dataclass
class _Output:
    text: str
    line: int
    raters: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass
class _Segment:
    record: Record
    outputs: dict[str, _Output] = field(default_factory=dict)


def parse_mqm(text: str, file: str, severity_weights: Mapping[str, float] | None = None) -> list[Record]:
    r"""Parse MQM errors; `text` has lines that end in ``\n``."""
    given = {name.strip().lower(): weight for name, weight in (severity_weights or {}).items()}
    rows = table_rows(text, file, "\t", quoted=False)
    header = [name.strip().lower() for name in next(rows)[1]]
    for name in _REQUIRED:
        if name not in header:
            what = f"column {name!r} is missing; expected {', '.join(_REQUIRED)} and seg_id, found {shown(header)}"
            raise DataError(what, file=file, line=1)
    twice = first_repeated(name for name in header if name)
    if twice is not None:
        raise DataError(f"column {shown(twice)} is duplicated; remove one of them", file=file, line=1)
    segment_column = next((name for name in _SEGMENT if name in header), None)
    if segment_column is None:
        raise DataError(f"column 'seg_id' is missing; expected one of {', '.join(_SEGMENT)}", file=file, line=1)
    segments: dict[tuple[str, str], _Segment] = {}
    for line, fields in rows:
        _add(segments, dict(zip(header, fields, strict=True)), segment_column, given, file, line)
    return [_finished(segment) for segment in segments.values()]


def _add(
    segments: dict[tuple[str, str], _Segment],
    row: Mapping[str, str],
    segment_column: str,
    given: Mapping[str, float],
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
        record = Record(source, [], [], doc=doc or None, seg_id=seg_id, line=line)
        segment = segments[key] = _Segment(record)
    elif segment.record.source.split() != source.split():
        what = f"source of segment {shown(segment_id)} differs from line {segment.record.line}; expected the same"
        raise DataError(what, file=file, line=line)
    output = segment.outputs.setdefault(system, _Output(target, line))
    if output.text.split() != target.split():
        what = f"target of system {shown(system)} differs from line {output.line}; expected the same"
        raise DataError(what, file=file, line=line)
    penalties = output.raters.setdefault(rater, {})
    part, penalty = _penalty(row["category"], row["severity"], given, file, line)
    penalties[part] = penalties.get(part, 0.0) + penalty


def _penalty(category: str, severity: str, given: Mapping[str, float], file: str, line: int) -> tuple[str, float]:
    """Return the part of the penalty of an error, and its weight, by `given` if it is in there."""
    levels = [part.strip().lower() for part in category.split("/")]
    weight = severity.strip().lower()
    part = levels[0] if levels[0] in _PARTS else "other"
    if levels[0].startswith("non-translation") and weight == "major":
        return "other", 25.0
    if weight == "minor" and levels[:2] == ["fluency", "punctuation"]:
        return part, 0.1
    weights = {**_WEIGHTS, **dict.fromkeys(_NONE, 0.0), **given}
    if weight not in weights:
        what = f"severity: expected {', '.join(filter(None, weights))}, found {shown(severity)}"
        advice = f"ranker data convert FILE NEW --severity-weights {shlex.quote(f'{weight[:30]}=25')}"
        raise DataError(f"{what}; give it a weight, as in: {advice}", file=file, line=line)
    return part, weights[weight]


def weights_of(texts: Iterable[str]) -> dict[str, float]:
    """Return the weights of severities that texts such as ``critical=25,neutral=0`` give."""
    weights: dict[str, float] = {}
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        name, equals, number = text.rpartition("=")
        weight = number_in(number)
        if not name.strip() or not equals or not 0 <= weight <= _HEAVIEST:
            what = f"expected SEVERITY=WEIGHT, such as critical=25, with a weight from 0 to {_HEAVIEST:,}"
            raise OptionError(f"--severity-weights: {what}, found {shown(text)}")
        weights[name.strip().lower()] = weight
    return weights


def _finished(segment: _Segment) -> Record:
    record = segment.record
    record.reference_names = []
    for system, output in segment.outputs.items():
        person = bool(_PERSON.match(system))
        if person:
            record.references.append(output.text)
            record.reference_names.append(system)
        count = len(output.raters)
        means = {
            part: sum(penalties.get(part, 0.0) for penalties in output.raters.values()) / count
            for part in (*_PARTS, "other")
        }
        total = sum(sum(penalties.values()) for penalties in output.raters.values()) / count
        values = {
            "mqm_n": float(count),
            "mqm_total": total,
            "mqm_fluency_style": means["fluency"] + means["style"],
            **{f"mqm_{part}": value for part, value in means.items()},
        }
        ratings: list[tuple[str, str | None, float]] = [(kind, None, value) for kind, value in values.items()]
        record.candidates.append(Candidate(system, output.text, ratings, is_reference=person))
    return record
