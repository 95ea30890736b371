"""The pages as a browser lays them out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from ranker.evaluation.compare.result import Comparison
from ranker.reports.pages import comparison_report, ranker_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
# a window cannot be as narrow as a phone, a frame can; the page itself may not run scripts, its parent may
FRAME = """<!DOCTYPE html><style>iframe {{ border: 0 }}</style>
<iframe id="frame" src="report.html" style="width:{width}px;height:800px"></iframe>
<script>
frame.onload = () => {{
  const page = frame.contentDocument, root = page.documentElement, said = {{}};
  page.querySelectorAll("details").forEach(one => one.open = true);
  said.title = page.title;
  said.width = root.clientWidth;
  said.scrolled = root.scrollWidth;
  said.outside = [...page.body.querySelectorAll("*")].filter(one => !one.closest(".scroll, .skip")
    && one.getBoundingClientRect().right > root.clientWidth + 1).map(one => one.outerHTML.slice(0, 80));
  said.overlaps = [];
  said.small = [];
  for (const svg of page.querySelectorAll("svg")) {{
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map(one => [one.textContent, one.getBoundingClientRect()]);
    texts.forEach(([name, a], index) => {{
      if (a.left < frame.left - 2 || a.right > frame.right + 2) said.outside.push(name);
      for (const [other, b] of texts.slice(index + 1))
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
          && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2) said.overlaps.push(name + " | " + other);
    }});
    if (texts.length && texts[0][1].height < 8) said.small.push(texts[0][0]);
  }}
  document.title = JSON.stringify(said);
}};
</script>"""


def browse(folder, address, *options):
    assert CHROMIUM
    done = subprocess.run(
        [
            *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *("--allow-file-access-from-files", "--no-first-run", f"--user-data-dir={folder / 'profile'}"),
            *("--virtual-time-budget=3000", *options, f"file://{folder / address}"),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not console, console
    return done.stdout


@pytest.fixture(scope="module", params=["preferred_findings", "compared"])
def folder(request, tmp_path_factory):
    found = request.getfixturevalue(request.param)
    text, _ = (comparison_report if isinstance(found, Comparison) else ranker_report)(found)
    made = tmp_path_factory.mktemp("browser")
    (made / "report.html").write_text(text, encoding="utf-8")
    return made


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_overlaps_and_the_page_does_not_scroll_sideways(folder, width):
    (folder / "frame.html").write_text(FRAME.format(width=width), encoding="utf-8")
    dumped = browse(folder, "frame.html", "--window-size=1400,900", "--dump-dom")
    title = re.search(r"<title>(.*?)</title>", dumped, flags=re.DOTALL)
    assert title, dumped[:300]
    said = json.loads(title[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    # the evil name would have changed it
    assert said["title"].startswith(("Ranker report", "Comparison"))
    assert said["scrolled"] <= said["width"] <= width
    assert not said["outside"]
    assert not said["overlaps"]
    assert not said["small"]


def test_printing_opens_the_sources(folder):
    browse(folder, "report.html", f"--print-to-pdf={folder / 'report.pdf'}", "--no-pdf-header-footer")
    pages = re.findall(rb"/Type\s*/Page\b", (folder / "report.pdf").read_bytes())
    # the ranker's report has 40 sources, about five a page; the figures fill two pages
    sources = (folder / "report.html").read_text(encoding="utf-8").count('class="source')
    assert len(pages) >= 2 + sources // 5
