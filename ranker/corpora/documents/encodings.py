"""Decodes files that may not be UTF-8; errors name the invalid byte and its place."""

from __future__ import annotations

import bisect
import codecs
import re
from collections.abc import Callable, Sequence

from ranker.errors import DataError, log_note
from ranker.files import note_line_ends, with_line_feeds

_NOT_OF_TEXT = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7", "mbcs", "oem")
_DECLARED = re.compile(rb"""\A\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
# text that calls itself by the older name often uses characters that only the newer has
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030"}
_WESTERN = ("de", "en", "es", "fr", "it", "nl", "pt")


class Lines:
    """Converts positions in `text` to lines and columns, both counted from 1."""

    def __init__(self, text: str) -> None:
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def place(self, position: int) -> tuple[int, int]:
        """Return the line and column of the character at `position`."""
        before = bisect.bisect_left(self._breaks, position)
        return before + 1, position - (self._breaks[before - 1] if before else -1)


def fallback_encodings(language: str, translated_from: str = "") -> tuple[str, ...]:
    """Return the encodings to try after UTF-8 for `language`, starting with GB2312 for translations from Chinese."""
    language, source = (re.split("[-_]", code.lower())[0] for code in (language, translated_from))
    if language == "zh":
        return ("gb18030",)
    western = ("cp1252",) if language in _WESTERN else ()
    return ("gb2312", *western) if source == "zh" else western


def is_encoding(name: str) -> bool:
    """True if `name` is a text encoding that Python knows."""
    try:
        if codecs.lookup(name).name.replace("_", "-") in _NOT_OF_TEXT:
            return False
        # of no bytes at all, Python would not even look the name up
        b"aa".decode(name)
    except UnicodeDecodeError:
        return True
    except (LookupError, ValueError):
        return False
    return True


def declared_encoding(raw: bytes, file: str) -> str | None:
    """Return the encoding named by the XML declaration at the start of `raw`; None if missing or unknown to Python.

    A file in UTF-8 that declares an encoding of one byte per character, in which any bytes are valid, gets a note.
    """
    declared = _DECLARED.match(raw)
    name = declared[1].decode("ascii") if declared else ""
    if not is_encoding(name):
        return None
    if len("é".encode().decode(name, errors="replace")) > 1 and not raw.isascii() and _fits("utf-8")(raw):
        log_note(f"{file}: declares {name}, but is in UTF-8: read as UTF-8")
        return "utf-8"
    return name


def common_encoding(raws: Sequence[bytes], encodings: Sequence[str]) -> str | None:
    """Return the first of `encodings` in which all `raws` are valid, or None."""
    return next((name for name in encodings if all(map(_fits(name), raws))), None)


def _fits(encoding: str) -> Callable[[bytes], bool]:
    def fits(raw: bytes) -> bool:
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            return False
        return True

    return fits


def decode(raw: bytes, file: str, encoding: str, *, replace: bool = False) -> str:
    r"""Decode a file; a byte order mark is dropped and line endings become ``\n``."""
    try:
        text = raw.decode(encoding, errors="replace" if replace else "strict")
    except UnicodeDecodeError as error:
        before = with_line_feeds(
            raw[: error.start].decode(encoding, errors="replace").removeprefix("\ufeff"), raw.count(b"\n")
        )
        what, position = f"byte 0x{raw[error.start]:02x} is not {encoding}", len(before)
    else:
        before = with_line_feeds(text.removeprefix("\ufeff"))
        note_line_ends(text, file)
        if "\0" not in before:
            return before
        what, position = "byte 0x00 is not text (UTF-16 or a binary file?)", before.index("\0")
    line, column = Lines(before).place(position)
    raise DataError(f"{what}: specify the encoding, or convert the file to UTF-8", file=file, line=line, column=column)


def with_superset(encoding: str) -> str:
    """Return GB18030 for its subsets GB2312 and GBK, and other encodings unchanged."""
    name = codecs.lookup(encoding).name
    return _SUPERSETS.get(name, name)
