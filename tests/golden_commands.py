"""Commands and what they print, as text files: ``$ ranker ...``, and below it the output up to the next command.

``...`` stands for any text. ``RANKER_UPDATE_GOLDEN=1`` writes what commands print now into these files.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "golden" / "cli"


class Example(NamedTuple):
    """A command of a file, and what it prints."""

    path: Path
    line: str
    printed: str

    def __str__(self) -> str:
        return self.line

    def check(self, actual: str) -> None:
        """Compare with what was printed now, or write that into the file if it differs."""
        actual = "\n".join(line.rstrip() for line in actual.strip("\n").split("\n"))
        if self.printed and _fits(actual, self.printed):
            return
        if os.environ.get("RANKER_UPDATE_GOLDEN"):
            text = self.path.read_text(encoding="utf-8")
            before, after = (
                "\n".join(filter(None, (f"$ ranker {self.line}", shown))) for shown in (self.printed, actual)
            )
            self.path.write_text(text.replace(f"{before}\n", f"{after}\n"), encoding="utf-8")
        else:
            assert actual == self.printed


def examples(folder: str, name: str = "*") -> list[Example]:
    """Return the commands of the files of a folder."""
    return [
        Example(path, *(*block.removeprefix("$ ranker ").split("\n", 1), "")[:2])
        for path in sorted((FOLDER / folder).glob(f"{name}.txt"))
        for block in re.split(r"\n\n(?=\$ ranker )", path.read_text(encoding="utf-8").strip("\n"))
    ]


def _fits(text: str, pattern: str) -> bool:
    """Return whether a text has the parts of a pattern in their order."""
    start, *parts = pattern.split("...")
    at = len(start) if text.startswith(start) else -1
    for number, part in enumerate(parts, 1):
        found = text.rfind(part) if number == len(parts) else text.find(part, max(at, 0))
        at = found + len(part) if 0 <= at <= found else -1
    return at == len(text)
