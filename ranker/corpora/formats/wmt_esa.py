"""Human evaluation of WMT 2025's general translation task: error span annotations as JSON, one source per line.

::

    {"doc_id": "cs-de_DE_#_news_#_blesk.cz.112043_#_0", "src_text": "...", "tgt_text": {"refA": "...", "A": "..."},
     "scores": {"A": {"human1": 80, "annotator1": "cesdeub307", "errors1": [...], "human2": 95, ...}}}

``doc_id`` is made of language pair, domain, document and segment. Every ``human1``, ``human2``, ... is a rating of the
kind ``esa``, from 0 to 100, by the annotator of the same number, who marked the errors of ``errors1`` and so on:
``{"start_i": 0, "end_i": 4, "severity": "minor"}``, in UTF-16 units with the last one, or ``"missing"``. Errors with
a place that is not in the text are kept without one, and counted in a note. A system called ``refA`` is a person:
its output is a reference, and a candidate. Other keys are ignored. Lines whose ``scores`` are empty were not
judged; their outputs are read all the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ranker.corpora.formats.error_spans import note_lost_places, place_of_units
from ranker.corpora.formats.json_lines import Keys, RecordReader
from ranker.corpora.formats.json_text import json_values
from ranker.corpora.marked_errors import NO_ERROR, MarkedError
from ranker.corpora.records import Candidate, Record

_PERSON = re.compile(r"ref[A-Z0-9]?\Z")
_MISSING = "missing"
_SCORE = re.compile(r"human(\d{1,3})\Z")


def is_wmt_esa(text: str) -> bool:
    """True if a JSON file begins with an ESA record."""
    first = text.lstrip().split("\n", 1)[0]
    return all(f'"{key}"' in first for key in ("doc_id", "src_text", "tgt_text"))


def parse_wmt_esa(text: str, file: str) -> list[Record]:
    r"""Parse a file of ESA records; `text` has lines that end in ``\n``."""
    lost: list[int] = []
    records = [_record(RecordReader(file, line, Keys()), value, lost) for line, value in json_values(text, file)]
    note_lost_places(lost, file)
    return records


def _record(reader: RecordReader, value: object, lost: list[int]) -> Record:
    fields = reader.mapping(value, "record")
    parts = reader.text(fields.get("doc_id"), "doc_id").split("_#_")
    if len(parts) != 4 or not all(parts):
        reader.fail("doc_id", "PAIR_#_DOMAIN_#_DOCUMENT_#_SEGMENT", fields["doc_id"])
    pair, _, document, segment = parts
    outputs = {}
    for system, text in reader.mapping(fields.get("tgt_text"), "tgt_text").items():
        name = reader.name(system, "tgt_text")
        outputs[name] = Candidate(name, reader.text(text, name), is_reference=bool(_PERSON.match(name)))
    for system, scores in reader.mapping(fields.get("scores"), "scores").items():
        if system not in outputs:
            reader.fail("scores", "a system of tgt_text", system)
        _add_judgements(reader, outputs[system], reader.mapping(scores, system), lost)
    references = [output for output in outputs.values() if output.is_reference]
    return Record(
        reader.text(fields.get("src_text"), "src_text"),
        [output.text for output in references],
        [*outputs.values()],
        lp=pair,
        doc=document,
        seg_id=f"{document}:{segment}",
        reference_names=[output.system for output in references],
        line=reader.line,
    )


def _add_judgements(reader: RecordReader, output: Candidate, scores: Mapping[str, Any], lost: list[int]) -> None:
    """Add the ratings and errors of one output; a judge named twice in `scores` is renamed the second time."""
    by_judge: set[str] = set()
    for key, score in scores.items():
        number = _SCORE.match(key)
        errors = scores.get(f"errors{number[1]}") if number else None
        annotator = f"annotator{number[1]}" if number else ""
        if number is None or (score is None and (errors is None or scores.get(annotator) is None)):
            continue
        judge = reader.optional_text(scores, annotator, annotator) or f"round {number[1]}"
        judge = f"{judge} (round {number[1]})" if judge in by_judge else judge
        by_judge.add(judge)
        if score is not None:
            output.ratings.append(("esa", judge, reader.number(score, key)))
        if isinstance(errors, list) and (not errors or any(isinstance(item, dict) for item in errors)):
            output.errors.append(MarkedError(NO_ERROR, rater=judge))
            output.errors += [_error(reader, item, f"errors{number[1]}", judge, output.text, lost) for item in errors]


def _error(reader: RecordReader, value: object, path: str, judge: str, text: str, lost: list[int]) -> MarkedError:
    fields = reader.mapping(value, path)
    kind = next((key for key in ("category", "error_type") if fields.get(key)), "category")
    severity, category = (reader.optional_text(fields, key, path) or "" for key in ("severity", kind))
    place = fields.get("start_i"), fields.get("end_i")
    start, end = place_of_units(text, *place)
    if start is None and any(unit not in (None, _MISSING) for unit in place):
        lost.append(reader.line)
    return MarkedError(severity.lower(), start, end, category, judge)
