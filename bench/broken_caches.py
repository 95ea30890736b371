"""Runs with a cache that is broken in many ways: `python bench/broken_caches.py --flips 200 --seed 1`.

The cache is that of parses, or with `--cache semantic` that of the pairs of texts that an encoder compared.

The cache is read-only, garbage, cut off, has flipped bits; it is on a full disk, or files may not grow; another process
holds its lock; four runs use it at once. Every run must give what a run without a cache gives, and print nothing, or
one line that names the file. The next run must too.

Runs are copies of this process, so that the parser or the encoder is loaded once. Needs a system that can fork.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from bench.common import table
from bench.processes import fork, wait
from ranker.extractors.dependency.cache import parse
from ranker.extractors.semantic.features import Semantic
from ranker.storage import row_cache

SENTENCES = [f"The {number}th cat sat on {number} mats." for number in range(12)]
_NOBODY = 65534


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _parses() -> str:
    parses = parse(SENTENCES)
    columns = (getattr(parses, field.name) for field in dataclasses.fields(parses))
    return _digest(repr([column.tolist() if hasattr(column, "tolist") else column for column in columns]))


def _compared() -> str:
    pairs = np.array([(row, row + 1) for row in range(len(SENTENCES) - 1)])
    # an encoder that reads fewer texts at once gives other last digits
    return _digest(repr(Semantic().compare(SENTENCES, pairs).round(4).tolist()))


KINDS = {"parses": _parses, "semantic": _compared}


def start(result: Callable[[], str], folder: Path, before: Callable[[], None] = lambda: None) -> int:
    """Start a run with the cache in `folder`, in a copy of this process."""

    def go() -> int:
        os.environ["RANKER_CACHE"] = str(folder / "cache")
        with (
            (folder / f"said-{os.getpid()}").open("w") as messages,
            (folder / f"found-{os.getpid()}").open("w") as output,
        ):
            sys.stderr = messages
            try:
                before()
                output.write(result())
            except BaseException:
                traceback.print_exc(file=messages)
                return 70
        return 0

    return fork(go)


def problem(folder: Path, child: int, expected: str) -> str:
    """Return what is wrong with what a run did, or an empty string."""
    code = wait(child)
    messages, output = (folder / f"said-{child}").read_text(), (folder / f"found-{child}").read_text()
    if code:
        return f"ended with {code}: {messages[-200:]}"
    if output != expected:
        return "another result"
    lines = messages.splitlines()
    if len(lines) > 1 or not all(line.startswith(f"ranker: note: {folder}") and line.isprintable() for line in lines):
        return f"said: {messages[-300:]}"
    return ""


def empty(folder: Path) -> None:
    """Make a folder that anybody may write to, in place of one that may be there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o777)


def holding(folder: Path, path: Path, content: bytes) -> None:
    empty(folder)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def flipped(raw: bytes, choose: random.Random) -> bytes:
    damaged = bytearray(raw)
    damaged[choose.randrange(len(raw))] ^= 1 << choose.randrange(8)
    return bytes(damaged)


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a disk of 40 kB as the folder of the cache, if we may."""
    (folder / "cache").mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(folder / "cache")]
    mounted = (
        shutil.which("mount") is not None and not subprocess.run(command, check=False, capture_output=True).returncode
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder / "cache")], check=True)


def trials(
    result: Callable[[], str], folder: Path, flips: int, cuts: int, choose: random.Random
) -> Iterator[tuple[str, str]]:
    """Break the cache in all ways; yield the way, and what was wrong after that."""
    os.environ["RANKER_CACHE"] = str(folder.parent / "none")
    expected = result()

    def run(before: Callable[[], None] = lambda: None) -> str:
        return problem(folder, start(result, folder, before), expected)

    def twice(way: str, before: Callable[[], None] = lambda: None) -> Iterator[tuple[str, str]]:
        yield way, run(before)
        yield f"after: {way}", run()

    def unprivileged() -> None:
        if os.geteuid() == 0:
            os.setuid(_NOBODY)

    empty(folder)
    os.environ["RANKER_CACHE"] = str(folder / "cache")
    result()
    path = next((folder / "cache").rglob("*.sqlite"))
    whole = path.read_bytes()
    yield from twice("sound")
    empty(folder)
    # what a run still has to import or to load may be for root's eyes only
    readable = not run(unprivileged)
    for way in ("read-only, all rows there", "read-only, no rows") if readable else ():
        holding(folder, path, whole)
        if way.endswith("no rows"):
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("DELETE FROM rows")
        path.chmod(0o444)
        path.parent.chmod(0o555)
        yield from twice(way, unprivileged)
    for limit in (200, 5000, 20_000):
        empty(folder)
        yield from twice("files may not grow", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1)))  # noqa: B023
    empty(folder)
    with small_disk(folder) as mounted:
        if mounted:
            yield from twice("full disk")
    for content in (b"no database " * 100, bytes(9000), b"SQLite format 3\0" + bytes(5000), b""):
        holding(folder, path, content)
        yield from twice("garbage")
    for number in range(1, cuts + 1):
        holding(folder, path, whole[: len(whole) * number // (cuts + 1)])
        yield from twice("cut off")
    for _ in range(flips):
        holding(folder, path, flipped(whole, choose))
        yield from twice("a flipped bit")
    holding(folder, path, whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DELETE FROM rows")
        other.execute("BEGIN IMMEDIATE")
        yield "a lock held by another", run(lambda: setattr(row_cache, "_WAIT_SECONDS", 0.2))
    yield "after: a lock held by another", run()
    empty(folder)
    for child in [start(result, folder) for _ in range(4)]:
        yield "four runs at once", problem(folder, child, expected)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cache", choices=tuple(KINDS), default="parses")
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    counts: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        tried = (KINDS[options.cache], Path(place) / "trial", options.flips, options.cuts)
        for way, wrong in trials(*tried, random.Random(options.seed)):
            count = counts.setdefault(way.removeprefix("after: "), [0, 0])
            count[0] += 1
            if wrong:
                count[1] += 1
                print(f"{way}: {wrong}", file=sys.stderr, flush=True)
    print("\n".join(table(["cache", "runs", "findings"], [[way, *count] for way, count in counts.items()])))
    raise SystemExit(any(findings for _, findings in counts.values()))


if __name__ == "__main__":
    main()
