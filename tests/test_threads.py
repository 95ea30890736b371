from __future__ import annotations

import functools
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ranker import threads
from ranker.threads import for_each_block, process_environment, sheltered_from_ctrl_c


@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("n_blocks", [0, 1, 2, 30])
def test_every_block_is_done_once(jobs, n_blocks):
    done = []
    with threads.using(jobs):
        for_each_block(done.append, n_blocks)
    assert sorted(done) == list(range(n_blocks))


def test_threads_work_at_once_and_take_the_next_block_when_they_are_done():
    both = threading.Barrier(2)
    done = {}

    def run(block):
        if block < 2:
            both.wait(60)
        done.setdefault(threading.get_ident(), []).append(block)

    with threads.using(2):
        for_each_block(run, 10)
    assert len(done) == 2
    assert sorted(itertools.chain(*done.values())) == list(range(10))


def test_one_thread_does_all_in_order():
    seen = []

    def run(block):
        seen.append((threading.get_ident(), block))

    with threads.using(1):
        for_each_block(run, 5)
    assert seen == [(threading.get_ident(), block) for block in range(5)]


def test_blocks_inside_blocks_run_in_the_thread_of_the_outer_block():
    seen = []

    def run(outer):
        def run_inner(inner):
            seen.append((outer, inner, threading.get_ident() == thread))

        thread = threading.get_ident()
        for_each_block(run_inner, 4)

    with threads.using(3):
        for_each_block(run, 12)
    assert sorted(seen) == [(outer, inner, True) for outer in range(12) for inner in range(4)]


@pytest.mark.parametrize("wrong", [0, 7])
def test_an_error_is_raised_once_nothing_is_at_work_any_more(wrong):
    at_work, after = set(), []

    def run(block):
        at_work.add(block)
        try:
            if block == wrong:
                raise ValueError(f"block {block}")
            time.sleep(0.002)
        finally:
            at_work.discard(block)

    with threads.using(3), pytest.raises(ValueError, match=f"block {wrong}"):
        for_each_block(run, 1000)
    assert not at_work
    with threads.using(3):
        for_each_block(after.append, 10)
    assert sorted(after) == list(range(10))


@pytest.mark.parametrize("started", [0, 1])
def test_where_no_more_threads_can_be_started_those_there_are_do_it(monkeypatch, started):
    class Full(ThreadPoolExecutor):
        def submit(self, *arguments):
            if self._work_queue.qsize() + len(self._threads) >= started:
                raise RuntimeError("can't start new thread")
            return super().submit(*arguments)

    monkeypatch.setattr(threads, "_helpers", functools.cache(Full))
    done = []
    with threads.using(3):
        for_each_block(done.append, 30)
    assert sorted(done) == list(range(30))


@pytest.mark.parametrize(
    ("variable", "expected"), [("1", 1), ("1000000", None), ("0", None), ("many", None), ("", None)]
)
def test_processes_of_joblib_are_told_that_they_share_the_cores(monkeypatch, variable, expected):
    monkeypatch.setattr(threads, "_jobs", None)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    cores = threads.jobs()
    monkeypatch.setenv("NUMBA_NUM_THREADS", variable)
    assert threads.jobs() == (expected or cores)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    with threads.using(2):
        for_each_block(lambda _: time.sleep(0.001), 4)
        child = os.fork()
        if not child:
            done = []
            for_each_block(done.append, 4)
            os._exit(0 if sorted(done) == [0, 1, 2, 3] else 1)
        deadline = time.monotonic() + 60
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < deadline:
            time.sleep(0.01)
    assert ended[0] == child
    assert os.waitstatus_to_exitcode(ended[1]) == 0


def test_the_setting_holds_inside_the_block_only():
    before = threads.jobs()
    with threads.using(before + 3):
        assert threads.jobs() == before + 3
    assert threads.jobs() == before


@pytest.mark.parametrize("before", ["0", None])
def test_only_processes_that_the_block_starts_see_the_environment(monkeypatch, before):
    for name in ("PYTHONSAFEPATH", "PYTHONWARNINGS"):
        monkeypatch.delenv(name, raising=False)
        if before:
            monkeypatch.setenv(name, before)
    with process_environment():
        assert os.environ["PYTHONSAFEPATH"] == "1"
        assert os.environ["PYTHONWARNINGS"].endswith("resource_tracker")
    assert os.environ.get("PYTHONSAFEPATH") == os.environ.get("PYTHONWARNINGS") == before


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="the system cannot block signals")
def test_processes_started_in_the_block_do_not_see_ctrl_c():
    reached = []
    code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"

    def start() -> None:
        with sheltered_from_ctrl_c():
            started = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            reached.append(started.stdout)

    # where tests run in the background, Ctrl-C is ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        signal.signal(signal.SIGINT, before)
    assert reached == ["True\n"]
