"""Porter's stemmer for English (Porter 1980), with its author's two later changes: ``bli`` and ``logi`` in step 2.

TERp matches words by this stemmer. Words of one or two letters stay unchanged; any character but a vowel is a
consonant.
"""

from __future__ import annotations

import functools
from itertools import pairwise

_VOWELS = frozenset("aeiou")
_STEP_2 = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble")),
    *(("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate")),
    *(("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble"), ("logi", "log")),
)
_STEP_3 = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")),
)
# sion and tion are the suffix ion after s or t
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou", "ism"),
    *("ate", "iti", "ous", "ive", "ize"),
)


def _is_consonant(word: str, at: int) -> bool:
    if word[at] == "y":
        return at == 0 or not _is_consonant(word, at - 1)
    return word[at] not in _VOWELS


def _measure(word: str) -> int:
    """Return the number of vowel sequences followed by a consonant, called m in the paper."""
    kinds = [_is_consonant(word, at) for at in range(len(word))]
    return sum(consonant and not before for before, consonant in pairwise(kinds))


def _has_vowel(word: str) -> bool:
    return not all(_is_consonant(word, at) for at in range(len(word)))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _is_consonant(word, len(word) - 1)


def _ends_short(word: str) -> bool:
    """True if a word ends in a consonant, a vowel and a consonant other than w, x, y: condition ``*o`` of the paper."""
    end = len(word) - 1
    return (
        end >= 2
        and _is_consonant(word, end)
        and not _is_consonant(word, end - 1)
        and _is_consonant(word, end - 2)
        and word[end] not in "wxy"
    )


def _step_1(word: str) -> str:
    """Remove plural endings, -ed and -ing, and turn a final y into i."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        for suffix in ("ed", "ing"):
            if word.endswith(suffix):
                stem = word[: -len(suffix)]
                word = _mend(stem) if _has_vowel(stem) else word
                break
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _mend(stem: str) -> str:
    """Repair the end of a stem after -ed or -ing was removed."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_double(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _replace(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    """Apply the first rule whose suffix fits, if a vowel and a consonant precede the suffix."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return stem + replacement if _measure(stem) > 0 else word
    return word


def _step_4(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            stem = word[:-3] if suffix in ("sion", "tion") else word[: -len(suffix)]
            return stem if _measure(stem) > 1 else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


@functools.cache
def porter_stem(word: str) -> str:
    """Return the stem of a lower-cased English word."""
    if len(word) < 3:
        return word
    return _step_5(_step_4(_replace(_replace(_step_1(word), _STEP_2), _STEP_3)))
