"""Feature matrices that may be larger than memory: files that are mapped, and deleted when nobody uses them any more.

What is made of a mapped matrix row by row is mapped too, in the same folder. All values are those of the same
operations in memory, to the last bit: sums over rows add one row after the other, as numpy does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.errors import DataError
from ranker.files import display_name, make_temporary

_BLOCK = 1 << 20
"""Values that are in memory at a time."""


def mapped(shape: tuple[int, int], folder: str | Path) -> FloatArray:
    """Return a matrix of zeros in a file of its own.

    Raises
    ------
    DataError
        If the disk has no room for it.
    """
    size = shape[0] * shape[1] * 8
    if not size:
        return np.zeros(shape)
    try:
        # one that a killed run left is removed by the next
        descriptor, path = make_temporary(Path(folder), 0o600)
        try:
            if hasattr(os, "posix_fallocate"):
                # writing to a page without room on the disk would end the process
                os.posix_fallocate(descriptor, 0, size)
            else:
                os.truncate(descriptor, size)
            return np.asarray(np.memmap(path, np.float64, "r+", shape=shape))
        finally:
            os.close(descriptor)
            path.unlink()
    except OSError as error:
        what = f"no room for {size / 1e6:,.1f} MB of features ({error.strerror or error})"
        raise DataError(f"{what}: free some, or choose another --out", file=display_name(folder)) from None


def folder_of(matrix: FloatArray) -> Path | None:
    """Return the folder of the file that a matrix is mapped from; None if it is in memory."""
    base: object = matrix
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.filename is not None:
            return Path(base.filename).parent
        base = base.base
    return None


def made_by_rows(matrix: FloatArray, make: Callable[[slice], FloatArray], shape: tuple[int, int]) -> FloatArray:
    """Return the matrix whose rows in a slice are ``make(slice)``: mapped if `matrix`, of which they are made, is.

    Parameters
    ----------
    matrix : float array, shape (rows, columns)
    make : callable
    shape : (int, int)
        Of the result.
    """
    folder = folder_of(matrix)
    if folder is None:
        return make(slice(0, shape[0]))
    array = mapped(shape, folder)
    for block in row_blocks(shape):
        array[block] = make(block)
    return array


def take_rows(matrix: FloatArray, rows: Int64Array) -> FloatArray:
    """Return some rows of a matrix; C-contiguous."""
    return made_by_rows(matrix, lambda block: np.take(matrix, rows[block], axis=0), (len(rows), matrix.shape[1]))


def take_columns(matrix: FloatArray, used: BoolArray) -> FloatArray:
    """Return the columns of a matrix where the mask `used` is true; itself if all are."""
    if used.all():
        return matrix
    return made_by_rows(matrix, lambda block: matrix[block][:, used], (len(matrix), int(used.sum())))


def sum_of_rows(matrix: FloatArray, term: Callable[[slice], FloatArray]) -> FloatArray:
    """Return the sum of ``term(slice)`` over all rows, where `term` gives what the rows of a slice become."""
    if folder_of(matrix) is None or matrix.shape[1] == 1:
        # numpy adds the values of a single column in pairs
        return np.asarray(term(slice(0, len(matrix))).sum(axis=0))
    total = np.zeros(matrix.shape[1])
    for block in row_blocks(matrix.shape):
        total = np.add.reduce(np.vstack([total, term(block)]), axis=0)
    return total


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of consecutive rows that fit into memory."""
    rows = max(_BLOCK // max(shape[1], 1), 1)
    for start in range(0, shape[0], rows):
        yield slice(start, min(start + rows, shape[0]))
