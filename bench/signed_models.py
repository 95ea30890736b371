"""Damages what model files say, and signs them anew, so that only the checks of their content are left to refuse them.

Arrays get other values, types, shapes, orders and names; values of the JSON become numbers out of range, features that
the model was not trained with, or something else altogether.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.storage import model_files

_Array = npt.NDArray[Any]
_DTYPES = (
    *("int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "bool", "complex128"),
    *(">i4", ">i8", ">f4", ">f8", "U4", "S3", "datetime64[s]"),
)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-30, 3e38, 1e300, -1e308, np.nan, np.inf, -np.inf)
_VALUES: tuple[object, ...] = (
    *(None, True, "", "x", "../../x", "\x1b[2J", [], {}, [[]], 0, -1, 2, 0.5, 1e-320, 1e300, -1e308, 10**30),
    *(float("nan"), float("inf"), "9" * 50, ["x"] * 50),
)
_FEATURES = (
    *("bleu", "chrf", "ds", "ds[parser=numpy]", "ds[parser=/etc]", "paraphrase[least=0.9]", "paraphrase,paraphrase"),
    *("given[file=x]", "semantic", "perp[model=/etc/passwd]", "combine[bleu - bleu]", "terp", "meteor", "nist", "per"),
    *("combine[" * 50, "bleu[order=99999999]", "lrscore", "ribes", "paraphrase.f", "combine[1e308*bleu]", "gtm"),
)


def damage(raw: bytes, choose: random.Random) -> bytes:
    """Return a model file that differs from the model file `raw` in one to three places, and is signed."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    model = json.loads(files["model.json"])["model"]
    arrays: dict[str, dict[str, _Array]] = {}
    for name in files:
        if name.endswith(".npz"):
            with np.load(io.BytesIO(files[name]), allow_pickle=False) as group:
                arrays[name.removesuffix(".npz")] = {key: group[key] for key in group.files}
    for _ in range(choose.choice((1, 1, 2, 3))):
        if arrays and choose.random() < 0.7:
            _damage_group(arrays[choose.choice(sorted(arrays))], choose)
        else:
            model = _damage_value(model, choose)
    stored = model_files.StoredModel(model, arrays)
    body = {"model": model, "arrays": stored.array_digests}
    document = {"format": model_files.FORMAT, "digest": model_files.content_digest(body), **body}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # without the time, so that the same input is the same file
        archive.writestr(zipfile.ZipInfo("model.json"), json.dumps(document))
        for name, arrays_of in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npz"), model_files._npz(arrays_of))
    return buffer.getvalue()


def _damage_group(group: dict[str, _Array], choose: random.Random) -> None:
    names = sorted(group)
    if not names or choose.random() < 0.03:
        group["more"] = np.arange(3)
        return
    name, other = choose.choice(names), choose.choice(names)
    what = choose.random()
    if what < 0.03:
        del group[name]
    elif what < 0.06:
        group[f"{name}x"] = group.pop(name)
    elif what < 0.1:
        group[name], group[other] = group[other], group[name]
    elif what < 0.2:
        group[name] = _reshaped(group[name], choose)
    elif what < 0.3:
        with np.errstate(all="ignore"):
            group[name] = _converted(group[name], choose.choice(_DTYPES))
    else:
        group[name] = _revalued(group[name], choose, sorted({len(array) for array in group.values() if array.ndim}))


def _reshaped(array: _Array, choose: random.Random) -> _Array:
    flat = array.reshape(-1)
    shapes = (
        *(flat[:-1], flat[1:], flat[:0], np.concatenate([flat, flat[-1:]]), np.concatenate([flat, flat])),
        *(array.reshape(-1, 1), array.reshape(1, -1)),
        flat[:1].reshape(()) if len(flat) else flat.reshape(0, 0),
        array.T,
    )
    return shapes[choose.randrange(9)]


def _converted(array: _Array, dtype: str) -> _Array:
    try:
        return array.astype(dtype)
    except (TypeError, ValueError):
        return array.view(np.uint8) if array.ndim == 1 else array.astype(np.float32)


def _revalued(array: _Array, choose: random.Random, sizes: list[int]) -> _Array:
    """Return an array of the same type and shape with other values: out of range, at its bounds, in another order."""
    copied = np.array(array)
    flat = copied.reshape(-1)
    if not len(flat):
        return copied
    order = choose.random()
    if order < 0.1:
        return copied[::-1] if copied.ndim else copied
    if order < 0.2:
        flat[:] = flat[choose.sample(range(len(flat)), len(flat))]
        return copied
    if order < 0.25:
        flat[:] = flat[choose.randrange(len(flat))]
        return copied
    for _ in range(choose.choice((1, 1, 2, len(flat)))):
        flat[choose.randrange(len(flat))] = _value(copied.dtype, choose, sizes, flat)
    return copied


def _value(dtype: np.dtype[Any], choose: random.Random, sizes: list[int], flat: _Array) -> Any:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        near = [size + step for size in sizes for step in (-1, 0, 1)]
        chosen = choose.choice((*near, *near, -2, -1, 0, 1, limits.min, limits.max, limits.max // 2))
        if choose.random() < 0.3:
            chosen = int(flat[choose.randrange(len(flat))]) + choose.choice((-1, 1))
        return min(max(chosen, limits.min), limits.max)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(choose.choice(_FLOATS)).astype(dtype)
    return flat[0]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from _places(part, (*path, key))


def _damage_value(model: Any, choose: random.Random) -> Any:
    damaged = json.loads(json.dumps(model))
    places = list(_places(damaged))
    if not places:
        return damaged
    *path, last = choose.choice(places)
    inner = damaged
    for key in path:
        inner = inner[key]
    kind = choose.random()
    if kind < 0.12:
        del inner[last]
    elif kind < 0.2 and isinstance(inner, list):
        inner.append(inner[last])
    elif kind < 0.3 and "features" in damaged:
        damaged["features"] = choose.choice((*_FEATURES, f"{damaged['features']},{choose.choice(_FEATURES)}"))
    elif kind < 0.4:
        *other, end = choose.choice(places)
        source = damaged
        for key in other:
            source = source[key]
        inner[last] = json.loads(json.dumps(source[end]))
    else:
        inner[last] = choose.choice(_VALUES)
    return damaged
