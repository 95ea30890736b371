"""Exports of annotation tools as flat records, the rows of a table.

Label Studio (JSON): tasks ``{"data": {...}, "annotations": [{"completed_by": 1, "result": [...]}]}``. ``data`` has the
names of columns; of the results, ratings and numbers become ratings called by their ``from_name``, and a pairwise
choice, or a choice where ``data`` has two texts, says which of them is preferred.

Pearmut (the file of downloaded annotations): ``{campaign: [{"user_id": "...", "item": [...], "annotation": [...]}]}``.
Scores become ratings called ``score``; error spans, and items to welcome users or to test attention, are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ranker.corpora.column_names import HYPOTHESIS, canonical
from ranker.errors import DataError
from ranker.storage.plain_data import typed

_NOT_JUDGED = ("welcome_", "random_", "goodbye_")
_SIDES = {"left": "a", "right": "b"}


class _Value(msgspec.Struct):
    selected: str | None = None
    choices: list[str] = []
    rating: float | None = None
    number: float | None = None


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


class _Item(msgspec.Struct):
    tgt: dict[str, str]
    src: str = ""
    ref: str | None = None
    item_id: Any = None


class _Judgement(msgspec.Struct):
    score: float | None = None


class _Entry(msgspec.Struct):
    """What one person said of some items, in Pearmut."""

    user_id: Any
    item: list[_Item]
    annotation: list[dict[str, _Judgement] | None]


def exported(values: Iterable[tuple[int, Any]], file: str) -> list[tuple[int, dict[str, Any]]]:
    """Return a row per candidate and judge, or per comparison and judge, with its line; none of other JSON."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for line, value in values:
        if not isinstance(value, dict):
            return []
        if isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list):
            tool, read = "Label Studio", _of_label_studio
        elif all(isinstance(log, list) and _is_entry(log[0]) for log in value.values() if log):
            tool, read = "Pearmut", _of_pearmut
        else:
            return []
        try:
            rows += [(line, row) for row in read(value)]
        except TypeError as error:
            raise DataError(f"read as an export of {tool}: {error}", file=file, line=line) from None
    return rows


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and {"user_id", "item"} <= {*value}


def _of_label_studio(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    task = typed(value, _Task)
    is_pair = not {"text", *HYPOTHESIS} & {canonical(key) for key in task.data}
    for annotation in task.annotations:
        by = annotation.completed_by
        row = {**task.data, "judge": by.get("email", by.get("id")) if isinstance(by, dict) else by}
        for result in () if annotation.was_cancelled else annotation.result:
            answer = result.value
            number = answer.number if answer.rating is None else answer.rating
            if answer.selected is not None:
                row["preferred"] = _SIDES.get(answer.selected, answer.selected)
            elif is_pair and answer.choices:
                row["preferred"] = answer.choices[0]
            elif number is not None:
                row[result.from_name] = number
        if len(row) > len(task.data) + 1:
            yield row


def _of_pearmut(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for raw in (entry for log in value.values() for entry in log):
        if "annotation" not in raw or str(raw.get("item_i")).startswith(_NOT_JUDGED):
            continue
        entry = typed(raw, _Entry)
        for item, annotation in zip(entry.item, entry.annotation, strict=False):
            for system, judged in (annotation or {}).items():
                if judged.score is None:
                    continue
                if system not in item.tgt:
                    raise TypeError(f"a score of {system!r}, which is not among the systems of its item")
                row = {"source": item.src, "reference": item.ref, "seg_id": item.item_id}
                row |= {"system": system, "text": item.tgt[system], "judge": entry.user_id}
                # people may change their mind, and the last score counts
                rows[tuple(map(str, row.values()))] = {**row, "score": judged.score}
    yield from rows.values()
