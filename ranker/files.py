"""Reading and writing files: the one module that opens, decodes and replaces them.

Reading takes plain or gzip files, ``-`` for standard input, UTF-8 with or without a byte order mark and any line
ending. Writing goes to a temporary file beside the target that replaces it when complete, so a killed run leaves
either the old file or the new one; the target of a symbolic link is the file that it names. Several files of one
result are renamed one after the other, when all are complete. Runs lock what they write (``flock``): unlocked
temporary files were left by killed runs, and are removed by the next run that writes there.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import re
import shutil
import sys
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from ranker import locks
from ranker.errors import DataError, RankerError, counted, log_note

STDIN = "-"
GZIP_MAGIC = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_DATABASE = b"SQLite format 3\0"


class _Document(NamedTuple):
    """An unsupported type of document that may hold translations: file endings, name, and advice to the user."""

    endings: tuple[str, ...]
    called: str
    advice: str


_LINES = "plain text in UTF-8, one segment per line"
_DOCUMENTS = {
    "xliff": _Document(
        ("xlf", "xliff", "sdlxliff", "mxliff", "mqxliff"), "XLIFF", f"export source and target as {_LINES}, or as TSV"
    ),
    "tmx": _Document(("tmx",), "a translation memory (TMX)", f"export both languages as {_LINES}, or as TSV"),
    "text": _Document(("doc", "docx", "odt", "rtf"), "a document of a word processor", f"save it as {_LINES}"),
    "sheet": _Document(("xls", "xlsx", "xlsm", "xlsb", "ods"), "a spreadsheet", "save the sheet as CSV in UTF-8"),
    "inspect": _Document((), "a binary log of Inspect", "write it as JSON, inspect log dump LOG.eval > log.json"),
}
_IN_ZIP = {
    b"_journal/start.json": "inspect",
    b"word/": "text",
    b"opendocument.text": "text",
    b"xl/": "sheet",
    b"opendocument.spreadsheet": "sheet",
}
_MARKUP = re.compile(rb"[^<]{0,8}(?:<[?!][^>]*>\s*)*<(xliff|tmx)\b", re.IGNORECASE)
_COMPRESSED = {
    "bzip2": [b"BZh%d1AY&SY" % level for level in range(1, 10)],
    "xz": [b"\xfd7zXZ\0"],
    "Zstandard": [b"\x28\xb5\x2f\xfd"],
}
_OTHER_FORMATS = {
    b"\xff\xfe\0\0": "UTF-32, expected UTF-8: save it in UTF-8",
    b"\xff\xfe": "UTF-16, expected UTF-8: save it in UTF-8",
    b"\xfe\xff": "UTF-16, expected UTF-8: save it in UTF-8",
    _ZIP: "a zip archive, expected text: unpack it, or export an office document as text",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive, expected text: unpack it",
    **{
        magic: f"a file compressed by {program}, expected text: unpack it, or compress it by gzip"
        for program, magics in _COMPRESSED.items()
        for magic in magics
    },
    b"PAR1": "a Parquet file, expected text: export it as CSV or JSON lines",
    b"ARROW1": "an Arrow file, expected text: export it as CSV or JSON lines",
    b"\xff" * 4: "an Arrow stream, expected text: export it as CSV or JSON lines",
}
UNPACKED_RATIO, UNPACKED_FREE = 200, 1 << 26
"""Maximum ratio of a file's unpacked size to its size, and bytes to which any file may unpack."""
_LONGEST_NAME = 200
_RETURNS_AT_END = re.compile(r"(?<!\r)\r++(?=\n|\Z)")
STRAY_RETURNS = re.compile(r"(?<!\r)\r++(?!\n|\Z)")
"""Runs of carriage returns inside a line of text whose lines end in LF."""
_LINE_ENDS = {"stray": STRAY_RETURNS, "CR LF": re.compile(r"\r\n"), "LF": re.compile(r"(?<!\r)\n")}
_TEMPORARY = ".ranker-writing-"
_LEFT = (_TEMPORARY, ".ranker-features-")
"""Prefixes of temporary files, including those of earlier versions."""
_FORMER = ".ranker-former-"
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|]')
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|\Z)", re.IGNORECASE)
_STREAMS, _NO_STREAMS = (Path("/dev"), Path("/proc")), Path("/dev/shm")
"""Folders whose links lead to open files, which must not be replaced, and a folder in them for files of users."""
_MOST_LINKS = 40
_NOT_REGULAR = "cannot be written: exists and is not a regular file; choose another name"
_HARMLESS = {"\u200c", "\u200d"}
"""Joiners that words of Persian and of Indian languages are written with."""


