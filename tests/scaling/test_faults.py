"""What goes wrong in a long run: shards, disks, processes; and how the run goes on."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from ranker import files
from ranker.corpora.dataset import Dataset
from ranker.corpora.shards.shards import Shards
from ranker.scaling.engines import Engine
from ranker.scaling.plan import Run
from ranker.scaling.scorers import NamedScorers
from ranker.scaling.scoring import ScoreSegments
from tests.command_line import Command
from tests.effort import thorough

ROOT = Path(__file__).resolve().parents[2]
Copy = Callable[[int], Path]


@pytest.fixture
def copy_of(tmp_path, shards_of) -> Copy:
    def copied(number: int) -> Path:
        return Path(shutil.copytree(shards_of(number), tmp_path / "data"))

    return copied


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("part-*"))}


def test_a_corrupt_shard_is_named_and_the_others_are_scored(command: Command, tmp_path, copy_of):
    data, out = copy_of(7), tmp_path / "out"
    shard = data / "part-00003.parquet"
    intact = shard.read_bytes()
    shard.write_bytes(intact[: len(intact) // 2])
    words = ("score", str(data), "--metric", "bleu", "--out", str(out))
    printed = command(*words, code=2)
    assert "part-00003.parquet: is not the file that shards.json describes" in printed.err
    assert "1 of 7 shards failed" in printed.err
    assert "the results of the others are kept" in printed.err
    assert len(contents(out)) == 6
    shard.write_bytes(intact)
    assert "6 shards finished by an earlier run" in command(*words).err
    assert len(contents(out)) == 7


def test_a_corrupt_shard_of_a_pattern_is_named(command: Command, tmp_path, copy_of):
    data, out = copy_of(2), tmp_path / "out"
    (data / "part-00001.parquet").write_bytes(b"PAR1 damaged")
    printed = command("score", str(data / "*.parquet"), "--metric", "bleu", "--out", str(out), code=2)
    assert "part-00001.parquet: cannot be read as a Parquet file" in printed.err
    assert len(contents(out)) == 1


def test_what_learns_from_all_references_needs_all_shards(command: Command, tmp_path, copy_of):
    data = copy_of(2)
    (data / "part-00001.parquet").unlink()
    printed = command("score", str(data), "--metric", "nist", "--out", str(tmp_path / "out"), code=2)
    assert "part-00001.parquet: no such file" in printed.err
    assert "what is learnt from the references of all shards needs it" in printed.err


def test_finished_shards_are_kept_and_changed_options_make_them_anew(command: Command, tmp_path, shards_of):
    words = ("score", shards_of(2), "--out", str(tmp_path), "--metric")
    command(*words, "bleu")
    before = contents(tmp_path)
    stamps = [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("part-*"))]
    assert "2 shards finished by an earlier run" in command(*words, "bleu").err
    assert stamps == [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("part-*"))]
    printed = command(*words, "bleu[order=2]").err
    assert printed.count("made anew because data, model or options changed") == 2
    assert contents(tmp_path).keys() == before.keys()
    assert contents(tmp_path) != before


def test_a_full_disk_ends_the_run_and_keeps_what_is_finished(command: Command, tmp_path, shards_of, monkeypatch):
    calls = iter([None, None, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))])

    def fsync(descriptor: int) -> None:
        error = next(calls, None)
        if error is not None:
            raise error

    words = ("score", shards_of(7), "--metric", "bleu", "--out", str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", fsync)
        printed = command(*words, code=2)
    assert "part-00002.parquet: cannot be written: No space left on device" in printed.err
    assert len(contents(tmp_path)) == 2
    assert "2 shards finished by an earlier run" in command(*words).err
    assert len(contents(tmp_path)) == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@thorough
def test_a_run_that_is_killed_goes_on(tmp_path):
    words = [str(ROOT / "bench" / "killed_runs.py"), str(tmp_path), "--moments", "2", "--only", "bleu", "--rows", "120"]
    printed = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (printed.returncode, printed.stderr) == (0, "")
    assert re.fullmatch(r"bleu: killed 2 times after \[[0-9, ]+\] of 9 files: 0 problems\n", printed.stdout)


@thorough
def test_a_killed_worker_costs_nothing_but_time(tmp_path, shards_of):
    pytest.importorskip("distributed", reason="Dask is not installed")
    shards = Shards.open([shards_of(7)])
    texts: list[str] = []
    with Engine("dask", 1, say=texts.append) as engine:
        client, _ = engine._connected()
        stage = ScoreSegments(NamedScorers.of(["bleu"], None))
        killing = threading.Thread(target=_kill, args=(client.run(os.getpid), tmp_path / "killed"))
        killing.start()
        finished = Run(shards, tmp_path / "killed", engine, texts.append).map(stage, tmp_path / "killed")
        killing.join()
    assert [item.problem for item in finished] == [None] * 7
    Run(shards, tmp_path / "local", Engine(), texts.append).map(stage, tmp_path / "local")
    assert contents(tmp_path / "killed") == contents(tmp_path / "local")


def _kill(workers: dict[str, int], out: Path) -> None:
    """Kill workers when the first result is there."""
    while not contents(out):
        time.sleep(0.002)
    for process in workers.values():
        os.kill(process, signal.SIGKILL)


class SlowScores(ScoreSegments):
    """A stage that is still at work when something happens."""

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return the scores after a moment."""
        time.sleep(0.02)
        return super().make(dataset, number)


@thorough
def test_a_scheduler_that_comes_back_gets_the_rest(tmp_path, shards_of):
    pytest.importorskip("distributed", reason="Dask is not installed")
    shards, texts = Shards.open([shards_of(28)]), []
    stage = SlowScores(NamedScorers.of(["bleu"], None))
    out = tmp_path / "out"

    def restart() -> None:
        while len(contents(out)) < 3:
            time.sleep(0.002)
        first.kill()
        first.wait()
        cluster.append(opened.enter_context(scheduler_process(address)))
        opened.enter_context(worker_of(address))

    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with ExitStack() as opened:
        cluster = []
        first = opened.enter_context(scheduler_process(address))
        opened.enter_context(worker_of(address))
        restarting = threading.Thread(target=restart)
        restarting.start()
        with Engine(scheduler=address, say=texts.append) as engine:
            finished = Run(shards, out, engine, texts.append).map(stage, out)
        restarting.join()
    assert [item.problem for item in finished] == [None] * 28
    assert len([line for line in texts if "waiting for it to come back" in line]) == 1
    assert len([line for line in texts if line.startswith("Dask dashboard")]) == 2
    Run(shards, tmp_path / "local", Engine(), texts.append).map(stage, tmp_path / "local")
    assert contents(out) == contents(tmp_path / "local")


@contextmanager
def scheduler_process(address: str) -> Iterator[subprocess.Popen]:
    """Run a scheduler as a process of its own."""
    code = "from distributed.cli.dask_scheduler import main; main()"
    words = ["--host", address, "--no-dashboard", "--no-show"]
    with subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def worker_of(address: str) -> Iterator[None]:
    """Run a worker of a scheduler in this process."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    loop = distributed.utils.LoopRunner()
    loop.start()

    async def started() -> object:
        return await distributed.Worker(address, nthreads=1, dashboard_address=None)

    worker = loop.run_sync(started)
    try:
        yield
    finally:
        loop.run_sync(worker.close, timeout=5)
        loop.stop()
