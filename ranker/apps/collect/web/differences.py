"""Differences between the outputs of a source: words, or characters in scripts without spaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ranker.apps.collect.degrading import pieces_of

_LONGEST = 400
"""Maximum number of words of outputs that are compared in order, which takes quadratic time."""


@dataclass(frozen=True)
class Stretch:
    """A part of an output; `differs` if other outputs have different text there."""

    text: str
    differs: bool


def marked(outputs: Sequence[str]) -> list[list[Stretch]]:
    """Split outputs into shared and differing stretches; a shared word occurs in at least half of the other outputs."""
    if len(outputs) < 2:
        return [[Stretch(text, False)] for text in outputs]
    split_outputs = [pieces_of(text) for text in outputs]
    words = [[word.strip() for word in output] for output in split_outputs]
    in_order = len(outputs) == 2 and max(map(len, words)) <= _LONGEST
    shared = _in_order(*words) if in_order else _in_half(words)
    return [_stretches(text, known) for text, known in zip(split_outputs, shared, strict=True)]


def _in_order(first: list[str], second: list[str]) -> list[list[bool]]:
    shared = [[False] * len(first), [False] * len(second)]
    for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
        for place in range(block.size):
            shared[0][block.a + place] = shared[1][block.b + place] = True
    return shared


def _in_half(words: list[list[str]]) -> list[list[bool]]:
    counts = [Counter(output_words) for output_words in words]
    return [list(_known(output_words, counts)) for output_words in words]


def _known(words: list[str], counts: list[Counter[str]]) -> Iterator[bool]:
    seen: Counter[str] = Counter()
    for word in words:
        seen[word] += 1
        # the output itself is one of them
        yield 2 * (sum(count[word] >= seen[word] for count in counts) - 1) >= len(counts) - 1


def _stretches(words: list[str], shared: list[bool]) -> list[Stretch]:
    stretches: list[Stretch] = []
    for word, known in zip(words, shared, strict=True):
        if stretches and stretches[-1].differs != known:
            stretches[-1] = Stretch(stretches[-1].text + word, not known)
        else:
            stretches.append(Stretch(word, not known))
    return stretches