def printable(text: str) -> str:
    """Return `text` on one line, with line breaks, control characters and invisible characters escaped.

    Spaces of any width and joiners are kept; marks that change the direction of the text are escaped.
    """
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(character: str) -> str:
    harmless = character.isprintable() or character in _HARMLESS or unicodedata.category(character) == "Zs"
    return character if harmless else ascii(character)[1:-1]


def display_name(path: str | Path) -> str:
    """Return `path` on one line, in the form used in messages."""
    return "<stdin>" if str(path) == STDIN else printable(str(path))


@contextmanager
def reading(name: str, expected: str = "") -> Iterator[None]:
    """Turn any error raised while the block reads the file `name` into a DataError that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"no such file{f', expected {expected}' if expected else ''}", file=name) from None
    except IsADirectoryError:
        raise DataError(f"this is a directory, expected {expected or 'a file'}", file=name) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"damaged or incomplete gzip file ({error}): copy or download it again", file=name) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}; check path and permissions", file=name) from None
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"is not a valid file name ({error})", file=name) from None


def check_no_device(path: str | Path) -> None:
    """Refuse a path to a device, because reading it may never end."""
    if Path(path).is_char_device() or Path(path).is_block_device():
        raise DataError("this is a device, expected a file", file=display_name(path))


def exists(path: str | Path) -> bool:
    """True if the file or folder exists; False if the path is not valid as a name."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def is_broken_link(path: str | Path) -> bool:
    """True if `path` is a link to a file or folder that does not exist."""
    try:
        return Path(path).is_symlink() and not exists(path)
    except (OSError, ValueError):
        return False


def read_bytes(path: str | Path) -> bytes:
    """Read a file, or standard input for ``-``, and decompress the data if the first bytes are those of gzip."""
    name = display_name(path)
    if str(path) == STDIN and sys.stdin is None:
        raise DataError("standard input is closed, expected a corpus: give a file instead of -", file=name)
    with reading(name):
        if str(path) != STDIN:
            check_no_device(path)
        raw = sys.stdin.buffer.read() if str(path) == STDIN else Path(path).read_bytes()
        if raw.startswith(GZIP_MAGIC):
            raw = _unzipped(raw, name)
    kind = document_kind(name, raw)
    if kind is not None:
        raise DataError(f"this is {kind.called}, which is not read: {kind.advice}", file=name)
    return raw


def document_kind(name: str, raw: bytes = b"") -> _Document | None:
    """Return the unsupported document type that a file's name or first bytes indicate, or None."""
    ending = Path(without_gz(name.lower())).suffix[1:]
    if (named := next((kind for kind in _DOCUMENTS.values() if ending in kind.endings), None)) is not None:
        return named
    if raw.startswith(_ZIP):
        return next((_DOCUMENTS[kind] for mark, kind in _IN_ZIP.items() if mark in raw), None)
    # it may be UTF-16
    tag = _MARKUP.match(raw[:4000].replace(b"\0", b""))
    return _DOCUMENTS[tag[1].decode().lower()] if tag else None


def _unzipped(raw: bytes, name: str) -> bytes:
    """Decompress gzip data; raise DataError if it expands far more than text normally does."""
    most = max(UNPACKED_FREE, UNPACKED_RATIO * len(raw))
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
        text = stream.read(most + 1)
    if len(text) > most:
        what = f"unpacks to more than {UNPACKED_RATIO} times its size, which is unusual for text"
        raise DataError(f"{what}; to read it anyway, unpack it first", file=name)
    return text


