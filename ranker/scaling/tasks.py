"""What is done with one shard: read it, compute a table, and write that with the signature of what made it.

A stage is a value that can be sent to another process. A result that is there already, with the same signature, is
kept; so a run that was interrupted goes on, and no shard is computed twice.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pyarrow as pa
import pyarrow.parquet

from ranker.corpora.dataset import Dataset
from ranker.corpora.own_references import without_only_references
from ranker.corpora.shards.shards import Shards, digest
from ranker.errors import DataError
from ranker.extractors.base import join_notes
from ranker.files import replacing, sha256
from ranker.threads import set_jobs
from ranker.version import VERSION

_SIGNATURE, _NOTE = b"ranker.signature", b"ranker.note"
_one_at_a_time = threading.Lock()
"""Kernels use all threads of a process; a worker with several threads must not run two shards at once."""


class Stage(ABC):
    """What a run computes for every shard."""

    name: ClassVar[str]
    references: bool
    """Whether references are used."""

    @abstractmethod
    def signature(self) -> str:
        """Return all that changes the results, besides the shard."""

    @abstractmethod
    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return the result for shard `number`, which is `dataset`, and what a user should know about it."""


@dataclass(frozen=True)
class Task:
    """One stage of one shard.

    Parameters
    ----------
    stage : Stage
    shards : Shards
        The one shard.
    number : int
        Its place among all shards.
    folder : str
        Where the result is written.
    threads : int or None
        How many to use; by default what the process is set to.
    """

    stage: Stage
    shards: Shards
    number: int
    folder: str
    threads: int | None = None

    @property
    def path(self) -> Path:
        """File of the result."""
        return result_path(self.folder, self.number)


@dataclass(frozen=True)
class Finished:
    """What became of a task.

    Parameters
    ----------
    number : int
    state : {"made", "kept", "remade", "failed"}
        ``kept`` was there already, ``remade`` was there but made by something else.
    rows : int
        Rows of the result.
    candidates : int
        Candidates of the shard; 0 if it was not read.
    seconds : float
    signature : str
        Of stage and shard; empty if it failed.
    content : str
        Digest of the shard; empty if it could not be read.
    note : str or None
    problem : str or None
        Why it failed.
    """

    number: int
    state: Literal["made", "kept", "remade", "failed"]
    rows: int = 0
    candidates: int = 0
    seconds: float = 0.0
    signature: str = ""
    content: str = ""
    note: str | None = None
    problem: str | None = None


def result_path(folder: str | Path, number: int) -> Path:
    """Return the file of the result of a shard."""
    return Path(folder) / f"part-{number:05d}.parquet"


def run_task(task: Task) -> Finished:
    """Do one task, unless its result is there.

    What is wrong with a shard is part of what is returned; what would be wrong with any shard is raised.

    Raises
    ------
    RankerError
        If the result cannot be written, or a model or option cannot be used.
    """
    with _one_at_a_time:
        return _run(task)


def _run(task: Task) -> Finished:
    started = time.monotonic()
    if task.threads is not None:
        set_jobs(task.threads)
    shard = task.shards.shards[0]
    try:
        content = shard.sha256 or digest(shard.file)
        signature = sha256(f"{VERSION}\n{task.stage.name}\n{task.stage.signature()}\n{content}".encode())
        there = result_of(task.path)
        if there is not None and there[0] == signature:
            return Finished(task.number, "kept", there[1], 0, 0.0, signature, content, there[2])
        dataset = task.shards.read(0)
        scored, about = without_only_references(dataset) if task.stage.references else (dataset, None)
        table, note = task.stage.make(scored, task.number)
        note = join_notes([about, note])
    except DataError as error:
        return Finished(task.number, "failed", problem=str(error))
    metadata = {_SIGNATURE: signature.encode(), **({_NOTE: note.encode()} if note else {})}
    with replacing(task.path) as stream:
        pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), stream, compression="zstd")
    state: Literal["made", "remade"] = "made" if there is None else "remade"
    return Finished(
        task.number, state, table.num_rows, len(dataset), time.monotonic() - started, signature, content, note
    )


def result_of(path: Path) -> tuple[str, int, str | None] | None:
    """Return signature, rows and note of a result; None if there is no intact one."""
    try:
        file_metadata = pyarrow.parquet.read_metadata(path)
    except (OSError, pa.ArrowException):
        return None
    metadata = file_metadata.metadata or {}
    note = metadata.get(_NOTE)
    return metadata.get(_SIGNATURE, b"").decode(), file_metadata.num_rows, None if note is None else note.decode()


def read_result(folder: str | Path, number: int) -> pa.Table:
    """Read the result of a shard.

    Raises
    ------
    DataError
        If it is missing or damaged.
    """
    path = result_path(folder, number)
    try:
        return pyarrow.parquet.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        what = f"cannot be read ({str(error).splitlines()[0][:200]}): delete it and run the command again"
        raise DataError(what, file=str(path)) from None
