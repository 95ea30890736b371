"""Parallel text whose word alignment is known, to measure aligners on.

Simulated languages are simpler than real ones: what is measured here shows that one aligner finds more of what it is
meant to find than another, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import Int32Array, Int64Array
from ranker.links import Links
from tests.made_links import make_links

_SPURIOUS = 8
_LONGEST_PHRASE = 4


@dataclass(frozen=True, eq=False)
class ParallelText:
    """Sentence pairs in CSR form, and the links by which they were made."""

    source: Int32Array
    source_offsets: Int64Array
    target: Int32Array
    target_offsets: Int64Array
    links: Links


def simulate_parallel_text(pairs: int, *, words: int = 2000, seed: int = 0) -> ParallelText:
    """Make sentence pairs with a known alignment, in languages that `words` and `seed` decide.

    Phrases of 1 to 4 words change place; some words are left untranslated, become two, or come from nowhere.
    """
    random = np.random.default_rng(seed)
    frequency = 1.0 / (np.arange(words) + 5.0)
    dictionary = random.integers(_SPURIOUS, _SPURIOUS + 2 * words, size=(words, 4))
    sources, targets, alignments = [], [], []
    for length in random.integers(3, 31, size=pairs):
        source = random.choice(words, size=length, p=frequency / frequency.sum())
        target: list[int] = []
        links = []
        for position in _reordered(length, random):
            if random.random() < 0.08:
                target.append(int(random.integers(_SPURIOUS)))
            if random.random() < 0.08:
                continue
            meaning = dictionary[source[position]]
            links.append((position, len(target)))
            target.append(int(meaning[random.choice(3, p=[0.7, 0.2, 0.1])]))
            if random.random() < 0.05:
                links.append((position, len(target)))
                target.append(int(meaning[3]))
        sources.append(source)
        targets.append(target or [0])
        alignments.append(links)
    return ParallelText(*_csr(sources), *_csr(targets), make_links(alignments))


def _reordered(length: int, random: np.random.Generator) -> list[int]:
    """Return the source positions in the order of their translation."""
    phrases: list[list[int]] = []
    start = 0
    while start < length:
        stop = min(length, start + int(random.integers(1, _LONGEST_PHRASE + 1)))
        phrases.append(list(range(start, stop)))
        start = stop
    for index in range(len(phrases) - 1):
        if random.random() < 0.2:
            phrases[index], phrases[index + 1] = phrases[index + 1], phrases[index]
    late = random.random(len(phrases)) < 0.05
    in_place = [phrase for phrase, moved in zip(phrases, late, strict=True) if not moved]
    last = [phrase for phrase, moved in zip(phrases, late, strict=True) if moved]
    return [position for phrase in in_place + last for position in phrase]


def _csr(
    sentences: list[Int64Array] | list[list[int]],
) -> tuple[Int32Array, Int64Array]:
    offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)
    return np.concatenate([np.asarray(sentence, dtype=np.int32) for sentence in sentences]), offsets
