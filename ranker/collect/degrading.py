"""Degraded copies of translations, whose place below the original is known: checks whether a judge pays attention.

As in the campaigns of WMT that scored segments from 0 to 100, a stretch of the text is replaced by a stretch of an
unrelated one; what is left is put in another order.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence

_SHARE = 0.4
_FEWEST = 2


def pieces_of(text: str) -> list[str]:
    """Split a text into words with the space after them, or characters of scripts without spaces; they add up to it."""
    pieces: list[str] = []
    open_word = False
    for character in text:
        single = _is_ideographic(character)
        if character.isspace() and pieces:
            pieces[-1] += character
            open_word = False
        elif open_word and not single:
            pieces[-1] += character
        else:
            pieces.append(character)
            open_word = not single and not character.isspace()
    return pieces


def _is_ideographic(character: str) -> bool:
    if character.isascii():
        return False
    name = unicodedata.name(character, "")
    return name.startswith(
        ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH", "THAI", "LAO", "KHMER", "MYANMAR")
    )


def degraded(text: str, other: str, generator: random.Random) -> str:
    """Return a copy of `text` that nobody who reads it can take for as good.

    Parameters
    ----------
    text : str
    other : str
        An unrelated text of the same language.
    generator : random.Random
    """
    pieces, foreign = (pieces_of(one) for one in (text, other))
    joint = " " if any(piece[-1].isspace() for piece in [*pieces, *foreign]) else ""
    pieces, foreign = ([piece.strip() for piece in part] for part in (pieces, foreign))
    length = min(len(pieces), max(_FEWEST, round(_SHARE * len(pieces))))
    start = generator.randrange(len(pieces) - length + 1)
    from_where = generator.randrange(max(1, len(foreign) - length + 1))
    before, after = pieces[:start], pieces[start + length :]
    made = joint.join([*_turned(after), *foreign[from_where : from_where + length], *_turned(before)])
    # nothing was left to change: a text of one word, or two texts that are equal
    return made if made.split() != text.split() else joint.join([*foreign, *reversed(pieces), *foreign])


def _turned(pieces: Sequence[str]) -> list[str]:
    """Exchange the halves of a stretch."""
    middle = len(pieces) // 2
    return [*pieces[middle:], *pieces[:middle]]
