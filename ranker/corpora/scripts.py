"""Scripts of texts, and the languages that they identify."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int64Array

HAN, KANA, HANGUL = "zh", "ja", "ko"
# first and last character of blocks, by the language that they tell
_BLOCKS = (
    (HAN, 0x3400, 0x4DBF),
    (HAN, 0x4E00, 0x9FFF),
    (HAN, 0xF900, 0xFAFF),
    (HAN, 0x20000, 0x3FFFF),
    (KANA, 0x3041, 0x30FF),
    (KANA, 0x31F0, 0x31FF),
    (KANA, 0xFF66, 0xFF9F),
    (HANGUL, 0x1100, 0x11FF),
    (HANGUL, 0x3131, 0x318E),
    (HANGUL, 0xAC00, 0xD7A3),
    ("th", 0x0E00, 0x0E7F),
    ("lo", 0x0E80, 0x0EFF),
    ("bo", 0x0F00, 0x0FFF),
    ("my", 0x1000, 0x109F),
    ("km", 0x1780, 0x17FF),
)
WITHOUT_SPACES = tuple((first, last) for language, first, last in _BLOCKS if language != HANGUL)
"""First and last characters of the scripts that put no spaces between words."""
_LEAST_KANA = 0.1
"""Minimum proportion of kana for a text with Chinese characters to be Japanese."""
_LONGEST_MEAN = {HAN: 3.0, KANA: 3.0}
_LONGEST_MEAN_OF_OTHERS = 8.0
"""Maximum mean number of letters between spaces in text that is segmented into words."""
_LOOKED_AT = 500


def language_of(texts: Sequence[str]) -> str | None:
    """Return the language identified by the script of most letters in `texts`; None if it identifies no language."""
    joined = "\n".join(texts)
    if joined.isascii():
        return None
    characters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    points, counts = np.unique(characters, return_counts=True)
    letters: dict[str, int] = {}
    for language, first, last in _BLOCKS:
        letters[language] = letters.get(language, 0) + int(counts[(points >= first) & (points <= last)].sum())
    total = sum(letters.values())
    if 2 * total <= _number_of_letters(points, counts):
        return None
    written, other = (HAN, KANA) if letters[KANA] < _LEAST_KANA * (letters[HAN] + letters[KANA]) else (KANA, HAN)
    letters[written] += letters.pop(other)
    language = max(letters, key=lambda name: letters[name])
    mean = total / len(joined.split())
    return language if language == HANGUL or mean > _LONGEST_MEAN.get(language, _LONGEST_MEAN_OF_OTHERS) else None


def _number_of_letters(points: npt.NDArray[np.uint32], counts: Int64Array) -> int:
    return int(counts[[chr(point).isalpha() for point in points]].sum())


def sampled(references: Int64Array) -> Int64Array:
    """Return a sample of the references of a language pair, to detect their script."""
    return references[:: len(references) // _LOOKED_AT + 1]
