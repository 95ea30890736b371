"""The distinct n-grams of a text that memory need not hold, sorted: parts are sorted in memory and merged on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np

from ranker.arrays import Int32Array, Int64Array, UInt64Array
from ranker.learning.lm.counts import SENTENCE_END
from ranker.learning.lm.scratch import Column, Scratch


class SortedWindows:
    """The words from every position of a text on, up to the highest order or the sentence's end, sorted.

    Every n-gram of the text is the beginning of a window, so that one sort serves all orders. A window's words are
    packed into as few 64-bit numbers as hold them, which sort as the words do; a record is these numbers and how often
    the window occurs.

    Parameters
    ----------
    order : int
        Longest windows.
    types : int
        Word numbers are below this.
    scratch : Scratch
    """

    def __init__(self, order: int, types: int, scratch: Scratch) -> None:
        self._order = order
        self._bits = (types - 1).bit_length()
        self._per_key = min(64 // self._bits, order)
        self._keys = -(-order // self._per_key)
        self._rows = scratch.rows
        self._records = scratch.column(np.uint64)
        self._runs: list[tuple[int, int]] = []

    @classmethod
    def of_text(cls, text: Column, order: int, types: int, scratch: Scratch) -> Self:
        """Return the windows of a text: int32 word numbers, sentences between ``<s>`` and ``</s>``."""
        windows = cls(order, types, scratch)
        for start, stop in text.blocks():
            windows.add(windows_of(text.read(start, stop + order - 1), stop - start, order))
        return windows

    def add(self, windows: Int32Array, counts: Int64Array | None = None) -> None:
        """Add windows that memory holds.

        Parameters
        ----------
        windows : int32 array, shape (rows, order)
            Padded with 0.
        counts : int64 array, shape (rows,), optional
            How often each occurs; by default once.
        """
        occurrences = np.ones(len(windows), dtype=np.uint64) if counts is None else counts.astype(np.uint64)
        records = _combined(np.column_stack([self._pack(windows), occurrences]))
        begin = len(self._records) // self._width
        self._records.append(records.ravel())
        self._runs.append((begin, begin + len(records)))

    @property
    def _width(self) -> int:
        return self._keys + 1

    def __iter__(self) -> Iterator[tuple[Int32Array, Int64Array]]:
        """Yield windows, shape (rows, order), padded with 0, and how often each occurs; ascending, each once."""
        for records in self._merged():
            yield self._unpack(records), records[:, -1].astype(np.int64)

    def _pack(self, windows: Int32Array) -> UInt64Array:
        keys = np.zeros((len(windows), self._keys), dtype=np.uint64)
        for place in range(self._order):
            key = keys[:, place // self._per_key]
            key <<= np.uint64(self._bits)
            key |= windows[:, place].astype(np.uint64)
        return keys

    def _unpack(self, records: UInt64Array) -> Int32Array:
        words = np.empty((len(records), self._order), dtype=np.int32)
        keys = records[:, : self._keys].copy()
        mask = np.uint64((1 << self._bits) - 1)
        for place in reversed(range(self._order)):
            key = keys[:, place // self._per_key]
            words[:, place] = key & mask
            key >>= np.uint64(self._bits)
        return words

    def _merged(self) -> Iterator[UInt64Array]:
        """Merge the runs: up to the least of the last records that were read, all runs are known."""
        block = max(self._rows // max(len(self._runs), 1), 1)
        buffers = [np.zeros((0, self._width), dtype=np.uint64) for _ in self._runs]
        places = [start for start, _ in self._runs]
        while True:
            for run, (_, end) in enumerate(self._runs):
                if not len(buffers[run]) and places[run] < end:
                    buffers[run] = self._read(places[run], min(places[run] + block, end))
                    places[run] += len(buffers[run])
            if not any(map(len, buffers)):
                return
            more = [run for run, (_, end) in enumerate(self._runs) if places[run] < end]
            if more:
                limit = min(tuple(buffers[run][-1, :-1].tolist()) for run in more)
                cuts = [_up_to(buffer, limit) for buffer in buffers]
            else:
                cuts = [len(buffer) for buffer in buffers]
            yield _combined(np.concatenate([buffer[:cut] for buffer, cut in zip(buffers, cuts, strict=True)]))
            buffers = [buffer[cut:] for buffer, cut in zip(buffers, cuts, strict=True)]

    def _read(self, start: int, stop: int) -> UInt64Array:
        return self._records.read(start * self._width, stop * self._width).reshape(-1, self._width)


def windows_of(text: Int32Array, number: int, order: int) -> Int32Array:
    """Return the windows at the first positions of a text, shape (number, order)."""
    windows = np.zeros((number, order), dtype=np.int32)
    inside = np.ones(number, dtype=bool)
    for place in range(order):
        rest = text[place : place + number]
        words = np.zeros(number, dtype=np.int32)
        words[: len(rest)] = rest
        words[~inside] = 0
        windows[:, place] = words
        inside &= words != SENTENCE_END
    return windows


def _combined(records: UInt64Array) -> UInt64Array:
    """Sort records by their keys, and add up the last column, the counts, of equal ones."""
    if not len(records):
        return records
    records = records[np.lexsort(records[:, -2::-1].T)]
    new = np.ones(len(records), dtype=bool)
    new[1:] = (records[1:, :-1] != records[:-1, :-1]).any(axis=1)
    first = np.flatnonzero(new)
    distinct = records[first]
    distinct[:, -1] = np.add.reduceat(records[:, -1], first)
    return distinct


def _up_to(records: UInt64Array, limit: tuple[int, ...]) -> int:
    """Return how many of the sorted `records` have keys up to `limit`."""
    low, high = 0, len(records)
    for column, value in enumerate(limit):
        key, wanted = records[low:high, column], np.uint64(value)
        below = int(np.searchsorted(key, wanted))
        low, high = low + below, low + int(np.searchsorted(key, wanted, side="right"))
        if low == high:
            break
    return high
