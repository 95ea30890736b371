"""Values of JSON and JSONL text, each with its line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from ranker.corpora.records import shown
from ranker.errors import DataError
from ranker.storage.plain_data import DECODER, RefusedError, reason_of


def json_values(text: str, file: str) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) for each record in `text`, which is JSONL, a JSON list of records or a single record."""
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    lists = [number for number in filled[:2] if lines[number - 1].lstrip().startswith("[")]
    if lists[:1] == filled[:1] and not (len(lists) > 1 and _is_json(lines[lists[0] - 1])):
        yield from _array(text, file)
        return
    if len(filled) > 1 and not any(_is_json(lines[number - 1]) for number in filled[:2]):
        # a single record written over several lines
        value, end = _decode(text, 0, file, 1)
        _expect_end(text, end, file, 1)
        yield filled[0], value
        return
    for number in filled:
        yield number, json_line(lines[number - 1], file, number)


def json_line(text: str, file: str, line: int) -> Any:
    """Return the value of one line of JSONL."""
    value, end = _decode(text, 0, file, line)
    _expect_end(text, end, file, line)
    return value


def _array(text: str, file: str) -> Iterator[tuple[int, Any]]:
    """Yield (line, element) for each element of a top-level array."""
    start = text.index("[")
    line, counted = 1, 0
    position = _skip_space(text, start + 1)
    more = text[position : position + 1] != "]"
    while more:
        line += text.count("\n", counted, position)
        counted = position
        value, end = _decode(text, position, file, line)
        yield line, value
        end = _skip_space(text, end)
        separator = text[end : end + 1]
        if separator not in ("]", ","):
            _fail_at(text, end, file, 1, "expected ',' or ']' after a record, found")
        more = separator == ","
        position = _skip_space(text, end + 1) if more else end
    _expect_end(text, position + 1, file, 1)


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\n\r":
        position += 1
    return position


def _expect_end(text: str, position: int, file: str, first_line: int) -> None:
    if text[position:].strip():
        rest = _skip_space(text, position)
        _fail_at(text, rest, file, first_line, "expected nothing after one record or a list of records, found")


def _fail_at(text: str, position: int, file: str, first_line: int, what: str) -> NoReturn:
    """Raise an error about the text at `position` in `text`, whose first line is number `first_line`."""
    actual = shown(text[position : position + 31].split("\n")[0]) if position < len(text) else "the end"
    line = first_line + text.count("\n", 0, position)
    raise DataError(f"{what} {actual}", file=file, line=line, column=position - text.rfind("\n", 0, position))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _decode(text: str, position: int, file: str, first_line: int) -> tuple[Any, int]:
    """Decode the value at `position`, which is on line `first_line`; return it and the position after it."""
    start, position = position, _skip_space(text, position)
    first_line += text.count("\n", start, position)
    try:
        return DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        what = f"not JSON (is the file cut off or badly quoted?): {reason_of(error)} at"
        _fail_at(text, error.pos, file, first_line - text.count("\n", 0, position), what)
    except RefusedError as error:
        raise DataError(str(error), file=file, line=first_line) from None
    except ValueError:
        # Python converts no whole number of thousands of digits
        raise DataError("found a number with too many digits: write fewer digits", file=file, line=first_line) from None
    except RecursionError:
        raise DataError("found a record nested too deeply: use fewer levels", file=file, line=first_line) from None
