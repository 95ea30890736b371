"""Grapheme clusters: characters as readers see them, such as a letter with its marks, or a flag of two code points."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_LINKERS = frozenset("\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60")
"""Marks that stack the next consonant under a letter or join it to the letter."""
_ATTACHED = frozenset("\u0e33\u0eb3\u200c")
"""The Thai and Lao vowel am, and the non-joiner."""
_OTHER, _CONTROL, _EXTEND, _LINKER, _JOINER, _LETTER, _SYMBOL, _FLAG = range(8)
_LEAD, _VOWEL, _TRAIL, _OPEN_SYLLABLE, _SYLLABLE = range(8, 13)
_LINKED, _JOINED = range(13, 15)
"""States after a letter and a linker, and after a symbol and a joiner."""
_TOGETHER = frozenset(
    [
        *((_LINKED, _LETTER), (_JOINED, _SYMBOL), (_FLAG, _FLAG)),
        *((_LEAD, kind) for kind in (_LEAD, _VOWEL, _OPEN_SYLLABLE, _SYLLABLE)),
        *((kind, after) for kind in (_VOWEL, _OPEN_SYLLABLE) for after in (_VOWEL, _TRAIL)),
        *((kind, _TRAIL) for kind in (_TRAIL, _SYLLABLE)),
    ]
)
"""Kinds of neighbouring code points that are one cluster, besides those that extend any cluster."""
_EXTENDED = {
    **{(state, kind): state for state in (_LETTER, _LINKED, _SYMBOL) for kind in (_EXTEND, _LINKER, _JOINER)},
    (_LETTER, _LINKER): _LINKED,
    (_SYMBOL, _JOINER): _JOINED,
    (_JOINED, _EXTEND): _SYMBOL,
    (_JOINED, _JOINER): _JOINED,
}
"""State after each state and what extends a cluster; `_OTHER` where nothing is listed."""


def cluster_starts(text: str) -> list[int]:
    """Return the indices of the code points that begin the grapheme clusters of a text.

    The rules are those of Unicode, but all combining marks stay with their letter, Burmese vowels among them.
    """
    starts: list[int] = []
    state = _CONTROL
    for at, character in enumerate(text):
        kind = _kind(character)
        if state != _CONTROL and _EXTEND <= kind <= _JOINER:
            state = _EXTENDED.get((state, kind), _OTHER)
            continue
        together = (state, kind) in _TOGETHER
        if not together:
            starts.append(at)
        # a third flag letter begins a second flag
        state = _OTHER if together and kind == _FLAG else kind
    return starts


@lru_cache(maxsize=1 << 16)
def _kind(character: str) -> int:
    point, category = ord(character), unicodedata.category(character)
    if character in _LINKERS:
        return _LINKER
    if character == "\u200d":
        return _JOINER
    if category[0] == "M" or character in _ATTACHED or 0x1F3FB <= point <= 0x1F3FF or 0xE0020 <= point <= 0xE007F:
        return _EXTEND
    if category in ("Cc", "Cf", "Zl", "Zp"):
        return _CONTROL
    if 0x1F1E6 <= point <= 0x1F1FF:
        return _FLAG
    if 0x1100 <= point <= 0x11FF or 0xA960 <= point <= 0xA97C or 0xD7B0 <= point <= 0xD7FB:
        if point <= 0x115F or 0xA960 <= point <= 0xA97C:
            return _LEAD
        return _VOWEL if point <= 0x11A7 or 0xD7B0 <= point < 0xD7C7 else _TRAIL
    if 0xAC00 <= point <= 0xD7A3:
        return _SYLLABLE if (point - 0xAC00) % 28 else _OPEN_SYLLABLE
    return _LETTER if category[0] == "L" else _SYMBOL if category[0] == "S" else _OTHER
