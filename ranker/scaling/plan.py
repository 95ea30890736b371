"""The plan of a run on shards: stages, what became of every shard, and the manifest of the results."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranker.corpora.shards.shards import Shards
from ranker.errors import DataError, counted
from ranker.extractors.text.reference_counts import CountsReferences
from ranker.files import display_name, sha256, write_bytes
from ranker.learning.lm.merging import PartCounts, is_merged, merge
from ranker.learning.lm.on_disk import rows_for
from ranker.scaling.engines import Engine
from ranker.scaling.references import AllReferences, CollectReferences, CountNgrams, read_counts
from ranker.scaling.tasks import Finished, Stage, Task, result_path

MANIFEST = "results.json"
_MEMORY = 500_000_000
"""Bytes for adding up counts of n-grams."""
Told = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """A run on shards.

    Parameters
    ----------
    shards : Shards
    folder : Path
        Where results are written; a directory that an earlier run of the same data wrote to is continued.
    engine : Engine
    tell : callable
        Told the progress, line by line.
    """

    shards: Shards
    folder: Path
    engine: Engine
    tell: Told = field(default=print)

    def collect_references(self, *, references: bool = True) -> AllReferences:
        """Make the first pass, for what learns from all references.

        Raises
        ------
        DataError
            Naming a shard that cannot be read: nothing can be learnt from all references then.
        """
        folder = self.folder / "references"
        finished = self.map(CollectReferences(references), folder)
        _check_all(finished)
        return AllReferences.of(
            str(folder.absolute()), len(finished), sha256("".join(result.signature for result in finished).encode())
        )

    def count_references(
        self, whole: AllReferences, learners: Iterable[object], *, references: bool = True
    ) -> AllReferences:
        """Count the n-grams that some of `learners` learn from, shard by shard, and add the counts up.

        Raises
        ------
        DataError
            As `collect_references`.
        """
        counts: dict[str, str] = {}
        for learner in learners:
            if not isinstance(learner, CountsReferences):
                continue
            counting = learner.counting
            if counting is None or counting.key in counts:
                continue
            folder = self.folder / "references" / counting.key
            finished = self.map(CountNgrams(learner, references), folder)
            _check_all(finished)
            signature = sha256("".join(result.signature for result in finished).encode())
            if not is_merged(folder, signature):
                parts = functools.partial(_parts, folder, len(finished), counting.order)
                rows = rows_for(_MEMORY, counting.order)
                merge(parts, counting.order, folder, signature=signature, model=counting.model, rows=rows)
            counts[counting.key] = str(folder.absolute())
        return dataclasses.replace(whole, sums=dataclasses.replace(whole.sums, counts=counts))

    def map(self, stage: Stage, folder: Path, numbers: Sequence[int] | None = None) -> list[Finished]:
        """Run a stage on shards, by default on all; what became of them is in their order.

        Raises
        ------
        RankerError
            As `Engine.run`, or if `folder` cannot be made.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror or error}", file=display_name(folder)) from None
        tasks = [
            Task(stage, Shards(self.shards.name, (shard,)), number, str(folder.absolute()))
            for number, shard in enumerate(self.shards.shards)
            if numbers is None or number in numbers
        ]
        progress = Progress(stage.name, len(tasks), self.tell)
        finished = [progress.add(task, self.shards.shards[task.number].file) for task in self.engine.run(tasks)]
        progress.end()
        return sorted(finished, key=lambda task: task.number)

    def digest(self, finished: Iterable[Finished]) -> str:
        """Return a digest of all shards."""
        return sha256("".join(shard.content for shard in finished).encode())

    def check(self, finished: Iterable[Finished]) -> None:
        """Refuse to go on without some shards.

        Raises
        ------
        DataError
            If one failed.
        """
        done = list(finished)
        problems = [shard.problem for shard in done if shard.problem is not None]
        if problems:
            shown = f"{len(problems):,} of {counted(len(done), 'shard')} failed: {problems[0]}"
            what = "the results of the others are kept: repair it and run the command again"
            raise DataError(f"{shown}; {what}", file=display_name(self.folder))

    def signature(self, finished: Iterable[Finished]) -> str:
        """Return the name of the data with a digest of all shards."""
        return f"{self.shards.name}#{self.digest(finished)[:8]}"

    def write_manifest(self, stage: Stage, finished: Iterable[Finished], **facts: object) -> None:
        """Write ``results.json``.

        Parameters
        ----------
        stage : Stage
        finished : iterable of Finished
            In the order of the shards.
        **facts
            More to be written.
        """
        done = list(finished)
        parts = [
            {
                "shard": self.shards.shards[shard.number].file,
                "file": None if shard.problem else result_path(self.folder, shard.number).name,
                "rows": shard.rows,
                "signature": shard.signature,
                **({"problem": shard.problem} if shard.problem else {}),
            }
            for shard in done
        ]
        document: dict[str, Any] = {
            "format": "ranker-results",
            "version": 1,
            "stage": stage.name,
            "data": self.shards.name,
            **facts,
            "rows": sum(shard.rows for shard in done),
            "parts": parts,
        }
        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        write_bytes(self.folder / MANIFEST, text.encode())


def _parts(folder: Path, shards: int, order: int) -> Iterator[PartCounts]:
    for number in range(shards):
        yield read_counts(folder, number, order)


def _check_all(finished: Sequence[Finished]) -> None:
    failed = [result for result in finished if result.problem is not None]
    if failed:
        what = "and what is learnt from the references of all shards needs it: repair it, or leave it out"
        raise DataError(f"{failed[0].problem}; {what}")


class Progress:
    """Tells how far a stage is: shard by shard, with rate and time left."""

    def __init__(self, stage: str, shards: int, tell: Told) -> None:
        self.stage, self.shards, self.tell = stage, shards, tell
        self.started = time.monotonic()
        self.done = self.reused = self.worked = self.candidates = 0

    def add(self, finished: Finished, file: str) -> Finished:
        """Tell what became of a shard, and return it."""
        self.done += 1
        name = display_name(Path(file).name)
        if finished.state == "kept":
            self.reused += 1
            return finished
        head = f"{self.stage}: shard {self.done:,} of {self.shards:,}, {name}"
        if finished.problem is not None:
            self.tell(f"{head}: failed: {finished.problem}")
            return finished
        self.worked += 1
        self.candidates += finished.candidates
        elapsed = max(time.monotonic() - self.started, 1e-9)
        left = (self.shards - self.done) * elapsed / self.worked
        again = ", made anew because data, model or options changed" if finished.state == "remade" else ""
        rate = f"{self.candidates / elapsed:,.0f} candidates per second"
        self.tell(f"{head}{again}: {finished.candidates:,} candidates, {rate}, {_duration(left)} left")
        return finished

    def end(self) -> None:
        """Tell how many results were there already."""
        if self.reused:
            self.tell(f"{self.stage}: {counted(self.reused, 'shard')} finished by an earlier run")


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
