"""Numbers in two texts that mean the same, in any two languages."""

from __future__ import annotations

import functools
import re
from collections import Counter

from ranker.checks.texts import tables

_DATE = re.compile(r"(?<!\d)(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?!\d)")
_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+[.,]\d+(?![.,]?\d)|\d+")
_GROUPED = re.compile(r"\D\d{3}$")
_HAN = re.compile("[〇零一二三四五六七八九十两兩百千万萬亿億兆半]+")
_HAN_DIGITS = {**{digit: value for value, digit in enumerate("〇一二三四五六七八九")}, "零": 0, "两": 2, "兩": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_POWERS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_SMALLEST = 3
"""Smallest number that counts as missing from an output; one and two have too many expressions."""


def numbers(text: str) -> Counter[str]:
    """Return the numbers of a text, without digit grouping, and with a point before decimals."""
    for pattern in tables()["kept"].values():
        text = re.sub(pattern, " ", text)
    found: Counter[str] = Counter()
    for number in _NUMBER.findall(_DATE.sub(r"\1 \3 \4", text)):
        plain = re.sub(r"\d", lambda digit: str(int(digit[0])), number)
        whole, *decimals = [plain] if _GROUPED.search(plain) else re.split(r"[.,](?=\d+$)", plain)
        found[".".join([re.sub(r"\D", "", whole).lstrip("0") or "0", *decimals])] += 1
    return found


def unmatched(
    source: str, own: str, wanted: Counter[str], given: Counter[str], languages: tuple[str, str]
) -> tuple[list[str], list[str]]:
    """Return the source's numbers that the output has in no notation, and the output's numbers not in the source."""
    if not wanted - given:
        return [], []
    scaled, clock = (_has(name, source, own) for name in ("scale", "clock"))

    def without(these: Counter[str], others: Counter[str], other: str, language: str) -> list[str]:
        words = in_words(other, language)
        known = {*others, *(part for number in others for part in number.split(".")), *(words if scaled else ())}

        def agrees(number: str) -> bool:
            same = any(_same(number, each, scaled=scaled, clock=clock) for each in known)
            return same or number in words or _is_month(number, other)

        return [number for number in these if not agrees(number) and not all(map(agrees, number.split(".")))]

    return without(wanted, given, own, languages[1]), without(given, wanted, source, languages[0])


def certain(missing: list[str], extra: list[str], language: str) -> bool:
    """True if numbers are certainly wrong: replaced by other numbers, or missing both in digits and in words."""
    readable = language in tables()["number_words"] or language in ("zh", "ja")
    long = any(len(number.strip("0.").replace(".", "")) > 2 for number in missing)
    return long or bool(missing and extra) or (readable and any(float(number) >= _SMALLEST for number in missing))


@functools.lru_cache(maxsize=100_000)
def in_words(text: str, language: str) -> frozenset[str]:
    """Return the numbers that a text may spell out: as Chinese numerals, or as words for small numbers."""
    found = set()
    for numeral in _HAN.findall(text):
        if all(character in _HAN_DIGITS for character in numeral):
            found |= {*(str(_HAN_DIGITS[character]) for character in numeral)}
            found.add("".join(str(_HAN_DIGITS[character]) for character in numeral).lstrip("0"))
        else:
            found.add(str(_han_value(numeral)))
    found |= {number for number, pattern in _word_patterns(language) if pattern.search(text)}
    return frozenset(found)


def _han_value(numeral: str) -> int:
    total = section = digit = 0
    for character in numeral:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_UNITS:
            section, digit = section + (digit or 1) * _HAN_UNITS[character], 0
        elif character in _HAN_POWERS:
            total, section, digit = (total + (section + digit or 1)) * _HAN_POWERS[character], 0, 0
    return total + section + digit


@functools.cache
def _word_patterns(language: str) -> list[tuple[str, re.Pattern[str]]]:
    """Return pairs of a number from 1 to 100 and a pattern of its word; 21 to 99 share the patterns of their tens."""
    words = tables()["number_words"].get(language, "").split()
    named = dict(zip([*range(1, 21), *range(30, 101, 10)], words, strict=False))
    patterns = {value: re.compile(rf"(?i)(?<!\w)(?:{word})") for value, word in named.items()}
    return [
        (str(value), patterns[value if value in patterns else value // 10 * 10]) for value in range(1, 101) if named
    ]


@functools.lru_cache(maxsize=1024)
def _has(name: str, *texts: str) -> bool:
    return any(re.search(tables()["numbers"][name], text) for text in texts)


def _is_month(number: str, text: str) -> bool:
    months = [*tables()["dates"]["month"].values()]
    return number in map(str, range(1, 13)) and bool(re.search(months[int(number) - 1], text))


def _same(first: str, second: str, *, scaled: bool, clock: bool) -> bool:
    """True if two numbers may mean the same, such as 2014 and 14, 8 and 20 o'clock, or 1.5 (million) and 1500000."""
    short, long = sorted((number.replace(".", "") for number in (first, second)), key=len)
    return (
        first == second
        or ((scaled or "." in first + second) and short.strip("0") == long.strip("0"))
        or (len(short) == 2 and len(long) == 4 and long.endswith(short))
        or (clock and (long == f"{short}00" or (len(long) <= 2 and abs(int(short) - int(long)) == 12)))
    )
