"""The number of threads or worker processes, one setting for the whole program; and threads that share work."""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress

_jobs: int | None = None


def set_jobs(jobs: int) -> None:
    """Use `jobs` threads or worker processes from now on."""
    global _jobs
    _jobs = jobs


def jobs() -> int:
    """Return the number of threads or worker processes to use.

    The default is the number of cores that this process may use, at most `NUMBA_NUM_THREADS`: with that variable
    joblib limits its worker processes, which share the cores.
    """
    if _jobs is not None:
        return _jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    most = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(cores, int(most)) if most.isdecimal() and int(most) else cores


@contextmanager
def using(jobs: int) -> Iterator[None]:
    """Use `jobs` threads or worker processes within the block."""
    global _jobs
    before, _jobs = _jobs, jobs
    try:
        yield
    finally:
        _jobs = before


@contextmanager
def process_environment() -> Iterator[None]:
    """Keep Python processes started within the block from importing modules of the current directory.

    Without `PYTHONSAFEPATH`, a file there that has the name of a standard module would be run instead of it. The
    process that removes what an interrupted pool of workers leaves does so without a warning.
    """
    kept = {"PYTHONSAFEPATH": "1", "PYTHONWARNINGS": _without_leaks(os.environ.get("PYTHONWARNINGS", ""))}
    before = {name: os.environ.get(name) for name in kept}
    os.environ.update(kept)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _without_leaks(filters: str) -> str:
    tracker = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"
    return f"{filters},{tracker}" if filters else tracker


@contextmanager
def sheltered_from_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C, which terminals send to all processes, from the processes that are started within the block.

    This process, which should end them, receives it at the end of the block, or at once if it has other threads.
    """
    if os.name != "posix":
        yield
        return
    from multiprocessing import resource_tracker

    # its start would let Ctrl-C through to later processes
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Thread(threading.local):
    """Flag of the current thread: `busy` is True while it runs blocks for `for_each_block`."""

    busy = False


_thread = _Thread()


def for_each_block(run: Callable[[int], None], n_blocks: int) -> None:
    """Call `run` with the number of every block, in threads; `run` should mostly work without the interpreter's lock.

    Threads take the next block as they finish one: a division in advance waits for the slowest thread, which on a busy
    machine cost more than the threads saved. A block starts no further threads.
    """
    most = jobs()
    n_threads = 1 if _thread.busy else min(n_blocks, most)
    waiting = deque(range(n_blocks))

    def run_waiting() -> None:
        busy, _thread.busy = _thread.busy, True
        try:
            while True:
                try:
                    block = waiting.popleft()
                except IndexError:
                    return
                run(block)
        finally:
            # after an error or Ctrl-C, the others end with the blocks that they are at
            waiting.clear()
            _thread.busy = busy

    helpers: list[Future[None]] = []
    try:
        # where no more threads can be started, as at the end of the process, those already started do the work
        with suppress(RuntimeError):
            for _ in range(n_threads - 1):
                helpers.append(_helpers(most - 1).submit(run_waiting))
        run_waiting()
    finally:
        waiting.clear()
        # helpers that are still at work for another thread have nothing left to do here
        at_work = [helper for helper in helpers if not helper.cancel()]
        wait(at_work)
    for helper in at_work:
        helper.result()


@functools.cache
def _helpers(n_threads: int) -> ThreadPoolExecutor:
    """Return a pool of threads, kept because starting threads takes as long as running a small kernel."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="ranker")


if hasattr(os, "register_at_fork"):
    # A forked process has the pool but not its threads, and would wait for them for ever.
    os.register_at_fork(after_in_child=_helpers.cache_clear)
