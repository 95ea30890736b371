"""Character positions of the words of a text as it is written, for marking them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from ranker.corpora.scripts import WITHOUT_SPACES

_JOINER, _SEPARATOR = "\u200d", "\u200b"
_SPACE, _WORD, _ALONE, _JOINED = range(4)


def word_places(text: str) -> list[tuple[int, int]]:
    """Return the positions [start, end) of words and symbols, in characters of `text`.

    Letters, marks, digits and invisible characters in a row are one word. A letter of a script without spaces, or any
    other symbol, is a word by itself. No position separates a letter from its marks or splits a joined emoji.
    """
    places: list[tuple[int, int]] = []
    before = _SPACE
    for at, character in enumerate(text):
        kind = _kind(character)
        # a joiner joins symbols; some words end with one
        alike = kind == before and (kind == _WORD or text[at - 1] == _JOINER)
        if before != _SPACE and (kind == _JOINED or alike):
            places[-1] = places[-1][0], at + 1
        else:
            before = kind
            if kind != _SPACE:
                places.append((at, at + 1))
    return places


@lru_cache(maxsize=1 << 16)
def _kind(character: str) -> int:
    if character.isspace():
        return _SPACE
    category = unicodedata.category(character)
    if (
        category[0] == "M"
        or (category == "Cf" and character != _SEPARATOR)
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    ):
        return _JOINED
    if category[0] not in "LN" or any(first <= ord(character) <= last for first, last in WITHOUT_SPACES):
        return _ALONE
    return _WORD
