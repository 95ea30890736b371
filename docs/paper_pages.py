"""Make tables of the paper pages again: ``python docs/paper_pages.py ye07 [NUMBER ...]``.

Runs the commands that are headings of docs/papers/ye07.md, or the first, second, ... of them, in a folder with the data
(the current one, and ``$RANKER_DATA``), and replaces what is below each. METEOR of the pages has WordNet 3.0.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

PAPERS = Path(__file__).resolve().parent / "papers"
HEADING = re.compile(r"^## `(ranker experiment .*)`\n", flags=re.MULTILINE)


def main(page: str, numbers: list[int]) -> None:
    """Run commands of a page, and write what they print below them."""
    path = PAPERS / f"{page}.md"
    commands = HEADING.findall(path.read_text(encoding="utf-8"))
    for number in numbers or range(1, len(commands) + 1):
        words = [sys.executable, "-m", *shlex.split(commands[number - 1]), "-f", "markdown"]
        tables = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        # read again, so that several runs can work on one page
        parts = HEADING.split(path.read_text(encoding="utf-8"))
        parts[2 * number] = f"\n{tables}\n\n"
        headed = (f"## `{command}`\n{text}" for command, text in zip(parts[1::2], parts[2::2], strict=True))
        path.write_text("".join([parts[0], *headed]).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], list(map(int, sys.argv[2:])))
