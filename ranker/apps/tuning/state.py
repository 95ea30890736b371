"""N-best lists from decoders, kept on disk, so that an interrupted run need not decode again.

==========================  ======================================================================
file                        what
==========================  ======================================================================
decoder.txt                 the command; a run with another one is refused once there is a list
iterationN.ini              weights that the decoder of iteration N was called with
iterationN.nbest            its list, once checked (iterationN.nbest.new until then)
iterationN.log              what the decoder printed
==========================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ranker.apps.tuning.decoder import Decoder
from ranker.apps.tuning.weights import Weights
from ranker.corpora.formats.nbest import NBestList
from ranker.corpora.formats.nbest_reading import read_nbest
from ranker.errors import OptionError
from ranker.files import display_name, read_text, used_alone, write_bytes


@dataclass(frozen=True)
class State:
    """The directory where a run keeps its decoder's n-best lists."""

    directory: Path

    @contextmanager
    def open(self, decoder: Decoder) -> Iterator[None]:
        """Begin or continue a run of a decoder; no other run can use the directory within the block."""
        with used_alone(self.directory):
            self._check(decoder.command)
            yield

    def _check(self, command: str) -> None:
        path = self.directory / "decoder.txt"
        if path.exists():
            if read_text(path) == f"{command}\n":
                return
            if any(self.directory.glob("iteration*.nbest")):
                raise self._refusal("holds lists of another decoder, see decoder.txt; choose another directory")
        # a run killed at its very first write leaves a hidden temporary file
        elif any(not entry.name.startswith(".") for entry in self.directory.iterdir()):
            raise self._refusal("contains other files, expected an empty directory: choose another directory")
        write_bytes(path, f"{command}\n".encode())

    def _refusal(self, what: str) -> OptionError:
        return OptionError(f"--state {display_name(self.directory)}: {what}")

    def decode(
        self, decoder: Decoder, iteration: int, weights: Weights, check: Callable[[NBestList], None]
    ) -> NBestList:
        """Return the decoder's n-best list for some weights, made now or kept from an earlier run."""
        ini, new, nbest, log = (
            self.directory / f"iteration{iteration}.{ending}" for ending in ("ini", "nbest.new", "nbest", "log")
        )
        text = weights.moses()
        if not (nbest.exists() and ini.exists() and read_text(ini) == text):
            nbest.unlink(missing_ok=True)
            write_bytes(ini, text.encode())
            decoder.run(ini, new, log)
            check(read_nbest(new))
            new.replace(nbest)
        decoded = read_nbest(nbest)
        check(decoded)
        return decoded
