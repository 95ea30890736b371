"""A server on this computer that gives files as well, and as badly, as a test wants it to."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ranker.corpora import catalogue
from ranker.corpora.catalogue import Card, Download, card_files
from ranker.corpora.downloads.transfer import DownloadLimits

CONTENT = b"".join(b"%05d\n" % number for number in range(2000))
DIGEST = hashlib.sha256(CONTENT).hexdigest()
# a timeout that a busy machine does not reach
HASTY = DownloadLimits(size=1_000_000, timeout=60.0, redirects=2)


class Server:
    """Files or addresses to redirect to, by path, and how they are given: `stop_after` are the bytes after which each
    of the next connections ends, `length` is what is declared, None for the right one.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes | str] = {"/data.txt": CONTENT}
        self.chunked, self.status = False, 0
        self.stop_after: list[int] = []
        self.stalls, self.length = False, None
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        headers = dict(handler.headers.items())
        self.requests.append((handler.path, headers))
        content = self.files.get(handler.path)
        if content is None or self.status:
            handler.send_response(self.status or 404)
            handler.end_headers()
            return
        if isinstance(content, str):
            handler.send_response(302)
            handler.send_header("Location", content)
            handler.end_headers()
            return
        handler.send_response(200)
        if self.chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        elif self.length != "":
            handler.send_header("Content-Length", str(len(content)) if self.length is None else self.length)
        handler.end_headers()
        stop = self.stop_after.pop(0) if self.stop_after else len(content)
        if self.chunked:
            handler.wfile.write(
                b"%x\r\n%b\r\n" % (stop, content[:stop]) + (b"0\r\n\r\n" if stop == len(content) else b"")
            )
        else:
            handler.wfile.write(content[:stop])
        handler.wfile.flush()
        if self.stalls and stop < len(content):
            self.over.wait(60)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with the file /data.txt."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    given = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.close_connection = True
            given.answer(self)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    # who is hung up on writes no traceback
    monkeypatch.setattr(listening, "handle_error", lambda *_: None)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True)
    thread.start()
    given.url = f"http://127.0.0.1:{listening.server_port}"
    yield given
    given.over.set()
    listening.shutdown()
    listening.server_close()
    thread.join()


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for corpora, empty."""
    monkeypatch.setenv("RANKER_DATA", str(tmp_path / "corpora"))
    return tmp_path / "corpora"


@pytest.fixture
def card(corpora: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Card]:
    """Make the card of a corpus ``made``, which `catalogue` then knows besides ``wmt12``."""
    others = {"wmt12": catalogue.card("wmt12"), "sample": catalogue.card("sample")}

    def make(*download: Download, files: tuple[str, ...] = ("data.txt",)) -> Card:
        example = Card("made", "Made", "Made up.", "de-en", "None", files, obtain="Make it.", download=download)
        for module in (catalogue, card_files):
            monkeypatch.setattr(module, "cards", lambda: {**others, "made": example})
        return example

    return make
