"""Language codes and language pairs in one form, whatever names and codes a file uses."""

from __future__ import annotations

import functools
import re

ENGLISH = "en"

# ISO 639-1, ISO 639-2 (both codes where there are two), English name
_LANGUAGES = """
af afr afrikaans
am amh amharic
ar ara arb arabic
be bel belarusian
bg bul bulgarian
bn ben bengali
bo bod tib tibetan
bs bos bosnian
ca cat catalan
cs ces cze czech
cy cym wel welsh
da dan danish
de deu ger german
el ell gre greek
en eng english
es spa spanish
et est ekk estonian
eu eus baq basque
fa fas per pes persian
fi fin finnish
fr fra fre french
ga gle irish
gl glg galician
gu guj gujarati
ha hau hausa
he heb hebrew
hi hin hindi
hr hrv croatian
ht hat haitian
hu hun hungarian
hy hye arm armenian
id ind indonesian
is isl ice icelandic
it ita italian
iu iku inuktitut
ja jpn japanese
ka kat geo georgian
kk kaz kazakh
km khm khmer
kn kan kannada
ko kor korean
lo lao
lt lit lithuanian
lv lav lvs latvian
mk mkd mac macedonian
ml mal malayalam
mn mon khk mongolian
mr mar marathi
ms msa may zsm malay
mt mlt maltese
my mya bur burmese
nb nob
ne nep npi nepali
nl nld dut dutch
nn nno
no nor norwegian
pa pan punjabi
pl pol polish
ps pus pbt pashto
pt por portuguese
ro ron rum romanian
ru rus russian
si sin sinhala
sk slk slo slovak
sl slv slovenian
sq sqi alb albanian
sr srp serbian
sv swe swedish
sw swa swh swahili
ta tam tamil
te tel telugu
th tha thai
tl tgl fil tagalog
tr tur turkish
uk ukr ukrainian
ur urd urdu
uz uzb uzn uzbek
vi vie vietnamese
xh xho xhosa
yo yor yoruba
zh zho chi cmn chinese
zu zul zulu
"""
_CODES = {name: line.split()[0] for line in _LANGUAGES.split("\n") if line for name in line.split()}
_VARIETIES = frozenset(
    re.findall(
        r"\w+",
        "american australian austrian brazilian british canadian european iberian latin mexican modern simplified "
        "standard swiss traditional",
    )
)
"""Words before or after the name of a language that name a variety of it."""
_SAME = dict(
    re.findall(
        r"(\w+):(\w+)",
        "als:sq ary:ar arz:ar azj:az ckb:ku cmn:zh in:id iw:he mo:ro nb:no nn:no ory:or ydd:yi yue:zh",
    )
)
"""Codes of languages, each with the code that includes or replaced it."""
_TWO_LETTER_CODES = frozenset(_CODES.values())
_CODE = re.compile(r"([A-Za-z]{2,3})((?:[-_][A-Za-z0-9]+)*)\Z")
_REGION_OR_SCRIPT = re.compile(r"[^-_]+(?:[-_](?:[A-Z]{2}|[0-9]{3}|[A-Z][a-z]{3}))*\Z")
_SEPARATOR = re.compile(r"\s*(?:-+>|→|--|[-\u2010-\u2015\u2212_>/|\s])\s*")
_UNKNOWN = "?"
_ANY = "*"


def language_code(name: str) -> str | None:
    """Return the two-letter code of a language, with any region or script as in ``pt_BR`` and ``zh_Hans``.

    Unknown codes are returned in lower case. None for ``any``, and for text that is neither a known name nor has the
    form of a code.
    """
    text = name.strip()
    known = _CODES.get(text.lower())
    if known:
        return known
    code = _CODE.match(text)
    if code is None or text.lower() == "any":
        # "Simplified Chinese", "Portuguese (Brazil)"
        words = re.findall(r"\w+", re.sub(r"\(.*\)", "", text.lower()))
        named = {_CODES[word] for word in words if len(word) > 3 and word in _CODES}
        return named.pop() if len(named) == 1 and len(_VARIETIES.intersection(words)) == len(words) - 1 else None
    language = _CODES.get(code[1].lower(), code[1].lower())
    return language + code[2].replace("-", "_")


