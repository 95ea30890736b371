r"""Escaping of texts and names from data in printed output and in files for programs: JSON, CSV and Markdown.

JSON escapes characters that a terminal would obey. Spreadsheets run text that begins like a formula, so CSV puts an
apostrophe before such text, unless ``RANKER_CSV_FORMULAS`` is 1, and another one before a formula that follows
apostrophes. Readers remove one apostrophe if no text of the file begins like a formula. Markdown text is escaped so
that it makes no table cell, element, link or code.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ranker.files import printable

if TYPE_CHECKING:
    import pyarrow as pa

_BEGINS = r"[=+\-@\t\r]"
_FORMULA, _ESCAPED = re.compile(f"'*{_BEGINS}"), f"^'('*{_BEGINS})"
# in JSON these are only inside strings
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_MARKDOWN = re.compile(r"[\\|`]|<(?=[A-Za-z/!?])|(?<=])\(")


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON text, with invisible characters escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows, the first of which is the header, as CSV text; None becomes an empty cell."""
    table = [[*row] for row in rows]
    if os.environ.get("RANKER_CSV_FORMULAS") == "1":
        import pyarrow as pa

        texts = [cell for row in table[1:] for cell in row if isinstance(cell, str)]
        escaped = looks_escaped([pa.array(texts, pa.large_string())])
    else:
        escaped = True
    lines: list[str] = []
    # the csv module quotes what holds a part of its line terminator
    writer = csv.writer(SimpleNamespace(write=lambda line: lines.append(line[:-2])), lineterminator="\r\n")
    for row in table:
        writer.writerow("" if cell is None else csv_cell(cell) if escaped else cell for cell in row)
    return "".join(f"{line}\n" for line in lines)


def csv_cell(value: object) -> object:
    """Return the CSV cell for a value: text escaped so that no spreadsheet runs it as a formula, or a number."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def looks_escaped(columns: Iterable[pa.Array | pa.ChunkedArray]) -> bool:
    """True if texts look escaped by `csv_cell`: some formulas follow an apostrophe, and no text begins as a formula."""
    import pyarrow.compute as pc

    escaped = False
    for column in columns:
        if pc.any(pc.match_substring_regex(column, f"^{_BEGINS}")).as_py():
            return False
        escaped = escaped or bool(pc.any(pc.match_substring_regex(column, _ESCAPED)).as_py())
    return escaped


def csv_unescaped(columns: Iterable[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
    """Undo the escaping of `csv_cell` in the columns of a CSV file."""
    import pyarrow.compute as pc

    texts = [*columns]
    if not looks_escaped(texts):
        return texts
    return [pc.replace_substring_regex(column, _ESCAPED, r"\1") for column in texts]


def markdown_text(text: str) -> str:
    """Escape `text` for Markdown, on one line, for a paragraph or a table cell."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(text))


def to_json_value(value: Any) -> Any:
    """Convert a value to one that JSON can hold: records become objects, arrays lists, and NaN null."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
