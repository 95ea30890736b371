"""Places of marked errors as annotation tools count them, and files of marked errors for these tools.

Programs in browsers count UTF-16 units, of which characters beyond U+FFFF have two, and include the last one. Pearmut
does not count line breaks; one more unit, after the text, marks missing text.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.marked_errors import NO_ERROR, SIDES, MarkedError, errors_by_candidate
from ranker.corpora.records import shown
from ranker.errors import DataError, counted, log_note

_MQM = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")
_ONE_PAIR = ("mqm", "pearmut")
_RATINGS: Mapping[str, Sequence[str]] = {"mqm": (), "esa": ("esa",), "pearmut": ("score", "esa")}
"""Kinds of ratings that a format represents; others represent all kinds."""
_ANSWERS = ("pearmut", "label-studio")
"""Formats of annotations, which may be unfinished."""
_PENALTIES = "mqm_"
"""First part of the names of ratings that are computed from marked errors."""
_UNKNOWN = "unknown"
"""Name of raters, and of domains and documents, in files that need one."""
Place = tuple[int, int] | tuple[None, None]


def units_of(text: str, *, line_breaks: bool = True) -> list[int]:
    """Return the character index of each UTF-16 unit of a text, with or without its line breaks."""
    return [
        at
        for at, character in enumerate(text)
        for _ in range(2 if character > "\uffff" else 1)
        if line_breaks or character != "\n"
    ]


def place_of_units(text: str, first: object, last: object, *, line_breaks: bool = True) -> Place:
    """Convert an error's first and last UTF-16 unit to its start and end in characters; None twice if out of range."""
    units = units_of(text, line_breaks=line_breaks)
    if type(first) is int and type(last) is int and 0 <= first <= last < len(units):
        return units[first], units[last] + 1
    return None, None


def note_lost_places(lines: Sequence[int], file: str) -> None:
    """Log a note on marked errors, on the given `lines`, whose places are dropped because they are not in the text."""
    if lines:
        what = f"{counted(len(lines), 'marked error')} with a place that is not in the text"
        log_note(f"{what} (the first on line {lines[0]}): kept without a place", file)


def units_of_place(text: str, mark: MarkedError, *, line_breaks: bool = True) -> tuple[int, int] | None:
    """Return the first and last UTF-16 unit that an error covers, or None if it covers no characters of the target."""
    units = units_of(text, line_breaks=line_breaks)
    inside = [index for index, at in enumerate(units) if (mark.start or 0) <= at < (mark.end or 0)]
    return (inside[0], inside[-1]) if inside and mark.side == SIDES[0] else None


def rows_of_outputs(dataset: Dataset, marked: Dataset) -> Int64Array:
    """Return the row in `dataset` of each output of `marked`, matched by ``lp``, ``seg_id`` and ``system``.

    -1 for outputs that `dataset` lacks, -2 for those whose text differs, or whose source differs and has marked errors.
    """
    in_source = marked.errors["candidate"][(marked.errors["side"] == SIDES[1]).to_numpy(bool)]
    here, outputs = (
        each.sources[["lp", "seg_id", "text"]]
        .rename(columns={"text": "source"})
        .iloc[each.candidate_source]
        .reset_index(drop=True)
        .join(each.candidates[["system", "text"]])
        for each in (dataset, marked)
    )
    keys = ["lp", "seg_id", "system"]
    found = outputs.merge(here.assign(row=np.arange(len(here))), on=keys, how="left", suffixes=("", "_here"))
    text, source = ((found[name] == found[f"{name}_here"]).fillna(False).to_numpy(bool) for name in ("text", "source"))
    same = text & (source | ~np.isin(np.arange(len(found)), in_source))
    row = found["row"].fillna(-1).to_numpy(np.int64)
    return np.where(same | (row < 0), row, -2)


