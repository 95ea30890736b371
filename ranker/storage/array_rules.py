"""Rules for the arrays in a file, declared next to the code that writes them and checked before the arrays are used.

A schema names every array with its type, its shape and the range of its values. Sizes are names that stand for the same
number wherever they occur, so arrays that belong together are checked against each other::

    SCHEMA = {
        "offsets": ArrayRule("int64", ("words + 1",), offsets_into="entries"),
        "columns": ArrayRule("int32", ("entries",), least=0, below="words"),
        "weights": ArrayRule("float32", ("entries",), least=0.0),
    }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.errors import ModelError


@dataclass(frozen=True)
class ArrayRule:
    """Type, shape and range of one array. Floating-point values must always be finite."""

    dtype: str
    shape: tuple[str | int, ...]
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: str | None = None
    increasing: bool = False
    offsets_into: str | None = None


Schema = Mapping[str, ArrayRule]


def check_arrays(arrays: Mapping[str, npt.NDArray[Any]], schema: Schema, what: str) -> dict[str, int]:
    """Raise an error unless the arrays match the schema; return the size of each named dimension."""
    for name in sorted({*arrays} ^ {*schema}):
        raise ModelError(_refusal(what, name, "is missing" if name in schema else "is unexpected"))
    sizes: dict[str, int] = {}
    for name, rule in schema.items():
        array = arrays[name]
        if array.dtype.name != rule.dtype or not array.dtype.isnative or array.ndim != len(rule.shape):
            actual = f"{array.dtype} of {array.ndim} dimensions"
            raise ModelError(_refusal(what, name, f"is {actual}, expected {rule.dtype} of {len(rule.shape)}"))
        for length, size in zip(array.shape, rule.shape, strict=True):
            if isinstance(size, str):
                key, one_more = size.removesuffix(" + 1"), size.endswith(" + 1")
                expected = sizes.setdefault(key, length - one_more) + one_more
            else:
                expected = size
            if length != expected or length < 0 or expected < 0:
                raise ModelError(_refusal(what, name, f"has a dimension of length {length}, expected {expected}"))
    for name, rule in schema.items():
        problem = _values_problem(arrays[name], rule, sizes)
        if problem:
            raise ModelError(_refusal(what, name, problem))
    return sizes


def _values_problem(array: npt.NDArray[Any], rule: ArrayRule, sizes: Mapping[str, int]) -> str:
    """Return a description of an array's invalid values, or an empty string if all values are valid."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return "contains a value that is not finite"
    if rule.offsets_into is not None:
        whole = sizes[rule.offsets_into]
        if not len(array) or array[0] != 0 or array[-1] != whole or (np.diff(array) < 0).any():
            return f"does not contain offsets from 0 to {whole}"
    if rule.increasing and (array[1:] <= array[:-1]).any():
        return "is not sorted"
    if not array.size:
        return ""
    low, high = array.min(), array.max()
    if rule.least is not None and low < rule.least:
        return f"holds {low}, expected {rule.least} or more"
    if rule.above is not None and low <= rule.above:
        return f"holds {low}, expected more than {rule.above}"
    if rule.most is not None and high > rule.most:
        return f"holds {high}, expected {rule.most} or less"
    if rule.below is not None and high >= sizes[rule.below]:
        return f"holds {high}, expected less than {sizes[rule.below]}"
    return ""


def _refusal(what: str, name: str, problem: str) -> str:
    return f"{what}: array {name[:40]!r} {problem}; the file is damaged or was modified: train or copy it again"
