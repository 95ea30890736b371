"""Kills every command that writes, at every step and at random moments: `python bench/kills.py --random 200 --seed 1`.

Every command is run where files of an earlier run are. It is killed (SIGKILL) at each call that changes a folder, or
after a random time. Then every file must be that of the earlier run or that of this one; a rerun must give what an
undisturbed run gives; and nothing that a killed run left may remain after it.

Commands run in copies of this process, so that nothing is imported again. Needs a system that can fork.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import importlib
import io
import os
import pkgutil
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.common import row, say, table
from bench.kill_inputs import CORPUS, prepare, serving, use_served
from bench.processes import command, fork, wait
from ranker.threads import set_jobs

STEPS = ("mkdir", "rename", "replace", "rmdir", "unlink", "fsync")
"""Functions of `os` that change what is in a folder, or wait for the disk."""


@dataclass(frozen=True)
class Case:
    """A command, the pattern of the files that are its result, and whether there is no earlier run."""

    words: list[str]
    compared: str = "*"
    fresh: bool = False


_EXPERIMENT = ["experiment", "isozaki10", "--data", "d.jsonl", "--kind", "fluency"]
_COMPARE = ["evaluate", "--data", "d.jsonl", "-m", "bleu", "-m", "chrf", "--level", "segment", "--resamples", "5"]
_SMALL = ["--metric", "bleu", "--parser", "none", "--resamples", "5"]
_TUNE = ["tune", "--nbest", "dev.nbest", "-r", "dev.ref0", "-m", "bleu", "--restarts", "1"]
_DECODE = ["tune", "--decoder", "sh decode.sh", "--start", "start.json", "--iterations", "2"]
CASES = {
    "train": Case(["train", "--data", "d.jsonl", "--features", "bleu", "-o", "out/x.model"]),
    "score mtme": Case(["score", "d.jsonl", "-m", "bleu,chrf", "-f", "mtme", "-o", "out"], "*/*"),
    "convert": Case(["data", "convert", "pairs.jsonl", "out/x.jsonl"]),
    "nbest": Case(["nbest", "from-dataset", "out/x.nbest", "--data", "d.jsonl", "--features", "words,chrf"]),
    "tune": Case([*_TUNE, "--weights", "out/tuned"]),
    "tune decoder": Case(
        [*_DECODE, "-r", "dev.ref0", "-m", "bleu", "--restarts", "1", "--weights", "out/tuned"],
        "tuned.[ij]*",
        fresh=True,
    ),
    "report": Case(["report", "--comparison", "c.json", "--html", "out/r.html", "--plots", "out/plots"]),
    "systems": Case(["systems", "d.jsonl", "-m", "bleu", "-m", "chrf", "--resamples", "5", "--html", "out/s.html"]),
    "compare": Case([*_COMPARE, "--test", "perm-both", "-f", "json", "-o", "out/c.json"]),
    "contrast": Case(["contrast", "d.jsonl", "sys1", "sys2", *_SMALL, "--html", "out/c.html", "-o", "out/c.json"]),
    "lm": Case(["lm", "train", "--text", "text", "--order", "2", "-o", "out/x.arpa"]),
    "align train": Case(["align", "train", "-s", "s", "-t", "t", "-o", "out/x.align"]),
    "experiment": Case([*_EXPERIMENT, "-o", "out/x.json"]),
    "campaign": Case(
        ["collect", "new", "out/x.campaign", "--data", "d.jsonl", "--kind", "fluency"], compared="", fresh=True
    ),
    "export": Case(["collect", "export", "judged.campaign", "-o", "out/x.jsonl"]),
    "get": Case(["data", "get", CORPUS, "--again"], f"{CORPUS}/*"),
}


def _import_all() -> None:
    """Import what any command does, so that its copies need not."""
    import spacy  # noqa: F401

    import ranker

    for module in pkgutil.walk_packages(ranker.__path__, "ranker."):
        if module.name != "ranker.__main__":
            importlib.import_module(module.name)


def _run(words: list[str], folder: Path, printed: str = os.devnull) -> int:
    """Run a command in a copy of this process; return its exit code, or minus the signal that ended it."""
    return wait(_start(words, folder, printed=printed))


def _start(words: list[str], folder: Path, step: int = 0, counted: int | None = None, printed: str = os.devnull) -> int:
    """Start a command in a copy of this process; it kills itself at a `step`, or writes their number to `counted`."""

    def go() -> int:
        os.chdir(folder)
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
        sys.stdout = Path(printed).open("w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = (folder.parent / "messages").open("w", encoding="utf-8")
        taken = _count(step, folder)
        code = _in_this_process(words)
        if counted is not None:
            os.write(counted, str(taken[0]).encode())
        return code

    return fork(go)


def _in_this_process(words: list[str]) -> int:
    if CORPUS in words:
        use_served()
    return command(words)


def _count(step: int, folder: Path) -> list[int]:
    """Let this process kill itself before call number `step` of `STEPS`; return the number of calls so far."""
    taken = [0]

    def counted(change: Callable) -> Callable:
        def call(*arguments: object, **named: object) -> object:
            taken[0] += 1
            if taken[0] == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*arguments, **named)

        return call

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    return taken


def files(folder: Path) -> dict[str, str]:
    """Return digests of the files that readers find below `folder`."""
    names = {path: str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()}
    # of a folder that was about to be replaced
    shown = {path: name.removeprefix(".ranker-former-") for path, name in names.items()}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path, name in shown.items()
        if not any(part.startswith(".ranker-") for part in Path(name).parts)
    }


def litter(folder: Path) -> list[str]:
    """Return what killed runs left below `folder`."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".*") if path.name.startswith(".ranker-")]


