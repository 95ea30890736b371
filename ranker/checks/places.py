"""Positions of the faults that checks find: in the output or, if something is missing there, in the source."""

from __future__ import annotations

import functools
import itertools
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from ranker.checks.numbers import positions
from ranker.checks.texts import blanked, compiled, names_of, tables
from ranker.corpora.languages import LanguagePair, is_language

WHOLE = ("copy", "language")
ABSENT = "nothing"
"""Word that takes the place of items where one side of an arrow has none, as in ``51 -> nothing``."""


class FaultPlace(NamedTuple):
    """Characters [start, end) of a fault in the text of `side`, ``target`` or ``source``; None without a position."""

    side: str
    start: int | None
    end: int | None


def with_places(failed: pd.DataFrame, sources: Sequence[str]) -> pd.DataFrame:
    """Return failed checks, one row per position, with the columns of marked errors; `sources` has each row's source.

    ``side`` is ``target``, or ``source`` where an output lacks something; ``start`` and ``end`` count characters, and
    are missing where a fault has no position, as in an empty output.
    """
    rows: list[int] = []
    places: list[FaultPlace] = []
    columns = (failed[name].tolist() for name in ("check", "found", "text", "lp"))
    for number, (check, found, text, lp, source) in enumerate(zip(*columns, sources, strict=True)):
        of_check = list(
            dict.fromkeys(_places(check, found, {"target": text, "source": source}, LanguagePair(lp or "")))
        )
        places += of_check or [FaultPlace("target", None, None)]
        rows += [number] * max(len(of_check), 1)
    table = failed.iloc[rows].reset_index(drop=True)
    return table.assign(
        rater="ranker",
        **{name: pd.array([getattr(place, name) for place in places], dtype="Int64") for name in ("start", "end")},
        severity="major",
        category=table["check"],
        side=[place.side for place in places],
    )


def _places(check: str, found: str, texts: dict[str, str], pair: LanguagePair) -> Iterator[FaultPlace]:
    text = texts["target"]
    if check in WHOLE:
        bare = text.strip()
        yield FaultPlace("target", text.find(bare), text.find(bare) + len(bare))
    elif check in ("refusal", "preamble"):
        yield from _all(re.escape(found), text, "target", most=1)
    elif check == "mixed":
        yield from _all(f"(?i){_spaced(found)}", blanked(text), "target", most=1)
    elif check == "repetition":
        unit = _spaced(found.rpartition(" (")[0])
        yield from _all(rf"(?i){unit}((?:[\W_]*{unit})+)", blanked(text), "target", group=1, most=1)
    elif check != "truncation" and " -> " in found:
        missing, extra = ([] if side == ABSENT else _items(check, side) for side in found.split(" -> ", 1))
        for side, items in (("target", extra), ("source", [] if extra else missing)):
            for item in items:
                places = [
                    *_all(_pattern(check, item, pair.target if side == "target" else pair.source), texts[side], side)
                ]
                said = positions(texts[side], item) if check == "numbers" and not places else ()
                yield from (*places, *(FaultPlace(side, start, end) for start, end in said))


def _items(check: str, listed: str) -> list[str]:
    # bold text and names of links may hold commas
    return compiled(tables()["kept"][check]).findall(listed) if check == "markup" else listed.split(", ")


def _spaced(words: str) -> str:
    """Return a regex for the characters of `words` with any white space or punctuation between them."""
    return r"[\W_]*".join(map(re.escape, "".join(words.split())))


def _pattern(check: str, item: str, language: str | None) -> str:
    """Return a regex for the ways in which a text may write an item that a check found."""
    if check == "numbers":
        whole, _, decimals = item.partition(".")
        digits = r"[.,٬'’\u00a0\u202f ]?".join(map(_digit, whole))
        fraction = f"[.,٫]{''.join(map(_digit, decimals))}" if decimals else ""
        return rf"(?<!\d){digits}{fraction}(?!\d)"
    if check in ("dates", "units"):
        spoken = language if language and is_language(language) else ""
        groups = (names_of(check, group, spoken) for group in tables()[check])
        return next((compiled(names[item]).pattern for names in groups if item in names), re.escape(item))
    tag = item.startswith("<") and item.endswith(">")
    return rf"(?i){re.escape(item[:-1])}(?:\s[^<>]*)?/?>" if tag else f"(?i){re.escape(item)}"


@functools.cache
def _zeros() -> list[int]:
    """Return the code points of the digit zero in all scripts, each followed by those of the other digits."""
    return [code for code in range(sys.maxunicode) if unicodedata.decimal(chr(code), None) == 0]


def _digit(digit: str) -> str:
    """Return a regex for a digit in all scripts."""
    return f"[{''.join(chr(zero + int(digit)) for zero in _zeros())}]"


def _all(pattern: str, text: str, side: str, *, group: int = 0, most: int | None = None) -> Iterator[FaultPlace]:
    """Yield where a pattern matches in a text: the first `most` matches, without leading white space."""
    for match in itertools.islice(re.finditer(pattern, text), most):
        found = match[group]
        if found.strip():
            yield FaultPlace(side, match.start(group) + len(found) - len(found.lstrip()), match.end(group))
