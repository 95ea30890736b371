"""Sentence pairs as arrays of word numbers: their checks, and batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int32Array, Int64Array, offsets_of
from ranker.errors import DataError

_LARGEST_PAIR = 1 << 24
_BATCH = 1 << 20


class Pairs(NamedTuple):
    """Sentence pairs in CSR form, with each word represented by a number."""

    source: Int32Array
    source_offsets: Int64Array
    target: Int32Array
    target_offsets: Int64Array
    cell_offsets: Int64Array


def count_cells(pairs: Pairs, *_: object) -> int:
    """Return the number of cells (pairs of a source and a target word) in all sentence pairs."""
    return int(pairs.cell_offsets[-1])


def make_pairs(
    source_values: npt.ArrayLike,
    source_offsets: npt.ArrayLike,
    target_values: npt.ArrayLike,
    target_offsets: npt.ArrayLike,
    sizes: tuple[int | None, int | None],
) -> Pairs:
    """Check arrays of sentence pairs and return them as `Pairs`; `sizes` bounds word numbers of source and target."""
    source = _side("source", source_values, source_offsets, sizes[0])
    target = _side("target", target_values, target_offsets, sizes[1])
    cells = np.diff(source[1]) * np.diff(target[1])
    large = np.flatnonzero(cells > _LARGEST_PAIR)
    if len(large):
        pair = large[0]
        words = " and ".join(f"{np.diff(side[1])[pair]:,}" for side in (source, target))
        raise DataError(f"pair {pair + 1}: sentences of {words} words are too long to align; split or remove them")
    return Pairs(*source, *target, offsets_of(cells))


def _side(name: str, values: npt.ArrayLike, offsets: npt.ArrayLike, size: int | None) -> tuple[Int32Array, Int64Array]:
    words, bounds = np.ascontiguousarray(values, dtype=np.int32), np.ascontiguousarray(offsets, dtype=np.int64)
    outside = np.flatnonzero(words >= (2**31 - 1 if size is None else size))
    if len(outside):
        pair = int(np.searchsorted(bounds, outside[0], side="right"))
        raise DataError(f"pair {pair}: found {name} word number {words[outside[0]]}, expected one below {size}")
    return words, bounds


def check_trainable(pairs: Pairs) -> None:
    """Raise `DataError` if there are no sentence pairs, or a sentence is empty."""
    if len(pairs.cell_offsets) < 2:
        raise DataError("no sentence pairs to train on, expected at least one")
    for name, offsets in (("source", pairs.source_offsets), ("target", pairs.target_offsets)):
        empty = np.flatnonzero(np.diff(offsets) == 0)
        if len(empty):
            raise DataError(f"pair {empty[0] + 1}: the {name} sentence is empty; remove the pair")


def batches(pairs: Pairs) -> Iterator[tuple[int, Pairs]]:
    """Yield batches of at most `_BATCH` cells, or of a single larger pair, each with the index of its first pair."""
    first, last = 0, len(pairs.cell_offsets) - 1
    while first < last:
        limit = pairs.cell_offsets[first] + _BATCH
        stop = max(first + 1, int(np.searchsorted(pairs.cell_offsets, limit, side="right")) - 1)
        source, target = (offsets[first : stop + 1] for offsets in (pairs.source_offsets, pairs.target_offsets))
        yield (
            first,
            Pairs(
                pairs.source[source[0] : source[-1]],
                source - source[0],
                pairs.target[target[0] : target[-1]],
                target - target[0],
                pairs.cell_offsets[first : stop + 1] - pairs.cell_offsets[first],
            ),
        )
        first = stop
