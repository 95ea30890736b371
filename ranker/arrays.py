"""Types of arrays, named by what they hold, and the offsets of rows of different lengths."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]
UInt32Array = npt.NDArray[np.uint32]
UInt64Array = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]


def offsets_of(lengths: npt.ArrayLike) -> Int64Array:
    """Return where rows of `lengths` begin when they are put one after the other, and where the last one ends.

    Parameters
    ----------
    lengths : array-like of int, shape (rows,)

    Returns
    -------
    int64 array, shape (rows + 1,)
        Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.
    """
    offsets = np.zeros(np.size(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