def with_errors_of(dataset: Dataset, marked: Dataset) -> Dataset:
    """Add the errors marked in `marked` to the same outputs in `dataset`."""
    row = rows_of_outputs(dataset, marked)
    wrong = [at for at in np.unique(marked.errors["candidate"].to_numpy()).tolist() if row[at] < 0]
    if wrong:
        first = marked.sources.iloc[marked.candidate_source[wrong[0]]]
        place = f"{first['lp']}:{first['seg_id']}:{marked.candidates['system'][wrong[0]]}"
        why = "is not in" if row[wrong[0]] == -1 else "has another text in"
        what = f"{counted(len(wrong), 'output')} with marked errors cannot be added; the first, {place}, {why}"
        raise DataError(f"{what} {dataset.name}: expected the same outputs", file=marked.name)
    added = marked.errors.assign(candidate=row[marked.errors["candidate"].to_numpy()])
    errors = pd.concat([dataset.errors, added], ignore_index=True)
    return dataclasses.replace(dataset, errors=errors.sort_values("candidate", kind="stable", ignore_index=True))


def write_marked(dataset: Dataset, form: str) -> bytes:
    """Return the bytes of a file in the format `form`, one of `FORMS`, for a data set with marked errors."""
    if not len(dataset.errors):
        raise DataError("contains no marked errors, which this format requires: use another format", file=dataset.name)
    if form in _ONE_PAIR and len(dataset.language_pairs) > 1:
        what = f"contains {len(dataset.language_pairs)} language pairs, which this format cannot represent"
        raise DataError(f"{what}: choose one with --lp", file=dataset.name)
    ratings = dataset.ratings[~dataset.ratings["kind"].str.startswith(_PENALTIES)]
    kept = ratings["judge"].notna() & ratings["kind"].isin(_RATINGS.get(form, ratings["kind"]))
    if not kept.all():
        kinds = ", ".join(sorted({*map(shown, ratings["kind"][~kept])}))
        log_note(
            f"left out ratings, of kinds or without judges, that this format cannot represent: {kinds}", dataset.name
        )
    if form in _ANSWERS:
        _note_silent(dataset, ratings[kept], form)
    return FORMS[form](dataset).encode()


def _note_silent(dataset: Dataset, ratings: pd.DataFrame, form: str) -> None:
    """Note outputs without an error or a rating that readers of the format do not tell from unfinished ones.

    Raises
    ------
    DataError
        If all outputs are of this kind.
    """
    none = dataset.errors["severity"] == NO_ERROR
    if not none.all() and not (form == "pearmut" and len(ratings)):
        return
    looked = set(zip(*(dataset.errors.loc[none, name] for name in ("candidate", "rater")), strict=True))
    silent = len(looked - set(zip(ratings["candidate"], ratings["judge"], strict=True)))
    what = "without an error or a score, which this format does not tell from unfinished ones"
    if silent and none.all() and not len(ratings):
        raise DataError(f"contains only judgements {what}: use another format", file=dataset.name)
    if silent:
        log_note(f"left out {counted(silent, 'judgement')} {what}", dataset.name)


class _Marked:
    """A data set grouped by source, with the errors and ratings of each candidate."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        known = dataset.sources.astype(object).where(dataset.sources.notna(), None)
        self.sources: list[Any] = known.to_dict("records")
        self.systems, self.texts = (dataset.candidates[name].tolist() for name in ("system", "text"))
        self.is_reference = dataset.candidates["is_reference"].tolist()
        self.marks = errors_by_candidate(dataset.errors)
        self.ratings: dict[int, dict[str, dict[str, float]]] = {}
        rows = dataset.ratings[dataset.ratings["judge"].notna()]
        for candidate, judge, kind, value in rows.itertuples(index=False, name=None):
            self.ratings.setdefault(candidate, {}).setdefault(judge, {})[kind] = value

    def candidates(self, source: int) -> range:
        """Return the row numbers of a source's candidates."""
        return range(*self.dataset.candidate_offsets[source : source + 2])

    def references(self, source: int) -> list[str]:
        """Return the texts of a source's references."""
        return (
            self.dataset.references["text"].iloc[slice(*self.dataset.reference_offsets[source : source + 2])].tolist()
        )

    def raters(self, candidate: int) -> Iterator[tuple[str, list[MarkedError], dict[str, float]]]:
        """Yield everyone who looked at or rated a candidate, with the errors they marked and their ratings."""
        marks, ratings = self.marks.get(candidate, []), self.ratings.get(candidate, {})
        for rater in dict.fromkeys([*(mark.rater for mark in marks), *ratings]):
            marked = [mark for mark in marks if mark.rater == rater and mark.severity != NO_ERROR]
            yield rater, marked, ratings.get(rater, {})