def read_text(path: str | Path, *, keep_line_ends: bool = False) -> str:
    r"""Read UTF-8 text; a byte order mark is dropped and, unless `keep_line_ends`, line ends become ``\n``."""
    text = decode_text(read_bytes(path), display_name(path))
    if keep_line_ends:
        return text
    note_line_ends(text, display_name(path))
    return with_line_feeds(text)


def decode_text(raw: bytes, name: str, lines_before: int = 0) -> str:
    """Decode UTF-8 text as `read_text` does; `raw` may lack the first `lines_before` lines of the file."""
    for magic, what in _OTHER_FORMATS.items():
        if raw.startswith(magic) and not lines_before:
            raise DataError(f"this is {what}", file=name)
    try:
        text = raw.decode("utf-8" if lines_before else "utf-8-sig")
    except UnicodeDecodeError as error:
        # utf-8-sig reports positions after the byte order mark it dropped
        offset = error.start + (3 if raw.startswith(b"\xef\xbb\xbf") and not lines_before else 0)
        line, column = _place(raw[:offset].decode("utf-8-sig"), feeds=b"\n" in raw or bool(lines_before))
        raise DataError(
            f"byte 0x{raw[offset]:02x} is not UTF-8: convert the file to UTF-8",
            file=name,
            line=lines_before + line,
            column=column,
        ) from None
    if "\0" in text:
        line, column = _place(text[: text.index("\0")], feeds="\n" in text or bool(lines_before))
        raise DataError(
            "byte 0x00 is not text (UTF-16 or a binary file?): convert the file to UTF-8",
            file=name,
            line=lines_before + line,
            column=column,
        )
    return text


def with_line_feeds(text: str, lines_before: int = 0) -> str:
    r"""Return `text` with ``\n`` at the end of each line.

    Lines end in LF or CR LF, or, in a file without any LF, in CR. Any other CR becomes a space. Other characters at
    which some programs break lines do not end a line.
    """
    if "\r" not in text:
        return text
    in_lf = "\n" in text or lines_before
    return _RETURNS_AT_END.sub("", text).replace("\r", " ") if in_lf else text.replace("\r", "\n")


class LineEnds:
    """The line ends of a file, counted over its parts, and the first line of each kind."""

    def __init__(self) -> None:
        self._returns = self._pairs = self._feeds = 0
        self._first: dict[str, int] = {}

    def add(self, text: str, lines_before: int = 0) -> None:
        """Count the line ends in `text`, which follows `lines_before` lines of the file."""
        returns, pairs, feeds = (text.count(end) for end in ("\r", "\r\n", "\n"))
        here = {"stray": returns > pairs, "CR LF": pairs > 0, "LF": feeds > pairs}
        for kind, ending in _LINE_ENDS.items():
            if here[kind] and kind not in self._first and (found := ending.search(text)):
                self._first[kind] = lines_before + text.count("\n", 0, found.start()) + 1
        self._returns, self._pairs, self._feeds = self._returns + returns, self._pairs + pairs, self._feeds + feeds

    def note(self, name: str, *, multiline: bool = False) -> None:
        """Log a note if the file `name` has mixed or unusual line ends.

        In a `multiline` table, lines within cells may end differently from rows.
        """
        pairs, feeds, kind = self._pairs, self._feeds, ""
        if self._returns and not feeds:
            what = f"{counted(self._returns, 'carriage return')} and no line feed: read as line ends"
        elif "stray" in self._first:
            read = "stays in its cell" if multiline else "is read as a space"
            what, kind = f"a carriage return inside this line {read}: lines end in line feeds", "stray"
        elif not multiline and 0 < pairs < feeds:
            kind, few = ("CR LF", pairs) if 2 * pairs <= feeds else ("LF", feeds - pairs)
            what = f"this line ends in {kind}, like {few:,} of {feeds:,} lines: both kinds are read as line ends"
        else:
            return
        log_note(f"{name}{f':{self._first[kind]}' if kind else ''}: {what}")


