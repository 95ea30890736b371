"""Assembly of sections into a page: one self-contained HTML file, and its plots as files."""

from __future__ import annotations

import base64
import functools
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ranker.errors import DataError
from ranker.files import check_target, display_name, printable, unwritable, write_together
from ranker.reports.drawing import Plot
from ranker.reports.texts import LONG, START, visible
from ranker.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from ranker.evaluation.resampling.bootstrap import Estimate

TINTS = 4
"""Number of shades for contributions, on either side of 0."""
_FIRST_BYTES = b"<!DOCTYPE html>"


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    name: str
    title: str
    body: Markup
    plots: tuple[Plot, ...] = ()
    link: str = ""


def section(
    template: str,
    name: str,
    title: str,
    *,
    plots: Sequence[Plot] = (),
    link: str = "",
    **values: Any,
) -> Section:
    """Create a section from a template with `name`, `plots` and `values` as variables."""
    body = fragment(template, name=name, plots=plots, **values)
    return Section(name, title, body, tuple(plots), link or title)


def fragment(template: str, **values: Any) -> Markup:
    """Render a template with `values` as variables."""
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(**values))


def write_page(title: str, lead: Markup, sections: Sequence[Section]) -> tuple[str, dict[str, Plot]]:
    """Assemble a page from sections."""
    environment = _environment()
    parts = {name: _source(environment, name) for name in ("style.css", "report.js")}
    page = environment.get_template("page.html").render(
        title=title,
        # a browser tab's title has no elements that could isolate the direction of writing
        tab_title=printable(visible(title)),
        lead=lead,
        sections=sections,
        style=parts["style.css"],
        style_hash=_policy_hash(parts["style.css"]),
        script=parts["report.js"],
        script_hash=_policy_hash(parts["report.js"]),
        version=VERSION,
    )
    return page, {plot.name: plot for each in sections for plot in each.plots}


def _source(environment: Environment, name: str) -> Markup:
    from markupsafe import Markup

    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def _policy_hash(text: str) -> str:
    """Return the hash by which a content security policy allows an element with exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def check_targets(page: Path, plots: Path | None) -> None:
    """Check that a report can be written without replacing another kind of file, and create the folder `plots`."""
    name = display_name(page)
    try:
        if page.is_dir():
            raise DataError("is a directory; expected the name of an HTML file", file=name)
        check_target(page)
        if page.exists() and not page.read_bytes().startswith(_FIRST_BYTES):
            raise DataError("already exists and is not an HTML file; delete it or choose another name", file=name)
    except OSError as error:
        raise unwritable(page, error) from None
    if plots is not None:
        _create(plots)


def _create(plots: Path) -> None:
    """Create the directory for plots if it does not exist."""
    try:
        plots.mkdir(exist_ok=True)
    except OSError as error:
        what = f"cannot be created: {error.strerror or error}; choose another directory for the plots"
        raise DataError(what, file=display_name(plots)) from None


def write_plots(plots: Mapping[str, Plot], directory: str | Path) -> list[Path]:
    """Write every plot as ``NAME.svg`` and ``NAME.png`` to a directory, created if necessary; return the files."""
    folder = Path(directory)
    _create(folder)
    files: dict[Path, bytes] = {}
    for name, plot in plots.items():
        files |= {folder / f"{name}.svg": plot.svg(), folder / f"{name}.png": plot.png()}
    write_together(files)
    return list(files)


@functools.cache
def _environment() -> Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ranker.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.globals.update(LONG=LONG, START=START)
    environment.filters.update(
        number=_number,
        signed=functools.partial(_number, sign="+"),
        percent=_percent,
        estimate=_estimate,
        breakable=_breakable,
        largest=_largest,
        tint=_tint,
        isolated=_isolated,
        address=_address,
    )
    return environment


def _finalize(value: object) -> object:
    """Prepare a value for a page: make control characters in plain text visible, leave markup unchanged."""
    from markupsafe import Markup

    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _isolated(text: object) -> Markup:
    """Isolate the writing direction of a name or text from its surroundings."""
    from markupsafe import Markup, escape

    return Markup(f"<bdi>{escape(visible(str(text)))}</bdi>")


def _address(key: str) -> str:
    """Return the link to the source with this key."""
    return f"#s={quote(key, safe='/')}"


def _number(value: float | None, decimals: int = 3, *, sign: str = "") -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value + 0.0:{sign}.{decimals}f}"


def _percent(value: float) -> str:
    return "–" if not math.isfinite(value) else f"{100 * value:.1f}%"


def _breakable(name: object) -> Markup:
    """Allow line breaks in a name or signature after commas, opening square brackets and bars."""
    from markupsafe import Markup, escape

    broken = re.sub(r"([,|\[])", r"\1<wbr>", str(escape(visible(str(name)))))
    return Markup(f"<bdi>{broken}</bdi>")


def _estimate(estimate: Estimate, decimals: int = 3, *, signed: bool = False) -> Markup:
    """Format a figure, with its interval on the line below."""
    from markupsafe import Markup

    value, low, high = (
        _number(each, decimals, sign="+" if signed else "") for each in (estimate.value, estimate.low, estimate.high)
    )
    known = math.isfinite(estimate.low) and math.isfinite(estimate.high)
    return Markup(f'{value} <span class="interval">[{low}, {high}]</span>' if known else value)


def _largest(values: Sequence[float]) -> float:
    return max(map(abs, values), default=0.0)


def _tint(value: float, largest: float) -> str:
    """Return the CSS class of a number: ``up1`` to ``up4`` above 0, ``down1`` to ``down4`` below, empty near 0."""
    shade = round(TINTS * abs(value) / largest) if largest > 0 and math.isfinite(value) else 0
    return f"{'up' if value > 0 else 'down'}{shade}" if shade else ""
