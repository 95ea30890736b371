"""Collecting judgements under load, and of many items.

``python bench/collect.py load`` lets 50 judges judge at once, one judgement per second each, for half a minute, while
the owner looks at the statistics with ``--owner 1``. ``large`` opens a campaign of 10,000 items. ``kills`` kills the
server twice while 500 clients judge, and counts the acknowledged answers that the file has. With ``--kind esa`` or
``mqm``, each answer has two errors marked in the translation and one in the source.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ranker.apps.collect.making import make_campaign
from ranker.apps.collect.marking import CATEGORIES
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tasks import KINDS
from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble

_FORM = re.compile(r'name="(key|form|assignment)" value="([^"]*)"')
_PLACE = re.compile(r'name="(value\d)"')
WORDS = ["the", "old", "cat", "house", "sees", "tree", "runs", "under", "green", "river", "and", "sleeps", "again"]


def synthetic(sources: int, outputs: int) -> Dataset:
    """Return sources with different outputs of about 20 words, in documents of five."""
    generator = random.Random(0)

    def text() -> str:
        return " ".join(generator.choice(WORDS) for _ in range(20))

    records = []
    for number in range(sources):
        candidates = [Candidate(f"system{n}", f"{text()} {n}") for n in range(outputs)]
        records.append(Record(text(), [text()], candidates, lp="de-en", doc=f"document {number // 5}"))
    return assemble(records, "synthetic")


def settings(kind: str, **more: object) -> CampaignSettings:
    """Return the settings of ``ranker collect new`` for a kind of task."""
    more["categories"] = "\n".join(CATEGORIES) if kind == "mqm" else None
    return CampaignSettings(**{"id": "bench", "title": "bench", "kind": kind, "show": KINDS[kind].show, **more})  # type: ignore[arg-type]


class Server:
    """The server as a user starts it."""

    def __init__(self, path: Path, port: int | None = None) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = port or int(probe.getsockname()[1])
        began = time.perf_counter()
        command = [sys.executable, "-m", "ranker.cli.main", "collect", "serve", str(path), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        if "serving" not in self.process.stderr.readline():
            raise SystemExit("the server did not start")
        self.seconds = time.perf_counter() - began

    def memory(self) -> list[float]:
        """Return resident memory now and at most, in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return [int(re.findall(rf"{name}:\s+(\d+) kB", status)[0]) / 1024 for name in ("VmRSS", "VmHWM")]

    def end(self, kill: bool = False) -> str:
        """End the server, or kill it, and wait for its end; return what it logged."""
        (self.process.kill if kill else self.process.terminate)()
        return self.process.communicate()[1]


