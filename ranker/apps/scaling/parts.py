"""The loop over shards: each shard is made into a table in a file, in the same way in this process and on Dask.

The name of a file ends in a checksum of its bytes, and its metadata identify the input. A file that exists already,
undamaged and made from the same input, is kept, so that an interrupted run can be continued.
"""

from __future__ import annotations

import functools
import io
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from ranker import progress
from ranker.apps.scaling.cluster import on_workers
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.shards import Shards, digest
from ranker.corpora.shards.making import notes_once
from ranker.errors import DataError, counted
from ranker.files import display_name, read_bytes, sha256, unwritable, write_bytes
from ranker.threads import set_jobs
from ranker.version import VERSION

RESULTS = "results.json"
Make = Callable[[Dataset], tuple[pa.Table, str | None]]
"""A function that makes a shard's table, and a note for the user."""
_SIGNATURE, _NOTE = b"ranker.signature", b"ranker.note"
_one_at_a_time = threading.Lock()
"""Lock of a process: kernels use all its threads, so a worker with several threads must not run two shards at once."""


@dataclass(frozen=True)
class ShardResult:
    """Result for one shard: the table and its number of rows, or an error.

    `reused` is True if an earlier run made the table.
    """

    number: int
    shard: str
    content: str = ""
    path: Path | None = None
    rows: int = 0
    note: str | None = None
    problem: str | None = None
    reused: bool = False

    def table(self) -> pa.Table:
        """Read the shard's table from its file."""
        assert self.path is not None
        return pyarrow.parquet.read_table(io.BytesIO(_intact(self.path)))


def process(
    shards: Shards, make: Make, signature: str, folder: Path, client: Any = None, threads: int | None = None
) -> list[ShardResult]:
    """Return the results of all shards in order, computed in this process or by a Dask `client`.

    `signature` identifies everything that the results depend on besides the data.
    """
    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RESULTS).unlink(missing_ok=True)
        for number, path in _tables(folder):
            if number >= len(shards):
                path.unlink()
    except OSError as error:
        raise unwritable(folder, error) from None
    finish = functools.partial(finish_part, shards, make, signature, folder, threads)
    numbers = range(len(shards))
    done: list[ShardResult] = []
    with notes_once() if client is None else nullcontext():
        for part in map(finish, numbers) if client is None else _on_workers(client, finish, shards):
            done.append(part)
            progress.report("shards", len(done), len(shards))
    return sorted(done, key=lambda part: part.number)


def finish_part(
    shards: Shards, make: Make, signature: str, folder: Path, threads: int | None, number: int
) -> ShardResult:
    """Make the table of one shard unless it exists; an error in this shard is returned, any other error raised."""
    with _one_at_a_time:
        if threads is not None:
            set_jobs(threads)
        shard = shards.shards[number]
        try:
            content = digest(shard)
            made_of = sha256(f"{VERSION}\n{signature}\n{content}".encode())
            there = [path for place, path in _tables(folder) if place == number]
            for path in there:
                facts = _facts(path, made_of)
                if facts is not None:
                    rows, note = facts
                    return ShardResult(number, shard.file, content, path, rows, note, reused=True)
            table, note = make(shards.read(number, content))
        except DataError as error:
            return ShardResult(number, shard.file, problem=str(error))
        metadata = {_SIGNATURE: made_of.encode(), **({_NOTE: note.encode()} if note else {})}
        stream = io.BytesIO()
        pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), stream, compression="zstd")
        for path in there:
            path.unlink(missing_ok=True)
        path = folder / f"part-{number:05d}-{_checksum(stream.getvalue())}.parquet"
        write_bytes(path, stream.getvalue())
        return ShardResult(number, shard.file, content, path, table.num_rows, note)


def check(parts: Iterable[ShardResult], folder: Path | None) -> None:
    """Raise an error if any shard failed; the message says whether other shards' results are kept in `folder`."""
    done = list(parts)
    problems = [part.problem for part in done if part.problem is not None]
    if problems:
        what = "give --out DIR to keep the results of the other shards"
        if folder is not None:
            what = f"the results of the other shards are kept in {display_name(folder)}"
        shown = f"{len(problems):,} of {counted(len(done), 'shard')} failed"
        raise DataError(f"{problems[0]}; {shown}: repair the data and run the command again; {what}")


def write_results(folder: Path, shards: Shards, parts: Sequence[ShardResult], **facts: object) -> None:
    """Write ``results.json``, which lists the tables of all shards, with `facts` about how they were made."""
    document = {
        "format": "ranker-results",
        "version": 2,
        "data": shards.name,
        **facts,
        "rows": sum(part.rows for part in parts),
        "parts": [{"shard": part.shard, "file": part.path and part.path.name, "rows": part.rows} for part in parts],
    }
    write_bytes(folder / RESULTS, f"{json.dumps(document, ensure_ascii=False, indent=1)}\n".encode())


def data_signature(shards: Shards, parts: Iterable[ShardResult]) -> str:
    """Return the name of the data with a digest of all shards."""
    return f"{shards.name}#{sha256(''.join(part.content for part in parts).encode())[:8]}"


def _on_workers(client: Any, finish: Callable[[int], ShardResult], shards: Shards) -> Iterator[ShardResult]:
    for number, part in on_workers(client, finish, range(len(shards))):
        file = shards.shards[number].file
        lost = "every worker that worked on it was lost (out of memory?): use smaller shards"
        yield part or ShardResult(number, file, problem=f"{display_name(file)}: {lost}")


def _tables(folder: Path) -> list[tuple[int, Path]]:
    """Return the shard number and path of every table in a folder."""
    pattern = f"part-{'[0-9]' * 5}*-{'[0-9a-f]' * 16}.parquet"
    return [(int(path.name.split("-")[1]), path) for path in sorted(folder.glob(pattern))]


def _checksum(raw: bytes) -> str:
    return sha256(raw)[:16]


def _intact(path: Path) -> bytes:
    raw = read_bytes(path)
    if path.stem.rpartition("-")[2] != _checksum(raw):
        raise DataError("is damaged: run the command again", file=display_name(path))
    return raw


def _facts(path: Path, made_of: str) -> tuple[int, str | None] | None:
    """Return a table's number of rows and its note; None if the table is damaged or was made from other input."""
    try:
        file_metadata = pyarrow.parquet.read_metadata(io.BytesIO(_intact(path)))
    except (DataError, pa.ArrowException):
        return None
    metadata = file_metadata.metadata or {}
    note = metadata.get(_NOTE)
    same = metadata.get(_SIGNATURE) == made_of.encode()
    return (file_metadata.num_rows, note and note.decode()) if same else None
