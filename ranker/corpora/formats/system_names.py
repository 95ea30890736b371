"""Names of systems whose outputs are in files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ranker.errors import DataError
from ranker.files import STDIN, display_name

_LETTER = re.compile(r"[^\W\d_]")


def system_files(translations: Sequence[str | Path]) -> dict[str, str | Path]:
    """Return files of translations by the names of their systems.

    A file may be given as ``NAME=FILE``. Otherwise a system is called by the file, without the parts between full stops
    that all names of files begin or end with.
    """
    given = [_named(path) for path in translations]
    files = [name or ("stdin" if str(path) == STDIN else display_name(Path(path).name)) for name, path in given]
    unnamed = iter(short_names([file for file, (name, _) in zip(files, given, strict=True) if not name]))
    names = [name or next(unnamed) for name, _ in given]
    for name, (_, path) in zip(names, given, strict=True):
        if names.count(name) > 1:
            what = f"two files give the system name {name!r}; rename one of them, or name the systems: -t NAME=FILE"
            raise DataError(what, file=display_name(path))
    return {name: path for name, (_, path) in zip(names, given, strict=True)}


def short_names(files: Sequence[str]) -> list[str]:
    """Return names of several files without the parts that all begin or end with, as long as letters are left."""
    parts = [file.split(".") for file in files]
    for end in (-1, 0):
        while len({*files}) > 1 and _is_common(parts, end):
            parts = [part[:-1] if end else part[1:] for part in parts]
    return [".".join(part) for part in parts]


def _is_common(parts: list[list[str]], end: int) -> bool:
    rest = [".".join(part[:-1] if end else part[1:]) for part in parts]
    same = len({part[end] for part in parts}) == 1
    return same and bool(_LETTER.search(parts[0][end])) and all(_LETTER.search(name) for name in rest)


def _named(path: str | Path) -> tuple[str, str | Path]:
    """Return the name that ``NAME=FILE`` gives a system, empty for a file alone, and the file."""
    name, equals, file = str(path).partition("=")
    return (name, file) if name and equals and "/" not in name and not Path(path).exists() else ("", path)
