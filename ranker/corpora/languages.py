"""Language codes and language pairs in one form, whatever names and codes a file uses."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ENGLISH = "en"


@functools.cache
def _tables() -> dict[str, Any]:
    """Return the tables of ``languages.toml``."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@functools.cache
def _codes() -> dict[str, str]:
    """Return the code of each language by its codes and names in lower case."""
    known = {code: code for code in (*_tables()["languages"], *_tables()["included"])}
    for code, (others, names, _) in _tables()["languages"].items():
        known |= dict.fromkeys((*others.split(), *names.lower().split(", ")), code)
    for code, (_, names) in _tables()["included"].items():
        known |= dict.fromkeys(filter(None, names.lower().split(", ")), code)
    return known


_VARIETIES = frozenset(
    re.findall(
        r"\w+",
        "american australian austrian brazilian british canadian cyrillic european iberian latin mexican modern "
        "simplified standard swiss traditional",
    )
)
"""Words before or after the name of a language that name a variety of it."""
_CODE = re.compile(r"([A-Za-z]{2,3})((?:[-_][A-Za-z0-9]+)*)\Z")
_WRITTEN = re.compile(r"(?![A-Z]{2,3}(?:[-_]|\Z))[^-_]+(?:[-_](?:[A-Z]{2}|[0-9]{3}|[A-Z][a-z]{3}))*\Z")
"""A language with regions in capitals and scripts with a capital."""
_LOCALE = re.compile(r"([a-z]{2,3})[-_]([A-Z]{2})\Z")
_TAG = re.compile(
    r"(?P<language>[A-Za-z]{2,3})(?:[-_](?P<extended>[A-Za-z]{3}))?(?:[-_](?P<script>[A-Za-z]{4}))?(?:[-_](?P<region>[A-Za-z]{2}|[0-9]{3}))?"
    r"(?P<variants>(?:[-_](?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*)\Z"
)
_UNKNOWN_CODE, _MOST_DOUBT = 2, 2
_BETWEEN = re.compile(r"\s*(?:-+>|→|--+|[\u2010-\u2015\u2212>/|])\s*")
"""Separators that are only between the two languages of a pair."""
_SEPARATOR = re.compile(r"\s*(?:-+>|→|--|[-\u2010-\u2015\u2212_>/|\s])\s*")
_UNKNOWN = "?"
_ANY = "*"
_LABELS = (_UNKNOWN, _ANY, "", "all", "any", "many", "mixed", "multi", "multilingual", "other", "several", "various")
"""Labels for anything but one language."""


def language_code(name: str) -> str | None:
    """Return the two-letter code of a language, with any region or script as in ``pt_BR`` and ``zh_Hans``.

    Unknown codes are returned in lower case. None for ``any``, and for text that is neither a known name nor has the
    form of a code.
    """
    text, codes = name.strip(), _codes()
    known = codes.get(re.sub(r"[\s_]+", " ", text.lower()))
    if known:
        return known
    code = _CODE.match(text)
    if code is None or text.lower() == "any":
        # "Simplified Chinese", "Portuguese (Brazil)"
        words = {*re.findall(r"[^\W_]+", re.sub(r"\(.*\)", "", text.lower()))} - _VARIETIES
        named = {codes[word] if len(word) > 3 and word in codes else None for word in words}
        return named.pop() if len(named) == 1 else None
    language = codes.get(code[1].lower(), code[1].lower())
    if language not in codes and re.search("[A-Za-z]{5}", code[2]):
        # words, such as Old_Norse
        return None
    return "_".join([language, *map(_subtag, re.findall(r"[A-Za-z0-9]+", code[2]))])


def _subtag(written: str) -> str:
    """Write a region in capitals and a script with a capital."""
    if len(written) == 2:
        return written.upper()
    return written.title() if written.title() in _tables()["scripts"] else written


def language_name(code: str) -> str:
    """Return the English name of a language by its two-letter code, or the code itself if it is unknown."""
    _, names, _ = _tables()["languages"].get(code, ("", code, ""))
    return str(names.partition(", ")[0])


def is_language(code: str) -> bool:
    """True if `code` is the two-letter code of a known language."""
    return code in _tables()["languages"]


def main_language(code: str) -> str:
    """Return the code, without region, of the language that includes a language, such as ``no`` for ``nb``."""
    language = re.split("[-_]", code)[0]
    return str(_tables()["included"].get(language, [language])[0])


def script_of(tag: str | None) -> str:
    """Return the code of the script that a language such as ``zh_Hant_TW`` names, or empty text."""
    return next((part for part in re.split("[-_]", tag or "")[1:] if part in _tables()["scripts"]), "")