def _mqm(dataset: Dataset) -> str:
    """Format errors as a table for Google's MQM viewer, one row per error."""
    marked = _Marked(dataset)
    lost = int((dataset.errors["start"].isna() & (dataset.errors["side"] == SIDES[1])).sum())
    if lost:
        what = f"{counted(lost, 'error')} of the source without a place: written as errors of the translation"
        log_note(f"{what}, because this format has no errors of the source without one", dataset.name)
    documents: dict[object, int] = {}
    lines = ["\t".join(_MQM)]
    for source, row in enumerate(marked.sources):
        number = documents[row["doc"]] = documents.get(row["doc"], 0) + 1
        for candidate in marked.candidates(source):
            for mark in marked.marks.get(candidate, ()):
                texts = {SIDES[0]: marked.texts[candidate], SIDES[1]: row["text"]}
                if any(part in text for part in ("<v>", "</v>") for text in texts.values()):
                    _refuse(dataset, "texts with <v> or </v>")
                if mark.start is not None:
                    text = texts[mark.side]
                    inside = f"<v>{text[mark.start : mark.end]}</v>"
                    texts[mark.side] = f"{text[: mark.start]}{inside}{text[mark.end :]}"
                if not mark.severity:
                    _refuse(dataset, "errors without a severity")
                kind = ("No-error" if mark.severity == NO_ERROR else mark.category, mark.severity.capitalize())
                key = (marked.systems[candidate], row["doc"] or "", number, row["seg_id"], mark.rater or _UNKNOWN)
                cells = [str(cell) for cell in (*key, texts[SIDES[1]], texts[SIDES[0]], *kind)]
                if any(re.search(r"[\t\n\r]", cell) for cell in cells):
                    _refuse(dataset, "tabs or line breaks")
                lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def _refuse(dataset: Dataset, what: str) -> NoReturn:
    raise DataError(f"contains {what}, which this format cannot represent: use JSONL", file=dataset.name)


def _note_unplaced(dataset: Dataset) -> None:
    """Log a note on marked errors in places that formats without errors of the source do not have."""
    errors = dataset.errors[dataset.errors["severity"] != NO_ERROR]
    lost = int(((errors["side"] == SIDES[1]) | (errors["start"] == errors["end"]).fillna(False)).sum())
    if lost:
        what = f"{counted(lost, 'error')} in the source, or between characters"
        log_note(f"{what}: written as missing content, because this format has no such places", dataset.name)


def _esa(dataset: Dataset) -> str:
    """Format error span annotations as in WMT 2025, one source per line."""
    marked = _Marked(dataset)
    _note_unplaced(dataset)
    records = []
    for source, row in enumerate(marked.sources):
        document = row["doc"] or _UNKNOWN
        if row["lp"] is None:
            raise DataError(
                "has sources without a language pair, which this format needs: give --lp", file=dataset.name
            )
        scores: dict[str, dict[str, Any]] = {}
        for candidate in marked.candidates(source):
            given = scores[marked.systems[candidate]] = {}
            for number, (rater, marks, ratings) in enumerate(marked.raters(candidate), 1):
                spans = [_span(marked.texts[candidate], mark) for mark in marks]
                score = _plain(ratings.get("esa"))
                given |= {f"human{number}": score, f"annotator{number}": rater, f"errors{number}": spans}
        texts = {marked.systems[candidate]: marked.texts[candidate] for candidate in marked.candidates(source)}
        of_people = [
            marked.texts[candidate] for candidate in marked.candidates(source) if marked.is_reference[candidate]
        ]
        others = [text for text in marked.references(source) if text not in of_people]
        names = iter(name for name in (f"ref{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ") if name not in texts)
        key = row["seg_id"].removeprefix(f"{document}:")
        if "_#_" in document or "_#_" in key:
            _refuse(dataset, "documents or ids with _#_")
        records.append(
            {
                "doc_id": "_#_".join((row["lp"], _UNKNOWN, document, key)),
                "src_text": row["text"],
                "tgt_text": {**dict(zip(names, others, strict=False)), **texts},
                "scores": scores,
            }
        )
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def _span(text: str, mark: MarkedError, missing: object = "missing", *, line_breaks: bool = True) -> dict[str, Any]:
    first, last = units_of_place(text, mark, line_breaks=line_breaks) or (missing, missing)
    return {"start_i": first, "end_i": last, "severity": mark.severity, "category": mark.category or None}


