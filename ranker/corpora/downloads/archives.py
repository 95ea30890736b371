"""Unpacks tar and zip archives whose content nobody has checked.

Only plain files are unpacked, into a new folder and under names that cannot leave it. Links, devices and duplicate
names are refused, and so is an archive that expands far beyond its size.
"""

from __future__ import annotations

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, cast

from ranker.errors import DataError
from ranker.files import display_name, inside, printable

_Open = Callable[[], IO[bytes]]
_TAR = (".tar.gz", ".tgz", ".tar")
_ZIP = (".zip",)
# RuntimeError is zipfile's for a password, NotImplementedError for a compression it does not know
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    NotImplementedError,
)
_RATIO, _FREE, _MOST_FILES, _BLOCK = 100, 1 << 26, 100_000, 1 << 20


def is_archive(name: str) -> bool:
    """Whether a file of that name is an archive that `unpack` takes."""
    return name.endswith((*_TAR, *_ZIP))


def unpack(archive: Path, target: Path, *, below: str = "", only: Sequence[str] = ()) -> int:
    """Unpack the files of an archive into a folder, and return their number.

    Parameters
    ----------
    archive : path
    target : path
        New folder.
    below : str
        Folder in the archive whose files are unpacked, named relative to it; by default all.
    only : sequence of str
        Names in that folder that are unpacked; by default all.

    Raises
    ------
    DataError
        If the archive is damaged, has nothing there, or is refused.
    """
    file, start = display_name(archive), [part for part in below.split("/") if part]
    members = _of_zip(archive) if archive.name.endswith(_ZIP) else _of_tar(archive)
    room, count = max(_FREE, _RATIO * archive.stat().st_size), 0
    try:
        for name, opened in members:
            parts = [part for part in name.split("/") if part not in ("", ".")]
            wanted = parts[len(start) :] if parts[: len(start)] == start else []
            if not wanted or (only and wanted[0] not in only):
                continue
            if opened is None:
                what = f"{printable(name)[:100]!r} is a link or a device, expected regular files: nothing was unpacked"
                raise DataError(what, file=file)
            room, count = room - _write(opened, inside(target, *wanted), room, name, file), count + 1
            if room < 0 or count > _MOST_FILES:
                raise DataError("unpacks to far more than its size: nothing was unpacked", file=file)
    except _DAMAGED as error:
        what = f"damaged or unknown archive ({printable(str(error))[:100]}): delete it and download it again"
        raise DataError(what, file=file) from None
    if not count:
        raise DataError(f"contains no files{f' in {below}' if below else ''}: the archive has changed", file=file)
    return count


def _of_tar(archive: Path) -> Iterator[tuple[str, _Open | None]]:
    """Yield names and what opens them, None for what is no plain file."""
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            if not member.isdir():
                yield member.name, cast(_Open, partial(tar.extractfile, member)) if member.isreg() else None


def _of_zip(archive: Path) -> Iterator[tuple[str, _Open | None]]:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            if not member.is_dir():
                # the upper half holds the mode of a file that was packed on Unix
                is_plain = (member.external_attr >> 28) in (0, 0o10)
                yield member.filename, partial(packed.open, member) if is_plain else None


def _write(opened: _Open, path: Path, room: int, name: str, file: str) -> int:
    """Write one file and return its size, or a size above `room` if it is larger."""
    written = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with opened() as content, path.open("xb") as stream:
            while written <= room and (block := content.read(_BLOCK)):
                written += stream.write(block)
    except (FileExistsError, NotADirectoryError):
        raise DataError(f"{printable(name)[:100]!r} is duplicated: nothing was unpacked", file=file) from None
    return written
