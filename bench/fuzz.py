"""Feeds damaged files of every format to the command line: `python bench/fuzz.py --inputs 20000 --seed 1`.

Sound files of every format are made from the bundled sample. Each input damages one of them, by a few random edits of
bytes, lines or values, and commands that read it are run. What every command must do: end with exit code 0, or refuse
with exit code 2 and one printable line that names the file; no traceback, no run of more than ten seconds, no more than
2 GB of memory, no score that is not a number. Whatever else happens is a finding. It is made smaller, and kept with the
command in the folder --out. Each input depends on the seed and its number only, so that --only repeats one.

Inputs are read by a process of their own, which is stopped when it takes too long, and is replaced after that. It has
one thread, since small inputs gain nothing by more.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import gc
import math
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from bench.fuzzing import doors, models
from bench.fuzzing import formats as files
from bench.fuzzing.checking import TRIES, Outcome, check, smaller
from bench.fuzzing.checking import _problem as _problem
from bench.fuzzing.damaging import lengthen
from bench.fuzzing.formats import Format

SECONDS = 10.0
COMPILING = 60.0
"""How much longer the first use of a kernel may take."""
_PATIENCE = 12
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def formats(folder: Path) -> dict[str, Format]:
    """Make sound files of every format, in a folder."""
    made = files.formats(folder) | doors.formats(folder) | models.formats()
    made["campaign"] = replace(made["campaign"], damage=models.half(models.damage_campaign))
    return made | {"campaign in two processes": replace(made["campaign"], around=models.beside_judges)}


def input_of(form: Format, name: str, seed: int, number: int) -> bytes:
    """Return input `number` of a format."""
    return form.damage(form.files[form.target], random.Random(f"{seed} {name} {number}"))


def _work(pipe: Connection, made: dict[str, Format], seed: int) -> None:
    """Answer requests (format, number, whether to make it smaller) until the pipe is closed."""
    from ranker.corpora.catalogue import card_files
    from ranker.threads import set_jobs

    set_jobs(1)
    # the same for all inputs, and read anew by every command
    card_files.cards = functools.cache(card_files.cards)  # type: ignore[misc]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    os.chdir(folder)
    os.environ["RANKER_CACHE"] = str(folder / "cache")
    warned = sys.stderr
    for form in made.values():
        sound = check(form, form.files[form.target], folder)
        if sound.finding or sound.refused:
            print(f"the sound file {form.target}: {sound.finding or 'refused'}\n{sound.detail}", file=warned)
    # a fifth of the time went into looking for garbage among what was imported
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    pipe.send("ready")
    try:
        while True:
            name, number, reduce = pipe.recv()
            raw = input_of(made[name], name, seed, number)
            found = check(made[name], raw, folder)
            if found.finding and reduce and not found.finding.startswith("memory"):
                raw = smaller(made[name], raw, found.finding, folder)
            pipe.send((found, raw if found.finding else b""))
    except EOFError:
        shutil.rmtree(folder, ignore_errors=True)


class Worker:
    """The process that reads inputs; it is replaced when it hangs or dies."""

    def __init__(self, made: dict[str, Format], seed: int) -> None:
        self.made, self.seed = made, seed
        self.start()

    def start(self) -> None:
        """Start a process and wait until it has read all sound files."""
        os.environ.update(_ONE_THREAD)
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other, self.made, self.seed), daemon=True)
        self.process.start()
        other.close()
        assert self.pipe.recv() == "ready"

    def ask(self, name: str, number: int, *, reduce: bool) -> tuple[Outcome, bytes]:
        """Return what became of an input; one that takes too long, or ends the process, is a finding."""
        try:
            for more in (COMPILING, 0.0):
                self.pipe.send((name, number, reduce))
                if self._answers(SECONDS * (TRIES if reduce else 1)):
                    answer: tuple[Outcome, bytes] = self.pipe.recv()
                    return answer
                if not (more and self._answers(more)):
                    break
                # it may have compiled a kernel, which it does once
                self.pipe.recv()
            finding = f"more than {SECONDS:.0f} seconds"
        except (EOFError, OSError):
            finding = "the process died"
        self.process.kill()
        self.process.join()
        self.start()
        return Outcome(finding), input_of(self.made[name], name, self.seed, number)

    def _answers(self, seconds: float) -> bool:
        """Wait for an answer: so long, or on a busy machine longer, until the process has worked so long."""
        before = self._worked()
        for _ in range(_PATIENCE):
            if self.pipe.poll(seconds):
                return True
            if not self._worked() - before < seconds / 2:
                return False
        return False

    def _worked(self) -> float:
        """Return the seconds of processor time of the process; NaN where the system does not say them."""
        try:
            spent = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        except OSError:
            return math.nan
        return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")


def findings(
    made: dict[str, Format], seed: int, numbers: range, out: Path | None
) -> Iterator[tuple[str, int, Outcome]]:
    """Feed inputs to the commands; yield format, number and outcome of each."""
    worker = Worker(made, seed)
    names, seen = sorted(made), set()
    for number in numbers:
        name = names[number % len(names)]
        found, raw = worker.ask(name, number, reduce=False)
        signature = re.sub(r"\d+", "0", f"{name} {found.finding}")
        if found.finding and out is not None and signature not in seen:
            seen.add(signature)
            if not found.finding.startswith(("more than", "the process", "memory")):
                _, raw = worker.ask(name, number, reduce=True)
            out.mkdir(parents=True, exist_ok=True)
            kept = out / f"{seed}-{number}-{made[name].target.replace('/', '_')}"
            kept.write_bytes(raw)
            kept.with_name(kept.name + ".txt").write_text(f"{found.finding}\n{found.words}\n{found.detail}\n")
        yield name, number, found
    worker.pipe.close()
    worker.process.join(10)


def main() -> None:
    """Run, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", help="formats, separated by commas")
    parser.add_argument("--long", action="store_true", help="repeat a few bytes 50,000 times in each input instead")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = formats(Path(folder))
    if options.long:
        made = {name: replace(form, damage=lengthen) for name, form in made.items()}
    if options.only:
        made = {name: made[name] for name in options.only.split(",")}
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    numbers = range(options.first, options.first + options.inputs)
    # what a run that is interrupted found is printed too
    with contextlib.suppress(KeyboardInterrupt):
        for name, number, found in findings(made, options.seed, numbers, options.out):
            counts[name, "refused" if found.refused else "finding" if found.finding else "read"] += 1
            if found.finding:
                print(f"{name} {number}: {found.finding}", flush=True)
    print("\n| format | inputs | read | refused | findings |\n|---|---|---|---|---|")
    for name in sorted(made):
        read, refused, bad = (counts[name, what] for what in ("read", "refused", "finding"))
        print(f"| {name} | {read + refused + bad:,} | {read:,} | {refused:,} | {bad:,} |")
    raise SystemExit(any(what == "finding" for _, what in counts))


if __name__ == "__main__":
    main()
