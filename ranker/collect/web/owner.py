"""The owner's side of the server: the values of the dashboard, and the process that computes them."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranker.collect.access import JUDGE
from ranker.collect.campaign import CampaignSettings, connect, count_counted, count_judgements, result
from ranker.collect.tables import PLAIN
from ranker.collect.web import drawing

_LOG = logging.getLogger(__name__)
_INTERVAL = 3.0
_LOOKED = 600.0
"""Seconds for which figures are kept up to date after the owner looked."""
_NEW = 0.02
"""Share of new judgements from which on the queue is made anew; at least `_NEWEST`."""
_NEWEST = 10
_RATE_WINDOWS = (600.0, 3600.0, 86_400.0)


@dataclass(frozen=True)
class FigureProgress:
    """Counts of a campaign.

    Parameters
    ----------
    judged, wanted : int
        Answers to items that count, and how many there are to be.
    further : int
        Answers to gold items, degraded copies and repeated items.
    judges, active : int
        Judges with a link or an answer, and those of them who judged in the last ten minutes.
    rate : float or None
        Answers an hour, lately.
    left : float or None
        Seconds until all is judged at that rate.
    """

    judged: int
    wanted: int
    further: int
    judges: int
    active: int
    rate: float | None
    left: float | None


def progress_of(connection: sqlite3.Connection) -> FigureProgress:
    """Count what is done and what is left."""
    wanted = connection.execute("SELECT coalesce(sum(wanted), 0) FROM item WHERE role = ?", (PLAIN,)).fetchone()[0]
    judged = count_counted(connection)
    total = count_judgements(connection)
    judges = connection.execute("SELECT count(*) FROM person WHERE role = ?", (JUDGE,)).fetchone()[0]
    now = time.time()
    recent = connection.execute(
        "SELECT count(DISTINCT judge) FROM judgement JOIN assignment ON assignment.id = assignment "
        "WHERE judgement.at > ? AND judgement.id > (SELECT coalesce(max(id), 0) FROM judgement) - 20000",
        (now - _RATE_WINDOWS[0],),
    ).fetchone()[0]
    rate = None
    start = connection.execute("SELECT min(at) FROM judgement").fetchone()[0]
    for window in _RATE_WINDOWS:
        count = connection.execute("SELECT count(*) FROM judgement WHERE at > ?", (now - window,)).fetchone()[0]
        if count >= 5:
            rate = 3600 * count / max(min(window, now - start), 1.0)
            break
    share = judged / total if total else 1.0
    left = max(wanted - judged, 0) / (rate * share) * 3600 if rate and share else None
    return FigureProgress(judged, wanted, total - judged, judges, recent, rate, left)


def dashboard(connection: sqlite3.Connection, settings: CampaignSettings) -> dict[str, Any]:
    """Return the values of the owner's page."""
    stored = result(connection, "figures")
    figures = json.loads(stored["value"]) if stored is not None else None
    now = time.time()
    people = [
        {"code": row["code"], "open": row["token"] is not None and row["expires"] > now, "judged": row["judged"]}
        for row in connection.execute(
            "SELECT code, token, expires, (SELECT count(*) FROM assignment WHERE judge = person.id "
            "AND answer IS NOT NULL) AS judged FROM person WHERE role = ? ORDER BY code",
            (JUDGE,),
        )
    ]
    known = {judge["code"]: judge for judge in figures["judges"]} if figures else {}
    return {
        "settings": settings,
        "progress": progress_of(connection),
        "people": [{**person, "quality": known.get(person["code"])} for person in people],
        "figures": figures,
        "as_of": stored["judgements"] if stored is not None else None,
        "age": now - stored["at"] if stored is not None else None,
        "charts": [drawing.systems_chart(ranking) for ranking in figures["rankings"]] if figures else [],
        "curve": drawing.curve_chart(figures["curve"]) if figures and len(figures["curve"]) > 1 else None,
    }


class Background:
    """Asks the background process for figures and queues, when there is something new.

    Parameters
    ----------
    path : path
        The campaign.
    settings : CampaignSettings
    """

    def __init__(self, path: str | Path, settings: CampaignSettings) -> None:
        self._path, self._settings = path, settings
        self._looked = 0.0
        self._counts = {"queue": -1, "figures": -1}
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None

    def wanted(self) -> None:
        """Keep the figures up to date for a while."""
        self._looked = time.monotonic()

    def start(self) -> None:
        """Begin to look for something to do."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End the process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _run(self) -> None:
        connection = connect(self._path)
        try:
            while True:
                count = count_judgements(connection)
                for what in self._due(count):
                    await self._ask(what)
                    self._counts[what] = count
                await asyncio.sleep(_INTERVAL)
        finally:
            connection.close()

    def _due(self, count: int) -> list[str]:
        due = []
        queued = self._counts["queue"]
        if self._settings.next == "active" and (queued < 0 or count - queued >= max(_NEWEST, _NEW * count)):
            due.append("queue")
        looked = self._looked and time.monotonic() - self._looked < _LOOKED
        if looked and count != self._counts["figures"]:
            due.append("figures")
        return due

    async def _ask(self, what: str) -> None:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ranker.collect.worker", str(self._path)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{what}\n".encode())
            await self._process.stdin.drain()
            answer = (await self._process.stdout.readline()).decode().strip()
        except ConnectionError:
            answer = ""
        if answer != "done":
            _LOG.warning("ranker: note: %s", answer or "the background process ended and is being restarted")
