"""Model files: a zip (or a directory of the same files) of JSON and npz; reading one can never run code.

``model.json``
    The model, with its digest; everything a person may want to read.
``*.npz``
    Arrays that extractors learnt, if any, each with its digest in ``model.json``.
``CARD.md``
    What the model is, for people.

Equal models give equal bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.errors import ModelError
from ranker.files import replacing, sha256

FORMAT = 1
_MODEL, _CARD = "model.json", "CARD.md"
_LARGEST = 1 << 30
_EPOCH = (1980, 1, 1, 0, 0, 0)

Arrays = Mapping[str, npt.NDArray[Any]]


def write_model(path: str | Path, model: Mapping[str, Any], arrays: Mapping[str, Arrays], card: str) -> None:
    """Write a model file, replacing one that is there.

    Parameters
    ----------
    path : path
    model : dict
        JSON values.
    arrays : dict of dict of array
        One npz file each.
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
    files = {f"{name}.npz": _npz(group) for name, group in arrays.items()}
    body = {"model": model, "arrays": {name: sha256(raw) for name, raw in files.items()}}
    document = {"format": FORMAT, "digest": _digest(body), **body}
    files[_MODEL] = (json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
    files[_CARD] = card.encode()
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])


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


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, dict[str, npt.NDArray[Any]]]]:
    """Read a model file and check it.

    Returns
    -------
    model : dict
    arrays : dict of dict of array

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
        body = {"model": document["model"], "arrays": document["arrays"]}
        intact = document["digest"] == _digest(body) and all(
            sha256(files[name]) == digest for name, digest in body["arrays"].items()
        )
    except (KeyError, TypeError, AttributeError):
        intact = False
    if not intact:
        raise ModelError(f"{path}: content and digest disagree, so the file is damaged or was changed")
    arrays = {name.removesuffix(".npz"): _arrays(path, name, files[name]) for name in body["arrays"]}
    return body["model"], arrays


def model_digest(model: Mapping[str, Any], arrays: Mapping[str, Arrays]) -> str:
    """Return the digest that a model file of this content carries."""
    return _digest({"model": model, "arrays": {f"{name}.npz": sha256(_npz(group)) for name, group in arrays.items()}})


def _digest(body: Mapping[str, Any]) -> str:
    return sha256(json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())


def _npz(arrays: Arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{name: arrays[name] for name in sorted(arrays)})
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
