"""Model files: a zip (or a directory of the same files) of JSON and npz; reading a model can never run code.

``model.json``
    The model, with a digest of the file's whole content; everything a person may want to read.
``*.npz``
    Arrays that extractors learnt, if any; the digest of each is in ``model.json``.
``CARD.md``
    Description of the model for people.

The digest of an array is that of its name, type, shape and values, so it does not depend on how the array was
compressed or in which byte order. Equal models give equal bytes.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ranker.errors import ModelError
from ranker.files import document_kind, link_target, replacing, sha256
from ranker.storage.plain_data import parse_json

FORMAT = 2
"""Models of format 1 are refused: in their feature sets ``bleu`` and ``ter`` stood for other defaults."""
_MODEL, _CARD = "model.json", "CARD.md"
_LARGEST, _RATIO, _FREE = 1 << 30, 100, 1 << 26
"""Limit of unpacked bytes of any model, its largest ratio to the size of the file, and bytes allowed at any size."""
_LARGEST_TEXT = 1 << 22
_ARRAY_FILE = re.compile(r"[A-Za-z0-9_]+\.npz")
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
)
_EPOCH = (1980, 1, 1, 0, 0, 0)

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class StoredModel:
    """Contents of a model file."""

    model: Mapping[str, Any]
    arrays: Mapping[str, Arrays]

    @functools.cached_property
    def array_digests(self) -> dict[str, dict[str, str]]:
        """SHA-256 of each array, by file name and array name."""
        return {
            f"{file}.npz": {name: array_digest(name, group[name]) for name in sorted(group)}
            for file, group in self.arrays.items()
        }


def array_digest(name: str, array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array's name, type, shape and values, in little-endian C order."""
    little = array.dtype.newbyteorder("<")
    digest = hashlib.sha256(json.dumps([name, little.str, array.shape]).encode() + b"\n")
    digest.update(np.ascontiguousarray(array, dtype=little).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def content_digest(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON values, independent of the order of keys."""
    return sha256(json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())


def write_model(path: str | Path, stored: StoredModel, card: str) -> None:
    """Write a model file, replacing an existing one."""
    path = Path(path)
    check_target(path)
    files = {f"{name}.npz": _npz(group) for name, group in stored.arrays.items()}
    body = {"model": stored.model, "arrays": stored.array_digests}
    document = {"format": FORMAT, "digest": content_digest(body), **body}
    files[_MODEL] = (json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
    files[_CARD] = card.encode()
    with replacing(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name in sorted(files):
            archive.writestr(_entry(name), files[name])


def check_target(path: Path) -> None:
    """Refuse a path to which a model cannot be written, or at which something other than a model would be replaced."""
    try:
        target = link_target(path)
        if path.is_dir():
            raise ModelError(f"{path}: is a directory, expected the name of a model file")
        if path.exists() and not path.is_file():
            raise ModelError(f"{path}: exists and is not a regular file; choose another name")
        if path.exists() and not zipfile.is_zipfile(path):
            raise ModelError(f"{path}: already exists and is not a model file; delete it or choose another name")
        if not target.parent.is_dir():
            raise ModelError(f"{path}: cannot be written: the directory {target.parent} does not exist")
    except OSError as error:
        raise ModelError(f"{path}: cannot be written ({error.strerror or error}); choose another name") from None


def models_in(folder: Path) -> Iterator[str]:
    """Yield the sorted names of the model files ``*.model`` in a folder; only the first bytes of each file are read."""
    with suppress(OSError):
        for path in sorted(folder.glob("*.model")):
            # a pipe would wait for ever
            if path.is_file() and _begins_as_model(path):
                yield path.name


def _begins_as_model(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            head = stream.read(30 + len(_CARD))
    except OSError:
        return False
    return head.startswith(b"PK\x03\x04") and head.endswith(_CARD.encode())


def read_model(path: str | Path) -> StoredModel:
    """Read a model file, and check its format and its digests."""
    path = Path(path)
    kind = document_kind(path.name)
    if kind is not None:
        raise ModelError(f"{path}: this is {kind.called}, expected a model file or the name of an included model")
    stored_files = _Files(path)
    files = stored_files.read(_MODEL, most=_LARGEST_TEXT)
    if _MODEL not in files:
        raise ModelError(f"{path}: contains no {_MODEL}, expected a model that ranker wrote")
    try:
        document = parse_json(files[_MODEL].decode("utf-8"), _MODEL)
        model_format = document["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelError(f"{path}: {_MODEL} is damaged; train or copy the model again") from None
    if model_format != FORMAT:
        raise ModelError(
            f"{path}: model format {model_format!r}, this version reads format {FORMAT}; "
            "train it again or use the version of ranker that created it"
        )
    try:
        model, digests = document["model"], document["arrays"]
        intact = document["digest"] == content_digest({"model": model, "arrays": digests})
        intact = intact and all(_ARRAY_FILE.fullmatch(name) for name in digests)
        files = stored_files.read(*digests) if intact else {}
        arrays = {name.removesuffix(".npz"): _arrays(path, name, raw, stored_files.room) for name, raw in files.items()}
        stored = StoredModel(model, arrays)
        intact = intact and stored.array_digests == digests
    except ModelError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        intact = False
    if not intact:
        raise ModelError(f"{path}: content and digest do not match (damaged or modified?): copy or train it again")
    return stored


def write_arrays(path: str | Path, arrays: Arrays) -> None:
    """Write an npz file; equal arrays give equal bytes."""
    with replacing(path) as stream:
        stream.write(_npz(arrays))


def read_arrays(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """Read an npz file of plain arrays."""
    path = Path(path)
    room = _SizeBudget(path)
    try:
        _check_kind(path)
        with path.open("rb") as stream:
            raw = room.take(stream)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}; check its name and permissions") from None
    return _arrays(path, path.name, raw, room)


def _entry(name: str) -> zipfile.ZipInfo:
    """Make a compressed zip entry whose bytes do not depend on the time of writing."""
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _npz(arrays: Arrays) -> bytes:
    """Return the bytes of an npz file of `arrays`; unlike with `numpy.savez`, an array may have any name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(arrays):
            raw = io.BytesIO()
            np.lib.format.write_array(raw, np.asarray(arrays[name]), allow_pickle=False)
            archive.writestr(_entry(f"{name}.npy"), raw.getvalue())
    return buffer.getvalue()


def _arrays(path: Path, name: str, raw: bytes, room: _SizeBudget) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an npz file; memory for an array is allocated only once all of its bytes have been read."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return {
                entry.filename.removesuffix(".npy"): array_of(_unpacked(archive, entry, room))
                for entry in archive.infolist()
            }
    except ModelError:
        raise
    except _DAMAGE:
        raise ModelError(f"{path}: {name} does not contain plain arrays; train or copy the model again") from None


_BAD_HEADS = (
    SyntaxError,
    TokenError,
    TypeError,
    KeyError,
    RecursionError,
    MemoryError,
    OverflowError,
    DeprecationWarning,
)


def array_of(raw: bytes) -> npt.NDArray[Any]:
    """Return the array in the bytes of an npy file."""
    stream = io.BytesIO(raw)
    read_head = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version := np.lib.format.read_magic(stream))
    if read_head is None:
        raise ValueError(f"found npy version {version[0]}.{version[1]}, expected 1.0 or 2.0")
    try:
        shape, by_column, dtype = read_head(stream)
    except _BAD_HEADS:
        raise ValueError("head") from None
    if dtype.hasobject or dtype.kind not in "biuf" or min(shape, default=0) < 0:
        raise ValueError(f"found {dtype} of shape {shape}, expected an array of plain numbers")
    if math.prod(shape) * dtype.itemsize != len(raw) - stream.tell():
        raise ValueError("size")
    values = np.frombuffer(memoryview(raw)[stream.tell() :], dtype=dtype)
    array = values.reshape(shape, order="F" if by_column else "C")
    return array.astype(dtype.newbyteorder("="))


