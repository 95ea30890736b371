"""Runs a decoder between iterations: a command that turns weights into an n-best list."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ranker.errors import OptionError, ProcessError
from ranker.files import display_name, printable

_SHOWN = 120


@dataclass(frozen=True)
class Decoder:
    """A decoder command, called with two more arguments: the weights file, and the n-best list to write."""

    command: str

    def __post_init__(self) -> None:
        """Raise an `OptionError` if the command is malformed or empty."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise OptionError(f"--decoder {self.command}: expected a command quoted as in a shell ({error})") from None
        if not words:
            raise OptionError("--decoder: expected a command, found nothing")

    def run(self, weights: Path, output: Path, log: Path) -> None:
        """Run the decoder with the weights file; messages that the command prints go to `log`."""
        words = [*shlex.split(self.command), str(weights), str(output)]
        output.unlink(missing_ok=True)
        with log.open("wb") as stream:
            try:
                process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
                )
            except OSError as error:
                raise ProcessError(f"decoder {self._called} cannot be started: {error.strerror or error}") from None
            try:
                code = process.wait()
            finally:
                # the whole group: a decoder is often a script that waits for others
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code:
            outcome = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
            raise ProcessError(f"decoder {self._called} {outcome}{_last_line(log)}; see {display_name(log)}")
        if not output.is_file():
            raise ProcessError(
                f"decoder {self._called} did not write {display_name(output)}; expected an n-best list in this file, "
                f"the second argument of the decoder; see {display_name(log)}"
            )

    @property
    def _called(self) -> str:
        return repr(self.command if len(self.command) <= _SHOWN else f"{self.command[: _SHOWN - 3]}...")


def _last_line(log: Path) -> str:
    """Return the last line that the command printed, for an error message."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 4096))
        lines = stream.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {printable(last[:_SHOWN])}" if last else ""
