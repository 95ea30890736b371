"""How far a long piece of work is: said where it is done, shown where somebody looks.

Work that takes long calls `report`. Whoever shows progress, as the command line does on a terminal, listens; without
a listener a report costs nothing and says nothing.

Files are reported too, with their size, so that where memory runs out it can be said which of them is to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]
_listener: Listener | None = None
_largest: dict[bool, tuple[int, str]] = {}


def report(what: str, done: int, total: int) -> None:
    """Say that `done` of `total` pieces of the work `what` are finished; `total` is 0 where nobody knows it."""
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


def report_file(name: str, size: int, *, model: bool = False) -> None:
    """Say that a file of data, or of a model, is read."""
    _largest[model] = max(_largest.get(model, (0, "")), (size, name))


def forget_files() -> None:
    """Forget the files that earlier work read."""
    _largest.clear()


def out_of_memory() -> str:
    """Return what to tell a user when memory ran out: the largest files that were read, and what to do."""
    (size, data), (model_size, model) = (_largest.get(kind, (0, "")) for kind in (False, True))
    ways = ["give fewer sources or fewer candidates at a time", f"use a smaller model than {model}"]
    if model_size <= size:
        ways.pop()
    blamed = data or model
    return f"{blamed + ': ' if blamed else ''}out of memory: {', or '.join(ways)}"
