"""The pages in a browser: every width, sorting, searching, by keyboard only, without scripts, with hostile texts."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest

from ranker.corpora.records import Candidate, Record, assemble
from ranker.reports.findings import examine
from ranker.reports.ranker_page import ranker_report
from tests.effort import thorough
from tests.reports.conftest import FINDINGS

pytestmark = thorough
CHECK = Path(__file__).parents[1].joinpath("accessibility.js").read_text(encoding="utf-8")
LAYOUT = """() => {
  document.querySelectorAll("main details").forEach(one => one.open = true);
  const root = document.documentElement, wrong = [];
  if (root.scrollWidth > root.clientWidth) wrong.push("scrolls sideways");
  for (const one of document.querySelectorAll("body *"))
    if (!one.closest(".scroll, .skip, svg, script") && one.getBoundingClientRect().right > root.clientWidth + 1)
      wrong.push("outside: " + one.outerHTML.slice(0, 80));
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map(one => [one.textContent, one.getBoundingClientRect()]);
    texts.forEach(([name, a], index) => {
      if (a.left < frame.left - 2 || a.right > frame.right + 2) wrong.push("beyond the plot: " + name);
      for (const [other, b] of texts.slice(index + 1))
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
          && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2) wrong.push(name + " covers " + other);
    });
    if (texts.length && texts[0][1].height < 8) wrong.push("small: " + texts[0][0]);
  }
  return wrong;
}"""


@pytest.fixture
def open_page(new_page):
    """Open a file whose console must stay empty and which must load nothing."""
    messages = []
    listeners = {
        "console": lambda message: messages.append(message.text),
        "pageerror": lambda error: messages.append(str(error)),
        "request": lambda request: messages.append(request.url) if request.url.startswith("http") else None,
    }

    def make(path, *, address="", width=1280, scheme="light", **more):
        page = new_page(listeners, width, scheme, **more)
        page.goto(path.as_uri() + address)
        if more.get("java_script_enabled", True) and page.query_selector("#browse"):
            page.wait_for_selector("#browse[data-ready]")
        return page

    yield make
    assert messages == []


def written(text, folder):
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def report(pages, tmp_path_factory):
    return written(pages("preferred_findings")[0], tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module", params=FINDINGS)
def either(request, pages, tmp_path_factory):
    return written(pages(request.param)[0], tmp_path_factory.mktemp("either"))


@pytest.fixture(scope="module")
def systems_page(pages, tmp_path_factory):
    return written(pages("compared_systems")[0], tmp_path_factory.mktemp("systems"))


@pytest.fixture(scope="module")
def large(sample, model, tmp_path_factory):
    """20,160 candidates made of the sample's, three words in ten replaced."""
    generator = np.random.default_rng(0)
    vocabulary = sorted({word for text in sample.candidates["text"] for word in text.split()})

    def varied(text: str) -> str:
        words = text.split()
        places = generator.integers(len(vocabulary), size=len(words))
        selected = generator.random(len(words)) < 0.7
        return " ".join(
            word if keep else vocabulary[at] for word, keep, at in zip(words, selected, places, strict=True)
        )

    texts, references = sample.candidates["text"].tolist(), sample.references["text"].tolist()
    records = [
        Record(
            f"{text} {copy}",
            [varied(references[row]) for row in range(*sample.reference_offsets[source : source + 2])],
            [
                Candidate(f"system {number}", varied(texts[row]), [("fluency", None, float(generator.integers(1, 6)))])
                for number, row in enumerate(range(*sample.candidate_offsets[source : source + 2]))
            ],
            lp="zh-en",
            seg_id=f"{copy}-{source}",
        )
        for copy in range(24)
        for source, text in enumerate(sample.sources["text"])
    ]
    text, _ = ranker_report(examine(model, [assemble(records, "large")], examples=2, resamples=10))
    return written(text, tmp_path_factory.mktemp("large"))


