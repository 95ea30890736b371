"""Columns of numbers in temporary files, for arrays that memory need not hold.

The files have no names: the system removes them when they are closed, however the process ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int64Array
from ranker.errors import DataError
from ranker.files import display_name


class Scratch:
    """A number of columns on disk, closed together.

    Parameters
    ----------
    directory : str or Path, optional
        Where the files lie; by default the system's directory for temporary files.
    rows : int
        How many rows are worked on at a time.
    """

    def __init__(self, directory: str | Path | None, rows: int) -> None:
        self.directory = Path(tempfile.gettempdir() if directory is None else directory)
        self.rows = rows
        self._files: list[IO[bytes]] = []

    def column(self, dtype: npt.DTypeLike) -> Column:
        """Return a new column without rows.

        Raises
        ------
        DataError
            If the directory is missing or cannot be written to.
        """
        try:
            stream = tempfile.TemporaryFile(dir=self.directory, buffering=0)  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise self.failed(error) from None
        self._files.append(stream)
        return Column(self, stream, np.dtype(dtype))

    def failed(self, error: OSError) -> DataError:
        """Return the error to raise where a temporary file fails."""
        return DataError(
            f"cannot write temporary files: {error.strerror or error}; choose another directory with TMPDIR",
            file=display_name(self.directory),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stream in self._files:
            stream.close()


class Column:
    """Numbers in a file, from `Scratch.column`: appended, then read by ranges or by ascending rows."""

    def __init__(self, scratch: Scratch, stream: IO[bytes], dtype: np.dtype[Any]) -> None:
        self._scratch, self._stream, self._dtype = scratch, stream, dtype
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, values: npt.NDArray[Any]) -> None:
        """Add `values` at the end."""
        self.write(self._length, values)

    def append_zeros(self, number: int) -> None:
        """Add zeros at the end."""
        for start in range(0, number, self._scratch.rows):
            self.append(np.zeros(min(self._scratch.rows, number - start), dtype=self._dtype))

    def write(self, start: int, values: npt.NDArray[Any]) -> None:
        """Replace the rows from `start` on, or add them at the end.

        Raises
        ------
        DataError
            If the disk is full.
        """
        left = np.ascontiguousarray(values, dtype=self._dtype).data.cast("B") if len(values) else b""
        try:
            self._stream.seek(start * self._dtype.itemsize)
            while left:
                left = left[self._stream.write(left) :]
        except OSError as error:
            raise self._scratch.failed(error) from None
        self._length = max(self._length, start + len(values))

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return the rows from `start` to `stop`, or to the last one."""
        rows = np.empty(max(min(stop, self._length) - start, 0), dtype=self._dtype)
        left = rows.data.cast("B") if len(rows) else b""
        try:
            self._stream.seek(start * self._dtype.itemsize)
            while left:
                left = left[self._stream.readinto(left) :]  # type: ignore[attr-defined]
        except OSError as error:
            raise self._scratch.failed(error) from None
        return rows

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield where blocks of rows begin and end."""
        for start in range(0, self._length, self._scratch.rows):
            yield start, min(start + self._scratch.rows, self._length)

    def take(self, rows: Int64Array) -> npt.NDArray[Any]:
        """Return the values of `rows`, which ascend and may repeat."""
        values = np.empty(len(rows), dtype=self._dtype)
        for start, stop, part in self._ranges(rows):
            values[part] = self.read(start, stop)[rows[part] - start]
        return values

    def take_unsorted(self, rows: Int64Array) -> npt.NDArray[Any]:
        """Return the values of `rows` in any order."""
        order = np.argsort(rows)
        values = np.empty(len(rows), dtype=self._dtype)
        values[order] = self.take(rows[order])
        return values

    def add(self, rows: Int64Array, values: npt.NDArray[Any]) -> None:
        """Add `values` to `rows`, which ascend and do not repeat."""
        for start, stop, part in self._ranges(rows):
            block = self.read(start, stop)
            block[rows[part] - start] += values[part]
            self.write(start, block)

    def _ranges(self, rows: Int64Array) -> Iterator[tuple[int, int, slice]]:
        """Yield blocks that hold ascending `rows`: begin and end, and which of `rows` lie in it."""
        at = 0
        while at < len(rows):
            start = int(rows[at])
            end = int(np.searchsorted(rows, start + self._scratch.rows))
            yield start, int(rows[end - 1]) + 1, slice(at, end)
            at = end
