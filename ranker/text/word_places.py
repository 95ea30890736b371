"""Character positions of the words of a text as it is written, for marking them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from ranker.corpora.graphemes import cluster_starts
from ranker.corpora.scripts import is_unspaced

_SEPARATOR = "\u200b"
_SPACE, _WORD, _ALONE, _JOINED = range(4)


def word_places(text: str) -> list[tuple[int, int]]:
    """Return the positions [start, end) of words and symbols, in characters of `text`.

    Letters, marks, digits and invisible characters in a row are one word. A letter of a script without spaces, or any
    other symbol, is a word by itself. No position splits a grapheme cluster.
    """
    places: list[tuple[int, int]] = []
    starts = {*cluster_starts(text)}
    before = _SPACE
    for at, character in enumerate(text):
        kind = _kind(character)
        if before != _SPACE and (kind == _JOINED or at not in starts or kind == before == _WORD):
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
    if category[0] == "M" or (category == "Cf" and character != _SEPARATOR):
        return _JOINED
    if category[0] not in "LN" or is_unspaced(character):
        return _ALONE
    return _WORD
