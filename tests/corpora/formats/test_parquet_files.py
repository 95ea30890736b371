"""Parquet files that unpack to far more than they are, and sound ones of every nesting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ranker.corpora.formats import parquet_files, tables
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.shards.streaming import parts_of
from ranker.errors import DataError
from tests.effort import thorough

ROWS = 4000
PAGE = "a word " * 4000


def _repeated(values: pa.Array, rows: int = ROWS) -> pa.ChunkedArray:
    """Return a column that repeats what is in one row, without holding it in memory."""
    return pa.chunked_array([pa.concat_arrays([values] * 50)] * (rows // 50))


def _table(rows: int = ROWS, **columns: Any) -> pa.Table:
    plain = {
        "source": [f"s{row // 2}" for row in range(rows)],
        "seg_id": [str(row // 2) for row in range(rows)],
        "reference": ["r"] * rows,
        "system": ["A", "B"] * (rows // 2),
        "text": ["x"] * rows,
    }
    return pa.table({**plain, **columns})


BOMBS = {
    "one text in all rows": (lambda: _table(text=_repeated(pa.array([PAGE]))), {}),
    "no dictionary": (lambda: _table(text=_repeated(pa.array([PAGE]))), {"use_dictionary": False}),
    "a column that is not read": (lambda: _table(comment=_repeated(pa.array([PAGE]))), {}),
    "bytes": (lambda: _table(text=_repeated(pa.array([PAGE.encode()]))), {}),
    "conversations": (lambda: _table(text=_repeated(pa.array([[{"role": "user", "content": PAGE}]]))), {}),
    "long lists": (lambda: _table(meta=_repeated(pa.array([["x"] * 10_000]))), {}),
    "rows of nothing": (lambda: pa.table({"text": pa.nulls(40_000_000, pa.string())}), {}),
}


@pytest.mark.parametrize("name", BOMBS)
@thorough
def test_files_that_unpack_to_far_more_are_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, options = BOMBS[name]
    path = tmp_path / "bomb.parquet"
    pq.write_table(make(), path, compression="zstd", **options)
    assert path.stat().st_size < 200_000
    decoded: list[int] = []
    plain = parquet_files._plain
    monkeypatch.setattr(parquet_files, "_plain", lambda values: decoded.append(values.nbytes) or plain(values))
    for read in (read_dataset, lambda path: [*parts_of(str(path), 100_000)]):
        with pytest.raises(
            DataError, match=r"bomb\.parquet: unpacks to more than 200 times its size.*: write|JSON lines"
        ):
            read(path)
    assert sum(decoded) < 1 << 27


def test_sound_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    turns = [[{"role": "user", "content": "x"}, {"role": "assistant", "content": f"t{row}"}] for row in range(40)]
    files = {}
    for name, columns, options in (
        ("plain", {"text": [f"t{row}" for row in range(40)]}, {"use_dictionary": False}),
        ("dictionary", {"text": [f"t{row}" for row in range(40)]}, {"row_group_size": 7}),
        ("categories", {"text": pa.array([f"t{row}" for row in range(40)]).dictionary_encode()}, {}),
        ("bytes", {"text": [f"t{row}".encode() for row in range(40)]}, {}),
        ("conversations", {"text": turns}, {}),
    ):
        path = tmp_path / name / "c.parquet"
        path.parent.mkdir()
        pq.write_table(_table(40, **columns, fluency=list(range(40))), path, **options)
        files[name] = read_dataset(path).fingerprint
    assert len({*files.values()}) == 1
    assert [part.fingerprint for part in parts_of(str(tmp_path / "plain" / "c.parquet"), 1000)] == [files["plain"]]


def test_texts_stored_as_bytes_are_read_without_a_copy_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_text", None)
    texts = [f"{row:09}" * 1000 for row in range(200)]
    pq.write_table(_table(200, text=[text.encode() for text in texts]), tmp_path / "c.parquet")
    assert read_dataset(tmp_path / "c.parquet").candidates["text"].tolist() == texts


def test_a_file_without_rows_is_refused_as_empty(tmp_path: Path) -> None:
    pq.write_table(_table(0), tmp_path / "c.parquet")
    with pytest.raises(DataError, match="contains no"):
        read_dataset(tmp_path / "c.parquet")


def test_encodings_that_are_not_read_are_named_with_what_to_do(tmp_path: Path) -> None:
    encodings = {name: "DELTA_BYTE_ARRAY" if name == "text" else "PLAIN" for name in _table(4).column_names}
    pq.write_table(_table(4), tmp_path / "x.parquet", use_dictionary=False, column_encoding=encodings)
    with pytest.raises(DataError, match=r"\(.*\): write it with plain or dictionary encoding, not delta"):
        read_dataset(tmp_path / "x.parquet")
