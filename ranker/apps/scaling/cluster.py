"""Dask, an optional dependency: a cluster of processes on this machine, or a running cluster elsewhere."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

from ranker.errors import MissingError, OptionError, ProcessError
from ranker.files import printable
from ranker.threads import process_environment, sheltered_from_ctrl_c

T = TypeVar("T")
_WAIT = 60.0
"""Maximum number of seconds to wait for a scheduler."""


@contextmanager
def dask_client(workers: str | None) -> Iterator[Any]:
    """Open a Dask client: `workers` is a number of new processes or a scheduler's address; None opens no client."""
    if workers is None:
        yield None
        return
    number = int(workers) if workers.isdecimal() and len(workers) < 5 else None
    if number == 0 or (number is None and ":" not in workers):
        expected = "a number of processes from 1, or the address of a Dask scheduler, such as tcp://host:8786"
        raise OptionError(f"--workers {printable(workers)[:60]}: expected {expected}")
    distributed = _distributed()
    with ExitStack() as opened:
        if number is None:
            try:
                client = distributed.Client(workers, timeout=_WAIT, set_as_default=False)
            except (OSError, ValueError) as error:
                reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
                what = f"--workers {workers}: no answer ({reason})"
                raise ProcessError(f"{what}: start a scheduler by `dask scheduler`, workers by `dask worker`") from None
        else:
            opened.enter_context(process_environment())
            with sheltered_from_ctrl_c():
                cluster = distributed.LocalCluster(
                    n_workers=number,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    preload=__name__,
                )
                opened.enter_context(cluster)
            client = distributed.Client(cluster, set_as_default=False)
        yield opened.enter_context(client)


def dask_setup(_worker: Any) -> None:
    """Ignore Ctrl-C in a worker (called by Dask): terminals send it to all processes, and ours ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def on_workers(client: Any, function: Callable[[int], T], numbers: Sequence[int]) -> Iterator[tuple[int, T | None]]:
    """Call the function with each number on Dask; yield number and result when done, None if its workers were lost."""
    distributed = _distributed()
    futures = {
        client.submit(function, number, pure=False, key=f"ranker-{number}-{os.urandom(4).hex()}"): number
        for number in numbers
    }
    lost = (CancelledError, distributed.comm.CommClosedError, TimeoutError)
    try:
        for future in distributed.as_completed(futures, loop=client.loop):
            try:
                yield futures[future], future.result()
            except distributed.KilledWorker:
                yield futures[future], None
            future.release()
    except lost as error:
        what = f"lost the connection to the Dask scheduler ({type(error).__name__})"
        raise ProcessError(f"{what}: start the scheduler and repeat the command; results in --out are kept") from None
    finally:
        with suppress(*lost):
            client.cancel(list(futures), force=True)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingError("Dask is not installed: pip install 'mt-ranker[dask]'") from None
    return distributed
