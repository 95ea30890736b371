"""What a new user waits for: `python bench/first_contact.py [--install] [--demo]`, one table in Markdown on stdout.

Processor seconds (user and system, of all processes) and wall time of every command, with an empty folder for compiled
kernels and again with what the first run left there. `--install` also installs the checkout into a new environment, and
`--demo` runs `make demo` in a copy of it; both need a package index.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "--help": ["--help"],
    "score -m bleu,chrf,ter": ["score", "docs/candidates.json", "-m", "bleu,chrf,ter"],
    "rank with full": ["rank", "docs/candidates.json", "--model", "full"],
    "train --data sample": ["train", "--data", "sample", "-o", "{folder}/sample.model"],
}


def measure(command: list[str], environment: dict[str, str], directory: Path = ROOT) -> tuple[float, float]:
    """Run a command and return its processor and wall seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, cwd=directory, env=environment, check=True, capture_output=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def installed(folder: Path) -> tuple[int, int]:
    """Return the megabytes and the number of distributions of an environment."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return round(size / 1e6), sum(1 for _ in folder.rglob("*.dist-info"))


def rows(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, float, float]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RANKER_CACHE": str(folder / "cache")}
    # without bytecode every run would compile every module again
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if arguments.install:
        place = folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile", str(ROOT)]
        yield "install", *measure(pip, dict(os.environ))
        size, number = installed(place)
        print(f"installed: {size} MB, {number} distributions", file=sys.stderr)
    if arguments.demo:
        copy = folder / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__"))
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NUMBA"))}
        yield "make demo", *measure(["make", "demo"], {**plain, "RANKER_CACHE": str(folder / "demo")}, copy)
    for name, words in COMMANDS.items():
        command = [sys.executable, "-m", "ranker", *(word.format(folder=folder) for word in words)]
        environment["NUMBA_CACHE_DIR"] = str(folder / f"kernels {name}")
        yield f"{name}, first run", *measure(command, environment)
        yield f"{name}, second run", *measure(command, environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--install", action="store_true", help="also install into a new environment")
    parser.add_argument("--demo", action="store_true", help="also run make demo in a copy of the checkout")
    arguments = parser.parse_args()
    print("| what | processor s | wall s |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, processor, wall in rows(arguments, Path(folder)):
            print(f"| {name} | {processor:.1f} | {wall:.1f} |", flush=True)


if __name__ == "__main__":
    main()
