"""Documents with one thing changed, to be refused."""

from __future__ import annotations

import copy
import functools
import json
import operator
from typing import Any


def changed(document: Any, change: str) -> Any:
    """Return a copy with ``{"columns.0.mean": "x"}`` in place of what is there, or without ``{"-columns.0": null}``."""
    result = copy.deepcopy(document)
    for place, value in json.loads(change).items():
        *path, last = [int(part) if part.isdigit() else part for part in place.removeprefix("-").split(".")]
        inside = functools.reduce(operator.getitem, path, result)
        if place.startswith("-"):
            del inside[last]
        else:
            inside[last] = value
    return result
