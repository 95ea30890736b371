"""Writes reports: one page of HTML that needs nothing else, and its plots as files."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ranker.errors import DataError
from ranker.files import display_name, write_bytes
from ranker.reports import charts, comparison_charts
from ranker.reports.drawing import Plot, require
from ranker.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from ranker.evaluation.bootstrap import Estimate
    from ranker.evaluation.compare.result import Comparison
    from ranker.reports.findings import RankerFindings

TINTS = 4
"""Shades of a contribution, on either side of 0."""

_FIRST_BYTES = b"<!DOCTYPE html>"
SAME_WEIGHTS = 1e-6
"""Weights further apart than this were learnt in different ways."""

SORTS = {
    "worst": "Worst: the lowest correlation with people",
    "best": "Best: the highest correlation with people",
    "random": "At random, of the others",
}


def ranker_report(findings: RankerFindings) -> tuple[str, dict[str, Plot]]:
    """Write the report of a trained ranker.

    Returns
    -------
    page : str
        HTML; equal findings give equal text.
    plots : dict
        The plots in it, by name.

    Raises
    ------
    MissingError
        If jinja2 or matplotlib is not installed.
    """
    require()
    plots = charts.plots(findings)
    page = (
        _environment()
        .get_template("ranker.html")
        .render(
            title="Ranker report: " + " + ".join(one.dataset.name for one in findings.measured),
            version=VERSION,
            findings=findings,
            ranker=findings.ranker,
            training=findings.training,
            lost={one.extractor: one for one in findings.ablations},
            extractors=[str(one) for one in findings.ranker.feature_set.extractors],
            headline=charts.headline,
            statistics=charts.statistics,
            deviates=findings.deviation > SAME_WEIGHTS,
            plots=plots,
            sorts=SORTS,
        )
    )
    return page, plots


def comparison_report(comparison: Comparison) -> tuple[str, dict[str, Plot]]:
    """Write the report of a comparison; returns and raises as `ranker_report`."""
    require()
    main = comparison.main_scope
    names = dict.fromkeys(scope.data for scope in comparison.scopes if scope.data)
    # of the figures shown by default there are plots, of the others tables
    shown = [one for one in comparison.statistics if one.shown] or list(comparison.statistics)
    standings, wins = {}, {}
    for number, statistic in enumerate(shown, 1):
        if not any(
            (cell := comparison.cell(statistic.id, main.id, one.name)) and cell.rank for one in comparison.metrics
        ):
            continue
        standings[statistic.id] = comparison_charts.standings(comparison, statistic, main, number)
        contest = comparison.contest(statistic.id, main.id)
        if contest:
            wins[statistic.id] = comparison_charts.win_matrix(comparison, contest, statistic, main, number)
    several = len(comparison.scopes) > 1 and shown[0].id in standings
    by_scope = comparison_charts.scopes(comparison, shown[0]) if several else None
    page = (
        _environment()
        .get_template("comparison.html")
        .render(
            title=f"Comparison of {len(comparison.metrics)} metrics on {', '.join(names)}",
            version=VERSION,
            comparison=comparison,
            main=main,
            shown=shown,
            standings=standings,
            wins=wins,
            by_scope=by_scope,
            leading=min(comparison_charts.LEADING, len(comparison.metrics)),
            in_order=comparison_charts.in_order,
        )
    )
    made = (*standings.values(), *wins.values(), *([by_scope] if by_scope else []))
    return page, {plot.name: plot for plot in made}


def check_targets(page: Path, plots: Path | None) -> None:
    """Refuse to begin where a report could not be written, or would replace something else.

    Raises
    ------
    DataError
    """
    name = display_name(page)
    try:
        if page.is_dir():
            raise DataError("is a directory, expected the name of a page to write", file=name)
        if page.exists() and not page.read_bytes().startswith(_FIRST_BYTES):
            raise DataError("exists and is no HTML page; remove it or choose another name", file=name)
        if not page.parent.is_dir():
            raise DataError(f"cannot be written: there is no directory {display_name(page.parent)}", file=name)
        if plots and plots.exists() and not plots.is_dir():
            raise DataError("is no directory; choose another name for the plots", file=display_name(plots))
        if plots and not plots.parent.is_dir():
            missing = display_name(plots.parent)
            raise DataError(f"cannot be made: there is no directory {missing}", file=display_name(plots))
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", file=name) from None


def write_plots(plots: Mapping[str, Plot], directory: str | Path) -> list[Path]:
    """Write every plot as ``NAME.svg`` and ``NAME.png`` to a directory, made if need be; return the files.

    Raises
    ------
    DataError
        If the directory cannot be made or written to.
    """
    folder = Path(directory)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror or error}", file=display_name(folder)) from None
    written = []
    for name, plot in plots.items():
        for path, raw in ((folder / f"{name}.svg", plot.svg()), (folder / f"{name}.png", plot.png())):
            write_bytes(path, raw)
            written.append(path)
    return written


@functools.cache
def _environment() -> Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ranker.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=_number,
        signed=_signed,
        percent=_percent,
        estimate=_estimate,
        breakable=_breakable,
        largest=_largest,
        tint=_tint,
    )
    return environment


def _number(value: float | None, decimals: int = 3) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value + 0.0:.{decimals}f}"


def _signed(value: float | None, decimals: int = 3) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value + 0.0:+.{decimals}f}"


def _percent(value: float) -> str:
    return "–" if not math.isfinite(value) else f"{100 * value:.1f} %"


def _interval(estimate: Estimate, decimals: int) -> str:
    known = math.isfinite(estimate.low) and math.isfinite(estimate.high)
    return f"[{estimate.low:.{decimals}f}, {estimate.high:.{decimals}f}]" if known else ""


def _breakable(name: object) -> Markup:
    """Allow a name or a signature to go on in the next line after a comma, a bracket or a bar."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([,|\[])", r"\1<wbr>", str(escape(name))))


def _estimate(estimate: Estimate, decimals: int = 3) -> Markup:
    """Write a figure and its interval on a line below."""
    from markupsafe import Markup

    interval = _interval(estimate, decimals)
    below = f' <span class="interval">{interval}</span>' if interval else ""
    return Markup(f"{_number(estimate.value, decimals)}{below}")


def _largest(values: Sequence[float]) -> float:
    return max(map(abs, values), default=0.0)


def _tint(value: float, largest: float) -> str:
    """Return the class of a contribution: ``up1`` to ``up4`` above 0, ``down1`` to ``down4`` below, none near 0."""
    shade = round(TINTS * abs(value) / largest) if largest > 0 else 0
    return f"{'up' if value > 0 else 'down'}{shade}" if shade else ""
