"""Plot types: rows with intervals, significant differences, and labelled points."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.reports.drawing import GRID, INK, MUTED, PAPER, SERIES, Plot, shortened

MARKERS = ("o", "s", "^")
_LEGEND = 44


@dataclass(frozen=True)
class Series:
    """Estimates to draw, one per row."""

    name: str
    estimates: tuple[Estimate, ...]


def rows_plot(
    name: str,
    title: str,
    description: str,
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    axis: str,
    bars: bool = False,
    zero: bool = True,
    breaks: Sequence[int] = (),
) -> Plot:
    """Draw estimates with their intervals, one per row, each below its label."""
    # names that are too long for one row of the legend get a row each
    legend_rows = 1 if sum(len(entry.name) + 4 for entry in series) <= _LEGEND else len(series)
    # distance of rows, in lines of text
    pitch = 1.25 + 0.62 * len(series)

    def paint(axes: Any) -> None:
        for number, entry in enumerate(series):
            values, lows, highs = (
                np.array([getattr(estimate, part) for estimate in entry.estimates]) for part in ("value", "low", "high")
            )
            heights = np.arange(len(labels)) * pitch + 0.86 + 0.62 * number
            colour = SERIES[number]
            label = shortened(entry.name, _LEGEND) if len(series) > 1 else None
            if bars:
                axes.barh(heights, values, height=0.5, color=colour, alpha=0.55, label=label)
            axes.hlines(heights, lows, highs, color=INK if bars else colour, linewidth=1.6)
            if not bars:
                axes.plot(values, heights, MARKERS[number], color=colour, markersize=5, label=label)
        for row, label in enumerate(labels):
            axes.annotate(
                shortened(label),
                (0, row * pitch),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=9.5,
                bbox={"boxstyle": "square,pad=0.12", "facecolor": PAPER, "edgecolor": "none"},
            )
        if zero:
            axes.axvline(0, color=MUTED, linewidth=1)
        for row in breaks:
            axes.axhline(row * pitch - 0.66, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_ylim(len(labels) * pitch - 0.5, -0.65)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel(shortened(axis))
        if len(series) > 1:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(series) // legend_rows)

    lines = len(labels) * pitch + 0.15
    return Plot(
        name, title, description, 0.62 + 0.19 * lines + (0.05 + 0.2 * legend_rows if len(series) > 1 else 0.0), paint
    )


def wins_plot(name: str, title: str, description: str, names: Sequence[str], ahead: Container[tuple[str, str]]) -> Plot:
    """Draw significant differences: a filled square where the row is significantly better than the column."""
    size = len(names)
    won = [[column for column, other in enumerate(names) if (name, other) in ahead] for name in names]

    def paint(axes: Any) -> None:
        for row in range(size):
            axes.broken_barh([(row, 1)], (row, 1), color=GRID, linewidth=0)
            axes.broken_barh([(column, 1) for column in won[row]], (row, 1), color=SERIES[0], linewidth=0)
        lines = range(1, size)
        axes.hlines(lines, 0, size, color=PAPER, linewidth=1.4)
        axes.vlines(lines, 0, size, color=PAPER, linewidth=1.4)
        ticks = [place + 0.5 for place in range(size)]
        every = 1 + size // 12
        axes.set_xticks(ticks[::every], [str(place + 1) for place in range(size)][::every])
        axes.set_yticks(ticks, [f"{shortened(name, 26)}  {place + 1}" for place, name in enumerate(names)])
        axes.set_xlim(0, size)
        axes.set_ylim(size, 0)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelsize=9)
        for side in axes.spines.values():
            side.set_visible(True)
            side.set_color(INK)
            side.set_linewidth(0.6)

    wins = "; ".join(f"{system} beats {len(row)}" for system, row in zip(names, won, strict=True))
    return Plot(name, title, f"{description} {wins}.", 0.5 + 0.24 * size, paint)


def points_plot(
    name: str, title: str, description: str, points: Mapping[str, tuple[float, float]], *, x_axis: str, y_axis: str
) -> Plot:
    """Draw points with short labels above them."""

    def paint(axes: Any) -> None:
        axes.plot(*zip(*points.values(), strict=True), MARKERS[0], color=SERIES[0], markersize=5)
        for label, point in points.items():
            axes.annotate(label, point, (0, 4), textcoords="offset points", fontsize=8.5, ha="center")
        axes.set_xlabel(shortened(x_axis))
        axes.set_ylabel(shortened(y_axis))
        axes.margins(0.12)
        axes.locator_params(nbins=6)
        axes.grid()
        axes.set_axisbelow(True)

    return Plot(name, title, description, 3.2 + 0.06 * len(points), paint)
