r"""Texts and names from data in what is printed or written for programs: JSON, CSV and Markdown.

JSON escapes what a terminal would obey. Spreadsheets run text that begins like a formula, so CSV puts an apostrophe
before it, unless ``RANKER_CSV_FORMULAS`` is 1. In Markdown a name makes no cell, element, link or code of its own.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable

from ranker.files import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# in JSON these are only inside strings
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_MARKDOWN = re.compile(r"[\\|`]|<(?=[A-Za-z/!?])|(?<=])\(")


def json_text(value: object, indent: int | None = None) -> str:
    """Return `value` as JSON."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV; None is an empty cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows(map(_csv_cell, row) for row in rows)
    return buffer.getvalue()


def _csv_cell(value: object) -> object:
    """Return what CSV holds for a value: text that no spreadsheet takes for a formula, and numbers as they are."""
    if isinstance(value, str) and value.startswith(_FORMULA) and os.environ.get("RANKER_CSV_FORMULAS") != "1":
        return f"'{value}"
    return "" if value is None else value


def markdown_text(text: str) -> str:
    """Return `text` on one line, as text of a paragraph or of a cell."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(text))
