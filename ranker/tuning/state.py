"""What tuning keeps on disk, so that a run that was killed goes on where it was.

==========================  ======================================================================
file                        what
==========================  ======================================================================
settings.json               all that changes the result; a run with other settings is refused
iterationN.ini              weights that the decoder of iteration N was called with
iterationN.nbest            its list, once it was found sound (iterationN.nbest.new before)
iterationN.log              what the decoder printed
iterationN.json             what tuning on the lists so far found, written when the iteration ended
==========================  ======================================================================
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranker.corpora.formats.nbest import NBestList
from ranker.corpora.formats.nbest_reading import read_nbest
from ranker.corpora.records import shown
from ranker.errors import DataError, OptionError
from ranker.files import display_name, read_text, write_bytes
from ranker.storage import locks
from ranker.storage.plain_data import parse_json, record


@dataclass(frozen=True)
class Step:
    """One iteration of tuning."""

    iteration: int
    hypotheses: int
    new: int
    start: float
    score: float
    best_start: int
    points: int
    searches: int
    seconds: float
    weights: tuple[float, ...]
    stopped: str = ""


def list_digest(nbest: NBestList) -> str:
    """Return the SHA-256 digest of all that a list says."""
    digest = hashlib.sha256(repr(nbest.layout).encode())
    for array in (nbest.sentence, nbest.text, nbest.features):
        digest.update(array.tobytes())
    digest.update("\n".join(nbest.texts.to_pylist()).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class State:
    """The directory that a run keeps its state in."""

    directory: Path

    @contextmanager
    def open(self, settings: dict[str, Any]) -> Iterator[None]:
        """Begin a run, or go on with one of the same settings; no other run can use the directory inside the block."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            descriptor = locks.open_folder(self.directory.resolve())
        except OSError as error:
            raise self._unusable(error) from None
        try:
            # the system gives up the lock of a killed run
            locks.lock(descriptor, wait=False)
        except BlockingIOError:
            os.close(descriptor)
            what = "another process is using it; wait until it finishes, or choose another directory"
            raise OptionError(f"--state {display_name(self.directory)}: {what}") from None
        try:
            self._check(settings)
            yield
        finally:
            os.close(descriptor)

    def _unusable(self, error: OSError) -> DataError:
        what = f"cannot be used as state directory: {error.strerror or error}"
        return DataError(what, file=display_name(self.directory))

    def _check(self, settings: dict[str, Any]) -> None:
        path = self.directory / "settings.json"
        try:
            # a run killed at its very first write leaves a hidden temporary file
            has_other_files = not path.exists() and any(
                not entry.name.startswith(".") for entry in self.directory.iterdir()
            )
        except OSError as error:
            raise self._unusable(error) from None
        if has_other_files:
            raise OptionError(
                f"--state {display_name(self.directory)}: contains other files, expected an empty directory"
            )
        if not path.exists():
            write_bytes(path, (json.dumps(settings, ensure_ascii=False, indent=1) + "\n").encode())
            return
        before = self._read_json(path)
        now = json.loads(json.dumps(settings))
        for key in [*now, *(set(before) - set(now))]:
            if before.get(key) != now.get(key):
                raise OptionError(
                    f"--state {display_name(self.directory)}: started with {key} {shown(before.get(key))}, now "
                    f"{shown(now.get(key))}; resume with the same settings, or choose another directory"
                )

    def step(self, iteration: int, columns: int) -> Step | None:
        """Return what an iteration found, weights of so many columns, or None if it did not end."""
        path = self._path(iteration, "json")
        if not path.exists():
            return None
        document = self._read_json(path)
        try:
            step = record(Step, document)
        except (KeyError, TypeError, ValueError):
            raise _damaged(path) from None
        if len(step.weights) != columns:
            raise _damaged(path)
        return step

    def keep_step(self, step: Step) -> None:
        """Write what an iteration found."""
        text = json.dumps(dataclasses.asdict(step), ensure_ascii=False, indent=1) + "\n"
        write_bytes(self._path(step.iteration, "json"), text.encode())

    def decoded(self, iteration: int) -> NBestList | None:
        """Return the list of an iteration, or None if its decoder did not end."""
        path = self._path(iteration, "nbest")
        return read_nbest(path) if path.exists() else None

    def decoding(self, iteration: int) -> tuple[Path, Path, Path]:
        """Return where the weights, the unchecked list and the log of an iteration's decoder go."""
        return self._path(iteration, "ini"), self._path(iteration, "nbest.new"), self._path(iteration, "log")

    def accept(self, iteration: int) -> None:
        """Keep the list of an iteration, which was found sound."""
        self._path(iteration, "nbest.new").replace(self._path(iteration, "nbest"))

    def _path(self, iteration: int, ending: str) -> Path:
        return self.directory / f"iteration{iteration}.{ending}"

    @staticmethod
    def _read_json(path: Path) -> dict[str, Any]:
        try:
            document = parse_json(read_text(path), display_name(path))
        except ValueError:
            raise _damaged(path) from None
        if not isinstance(document, dict):
            raise _damaged(path)
        return document


def _damaged(path: Path) -> DataError:
    return DataError("is damaged; delete it, or choose another --state directory", file=display_name(path))
