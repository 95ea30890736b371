"""The one thread of the server that changes the campaign file."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ranker.collect.campaign import connect

T = TypeVar("T")
_MOST = 200
"""Changes in one transaction."""


@dataclass(frozen=True)
class _Change:
    step: Callable[[sqlite3.Connection], Any]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[Any]


class Writer:
    """Makes changes one after the other; those that wait at the same time share a transaction.

    A transaction ends with the file on the disk, which takes milliseconds, so that judgements of many people at once
    are written together. A change counts as made only when its transaction has ended.

    Parameters
    ----------
    path : path
        The campaign.
    """

    def __init__(self, path: str | Path) -> None:
        self._connection = connect(path)
        self._waiting: queue.SimpleQueue[_Change | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    async def run(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Make a change and return what `step` returns, once it is in the file.

        Raises
        ------
        Exception
            What `step` raised, or `sqlite3.Error` if nothing could be written; the change was not made then.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._waiting.put(_Change(step, loop, done))
        return await done

    def close(self) -> None:
        """Make the changes that wait, and end."""
        self._waiting.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        going_on = True
        while going_on:
            changes: list[_Change] = []
            change = self._waiting.get()
            while change is not None:
                changes.append(change)
                if len(changes) == _MOST or self._waiting.empty():
                    break
                change = self._waiting.get()
            going_on = change is not None
            results = self._together(changes)
            for pending, (value, error) in zip(changes, results, strict=True):
                pending.loop.call_soon_threadsafe(_resolve, pending.done, value, error)

    def _together(self, changes: list[_Change]) -> list[tuple[Any, Exception | None]]:
        results: list[tuple[Any, Exception | None]] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for change in changes:
                self._connection.execute("SAVEPOINT change")
                try:
                    results.append((change.step(self._connection), None))
                except Exception as error:
                    self._connection.execute("ROLLBACK TO change")
                    results.append((None, error))
                self._connection.execute("RELEASE change")
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            return [(None, error)] * len(changes)
        return results


def _resolve(done: asyncio.Future[Any], value: Any, error: Exception | None) -> None:
    if done.cancelled():
        return
    if error is None:
        done.set_result(value)
    else:
        done.set_exception(error)
