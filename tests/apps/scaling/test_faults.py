"""What goes wrong in a long run: shards, results, disks, processes; and how the run goes on."""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ranker import files, locks
from ranker.apps.scaling.cluster import dask_client
from ranker.apps.scaling.parts import process
from ranker.apps.scaling.tables import NamedScorers, judged_candidates, judged_scores, segment_scores
from ranker.corpora.formats.shards import Shards
from ranker.errors import DataError
from tests.command_line import Command
from tests.effort import thorough

ROOT = Path(__file__).resolve().parents[3]
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
    assert (
        "1 of 7 shards failed: repair the data and run the command again; the results of the other shards are kept in"
        in printed.err
    )
    assert len(contents(out)) == 6
    assert not (out / "results.json").exists()
    shard.write_bytes(intact)
    assert "6 shards finished by an earlier run" in command(*words).err
    listed = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert (listed["format"], listed["result"]) == ("ranker-results", "segment scores")
    assert [part["file"] for part in listed["parts"]] == [*contents(out)]
    assert len(contents(out)) == 7


def test_finished_shards_are_kept_and_changed_options_make_them_anew(command: Command, tmp_path, shards_of):
    words = ("score", shards_of(2), "--out", str(tmp_path), "--metric")
    command(*words, "bleu")
    before = contents(tmp_path)
    stamps = [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("part-*"))]
    assert "2 shards finished by an earlier run" in command(*words, "bleu").err
    assert stamps == [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("part-*"))]
    assert "finished by an earlier run" not in command(*words, "bleu[order=2]").err
    assert len(contents(tmp_path)) == 2
    assert not contents(tmp_path).keys() & before.keys()


@pytest.mark.parametrize("place", [0.1, 0.5, 0.99])
def test_a_flipped_bit_in_a_finished_part_is_noticed(command: Command, tmp_path, shards_of, place):
    words = ("score", shards_of(2), "--metric", "chrf", "--level", "system", "--json", "--out", str(tmp_path))
    expected = command(*words).out
    before = contents(tmp_path)
    name, raw = next(iter(before.items()))
    at = int(len(raw) * place)
    (tmp_path / name).write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    printed = command(*words)
    assert "1 shard finished by an earlier run" in printed.err
    assert printed.out == expected
    assert contents(tmp_path) == before


def test_a_shard_that_is_replaced_during_a_run_is_noticed(tmp_path, copy_of):
    data = copy_of(2)
    shards, named = Shards.open([str(data / "*.parquet")]), NamedScorers.of(["bleu"], None)
    parts = process(shards, functools.partial(judged_scores, named), named.signature(), tmp_path / "out")
    assert len(judged_candidates(named, shards, parts, 0)[0]) == 196
    shutil.copy(data / "part-00000.parquet", data / "part-00001.parquet")
    with pytest.raises(DataError, match=r"part-00001\.parquet: was changed during the run: run the command again"):
        judged_candidates(named, shards, parts, 0)


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
    assert re.search(r"part-00002-[0-9a-f]{16}\.parquet: cannot be written: No space left on device", printed.err)
    assert len(contents(tmp_path)) == 2
    assert "2 shards finished by an earlier run" in command(*words).err
    assert len(contents(tmp_path)) == 7


@pytest.mark.skipif(not locks.HAS_LOCKS, reason="this system has no locks")
def test_two_runs_never_write_into_one_folder(command: Command, tmp_path, shards_of, corpus):
    score = ("score", shards_of(2), "--metric", "bleu", "--out", str(tmp_path / "out"))
    shard = ("data", "shard", str(corpus), "--out", str(tmp_path / "out"))
    with files.used_alone(tmp_path / "out"):
        for words in (score, (*score, "--level", "system"), shard):
            says = "another process is using it; wait until it finishes, or choose another directory"
            assert f"{tmp_path / 'out'}: {says}" in command(*words, code=2).err
        assert not [*(tmp_path / "out").iterdir()]
    command(*score)
    assert len(contents(tmp_path / "out")) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@thorough
def test_a_run_that_is_killed_goes_on(tmp_path):
    words = [str(ROOT / "bench" / "killed_runs.py"), str(tmp_path), "--moments", "2", "--only", "bleu", "--rows", "120"]
    printed = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (printed.returncode, printed.stderr) == (0, "")
    assert re.fullmatch(r"bleu: killed 2 times after \[[0-9, ]+\] of 9 files: 0 problems\n", printed.stdout)


@thorough
def test_workers_leave_interrupts_to_the_program():
    # a terminal sends them to all; else each worker prints a traceback
    pytest.importorskip("distributed", reason="Dask is not installed")
    with dask_client("1") as client:
        assert [*client.run(signal.getsignal, signal.SIGINT).values()] == [signal.SIG_IGN]
        if hasattr(signal, "pthread_sigmask"):
            # while they start, too
            (blocked,) = client.run(signal.pthread_sigmask, signal.SIG_BLOCK, []).values()
            assert signal.SIGINT in blocked
            assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@thorough
def test_a_killed_worker_costs_nothing_but_time(tmp_path, shards_of):
    pytest.importorskip("distributed", reason="Dask is not installed")
    shards, named = Shards.open([shards_of(7)]), NamedScorers.of(["bleu"], None)
    make = functools.partial(segment_scores, named)
    with dask_client("1") as client:
        killing = threading.Thread(target=_kill, args=(client.run(os.getpid), tmp_path / "killed"))
        killing.start()
        parts = process(shards, make, named.signature(), tmp_path / "killed", client)
        killing.join()
    assert [part.problem for part in parts] == [None] * 7
    process(shards, make, named.signature(), tmp_path / "local")
    assert contents(tmp_path / "killed") == contents(tmp_path / "local")


def _kill(workers: dict[str, int], out: Path) -> None:
    """Kill workers when the first result is there."""
    while not contents(out):
        time.sleep(0.002)
    for process_id in workers.values():
        os.kill(process_id, signal.SIGKILL)


def test_a_lost_scheduler_ends_the_run_in_one_line(command: Command, tmp_path, shards_of, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")

    def lost(*arguments, **options):
        raise distributed.comm.CommClosedError("gone")

    monkeypatch.setattr(distributed, "as_completed", lost)
    with distributed.LocalCluster(1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50) as cluster:
        words = ("score", shards_of(2), "--metric", "bleu", "--out", str(tmp_path))
        printed = command(*words, "--workers", cluster.scheduler_address, code=2)
    assert "lost the connection to the Dask scheduler (CommClosedError): start the scheduler and repeat" in printed.err