class Trial:
    """A command with its input, the files of an earlier run, and those of an undisturbed one."""

    def __init__(self, case: Case, inputs: Path, work: Path) -> None:
        self.case, self.inputs, self.place = case, inputs, work / "place"
        (work / "earlier").mkdir(parents=True)
        self.earlier = work / "earlier" / "out"
        self.earlier.mkdir()
        if not case.fresh:
            self._fill(inputs / "old", None)
            self._end(_run(case.words, self.place))
            shutil.rmtree(self.earlier)
            shutil.copytree(self.place / "out", self.earlier)
        self.old = files(self.earlier)
        self._fill(inputs, self.earlier)
        reading, writing = os.pipe()
        started = time.monotonic()
        self._end(wait(_start(case.words, self.place, counted=writing)))
        self.seconds = time.monotonic() - started
        self.steps = int(os.read(reading, 20))
        os.close(reading)
        os.close(writing)
        self.new = files(self.place / "out")

    def at_step(self, step: int) -> str:
        """Kill the command at a step; return what is wrong after that, or an empty string."""
        self._fill(self.inputs, self.earlier)
        wait(_start(self.case.words, self.place, step))
        return self._problem()

    def after(self, seconds: float) -> str:
        """Kill the command after a time; return what is wrong after that, or an empty string."""
        self._fill(self.inputs, self.earlier)
        child = _start(self.case.words, self.place)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        wait(child)
        return self._problem()

    def _problem(self) -> str:
        outputs = files(self.place / "out")
        if self.case.compared:
            lost = [name for name in self.old if name not in outputs]
            half = [
                name
                for name, digest in outputs.items()
                if Path(name).match(self.case.compared) and digest not in (self.old.get(name), self.new.get(name))
            ]
            if lost or half:
                return f"lost: {lost}, half-written: {half}"
        if not self.case.compared and outputs:
            # a complete file is not replaced by a rerun
            shutil.rmtree(self.place / "out")
            (self.place / "out").mkdir()
        code = _run(self.case.words, self.place)
        if code:
            return f"the rerun ends with {code}: {(self.place.parent / 'messages').read_text()[-200:]}"
        again = files(self.place / "out")
        if self.case.compared:
            differs = [n for n in self.new if Path(n).match(self.case.compared) and again.get(n) != self.new[n]]
            if differs:
                return f"the rerun gives other files: {differs}"
        left = litter(self.place)
        return f"left: {left}" if left else ""

    def _fill(self, inputs: Path, earlier: Path | None) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(inputs, self.place, ignore=shutil.ignore_patterns("old"))
        if earlier:
            shutil.copytree(earlier, self.place / "out")
        else:
            (self.place / "out").mkdir()

    def _end(self, code: int) -> None:
        if code:
            message = (self.place.parent / "messages").read_text()
            raise RuntimeError(f"{self.case.words}: ended with {code}: {message[-500:]}")


def _try(name: str, kills: int, choose: random.Random, inputs: Path, work: Path) -> int:
    """Kill a command at every step, and so often at random moments; print what was found, and return an exit code."""
    case = CASES[name]
    _warm(case, inputs, work / "warm")
    trial = Trial(case, inputs, work / "trial")
    moments = [choose.uniform(0, trial.seconds) for _ in range(kills)]
    results = [trial.at_step(step) for step in range(1, trial.steps + 1)]
    results += [trial.after(moment) for moment in moments]
    problems = [entry for entry in results if entry]
    print(row(name, trial.steps, len(moments), len(problems)), flush=True)
    for item in dict.fromkeys(problems):
        say(f"  {item}")
    return int(bool(problems))


def _warm(case: Case, inputs: Path, place: Path) -> None:
    """Run a command in this process, so that copies of it have what is imported, loaded and compiled."""
    shutil.copytree(inputs, place, ignore=shutil.ignore_patterns("old"))
    (place / "out").mkdir()
    os.chdir(place)
    sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _in_this_process(case.words)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--random", type=int, default=200, help="kills at random moments, over all commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="commands, separated by commas")
    options = parser.parse_args(arguments)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    set_jobs(1)
    names = options.only.split(",") if options.only else list(CASES)
    wrong = False
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RANKER_CACHE"] = f"{folder}/cache"
        _import_all()
        inputs = Path(folder) / "inputs"
        prepare(inputs)
        for place in (inputs, inputs / "old"):
            _run([*_COMPARE, "-f", "json"], place, "c.json")
        print("\n".join(table(["command", "steps", "random kills", "findings"])), flush=True)
        with serving(inputs):
            for name in names:
                choose, kills = random.Random(f"{options.seed} {name}"), -(-options.random // len(names))
                work = Path(folder) / name.replace(" ", "-")
                wrong |= wait(fork(functools.partial(_try, name, kills, choose, inputs, work))) != 0
    raise SystemExit(wrong)


if __name__ == "__main__":
    main()