def wait_until(page, expression, argument=None):
    """Wait for `expression` to be true; while it is not, Playwright evaluates a string, which the policy forbids."""
    for _ in range(6_000):
        if page.evaluate(expression, argument):
            return
        time.sleep(0.01)
    pytest.fail(f"never true: {expression}")


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_overlaps_and_the_page_does_not_scroll_sideways(either, open_page, width):
    page = open_page(either, width=width)
    # the evil name would have changed it
    assert page.title() != "run"
    assert page.evaluate(LAYOUT) == []


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (768, "light"), (1280, "dark")])
def test_the_page_can_be_read_by_all(either, open_page, width, scheme):
    page = open_page(either, address="#s=de-en/20", width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('main details:not(#list details)').forEach(one => one.open = true)")
    assert page.evaluate(CHECK) == []


CLICKED = """() => [...document.querySelectorAll("main > section table")]
  .filter(one => one.querySelector("button") && one.checkVisibility())
  .flatMap(table => [0, table.tHead.rows[0].cells.length - 1].map(at => {
    const head = table.tHead.rows[0].cells[at];
    const values = () => [...table.tBodies[0].rows].map(one => one.cells[at].innerText.trim());
    const before = values();
    return [before, ...[1, 2].map(() => { head.querySelector("button").click(); return [head.ariaSort, values()]; })];
  }))"""


def test_a_click_on_a_head_sorts_the_table(either, open_page):
    page = open_page(either)
    page.evaluate("document.querySelectorAll('main details').forEach(one => one.open = true)")
    tables = page.evaluate(CLICKED)
    assert len(tables) > 3
    numeric = 0
    for before, (direction, once), (right, twice) in tables:
        assert {direction, right} == {"ascending", "descending"}
        assert sorted(once) == sorted(twice) == sorted(before)
        missing = [value for value in before if value in ("", "–")]
        there = [left[: len(left) - len(missing)] for left in (once, twice)]
        assert once[len(there[0]) :] == twice[len(there[1]) :] == missing
        if all(re.match(r"[-+\d.]+", value) for value in there[0]):
            numbers = [[float(re.match(r"[-+]?[\d.]+", value.replace(",", ""))[0]) for value in left] for left in there]
            assert numbers == [sorted(numbers[0], reverse=True), sorted(numbers[0])]
            assert direction == "descending", once
            numeric += len(there[0]) > 1
    assert numeric > 0


def test_a_large_report_is_small_and_all_its_sources_are_found(large, open_page):
    assert large.stat().st_size < 12e6
    page = open_page(large)
    assert page.inner_text("#found") == "2,880 of 2,880 sources, page 1 of 116"
    page.fill("#query", "zqx")
    assert page.inner_text("#found") == "0 of 2,880 sources"
    for order in ("worst", "best", "apart", "long"):
        page.select_option("#order", order)
    page.fill("#query", "23-119")
    assert page.inner_text("#found") == "1 of 2,880 sources"


def test_search_finds_words_of_all_texts(report, preferred, open_page):
    page = open_page(report)
    texts = []
    for at, (lp, source) in enumerate(zip(preferred.sources["lp"], preferred.sources["text"], strict=True)):
        own, references = (each[each["source"] == at] for each in (preferred.candidates, preferred.references))
        texts.append("\n".join([lp, source, *references["text"], *own["system"], *own["text"]]).lower())
    # the data are in the report twice, once of one language pair
    joined = texts + [text for text in texts if text.startswith("de-en")]
    for query, terms in {"tree HOUSE": ["tree", "house"], '"green the"': ["green the"], "fr-en": ["fr-en"]}.items():
        page.fill("#query", query)
        expected = sum(all(term in text for term in terms) for text in joined)
        assert expected > 0
        assert page.inner_text("#found").startswith(f"{expected} of 60 sources")
    page.fill("#query", "")
    page.select_option("#group", index=2)
    assert page.inner_text("#found").split(" ")[0] in ("20", "40")


def test_everything_by_keyboard(large, open_page):
    page = open_page(large)
    press = page.keyboard.press

    def here():
        return page.evaluate("document.activeElement.closest('#list > details')?.dataset.key")

    press("j")
    assert here() == "zh-en/0-0"
    press("ArrowDown")
    press("j")
    press("k")
    assert here() == "zh-en/0-1"
    press("Enter")
    opened = page.locator("#list details[open]").first
    assert opened.get_attribute("data-key") == "zh-en/0-1"
    wait_until(page, "decodeURIComponent(location.hash) === '#s=zh-en/0-1'")
    press("2")
    assert opened.locator("button[aria-pressed=true]").count() == 2
    assert opened.locator(".difference").is_visible()
    press("1")
    assert opened.locator("button[aria-pressed=true]").count() == 1
    press("Escape")
    assert page.locator("#list details[open]").count() == 0
    wait_until(page, "location.hash === '#all-sources'")
    press("n")
    assert here() == "zh-en/0-25"
    press("k")
    assert here() == "zh-en/0-24"
    press("/")
    page.keyboard.type("19-7")
    press("Enter")
    assert here() == "zh-en/19-7"
    press("/")
    press("Escape")
    assert page.input_value("#query") == ""
    press("Escape")
    assert page.evaluate("document.activeElement === document.body")
    # focus can be seen
    press("j")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_link_opens_its_source(large, open_page):
    page = open_page(large, address="#s=zh-en/23-119")
    assert page.locator("#list details[open]").get_attribute("data-key") == "zh-en/23-119"
    assert "page 116 of 116" in page.inner_text("#found")
    page.fill("#query", "0-3")
    page.evaluate("location.hash = '#s=zh-en/12-60'")
    page.wait_for_selector("[data-key='zh-en/12-60'][open]")
    assert page.input_value("#query") == ""
    page.evaluate("location.hash = '#s=none/1%'")
    wait_until(page, "document.getElementById('found').textContent.includes('not contain source none/1%')")
    page.evaluate("document.querySelector('#worst ~ details').open = true")
    link = page.locator("#worst ~ details a").first
    link.click()
    wait_until(page, "location.hash.endsWith(document.querySelector('#list details[open]')?.dataset.key)")


def test_what_matches_and_what_is_missing_is_marked_on_both_sides(open_page, model, tmp_path):
    candidates = [
        Candidate("A", "the old cat sat"),
        Candidate("B", "a cat was the the"),
        Candidate("C", "the old cat sat"),
    ]
    data = assemble([Record("源", ["The cat sat here", "The cat is old"], candidates, lp="zh-en", seg_id="1")], "d")
    page = open_page(
        written(ranker_report(examine(model, [data], examples=0, resamples=0))[0], tmp_path), address="#s=zh-en/1"
    )
    source = page.locator("#list details[open]").first

    def marks(place):
        return [
            (item.get_attribute("class"), item.text_content()) for item in source.locator(place).locator("mark").all()
        ]

    assert source.locator(".outputs > li").count() == 2
    assert source.locator(".outputs button").first.inner_text() == "1. A, C"
    assert marks(".outputs > li:nth-child(1)") == [("same", "the old cat sat")]
    assert marks(".outputs > li:nth-child(2)") == [("same", "cat"), ("same", "the")]
    assert marks("dd:nth-of-type(2)") == [("same", "The cat sat"), ("missing", "here")]
    source.locator(".outputs button").nth(1).click()
    assert marks("dd:nth-of-type(2)") == [("same", "The cat"), ("missing", "sat here")]
    assert marks(".difference") == [("only", "the old"), ("only", "sat"), ("only", "a"), ("only", "was the the")]


def test_no_character_is_cut_in_two(open_page, model, tmp_path):
    source, text = "x" + "\U0001f600" * 60, "y" + "\U0001f600" * 1100
    candidates = [Candidate("A", text), Candidate("B", "y")]
    data = assemble([Record(source, ["y"], candidates, lp="zh-en", seg_id="1")], "d")
    page = open_page(
        written(ranker_report(examine(model, [data], examples=0, resamples=0))[0], tmp_path), address="#s=zh-en/1"
    )
    shown = page.locator("#list details[open]").first
    assert shown.locator("summary").first.text_content().endswith(": x" + "\U0001f600" * 44 + "…")
    output = shown.locator(".outputs > li", has_text="All 1,101 characters")
    assert output.locator("bdi").nth(1).text_content() == text[:500] + "…"
    encoded = "element => new TextDecoder().decode(new TextEncoder().encode(element.textContent))"
    assert "\ufffd" not in shown.evaluate(encoded)


def test_without_scripts_all_tables_are_there_and_a_line_says_what_is_not(report, open_page):
    plain, page = open_page(report, java_script_enabled=False), open_page(report)
    tables = "[...document.querySelectorAll('main > section > * table, main > section table')].length"
    assert plain.locator("main table").count() == page.evaluate(tables)
    assert plain.locator("main table").count() > 20
    assert plain.locator("noscript .note").is_visible()
    assert "60 sources" in plain.locator("noscript .note").inner_text()
    assert not plain.locator("#browse").is_visible()
    assert plain.locator("#worst ~ details").first.is_visible()
    assert not page.locator("noscript .note").is_visible()
