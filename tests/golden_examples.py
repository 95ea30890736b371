"""Examples in text files: a command, or the content of a file, and below it what is printed.

A command is a line ``$ ranker ...``; a file is its name, and its lines indented. ``...`` stands for any text in what is
printed. ``RANKER_UPDATE_GOLDEN=1`` writes what is printed now into these files.
"""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

GOLDEN = Path(__file__).parent / "golden"
FOLDER = GOLDEN / "cli"


class Example(NamedTuple):
    """A command or a file, and what is printed."""

    path: Path
    head: str
    printed: str

    def __str__(self) -> str:
        return self.line

    @property
    def line(self) -> str:
        """The words of the command, or the name of the file."""
        return self.head.partition("\n")[0].removeprefix("$ ranker ")

    @property
    def content(self) -> str:
        """What is in the file."""
        return textwrap.dedent(self.head.partition("\n")[2])

    def check(self, actual: str) -> None:
        """Compare with what was printed now, or write that into the file if it differs."""
        actual = "\n".join(line.rstrip() for line in actual.strip("\n").split("\n"))
        if self.printed and _fits(actual, self.printed):
            return
        if os.environ.get("RANKER_UPDATE_GOLDEN"):
            text = self.path.read_text(encoding="utf-8").strip("\n")
            before, after = ("\n".join(filter(None, (self.head, shown))) for shown in (self.printed, actual))
            text = f"\n\n{text}\n\n".replace(f"\n\n{before}\n\n", f"\n\n{after}\n\n").strip("\n")
            self.path.write_text(f"{text}\n", encoding="utf-8")
        else:
            assert actual == self.printed, f"printed:\n{actual}\n\nexpected:\n{self.printed}"


def examples(name: str) -> list[Example]:
    """Return the commands of files whose name may have wild cards."""
    return [
        Example(path, *(*block.split("\n", 1), "")[:2])
        for path in sorted(FOLDER.glob(f"{name}.txt"))
        for block in re.split(r"\n\n(?=\$ ranker )", path.read_text(encoding="utf-8").strip("\n"))
    ]


def file_examples(name: str) -> list[Example]:
    """Return the contents of files, and the messages about them, of a file in ``tests/golden``."""
    path, found = GOLDEN / f"{name}.txt", []
    for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        *head, last = block.split("\n")
        printed = not last.startswith("    ")
        found.append(Example(path, "\n".join([*head, *([] if printed else [last])]), last if printed else ""))
    return found


def _fits(text: str, pattern: str) -> bool:
    """Return whether a text has the parts of a pattern in their order."""
    start, *parts = pattern.split("...")
    at = len(start) if text.startswith(start) else -1
    for number, part in enumerate(parts, 1):
        found = text.rfind(part) if number == len(parts) else text.find(part, max(at, 0))
        at = found + len(part) if 0 <= at <= found else -1
    return at == len(text)
