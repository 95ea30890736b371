"""Collecting judgements under load, and of many items.

``python bench/collect.py load`` lets 50 judges judge at once, one judgement per second each, for half a minute, while
the owner looks at the statistics with ``--owner 1``. ``large`` opens a campaign of 10,000 items.
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

import numpy as np

from ranker.collect.campaign import CampaignSettings
from ranker.collect.making import make_campaign
from ranker.collect.tasks import KINDS
from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble

_FORM = re.compile(r'name="(key|form|assignment)" value="([^"]*)"')
_PLACE = re.compile(r'name="(value\d)"')
WORDS = ["the", "old", "cat", "house", "sees", "tree", "runs", "under", "green", "river", "and", "sleeps", "again"]


def synthetic(sources: int, outputs: int) -> Dataset:
    """Return sources with different outputs of about 20 words."""
    generator = random.Random(0)

    def text() -> str:
        return " ".join(generator.choice(WORDS) for _ in range(20))

    records = [
        Record(text(), [text()], [Candidate(f"system{n}", f"{text()} {n}") for n in range(outputs)], lp="de-en")
        for _ in range(sources)
    ]
    return assemble(records, "synthetic")


def settings(kind: str, **more: object) -> CampaignSettings:
    """Return the settings of ``ranker collect new`` for a kind of task."""
    return CampaignSettings(**{"id": "bench", "title": "bench", "kind": kind, "show": KINDS[kind].show, **more})  # type: ignore[arg-type]


class Server:
    """The server as a user starts it."""

    def __init__(self, path: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
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

    def end(self) -> None:
        """End the server and wait for its end."""
        self.process.terminate()
        self.process.communicate()


@dataclass
class Judge:
    """A judge with a connection that stays open."""

    port: int
    link: str
    cookie: str = ""
    acknowledged: dict[int, list[int]] = field(default_factory=dict)
    sent: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

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
        answer = [(assignment + place) % min(5, max(len(places), 2)) + 1 for place in range(len(places))]
        fields.update((name, str(value)) for name, value in zip(places, answer, strict=True))
        began = time.perf_counter()
        status, headers, _ = await self.request("POST", "/judge", "&".join(f"{k}={v}" for k, v in fields.items()))
        if status != 303:
            self.errors.append(f"POST {status}")
            return page
        self.acknowledged[assignment] = answer
        between = time.perf_counter()
        self.sent.append(between - began)
        if headers["location"] == "/done":
            return None
        status, _, text = await self.request("GET", headers["location"])
        self.shown.append(time.perf_counter() - between)
        if status != 200:
            self.errors.append(f"GET {status}")
        return text


def stored_answers(path: Path) -> tuple[str, dict[int, list[int]]]:
    """Return what SQLite says of the file, and the answers in it as they were shown."""
    with closing(sqlite3.connect(path)) as connection:
        sound = connection.execute("PRAGMA integrity_check").fetchone()[0]
        rows = connection.execute("SELECT id, shown, answer FROM assignment WHERE answer NOT NULL").fetchall()
    return sound, {key: [json.loads(answer)[place] for place in json.loads(shown)] for key, shown, answer in rows}


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
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
