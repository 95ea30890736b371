"""What the tests of damaged corpora share: sound corpora to damage, and what every refusal must be."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ranker.corpora.formats.reading import read_dataset
from ranker.errors import DataError

# a message must say one of these: what was expected, or what to do
GUIDES = (
    r"expected|convert|remove|rename|copy|keep one|needs a unique one|cut off|no such file|omit|delete|too "
    r"deeply|digits"
)
INTERNAL = r"Traceback|\bException|\w+Error\b|object at 0x|<class|NoneType|dtype|\bNone\b"


def refusal(read: Callable[[], object], file: object, line: int | None = None, says: str = "") -> str:
    """Return the message with which `read` refuses, after checking all that every message must be."""
    with pytest.raises(DataError) as refused:
        read()
    message = str(refused.value)
    where = f"{file}:{line}:" if line else f"{file}:"
    assert message.startswith(where), f"{message!r} does not start with {where!r}"
    assert message.isprintable(), message
    assert len(message) < 420 + len(str(file)), message[:500]
    what = message[len(where) :]
    assert re.search(GUIDES, what), message
    assert not re.search(INTERNAL, what), message
    assert re.search(says, what), f"{message!r} does not say {says!r}"
    return message


def damaged(path: Path, raw: bytes | str, line: int | None = None, says: str = "") -> str:
    path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return refusal(lambda: read_dataset(path), path, line, says)


def calls_of(run: Callable[[], object]) -> int:
    """Count the calls of functions in `run`, those of Python too: unlike seconds, they do not depend on the machine."""
    count = 0

    def note(_frame: FrameType, event: str, _function: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def record(number: int) -> dict[str, Any]:
    return {
        "lp": "zh-en",
        "doc": "d",
        "seg_id": number,
        "source": f"句 {number}",
        "references": [f"reference {number}", "another"],
        "reference_names": ["r1", "r2"],
        "candidates": [
            {"system": "A", "text": f"output {number}", "human": {"fluency": {"j1": 3, "j2": 4.5}, "mqm": -1}},
            {"system": "B", "text": "output", "human": {}, "is_reference": False},
        ],
    }


RECORDS = [record(number) for number in range(1, 5)]
LINES = [json.dumps(item, ensure_ascii=False) for item in RECORDS]
JSONL = "\n".join(LINES) + "\n"
ARRAY = "[\n" + ",\n".join(LINES) + "\n]\n"
HEADER = ["lp", "seg_id", "source", "reference", "system", "judge", "fluency", "text"]
ROWS = [
    ["zh-en", str(number), f"句 {number}", f"reference, {number}", system, "j1", f"{number}.5", f"output {number}"]
    for number in range(1, 4)
    for system in "AB"
]


def table(delimiter: str, rows: list[list[str]] | None = None) -> str:
    written = io.StringIO()
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n", quoting=quoting, quotechar='"')
    writer.writerows([HEADER, *ROWS] if rows is None else rows)
    return written.getvalue()


CSV, TSV = table(","), table("\t")
VALID = {"x.jsonl": JSONL, "x.json": ARRAY, "x.csv": CSV, "x.tsv": TSV}