def note_line_ends(text: str, name: str, *, multiline: bool = False) -> None:
    """Log a note if `text`, the content of the file `name`, has mixed or unusual line ends (see `LineEnds.note`)."""
    ends = LineEnds()
    ends.add(text)
    ends.note(name, multiline=multiline)


def _place(before: str, *, feeds: bool) -> tuple[int, int]:
    """Return the line and column, from 1, of the character that follows the text `before`."""
    end = "\n" if feeds else "\r"
    return before.count(end) + 1, len(before) - before.rfind(end)


@contextmanager
def replacing(path: str | Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Open a temporary binary file with permissions `mode`; it replaces `path` if the block ends without an error."""
    check_target(path)
    target = link_target(path)
    try:
        descriptor, temporary = _make_temporary(target.parent, mode)
    except OSError as error:
        raise unwritable(target, error) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if locks.HAS_LOCKS:
                # before it is closed, which gives up the lock
                temporary.replace(target)
        if not locks.HAS_LOCKS:
            temporary.replace(target)
    except RankerError:
        raise
    except OSError as error:
        raise unwritable(target, error) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_together(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder, whose files are moved to `folder` if the block ends without an error.

    Replacing a subfolder takes two renames; if a run is killed between them, the old one is ``.ranker-former-NAME``.
    """
    folder = Path(folder)
    try:
        descriptor, temporary = _make_temporary(folder, directory=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    try:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
        for complete in list(temporary.iterdir()):
            _move(complete, folder / complete.name)
    except OSError as error:
        raise unwritable(folder, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(descriptor)


@contextmanager
def used_alone(folder: str | Path) -> Iterator[None]:
    """Make a folder unless it exists, and lock it within the block; refuse a folder that another process has locked."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = locks.open_folder(folder.resolve())
    except OSError as error:
        raise unwritable(folder, error) from None
    try:
        try:
            # the system gives up the lock of a killed run
            locks.lock(descriptor, wait=False)
        except BlockingIOError:
            what = "another process is using it; wait until it finishes, or choose another directory"
            raise DataError(what, file=display_name(folder)) from None
        yield
    finally:
        os.close(descriptor)


def _move(complete: Path, target: Path) -> None:
    former = target.with_name(f"{_FORMER}{target.name}")
    if complete.is_dir() and target.is_dir():
        shutil.rmtree(former, ignore_errors=True)
        target.replace(former)
    complete.replace(target)
    shutil.rmtree(former, ignore_errors=True)


def _make_temporary(folder: Path, mode: int = 0o666, *, directory: bool = False) -> tuple[int, Path]:
    """Make a locked temporary file or folder, and return its descriptor and path; remove the remains of killed runs."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_LEFT) and locks.HAS_LOCKS:
                with suppress(OSError):
                    _remove_if_left(Path(entry.path))
    while True:
        # the system takes from the mode what the user does not want; tempfile would make files for the user alone
        path = folder / f"{_TEMPORARY}{os.urandom(8).hex()}"
        if directory:
            path.mkdir()
            try:
                descriptor = locks.open_folder(path)
            except FileNotFoundError:
                # another run has taken it for left
                continue
        else:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            descriptor = os.open(path, flags, mode)
        locks.lock(descriptor)
        # another run may have taken it for left before it was locked
        if path.exists():
            return descriptor, path
        os.close(descriptor)


def _remove_if_left(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if locks.lock(descriptor, wait=False):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    finally:
        os.close(descriptor)


def link_target(path: str | Path) -> Path:
    """Return the path to which the symbolic link `path` leads, or `path` itself; refuse links to open files."""
    target = Path(path)
    for _ in range(_MOST_LINKS):
        if not target.is_symlink():
            return target
        folder = Path(os.path.realpath(target.parent))
        if any(folder.is_relative_to(one) for one in _STREAMS) and not folder.is_relative_to(_NO_STREAMS):
            raise DataError(_NOT_REGULAR, file=display_name(path))
        target = folder / target.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def check_target(path: str | Path) -> None:
    """Raise a `DataError` if `path` cannot be written as a file; for use before computing the content of the file."""
    name = display_name(path)
    try:
        target = link_target(path)
        if not target.parent.is_dir():
            raise DataError(f"cannot be written: the directory {display_name(target.parent)} does not exist", file=name)
        if target.exists() and not target.is_file():
            raise DataError(_NOT_REGULAR, file=name)
        if target.exists() and _is_database(target):
            raise DataError("cannot be written: is a database, such as a campaign; choose another name", file=name)
    except OSError as error:
        raise unwritable(Path(path), error) from None


def _is_database(path: Path) -> bool:
    """True if a file is an SQLite database; never call this for a database that the process has open."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE
    return False


def check_folder(path: Path, what: str, marks: Sequence[str]) -> None:
    """Raise a `DataError` if `path` cannot become a folder, or has content but none of the files named in `marks`.

    `what` names the intended kind of folder in the message.
    """
    parent = next((ancestor for ancestor in path.absolute().parents if ancestor.exists()), path)
    if not parent.is_dir():
        raise DataError(f"cannot be written: {display_name(parent)} is not a directory", file=display_name(path))
    empty = path.is_dir() and not any(path.iterdir())
    if path.exists() and not empty and not any((path / mark).is_file() for mark in marks):
        raise DataError(
            f"exists and is not a{'n' * (what[0] in 'aeiou')} {what}: choose another directory", file=str(path)
        )


def unwritable(path: Path, error: OSError) -> DataError:
    """Return the error for a file or directory that cannot be written."""
    what = "it is not a directory" if isinstance(error, FileExistsError) else error.strerror or error
    return DataError(f"cannot be written: {what}; choose another path", file=display_name(path))


def safe_join(folder: str | Path, *names: str) -> Path:
    """Join `names` that come from data to the path `folder`; refuse a name that is not a plain file name."""
    for name in names:
        plain = name.isprintable() and not _NOT_IN_NAMES.search(name) and 0 < len(name.encode()) <= _LONGEST_NAME
        if not plain or name != name.strip(". ") or _DEVICE.match(name):
            what = f"{printable(name)[:60]!r} is not a valid file name: expected letters, digits and -_.,=+[]"
            raise DataError(what, file=display_name(folder))
    return Path(folder).joinpath(*names)


def without_gz(name: str) -> str:
    """Return a file name without the ending ``.gz``, in upper or lower case, of compressed files."""
    return name[:-3] if name.lower().endswith(".gz") else name


def _gzip_bytes(raw: bytes) -> bytes:
    """Compress `raw` with gzip, without time stamp or file name, so that equal inputs give equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="", compresslevel=9) as stream:
        stream.write(raw)
    return buffer.getvalue()


def write_bytes(path: str | Path, raw: bytes) -> None:
    """Replace the content of the file `path` by `raw`, gzipped if the name ends in ``.gz``."""
    write_together({Path(path): raw})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Replace several files as `write_bytes` does, once all their new contents are written to temporary files."""
    for target in files:
        check_target(target)
    with ExitStack() as stack:
        # the stack renames the last first
        for target, raw in reversed([*files.items()]):
            stream = stack.enter_context(replacing(target))
            stream.write(raw if target.name == without_gz(target.name) else _gzip_bytes(raw))
            stream.flush()


def sha256(raw: bytes) -> str:
    """Return the SHA-256 digest of `raw` as 64 hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()


def read_lines(path: str | Path, expected: int | None = None, like: str = "") -> list[str]:
    """Return the lines of a file with one sentence per line; refuse it if their number is not `expected`, if given."""
    text = read_text(path)
    lines = text.removesuffix("\n").split("\n") if text else []
    if expected is not None and len(lines) != expected:
        raise DataError(
            f"has {counted(len(lines), 'line')}, expected {expected} as in {like}",
            file=display_name(path),
            line=len(lines) or None,
        )
    if not lines:
        raise DataError("is empty, expected one sentence per line", file=display_name(path))
    return lines


def cache_directory() -> Path:
    """Return the folder of caches: ``$RANKER_CACHE``, or else ranker's folder in the user's cache directory."""
    chosen = os.environ.get("RANKER_CACHE")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("ranker", appauthor=False))
