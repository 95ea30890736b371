"""Finds the data included with the code: feature sets, corpus cards and trained models.

In a wheel they lie inside the package, in a checkout beside it. Nothing else in the project opens those paths.
"""

from __future__ import annotations

import functools
import importlib.resources
from pathlib import Path
from typing import Literal

Room = Literal["features", "data", "models"]


@functools.cache
def directory(room: Room) -> Path:
    """Return the directory of shipped `room`: ``features``, ``data`` or ``models``."""
    package = Path(str(importlib.resources.files("ranker")))
    packed = package / "share" / room
    return packed if packed.is_dir() else package.parent / room
