"""Lines of text files of any size, in batches."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from io import BufferedReader
from pathlib import Path
from typing import cast

from ranker.errors import DataError
from ranker.files import (
    GZIP_MAGIC,
    STDIN,
    LineEnds,
    check_no_device,
    decode_text,
    display_name,
    reading,
    with_line_feeds,
)

_PART = 1 << 20
_LONGEST_LINE = 1 << 26


def line_batches(path: str | Path) -> Iterator[list[str]]:
    """Yield the lines of a plain or gzip file of any size, or of standard input for ``-``, a megabyte at a time."""
    name = display_name(path)
    rest, done, ends = b"", 0, LineEnds()
    for part in _parts(path, name):
        whole, newline, after = part.rpartition(b"\n")
        if newline:
            text = decode_text(rest + whole + newline, name, done)
            ends.add(text, done)
            yield (lines := _lines(text, done))
            done += len(lines)
            rest = after
        else:
            rest += part
        if len(rest) > _LONGEST_LINE:
            what = f"this line is longer than {_LONGEST_LINE:,} bytes, expected one sentence per line"
            raise DataError(what, file=name, line=done + 1)
    if rest:
        text = decode_text(rest, name, done)
        ends.add(text, done)
        yield _lines(text, done)
    ends.note(name)


def _lines(text: str, done: int) -> list[str]:
    return with_line_feeds(text, done).removesuffix("\n").split("\n")


def _parts(path: str | Path, name: str) -> Iterator[bytes]:
    if str(path) == STDIN and sys.stdin is None:
        raise DataError("standard input is closed, expected text: give a file instead of -", file=name)
    source = nullcontext(sys.stdin.buffer) if str(path) == STDIN else None
    with reading(name):
        if source is None:
            check_no_device(path)
    with reading(name), source or Path(path).open("rb") as raw:
        # either is buffered, though its type does not say so
        zipped = cast(BufferedReader, raw).peek(2).startswith(GZIP_MAGIC)
        with gzip.GzipFile(fileobj=raw) if zipped else nullcontext(raw) as stream:
            while part := stream.read(_PART):
                yield part
