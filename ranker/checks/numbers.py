"""Comparison of the numbers in a source and its translation, in any notation and any two languages."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from ranker.checks.texts import compiled, names_of, tables

_DATE = re.compile(r"(?<!\d)(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?!\d)")
_NUMBER = re.compile(
    r"(?<!\d)(?:\d{1,2}(?:,\d\d)+,\d{3}(?![\d,])"
    r"|\d{1,3}(?:[.,'’\u00a0\u2009\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?)|\d+[.,]\d+(?![.,]?\d)|\d+"
)
_ARGUMENT = re.compile(r"%[0-9]+\$")
"""Number of a placeholder's argument, as in ``%2$.1f``."""
_DIGITS = re.compile(r"\d+")
_AMBIGUOUS = re.compile(r"\d{1,3}[.,]\d{3}")
_GROUPED = re.compile(r"\D\d{3}$")
_HAN = re.compile("[〇零一二三四五六七八九十两兩百千万萬亿億兆半]+")
_HAN_DIGITS = {**{digit: value for value, digit in enumerate("〇一二三四五六七八九")}, "零": 0, "两": 2, "兩": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_POWERS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_SIGNS = str.maketrans("٬٫·", ",..")
_DIGITS_AND_UNITS = r"(?<!\d)(?<!\d[,.])(?:\d{1,3}(?:,\d{3})+|\d++)(?:\.\d+)?[百千万萬亿億兆백천만억조]{1,4}"
_REST = (
    r"[ \u00a0](?:(?<=[만万萬].)(?:\d,\d{3}|\d{1,4})|(?<=[억亿億].)\d{1,8}|(?<=조.)\d{1,12})(?!\d|[.,]\d|\s?[년월年月])"
)
"""Rest of a Korean or Chinese number after a space: it has fewer digits than the unit before it, and is no date."""
_COMPOUND = re.compile(
    rf"(?:{_DIGITS_AND_UNITS}\s?){{2,}}(?:\d+(?!\d))?|{_DIGITS_AND_UNITS}\d+|{_DIGITS_AND_UNITS}{_REST}"
)
_SEVERAL = re.compile(r"\d[^\d,;()]{2,30}\s\d")
_LAST = re.compile(r"\s(\d{1,3})(?!\d|[.,]\d)")
"""Ones of a number whose other parts have words of scale."""
_ROMAN = re.compile(r"(?<![\w.-])(?=[IVXL]{2})(X{0,3}|XL|LX{0,3})(IX|IV|V?I{0,3})(?:e|ème)?(?!\w)")
_LATIN = str.maketrans("ХІ", "XI")
"""Cyrillic letters that Roman numerals are typed with."""
_TENS = {numeral: 10 * ten for ten, numeral in enumerate(["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX"])}
_ONES = {numeral: one for one, numeral in enumerate(["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"])}
_POWERS = {**_HAN_UNITS, **_HAN_POWERS, "백": 100, "천": 1000, "만": 10**4, "억": 10**8, "조": 10**12}
_BUDDHIST = 543
"""Years by which the Buddhist era is ahead of the common era."""
_SMALLEST = 3
"""Smallest number that counts as missing from an output; one and two have too many expressions."""


def numbers(text: str) -> Counter[str]:
    """Return the numbers in digits of a text and their counts, without grouping, and with a point before decimals."""
    for pattern in tables()["kept"].values():
        text = compiled(pattern).sub(" ", text)
    text = _ARGUMENT.sub("%", text)
    text = re.sub(r"(?:^|(?<=[\s(<>=≤≥]))\.(?=\d)", "0.", _summed(text.translate(_SIGNS)))
    return Counter(_plain(number) for number in _NUMBER.findall(_DATE.sub(r"\1 \3 \4", text)))


def _plain(number: str) -> str:
    digits = re.sub(r"\d", lambda digit: str(int(digit[0])), number)
    whole, *decimals = [digits] if _GROUPED.search(digits) else re.split(r"[.,](?=\d+$)", digits)
    return ".".join([re.sub(r"\D", "", whole).lstrip("0") or "0", *decimals])


def _han_sum(numeral: re.Match[str]) -> str:
    parts = re.findall(r"(\d+(?:\.\d+)?)([^\d\s]*)", numeral[0].replace(",", ""))
    total = sum(Decimal(number) * math.prod(map(_POWERS.__getitem__, units)) for number, units in parts)
    return f" {_shortest(f'{total:f}')} "


def _summed(text: str) -> str:
    """Replace numbers of several parts, such as 3万 5000 and 33 lakh 40 thousand, by their sums in digits."""
    text = _COMPOUND.sub(_han_sum, text)
    if not _SEVERAL.search(text):
        return text
    numeral, word = _scale_patterns("")
    sums: list[tuple[Decimal, int, int, int]] = []
    whole: list[bool] = []
    for match in numeral.finditer(text):
        total, power, (start, end) = Decimal(_plain(match["number"])), _power(match["words"], word), match.span()
        total = total.scaleb(power)
        added = bool(sums) and power < sums[-1][1] and text[sums[-1][3] : start].isspace()
        if added:
            before, _, start, _ = sums.pop()
            whole.pop()
            total += before
        sums.append((total, power, start, end))
        whole.append(not added)
    for (total, power, start, end), single in [*zip(sums, whole, strict=True)][::-1]:
        if not single:
            rest = _LAST.match(text, end)
            if rest and len(rest[1]) <= power:
                total, end = total + int(rest[1]), rest.end()
            text = f"{text[:start]} {_shortest(f'{total:f}')} {text[end:]}"
    return text


def _power(words: str, word: re.Pattern[str]) -> int:
    return sum(int(str(each.lastgroup)[1:]) for each in word.finditer(words))


def _shortest(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def unmatched(
    source: str, own: str, wanted: Counter[str], given: Counter[str], languages: tuple[str, str]
) -> tuple[list[str], list[str]]:
    """Return the source's numbers that the output has in no notation, and the output's numbers not in the source."""
    missing: list[str] = []
    extra: list[str] = []
    if wanted - given and _DIGITS.findall(source) != _DIGITS.findall(own):
        missing, extra = _unmatched_digits(source, own, wanted, given, languages)
    known = all(map(_exact_words, languages))
    of_source, of_words = (
        [*spelled(text, language if known else "")] for text, language in zip((source, own), languages, strict=True)
    )
    if of_source and of_words:
        left, added = (
            [number for number, *_ in these if number not in others and number not in in_words(other, language)]
            for these, others, other, language in (
                (of_source, given, own, languages[1]),
                (of_words, wanted, source, languages[0]),
            )
        )
        if left and added:
            missing, extra = [*missing, *left], [*extra, *added]
    left, added = _other_scale(source, own, wanted, given, languages)
    return [*dict.fromkeys((*missing, *left))], [*dict.fromkeys((*extra, *added))]


def _unmatched_digits(
    source: str, own: str, wanted: Counter[str], given: Counter[str], languages: tuple[str, str]
) -> tuple[list[str], list[str]]:
    multiplied, clock, buddhist = (_has(name, source, own) for name in ("scale", "clock", "buddhist"))

    def without(these: Counter[str], others: Counter[str], other: str, language: str) -> list[str]:
        words = in_words(other, language)
        whole = {*others, *(words if multiplied else ())}
        parts = {
            part for number in others for part in number.split(".") if clock or these.keys() >= {*number.split(".")}
        }

        def agrees(number: str, known: set[str]) -> bool:
            same = any(_same(number, each, multiplied=multiplied, clock=clock) for each in known)
            same |= buddhist and any(_years(number, each) for each in known)
            return same or number in words or _is_month(number, other)

        return [
            number
            for number in these
            if not agrees(number, whole | parts if clock or "." not in number else whole)
            and not ("." in number and all(agrees(part, whole) for part in number.split(".")))
        ]

    return without(wanted, given, own, languages[1]), without(given, wanted, source, languages[0])


def _other_scale(
    source: str, own: str, wanted: Counter[str], given: Counter[str], languages: tuple[str, str]
) -> tuple[list[str], list[str]]:
    """Return the numbers of the source and of the output that differ only in the power of ten that words give them."""
    if not all(languages):
        return [], []
    # where the digits are equal, so are the parts of numbers
    apart = _DIGITS.findall(source) == _DIGITS.findall(own)
    of_source, of_own = (_large(*each, apart=apart) for each in zip((source, own), languages, strict=True))
    in_source, in_own = (
        {*plain, *_in_han(text)}.union(*large)
        for plain, text, large in zip((wanted, given), (source, own), (of_source, of_own), strict=True)
    )
    missing = [values[0] for values in of_source if in_own.isdisjoint(values)]
    extra = [values[0] for values in of_own if in_source.isdisjoint(values)]
    pairs = [(one, other) for one in missing for other in extra if _core(one) == _core(other)]
    return [one for one, _ in pairs], [other for _, other in pairs]


@functools.lru_cache(maxsize=100_000)
def _large(text: str, language: str, *, apart: bool) -> tuple[list[str], ...]:
    """Return the values that each number of at least four digits, or with a word such as "million", may have.

    If `apart` is true, 33 lakh 40 thousand are two numbers.
    """
    text = _COMPOUND.sub(_han_sum, text) if apart else _summed(text)
    known = [*scaled(text, language)]
    edges = [0, *(edge for _, *span in known for edge in span), len(text)]
    rest = " ".join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    plain = (*map(_plain, _NUMBER.findall(rest)), *_in_han(rest))
    return (*(values for values, *_ in known), *([each] for each in plain if len(each) > 3 and each.isdigit()))


def _core(number: str) -> str:
    return number.replace(".", "").strip("0")


def scaled(text: str, language: str) -> Iterator[tuple[list[str], int, int]]:
    """Yield the values of each number that words such as "million" multiply, and its start and end with these words.

    A number such as 4.176 has two values, because the point may group its digits.
    """
    number_and_words, word = _scale_patterns(language)
    for match in number_and_words.finditer(text.translate(_SIGNS)):
        power, number = _power(match["words"], word), match["number"]
        plain = [_plain(number), *([f"{number[:-4]}.{number[-3:]}"] if _AMBIGUOUS.fullmatch(number) else ())]
        yield [_shortest(f"{Decimal(each).scaleb(power):f}") for each in plain], *match.span()


@functools.cache
def _scale_patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a pattern of a number with words that multiply it, and of one such word in a group named by its power."""
    powers: dict[str, list[str]] = {}
    for key, pattern in tables()["scales"].items():
        power, *languages = key.split()
        if not languages or language in languages:
            powers.setdefault(power, []).append(pattern)
    words = {power: "|".join(patterns) for power, patterns in powers.items()}
    either, apart = "|".join(words.values()), r"[\s-]?[多余餘几幾]?"
    named = "|".join(f"(?P<p{power}>{pattern})" for power, pattern in words.items())
    numeral = rf"(?<![\d.,])(?P<number>(?>{_NUMBER.pattern})){apart}(?P<words>(?:{either})(?:\s?(?:{either})){{0,3}})"
    return re.compile(f"(?i){numeral}"), re.compile(f"(?i){named}")


def spelled(text: str, language: str) -> Iterator[tuple[str, int, int]]:
    """Yield each Roman number, and each number from 3 to 10 written as one word, with its start and end in the text."""
    for match in _ROMAN.finditer(text.translate(_LATIN)):
        yield str(_TENS[match[1]] + _ONES[match[2]]), *match.span()
    if pattern := _exact_words(language):
        yield from ((str(match.lastgroup)[1:], *match.span()) for match in pattern.finditer(text))


@functools.cache
def _exact_words(language: str) -> re.Pattern[str] | None:
    """Return a pattern of a language's words for 3 to 10, in groups named by the numbers; None if they are unknown."""
    table = tables()["exact_words"]
    if language in ("zh", "ja"):
        words, before, after = (
            "三四五六七八九十",
            "(?<![〇零一二三四五六七八九十百千万第])",
            f"(?=[{table['counters']}])",
        )
    else:
        words, before = table.get(language, "").split(), r"(?<![\w-])(?<!halb )(?<! y )"
        after = r"(?!\w|-(?:vingt|cent|hundred|thousand|quarter))"
    named = "|".join(f"(?P<n{value}>{word})" for value, word in enumerate(words, 3))
    return re.compile(f"(?i){before}(?:{named}){after}") if words else None


def written(text: str, language: str) -> set[str]:
    """Return all numbers that a text may contain, in any notation."""
    known = {value for values, *_ in scaled(text, language) for value in values}
    return {*numbers(text), *in_words(text, language), *known}


def positions(text: str, number: str) -> Iterator[list[int]]:
    """Yield the start and end of each place where a text writes a number in words of any language."""
    for language in ("", *tables()["exact_words"]):
        yield from (place for values, *place in scaled(text, language) if number in values)
        yield from (place for value, *place in spelled(text, language) if number == value)


@functools.cache
def beyond_digits() -> str:
    """Return a pattern for texts whose numbers may differ though their digits are equal."""
    words = "|".join(tables()["exact_words"].values()).replace(" ", "|").replace("(?-i:acht)|", "").replace("$^|", "")
    scales = "|".join(tables()["scales"].values()).replace(r"(?!\.)", "")
    return rf"(?i)[IVXLХІ]{{2}}|[三四五六七八九十]|{words}|\p{{Nd}}.?(?:{scales})"


def certain(missing: list[str], extra: list[str], language: str) -> bool:
    """True if numbers are certainly wrong: replaced by other numbers, or missing both in digits and in words."""
    readable = language in tables()["number_words"] or language in ("zh", "ja")
    long = any(len(number.strip("0.").replace(".", "")) > 2 for number in missing)
    return long or bool(missing and extra) or (readable and any(float(number) >= _SMALLEST for number in missing))


@functools.lru_cache(maxsize=100_000)
def in_words(text: str, language: str) -> frozenset[str]:
    """Return the numbers that a text may spell out: as Chinese or Roman numerals, or as words, also for halves."""
    roman = {str(_TENS[match[1]] + _ONES[match[2]]) for match in _ROMAN.finditer(text.translate(_LATIN))}
    said = (numbers for numbers, pattern in _word_patterns(language) if pattern.search(text))
    found = roman.union(_in_han(text), *said)
    if re.search(f"(?i)½|{tables()['halves'].get(language, '½')}", text):
        found |= {f"{number}.5" for number in (*found, *numbers(text)) if number.isdigit()}
    return frozenset(found)


def _in_han(text: str) -> set[str]:
    found = {"30"} if "半" in text else set()
    for numeral in _HAN.findall(text):
        if all(character in _HAN_DIGITS for character in numeral):
            found |= {*(str(_HAN_DIGITS[character]) for character in numeral)}
            found.add("".join(str(_HAN_DIGITS[character]) for character in numeral).lstrip("0"))
        else:
            found.add(str(_han_value(numeral)))
    return found


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
def _word_patterns(language: str) -> list[tuple[list[str], re.Pattern[str]]]:
    """Return, for each number word from 1 to 100, its numbers and its pattern; a word for tens covers ten numbers."""
    words = zip([*range(1, 21), *range(30, 101, 10)], tables()["number_words"].get(language, "").split(), strict=False)
    return [
        (
            [*map(str, range(value, value + 10 if value in range(20, 100, 10) else value + 1))],
            re.compile(rf"(?i)(?<!\w)(?:{word})"),
        )
        for value, word in words
    ]


@functools.lru_cache(maxsize=1024)
def _has(name: str, *texts: str) -> bool:
    return any(re.search(tables()["numbers"][name], text) for text in texts)


def _is_month(number: str, text: str) -> bool:
    months = [*names_of("dates", "month", "").values()]
    return number in map(str, range(1, 13)) and bool(compiled(months[int(number) - 1]).search(text))


def _same(first: str, second: str, *, multiplied: bool, clock: bool) -> bool:
    """True if two numbers may mean the same, such as 2014 and 14, 8 and 20 o'clock, or 1.5 (million) and 1500000."""
    short, long = sorted((number.replace(".", "") for number in (first, second)), key=len)
    return (
        first == second
        or _shortest(first) == _shortest(second)
        or (multiplied and short.strip("0") == long.strip("0"))
        or (len(short) == 2 and len(long) == 4 and long.endswith(short))
        or (clock and (long == f"{short}00" or (len(long) <= 2 and abs(int(short) - int(long)) == 12)))
    )


def _years(first: str, second: str) -> bool:
    """True if one number may be a year of the common era and the other one the same year of the Buddhist era."""
    return all(map(str.isdigit, (first, second))) and abs(int(first) - int(second)) == _BUDDHIST
