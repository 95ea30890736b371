"""References in scripts that put no spaces between words, and tokenisers that take them for one long word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.extractors.text.tokens import Tokenizer, language_tokenizers

_HAN, _KANA = "Chinese", "Japanese"
# first and last character of blocks, by the language named
_BLOCKS = (
    (_HAN, 0x3400, 0x4DBF),
    (_HAN, 0x4E00, 0x9FFF),
    (_HAN, 0xF900, 0xFAFF),
    (_HAN, 0x20000, 0x3FFFF),
    (_KANA, 0x3041, 0x30FF),
    (_KANA, 0x31F0, 0x31FF),
    (_KANA, 0xFF66, 0xFF9F),
    ("Thai", 0x0E00, 0x0E7F),
    ("Lao", 0x0E80, 0x0EFF),
    ("Tibetan", 0x0F00, 0x0FFF),
    ("Burmese", 0x1000, 0x109F),
    ("Khmer", 0x1780, 0x17FF),
)
_LEAST_KANA = 0.1
"""Minimum proportion of kana for a text with Chinese characters to be Japanese."""
_LONGEST_MEAN = {_HAN: 3.0, _KANA: 3.0}
_LONGEST_MEAN_OF_OTHERS = 8.0
"""Maximum mean number of letters between spaces in text that is segmented into words."""
_LOOKED_AT = 500
_SPACED: frozenset[Tokenizer] = frozenset({"13a", "none", "intl", "chrf-words", "terp", "tercom"})
_JOINING: dict[str, frozenset[Tokenizer]] = {
    _HAN: _SPACED | {"meteor-words"},
    _KANA: _SPACED | {"meteor-words", "zh"},
}
_JOINING_OTHERS = _SPACED | {"meteor-words", "meteor", "zh", "tercom-asian"}
_BETTER = {_HAN: "zh", _KANA: "ja-mecab or char"}
_BETTER_FOR_OTHERS = "char or flores200"


@dataclass(frozen=True)
class Unspaced:
    """References of one language pair that are written without spaces."""

    language_pair: str
    language: str
    auto: Tokenizer


def tokenizer_note(dataset: Dataset, tokenizer: Tokenizer) -> str | None:
    """Return one line if `tokenizer` cannot split references of `dataset` into words, with a better one; or None."""
    for unspaced in unspaced_references(dataset):
        used = unspaced.auto if tokenizer == "auto" else tokenizer
        if used in _JOINING.get(unspaced.language, _JOINING_OTHERS):
            of_pair = "" if unspaced.language_pair == "?" else f" of {unspaced.language_pair}"
            return (
                f"the references{of_pair} are {unspaced.language}, written without spaces, so tokenizer={used} treats "
                f"each clause as one word; better use tokenizer={_BETTER.get(unspaced.language, _BETTER_FOR_OTHERS)}"
            )
    return None


@view
def unspaced_references(dataset: Dataset) -> tuple[Unspaced, ...]:
    """Return the language pairs of `dataset` whose references are written without spaces between words."""
    names, source_language = language_tokenizers(dataset)
    source = dataset.references["source"].to_numpy()
    pairs = dataset.source_language_pairs[source]
    unspaced = []
    for pair in dataset.language_pairs:
        rows = sampled(np.flatnonzero(pairs == pair))
        language = _unspaced_language(dataset.references["text"].iloc[rows].tolist())
        if language:
            unspaced.append(Unspaced(pair, language, names[source_language[source[rows[0]]]]))
    return tuple(unspaced)


def sampled(references: Int64Array) -> Int64Array:
    """Return those of the references of a language pair that `unspaced_references` looks at."""
    return references[:: len(references) // _LOOKED_AT + 1]


def _unspaced_language(texts: list[str]) -> str | None:
    """Return in which language written without spaces most letters of `texts` are, or None."""
    joined = "\n".join(texts)
    if joined.isascii():
        return None
    characters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    points, counts = np.unique(characters, return_counts=True)
    letters: dict[str, int] = {}
    for language, first, last in _BLOCKS:
        letters[language] = letters.get(language, 0) + int(counts[(points >= first) & (points <= last)].sum())
    unspaced = sum(letters.values())
    if 2 * unspaced <= _number_of_letters(points, counts):
        return None
    if letters[_KANA] < _LEAST_KANA * (letters[_HAN] + letters[_KANA]):
        letters[_HAN], letters[_KANA] = letters[_HAN] + letters[_KANA], 0
    else:
        letters[_HAN], letters[_KANA] = 0, letters[_HAN] + letters[_KANA]
    language = max(letters, key=lambda name: letters[name])
    mean = unspaced / len(joined.split())
    return language if mean > _LONGEST_MEAN.get(language, _LONGEST_MEAN_OF_OTHERS) else None


def _number_of_letters(points: npt.NDArray[np.uint32], counts: Int64Array) -> int:
    return int(counts[[chr(point).isalpha() for point in points]].sum())
