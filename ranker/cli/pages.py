"""Options of commands that write a page, and how the page is written and opened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from ranker.cli.output import print_note
from ranker.errors import OptionError

HtmlOption = Annotated[
    Path | None,
    Option("--html", help="Also write a report as one self-contained HTML file, complete before the result is."),
]
OpenOption = Annotated[bool, Option("--open", help="Open the report in a web browser.")]


def check_page(html: Path | None, plots: Path | None = None, *, opened: bool) -> None:
    """Refuse to begin where no page could be written."""
    if html is None:
        if opened:
            raise OptionError("--open needs a report: add --html FILE")
        return
    from ranker.reports.pages import check_targets
    from ranker.reports.plots.drawing import require

    require()
    check_targets(html, plots)


def write_html(html: Path, page: str) -> None:
    """Write a page."""
    from ranker.files import write_bytes

    write_bytes(html, page.encode())


def show_page(html: Path | None, *, opened: bool) -> None:
    """Tell the user that a page is written, and open it in a web browser if that is asked for."""
    if html is not None:
        print_note(f"written: {html}")
        if opened:
            open_page(html)


def open_page(html: Path) -> None:
    """Open a page in a web browser, or tell the user that there is none."""
    import webbrowser

    if not webbrowser.open(html.resolve().as_uri()):
        print_note(f"no web browser found; open {html} manually")
