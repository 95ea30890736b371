"""Exports of annotation tools, read as flat records like the rows of a table.

Label Studio (JSON): tasks ``{"data": {...}, "annotations": [{"completed_by": 1, "result": [...]}]}``. ``data`` has the
names of columns; of the results, ratings, numbers and choices that are numbers become ratings called by their
``from_name``, and a pairwise choice, or a choice where ``data`` has two texts, says which of them is preferred. Labels
of a part of the text, and choices about that part, become marked errors: a word such as ``major`` is the severity, the
other the category; choices called ``missing`` are an error without a place. A
ranking of a list of items, ``{"id": "...", "title": SYSTEM, "body": TEXT}``, prefers each to those after it. JSON-MIN
and CSV have rows of columns; `without_bookkeeping` leaves what the tool adds.

Pearmut (the file of downloaded annotations): ``{campaign: [{"user_id": "...", "item": [...], "annotation": [...]}]}``,
or its log, one of these entries per line. Scores become ratings called ``score``, and error spans marked errors; items
to welcome users or to test attention are not read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from ranker.corpora.column_names import canonical
from ranker.corpora.formats.error_spans import Place, note_lost_places, place_of_units, units_of
from ranker.corpora.formats.tables import Columns
from ranker.corpora.marked_errors import SIDES
from ranker.corpora.records import number_in, shown
from ranker.corpora.severity_weights import WEIGHTS
from ranker.errors import DataError
from ranker.storage.plain_data import typed

_NOT_JUDGED = ("welcome_", "random_", "goodbye_")
_SIDES = {"left": "a", "right": "b"}
_SEVERITIES = {name for name in WEIGHTS if name and ":" not in name}
_BOOKKEEPING = ("id", "annotation_id", "created_at", "updated_at", "lead_time")


class _Value(msgspec.Struct):
    start: Any = None
    end: Any = None
    text: Any = None
    labels: list[str] = []
    selected: str | None = None
    choices: list[str] = []
    rating: float | None = None
    number: float | None = None
    ranker: dict[str, list[str]] | None = None


class _Result(msgspec.Struct):
    value: _Value
    from_name: str = ""
    to_name: Any = None
    id: Any = None


class _Annotation(msgspec.Struct):
    result: list[_Result]
    completed_by: Any = None
    was_cancelled: bool = False


class _Task(msgspec.Struct):
    """A task of Label Studio."""

    data: dict[str, Any]
    annotations: list[_Annotation]


class _Ranked(msgspec.Struct):
    """One item of a ranked list."""

    id: str
    title: str = ""
    body: str = ""


class _Item(msgspec.Struct):
    tgt: dict[str, str]
    src: str = ""
    ref: str | None = None
    item_id: Any = None


class _Span(msgspec.Struct):
    start_i: Any = None
    end_i: Any = None
    severity: str | None = None
    category: str | None = None


class _Judgement(msgspec.Struct):
    score: float | None = None
    error_spans: list[_Span] = []


class _Entry(msgspec.Struct):
    """Judgements of several items by one person, in Pearmut's format."""

    user_id: Any
    item: list[_Item]
    annotation: list[dict[str, _Judgement] | None]


def exported(values: Iterable[tuple[int, Any]], file: str) -> list[tuple[int, dict[str, Any]]]:
    """Return (line, row) pairs, one per judge of a candidate or comparison; an empty list for other JSON values."""
    answers: list[tuple[int, dict[str, Any], bool]] = []
    scored: dict[tuple[str, ...], tuple[int, dict[str, Any], bool]] = {}
    words: dict[str, str] = {}
    lost: list[int] = []
    tool, first = "", 0
    for line, value in values:
        if not isinstance(value, dict):
            return []
        first = first or line
        if isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list):
            tool = "Label Studio"
        elif _is_entry(value) or _is_campaign(value):
            tool = "Pearmut"
        else:
            return []
        try:
            if tool == "Label Studio":
                answers += [(line, *answer) for answer in _of_label_studio(value, words, lost, line)]
            else:
                entries = [value] if _is_entry(value) else [entry for log in value.values() for entry in log]
                for key, row, is_answer in (answer for entry in entries for answer in _of_pearmut(entry, lost, line)):
                    # people may change their mind, and the last answer counts
                    if is_answer or key not in scored:
                        scored[key] = line, row, is_answer
        except TypeError as error:
            raise DataError(f"read as an export of {tool}: {error}", file=file, line=line) from None
    note_lost_places(lost, file)
    # in Pearmut, people who neither score nor mark found no errors, unless scores were asked for
    by_marks = not any(row["score"] is not None for _, row, _ in scored.values())
    answers += [answer for answer in scored.values() if answer[2] or by_marks]
    marked = any(row.get("errors") for _, row, _ in answers)
    rows = [
        (line, {key: cell for key, cell in row.items() if marked or key != "errors"})
        for line, row, is_answer in answers
        if marked or is_answer
    ]
    if tool and not rows:
        found = "".join(f"; the answers of {name!r} are words such as {word!r}" for name, word in words.items())
        what = f"read as an export of {tool}: no answer is a rating, a number, a comparison or a ranking{found}"
        advice = "export finished annotations; for grades that are words, use numbers as the values of the choices"
        raise DataError(f"{what}: {advice}", file=file, line=first)
    return rows


def is_flat_export(header: Collection[str]) -> bool:
    """True if column names, or keys of a record, are those of Label Studio's JSON-MIN or CSV exports."""
    return {"annotation_id", "lead_time"} <= {*header}


def without_bookkeeping(table: Columns) -> Columns:
    """Drop the columns that Label Studio adds to a flat export, and read its annotators as judges."""
    kept = [(name, values) for name, values in zip(table.header, table.values, strict=True) if name not in _BOOKKEEPING]
    names = ["judge" if name == "annotator" else name for name, _ in kept]
    return replace(table, header=names, values=[values for _, values in kept])


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and {"user_id", "item"} <= {*value}


