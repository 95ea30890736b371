"""Campaigns, a server that runs in a thread, and a judge who talks HTTP."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from ranker.apps.collect.making import CreatedCampaign, make_campaign
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tasks import KINDS
from ranker.corpora.records import Candidate, Record, assemble

EVIL = (
    '"><script>document.title = "run"; throw "run"</script><img src=x onerror="document.title = 1"> & '
    "'; DROP TABLE item;--"
)


def settings(kind: str = "ranking", **more: Any) -> CampaignSettings:
    usual = {"id": "test", "title": "Test", "kind": kind, "show": KINDS[kind].show, "repeat": 0.0, "degraded": 0.0}
    return CampaignSettings(**{**usual, **more})


@pytest.fixture
def campaign(tmp_path: Path, sample: Any) -> Callable[..., tuple[Path, CreatedCampaign]]:
    """Make a campaign of the sample, or of another data set."""

    def make(kind: str = "ranking", judges: int = 2, data: Any = None, **more: Any) -> tuple[Path, CreatedCampaign]:
        path = tmp_path / "test.campaign"
        gold, marks = more.pop("gold_data", None), more.pop("marks", ())
        codes = [f"judge{number}" for number in range(1, judges + 1)]
        chosen = settings(kind, **more)
        return path, make_campaign(path, sample if data is None else data, chosen, codes, gold=gold, prefill=marks)

    return make


def small(pair: str = "de-en", sources: int = 3, outputs: tuple[str, ...] = ("one", "two", "three")) -> Any:
    """A data set of a few sources, every output another text."""
    records = [
        Record(
            f"source {index}",
            [f"reference {index}"],
            [Candidate(name, f"{name} says {index} here") for name in outputs],
            lp=pair,
        )
        for index in range(sources)
    ]
    return assemble(records, "small")


def free_port() -> int:
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        return int(result.getsockname()[1])


SERVER = "from ranker.cli.main import run; run()"


class Serving(subprocess.Popen[str]):
    """A server with the line that it printed when it began."""

    said = ""


@pytest.fixture
def serve() -> Iterator[Callable[..., Serving]]:
    """Start ``ranker collect serve`` in a process that does not outlive the test."""
    pytest.importorskip("uvicorn", reason="mt-ranker[collect] is not installed")
    started: list[Serving] = []

    def start(path: Path, *options: str | int, code: str = SERVER, **more: Any) -> Serving:
        """Start it with a port, or with options."""
        words = [word for each in options for word in (["--port", str(each)] if isinstance(each, int) else [each])]
        command = [sys.executable, "-P", "-c", code, "collect", "serve", str(path), *words]
        server = Serving(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        started.append(server)
        assert server.stderr is not None
        for line in server.stderr:
            server.said = line
            if "serving" in line:
                return server
        raise AssertionError("the server did not start")

    yield start
    for server in started:
        if server.poll() is None:
            server.kill()
            server.communicate()


@contextmanager
def serving(path: Path, hosts: tuple[str, ...] = ("127.0.0.1",)) -> Iterator[str]:
    """Serve a campaign from a thread; yields its address."""
    pytest.importorskip("starlette", reason="mt-ranker[collect] is not installed")
    uvicorn = pytest.importorskip("uvicorn", reason="mt-ranker[collect] is not installed")
    from ranker.apps.collect.campaign import connect
    from ranker.apps.collect.web import server

    ready = threading.Event()
    with server.listening("127.0.0.1", 0) as listener, closing(connect(path)) as connection:
        app = server.Site(path, connection).app(hosts, listener, ready.set)
        running = uvicorn.Server(server.configuration(app))
        thread = threading.Thread(target=running.run, args=([listener],), daemon=True)
        thread.start()
        assert ready.wait(60), "the server did not start"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        running.should_exit = True
        thread.join()


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self.texts: dict[str, str] = {}
        self.scripts = 0
        self._form = self._text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag == "form":
            self._form = values["action"]
            self.forms[self._form] = {}
        elif tag == "input" and values.get("type") == "hidden":
            self.forms[self._form][values["name"]] = values["value"]
        elif tag == "p" and "id" in values:
            self._text = values["id"]
            self.texts[self._text] = ""
        elif tag == "script" and "src" not in values:
            self.scripts += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            self.texts[self._text] += data


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    def page(self) -> _Forms:
        parser = _Forms()
        parser.feed(self.text)
        return parser


@dataclass
class Client:
    """A browser without a screen: keeps cookies, follows redirects, fills in forms."""

    address: str
    cookies: dict[str, str] = field(default_factory=dict)
    patient: bool = True

    def send(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Answer:
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **headers}
        with closing(http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=60)) as connection:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in sent.items()})
            with connection.getresponse() as got:
                received = {name.lower(): value for name, value in got.getheaders()}
                answer = Answer(got.status, received, got.read().decode())
        if answer.status == 429 and self.patient:
            time.sleep(0.5)
            return self.send(method, path, body, **headers)
        for name, value in re.findall(r"([^=;,\s]+)=([^;]*)", answer.headers.get("set-cookie", ""))[:1]:
            self.cookies[name] = value
        return answer

    def get(self, path: str) -> Answer:
        answer = self.send("GET", path)
        return self.get(answer.headers["location"]) if answer.status == 303 else answer

    def post(self, path: str, fields: dict[str, Any], follow: bool = True, **headers: str) -> Answer:
        answer = self.send(
            "POST", path, urlencode(fields), **{"Content_Type": "application/x-www-form-urlencoded", **headers}
        )
        return self.get(answer.headers["location"]) if follow and answer.status == 303 else answer

    def enter(self, link: str) -> Answer:
        return self.get(urlsplit(link).path)

    def judge(self, answer: Answer, choose: Callable[[list[str]], list[int]]) -> Answer:
        """Answer the item of a page by its texts: a rank each, or one value."""
        page = answer.page()
        texts = [text.strip() for name, text in page.texts.items() if name.startswith("text")]
        values = choose(texts)
        fields: dict[str, Any] = dict(page.forms["/judge"])
        if 'name="choice"' in answer.text:
            first, second = values
            fields["choice"] = "first" if first < second else "second" if first > second else "same"
        else:
            fields |= {f"value{place}": value for place, value in enumerate(values)}
        if "marks" in fields:
            fields["marks"] = "[]"
        return self.post("/judge", fields)


def judge_all(client: Client, link: str, choose: Callable[[list[str]], list[int]], count: int = 10_000) -> int:
    """Judge until nothing is left, or `count` items."""
    answer, done = client.enter(link), 0
    while done < count and "/judge" in answer.page().forms:
        answer = client.judge(answer, choose)
        assert answer.status == 200, answer.text
        done += 1
    return done
