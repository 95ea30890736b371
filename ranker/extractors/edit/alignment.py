"""Word alignments by edit distance, with the search pruned as in tercom or as in sacreBLEU."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import Int32Array, UInt8Array
from ranker.storage.kernels import kernel

_DIAGONAL, _INSERTION, _DELETION = 0, 1, 2
_FAR = np.int32(1 << 30)


class EditAlignment(NamedTuple):
    """Alignment of a candidate with a reference: operations, running error counts per text, and aligned positions."""

    operations: UInt8Array
    wrong: Int32Array
    reference_wrong: Int32Array
    aligned: Int32Array


@kernel
def empty_alignment(length: int, size: int) -> EditAlignment:
    """Allocate an alignment of `length` candidate words with `size` reference words."""
    return EditAlignment(
        np.empty((length + 1, size + 1), dtype=np.uint8),
        np.empty(length + 1, dtype=np.int32),
        np.empty(size + 1, dtype=np.int32),
        np.empty(size, dtype=np.int32),
    )


@kernel
def align_in_beam(words: Int32Array, reference: Int32Array, beam: int, operations: UInt8Array) -> int:
    """Fill `operations` and return the edit distance, with the search pruned as in tercom.

    A state is kept only if its distance is within `beam` of that of the best diagonal step to the same candidate word.
    Of equally good steps, a diagonal one is preferred, then an insertion, then a deletion.
    """
    size, length = len(reference), len(words)
    before = np.empty(size + 1, dtype=np.int32)
    now = np.empty(size + 1, dtype=np.int32)
    best = _FAR
    for row in range(size + 1):
        now[row] = row
        operations[0, row] = _DELETION
        if length and row < size:
            best = min(best, np.int32(row + (reference[row] != words[0])))
    first = 0
    for column in range(1, length + 1):
        before, now = now, before
        word = words[column - 1]
        final = column == length
        limit = _FAR - 1 if final or best == _FAR else best + beam
        following = np.int32(-1) if final else words[column]
        best = _FAR
        above = diagonal = _FAR
        first_left = size + 1
        now[:first] = _FAR
        for row in range(first, size + 1):
            left = before[row]
            value, operation = diagonal, _DIAGONAL
            if left + 1 < value:
                value, operation = np.int32(left + 1), _INSERTION
            if above + 1 < value:
                value, operation = np.int32(above + 1), _DELETION
            operations[column, row] = operation
            if value > limit:
                value = _FAR
            else:
                first_left = min(first_left, row)
                if row < size:
                    best = min(best, np.int32(value + (reference[row] != following)))
            now[row] = above = value
            if row < size:
                diagonal = np.int32(left + (reference[row] != word))
        first = first_left
    return int(now[size])


@kernel
def align_in_band(words: Int32Array, reference: Int32Array, beam: int, operations: UInt8Array) -> int:
    """Fill `operations` and return the edit distance, pruned as in sacreBLEU: to rows within `beam` of the diagonal."""
    size, length = len(reference), len(words)
    before = np.empty(size + 1, dtype=np.int64)
    now = np.arange(size + 1)
    operations[0] = _DELETION
    slope = size / length if length else 1.0
    width = int(np.ceil(slope / 2 + beam)) if beam < slope / 2 else beam
    for column in range(1, length + 1):
        before, now = now, before
        now[:] = _FAR
        centre = int(np.floor(column * slope))
        stop = size + 1 if column == length else min(size + 1, centre + width)
        for row in range(max(0, centre - width), stop):
            value, operation = before[row] + 1, _INSERTION
            if row:
                diagonal = before[row - 1] + (reference[row - 1] != words[column - 1])
                if diagonal <= value:
                    value, operation = diagonal, _DIAGONAL
                if now[row - 1] + 1 < value:
                    value, operation = now[row - 1] + 1, _DELETION
            now[row] = value
            operations[column, row] = operation
    return int(now[size])


@kernel
def read_alignment(words: Int32Array, reference: Int32Array, alignment: EditAlignment) -> None:
    """Fill the error counts and aligned positions of `alignment` from its operations."""
    wrong, reference_wrong = alignment.wrong, alignment.reference_wrong
    wrong[0] = reference_wrong[0] = 0
    column, row = len(words), len(reference)
    while column > 0 or row > 0:
        operation = alignment.operations[column, row]
        if operation == _DELETION:
            reference_wrong[row] = 1
            row -= 1
            alignment.aligned[row] = column - 1
        elif operation == _INSERTION:
            wrong[column] = 1
            column -= 1
        else:
            wrong[column] = reference_wrong[row] = words[column - 1] != reference[row - 1]
            column -= 1
            row -= 1
            alignment.aligned[row] = column
    for at in range(len(words)):
        wrong[at + 1] += wrong[at]
    for at in range(len(reference)):
        reference_wrong[at + 1] += reference_wrong[at]