@dataclass
class Judge:
    """A judge with a connection that stays open."""

    port: int
    link: str
    cookie: str = ""
    acknowledged: dict[int, list[Any]] = field(default_factory=dict)
    sent: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unanswered: tuple[int, list[Any], str] | None = None

    async def request(self, method: str, path: str, body: str = "") -> tuple[int, dict[str, str], str]:
        """Send a request and read the whole answer."""
        form = ["Content-Type: application/x-www-form-urlencoded"] if body else []
        head = ["Host: 127.0.0.1", f"Cookie: {self.cookie}", f"Content-Length: {len(body)}", *form]
        self.writer.write("\r\n".join([f"{method} {path} HTTP/1.1", *head, "", body]).encode())
        await self.writer.drain()
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        text = (await self.reader.readexactly(int(headers.get("content-length", "0")))).decode()
        return int(first.split()[1]), headers, text

    async def enter(self) -> str:
        """Open the personal link; return the first page."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        _, headers, _ = await self.request("GET", "/enter/" + self.link.rsplit("/", 1)[1])
        self.cookie = headers["set-cookie"].partition(";")[0]
        _, headers, _ = await self.request("GET", "/")
        return (await self.request("GET", headers["location"]))[2]

    async def judge(self, page: str) -> str | None:
        """Answer a page; return the next one, None if nothing is left."""
        fields = dict(_FORM.findall(page.partition('id="undo"')[0]))
        places = sorted(set(_PLACE.findall(page)))
        assignment = int(fields["assignment"])
        answer: list[Any] = [(assignment + place) % min(5, max(len(places), 2)) + 1 for place in range(len(places))]
        fields.update((name, str(value)) for name, value in zip(places, answer, strict=True))
        if 'name="marks"' in page:
            marks = [[assignment % 2, 0, 0, 3], [1, 0, 4, 9], [0, 0, 2, 7, 1]]
            fields["marks"] = json.dumps(marks, separators=(",", ":"))
            answer = [*(answer or [0]), *marks]
        began = time.perf_counter()
        headers = await self.send(assignment, answer, "&".join(f"{k}={v}" for k, v in fields.items()))
        if headers is None:
            return page
        between = time.perf_counter()
        self.sent.append(between - began)
        if headers["location"] == "/done":
            return None
        status, _, text = await self.request("GET", headers["location"])
        self.shown.append(time.perf_counter() - between)
        if status != 200:
            self.errors.append(f"GET {status}")
        return text

    async def send(self, assignment: int, answer: list[Any], form: str) -> dict[str, str] | None:
        """Send an answer; return the headers if it is acknowledged."""
        self.unanswered = assignment, answer, form
        status, headers, _ = await self.request("POST", "/judge", form)
        self.unanswered = None
        if status != 303:
            self.errors.append(f"POST {status}")
            return None
        self.acknowledged[assignment] = answer
        return headers

    async def judge_through_kills(self, pause: float) -> None:
        """Judge until cancelled; after a lost connection, send the form again that was not answered."""
        page: str | None = ""
        while page is not None:
            try:
                if not page:
                    page = await self.enter()
                    if self.unanswered is not None:
                        await self.send(*self.unanswered)
                        page = await self.enter()
                page = await self.judge(page)
            except (OSError, asyncio.IncompleteReadError):
                page = ""
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))


def stored_answers(path: Path) -> tuple[str, dict[int, list[Any]]]:
    """Return what SQLite says of the file, and the answers in it as they were shown."""
    with closing(sqlite3.connect(path)) as connection:
        sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
        rows = connection.execute("SELECT id, shown, answer FROM assignment WHERE answer NOT NULL").fetchall()
    answers = {}
    for key, shown, answer in ((key, *map(json.loads, texts)) for key, *texts in rows):
        answers[key] = [*(answer[place] for place in shown), *answer[len(shown) :]]
    return sound, answers


def load(arguments: argparse.Namespace) -> None:
    """Let many judges judge at once, and measure how long they wait."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "load.campaign"
        created = make_campaign(
            path,
            synthetic(arguments.judges * arguments.seconds // 2, 5),
            settings(arguments.kind, judges_per_item=2),
            [f"j{number}" for number in range(arguments.judges)],
        )
        server = Server(path)
        judges = [Judge(server.port, link) for code, link in created.links.items() if code != "owner"]
        owner = Judge(server.port, created.links["owner"])

        async def work(judge: Judge, delay: float) -> None:
            await asyncio.sleep(delay)
            page: str | None = await judge.enter()
            began = time.perf_counter()
            for number in range(arguments.seconds):
                await asyncio.sleep(max(0.0, began + number - time.perf_counter()))
                try:
                    page = await judge.judge(page or "")
                except OSError as error:
                    judge.errors.append(repr(error))
                    return

        async def everybody() -> None:
            working = asyncio.gather(*(work(judge, index / len(judges)) for index, judge in enumerate(judges)))
            for _ in range(arguments.owner * arguments.seconds // 5):
                await asyncio.sleep(5)
                await owner.enter()
            await working

        asyncio.run(everybody())
        memory = server.memory()
        server.end()
        sound, stored = stored_answers(path)
    sent, shown = (
        np.array([seconds for judge in judges for seconds in getattr(judge, name)]) for name in ("sent", "shown")
    )
    expected = {key: value for judge in judges for key, value in judge.acknowledged.items()}
    errors = [error for judge in judges for error in judge.errors]
    print(
        f"{len(sent):,} judgements of {len(judges)} judges; errors: {len(errors)} {errors[:3]}; "
        f"load of the machine {os.getloadavg()[0]:.1f}"
    )
    both = sent[: len(shown)] + shown[: len(sent)]
    for name, values in (("answer saved", sent), ("next page", shown), ("both", both)):
        p50, p95, p99 = 1000 * np.percentile(values, [50, 95, 99])
        print(f"{name}: median {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, longest {1000 * values.max():.0f} ms")
    rows = sum(stored.get(key) == value for key, value in expected.items())
    print(f"rows: {len(stored):,} stored, {rows:,} as acknowledged; {sound}")
    print(f"memory: {memory[0]:.0f} MB, at most {memory[1]:.0f} MB")


def large(arguments: argparse.Namespace) -> None:
    """Open a campaign of many items and look at its time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        path, began = Path(folder) / "large.campaign", time.perf_counter()
        each = {"ranking": 1, "pairwise": 10}.get(arguments.kind, 5)
        created = make_campaign(path, synthetic(arguments.items // each, 5), settings(arguments.kind), ["a"])
        made = time.perf_counter() - began
        print(f"{created.items:,} items made in {made:.1f} s, {path.stat().st_size / 1e6:.1f} MB")
        began = time.perf_counter()
        server = Server(path)
        judge = Judge(server.port, created.links["a"])
        owner = Judge(server.port, created.links["owner"])

        async def look() -> tuple[float, float, float]:
            page: str | None = await judge.enter()
            first = time.perf_counter() - began
            for _ in range(50):
                page = await judge.judge(page or "")
            before = server.memory()[0]
            started = time.perf_counter()
            await owner.enter()
            return first, time.perf_counter() - started, before

        first, dashboard, before = asyncio.run(look())
        now, most = server.memory()
        server.end()
    print(f"ready after {server.seconds:.2f} s, first page after {first:.2f} s, dashboard in {dashboard:.2f} s")
    print(f"memory: {before:.0f} MB before the dashboard, {now:.0f} MB after it, at most {most:.0f} MB")


def kills(arguments: argparse.Namespace) -> None:
    """Kill the server twice while many judge, the owner looks and other commands run; count acknowledged answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kills.campaign"
        codes = [f"j{number}" for number in range(arguments.clients)]
        sources = arguments.clients * int(3 * arguments.seconds / arguments.pause + 5)
        created = make_campaign(path, synthetic(sources, 2), settings(arguments.kind), codes)
        server = Server(path)
        judges = [Judge(server.port, created.links[code]) for code in codes]
        owner = Judge(server.port, created.links["owner"])

        def expected() -> dict[int, list[Any]]:
            return {key: value for judge in judges for key, value in judge.acknowledged.items()}

        async def ranker(*words: object) -> str:
            command = [sys.executable, "-m", "ranker.cli.main", "collect", *map(str, words)]
            process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
            try:
                return (await process.communicate())[0].decode()
            finally:
                if process.returncode is None:
                    process.terminate()
                    await process.wait()

        async def look() -> None:
            commands = [["link", path, "new"], ["export", path, "-o", Path(folder) / "x.jsonl"], ["status", path]]
            while True:
                for words in commands:
                    before = len(expected())
                    await owner.enter()
                    await ranker(*words)
                    counts = json.loads(await ranker("status", path, "-f", "json"))["progress"]
                    known = counts["judged"] + counts["further"]
                    looks.append((before, known))
                await asyncio.sleep(1)

        async def everybody() -> None:
            nonlocal server
            working = [asyncio.create_task(judge.judge_through_kills(arguments.pause)) for judge in judges]
            for killed in (True, True, False):
                looking = asyncio.create_task(look())
                await asyncio.sleep(arguments.seconds)
                looking.cancel()
                (ended,) = await asyncio.gather(looking, return_exceptions=True)
                if not isinstance(ended, asyncio.CancelledError):
                    raise SystemExit(f"looking at the campaign failed: {ended!r}")
                if not killed:
                    for task in working:
                        task.cancel()
                    await asyncio.gather(*working, return_exceptions=True)
                logged.append(server.end(kill=killed))
                acknowledged = expected()
                sound, stored = stored_answers(path)
                lost = sum(stored.get(key) != value for key, value in acknowledged.items())
                print(
                    f"{'killed' if killed else 'ended'}: {len(acknowledged):,} answers acknowledged, {lost} of them "
                    f"not in the file, which has {len(stored):,}; {sound}"
                )
                if killed:
                    server = Server(path, server.port)

        looks: list[tuple[int, int]] = []
        logged: list[str] = []
        asyncio.run(everybody())
        with closing(sqlite3.connect(path)) as connection:
            (twice,) = connection.execute("SELECT count(*) - count(DISTINCT assignment) FROM judgement").fetchone()
    hidden = sum(known < before for before, known in looks)
    errors = [error for judge in judges for error in judge.errors]
    print(
        f"status beside the server: {len(looks)} times, {hidden} times with fewer answers than were acknowledged before"
    )
    print(f"answers stored twice: {twice}; errors: {len(errors)} {errors[:3]}; logged: {''.join(logged)!r}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)

    def command(run: Callable[[argparse.Namespace], None], **options: object) -> None:
        subcommand = commands.add_parser(run.__name__, help=run.__doc__)
        subcommand.set_defaults(run=run)
        for name, default in options.items():
            subcommand.add_argument(f"--{name}", default=default, type=type(default))

    command(load, judges=50, seconds=30, kind="ranking", owner=0)
    command(large, items=10_000, kind="ranking")
    command(kills, clients=500, seconds=40, pause=5.0, kind="ranking")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
