"""The types of a fixture that runs commands in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Printed(NamedTuple):
    """What a command printed."""

    out: str
    err: str


Command = Callable[..., Printed]
"""Takes the words of a command and the exit code that is expected, 0 if not said."""
