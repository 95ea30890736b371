"""Plots as files and as parts of a page: reproducible byte for byte, with colours that follow the page."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ranker.errors import MissingError
from ranker.reports.texts import on_one_line

INK, MUTED, GRID = "#1c2126", "#59636e", "#d5dae0"
SERIES = ("#1f5fa8", "#b3500a", "#4b7a1f")
"""Colours of series, which also have different markers."""
PAPER = "#fdfdfc"
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    SERIES[0]: "--series-1",
    SERIES[1]: "--series-2",
    SERIES[2]: "--series-3",
    PAPER: "--paper",
}
"""Custom properties of the page's style sheet for the colours of a plot."""
WIDTH = 5.0
"""Width of plots in inches, at 72 units per inch about that of a phone's screen."""
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
    # room for the fonts of pages, which are taller than the font of plots
    "xtick.major.pad": 6.0,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "axes.unicode_minus": True,
}
_LABEL = 56
_DROPPED = {"font-family"}


@dataclass(frozen=True, eq=False)
class Plot:
    """A plot with a text alternative."""

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
        text = re.sub(r" id=\"([^\"]+)\"", lambda match: match[0] if match[1] in used else "", text)
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


def shortened(label: str, length: int = _LABEL) -> str:
    """Return a label that fits on one line, truncated if necessary."""
    label = on_one_line(label)
    return label if len(label) <= length else f"{label[: length - 1]}…"


def require() -> None:
    """Raise an error unless the packages that reports need are installed."""
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
    return MissingError(f"reports require {package}: pip install 'mt-ranker[report]'")


def _attributes(match: re.Match[str]) -> str:
    """Rewrite the declarations of a ``style`` attribute as separate attributes."""
    declared = (declaration.partition(":") for declaration in html.unescape(match[1]).split(";") if declaration.strip())
    pairs = [(name.strip(), value.strip()) for name, _, value in declared]
    return "".join(f' {name}="{html.escape(value)}"' for name, value in pairs if name not in _DROPPED)


def _compact(text: str) -> str:
    """Remove white space and comments that a drawing does not need."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r" xmlns(?::\w+)?=\"[^\"]+\"", "", text)
    return re.sub(r">\s+<", "><", text).strip()
