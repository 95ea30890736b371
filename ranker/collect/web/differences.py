"""Where outputs of one source differ: words, or characters of scripts without spaces, that not all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ranker.collect.degrading import pieces_of

_LONGEST = 400
"""Pieces from which on nothing is marked: the comparison is quadratic."""


@dataclass(frozen=True)
class Stretch:
    """A part of an output; `differs` if other outputs have something else there."""

    text: str
    differs: bool


def marked(outputs: Sequence[str]) -> list[list[Stretch]]:
    """Divide every output into stretches that all outputs share, in the same order, and others."""
    pieces = [pieces_of(text) for text in outputs]
    if len(outputs) < 2 or max(map(len, pieces)) > _LONGEST:
        return [[Stretch(text, False)] for text in outputs]
    words = [[piece.strip() for piece in one] for one in pieces]
    common = words[0]
    for other in words[1:]:
        blocks = SequenceMatcher(None, common, other, autojunk=False).get_matching_blocks()
        common = [word for block in blocks for word in common[block.a : block.a + block.size]]
    return [_stretches(one, text, common) for one, text in zip(words, pieces, strict=True)]


def _stretches(words: list[str], pieces: list[str], common: list[str]) -> list[Stretch]:
    found: list[Stretch] = []
    place = 0
    for word, piece in zip(words, pieces, strict=True):
        shared = place < len(common) and word == common[place]
        place += shared
        if found and found[-1].differs != shared:
            found[-1] = Stretch(found[-1].text + piece, not shared)
        else:
            found.append(Stretch(piece, not shared))
    return found
