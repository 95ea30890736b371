"""Reads Parquet files in parts, with texts as dictionaries, and refuses files that expand far more than text does.

A text that is stored once can occur in a million rows. The lengths of all values are therefore summed before any is
copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ranker.corpora.formats.tables import Columns
from ranker.errors import DataError
from ranker.files import UNPACKED_FREE, UNPACKED_RATIO, printable, read_bytes

_CELL = 8
_ROWS = 1 << 14


def read_parquet(path: str | Path, file: str) -> Columns:
    """Read the columns of a Parquet file; error messages give row numbers in place of line numbers."""
    raw = read_bytes(path)
    with parquet_errors(file):
        batches = [*parquet_batches(pa.BufferReader(raw), file, len(raw), _ROWS)]
        table = pa.Table.from_batches(batches) if batches else pyarrow.parquet.ParquetFile(pa.BufferReader(raw)).read()
    return Columns(table.column_names, table.columns, np.arange(1, table.num_rows + 1), file)


def parquet_batches(source: Any, file: str, size: int, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file in checked batches of `rows` rows, with values of plain types.

    The size of the file in bytes, `size`, limits the size of the unpacked data.
    """
    content = pyarrow.parquet.ParquetFile(source)
    most, metadata = max(UNPACKED_FREE, UNPACKED_RATIO * size), content.metadata
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    chunks = [group.column(at) for group in groups for at in range(metadata.num_columns)]
    declared = _CELL * sum(chunk.num_values for chunk in chunks) + _CELL * metadata.num_rows
    if max(declared, sum(chunk.total_uncompressed_size for chunk in chunks)) > most:
        raise _too_large(file)
    leaves = [metadata.schema.column(at) for at in range(metadata.num_columns)]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    held = 0
    for batch in pyarrow.parquet.ParquetFile(source, read_dictionary=texts).iter_batches(batch_size=rows):
        batch.validate(full=True)
        held += sum(map(_bytes, batch.columns))
        if held > most:
            raise _too_large(file)
        yield pa.RecordBatch.from_arrays([*map(_plain, batch.columns)], batch.schema.names)


def _too_large(file: str) -> DataError:
    what = f"unpacks to more than {UNPACKED_RATIO} times its size, which is unusual for text"
    return DataError(f"{what}; to read it anyway, write it as JSON lines", file=file)


def _bytes(values: pa.Array) -> int:
    """Return the size of values in bytes, with texts of a dictionary counted as often as they occur."""
    kind = values.type
    if pa.types.is_dictionary(kind) and (pa.types.is_string(kind.value_type) or pa.types.is_binary(kind.value_type)):
        used = pc.value_counts(values.indices.drop_null())
        lengths = pc.binary_length(values.dictionary).take(used.field("values"))
        return int(np.dot(lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64), used.field("counts")))
    if pa.types.is_struct(kind):
        return sum(map(_bytes, values.flatten()))
    inside = _bytes(values.flatten()) if pa.types.is_list(kind) or pa.types.is_large_list(kind) else 0
    return inside + int(values.nbytes)


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


@contextmanager
def parquet_errors(file: str) -> Iterator[None]:
    """Convert errors in reading the Parquet file `file` to an error that names it."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        first_line = printable(str(error).split("\n")[0])[:200]
        encoding = "plain or dictionary encoding, not delta encoding"
        advice = f"write it with {encoding}" if "Not yet implemented" in first_line else "copy or create it again"
        raise DataError(f"cannot be read as a Parquet file ({first_line}): {advice}", file=file) from None
