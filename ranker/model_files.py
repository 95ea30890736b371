"""Model files: a zip (or a directory of the same files) of JSON and npz; reading one can never run code.

``model.json``
    The model, with its digest; everything a person may want to read.
``*.npz``
    Arrays that extractors learnt, if any, each with its digest in ``model.json``.
``CARD.md``
    What the model is, for people.

The digest of an array is that of its name, type, shape and values, so it does not depend on how the array was
compressed or in which byte order. Equal models give equal bytes.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.errors import ModelError
from ranker.files import replacing, sha256

FORMAT = 2
"""Models of format 1 are refused: in their feature sets ``bleu`` and ``ter`` stood for other defaults."""
_MODEL, _CARD = "model.json", "CARD.md"
_LARGEST = 1 << 30
_EPOCH = (1980, 1, 1, 0, 0, 0)

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class StoredModel:
    """What a model file holds.

    Parameters
    ----------
    model : dict
        JSON values.
    arrays : dict of dict of array
        One npz file each.
    """

    model: Mapping[str, Any]
    arrays: Mapping[str, Arrays]

    @functools.cached_property
    def array_digests(self) -> dict[str, dict[str, str]]:
        """SHA-256 of every array, by file and name."""
        return {
            f"{file}.npz": {name: array_digest(name, group[name]) for name in sorted(group)}
            for file, group in self.arrays.items()
        }

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the whole: equal digests, equal models."""
        return _digest({"model": self.model, "arrays": self.array_digests})


def array_digest(name: str, array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array: of its name, type, shape and values, in little-endian C order."""
    little = array.dtype.newbyteorder("<")
    head = json.dumps([name, little.str, array.shape])
    values = np.ascontiguousarray(array, dtype=little)
    return hashlib.sha256(head.encode() + b"\n" + values.tobytes()).hexdigest()


def write_model(path: str | Path, stored: StoredModel, card: str) -> None:
    """Write a model file, replacing one that is there.

    Parameters
    ----------
    path : path
    stored : StoredModel
    card : str
        Markdown.

    Raises
    ------
    ModelError
        If `path` is a directory, or a file that is no model.
    DataError
        If it cannot be written.
    """
    path = Path(path)
    check_target(path)
    files = {f"{name}.npz": _npz(group) for name, group in stored.arrays.items()}
    body = {"model": stored.model, "arrays": stored.array_digests}
    document = {"format": FORMAT, "digest": stored.digest, **body}
    files[_MODEL] = (json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
    files[_CARD] = card.encode()
    with replacing(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name in sorted(files):
            archive.writestr(_entry(name), files[name])


def check_target(path: Path) -> None:
    """Refuse to write a model where it would replace something else, or cannot be written.

    Raises
    ------
    ModelError
    """
    try:
        if path.is_dir():
            raise ModelError(f"{path}: is a directory, expected the name of a model file to write")
        if path.exists() and not zipfile.is_zipfile(path):
            raise ModelError(f"{path}: exists and is no model file; remove it or choose another name")
        if not path.parent.is_dir():
            raise ModelError(f"{path}: cannot be written: there is no directory {path.parent}")
    except OSError as error:
        raise ModelError(f"{path}: cannot be written: {error.strerror or error}") from None


def read_model(path: str | Path) -> StoredModel:
    """Read a model file and check it.

    Raises
    ------
    ModelError
        If it is missing, no model, of another format, damaged or changed.
    """
    path = Path(path)
    files = _read_files(path)
    if _MODEL not in files:
        raise ModelError(f"{path}: holds no {_MODEL}, so it is no model of ranker")
    try:
        document = json.loads(files[_MODEL].decode("utf-8"))
        found = document["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelError(f"{path}: {_MODEL} is damaged; train or copy the model again") from None
    if found != FORMAT:
        raise ModelError(
            f"{path}: model format {found!r}, this version reads format {FORMAT}; "
            "train it again or use the version of ranker that made it"
        )
    try:
        model, digests = document["model"], document["arrays"]
        intact = document["digest"] == _digest({"model": model, "arrays": digests})
        arrays = {name.removesuffix(".npz"): _arrays(path, name, files[name]) for name in digests if intact}
        stored = StoredModel(model, arrays)
        intact = intact and stored.array_digests == digests
    except (KeyError, TypeError, AttributeError):
        intact = False
    if not intact:
        raise ModelError(f"{path}: content and digest disagree, so the file is damaged or was changed")
    return stored


def _digest(body: Mapping[str, Any]) -> str:
    return sha256(json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())


def _entry(name: str) -> zipfile.ZipInfo:
    """Return a compressed entry of a zip that has the same bytes whenever it is written."""
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _npz(arrays: Arrays) -> bytes:
    """Return an npz file; unlike with `numpy.savez`, an array may bear any name, and none is added."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(arrays):
            raw = io.BytesIO()
            np.lib.format.write_array(raw, np.asarray(arrays[name]), allow_pickle=False)
            archive.writestr(_entry(f"{name}.npy"), raw.getvalue())
    return buffer.getvalue()


def _arrays(path: Path, name: str, raw: bytes) -> dict[str, npt.NDArray[Any]]:
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            return dict(archive)
    except (ValueError, OSError, zipfile.BadZipFile):
        raise ModelError(f"{path}: {name} holds no plain arrays") from None


def _read_files(path: Path) -> dict[str, bytes]:
    try:
        if path.is_dir():
            return {one.name: one.read_bytes() for one in sorted(path.iterdir()) if one.is_file()}
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > _LARGEST:
                raise ModelError(f"{path}: unpacks to more than {_LARGEST >> 20} MB, which no model does")
            return {entry.filename: archive.read(entry) for entry in entries}
    except FileNotFoundError:
        raise ModelError(f"{path}: no such model; make one with: ranker train --data sample --model {path}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ModelError(f"{path}: is no model file ({error})") from None
