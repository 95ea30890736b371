"""Untrusted texts on a page: made harmless for the browser, and shortened for the reader."""

from __future__ import annotations

LONG = 2000
"""Length in characters above which a text is folded."""
START = 1000
"""Number of characters shown of a folded text."""
_REPLACEMENT = 0xFFFD
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_NEVER = [*range(0x80, 0xA0), *range(0xD800, 0xE000), *range(0xFDD0, 0xFDF0)]
_NONCHARACTERS = [plane + last for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)]
_VISIBLE = dict.fromkeys([*_NEVER, *_NONCHARACTERS], _REPLACEMENT) | _PICTURES


def visible(text: str) -> str:
    """Return `text` with visible symbols for control characters, and U+FFFD for forbidden characters."""
    return text if text.isprintable() else text.translate(_VISIBLE)


def on_one_line(text: str) -> str:
    """Make `text` fit a label or an attribute value: `visible` text with single spaces for white space."""
    return visible(" ".join(text.split()))


def start_of(text: str) -> str:
    """Return the initially visible part of `text`: all of it unless it is longer than `LONG`."""
    return text if len(text) <= LONG else text[:START]
