"""Names of systems, taken from the names of their output files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ranker.errors import DataError
from ranker.files import STDIN, display_name


def system_files(translations: Sequence[str | Path]) -> dict[str, str | Path]:
    """Return translation files by the names of their systems.

    A file may be given as ``NAME=FILE``. Otherwise a system is named after the file, without the dot-separated parts
    that all file names begin or end with.
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
    """Remove dot-separated parts that all file names begin or end with, as long as letters are left."""
    parts = [file.split(".") for file in files]
    for rest in (slice(-1), slice(1, None)):
        while len({*files}) > 1:
            shorter = [part[rest] for part in parts]
            cut = {next(iter(part[:1] if rest.start else part[-1:])) for part in parts}
            if len(cut) > 1 or not all(any(map(str.isalpha, "".join(name))) for name in [*cut, *shorter]):
                break
            parts = shorter
    return [".".join(part) for part in parts]


def _named(path: str | Path) -> tuple[str, str | Path]:
    """Split ``NAME=FILE`` into the name of a system and the file; the name is empty for a file alone."""
    name, equals, file = str(path).partition("=")
    return (name, file) if name and equals and "/" not in name and not Path(path).exists() else ("", path)
