"""JSON and TOML from files that people or other programs wrote: one way to read both, with limits.

Errors of one line name the place of text in neither format, duplicate keys, NaN and Infinity, numbers of thousands of
digits, nesting of hundreds of levels, and files far larger than their purpose needs.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar, cast

import msgspec

from ranker.errors import DataError
from ranker.files import printable

T = TypeVar("T")

MOST_CHARACTERS = 1 << 26
"""Longest text that is read by `parse_json`; records of corpora are read one at a time."""
_DEEPEST = 100
_MOST_DIGITS = 308


class RefusedError(Exception):
    """Error for JSON that Python accepts but this project refuses; the message says what is expected."""


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedError(f"expected a JSON value, found {name} (omit unknown numbers)")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise RefusedError(f"number {printable(digits)[:30]} is out of range, expected -1.8e308 to 1.8e308")
    return value


def _whole(digits: str) -> int:
    # versions of msgspec differ in how they read a number that no float can hold
    if len(digits) > _MOST_DIGITS:
        raise ValueError(digits)
    return int(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise RefusedError(f"key {printable(twice)[:30]!r} is duplicated in an object; rename or remove one key")
    return value


DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_unique)
"""Raises the errors of `json.JSONDecoder`, and `RefusedError`; numbers may overflow to infinity."""
_FINITE = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_unique
)


def reason_of(error: ValueError | RecursionError | RefusedError) -> str:
    """Return the reason why `DECODER` refused a JSON text, without line and column."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg[0].lower() + error.msg[1:].removesuffix(" at").rstrip(": ")
    if isinstance(error, RefusedError):
        return str(error)
    # Python converts no whole number of thousands of digits
    return "too deeply nested" if isinstance(error, RecursionError) else "a number has too many digits"


def parse_json(text: str, file: str, *, most: int = MOST_CHARACTERS) -> Any:
    """Parse a JSON document."""
    if len(text) > most:
        raise DataError(f"has {len(text):,} characters, expected at most {most:,}", file=file)
    try:
        value, end = _FINITE.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))
    except json.JSONDecodeError as error:
        what = f"not JSON: {reason_of(error)}"
        raise DataError(what, file=file, line=error.lineno, column=error.colno) from None
    except RefusedError as error:
        raise DataError(reason_of(error), file=file) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON as expected: {reason_of(error)}", file=file) from None
    if text[end:].strip(" \t\r\n"):
        line = text.count("\n", 0, end) + 1
        raise DataError(
            "not a single JSON value: more text follows; remove it, or call a file with one value per line .jsonl",
            file=file,
            line=line,
        )
    if isinstance(value, dict | list):
        _check_depth(value, file)
    return value


def _check_depth(value: Any, file: str) -> None:
    """Refuse a document that is nested too deeply for recursive code."""
    level = [value]
    for _ in range(_DEEPEST):
        parts = [container.values() if isinstance(container, dict) else container for container in level]
        level = [container for part in parts for container in part if isinstance(container, dict | list)]
        if not level:
            return
    raise DataError(f"not JSON as expected: too deeply nested, expected at most {_DEEPEST} levels", file=file)


def record(kind: type[T], fields: Mapping[str, Any]) -> T:
    """Make an instance of a dataclass from a JSON object; lists become tuples."""
    for name in {*fields} - {field.name for field in dataclasses.fields(cast(Any, kind))}:
        raise KeyError(name)
    return cast(T, typed(fields, kind))


def typed(value: Any, kind: Any) -> Any:
    """Convert a JSON value to an annotated type; a TypeError names the place where the value does not fit."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError) as error:
        raise TypeError(printable(str(error).replace("`", "'"))) from None


def with_nan(value: Any) -> Any:
    """Replace every null in a JSON value by NaN, for formats that write NaN as null."""
    if isinstance(value, dict):
        return {key: with_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_nan(item) for item in value]
    return math.nan if value is None else value


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """Parse a TOML document."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        what = f"not TOML, expected lines such as key = 'text': {printable(str(error).split(' (at ')[0])[:200]}"
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        raise DataError(what, file=file, line=line, column=column) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not TOML as expected: {reason_of(error)}", file=file) from None