def unicode_scripts(script: str) -> str:
    """Return Unicode's names of a script, separated by spaces, such as ``Han Hiragana Katakana`` for ``Jpan``."""
    return str(_tables()["scripts"].get(script, ""))


LONGEST_PAIR = 100
"""Maximum number of characters of a language pair."""


def language_pair(name: str) -> str:
    """Return a language pair as ``en-zh``, however it is written: ``en_zh``, ``eng-zho``, ``EN>ZH``, ``en-zh-Hans``.

    Regions and scripts are kept, as in ``en-zh_Hans``; ``*`` stands for any language. Text that is not a pair of
    languages, or could be several pairs, is returned unchanged.
    """
    sides = _sides(name)
    return "-".join(sides) if sides else name


@functools.lru_cache(maxsize=4096)
def _sides(name: str) -> tuple[str, str] | None:
    """Return the source and target language of a pair, None for text that is not clearly a pair of languages."""
    text = name.strip()
    if len(name) > LONGEST_PAIR or is_locale(text):
        return None
    parts = _SEPARATOR.split(text)
    cuts = [("_".join(parts[:at]), "_".join(parts[at:])) for at in range(1, len(parts))]
    # where there is one arrow or dash, it is between the two languages
    between = [(apart[0], apart[1]) for apart in (_BETWEEN.split(text), text.split("-")) if len(apart) == 2]
    for side in (_as_written, _in_any_case):
        for divisions in (*([each] for each in between), cuts):
            if made := _most_likely(divisions, side):
                return made
    return None


def is_locale(name: str) -> bool:
    """True if a name is a single language with its region, such as ``zh-CN``."""
    match = _LOCALE.match(name)
    if match is None:
        return False
    code, region = _codes().get(match[1], match[1]), match[2]
    known = code in _tables()["languages"] and region in _regions()
    return known and (region in _usual_regions(code) or region.lower() not in _codes())


def _usual_regions(code: str) -> list[str]:
    of_language = _tables()["languages"].get(main_language(code), ("", "", ""))[2]
    return list(map(str, of_language.split()))


@functools.cache
def _regions() -> frozenset[str]:
    return frozenset(_tables()["regions"]["codes"].split())


def _most_likely(
    divisions: Sequence[tuple[str, str]], read: Callable[[str], tuple[str, int] | None]
) -> tuple[str, str] | None:
    """Return the two languages of the division that leaves least doubt; None if two do, or if much is left."""
    doubts: dict[tuple[str, str], int] = {}
    for source, target in (map(read, division) for division in divisions):
        if source and target:
            doubts[source[0], target[0]] = source[1] + target[1]
    least = min(doubts.values(), default=0)
    likely = [sides for sides, doubt in doubts.items() if doubt == least]
    return likely[0] if len(likely) == 1 and (least <= _MOST_DOUBT or len(divisions) == 1) else None


def _as_written(language: str) -> tuple[str, int] | None:
    """Return the code of a language whose region is in capitals, and 0; None for anything else."""
    if language in (_ANY, _UNKNOWN):
        return language, 0
    code = language_code(language) if _WRITTEN.match(language) else None
    return (code, 0) if code else None


def _in_any_case(language: str) -> tuple[str, int] | None:
    """Return the code of a language, a script and a region of any case, and how doubtful they are; else None."""
    if language in (_ANY, _UNKNOWN):
        return language, 0
    match, code = _TAG.match(language), language_code(language)
    if match is None or code is None:
        return (code, 0) if code and not re.search("[-_]", language) else None
    code = language_code(match["extended"] or match["language"]) or ""
    if not code or (match["extended"] and main_language(code) != language_code(match["language"])):
        # as in zh-yue, the second is a language that the first includes
        return None
    script, region, variants = _subtag(match["script"] or ""), (match["region"] or "").upper(), match["variants"]
    if script not in ("", *_tables()["scripts"]) or (region.isalpha() and region not in _regions()):
        return None
    if any(variant in _codes() for variant in re.split("[-_]", variants.lower()[1:])):
        return None
    unusual = region.isalpha() and region not in _usual_regions(code)
    tag = "_".join(filter(None, (code, script, region))) + variants.replace("-", "_")
    return tag, _UNKNOWN_CODE * (code not in _codes()) + unusual


