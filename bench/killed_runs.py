"""Kills runs on shards at random moments, and continues them: ``python bench/killed_runs.py FOLDER --moments 20``.

The command runs in a copy of this process and in a process group of its own, which gets SIGKILL at a random time
between two files that it finishes. Then it is run again to its end. The files must be those of an undisturbed run, and
no finished file may be written twice.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.processes import command, fork, wait

MANIFEST = "results.json"
"""What every run writes at its end."""
COMMANDS = {
    "bleu": ["score", "--metric", "bleu"],
    "score": ["score", "--metric", "bleu,chrf,ter"],
    "rank": ["rank", "--model", "full-any"],
    "dask": ["score", "--metric", "bleu", "--workers", "2"],
}


def run(words: Sequence[str], out: Path, files: int = 0, seconds: float = 0.0) -> int:
    """Run a command in a copy of this process, killed so long after so many files; return its exit code."""

    def silently() -> int:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        return command([*words, "--out", str(out)])

    child = fork(silently)
    if files:
        while len(finished_files(out)) < files:
            if os.waitpid(child, os.WNOHANG)[0]:
                raise RuntimeError(f"{' '.join(words)}: ended before it had finished {files} files")
            time.sleep(0.002)
        time.sleep(seconds)
        os.killpg(child, signal.SIGKILL)
    return wait(child)


def finished_files(out: Path) -> dict[str, os.stat_result]:
    """Return the finished files below a folder."""
    finished = {}
    for folder, folders, names in os.walk(out):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            # a temporary file may be gone by now
            with contextlib.suppress(FileNotFoundError):
                if not name.startswith("."):
                    path = Path(folder) / name
                    finished[str(path.relative_to(out))] = path.stat()
    return finished


def gaps_of(words: Sequence[str], out: Path) -> list[float]:
    """Run a command, and return the seconds before each file that it finished, and after the last."""
    started = time.time_ns()
    if code := run(words, out):
        raise RuntimeError(f"{' '.join(words)}: ended with {code}")
    # when they got their names: files that belong together are written before, and moved to their places together
    times = [started, *sorted(facts.st_ctime_ns for facts in finished_files(out).values()), time.time_ns()]
    return [(after - before) / 1e9 for before, after in pairwise(times)]


def kill_and_continue(words: Sequence[str], whole: Path, out: Path, files: int, seconds: float) -> tuple[int, str]:
    """Kill a run at a moment and continue it; return how many files it had finished, and what was wrong at the end."""
    shutil.rmtree(out, ignore_errors=True)
    run(words, out, files, seconds)
    finished = finished_files(out)
    if code := run(words, out):
        return len(finished), f"the run that continued it ended with {code}"
    after, expected = finished_files(out), finished_files(whole)
    again = [
        name
        for name, facts in finished.items()
        if name != MANIFEST and (name not in after or after[name].st_mtime_ns != facts.st_mtime_ns)
    ]
    different = [
        name
        for name in sorted({*after, *expected})
        if name not in after or name not in expected or (out / name).read_bytes() != (whole / name).read_bytes()
    ]
    problem = f"computed twice: {', '.join(again)}" if again else ""
    return len(finished), problem or (f"not as undisturbed: {', '.join(different)}" if different else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for shards and results")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--rows", type=int, default=28, help="candidates in a shard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="commands, separated by commas", default=",".join(COMMANDS))
    options = parser.parse_args()
    # so that its copies need not
    import numba  # noqa: F401

    from ranker.corpora.shards.making import make_shards

    data = options.folder / "shards"
    if not data.exists():
        make_shards("sample", data, options.rows)
    choose = random.Random(options.seed)
    wrong = False
    for name in options.only.split(","):
        words = [COMMANDS[name][0], str(data), *COMMANDS[name][1:]]
        whole = options.folder / f"{name}-whole"
        shutil.rmtree(whole, ignore_errors=True)
        gaps = gaps_of(words, whole)
        killed = [
            kill_and_continue(words, whole, options.folder / name, files, choose.uniform(0, gaps[files]))
            for files in choose.choices(range(1, len(gaps)), k=options.moments)
        ]
        counts = sorted(finished for finished, _ in killed)
        problems = [problem for _, problem in killed if problem]
        print(
            f"{name}: killed {len(killed)} times after {counts} of {len(gaps) - 1} files: {len(problems)} problems",
            flush=True,
        )
        print(*problems, sep="\n", end="\n" if problems else "")
        wrong = wrong or bool(problems)
    raise SystemExit(int(wrong))


if __name__ == "__main__":
    main()
