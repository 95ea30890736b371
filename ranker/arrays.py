"""Array types, named by their elements, and offsets of rows that have different lengths."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.errors import DataError

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
UInt8Array = npt.NDArray[np.uint8]
UInt32Array = npt.NDArray[np.uint32]
UInt64Array = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]


_MANY_PAIRS, _PAIRS_OF_A_ROW = 30_000_000, 1000


def offsets_of(lengths: npt.ArrayLike) -> Int64Array:
    """Return the start of each row, and the end of the last row, when rows of the given `lengths` are concatenated."""
    offsets = np.zeros(np.size(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def take_rows(offsets: Int64Array, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the positions of all values in `rows`, row by row, and the offset of each row in this result."""
    lengths = np.diff(offsets)[rows]
    taken = offsets_of(lengths)
    return np.repeat(offsets[rows] - taken[:-1], lengths) + np.arange(taken[-1]), taken


def pairs_in_blocks(offsets: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
    """Return the two rows of each pair of rows in the same block, smallest blocks first; refuse too many pairs."""
    starts = np.asarray(offsets, dtype=np.int64)
    sizes = np.diff(starts)
    count = int((sizes * (sizes - 1) // 2).sum())
    if count > max(_MANY_PAIRS, _PAIRS_OF_A_ROW * int(sizes.sum())):
        what = f"groups of up to {sizes.max():,} candidates or judgements have {count:,} pairs"
        raise DataError(f"{what}, which need too much memory: use fewer candidates or judgements for each source")
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        begin = starts[:-1][sizes == size][:, np.newaxis]
        pairs.append(np.stack([(begin + side).ravel() for side in np.triu_indices(int(size), 1)]))
    first, second = np.concatenate(pairs, axis=1)
    return first, second


BITS = 40


def rounded(values: npt.ArrayLike, scale: npt.ArrayLike) -> FloatArray:
    """Round numbers to a multiple of a power of 2, about 2^-40 of their scale, which removes rounding noise.

    The scale is increased slightly first: at exactly a power of 2, noise in the scale could change the multiple.
    """
    unit = np.exp2(np.frexp(np.asarray(scale) * (1.0 + 2.0**-20))[1] - float(BITS))
    return np.asarray(np.round(np.asarray(values) / unit) * unit + 0.0)
