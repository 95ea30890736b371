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
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = "results.json"
"""What every run writes at its end."""
COMMANDS = {
    "bleu": ["score", "--metric", "bleu"],
    "score": ["score", "--metric", "bleu,chrf,ter"],
    "rank": ["rank", "--model", "full-any"],
    "dask": ["score", "--metric", "bleu", "--workers", "2"],
}


@dataclass(frozen=True)
class Moment:
    """When a run is killed.

    Parameters
    ----------
    files : int
        Finished files that are waited for.
    seconds : float
        How much longer it runs.
    """

    files: int
    seconds: float


@dataclass(frozen=True)
class Killed:
    """What became of a run that was killed.

    Parameters
    ----------
    finished : int
        Files that it had finished.
    problem : str
        What was wrong after the run was continued, empty if nothing was.
    """

    finished: int
    problem: str


def run(words: Sequence[str], out: Path, moment: Moment | None = None) -> int:
    """Run a command in a copy of this process, killed at a moment if given; return its exit code."""
    child = os.fork()
    if not child:
        code = 70
        try:
            os.setsid()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            code = _command([*words, "--out", str(out)])
        finally:
            os._exit(code)
    if moment is not None:
        while len(finished_files(out)) < moment.files:
            if os.waitpid(child, os.WNOHANG)[0]:
                raise RuntimeError(f"{' '.join(words)}: ended before it had finished {moment.files} files")
            time.sleep(0.002)
        time.sleep(moment.seconds)
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _command(words: list[str]) -> int:
    from ranker.cli.main import run as run_command

    try:
        run_command(words)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    return 0


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
    """Run a command, and return the seconds before each file that it finished, and after the last.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    started = time.time_ns()
    if code := run(words, out):
        raise RuntimeError(f"{' '.join(words)}: ended with {code}")
    # when they got their names: files that belong together are written before, and moved to their places together
    times = [started, *sorted(facts.st_ctime_ns for facts in finished_files(out).values()), time.time_ns()]
    return [(after - before) / 1e9 for before, after in pairwise(times)]


def kill_and_continue(words: Sequence[str], whole: Path, out: Path, moment: Moment) -> Killed:
    """Kill a run at a moment, continue it, and compare its files with those of an undisturbed run."""
    shutil.rmtree(out, ignore_errors=True)
    run(words, out, moment)
    finished = finished_files(out)
    if code := run(words, out):
        return Killed(len(finished), f"the run that continued it ended with {code}")
    after = finished_files(out)
    again = [
        name
        for name, facts in finished.items()
        if name != MANIFEST and (name not in after or after[name].st_mtime_ns != facts.st_mtime_ns)
    ]
    if again:
        return Killed(len(finished), f"computed twice: {', '.join(again)}")
    expected = finished_files(whole)
    different = sorted(
        name
        for name in {*after, *expected}
        if name not in after or name not in expected or (out / name).read_bytes() != (whole / name).read_bytes()
    )
    return Killed(len(finished), f"not as undisturbed: {', '.join(different)}" if different else "")


def main() -> None:
    """Kill runs of all commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for shards and results")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--rows", type=int, default=28, help="candidates in a shard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="commands, separated by commas", default=",".join(COMMANDS))
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    # so that its copies need not
    import numba  # noqa: F401

    from ranker.corpora.shards.making import make_shards

    data = options.folder / "shards"
    if not data.exists():
        make_shards("sample", data, options.rows)
    choose = random.Random(options.seed)
    wrong = False
    for name in options.only.split(","):
        command = [COMMANDS[name][0], str(data), *COMMANDS[name][1:]]
        whole = options.folder / f"{name}-whole"
        shutil.rmtree(whole, ignore_errors=True)
        gaps = gaps_of(command, whole)
        moments = [
            Moment(files, choose.uniform(0, gaps[files]))
            for files in choose.choices(range(1, len(gaps)), k=options.moments)
        ]
        killed = [kill_and_continue(command, whole, options.folder / name, moment) for moment in moments]
        counts = sorted(item.finished for item in killed)
        problems = [item.problem for item in killed if item.problem]
        print(
            f"{name}: killed {len(killed)} times after {counts} of {len(gaps) - 1} files: {len(problems)} problems",
            flush=True,
        )
        print(*problems, sep="\n", end="\n" if problems else "")
        wrong = wrong or bool(problems)
    raise SystemExit(int(wrong))


if __name__ == "__main__":
    main()
