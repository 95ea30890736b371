"""Plots as files and as parts of a page: the same bytes for the same figures, and colours that follow the page."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranker.arrays import FloatArray
from ranker.errors import MissingError
from ranker.reports.texts import on_one_line

if TYPE_CHECKING:
    from ranker.evaluation.bootstrap import Estimate


INK, MUTED, GRID = "#1c2126", "#59636e", "#d5dae0"
SERIES = ("#1f5fa8", "#b3500a", "#4b7a1f")
"""Colours of series, told apart by their markers too."""
PALE = "#c9dcf2"
PAPER = "#fdfdfc"
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    SERIES[0]: "--series-1",
    SERIES[1]: "--series-2",
    SERIES[2]: "--series-3",
    PALE: "--pale",
    PAPER: "--paper",
}
"""Custom properties of the page's style sheet for the colours of a plot."""
MARKERS = ("o", "s", "^")
WIDTH = 5.0
"""Inches; at 72 units an inch about as wide as the screen of a phone."""
_STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "axes.unicode_minus": True,
}
_LABEL = 56
_LEGEND = 44
_POINT_LABEL = 24
SHADES = 8
"""Of a colour in a heat map."""
_SMALL = 8.5
LINE = 11.0
"""Height of a small label, and the width of its letters, in the units of the plot."""
LETTER = 5.6
_DROPPED = {"font-family"}


@dataclass(frozen=True, eq=False)
class Plot:
    """A plot with what a reader who does not see it is told.

    Parameters
    ----------
    name : str
        Unique in a report; the name of its files.
    title : str
    description : str
        What it shows, in words.
    height : float
        Inches.
    paint : callable
        Draws on the axes that it is given.
    """

    name: str
    title: str
    description: str
    height: float
    paint: Callable[[Any], None]

    def svg(self) -> bytes:
        """Return the plot as an SVG file."""
        return self._drawn("svg", {"Date": None, "Creator": None})

    def png(self) -> bytes:
        """Return the plot as a PNG file, twice as large as on a page."""
        return self._drawn("png", {"Software": None})

    def inline(self) -> str:
        """Return the plot as an ``svg`` element whose colours are custom properties of the page."""
        text = self.svg().decode()
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
        text = re.sub(r"<style type=\"text/css\">.*?</style>", "", text, flags=re.DOTALL)
        # the page's policy allows no style attribute
        text = re.sub(r"<[^>]+>", lambda tag: re.sub(r" style=\"([^\"]*)\"", _attributes, tag[0]), text)
        used = set(re.findall(r"(?:href=\"|url\()#([^\")]+)", text))
        text = re.sub(r" id=\"([^\"]+)\"", lambda found: found[0] if found[1] in used else "", text)
        text = re.sub(r"(href=\"#|url\(#| id=\")", rf"\g<1>{self.name}-", text)
        for colour, variable in VARIABLES.items():
            text = text.replace(colour, f"var({variable})")
        label = html.escape(on_one_line(f"{self.title}. {self.description}"))
        head = re.match(r"<svg[^>]*>", text)
        assert head is not None
        box = re.search(r"viewBox=\"[^\"]+\"", head[0])
        assert box is not None
        return f'<svg role="img" aria-label="{label}" {box[0]}>{_compact(text[head.end() :])}'

    def _drawn(self, form: str, metadata: dict[str, None]) -> bytes:
        mpl, figure_class = _matplotlib()
        written = io.BytesIO()
        with mpl.rc_context({**_STYLE, "svg.hashsalt": self.name}), warnings.catch_warnings():
            # names of systems may be in any script; a browser has the letters that matplotlib's font lacks
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure = figure_class(figsize=(WIDTH, self.height), layout="constrained")
            figure.patch.set_alpha(0.0 if form == "svg" else 1.0)
            axes = figure.subplots()
            axes.patch.set_alpha(0.0)
            self.paint(axes)
            figure.savefig(written, format=form, metadata=metadata, dpi=144 if form == "png" else 72)
        return written.getvalue()


