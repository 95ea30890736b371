"""Plot types: rows with intervals, significant differences, and labelled points."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranker.arrays import FloatArray
from ranker.evaluation.bootstrap import Estimate
from ranker.reports.plots.drawing import GRID, INK, MUTED, PAPER, SERIES, Plot, shortened

MARKERS = ("o", "s", "^")
LINE = 11.0
"""Height of a small label, in the units of the plot."""
LETTER = 5.6
"""Width of its letters."""
SIDES = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)])
"""Where a label may be, seen from its point, best first."""
_SMALL = 8.5
_LEGEND = 44
_POINT_LABEL = 24


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
    # names that are too long for one row stand below each other
    legend_rows = 1 if sum(len(entry.name) + 4 for entry in series) <= _LEGEND else len(series)
    # in units of a line of text
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
    name: str,
    title: str,
    description: str,
    labels: Sequence[str],
    x: FloatArray,
    y: FloatArray,
    *,
    x_axis: str,
    y_axis: str,
) -> Plot:
    """Draw points with labels, where these cover no other label or point."""
    height = 3.2 + 0.06 * len(labels)

    def paint(axes: Any) -> None:
        axes.plot(x, y, MARKERS[0], color=SERIES[0], markersize=5)
        axes.set_xlabel(shortened(x_axis))
        axes.set_ylabel(shortened(y_axis))
        axes.margins(0.12)
        axes.locator_params(nbins=6)
        axes.grid()
        axes.set_axisbelow(True)
        # the size of the axes is known only now
        axes.figure.draw_without_rendering()
        box = axes.get_window_extent()
        scale = 72 / axes.figure.dpi
        points = (axes.transData.transform(np.column_stack([x, y])) - (box.x0, box.y0)) * scale
        names = [shortened(label, _POINT_LABEL) for label in labels]
        for name, point, corner in zip(
            names, points, beside(points, names, box.width * scale, box.height * scale), strict=True
        ):
            if corner is None:
                continue
            shift = corner - point
            far = np.hypot(*shift) > 3 * LINE
            axes.annotate(
                name,
                point,
                corner,
                xycoords="axes points",
                textcoords="axes points",
                fontsize=_SMALL,
                va="bottom",
                arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
                if far
                else None,
            ).set_in_layout(False)

    return Plot(name, title, description, height, paint)


def beside(points: FloatArray, labels: Sequence[str], width: float, height: float) -> list[FloatArray | None]:
    """Place the lower left corner of a label near every point; None where it would cover other labels or points."""
    taken = np.concatenate([points - 3, points + 3], axis=1)
    corners: list[FloatArray | None] = []
    for point, label in zip(points, labels, strict=True):
        size = np.array([LETTER * len(label), LINE])
        boxes = (
            np.tile(point + (5 + 7 * away) * side + (side - 1) / 2 * size, 2) + np.append((0.0, 0.0), size)
            for away in range(12)
            for side in SIDES
        )
        free = (
            box
            for box in boxes
            if (box[:2] >= 0).all()
            and (box[2:] <= (width, height)).all()
            and not ((taken[:, :2] < box[2:]) & (box[:2] < taken[:, 2:])).all(axis=1).any()
        )
        chosen = next(free, None)
        corners.append(None if chosen is None else chosen[:2])
        if chosen is not None:
            taken = np.vstack([taken, chosen])
    return corners
