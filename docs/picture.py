"""Makes ``assets/report.png``: the beginning of the page that ``ranker systems`` writes about the bundled sample.

Needs Chromium, playwright and Pillow, which the tests and plots need too: ``python docs/picture.py``.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from ranker.cli.main import run

PICTURE = Path(__file__).with_name("assets") / "report.png"
SIZE = {"width": 920, "height": 1190}
"""Enough for the table of systems and the two plots below it."""
COLOURS = 32


def page(folder: Path) -> Path:
    """Write the page to `folder` and return it."""
    target = folder / "report.html"
    try:
        run(["--quiet", "systems", "sample", "-m", "chrf", "--html", str(target), "-o", str(folder / "systems.json")])
    except SystemExit as error:
        if error.code:
            raise
    return target


def photograph(target: Path) -> bytes:
    """Return a picture of the top of a page, with few colours so that it is small."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport=SIZE, color_scheme="light")
        opened.goto(target.as_uri())
        shot = opened.screenshot()
        browser.close()
    small = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        PICTURE.write_bytes(photograph(page(Path(directory))))
