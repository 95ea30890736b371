"""Exports of annotation tools as flat records, the rows of a table.

Label Studio (JSON): tasks ``{"data": {...}, "annotations": [{"completed_by": 1, "result": [...]}]}``. ``data`` has the
names of columns; of the results, ratings, numbers and choices that are numbers become ratings called by their
``from_name``, and a pairwise choice, or a choice where ``data`` has two texts, says which of them is preferred. A
ranking of a list of items, ``{"id": "...", "title": SYSTEM, "body": TEXT}``, prefers each to those after it. JSON-MIN
and CSV have rows of columns; `without_bookkeeping` leaves what the tool adds.

Pearmut (the file of downloaded annotations): ``{campaign: [{"user_id": "...", "item": [...], "annotation": [...]}]}``,
or its log, one of these entries per line. Scores become ratings called ``score``; error spans, and items to welcome
users or to test attention, are not read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from ranker.corpora.column_names import HYPOTHESIS, canonical
from ranker.corpora.formats.tables import Columns
from ranker.corpora.records import number_in
from ranker.errors import DataError
from ranker.storage.plain_data import typed

_NOT_JUDGED = ("welcome_", "random_", "goodbye_")
_SIDES = {"left": "a", "right": "b"}
_BOOKKEEPING = ("id", "annotation_id", "created_at", "updated_at", "lead_time")


class _Value(msgspec.Struct):
    selected: str | None = None
    choices: list[str] = []
    rating: float | None = None
    number: float | None = None
    ranker: dict[str, list[str]] | None = None


class _Result(msgspec.Struct):
    value: _Value
    from_name: str = ""


class _Annotation(msgspec.Struct):
    result: list[_Result]
    completed_by: Any = None
    was_cancelled: bool = False


class _Task(msgspec.Struct):
    """A task of Label Studio."""

    data: dict[str, Any]
    annotations: list[_Annotation]


class _Ranked(msgspec.Struct):
    """An item of a list that is ranked."""

    id: str
    title: str = ""
    body: str = ""


class _Item(msgspec.Struct):
    tgt: dict[str, str]
    src: str = ""
    ref: str | None = None
    item_id: Any = None


class _Judgement(msgspec.Struct):
    score: float | None = None


class _Entry(msgspec.Struct):
    """Judgements of some items by one person, in Pearmut."""

    user_id: Any
    item: list[_Item]
    annotation: list[dict[str, _Judgement] | None]


def exported(values: Iterable[tuple[int, Any]], file: str) -> list[tuple[int, dict[str, Any]]]:
    """Return rows, one per candidate or comparison and judge, with their lines; empty for other JSON."""
    rows: list[tuple[int, dict[str, Any]]] = []
    scored: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
    words: dict[str, str] = {}
    tool, first = "", 0
    for line, value in values:
        if not isinstance(value, dict):
            return []
        first = first or line
        if isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list):
            tool = "Label Studio"
        elif _is_entry(value) or all(isinstance(log, list) and _is_entry(log[0]) for log in value.values() if log):
            tool = "Pearmut"
        else:
            return []
        try:
            if tool == "Label Studio":
                rows += [(line, row) for row in _of_label_studio(value, words)]
            else:
                entries = [value] if _is_entry(value) else [entry for log in value.values() for entry in log]
                # people may change their mind, and the last score counts
                scored |= {key: (line, row) for entry in entries for key, row in _of_pearmut(entry)}
        except TypeError as error:
            raise DataError(f"read as an export of {tool}: {error}", file=file, line=line) from None
    rows += scored.values()
    if tool and not rows:
        found = "".join(f"; the answers of {name!r} are words such as {word!r}" for name, word in words.items())
        what = f"read as an export of {tool}: no answer is a rating, a number, a comparison or a ranking{found}"
        advice = "export finished annotations; for grades that are words, use numbers as the values of the choices"
        raise DataError(f"{what}: {advice}", file=file, line=first)
    return rows


def is_flat_export(header: Collection[str]) -> bool:
    """True if the columns, or the keys of a record, are those of Label Studio's JSON-MIN or CSV."""
    return {"annotation_id", "lead_time"} <= {*header}


def without_bookkeeping(table: Columns) -> Columns:
    """Return a flat export of Label Studio without the columns that it adds, and with its annotators as judges."""
    kept = [(name, values) for name, values in zip(table.header, table.values, strict=True) if name not in _BOOKKEEPING]
    names = ["judge" if name == "annotator" else name for name, _ in kept]
    return replace(table, header=names, values=[values for _, values in kept])


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and {"user_id", "item"} <= {*value}


def _of_label_studio(value: dict[str, Any], words: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a task; choices without a meaning here are added to `words`."""
    task = typed(value, _Task)
    is_pair = not {"text", *HYPOTHESIS} & {canonical(key) for key in task.data}
    for annotation in task.annotations:
        by = annotation.completed_by
        row = {**task.data, "judge": by.get("email", by.get("id")) if isinstance(by, dict) else by}
        for result in () if annotation.was_cancelled else annotation.result:
            answer = result.value
            number = answer.number if answer.rating is None else answer.rating
            if answer.ranker is not None:
                yield from _ranked(task.data, answer.ranker, row)
            elif answer.selected is not None:
                row["preferred"] = _SIDES.get(answer.selected, answer.selected)
            elif is_pair and answer.choices:
                row["preferred"] = answer.choices[0]
            elif number is not None or (answer.choices and math.isfinite(number_in(answer.choices[0]))):
                row[result.from_name] = number_in(answer.choices[0]) if number is None else number
            elif answer.choices:
                words.setdefault(result.from_name, answer.choices[0])
        if len(row) > len(task.data) + 1:
            yield row


def _ranked(data: dict[str, Any], ranker: dict[str, list[str]], row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a comparison of every two items of a ranking."""
    if len(ranker) != 1:
        raise TypeError("items are sorted into several lists, expected one ranking")
    (order,) = ranker.values()
    lists = [typed(value, list[_Ranked]) for value in data.values() if isinstance(value, list)]
    items = next(({item.id: item for item in one} for one in lists if {*order} <= {item.id for item in one}), None)
    if items is None:
        raise TypeError("the ranked items are not in the data of their task")
    others = {key: value for key, value in row.items() if not isinstance(value, list)}
    for better, worse in itertools.combinations([items[name] for name in order], 2):
        sides = {"chosen": better.body, "rejected": worse.body, "chosen_system": better.title or better.id}
        yield {**others, **sides, "rejected_system": worse.title or worse.id}


def _of_pearmut(raw: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the scores of an entry, with the keys of their items."""
    if "annotation" not in raw or str(raw.get("item_i")).startswith(_NOT_JUDGED):
        return
    entry = typed(raw, _Entry)
    for item, annotation in zip(entry.item, entry.annotation, strict=False):
        for system, judged in (annotation or {}).items():
            if judged.score is None:
                continue
            if system not in item.tgt:
                raise TypeError(f"a score of {system!r}, which is not among the systems of its item")
            row = {"source": item.src, "reference": item.ref, "seg_id": item.item_id}
            row |= {"system": system, "text": item.tgt[system], "judge": entry.user_id}
            yield tuple(map(str, row.values())), {**row, "score": judged.score}
