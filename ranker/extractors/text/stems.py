"""Stems of words, by the Snowball stemmers (Porter 2001)."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence

import numpy as np

from ranker.arrays import Int32Array
from ranker.errors import OptionError, nearest


def stem_numbers(vocabulary: Sequence[str], stemmer: str) -> Int32Array:
    """Return the number of the stem of every word, from 0 in order of first occurrence, shape (words,)."""
    numbers: dict[str, int] = {}
    stem = _stemmer(stemmer)
    return np.fromiter((numbers.setdefault(stem(word), len(numbers)) for word in vocabulary), dtype=np.int32)


def stemmers() -> list[str]:
    """Return the languages that have a Snowball stemmer, sorted."""
    package = importlib.import_module("snowballstemmer")
    known: list[str] = sorted(set(package.algorithms()) - {"porter"})
    return known


@functools.cache
def _stemmer(language: str) -> Callable[[str], str]:
    """Return the Snowball stemmer (Porter 2001) of `language`."""
    known = stemmers()
    if language not in known:
        listed = ", ".join(known)
        raise OptionError(f"meteor[stemmer={language}]: no such stemmer{nearest(language, known)}; there are: {listed}")
    # by its module: snowballstemmer.stemmer() would take PyStemmer where it is installed, of whatever version
    module = importlib.import_module(f"snowballstemmer.{language}_stemmer")
    stem: Callable[[str], str] = getattr(module, f"{language.capitalize()}Stemmer")().stemWord
    # the same words come again with every tokeniser and every corpus, and stemming is slow
    return functools.lru_cache(maxsize=1 << 18)(stem)
