"""Where tasks run: in this process, one after the other, or on Dask.

Dask is an optional dependency, and the only scheduler. Results are files, so nothing but a few facts about each task
comes back; a worker that is lost costs the shard that it was working on.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Self

from ranker.corpora.shards.making import notes_once
from ranker.errors import MissingError, OptionError, ProcessError
from ranker.scaling.tasks import Finished, Task, run_task
from ranker.threads import jobs, process_environment

EngineName = Literal["local", "dask"]
_WAIT = 60.0
"""Seconds to wait for a scheduler that is gone."""
_ATTEMPTS = 5


class Engine:
    """Where tasks run; a context manager, which ends the processes that it started.

    Parameters
    ----------
    name : {"local", "dask"}
    workers : int, optional
        Processes of a Dask cluster on this machine; by default as many as threads may be used.
    scheduler : str, optional
        Address of a Dask scheduler that is running.
    say : callable
        Told what a user should know: the dashboard's address, a lost scheduler.

    Raises
    ------
    OptionError
        If options do not go together.
    MissingError
        If Dask is needed and not installed.
    """

    def __init__(
        self,
        name: EngineName = "local",
        workers: int | None = None,
        scheduler: str | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self.name: EngineName = "dask" if scheduler is not None else name
        self.workers, self.scheduler, self.say = workers, scheduler, say
        self._opened = ExitStack()
        self._client: Any = None
        if scheduler is not None and workers is not None:
            raise OptionError(
                "--workers: a running scheduler has its own workers; give either --workers or --scheduler"
            )
        if workers is not None and self.name == "local":
            raise OptionError(f"--workers {workers}: requires --engine dask")
        if self.name == "dask":
            _distributed()

    def __enter__(self) -> Self:
        """Return the engine; a cluster is started when it is needed."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the connection, and the cluster if it is of this engine."""
        self._opened.close()

    def run(self, tasks: Sequence[Task]) -> Iterator[Finished]:
        """Yield what became of the tasks, in the order in which they finish.

        Raises
        ------
        RankerError
            As `run_task`.
        ProcessError
            If workers or the scheduler are lost again and again.
        """
        if self.name == "local":
            with notes_once():
                yield from map(run_task, tasks)
            return
        waiting = {task.number: task for task in tasks}
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                for finished in _run_on(*self._connected(), [*waiting.values()]):
                    del waiting[finished.number]
                    yield finished
                return
            except _lost_scheduler() as error:
                if attempt == _ATTEMPTS or self.scheduler is None:
                    what = f"lost the connection to the Dask scheduler ({type(error).__name__})"
                    raise ProcessError(f"{what}: start it and run the command again to continue") from None
                self.say(f"lost the connection to the scheduler at {self.scheduler}: waiting for it to come back")
                self._client = None
                with suppress(Exception):
                    # of what is lost, nothing can be ended in order
                    self._opened.close()

    def _connected(self) -> tuple[Any, int | None]:
        """Return a client, and how many threads each task may use, None for as many as its process may."""
        distributed = _distributed()
        if self._client is None and self.scheduler is not None:
            try:
                client = distributed.Client(self.scheduler, timeout=_WAIT, set_as_default=False)
            except (OSError, ValueError) as error:
                reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
                what = f"--scheduler {self.scheduler}: no answer ({reason})"
                raise ProcessError(f"{what}: start it with dask scheduler, and workers with dask worker") from None
            self._client = self._opened.enter_context(client)
            self.say(f"Dask dashboard: {client.dashboard_link}")
        elif self._client is None:
            self._opened.enter_context(process_environment())
            cluster = self._opened.enter_context(
                distributed.LocalCluster(
                    n_workers=self.workers or jobs(),
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            )
            self._client = self._opened.enter_context(distributed.Client(cluster, set_as_default=False))
            self.say(f"Dask dashboard: {self._client.dashboard_link}")
        return self._client, None if self.scheduler else max(jobs() // (self.workers or jobs()), 1)


def _run_on(client: Any, threads: int | None, tasks: Sequence[Task]) -> Iterator[Finished]:
    distributed = _distributed()
    futures = {}
    for task in tasks:
        key = f"{task.stage.name}-{task.number}-{os.urandom(4).hex()}"
        futures[client.submit(run_task, replace(task, threads=threads), pure=False, key=key)] = task
    try:
        for future in distributed.as_completed(futures, loop=client.loop):
            try:
                finished: Finished = future.result()
            except distributed.KilledWorker:
                # a shard that ends every process that works on it, such as for want of memory
                name = futures[future].shards.shards[0].file
                problem = f"{name}: every worker that worked on it was lost (out of memory?): use smaller shards"
                finished = Finished(futures[future].number, "failed", problem=problem)
            yield finished
            future.release()
    finally:
        with suppress(*_lost_scheduler()):
            client.cancel(list(futures), force=True)


def _lost_scheduler() -> tuple[type[BaseException], ...]:
    distributed = _distributed()
    return (CancelledError, distributed.comm.CommClosedError, TimeoutError)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingError("Dask is not installed: pip install 'mt-ranker[dask]'") from None
    return distributed