def unclear(name: str) -> bool:
    """True for text that has the form of two or more codes of languages but is not clearly a pair of languages."""
    parts = re.split("[-_]", name)
    formed = all(re.fullmatch(r"[A-Za-z]{2,4}|\d{3}", part) for part in parts)
    known = not _codes().keys().isdisjoint(map(str.lower, parts))
    return formed and known and (len(parts) > 2 or is_locale(name)) and _sides(name) is None


def pair_of(source: str | None, target: str | None) -> str | None:
    """Make a language pair from two names of languages; None if both are missing.

    A missing language and ``any`` are written as ``?``; a name that is not known is kept.
    """
    codes = [language_code(side or "") or _label(side or "") for side in (source, target)]
    return None if codes == [_UNKNOWN] * 2 else "-".join(codes)


def _label(name: str) -> str:
    label = _SEPARATOR.sub("_", name.strip()).strip("_")
    return _UNKNOWN if label.lower() in ("", "any", _ANY) else label


def unknown_language(pair: str) -> str | None:
    """Return the side of a language pair that is the name of an unknown language beside a known one, or None."""
    sides = pair.split("-")
    names = [side for side in sides if language_code(side) is None and side.lower() not in _LABELS]
    return names[0] if len(sides) == 2 and len(names) == 1 and any(map(language_code, sides)) else None


def contradict(pair: str | None, other: str | None) -> bool:
    """True if two language pairs name different languages, whatever their regions, on a side that both know."""
    first, second = (_sides(name) if name else None for name in (pair, other))
    if first is None or second is None:
        return False
    codes = (map(main_language, sides) for sides in (first, second))
    return any(first != second and not {first, second} & {_ANY, _UNKNOWN} for first, second in zip(*codes, strict=True))


def is_of_pair(pair: str, pattern: str) -> bool:
    """True if a language pair matches `pattern`, such as ``*-en``.

    A pattern without a region matches all regions, and one with a language that includes others matches these too.
    """
    sides = zip(pair.partition("-")[::2], language_pair(pattern).partition("-")[::2], strict=True)
    return all(wanted in (_ANY, side, side.partition("_")[0], main_language(side)) for side, wanted in sides)


def names_two_languages(pair: str) -> bool:
    """True if both languages of a pair are named, not given as ``*`` or ``?``."""
    sides = _sides(pair)
    return sides is not None and not {*sides} & {_ANY, _UNKNOWN}


def stated_pair(lp: str | None) -> str | None:
    """Return the pair `lp` in its usual form if it names two languages, else None."""
    pair = language_pair(lp or "")
    return pair if names_two_languages(pair) else None


def completed(pair: str, other: str) -> str:
    """Replace the unknown languages of a pair by those of `other`."""
    sides, others = (language_pair(name).split("-") for name in (pair, other))
    if len(sides) != len(others):
        return pair
    return "-".join(known if side == _UNKNOWN else side for side, known in zip(sides, others, strict=True))


class LanguagePair(str):
    """Language pair of a source, such as ``en-zh``; an unknown pair is written as ``?``."""

    __slots__ = ()

    @property
    def known(self) -> str | None:
        """The pair as text, None if unknown."""
        return None if self == _UNKNOWN else str(self)

    @property
    def source(self) -> str | None:
        """Code of the source language or of one that includes it, None if unknown."""
        return _language(self.source_tag)

    @property
    def target(self) -> str | None:
        """Code of the target language or of one that includes it, as ``no`` for ``nb``; None if unknown."""
        return _language(self.target_tag)

    @property
    def source_script(self) -> str:
        """Code of the source's script, such as ``Hant``, if the pair states it, else empty."""
        return script_of(self.source_tag)

    @property
    def target_script(self) -> str:
        """Code of the target's script, such as ``Hant``, if the pair states it, else empty."""
        return script_of(self.target_tag)

    @property
    def source_tag(self) -> str | None:
        """Source language with its script and region, such as ``zh_Hant``, None if unknown."""
        return self._tag(0)

    @property
    def target_tag(self) -> str | None:
        """Target language with its script and region, such as ``zh_Hant``, None if unknown."""
        return self._tag(1)

    def of(self, data: str) -> str:
        """Return the name of a data set, followed by this language pair if it is known, as in ``wmt en-zh``."""
        return f"{data} {self}" if self.known else data

    def _tag(self, place: int) -> str | None:
        sides = _sides(self) or self.split("-")
        # with two dashes it is unknown where the target language begins
        return language_code(sides[place]) if place < len(sides) < 3 and not is_locale(self) else None


def _language(tag: str | None) -> str | None:
    return main_language(tag) if tag else None


UNKNOWN_PAIR = LanguagePair(_UNKNOWN)
"""The language pair of sources whose languages the data do not name."""
