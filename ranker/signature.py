"""Signatures: all that changes a result, in a line such as ``ranker:1.0|metric:bleu[order=4]|data:wmt14#1a2b3c4d``."""

from __future__ import annotations

import re
from collections.abc import Mapping

# a percent sign is escaped only where it would read as an escape
_ESCAPED = re.compile(r"[|\r\n]|%(?=7C|0A|0D|25)")


def make_signature(*parts: str | Mapping[str, object]) -> str:
    """Join ``key:value`` parts with ``|``, leaving out those whose value is None.

    In values, ``|`` and the ends of lines are written ``%7C``, ``%0A`` and ``%0D``. Strings among the parts are
    signatures themselves, or flags, and are not changed.
    """
    written: list[str] = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
        else:
            written += [f"{key}:{escaped(value)}" for key, value in part.items() if value is not None]
    return "|".join(written)


def escaped(value: object) -> str:
    """Escape the characters of a value that separate parts of a signature or end its line."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", str(value))
