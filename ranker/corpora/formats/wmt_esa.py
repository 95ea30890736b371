"""Human evaluation of the general translation task of WMT 2025: error span annotations, one source a line as JSON.

::

    {"doc_id": "cs-de_DE_#_news_#_blesk.cz.112043_#_0", "src_text": "...", "tgt_text": {"refA": "...", "A": "..."},
     "scores": {"A": {"human1": 80, "annotator1": "cesdeub307", "errors1": [...], "human2": 95, ...}}}

``doc_id`` is made of language pair, domain, document and segment. Every ``human1``, ``human2``, ... is a rating of the
kind ``esa``, from 0 to 100, by the annotator of the same number. A system called ``refA`` is a person: its output is a
reference, and a candidate. Marked errors and other keys are passed over. Lines whose ``scores`` are empty were not
judged; their outputs are read all the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ranker.corpora.formats.json_lines import json_values
from ranker.corpora.records import Candidate, Record, shown
from ranker.errors import DataError, nearest

_PERSON = re.compile(r"ref[A-Z0-9]?\Z")
_SCORE = re.compile(r"human(\d{1,3})\Z")


def is_wmt_esa(text: str) -> bool:
    """Whether a file that is JSON begins with such a record."""
    first = text.lstrip().split("\n", 1)[0]
    return all(f'"{key}"' in first for key in ("doc_id", "src_text", "tgt_text"))


def parse_wmt_esa(text: str, file: str) -> list[Record]:
    r"""Parse such a file; `text` has lines that end in ``\n``.

    Raises
    ------
    DataError
        With file and line: a key that is missing, a ``doc_id`` of another form, a score that is no number or of a
        system without an output.
    """
    return [_record(value, file, line) for line, value in json_values(text, file)]


def _record(value: Any, file: str, line: int) -> Record:
    def expect(kind: type, key: str, of: Any) -> Any:
        found = of.get(key) if isinstance(of, dict) else None
        if not isinstance(found, kind):
            what = "a text" if kind is str else "an object {system: ...}"
            raise DataError(f"{key}: expected {what}, found {shown(found)}", file=file, line=line)
        return found

    parts = expect(str, "doc_id", value).split("_#_")
    if len(parts) != 4 or not all(parts):
        what = f"doc_id: expected PAIR_#_DOMAIN_#_DOCUMENT_#_SEGMENT, found {shown(value['doc_id'])}"
        raise DataError(what, file=file, line=line)
    pair, _, document, segment = parts
    outputs: dict[str, Candidate] = {}
    for system in expect(dict, "tgt_text", value):
        output = expect(str, system, value["tgt_text"])
        outputs[system] = Candidate(system, output, is_reference=bool(_PERSON.match(system)))
    for system in expect(dict, "scores", value):
        if system not in outputs:
            what = f"scores: expected a system of tgt_text, found {shown(system)}{nearest(system, outputs)}"
            raise DataError(what, file=file, line=line)
        outputs[system].ratings.extend(_ratings(expect(dict, system, value["scores"]), file, line))
    references = [output for output in outputs.values() if output.is_reference]
    return Record(
        expect(str, "src_text", value),
        [output.text for output in references],
        [*outputs.values()],
        lp=pair,
        doc=document,
        seg_id=f"{document}:{segment}",
        reference_names=[output.system for output in references],
        line=line,
    )


def _ratings(scores: Mapping[str, Any], file: str, line: int) -> list[tuple[str, str | None, float]]:
    """Return the ratings of one output; one whom `scores` name twice judges the second time under another name."""
    found: dict[str, float] = {}
    for key, score in scores.items():
        number = _SCORE.match(key)
        if number is None or score is None:
            continue
        if type(score) not in (int, float) or not math.isfinite(score):
            raise DataError(f"{key}: expected a number, found {shown(score)}", file=file, line=line)
        judge = str(scores.get(f"annotator{number[1]}") or f"round {number[1]}")
        found[f"{judge} (round {number[1]})" if judge in found else judge] = float(score)
    return [("esa", judge, score) for judge, score in found.items()]
