"""The program as a process: its exit codes, pipes, interrupts, and what it leaves behind."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import everything
from tests.command_line import Command
from tests.effort import further, thorough

COMMAND = [sys.executable, "-m", "ranker.cli.main"]


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False, **options)


@thorough
def test_a_refusal_in_a_process_of_its_own(folder: Path) -> None:
    done = process("train", "--data", "cut.json", "-o", "x.model")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"ranker: error: [^\n]+\n", done.stderr)
    assert not list(folder.glob("*.model"))


@pytest.fixture
def long_output(folder: Path) -> str:
    records = [{"source": f"句 {n}", "references": ["a b"], "candidates": {"A": "a é", "B": "b"}} for n in range(1000)]
    (folder / "long.json").write_text(json.dumps(records))
    return "long.json"


@pytest.mark.parametrize("output", ["table", further("jsonl")])
@thorough
def test_a_reader_that_has_enough(output: str, long_output: str) -> None:
    command = f"set -o pipefail; {' '.join(COMMAND)} rank {long_output} -q -m bleu -f {output} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert len(done.stdout.splitlines()) == 1
    # 0 if everything had been written before the reader closed the pipe
    assert done.stderr == ""
    assert done.returncode in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@thorough
def test_output_that_cannot_be_written(long_output: str) -> None:
    with Path("/dev/full").open("w") as full:
        words = ["rank", long_output, "-q", "-m", "bleu"]
        done = subprocess.run([*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"ranker: error: [^\n]+\n", done.stderr)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no limits on files")
def test_output_of_which_a_part_is_written(tmp_path: Path) -> None:
    """Under PYTHONUNBUFFERED=1, which images set, Python hears of a part that was written and ignores it."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    with (tmp_path / "features.json").open("wb") as output:
        done = subprocess.run(
            [sys.executable, "-m", "ranker", "features", "--json"],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=limit,
        )
    assert done.returncode == 2
    assert done.stderr == f"ranker: error: cannot write the output: {os.strerror(errno.EFBIG)}\n"


def open_when_read(pipe: str, reader: subprocess.Popen[str]) -> int:
    """Open a named pipe for writing as soon as `reader` has it open."""
    until = time.monotonic() + 60
    while reader.poll() is None and time.monotonic() < until:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.02)
    reader.kill()
    raise AssertionError(f"{pipe} was never read: {reader.communicate()}")


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Ctrl-C until `process` ends, and return what it printed.

    One signal may not do: if it comes just before a read begins, Python sees it only once the read has returned.
    """
    try:
        for _ in range(5):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            try:
                return process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                continue
        raise AssertionError("still running after 5 interrupts")
    finally:
        process.kill()


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--data", "pipe.jsonl", "-o", "x.model"],
        further(["data", "convert", "pipe.jsonl", "out.csv"]),
        further(["rank", "pipe.jsonl", "--metric", "bleu"]),
        further(["lm", "train", "--text", "pipe.jsonl", "--output", "x.arpa"]),
    ],
    ids=lambda words: words[0],
)
def test_an_interrupt_says_so_in_one_line_and_leaves_nothing(arguments: list[str], folder: Path) -> None:
    os.mkfifo(folder / "pipe.jsonl")
    # a runner in the background may have had interrupts switched off
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from ranker.cli.main import run; run(sys.argv[1:])"
    before = sorted(folder.iterdir())
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        writing = open_when_read("pipe.jsonl", started)
        # it has read nothing yet, and waits
        try:
            out, err = interrupt(started)
        finally:
            os.close(writing)
    assert (started.returncode, out) == (130, "")
    assert err == "ranker: interrupted\n"
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("number", "says"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated by SIGTERM")]
)
def test_a_signal_while_the_program_is_being_imported(number: int, says: str) -> None:
    # as if it came in the middle of the first import that takes long
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "class Signal:\n def find_spec(self, name, *_):\n"
    code += f"  if name == 'typer': signal.raise_signal({int(number)})\n"
    code += "sys.meta_path.insert(0, Signal())\nfrom ranker.__main__ import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", f"ranker: {says}\n")


@pytest.mark.parametrize(
    ("number", "says"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated by SIGTERM")]
)
def test_a_signal_while_the_program_ends(number: int, says: str) -> None:
    # libraries wait there for processes that they started
    code = "import atexit, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += f"atexit.register(signal.raise_signal, {int(number)})\n"
    code += "sys.argv = ['ranker', '--version']\nfrom ranker.__main__ import run\nrun()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (128 + number, f"ranker: {says}\n")
    assert result.stdout.startswith("ranker 0")


@thorough
def test_a_closed_standard_error_gets_nothing_and_nothing_goes_elsewhere(folder: Path) -> None:
    command = f"exec {sys.executable} -m ranker {{}} 2>&-"
    done = subprocess.run(
        ["sh", "-c", command.format("rank nowhere.json -m bleu")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    shell = ["sh", "-c", command.format("data convert good.json out.csv")]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "written: out.csv\n")


def test_an_interrupt_while_a_model_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    before = everything(folder)
    assert command("train", "--data", "good.json", "-o", "x.model", code=130) == ("", "ranker: interrupted\n")
    assert everything(folder) == before


@pytest.mark.parametrize(
    ("cause", "code", "says"), [(KeyboardInterrupt(), 130, "ranker: interrupted\n"), (SystemExit(143), 143, "")]
)
def test_a_signal_inside_a_compiled_kernel(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: Command, cause: BaseException, code: int, says: str
) -> None:
    # as Python does where C code, such as numba's, returns with the handler's exception set
    def hide(*_: object) -> None:
        inner = SystemError("_numba_unpickle returned a result with an exception set")
        inner.__cause__ = cause
        raise SystemError("Kernel returned a result with an exception set") from inner

    monkeypatch.setattr("os.fsync", hide)
    before = everything(folder)
    assert command("train", "--data", "good.json", "-o", "x.model", code=code) == ("", says)
    assert everything(folder) == before
