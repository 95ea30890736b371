"""Degraded copies of translations, known to be worse than the original: attention checks for judges.

As in the WMT direct-assessment campaigns, part of the text is replaced by part of an unrelated text; the rest is
reordered.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_SHARE = 0.4
_FEWEST = 2
# Thai, Lao, Burmese, Khmer; Chinese and Japanese with their punctuation, in full width too
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_PIECE = re.compile(rf"[{_UNSPACED}]\s*|[^\s{_UNSPACED}]+\s*|\s+")


def pieces_of(text: str) -> list[str]:
    """Split a text into words with the space after them, or characters of scripts without spaces; they add up to it."""
    return _PIECE.findall(text)


def degraded(text: str, other: str, generator: random.Random) -> str:
    """Return a copy of `text` that is obviously worse to any reader.

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
