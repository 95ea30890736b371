"""Unpacks untrusted tar and zip archives.

Only plain files are unpacked, into a new folder and under names that cannot leave it. Links, devices, sparse files and
duplicate names are refused, and so is an archive that expands far beyond its size or has more entries than any corpus.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from ranker.errors import DataError
from ranker.files import GZIP_MAGIC, display_name, printable, safe_join

_TAR = (".tar.gz", ".tgz", ".tar")
_ZIP = (".zip",)
# zipfile raises RuntimeError for a password, NotImplementedError for a format that it does not know
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    ValueError,
)
_RATIO, _FREE, _BLOCK = 100, 1 << 26, 1 << 20
_MOST_ENTRIES = 200_000
_LONGEST_LIST = 1 << 25
"""Maximum number of bytes of the list of entries of a zip archive."""
_LONGEST_NAME = 1000
_LONGEST_HEADER = 1 << 16
"""Maximum number of bytes of the header of one entry of a tar archive, such as its long name."""
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_WITHOUT_CONTENT = (
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.FIFOTYPE,
)
_PAX, _PAX_FOR_ALL = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE), tarfile.XGLTYPE
_LONG_NAME, _LONG_LINK = tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK

_Entry = tuple[str, Iterator[bytes] | None]
"""Name and content of an entry of an archive; the content is None if the entry is not a plain file."""


def is_archive(name: str) -> bool:
    """True if a file name has the ending of an archive that `unpack` accepts."""
    return name.endswith((*_TAR, *_ZIP))


def unpack(archive: Path, target: Path, *, below: str = "", only: Sequence[str] = ()) -> int:
    """Unpack the folder `below` of an archive, or only some of its content, and return the number of files.

    `only` lists folders and files; the endings of file names may be left out.
    """
    file, start = display_name(archive), [part for part in below.split("/") if part]
    read = _zip_entries if archive.name.endswith(_ZIP) else _tar_entries
    count = 0
    try:
        for name, content in read(archive, _Budget(max(_FREE, _RATIO * archive.stat().st_size))):
            parts = [part for part in name.split("/") if part not in ("", ".")]
            if not parts or len(name) > _LONGEST_NAME:
                raise ValueError("an entry has no name" if not parts else "an entry has a name that is too long")
            wanted = parts[len(start) :] if parts[: len(start)] == start else []
            inside = "/".join(wanted)
            chosen = any(inside == part or inside.startswith((f"{part}/", f"{part}.")) for part in only)
            if not wanted or (only and not chosen):
                continue
            if content is None:
                what = "is a link, a device or a sparse file, expected regular files"
                raise _RefusedError(f"{printable(name)[:100]!r} {what}")
            _write(content, safe_join(target, *wanted), name)
            count += 1
    except _RefusedError as error:
        raise DataError(f"{error}: nothing was unpacked", file=file) from None
    except DataError as error:
        raise DataError(f"{error.what}: nothing was unpacked", file=file) from None
    except _DAMAGED as error:
        what = f"damaged or unknown archive ({printable(str(error))[:100]}): delete it and download it again"
        raise DataError(what, file=file) from None
    if not count:
        what = f"contains no {' or '.join(only) or 'files'}{f' in {below}' if below else ''}"
        raise DataError(f"{what}: the archive has changed, or never contained these files", file=file)
    return count


class _RefusedError(Exception):
    """Raised for content that no archive of a corpus should have."""


class _Budget:
    """Remaining limits on an archive's unpacked size and number of entries, including entries that are skipped."""

    def __init__(self, size: int) -> None:
        self.size, self.entries = size, _MOST_ENTRIES

    def take(self, size: int) -> None:
        """Count an entry of the given size before it is read; raise an error if a limit is exceeded."""
        if size < 0:
            raise ValueError(f"an entry has {size:,} bytes, expected at least 0")
        self.size -= size
        self.entries -= 1
        if self.size < 0:
            raise _RefusedError(f"unpacks to more than {_RATIO} times its size, expected less")
        if self.entries < 0:
            raise _RefusedError(f"has too many entries, expected at most {_MOST_ENTRIES:,}")


