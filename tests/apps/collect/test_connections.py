"""Connections that send nothing, too little, or something else: they are closed, and judges are answered meanwhile."""

from __future__ import annotations

import asyncio
import http.client
import select
import socket
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from ranker.cli.main import run
from tests.apps.collect.conftest import Client, free_port, serving, small
from tests.effort import thorough


class Clock:
    """The time of event loops."""

    def __init__(self) -> None:
        self._ahead, self._stopped_at = 0.0, None

    def time(self):
        return time.monotonic() + self._ahead if self._stopped_at is None else self._stopped_at

    @contextmanager
    def stopped(self):
        """Let time pass by `advance` alone inside the block, however fast the machine is."""
        self._stopped_at = self.time()
        yield
        self._ahead, self._stopped_at = self._stopped_at - time.monotonic(), None

    def advance(self, seconds):
        self._stopped_at += seconds


@pytest.fixture
def clock(monkeypatch):
    result = Clock()
    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda _: result.time())
    return result


COUNTED = """
import signal, sys
from ranker.cli.main import run
from ranker.apps.collect.web.connections import Listener
calls, accept = [], Listener.accept
def counted(self):
    calls.append(None)
    return accept(self)
Listener.accept = counted
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
try:
    run()
finally:
    print(len(calls))
"""
"""A server that prints at its end how often it tried to accept a connection."""


def connected(stack, address, text=b""):
    """Open a connection that sends a text and then nothing."""
    at = urlsplit(address)
    connection = stack.enter_context(closing(socket.create_connection((at.hostname, at.port), timeout=60)))
    connection.sendall(text)
    return connection


def wait_for_end(connection):
    """Read until the server closes a connection."""
    with suppress(ConnectionResetError):
        while connection.recv(1000):
            pass


@thorough
def test_slow_clients_are_cut_off_and_hold_nobody_up(campaign, clock, monkeypatch):
    from ranker.apps.collect.web.server import Site

    reading, form = threading.Event(), Site._form

    async def noted(*arguments):
        reading.set()
        return await form(*arguments)

    monkeypatch.setattr(Site, "_form", noted)
    path, created = campaign("ranking", data=small())
    with serving(path) as address, ExitStack() as stack, clock.stopped():
        judge = Client(address)
        judge.enter(created.links["judge1"])
        complete = f"GET /done HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n\r\n".encode()
        beginnings = (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", complete, complete + b"G")
        slow = [connected(stack, address, text) for text in beginnings for _ in range(20)]
        cookie = f"ranker-test-judge={judge.cookies['ranker-test-judge']}"
        body = connected(
            stack,
            address,
            f"POST /judge HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nCookie: {cookie}\r\nContent-Length: 100\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n\r\nkey=".encode(),
        )
        assert judge.get("/").status == 200
        assert reading.wait(60)
        while not select.select([body], [], [], 0.1)[0]:
            clock.advance(20)
        assert b"408" in body.recv(1000)
        for connection in [*slow, body]:
            wait_for_end(connection)


def test_of_too_many_connections_the_one_that_waited_longest_is_closed(campaign, clock, monkeypatch):
    from ranker.apps.collect.web import connections

    monkeypatch.setattr(connections, "_MOST", 30)
    path, created = campaign("ranking", data=small())
    with serving(path) as address, ExitStack() as stack, clock.stopped():
        idle = [connected(stack, address) for _ in range(40)]
        assert Client(address).enter(created.links["judge1"]).status == 200
        for connection in idle[:11]:
            wait_for_end(connection)
        idle[-1].sendall(f"GET /static/style.css HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n\r\n".encode())
        assert idle[-1].recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("proxy", [{}, {"X-Forwarded-For": "203.0.113.7"}])
def test_a_connection_is_not_closed_while_its_answer_is_computed_nor_between_requests(
    campaign, clock, monkeypatch, proxy
):
    from ranker.apps.collect.web import connections
    from ranker.apps.collect.web.server import Site

    async def slowly(self):
        clock.advance(100)
        for _ in range(5):
            await asyncio.sleep(0)
        return {"judges": [], "agreement": None, "rankings": []}

    # less than the time after which uvicorn closes idle connections
    monkeypatch.setattr(connections, "WAITING_SECONDS", 4)
    monkeypatch.setattr(Site, "figures", slowly)
    path, created = campaign("ranking", data=small())
    with serving(path) as address, clock.stopped():
        owner = Client(address)
        owner.enter(created.links["owner"])
        with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)) as connection:
            for page in ("/static/style.css", "/owner", "/static/style.css", "/owner"):
                cookie = f"ranker-test-owner={owner.cookies['ranker-test-owner']}"
                connection.request("GET", page, headers={"Cookie": cookie, **proxy})
                with connection.getresponse() as answer:
                    assert answer.status == 200
                    answer.read()
                clock.advance(3)


@thorough
def test_idle_connections_beyond_the_open_files_are_accepted_once_and_nobody_waits(campaign, serve):
    resource = pytest.importorskip("resource", reason="this system limits no open files")
    path, created = campaign("fluency", data=small())
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    server = serve(path, port, code=COUNTED, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 160)))
    with ExitStack() as stack:
        for _ in range(400):
            connected(stack, address)
        for _ in range(10):
            assert Client(address).enter(created.links["judge1"]).status == 200
        # time enough for a loop without end to accept many more times
        time.sleep(0.5)
    server.terminate()
    printed, errors = server.communicate(timeout=60)
    assert errors == ""
    # a connection is closed to make room, another one accepted, then there is none left; to enter takes three
    assert int(printed) <= 3 * (400 + 10 * 3)


def test_malformed_requests_leave_the_log_empty(campaign, serve):
    path, created = campaign("fluency", data=small())
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    server = serve(path, port)
    with ExitStack() as stack:
        for text in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 100_000):
            for _ in range(20):
                wait_for_end(connected(stack, address, text))
    assert Client(address).enter(created.links["judge1"]).status == 200
    server.terminate()
    assert server.communicate(timeout=60) == ("", "")


def test_requests_for_hosts_that_nobody_named_are_refused(campaign, monkeypatch):
    server = pytest.importorskip("ranker.apps.collect.web.server", reason="mt-ranker[collect] is not installed")
    path, _ = campaign("fluency", data=small(), url="https://judge.example.org/")
    hosts = []
    monkeypatch.setattr(server.Site, "app", lambda self, names, listener, ready: hosts.extend(names))
    monkeypatch.setattr(server.uvicorn.Server, "run", lambda *_, **__: None)
    with pytest.raises(SystemExit):
        run(["collect", "serve", str(path), "--port", str(free_port()), "--allow-host", "other.example.org"])
    assert {*hosts} == {"localhost", "127.0.0.1", "[::1]", "judge.example.org", "other.example.org"}
    monkeypatch.undo()
    with serving(path, tuple(hosts)) as address:
        for host, status in (
            ("evil.example", 400),
            ("evil.example:8765", 400),
            ("", 400),
            ("127.0.0.1.evil.example", 400),
            ("127.0.0.1:1", 403),
            ("[::1]:8765", 403),
            ("judge.example.org", 403),
            ("OTHER.example.org", 403),
        ):
            assert Client(address).send("GET", "/", Host=host).status == status, host