def _plain(value: float | None) -> float | int | None:
    return value if value is None or value != int(value) else int(value)


def _pearmut(dataset: Dataset) -> str:
    """Format annotations like Pearmut's downloads, one entry per source and rater."""
    marked = _Marked(dataset)
    _note_unplaced(dataset)
    entries = []
    for source, row in enumerate(marked.sources):
        item = {"item_id": row["seg_id"], "src": row["text"]}
        item |= dict(zip(["ref"], marked.references(source), strict=False))
        texts = {marked.systems[candidate]: marked.texts[candidate] for candidate in marked.candidates(source)}
        judged = [
            (rater, candidate, marks, ratings)
            for candidate in marked.candidates(source)
            for rater, marks, ratings in marked.raters(candidate)
        ]
        for rater, group in groupby(sorted(judged, key=lambda one: one[0]), key=lambda one: one[0]):
            annotation = {}
            for _, candidate, marks, ratings in group:
                text = marked.texts[candidate]
                end = len(units_of(text, line_breaks=False))
                spans = [_span(text, mark, end, line_breaks=False) for mark in marks]
                score = _plain(ratings.get("score", ratings.get("esa")))
                annotation[marked.systems[candidate]] = {"score": score, "error_spans": spans}
            entry = {"user_id": rater or _UNKNOWN, "item_i": source, "item": [{**item, "tgt": texts}]}
            entries.append({**entry, "annotation": [annotation]})
    return json.dumps({dataset.name: entries}, ensure_ascii=False, indent=1) + "\n"


def _label_studio(dataset: Dataset) -> str:
    """Format a data set as tasks for Label Studio, one per candidate."""
    marked = _Marked(dataset)
    tasks = []
    for source, row in enumerate(marked.sources):
        for candidate in marked.candidates(source):
            data = {key: row[key] for key in ("lp", "doc", "seg_id") if row[key] is not None}
            data |= {"source": row["text"], **dict(zip(["reference"], marked.references(source), strict=False))}
            data |= {"system": marked.systems[candidate], "text": marked.texts[candidate]}
            annotations = [
                {"completed_by": rater, "result": [*_results(data, marks, ratings)]}
                for rater, marks, ratings in marked.raters(candidate)
            ]
            tasks.append({"data": data, "annotations": annotations})
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _results(data: dict[str, Any], marks: list[MarkedError], ratings: dict[str, float]) -> Iterator[dict[str, Any]]:
    for kind, value in ratings.items():
        yield {"from_name": kind, "to_name": "text", "type": "number", "value": {"number": value}}
    for number, mark in enumerate(marks):
        where = "source" if mark.side == SIDES[1] else "text"
        words = [word for word in (mark.severity, mark.category) if word]
        about = {"id": f"e{number}", "to_name": where}
        if mark.start is None:
            yield {**about, "from_name": "missing", "type": "choices", "value": {"choices": words}}
            continue
        place = {"start": mark.start, "end": mark.end, "text": data[where][mark.start : mark.end]}
        labels = [mark.severity] if mark.severity else []
        yield {**about, "from_name": "severity", "type": "labels", "value": {**place, "labels": labels}}
        if mark.category:
            yield {**about, "from_name": "category", "type": "choices", "value": {**place, "choices": [mark.category]}}


FORMS: dict[str, Callable[[Dataset], str]] = {
    "mqm": _mqm,
    "esa": _esa,
    "pearmut": _pearmut,
    "label-studio": _label_studio,
}
"""Formats of marked errors that other programs read, by name."""
