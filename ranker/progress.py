"""Progress of long tasks, reported by the code that does the work and shown by a listener.

Long tasks call `report`. A listener, such as the command line on a terminal, shows the progress; without
a listener, reports cost nothing and show nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]
_listener: Listener | None = None


def report(what: str, done: int, total: int) -> None:
    """Report that `done` of `total` steps of the task `what` are finished; `total` is 0 if unknown."""
    if _listener is not None:
        _listener(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener` with the arguments of every `report` made within the block."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before
