"""Texts of others on a page: a browser obeys nothing in them, and none is longer than a reader wants at first."""

from __future__ import annotations

LONG = 2000
"""Characters from which on a text is cut; all of it is behind a fold."""
START = 1000
"""Characters shown of such a text."""
_REPLACEMENT = 0xFFFD
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_NEVER = [*range(0x80, 0xA0), *range(0xD800, 0xE000), *range(0xFDD0, 0xFDF0)]
_NONCHARACTERS = [plane + last for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)]
_VISIBLE = dict.fromkeys([*_NEVER, *_NONCHARACTERS], _REPLACEMENT) | _PICTURES


def visible(text: str) -> str:
    """Return `text` with pictures for control characters, and U+FFFD for what no document may hold."""
    return text if text.isprintable() else text.translate(_VISIBLE)


def on_one_line(text: str) -> str:
    """Return `text` as `visible` does, with single spaces for white space: a label or the value of an attribute."""
    return visible(" ".join(text.split()))


def start_of(text: str) -> str:
    """Return the part of `text` that is shown at first: all of it unless it is `LONG`."""
    return text if len(text) <= LONG else text[:START]
