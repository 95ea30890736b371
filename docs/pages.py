"""Plays the README and the pages of ``docs/stories``: runs every block as a user would, and fills in what it prints.

A page is played from top to bottom, in one Python session, in a copy of the stories. In a block of ``console``
every line that begins with ``$`` is a command, with pipes and ``>``; in one of ``pycon`` Python runs what follows
``>>>``. Below them is what they print. A line of three dots stands for lines that are left out, three dots in a line
for anything. A block that follows "as `NAME`:" is written to that file first.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ranker.cli.main import run

STORIES = Path(__file__).with_name("stories")
README = Path(__file__).resolve().parents[1] / "README.md"
_BLOCK = re.compile(r"^```(console|pycon)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)
_FILE = re.compile(r"as `([\w.-]+)`:\n\n```\w+\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_DOTS = "..."
_NUMBER = re.compile(r"\d+\.\d{2,}")


def agrees(printed: str, shown: str) -> bool:
    """True if a command printed what a page shows, where three dots stand for any lines, or anything in a line.

    Numbers may differ by one in the last decimal, as the scores of encoders do from processor to processor.
    """
    lines = iter(printed.splitlines())
    skipping = False
    for expected in shown.splitlines():
        if expected == _DOTS:
            skipping = True
            continue
        agreeing = next((line for line in lines if not skipping or _line_agrees(line, expected)), None)
        if agreeing is None or not _line_agrees(agreeing, expected):
            return False
        skipping = False
    return skipping or next(lines, None) is None


def _line_agrees(line: str, expected: str) -> bool:
    numbers = _NUMBER.findall(expected)
    texts = (re.escape(text).replace(re.escape(_DOTS), ".*") for text in _NUMBER.split(expected))
    match = re.fullmatch(r"(\d+\.\d+)".join(texts), line)
    return match is not None and all(map(_numbers_agree, match.groups(), numbers))


def _numbers_agree(printed: str, shown: str) -> bool:
    decimals = len(shown.partition(".")[2])
    return len(printed.partition(".")[2]) == decimals and abs(float(printed) - float(shown)) < 1.5 * 10.0**-decimals


def command(words: list[str], given: str = "") -> str:
    """Run ``ranker`` with `words` and `given` on standard input, and return what it prints on standard output.

    Raises
    ------
    RuntimeError
        If it does not end with 0.
    """
    before, code = sys.stdin, 0
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()) as printed,
            contextlib.redirect_stderr(io.StringIO()) as error_stream,
        ):
            run(words)
    except SystemExit as error:
        code = int(error.code or 0)
    finally:
        sys.stdin = before
    if code:
        raise RuntimeError(f"ranker {shlex.join(words)}: {error_stream.getvalue()}")
    return printed.getvalue()


def line(text: str) -> str:
    """Run a line of the shell, ``ranker`` in this process, and return what it prints on standard output."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    words = list(lexer)
    target = Path(words[words.index(">") + 1]) if ">" in words else None
    words = words[: words.index(">")] if target else words
    printed = ""
    while words:
        end = words.index("|") if "|" in words else len(words)
        part, words = words[:end], words[end + 1 :]
        if part[0] == "ranker":
            printed = command(part[1:], printed)
        elif part[:2] == ["pip", "install"]:
            _install(Path(part[2]))
        else:
            done = subprocess.run(part, input=printed, capture_output=True, text=True, check=True, encoding="utf-8")
            printed = done.stdout
    if target is None:
        return printed
    target.write_text(printed, encoding="utf-8")
    return ""


def _install(folder: Path) -> None:
    """Make a package importable with its entry points, as pip would."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8")
    lines = [
        text
        for group, points in project["entry-points"].items()
        for text in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    sys.path.insert(0, str(folder.resolve()))
    importlib.invalidate_caches()


def _console(block: str) -> str:
    def one(match: re.Match[str]) -> str:
        printed = line(match[1])
        return f"$ {match[1]}\n{match[2] if agrees(printed, match[2]) else printed}"

    return _COMMAND.sub(one, block)


def _python(block: str, names: dict[str, Any]) -> str:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    blocks = []
    for part in doctest.DocTestParser().parse(block):
        if isinstance(part, str):
            blocks.append(part)
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(part.source, "<page>", "single"), names)
        got = re.sub(r" +$", "", printed.getvalue(), flags=re.MULTILINE)
        unchanged = doctest.OutputChecker().check_output(part.want, got, flags) or agrees(got, part.want)
        first, *more = part.source.rstrip("\n").split("\n")
        blocks.append(
            "\n".join([f">>> {first}", *(f"... {text}".rstrip() for text in more), part.want if unchanged else got])
        )
    return "".join(blocks)


@contextlib.contextmanager
def _in_copy(folder: Path) -> Iterator[None]:
    before, path = Path.cwd(), list(sys.path)
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        os.chdir(copy)
        try:
            with pd.option_context("display.width", 120, "display.max_columns", 12, "display.max_colwidth", 40):
                yield
        finally:
            os.chdir(before)
            sys.path[:] = path


def play(page: Path) -> str:
    """Return the page with what its blocks print today; unchanged if that is what it shows.

    Raises
    ------
    Exception
        Whatever a block raises.
    """
    names: dict[str, Any] = {"__name__": "__main__"}

    def filled(match: re.Match[str]) -> str:
        kind, block = match.groups()
        return f"```{kind}\n{_console(block) if kind == 'console' else _python(block, names)}```"

    text = page.read_text(encoding="utf-8")
    with _in_copy(STORIES):
        for name, content in _FILE.findall(text):
            Path(name).write_text(content, encoding="utf-8")
        return _BLOCK.sub(filled, text)


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or [README, *sorted(STORIES.glob("*.md"))]:
        path.write_text(play(path.resolve()), encoding="utf-8")
        print(f"played: {path.name}", file=sys.stderr)
