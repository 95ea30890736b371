"""A listening socket that closes connections on which no request arrives."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

WAITING_SECONDS = 15.0
_MOST = 1000
_OTHER_FILES = 60
"""Open files that are no waiting connections."""
BACKLOG = 128

Peer = tuple[str, int]


class Listener(socket.socket):
    """Limits the time and number of connections that wait before a request; the oldest is closed to make room."""

    def open(self, most: int | None = None) -> None:
        """Begin to listen; at most `most` connections wait."""
        self._most = _raised_limit() if most is None else most
        self._waiting: dict[Peer, tuple[socket.socket, asyncio.TimerHandle]] = {}
        self.listen(BACKLOG)

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        """Accept a connection for the event loop, which asks again soon if there are too many."""
        if len(self._waiting) >= self._most:
            self._close(next(iter(self._waiting)))
            raise BlockingIOError
        connection, address = super().accept()
        self._wait(address[:2], connection)
        return connection, address

    @contextmanager
    def answering(self, peer: Peer) -> Iterator[None]:
        """Let a connection wait no longer, until the block has answered its request."""
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
    """Raise the limit of open files of this process, and return the number of connections that may wait."""
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