def _is_campaign(value: dict[str, Any]) -> bool:
    logs = [log for log in value.values() if log]
    return bool(logs) and all(isinstance(log, list) and _is_entry(log[0]) for log in logs)


def _of_label_studio(
    value: dict[str, Any], words: dict[str, str], lost: list[int], line: int
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the rows of a task of Label Studio, each with True if it holds answers other than marked errors.

    Choices without a meaning are added to `words`, and `line` to `lost` if the place of a mark is not in the text.
    """
    task = typed(value, _Task)
    texts = {canonical(key): text for key, text in task.data.items()}
    is_pair = "text" not in texts
    for annotation in task.annotations:
        if annotation.was_cancelled:
            continue
        by = annotation.completed_by
        row = {**task.data, "judge": by.get("email", by.get("id")) if isinstance(by, dict) else by}
        marks: dict[Any, dict[str, Any]] = {}
        displaced: set[Any] = set()
        answered = False
        for number, result in enumerate(annotation.result):
            answer = result.value
            score = answer.number if answer.rating is None else answer.rating
            name = "preferred" if is_pair and answer.choices else result.from_name
            if answer.labels or answer.start is not None or result.from_name == "missing":
                key = number if result.id is None else result.id
                mark = marks.setdefault(key, {"severity": "", "category": ""})
                for word in (*answer.labels, *answer.choices):
                    is_severity = result.from_name == "severity" or word.strip().lower() in _SEVERITIES
                    mark["severity" if is_severity else "category"] = word
                side = SIDES[1] if canonical(str(result.to_name)) == "source" else SIDES[0]
                start, end = _place(texts.get("source" if side == SIDES[1] else "text"), answer)
                mark |= {"side": side, "start": start, "end": end}
                if start is None and answer.start is not None:
                    displaced.add(key)
            elif answer.ranker is not None:
                for ranked in _ranked(task.data, answer.ranker, row):
                    yield ranked, True
            elif answer.selected is not None:
                row["preferred"], answered = _SIDES.get(answer.selected, answer.selected), True
            elif score is not None or name == "preferred" or any(map(math.isfinite, map(number_in, answer.choices))):
                if name in row or len(answer.choices) > 1:
                    raise TypeError(
                        f"found several answers or data called {shown(name)}, expected one answer by each annotator"
                    )
                word = answer.choices[0] if answer.choices else ""
                row[name] = word if name == "preferred" else number_in(word) if score is None else score
                answered = True
            elif answer.choices:
                words.setdefault(result.from_name, answer.choices[0])
        lost += [line] * len(displaced)
        if not is_pair:
            row["errors"] = [*marks.values()]
        if answered or not is_pair:
            yield row, answered


def _place(text: object, answer: _Value) -> Place:
    """Return the place of a labelled span in characters, even if Label Studio counted it in UTF-16 units."""
    start, end = answer.start, answer.end
    if not isinstance(text, str) or type(start) is not int or type(end) is not int:
        return None, None
    in_units = place_of_units(text, start, end - 1)
    beyond = not 0 <= start <= end <= len(text)
    if beyond or (isinstance(answer.text, str) and text[start:end] != answer.text == text[slice(*in_units)]):
        return in_units
    return start, end


def _ranked(data: dict[str, Any], ranker: dict[str, list[str]], row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one comparison for every two items of a ranking."""
    if len(ranker) != 1:
        raise TypeError("found items sorted into several lists, expected a single ranking")
    (order,) = ranker.values()
    lists = [typed(value, list[_Ranked]) for value in data.values() if isinstance(value, list)]
    items = next(({item.id: item for item in one} for one in lists if {*order} <= {item.id for item in one}), None)
    if items is None:
        raise TypeError("found a ranking of items that are not in the data of the task: export the task again")
    others = {key: value for key, value in row.items() if not isinstance(value, list)}
    for better, worse in itertools.combinations([items[name] for name in order], 2):
        sides = {"chosen": better.body, "rejected": worse.body, "chosen_system": better.title or better.id}
        yield {**others, **sides, "rejected_system": worse.title or worse.id}


def _of_pearmut(
    raw: dict[str, Any], lost: list[int], line: int
) -> Iterator[tuple[tuple[str, ...], dict[str, Any], bool]]:
    """Yield each answer of an entry of Pearmut: the key of its item, its row, and True if it has a score or a mark.

    `line` is added to `lost` if the place of a mark is not in the text.
    """
    if "annotation" not in raw or str(raw.get("item_i")).startswith(_NOT_JUDGED):
        return
    entry = typed(raw, _Entry)
    for item, annotation in zip(entry.item, entry.annotation, strict=False):
        for system, judged in (annotation or {}).items():
            is_answer = judged.score is not None or bool(judged.error_spans)
            if not is_answer and system not in item.tgt:
                continue
            if system not in item.tgt:
                raise TypeError(f"found a score of system {system!r} without its translation: export the task again")
            text = item.tgt[system]
            row = {"source": item.src, "reference": item.ref, "seg_id": item.item_id}
            row |= {"system": system, "text": text, "judge": entry.user_id}
            marks = []
            for span in judged.error_spans:
                start, end = place_of_units(text, span.start_i, span.end_i, line_breaks=False)
                after = len(units_of(text, line_breaks=False))
                if start is None and any(unit not in (None, after) for unit in (span.start_i, span.end_i)):
                    lost.append(line)
                place = {"start": start, "end": end}
                marks.append({**place, "severity": span.severity or "", "category": span.category or ""})
            yield tuple(map(str, row.values())), {**row, "score": judged.score, "errors": marks}, is_answer
