"""A listening socket that closes connections on which no request arrives."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

WAITING_SECONDS = 15.0
_MOST = 1000
_OTHER_FILES = 60
"""Number of open files that are reserved for other uses than waiting connections."""
BACKLOG = 128

Peer = tuple[str, int]


class Listener(socket.socket):
    """A socket that closes connections without a request: each after a while, and the oldest if there are too many."""

    def open(self, most: int | None = None) -> None:
        """Start listening, with at most `most` connections without a request."""
        self._most = _raised_limit() if most is None else most
        self._waiting: dict[Peer, tuple[socket.socket, asyncio.TimerHandle]] = {}
        self.listen(BACKLOG)

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        """Accept a connection; if too many are waiting, close the oldest and raise `BlockingIOError`.

        The caller then tries again.
        """
        if len(self._waiting) >= self._most:
            self._close(next(iter(self._waiting)))
            raise BlockingIOError
        connection, address = super().accept()
        self._wait(address[:2], connection)
        return connection, address

    @contextmanager
    def answering(self, peer: Peer) -> Iterator[None]:
        """Stop counting a connection as waiting while the block answers its request."""
        connection, timer = self._waiting.pop(peer, (None, None))
        if timer is not None:
            timer.cancel()
        yield
        if connection is not None:
            self._wait(peer, connection)

    def _wait(self, peer: Peer, connection: socket.socket) -> None:
        timer = asyncio.get_running_loop().call_later(WAITING_SECONDS, self._close, peer)
        before = self._waiting.pop(peer, None)
        if before is not None:
            before[1].cancel()
        self._waiting[peer] = connection, timer

    def _close(self, peer: Peer) -> None:
        connection, timer = self._waiting.pop(peer)
        timer.cancel()
        # the client may have closed it before
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _raised_limit() -> int:
    """Raise the limit on open files if possible; return how many connections may wait without a request."""
    try:
        import resource
    except ImportError:
        return _MOST
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST + _OTHER_FILES
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < wanted:
        soft = wanted if hard == unlimited else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return _MOST if soft == unlimited else max(min(_MOST, soft - _OTHER_FILES), 1)