@dataclass(frozen=True)
class Series:
    """Estimates to draw beside each other, one a row.

    Parameters
    ----------
    name : str
    estimates : tuple of Estimate
    """

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
) -> Plot:
    """Draw estimates with their intervals, a row each, under a label of its own line.

    Parameters
    ----------
    name, title, description : str
        Of the plot.
    labels : sequence of str
        By row, from the top.
    series : sequence of Series
        At most three.
    axis : str
        What the values are.
    bars : bool, default False
        Bars from 0 instead of points.
    zero : bool, default True
        Draw a line at 0, so that it is in sight.
    """
    # names that are too long for one row stand below each other
    legend_rows = 1 if sum(len(one.name) + 4 for one in series) <= _LEGEND else len(series)
    # in units of a line of text
    pitch = 1.25 + 0.62 * len(series)

    def paint(axes: Any) -> None:
        for number, one in enumerate(series):
            values, lows, highs = (
                np.array([getattr(estimate, part) for estimate in one.estimates]) for part in ("value", "low", "high")
            )
            heights = np.arange(len(labels)) * pitch + 0.86 + 0.62 * number
            colour = SERIES[number]
            label = shortened(one.name, _LEGEND) if len(series) > 1 else None
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
        axes.set_ylim(len(labels) * pitch - 0.5, -0.65)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel(axis)
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
    """Draw a table of values around 0 as coloured squares with the values in them.

    Parameters
    ----------
    name, title, description : str
        Of the plot.
    rows : sequence of str
        From the top.
    columns : sequence of str
        Heads; those that are longer than four characters are better numbers of rows.
    values : float array, shape (rows, columns)
        NaN leaves a square empty.
    largest : float
        Value of the strongest colour.
    decimals : int
        Of the values; they are left out where the squares are too small.
    """
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
        every = 1 + wide // 24
        axes.set_xticks([place + 0.5 for place in range(wide)][::every], list(columns)[::every])
        axes.set_yticks([place + 0.5 for place in range(high)], [shortened(one, 26) for one in rows])
        axes.set_xlim(0, wide)
        axes.set_ylim(high, 0)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelsize=8)
        for side in axes.spines.values():
            side.set_visible(False)

    return Plot(name, title, description, 0.5 + 0.22 * high, paint)


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
    """Draw points, each with its label where that covers no other label and no point."""
    height = 3.2 + 0.06 * len(labels)

    def paint(axes: Any) -> None:
        axes.plot(x, y, MARKERS[0], color=SERIES[0], markersize=5)
        axes.set_xlabel(x_axis)
        axes.set_ylabel(y_axis)
        axes.margins(0.12)
        axes.locator_params(nbins=6)
        axes.grid()
        axes.set_axisbelow(True)
        # the size of the axes is known only now
        axes.figure.draw_without_rendering()
        box = axes.get_window_extent()
        scale = 72 / axes.figure.dpi
        points = (axes.transData.transform(np.column_stack([x, y])) - (box.x0, box.y0)) * scale
        names = [shortened(one, _POINT_LABEL) for one in labels]
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
    """Find a place for the label of every point: as near as can be, on no other label and no point.

    Parameters
    ----------
    points : float array, shape (points, 2)
        In units of 1/72 inch, from the lower left corner.
    labels : sequence of str
    width, height : float
        Of what there is to write on.

    Returns
    -------
    list of float array, shape (2,), or None
        Lower left corner of every label; None if there is no place for it.
    """
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    found: list[FloatArray | None] = []
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
                if inside and not any(_overlap(box, other) for other in taken):
                    chosen = np.array([left, bottom])
                    taken.append(box)
                    break
            if chosen is not None:
                break
        found.append(chosen)
    return found


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def shortened(label: str, length: int = _LABEL) -> str:
    """Return a label that fits on one line, its end cut off if need be."""
    label = on_one_line(label)
    return label if len(label) <= length else f"{label[: length - 1]}…"


def require() -> None:
    """Refuse to begin a report that could not be written.

    Raises
    ------
    MissingError
        If matplotlib or jinja2 is not installed.
    """
    _matplotlib()
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise _missing("jinja2") from None


def _matplotlib() -> tuple[Any, Any]:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise _missing("matplotlib") from None
    return mpl, Figure


def _missing(package: str) -> MissingError:
    return MissingError(f"reports need {package}: pip install 'ranker[report]'")


def _attributes(found: re.Match[str]) -> str:
    """Write the declarations of a ``style`` attribute as attributes of their own."""
    declared = (one.partition(":") for one in html.unescape(found[1]).split(";") if one.strip())
    pairs = [(name.strip(), value.strip()) for name, _, value in declared]
    return "".join(f' {name}="{html.escape(value)}"' for name, value in pairs if name not in _DROPPED)


def _compact(text: str) -> str:
    """Drop the white space and the comments that a drawing does not need."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r" xmlns(?::\w+)?=\"[^\"]+\"", "", text)
    return re.sub(r">\s+<", "><", text).strip()
