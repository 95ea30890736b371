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

from ranker.corpora.column_names import HYPOTHESIS, canonical

_NOT_JUDGED = ("welcome_", "random_", "goodbye_")
_SIDES = {"left": "a", "right": "b"}


def exported(values: Iterable[tuple[int, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Return a row per candidate and judge, or per comparison and judge, with its line; none of other JSON."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for line, value in values:
        if not isinstance(value, dict):
            return []
        if isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list):
            rows += [(line, row) for row in _of_label_studio(value)]
        elif all(isinstance(log, list) and _is_entry(log[0]) for log in value.values() if log):
            rows += [(line, row) for row in _of_pearmut(value)]
        else:
            return []
    return rows


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and {"user_id", "item"} <= {*value}


def _of_label_studio(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    data = task["data"]
    is_pair = not {"text", *HYPOTHESIS} & {canonical(key) for key in data}
    for annotation in task["annotations"]:
        by = annotation.get("completed_by")
        row = {**data, "judge": by.get("email", by.get("id")) if isinstance(by, dict) else by}
        for result in () if annotation.get("was_cancelled") else annotation["result"]:
            value = result["value"]
            if "selected" in value:
                row["preferred"] = _SIDES.get(value["selected"], value["selected"])
            elif is_pair and value.get("choices"):
                row["preferred"] = value["choices"][0]
            elif (number := value.get("rating", value.get("number"))) is not None:
                row[result["from_name"]] = number
        if len(row) > len(data) + 1:
            yield row


def _of_pearmut(campaigns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for entry in (entry for log in campaigns.values() for entry in log if {"item", "annotation"} <= {*entry}):
        if str(entry.get("item_i")).startswith(_NOT_JUDGED):
            continue
        for item, annotation in zip(entry["item"], entry["annotation"], strict=False):
            for system, judged in (annotation or {}).items():
                if judged.get("score") is None:
                    continue
                row = {"source": item.get("src", ""), "reference": item.get("ref"), "seg_id": item.get("item_id")}
                row |= {"system": system, "text": item["tgt"][system], "judge": entry["user_id"]}
                # people may change their mind, and the last score counts
                rows[tuple(map(str, row.values()))] = {**row, "score": judged["score"]}
    yield from rows.values()
