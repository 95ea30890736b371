"""Kills runs on shards at random moments, and continues them: ``python bench/killed_runs.py FOLDER --moments 20``.

The command runs in a copy of this process and in a process group of its own, which gets SIGKILL at a random time after
its first shard. Then it is run again to its end. The files must be those of an undisturbed run, and no finished file
may be written twice.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "bleu": ["score", "--metric", "bleu"],
    "score": ["score", "--metric", "bleu,chrf,ter"],
    "rank": ["rank", "--model", "full-any"],
    "dask": ["score", "--metric", "bleu", "--engine", "dask", "--workers", "2"],
}


@dataclass(frozen=True)
class Killed:
    """What became of a run that was killed.

    Parameters
    ----------
    finished : int
        Shards that it had finished.
    problem : str
        What was wrong after the run was continued, empty if nothing was.
    """

    finished: int
    problem: str


def run(words: Sequence[str], out: Path, seconds: float | None = None) -> int:
    """Run a command in a copy of this process, killed after some seconds if given; return its exit code."""
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
    if seconds is not None:
        time.sleep(seconds)
        try:
            os.killpg(child, signal.SIGKILL)
        except ProcessLookupError:
            # it had not begun
            os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _command(words: list[str]) -> int:
    from ranker.cli.main import run as run_command

    try:
        run_command(words)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    return 0


def undisturbed(words: Sequence[str], out: Path) -> tuple[float, float]:
    """Run a command, and return how long its first shard took, and all of it.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    started = time.time()
    if code := run(words, out):
        raise RuntimeError(f"{' '.join(words)}: ended with {code}")
    return min(path.stat().st_mtime for path in out.glob("part-*")) - started, time.time() - started


def kill_and_continue(words: Sequence[str], whole: Path, out: Path, seconds: float) -> Killed:
    """Kill a run after some seconds, continue it, and compare its files with those of an undisturbed run."""
    shutil.rmtree(out, ignore_errors=True)
    run(words, out, seconds)
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    if code := run(words, out):
        return Killed(len(finished), f"the run that continued it ended with {code}")
    again = [name for name, written in finished.items() if (out / name).stat().st_mtime_ns != written]
    if again:
        return Killed(len(finished), f"computed twice: {', '.join(again)}")
    result, expected = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in (out, whole))
    different = sorted(name for name in {*result, *expected} if result.get(name) != expected.get(name))
    return Killed(len(finished), f"not as undisturbed: {', '.join(different)}" if different else "")


def main() -> None:
    """Kill runs of all commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for shards and results")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="commands, separated by commas", default=",".join(COMMANDS))
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    # so that its copies need not
    import numba  # noqa: F401

    from ranker.corpora.shards.making import make_shards

    data = options.folder / "shards"
    if not data.exists():
        make_shards("sample", data, 28)
    choose = random.Random(options.seed)
    wrong = False
    for name in options.only.split(","):
        command = [COMMANDS[name][0], str(data), *COMMANDS[name][1:]]
        whole = options.folder / f"{name}-whole"
        shutil.rmtree(whole, ignore_errors=True)
        times = undisturbed(command, whole)
        moments = [choose.uniform(*times) for _ in range(options.moments)]
        killed = [kill_and_continue(command, whole, options.folder / name, moment) for moment in moments]
        counts = sorted(item.finished for item in killed)
        problems = [item.problem for item in killed if item.problem]
        print(f"{name}: killed {len(killed)} times after {counts} of 30 shards: {len(problems)} problems", flush=True)
        print(*problems, sep="\n", end="\n" if problems else "")
        wrong = wrong or bool(problems)
    raise SystemExit(int(wrong))


if __name__ == "__main__":
    main()
