"""How much is tried: enough for a change in the works, and with ``RANKER_THOROUGH=1`` all there is."""

from __future__ import annotations

import os
from typing import Any

import pytest

THOROUGH = bool(os.environ.get("RANKER_THOROUGH"))

thorough = pytest.mark.thorough
"""Takes long: most try what a quicker test tries with more data, other sizes or another fault, some need a browser."""


SLOW_TO_COMPILE = (
    "ranker.apps.tuning.",
    "ranker.evaluation.",
    "ranker.extractors.edit.",
    "ranker.extractors.meteor.",
    "ranker.extractors.ngram.",
    "ranker.extractors.order.",
    "ranker.extractors.paraphrase.matching",
    "ranker.extractors.terp.",
    "ranker.learning.aligner.",
    "ranker.text.sequences",
    "ranker.text.tokenizers",
)
"""Modules whose kernels take 2 to 20 s each to compile, and little as plain Python on what most tests have."""


CASES = 4
"""Most cases of one test that are tried if not everything is; all in CI and where golden files are written."""


def spread(cases: list[Any]) -> list[Any]:
    """Return `CASES` of more cases than that, from the first to the last at equal distances."""
    if len(cases) <= CASES or os.environ.get("CI") or os.environ.get("RANKER_UPDATE_GOLDEN"):
        return cases
    return [cases[place * (len(cases) - 1) // (CASES - 1)] for place in range(CASES)]


def further(*case: object) -> Any:
    """Return a case of a test with parameters that is tried with all there is."""
    return pytest.param(*case, marks=thorough)


def examples(count: int) -> int:
    """Return how many examples hypothesis tries where `count` are thorough."""
    return count if THOROUGH else max(10, count // 5)
