"""Two-letter codes of languages from the names and the three-letter codes that older files use."""

from __future__ import annotations

import re

# ISO 639-1, ISO 639-2 (both codes where there are two), English name
_LANGUAGES = """
ar ara arabic
bn ben bengali
cs ces cze czech
da dan danish
de deu ger german
el ell gre greek
en eng english
es spa spanish
et est estonian
fi fin finnish
fr fra fre french
gu guj gujarati
ha hau hausa
he heb hebrew
hi hin hindi
hr hrv croatian
ht hat haitian
hu hun hungarian
is isl ice icelandic
it ita italian
iu iku inuktitut
ja jpn japanese
kk kaz kazakh
km khm khmer
ko kor korean
lt lit lithuanian
lv lav latvian
nl nld dut dutch
no nor norwegian
pl pol polish
ps pus pashto
pt por portuguese
ro ron rum romanian
ru rus russian
sv swe swedish
ta tam tamil
tr tur turkish
uk ukr ukrainian
ur urd urdu
vi vie vietnamese
zh zho chi chinese
"""
_CODES = {name: line.split()[0] for line in _LANGUAGES.split("\n") if line for name in line.split()}
_CODE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]+))?\Z")


def language_code(name: str) -> str | None:
    """Return the two-letter code of a language, with its region as in ``pt_BR``.

    Codes that are not known stay as they are, in lower case. None for
    what is neither a known name nor of the form of a code, and for ``any``.
    """
    text = name.strip()
    known = _CODES.get(text.lower())
    if known:
        return known
    code = _CODE.match(text)
    if code is None or text.lower() == "any":
        return None
    language = _CODES.get(code[1].lower(), code[1].lower())
    return f"{language}_{code[2]}" if code[2] else language


def target_language(pair: str) -> str | None:
    """Return the two-letter code of the language that a pair, as ``en-zh`` or ``eng-zho_CN``, translates into.

    None where it is not known.
    """
    code = language_code(pair.partition("-")[2])
    return code.partition("_")[0] if code else None
