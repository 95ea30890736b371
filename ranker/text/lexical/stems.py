"""Snowball stemmers for many languages (Porter 2001)."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable

from ranker.errors import OptionError, nearest


def stemmers() -> list[str]:
    """Return the sorted names of the languages that have a Snowball stemmer."""
    package = importlib.import_module("snowballstemmer")
    known: list[str] = sorted(set(package.algorithms()) - {"porter"})
    return known


@functools.cache
def stemmer_of(language: str) -> Callable[[str], str]:
    """Return the function that stems words of a language, given by its lower-case English name such as ``german``."""
    known = stemmers()
    if language not in known:
        listed = ", ".join(known)
        raise OptionError(f"stemmer={language}: unknown stemmer{nearest(language, known)}; available: {listed}")
    # by its module: snowballstemmer.stemmer() would take PyStemmer where it is installed, of whatever version
    module = importlib.import_module(f"snowballstemmer.{language}_stemmer")
    stem: Callable[[str], str] = getattr(module, f"{language.capitalize()}Stemmer")().stemWord
    # the same words come again with every tokeniser and every corpus, and stemming is slow
    return functools.lru_cache(maxsize=1 << 18)(stem)
