"""Numbers in two texts that say the same, whatever language they are in."""

from __future__ import annotations

import functools
import re
from collections import Counter

from ranker.evaluation.checks.texts import tables

_DATE = re.compile(r"(?<!\d)(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?!\d)")
_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+[.,]\d+(?![.,]?\d)|\d+")
_GROUPED = re.compile(r"\D\d{3}$")


def numbers(text: str) -> Counter[str]:
    """Return the numbers of a text, without what groups their digits, and with a point before decimals."""
    for pattern in tables()["kept"].values():
        text = re.sub(pattern, " ", text)
    found: Counter[str] = Counter()
    for number in _NUMBER.findall(_DATE.sub(r"\1 \3 \4", text)):
        plain = re.sub(r"\d", lambda digit: str(int(digit[0])), number)
        whole, *decimals = [plain] if _GROUPED.search(plain) else re.split(r"[.,](?=\d+$)", plain)
        found[".".join([re.sub(r"\D", "", whole).lstrip("0") or "0", *decimals])] += 1
    return found


def unmatched(source: str, own: str, wanted: Counter[str], given: Counter[str]) -> tuple[list[str], list[str]]:
    """Return the numbers of a source that are not in an output, however they are written, and the reverse."""
    if not wanted - given:
        return [], []
    scaled, clock = (_has(name, source, own) for name in ("scale", "clock"))

    def without(these: Counter[str], others: Counter[str], other: str) -> list[str]:
        known = {*others, *(part for number in others for part in number.split("."))}

        def agrees(number: str) -> bool:
            return _is_month(number, other) or any(_same(number, each, scaled=scaled, clock=clock) for each in known)

        return [number for number in these if not agrees(number) and not all(map(agrees, number.split(".")))]

    return without(wanted, given, own), without(given, wanted, source)


def certain(source: str, own: str, missing: list[str], extra: list[str]) -> bool:
    """Tell whether numbers are wrong: others stand for them, or such are missing as nobody writes in words."""
    scaled = _has("scale", source, own)
    digits = ((len(number), len(number.strip("0"))) for number in missing)
    long = any(significant > 2 or (significant > 1 and size > 2 and not scaled) for size, significant in digits)
    return long or bool(missing and extra and not _has("spelled", source, own))


@functools.lru_cache(maxsize=1024)
def _has(name: str, *texts: str) -> bool:
    return any(re.search(tables()["numbers"][name], text) for text in texts)


def _is_month(number: str, text: str) -> bool:
    months = [*tables()["dates"]["month"].values()]
    return number.isdigit() and 1 <= int(number) <= 12 and bool(re.search(months[int(number) - 1], text))


def _same(first: str, second: str, *, scaled: bool, clock: bool) -> bool:
    """Tell whether two numbers may be the same: 2014 and 14, 8 and 20 or 800 o'clock, 1.5 (million) and 1500000."""
    short, long = sorted((number.replace(".", "") for number in (first, second)), key=len)
    return (
        first == second
        or ((scaled or "." in first + second) and short.strip("0") == long.strip("0"))
        or (len(short) == 2 and len(long) == 4 and long.endswith(short))
        or (clock and (long == f"{short}00" or (len(long) <= 2 and abs(int(short) - int(long)) == 12)))
    )
