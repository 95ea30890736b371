"""Connections that send nothing, too little, or something else: they are closed, and judges are answered meanwhile."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import time
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ranker.cli.main import run
from tests.collect.conftest import Client, free_port, serving, small


def connected(stack, address, text=b""):
    """Open a connection that sends a text and then nothing."""
    at = urlsplit(address)
    connection = stack.enter_context(closing(socket.create_connection((at.hostname, at.port), timeout=10)))
    connection.settimeout(10)
    connection.sendall(text)
    return connection


def is_closed(connection):
    """Read until the end, or for half a second of silence."""
    connection.settimeout(0.5)
    try:
        while connection.recv(1000):
            pass
    except TimeoutError:
        return False
    except ConnectionResetError:
        pass
    return True


def test_slow_clients_are_cut_off_and_hold_nobody_up(campaign, monkeypatch):
    from ranker.collect.web import connections, server

    monkeypatch.setattr(connections, "WAITING_SECONDS", 0.5)
    monkeypatch.setattr(server, "BODY_SECONDS", 0.5)
    path, created = campaign("ranking", data=small())
    with serving(path) as address, ExitStack() as stack:
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
        started = time.monotonic()
        assert judge.get("/").status == 200
        assert time.monotonic() - started < 5
        assert b"408" in body.recv(1000)
        time.sleep(1)
        assert all(is_closed(connection) for connection in [*slow, body])


def test_of_too_many_connections_the_one_that_waited_longest_is_closed(campaign, monkeypatch):
    from ranker.collect.web import connections

    monkeypatch.setattr(connections, "_MOST", 30)
    path, created = campaign("ranking", data=small())
    with serving(path) as address, ExitStack() as stack:
        idle = [connected(stack, address) for _ in range(40)]
        assert Client(address).enter(created.links["judge1"]).status == 200
        assert [is_closed(connection) for connection in (idle[0], idle[9], idle[-1])] == [True, True, False]


@pytest.mark.parametrize("proxy", [{}, {"X-Forwarded-For": "203.0.113.7"}])
def test_a_connection_is_not_closed_while_its_answer_is_computed_nor_between_requests(campaign, monkeypatch, proxy):
    from ranker.collect.web import connections
    from ranker.collect.web.server import Site

    async def slowly(self):
        await asyncio.sleep(1)
        return {"judges": [], "agreement": None, "rankings": []}

    monkeypatch.setattr(connections, "WAITING_SECONDS", 0.4)
    monkeypatch.setattr(Site, "figures", slowly)
    path, created = campaign("ranking", data=small())
    with serving(path) as address:
        owner = Client(address)
        owner.enter(created.links["owner"])
        with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)) as connection:
            for page in ("/static/style.css", "/owner", "/static/style.css", "/owner"):
                cookie = f"ranker-test-owner={owner.cookies['ranker-test-owner']}"
                connection.request("GET", page, headers={"Cookie": cookie, **proxy})
                with connection.getresponse() as answer:
                    assert answer.status == 200
                    answer.read()
                time.sleep(0.2)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_idle_connections_beyond_the_open_files_take_no_processor_time_and_nobody_waits(campaign, serve):
    import resource

    path, created = campaign("fluency", data=small())
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    server = serve(path, port, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 160)))

    def seconds():
        used = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")

    with ExitStack() as stack:
        for _ in range(400):
            connected(stack, address)
        before, began = seconds(), time.monotonic()
        while time.monotonic() - began < 3:
            assert Client(address).enter(created.links["judge1"]).status == 200
            time.sleep(0.3)
        assert seconds() - before < 1
    server.terminate()
    assert server.communicate(timeout=20) == ("", "")


def test_malformed_requests_leave_the_log_empty(campaign, serve):
    path, created = campaign("fluency", data=small())
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    server = serve(path, port)
    with ExitStack() as stack:
        for text in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 100_000):
            for _ in range(20):
                connection = connected(stack, address, text)
                assert is_closed(connection)
    assert Client(address).enter(created.links["judge1"]).status == 200
    server.terminate()
    assert server.communicate(timeout=20) == ("", "")


def test_requests_for_hosts_that_nobody_named_are_refused(campaign, monkeypatch):
    server = pytest.importorskip("ranker.collect.web.server", reason="mt-ranker[collect] is not installed")
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