class _SizeBudget:
    """Limit on the number of bytes to which the rest of a model may unpack."""

    def __init__(self, path: Path) -> None:
        try:
            size = sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else [path]))
        except (OSError, ValueError):
            # reading the file will raise the error
            size = 0
        self.path, self.most = path, min(_LARGEST, max(_FREE, _RATIO * size))
        self.left = self.most

    def take(self, stream: IO[bytes], most: int = _LARGEST) -> bytes:
        """Read a stream to its end, whatever size its header states; refuse more than `most` bytes."""
        content = stream.read(min(self.left, most) + 1)
        self.left -= len(content)
        if self.left < 0 or len(content) > most:
            limit = min(self.most, most) >> 20
            raise ModelError(f"{self.path}: unpacks to more than {limit} MB, the limit for its size: copy it again")
        return content


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: _SizeBudget, most: int = _LARGEST) -> bytes:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("an entry uses an unsupported compression method, expected stored or deflated")
    with archive.open(entry) as stream:
        return room.take(stream, most)


def _check_kind(path: Path) -> None:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ModelError(f"{path}: is a device or a pipe, expected a model file")


class _Files:
    """The files of a model in a zip or a directory, read on request."""

    def __init__(self, path: Path) -> None:
        self.path, self.room = path, _SizeBudget(path)

    def read(self, *names: str, most: int = _LARGEST) -> dict[str, bytes]:
        """Return the contents of the files in `names` that exist, by name; refuse files of more than `most` bytes."""
        path = self.path
        try:
            if path.is_dir():
                contents = {}
                for name in names:
                    if (path / name).is_file():
                        with (path / name).open("rb") as stream:
                            contents[name] = self.room.take(stream, most)
                return contents
            _check_kind(path)
            with zipfile.ZipFile(path) as archive:
                entries = {entry.filename: entry for entry in archive.infolist()}
                return {name: _unpacked(archive, entries[name], self.room, most) for name in names if name in entries}
        except FileNotFoundError:
            what = f"no such model; train one with: ranker train --data sample -o {path}"
            raise ModelError(f"{path}: {what}") from None
        except ModelError:
            raise
        except _DAMAGE as error:
            raise ModelError(f"{path}: is not a model file ({error or type(error).__name__}): choose another") from None
