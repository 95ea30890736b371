"""Options of commands that write an HTML page, and the writing of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from ranker.cli.output import print_note

HtmlOption = Annotated[
    Path | None,
    Option("--html", help="Also write a report as one self-contained HTML file, before the result is printed."),
]


def check_page(html: Path | None, plots: Path | None = None) -> None:
    """Refuse, before anything is computed, options or a path for which no page can be written."""
    if html is None:
        return
    from ranker.reports.drawing import require
    from ranker.reports.pages import check_targets

    require()
    check_targets(html, plots)


def write_html(html: Path, page: str) -> None:
    """Write an HTML page to the file `html`, encoded in UTF-8."""
    from ranker.files import write_bytes

    write_bytes(html, page.encode())


def show_page(html: Path | None) -> None:
    """Tell the user that the page has been written."""
    if html is not None:
        print_note(f"written: {html}")
