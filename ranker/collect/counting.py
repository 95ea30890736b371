"""Counts what is done in a campaign and what is left."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import Any

from ranker.collect.access import JUDGE
from ranker.collect.campaign import count_counted, count_judgements
from ranker.collect.tables import PLAIN

_RATE_WINDOWS = (600.0, 3600.0, 86_400.0)


@dataclass(frozen=True)
class CampaignProgress:
    """Counts of a campaign: `further` answers are checks, `rate` is per hour, `left` in seconds at that rate."""

    judged: int
    wanted: int
    further: int
    judges: int
    active: int
    rate: float | None
    left: float | None


def progress_of(connection: sqlite3.Connection) -> CampaignProgress:
    """Count what is done and what is left."""

    def count(query: str, *values: object) -> Any:
        return connection.execute(query, values).fetchone()[0]

    wanted = count("SELECT coalesce(sum(wanted), 0) FROM item WHERE role = ?", PLAIN)
    judged, total, now = count_counted(connection), count_judgements(connection), time.time()
    judges = count("SELECT count(*) FROM person WHERE role = ?", JUDGE)
    active = count(
        "SELECT count(DISTINCT judge) FROM judgement JOIN assignment ON assignment.id = assignment "
        "WHERE judgement.at > ? AND judgement.id > (SELECT coalesce(max(id), 0) FROM judgement) - 20000",
        now - _RATE_WINDOWS[0],
    )
    rate = None
    start = count("SELECT min(at) FROM judgement")
    for window in _RATE_WINDOWS:
        recent = count("SELECT count(*) FROM judgement WHERE at > ?", now - window)
        if recent >= 5:
            rate = 3600 * recent / max(min(window, now - start), 1.0)
            break
    share = judged / total if total else 1.0
    left = max(wanted - judged, 0) / (rate * share) * 3600 if rate and share else None
    return CampaignProgress(judged, wanted, total - judged, judges, active, rate, left)
