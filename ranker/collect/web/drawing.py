"""Charts of the owner's page: coordinates for the templates, which draw them as SVG without any style attribute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 400.0
_LEFT, _RIGHT = 4.0, 14.0
_ROW = 34.0


@dataclass(frozen=True)
class Tick:
    """A mark of an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Bar:
    """A point with its interval."""

    label: str
    note: str
    at: float
    low: float
    high: float
    y: float


@dataclass(frozen=True)
class SystemsChart:
    """Systems of one language pair, best first: their rank and its interval."""

    title: str
    description: str
    bars: list[Bar]
    ticks: list[Tick]
    height: float
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class CurveChart:
    """Spearman's correlation against the number of judgements."""

    description: str
    line: str
    band: str
    points: list[Tick]
    heights: list[float]
    across: list[Tick]
    up: list[Tick]


def systems_chart(ranking: dict[str, Any]) -> SystemsChart:
    """Lay out the ranks of systems; `ranking` is a `HumanRanking` as JSON."""
    rows = ranking["systems"]
    last = max(len(rows), 2)

    def across(rank: int) -> float:
        return float(_LEFT + 8 + (rank - 1) / (last - 1) * (WIDTH - _LEFT - _RIGHT - 8))

    bars = [
        Bar(
            row["system"],
            f"{row['score']:.3f}",
            across(row["rank"]),
            across(row["low"]),
            across(row["high"]),
            round(_ROW * (place + 0.72), 1),
        )
        for place, row in enumerate(rows)
    ]
    step = max(1, math.ceil(last / 8))
    ticks = [Tick(across(rank), str(rank)) for rank in range(1, last + 1, step)]
    best = ", ".join(f"{row['system']} {row['low']} to {row['high']}" for row in rows[:10])
    name = "" if ranking["lp"] == "?" else f" {ranking['lp']}"
    return SystemsChart(f"Systems{name}", f"Rank ranges: {best}", bars, ticks, round(_ROW * len(rows) + 8, 1), rows)


def curve_chart(points: Sequence[dict[str, Any]]) -> CurveChart | None:
    """Lay out a learning curve; `points` have ``judgements``, ``value``, ``low`` and ``high``."""
    known = [point for point in points if point["value"] is not None]
    if len(known) < 2:
        return None
    values = [point[name] for point in known for name in ("value", "low", "high") if point[name] is not None]
    bottom, top = min(0.0, math.floor(min(values) * 5) / 5), min(1.0, math.ceil(max(values) * 5 + 0.01) / 5)
    most = max(point["judgements"] for point in known)

    def x(count: float) -> float:
        return float(36 + count / most * (WIDTH - 36 - 24))

    def y(value: float) -> float:
        return float(190 - (value - bottom) / (top - bottom) * 180)

    line = " ".join(f"{x(point['judgements']):.1f},{y(point['value']):.1f}" for point in known)
    sides = [
        [
            f"{x(point['judgements']):.1f},{y(point['value'] if point[side] is None else point[side]):.1f}"
            for point in known
        ]
        for side in ("low", "high")
    ]
    steps = round((top - bottom) * 5)
    return CurveChart(
        "; ".join(f"{point['judgements']} judgements: {point['value']:.3f}" for point in known),
        line,
        " ".join([*sides[0], *reversed(sides[1])]),
        [Tick(x(point["judgements"]), f"{point['judgements']}") for point in known],
        [y(point["value"]) for point in known],
        [Tick(x(count), f"{count:,}") for count in _round_counts(most)],
        [Tick(y(bottom + step / 5), f"{bottom + step / 5:.1f}") for step in range(steps + 1)],
    )


def _round_counts(most: int) -> list[int]:
    """Return a few round numbers from 0 to `most`."""
    step = 10 ** math.floor(math.log10(max(most, 1)))
    while most / step < 3 and step > 1:
        step = max(1, step // 2)
    return list(range(0, most + 1, int(step)))