def language_name(code: str) -> str:
    """Return the English name of a language by its two-letter code, or the code itself if it is unknown."""
    return next((line.split()[-1].capitalize() for line in _LANGUAGES.split("\n") if line.startswith(f"{code} ")), code)


def is_language(code: str) -> bool:
    """True if `code` is the two-letter code of a known language."""
    return code in _TWO_LETTER_CODES


LONGEST_PAIR = 100
"""Maximum number of characters of a language pair."""


@functools.lru_cache(maxsize=4096)
def language_pair(name: str) -> str:
    """Return a language pair as ``en-zh``, however it is written: ``en_zh``, ``eng-zho``, ``EN>ZH``, ``en-zh-Hans``.

    Regions and scripts are kept, as in ``en-zh_Hans``; ``*`` stands for any language. Text that is not a pair of
    languages is returned unchanged.
    """
    if len(name) > LONGEST_PAIR:
        return name
    parts = _SEPARATOR.split(name.strip())
    cut = [("_".join(parts[:at]), "_".join(parts[at:])) for at in range(1, len(parts))]
    # where there is one dash, it is between the two languages
    for source, target in [tuple(name.strip().split("-")), *cut] if name.count("-") == 1 else cut:
        codes = [_side(source), _side(target)]
        if all(codes):
            return "-".join(map(str, codes))
    return name


def _side(language: str) -> str | None:
    if language in (_ANY, _UNKNOWN):
        return language
    return language_code(language) if _REGION_OR_SCRIPT.match(language) else None


def pair_of(source: str | None, target: str | None) -> str | None:
    """Make a language pair from two names of languages, with ``?`` if one is unknown; None if both are."""
    codes = [language_code(side or "") or _UNKNOWN for side in (source, target)]
    return None if codes == [_UNKNOWN] * 2 else "-".join(codes)


def contradict(pair: str | None, other: str | None) -> bool:
    """True if two language pairs name different languages, whatever their regions, on a side that both know."""
    known = [[_side(side) for side in language_pair(name).split("-")] for name in (pair, other) if name]
    if len(known) < 2 or {*map(len, known)} != {2} or None in (*known[0], *known[1]):
        return False
    codes = ([_SAME.get(code := str(side).partition("_")[0], code) for side in sides] for sides in known)
    return any(first != second and not {first, second} & {_ANY, _UNKNOWN} for first, second in zip(*codes, strict=True))


def is_of_pair(pair: str, pattern: str) -> bool:
    """True if a language pair matches `pattern`, such as ``*-en``; a pattern without a region matches all regions."""
    sides = zip(pair.partition("-")[::2], language_pair(pattern).partition("-")[::2], strict=True)
    return all(wanted in (_ANY, side, side.partition("_")[0]) for side, wanted in sides)


def is_locale(name: str) -> bool:
    """True if a name is a single language with its region, such as ``zh-CN``."""
    return bool(re.fullmatch(r"[a-z]{2,3}[-_][A-Z]{2}", name))


def names_two_languages(pair: str) -> bool:
    """True if both languages of a pair are named, not given as ``*`` or ``?``."""
    return not {_side(side) for side in pair.partition("-")[::2]} & {None, _ANY, _UNKNOWN}


def stated_pair(lp: str | None) -> str | None:
    """Return the pair `lp` in its usual form if it names two languages, else None."""
    pair = language_pair(lp or "")
    return pair if names_two_languages(pair) and not is_locale(str(lp)) else None


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
        """Two-letter code of the source language, None if unknown."""
        return self._side(0)

    @property
    def target(self) -> str | None:
        """Two-letter code of the target language, None if unknown."""
        return self._side(2)

    def of(self, data: str) -> str:
        """Return the name of a data set, followed by this language pair if it is known, as in ``wmt en-zh``."""
        return f"{data} {self}" if self.known else data

    def _side(self, place: int) -> str | None:
        code = language_code(language_pair(self).partition("-")[place])
        return code.partition("_")[0] if code else None


UNKNOWN_PAIR = LanguagePair(_UNKNOWN)
"""The language pair of sources whose languages the data do not name."""
