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
    """Split a text, losslessly, into words and the space after each, or into characters in scripts without spaces."""
    return _PIECE.findall(text)


def degraded(text: str, foreign_text: str, generator: random.Random) -> str:
    """Make a text obviously worse to any reader: replace a part by words of `foreign_text`, and reorder the rest."""
    words, foreign = (pieces_of(side) for side in (text, foreign_text))
    joint = " " if any(word[-1].isspace() for word in [*words, *foreign]) else ""
    words, foreign = ([word.strip() for word in part] for part in (words, foreign))
    length = min(len(words), max(_FEWEST, round(_SHARE * len(words))))
    start = generator.randrange(len(words) - length + 1)
    from_where = generator.randrange(max(1, len(foreign) - length + 1))
    before, after = words[:start], words[start + length :]
    damaged = joint.join([*_turned(after), *foreign[from_where : from_where + length], *_turned(before)])
    # nothing was left to change: a text of one word, or two texts that are equal
    return damaged if damaged.split() != text.split() else joint.join([*foreign, *reversed(words), *foreign])


def _turned(words: Sequence[str]) -> list[str]:
    """Swap the first and the second half of a list of words."""
    middle = len(words) // 2
    return [*words[middle:], *words[:middle]]
