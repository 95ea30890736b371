"""Progress of long pieces of work, reported by the code that works and shown by a listener.

Work that takes long calls `report`. Whoever shows progress, as the command line does on a terminal, listens; without
a listener a report costs nothing and says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]
_listener: Listener | None = None


def report(what: str, done: int, total: int) -> None:
    """Report that `done` of `total` pieces of the work `what` are finished; `total` is 0 if unknown."""
    if _listener is not None:
        _listener(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send every report inside the block to `listener`, called with what, done and total."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before
