"""Plot types: rows with intervals, heat maps, and labelled points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranker.arrays import FloatArray
from ranker.evaluation.bootstrap import Estimate
from ranker.reports.plots.drawing import GRID, INK, MUTED, PAPER, SERIES, Plot, shortened

MARKERS = ("o", "s", "^")
SHADES = 8
"""Of a colour in a heat map."""
LINE = 11.0
"""Height of a small label, in the units of the plot."""
LETTER = 5.6
"""Width of its letters."""
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


def heat_map(
    name: str,
    title: str,
    description: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: FloatArray,
    *,
    largest: float,
    decimals: int = 2,
) -> Plot:
    """Draw a table of values around 0 as coloured squares with the values in them."""
    high, wide = len(rows), len(columns)
    written = wide <= 12

    def paint(axes: Any) -> None:
        for row in range(high):
            for column in range(wide):
                value = values[row, column]
                if not np.isfinite(value):
                    continue
                shade = round(SHADES * min(1.0, abs(value) / largest)) / SHADES if largest > 0 else 0.0
                colour = SERIES[0] if value > 0 else SERIES[1]
                axes.broken_barh([(column, 1)], (row, 1), color=colour, linewidth=0, alpha=0.6 * shade)
                if written:
                    axes.annotate(
                        f"{value + 0.0:.{decimals}f}", (column + 0.5, row + 0.5), ha="center", va="center", fontsize=7.5
                    )
        every = 1 + wide // 13
        axes.set_xticks([place + 0.5 for place in range(wide)][::every], list(columns)[::every])
        axes.set_yticks([place + 0.5 for place in range(high)], [shortened(label, 26) for label in rows])
        axes.set_xlim(0, wide)
        axes.set_ylim(high, 0)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelsize=8)
        for side in axes.spines.values():
            side.set_visible(False)

    return Plot(name, title, description, 0.5 + 0.22 * high, paint)


def wins_plot(name: str, title: str, description: str, names: Sequence[str], ahead: Sequence[Sequence[bool]]) -> Plot:
    """Draw significant differences: a filled square where the row is significantly better than the column."""
    size = len(names)

    def paint(axes: Any) -> None:
        for row in range(size):
            axes.broken_barh([(row, 1)], (row, 1), color=GRID, linewidth=0)
            won = [(column, 1) for column in range(size) if ahead[row][column]]
            axes.broken_barh(won, (row, 1), color=SERIES[0], linewidth=0)
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

    wins = "; ".join(f"{system} beats {sum(row)}" for system, row in zip(names, ahead, strict=True))
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
    """Place a label near every point without covering other labels or points."""
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    positions: list[FloatArray | None] = []
    for (x, y), label in zip(points, labels, strict=True):
        size = LETTER * len(label)
        chosen = None
        for away in range(12):
            reach = 5 + 7.0 * away
            corners = [
                (x + reach, y - LINE / 2),
                (x - reach - size, y - LINE / 2),
                (x - size / 2, y + reach),
                (x - size / 2, y - reach - LINE),
                (x + reach, y + reach),
                (x - reach - size, y + reach),
                (x + reach, y - reach - LINE),
                (x - reach - size, y - reach - LINE),
            ]
            for left, bottom in corners:
                box = (left, bottom, left + size, bottom + LINE)
                inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
                if inside and not any(_overlap(box, taken_box) for taken_box in taken):
                    chosen = np.array([left, bottom])
                    taken.append(box)
                    break
            if chosen is not None:
                break
        positions.append(chosen)
    return positions


def _overlap(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]
