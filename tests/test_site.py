"""The site that `make docs` writes: complete, quiet, and without a request to another computer."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parents[1] / "site"
pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="no site here: make docs")
PAGES = ["index", "guide", "explanation/significance", "leaderboard", "reference/metrics/bleu", "reference/python"]
LOADED = re.compile(r"<(?:script|link|img|iframe|source|video|audio)\b[^>]*?\b(?:src|href|srcset)=[\"']?([^\"'\s>]+)")
FETCHED = re.compile(r"url\(\s*[\"']?((?:https?:)?//[^)\"']*)|@import\s+[\"']?((?:https?:)?//[^)\"']*)")
"""What a style sheet makes a browser fetch from elsewhere."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_nothing_is_loaded_from_elsewhere():
    pages = list(SITE.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert [item for item in LOADED.findall(text) if re.match("(https?:)?//", item)] == [], page
        assert not FETCHED.search(text), page
    for sheet in SITE.rglob("*.css"):
        assert not FETCHED.search(sheet.read_text(encoding="utf-8")), sheet


def test_every_formula_is_rendered():
    texts = {page: page.read_text(encoding="utf-8") for page in SITE.rglob("*.html")}
    assert [page for page, text in texts.items() if ":math:" in text or ".. math::" in text or "$`" in text] == []
    assert "<math" in texts[SITE / "reference" / "metrics" / "bleu.html"]
    assert "<math" in texts[SITE / "explanation" / "ranking-svm.html"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_quiet_and_fit_the_screen(address, browser, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda item: item.url.startswith((address, "data:", "blob:")) or heard.append(item.url))
    page.on("response", lambda item: item.status < 400 or heard.append(f"{item.status} {item.url}"))
    for name in PAGES:
        page.goto(f"{address}/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        assert page.evaluate("document.body.dataset.mdColorScheme") == ("slate" if scheme == "dark" else "default")
    page.keyboard.press("/")
    page.keyboard.type("perplexity", delay=20)
    page.wait_for_selector(".md-search-result__item", timeout=60_000)
    assert heard == []
    context.close()