def _tar_entries(archive: Path, budget: _Budget) -> Iterator[_Entry]:
    # tarfile reads headers of any size, and loops over what sparse files declare: only its parser of blocks is used
    with archive.open("rb") as raw:
        stream = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if raw.peek(2).startswith(GZIP_MAGIC) else raw
        header: dict[str, str] = {}
        while (block := stream.read(tarfile.BLOCKSIZE)).strip(b"\0"):
            entry = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            if entry.type in (*_PAX, _PAX_FOR_ALL, _LONG_NAME, _LONG_LINK):
                if entry.size > _LONGEST_HEADER:
                    raise ValueError(f"a header has {entry.size:,} bytes, expected at most {_LONGEST_HEADER:,}")
                budget.take(entry.size)
                header |= _header_of(entry.type, b"".join(_content(stream, entry.size)))
                continue
            size = 0 if entry.type in _WITHOUT_CONTENT else int(header.get("size", entry.size))
            budget.take(size)
            content = _content(stream, size)
            if not entry.isdir():
                is_plain = entry.type in _PLAIN and "GNU" not in header
                yield header.get("path", entry.name), content if is_plain else None
            for _ in content:
                pass
            header = {}
        # to its end, where gzip has a checksum
        while rest := stream.read(_BLOCK):
            budget.take(len(rest))


def _content(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield the content of an entry of a tar archive, then skip the padding of its last block."""
    left = size
    while left:
        block = stream.read(min(left, _BLOCK))
        if not block:
            raise EOFError("it ends in the middle of an entry")
        left -= len(block)
        yield block
    stream.read(-size % tarfile.BLOCKSIZE)


def _header_of(kind: bytes, raw: bytes) -> dict[str, str]:
    """Parse the fields that a tar header sets for the next entry: "path", "size", and "GNU" for a sparse file."""
    if kind in (_LONG_NAME, _LONG_LINK):
        return {"path": raw.partition(b"\0")[0].decode(errors="surrogateescape")} if kind == _LONG_NAME else {}
    header, place = {}, 0
    while place < len(raw):
        length = re.compile(rb"\d{1,9} ").match(raw, place)
        end = place + int(length[0]) if length else 0
        if length is None or not length.end() < end <= len(raw):
            raise ValueError("a header has a damaged line, expected LENGTH KEY=VALUE")
        key, _, value = raw[length.end() : end - 1].decode(errors="surrogateescape").partition("=")
        place = end
        if key in ("path", "size") or key.startswith("GNU.sparse."):
            header[key.partition(".")[0]] = value
    if kind == _PAX_FOR_ALL and header:
        raise ValueError("a header gives all entries one name or size, expected one header for each entry")
    return header


class _Bounded(io.BufferedReader):
    """An open zip file that refuses reads longer than `_LONGEST_LIST`, the limit for its list of entries."""

    def read(self, size: int | None = -1) -> bytes:
        """Read `size` bytes; raise a ValueError if `size` exceeds the limit for the list of entries."""
        if size is not None and size > _LONGEST_LIST:
            raise ValueError(f"its list of entries has {size:,} bytes, expected at most {_LONGEST_LIST:,}")
        return super().read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position; raise a ValueError if it is negative because the list of entries is damaged."""
        if whence == io.SEEK_SET and offset < 0:
            raise ValueError(f"its list of entries is damaged: found position {offset}, expected at least 0")
        return super().seek(offset, whence)


def _zip_entries(archive: Path, budget: _Budget) -> Iterator[_Entry]:
    with _Bounded(io.FileIO(archive)) as stream, zipfile.ZipFile(stream) as packed:
        for entry in packed.infolist():
            budget.take(entry.file_size)
            if entry.filename.endswith("/"):
                continue
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                what = "uses an unsupported compression method, expected stored or deflated (repack the archive)"
                raise _RefusedError(f"{printable(entry.filename)[:100]!r} {what}")
            # the upper half holds the mode of a file that was packed on Unix
            is_plain = (entry.external_attr >> 28) in (0, 0o10)
            yield entry.filename, _zip_content(packed, entry) if is_plain else None


def _zip_content(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    # it yields no more than the size that the entry declares
    with packed.open(entry) as stream:
        while block := stream.read(_BLOCK):
            yield block


def _write(content: Iterator[bytes], path: Path, name: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as stream:
            stream.writelines(content)
    except (FileExistsError, NotADirectoryError):
        raise _RefusedError(f"{printable(name)[:100]!r} clashes with another entry, expected each name once") from None
