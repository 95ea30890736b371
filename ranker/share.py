"""Location of the data included with the code: feature sets, corpus cards and trained models.

They are inside the package in a wheel, and beside it in a checkout. No other module builds these paths.
"""

from __future__ import annotations

import functools
import importlib.resources
from pathlib import Path
from typing import Literal

Room = Literal["features", "data", "models"]


@functools.cache
def directory(room: Room) -> Path:
    """Return the path of an included directory: ``features``, ``data`` or ``models``."""
    package = Path(str(importlib.resources.files("ranker")))
    packed = package / "share" / room
    return packed if packed.is_dir() else package.parent / room
