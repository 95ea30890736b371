"""Runs with a cache of parses that is broken in many ways: `python bench/broken_caches.py --flips 200 --seed 1`.

The cache is read-only, garbage, cut off, has flipped bits or rows that no parser wrote (with valid checksums); it is on
a full disk, or files may not grow; another process holds its lock; four runs use it at once. Every run must give the
parses that a run without a cache gives, and print nothing, or one line that names the file. The next run must too.

Runs are copies of this process, so that the parser is loaded once. Needs a system that can fork.
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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ranker.extractors.dependency.cache import origin_of, parse
from ranker.learning.parser import parser as parsing
from ranker.storage import row_cache

SENTENCES = [f"The {number}th cat sat on {number} mats." for number in range(12)]
_NOBODY = 65534


def result(sentences: list[str]) -> str:
    """Return a digest of the parses."""
    parses = parse(sentences)
    columns = (getattr(parses, one.name) for one in dataclasses.fields(parses))
    said = repr([one.tolist() if hasattr(one, "tolist") else one for one in columns])
    return hashlib.sha256(said.encode()).hexdigest()


def start(folder: Path, before: Callable[[], None] = lambda: None) -> int:
    """Start a run with the cache in `folder`, in a copy of this process."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.environ["RANKER_CACHE"] = str(folder / "cache")
        with (folder / f"said-{os.getpid()}").open("w") as said, (folder / f"found-{os.getpid()}").open("w") as found:
            sys.stderr = said
            before()
            found.write(result(SENTENCES))
        code = 0
    finally:
        os._exit(code)


def problem(folder: Path, child: int, expected: str) -> str:
    """Return what is wrong with what a run did, or an empty string."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said, found = (folder / f"said-{child}").read_text(), (folder / f"found-{child}").read_text()
    if code:
        return f"ended with {code}: {said[-200:]}"
    if found != expected:
        return "other parses"
    lines = said.splitlines()
    if len(lines) > 1 or not all(line.startswith(f"ranker: note: {folder}") and line.isprintable() for line in lines):
        return f"said: {said[-300:]}"
    return ""


def empty(folder: Path) -> None:
    """Make a folder that anybody may write to, in place of one that may be there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o777)


def holding(folder: Path, path: Path, content: bytes) -> None:
    """Make a folder with that file of a cache."""
    empty(folder)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def flipped(raw: bytes, choose: random.Random) -> bytes:
    """Return bytes with one bit the other way round."""
    damaged = bytearray(raw)
    damaged[choose.randrange(len(raw))] ^= 1 << choose.randrange(8)
    return bytes(damaged)


def sign_other_rows(choose: random.Random) -> None:
    """Damage a row of the cache and give it a valid checksum."""
    with row_cache.RowCache("parses", parsing.digest(origin_of("shipped"))) as cache:
        name = choose.choice([b"names", *(hashlib.sha256(one.encode()).digest() for one in SENTENCES)])
        row = cache.known([name])[name]
        # in range it would be the parse of something else, which nobody can tell
        wrong = (b"", row[:-1], b"\xff" * 4 + row[4:], row[:4] + b"\xff\xff\xff\x7f" + row[8:], b"\xff" * len(row))
        cache.keep({name: choose.choice(wrong)})


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


def trials(folder: Path, flips: int, cuts: int, choose: random.Random) -> Iterator[tuple[str, str]]:
    """Break the cache in all ways; yield the way, and what was wrong after that."""
    os.environ["RANKER_CACHE"] = str(folder.parent / "none")
    expected = result(SENTENCES)

    def run(before: Callable[[], None] = lambda: None) -> str:
        return problem(folder, start(folder, before), expected)

    def twice(kind: str, before: Callable[[], None] = lambda: None) -> Iterator[tuple[str, str]]:
        yield kind, run(before)
        yield f"after: {kind}", run()

    def unprivileged() -> None:
        if os.geteuid() == 0:
            os.setuid(_NOBODY)

    # what a run still has to import, it must be able to read without privileges
    readable = os.geteuid() != 0 or all(one.stat().st_mode & 0o005 == 0o005 for one in Path(row_cache.__file__).parents)

    empty(folder)
    os.environ["RANKER_CACHE"] = str(folder / "cache")
    result(SENTENCES)
    path = next((folder / "cache").rglob("*.sqlite"))
    whole = path.read_bytes()
    yield from twice("sound")
    for kind in ("read-only, all rows there", "read-only, no rows") if readable else ():
        holding(folder, path, whole)
        if kind.endswith("no rows"):
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("DELETE FROM rows")
        path.chmod(0o444)
        path.parent.chmod(0o555)
        yield from twice(kind, unprivileged)
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
    for _ in range(max(flips // 10, 2)):
        holding(folder, path, whole)
        sign_other_rows(choose)
        yield from twice("rows signed anew")
    holding(folder, path, whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("DELETE FROM rows")
        other.execute("BEGIN IMMEDIATE")
        yield "a lock held by another", run(lambda: setattr(row_cache, "_WAIT_SECONDS", 0.2))
    yield "after: a lock held by another", run()
    empty(folder)
    for child in [start(folder) for _ in range(4)]:
        yield "four runs at once", problem(folder, child, expected)


def main() -> None:
    """Run, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    counts: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        for kind, wrong in trials(Path(place) / "trial", options.flips, options.cuts, random.Random(options.seed)):
            count = counts.setdefault(kind.removeprefix("after: "), [0, 0])
            count[0] += 1
            if wrong:
                count[1] += 1
                print(f"{kind}: {wrong}", file=sys.stderr, flush=True)
    print("| cache | runs | findings |\n|---|---|---|")
    for kind, (runs, findings) in counts.items():
        print(f"| {kind} | {runs} | {findings} |")
    raise SystemExit(any(findings for _, findings in counts.values()))


if __name__ == "__main__":
    main()
