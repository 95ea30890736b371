"""How much is tried: enough for a change in the works, and with ``RANKER_THOROUGH=1`` all there is."""

from __future__ import annotations

import os
from typing import Any

import pytest

THOROUGH = bool(os.environ.get("RANKER_THOROUGH"))

thorough = pytest.mark.thorough
"""Takes long: most try what a quicker test tries with more data, other sizes or another fault, some need a browser."""


def further(*case: object) -> Any:
    """Return a case of a test with parameters that is tried with all there is."""
    return pytest.param(*case, marks=thorough)


def examples(count: int) -> int:
    """Return how many examples hypothesis tries where `count` are thorough."""
    return count if THOROUGH else max(10, count // 3)
