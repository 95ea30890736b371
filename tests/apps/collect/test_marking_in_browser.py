"""Errors marked in a browser, in six scripts: what is exported is what was marked, character by character."""

from __future__ import annotations

import signal
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from ranker.corpora import catalogue
from ranker.corpora.marked_errors import errors_by_candidate
from ranker.corpora.records import Candidate, Record, assemble
from tests.apps.collect.conftest import free_port, serving
from tests.apps.collect.test_browser import CHECK, open_page, start
from tests.effort import thorough

__all__ = ["open_page"]
pytestmark = thorough


class Script(NamedTuple):
    """A text, the language pair, and the words in it that are marked: with the mouse, and with the keyboard."""

    pair: str
    text: str
    mouse: str
    keyboard: str


FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
SCRIPTS = [
    Script(
        "de-fr",
        f"  Le cafe\u0301  est{chr(160)}fe\u0301rie\u0301 \U0001f600 la ",
        "cafe\u0301  est",
        f"{chr(160)}fe\u0301rie\u0301",
    ),
    Script(
        "de-en",
        f"A {FAMILY} \U0001f1e9\U0001f1ea flag  \U0001f44d\U0001f3fd good ",
        "\U0001f1e9\U0001f1ea",
        "\U0001f44d\U0001f3fd good ",
    ),
    Script("en-ar", "سُمِّي الجسر  على اسم المهندس عام 1932. ", "الجسر  على", "المهندس"),
    Script("en-hi", "पुल का नाम  इंजीनियर के नाम पर रखा गया। ", "नाम  इंजीनियर", "रखा"),
    Script("en-zh", "这座桥以设计它的工程师𠮷野命名\u3000。", "设计它的", "𠮷野"),
    Script("en-ru", " Мост назван  в честь инженера.\r\nЙод й ", "назван  в", "инженера.\r\n"),
]
CARETS = """
([start, end]) => {
  const box = document.getElementById("text0");
  const at = units => {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    let left = units;
    while (walker.nextNode() && left > walker.currentNode.length) left -= walker.currentNode.length;
    const range = document.createRange();
    range.setStart(walker.currentNode, left);
    const rect = range.getClientRects()[0];
    return [rect.left, rect.top + rect.height / 2];
  };
  return [at(start), at(end)];
}
"""


def campaign_of(scripts):
    records = [
        Record(f"source {number}", [], [Candidate("A", each.text)], lp=each.pair, doc="one", seg_id=str(number))
        for number, each in enumerate(scripts)
    ]
    return assemble(records, "scripts")


def units(text):
    return len(text.encode("utf-16-le")) // 2


def drag_over(page, text, words):
    """Select words as a person does, and press a button."""
    before = units(text[: text.index(words)])
    (x, y), (to_x, to_y) = page.evaluate(CARETS, [before, before + units(words)])
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2, y)
    page.mouse.move(to_x, to_y)
    page.mouse.up()


def characters(page, text):
    """Number of characters of a text as a browser's arrow keys pass them, one in a step."""
    return page.evaluate("text => [...new Intl.Segmenter().segment(text)].length", text)


def press_over(page, text, words):
    """Select words by the keyboard alone, from anywhere on the page."""
    page.locator("#text0").focus()
    page.keyboard.press("Control+Home")
    before = text[: text.index(words)]
    forward = "ArrowLeft" if page.locator("#text0").get_attribute("dir") == "rtl" else "ArrowRight"
    for _ in range(characters(page, before)):
        page.keyboard.press(forward)
    for _ in range(characters(page, words)):
        page.keyboard.press(f"Shift+{forward}")


def exported(path, command, output):
    """Severity, category and words of every error, by the text that it was marked in."""
    command("collect", "export", str(path), "-o", str(output))
    dataset = catalogue.load(str(output))
    texts = dataset.candidates["text"].tolist()
    marked: dict[str, list[tuple[str, str, str | None]]] = {}
    for row, marks in errors_by_candidate(dataset.errors).items():
        for mark in marks:
            words = None if mark.start is None else texts[row][mark.start : mark.end]
            marked.setdefault(texts[row], []).append((mark.severity, mark.category, words))
    return marked


@pytest.mark.parametrize(("kind", "width"), [("esa", 1280), ("mqm", 390)])
def test_marks_in_six_scripts_by_mouse_and_keyboard(campaign, open_page, kind, width, command, tmp_path):
    more = {"categories": "Accuracy/Omission\nFluency/Grammar"} if kind == "mqm" else {}
    path, created = campaign(kind, data=campaign_of(SCRIPTS), judges=1, **more)
    page = open_page(width)
    by_text = {each.text: each for each in SCRIPTS}
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        for number in range(created.items):
            script = by_text[page.evaluate("document.getElementById('text0').textContent")]
            drag_over(page, script.text, script.mouse)
            page.get_by_role("button", name="Minor").click()
            if kind == "mqm":
                page.keyboard.press("f")
                page.keyboard.press("Escape")
            press_over(page, script.text, script.keyboard)
            page.keyboard.press("2")
            if kind == "mqm":
                page.keyboard.press("f")
                page.keyboard.press("Escape")
            page.keyboard.press("0")
            in_order = sorted((script.mouse, script.keyboard), key=script.text.index)
            assert page.locator("#marks mark").all_text_contents() == in_order
            assert page.locator("#text0 mark").all_text_contents() == in_order
            assert page.evaluate("document.getElementById('text0').textContent") == script.text
            assert page.evaluate(CHECK) == []
            if kind == "esa":
                page.get_by_label("Score, 0 to 100").first.fill("70")
            page.get_by_role("button", name="Save and continue").click()
            page.wait_for_url("**/done" if number + 1 == created.items else f"**/item/{number + 2}")
    for text, errors in exported(path, command, tmp_path / "marks.jsonl").items():
        script = by_text[text]
        kinds = ("Fluency/Grammar", "Accuracy/Omission") if kind == "mqm" else ("", "Accuracy/Omission")
        placed = [("minor", kinds[0], script.mouse), ("major", kinds[0], script.keyboard)]
        assert errors == [*sorted(placed, key=lambda one: text.index(one[2])), ("minor", kinds[1], None)]


def test_a_killed_server_and_a_second_tab_lose_nothing_and_change_nothing(campaign, new_page, serve, command, tmp_path):
    path, created = campaign("esa", data=campaign_of(SCRIPTS[:1] * 3), judges=1)
    text, first_words, words = SCRIPTS[0].text, SCRIPTS[0].mouse, SCRIPTS[0].keyboard
    port = free_port()
    address, link = f"http://127.0.0.1:{port}", urlsplit(created.links["judge1"]).path
    server = serve(path, port)
    # no listeners: of a lost connection, and of status 409, the console says so
    page = new_page({}, 1280, "light", reduced_motion="reduce")
    page.goto(address + link)
    press_over(page, text, first_words)
    page.keyboard.press("1")
    page.get_by_label("Score, 0 to 100").first.fill("80")
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/item/2")
    other = page.context.new_page()
    other.goto(f"{address}/item/2")
    press_over(page, text, words)
    page.keyboard.press("2")
    page.get_by_label("Score, 0 to 100").first.fill("40")
    server.send_signal(signal.SIGKILL)
    server.communicate()
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("chrome-error://**")
    server = serve(path, port)
    page.goto(f"{address}/item/2")
    # what was not saved is still there
    assert page.locator("#marks mark").all_text_contents() == [words]
    assert page.get_by_label("Score, 0 to 100").first.input_value() == "40"
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/item/3")
    assert page.locator("#marks mark").count() == 0
    press_over(other, text, first_words)
    other.keyboard.press("2")
    other.get_by_label("Score, 0 to 100").first.fill("1")
    other.get_by_role("button", name="Save and continue").click()
    other.get_by_role("heading", name="Already saved").wait_for()
    other.get_by_role("link", name="Look at the saved answer").click()
    other.wait_for_url("**/item/2")
    assert other.locator("#marks mark").all_text_contents() == [words]
    server.send_signal(signal.SIGKILL)
    server.communicate()
    command("collect", "export", str(path), "-o", str(tmp_path / "marks.jsonl"))
    dataset = catalogue.load(str(tmp_path / "marks.jsonl"))
    spans = dataset.errors[["severity", "start", "end"]].to_numpy(object).tolist()
    assert [(severity, text[start:end]) for severity, start, end in spans] == [("minor", first_words), ("major", words)]
    assert dataset.ratings["value"].tolist() == [80, 40]


def test_marks_are_changed_and_removed_by_the_keyboard_and_said(campaign, open_page):
    marks = {0: [[0, 0, 1, 5]]}
    path, created = campaign("esa", data=campaign_of(SCRIPTS[-1:]), judges=1, prefill="ranker", marks=marks)
    page = open_page(390, "dark")
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        assert "Errors are marked already, by ranker." in page.locator(".note").first.inner_text()
        said, box = page.get_by_role("status").last, page.get_by_role("textbox", name="Translation")
        # from the beginning of the page: past the link to the content
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "text0"
        for key in ("Control+Home", "ArrowRight", "ArrowRight", "2"):
            page.keyboard.press(key)
        assert said.inner_text() == "Marked as major: “Мост”."
        assert page.locator("#text0 mark.severity1").inner_text() == "Мост"
        assert page.get_by_label("Severity of “Мост”").input_value() == "1"
        # nothing that is typed changes the text
        for key in ("x", "Space", "Control+b"):
            page.keyboard.press(key)
        page.keyboard.insert_text("ы")
        assert page.evaluate("document.getElementById('text0').textContent") == SCRIPTS[-1].text
        page.keyboard.press("Delete")
        assert said.inner_text() == "Removed: “Мост”."
        assert page.locator("mark").count() == 0
        page.keyboard.press("2")
        assert said.inner_text() == "Select the words in error first."
        page.keyboard.press("0")
        assert said.inner_text() == "Added: missing content."
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Remove missing content"
        page.keyboard.press("Enter")
        assert box.evaluate("box => box === document.activeElement")
        assert page.locator("#marks li").count() == 0
        assert page.evaluate(CHECK) == []
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")


def test_a_category_is_needed_and_an_empty_page_is_not_sent_by_a_key(campaign, open_page):
    path, created = campaign("mqm", data=campaign_of(SCRIPTS[:1] * 2), judges=1, categories="Style\nOther")
    page = open_page(1280)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        page.keyboard.press("Enter")
        drag_over(page, SCRIPTS[0].text, SCRIPTS[0].mouse)
        page.keyboard.press("Enter")
        assert page.get_by_role("status").last.inner_text().startswith("Choose a severity")
        page.get_by_role("button", name="Major").click()
        page.get_by_role("button", name="Save and continue").click()
        assert page.evaluate("document.activeElement.matches('select:invalid')")
        page.keyboard.press("o")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.wait_for_url("**/item/2")


def test_by_a_finger(campaign, new_page):
    path, created = campaign("esa", data=campaign_of(SCRIPTS[2:3]), judges=1)
    page = new_page({}, 390, "light", has_touch=True, is_mobile=True)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        # handles of a selection are not the page's; what they select is
        page.evaluate("getSelection().setBaseAndExtent(text0.firstChild, 7, text0.firstChild, 12)")
        page.get_by_role("button", name="Major").tap()
        assert page.locator("#text0 mark").inner_text() == SCRIPTS[2].text[7:12]
        page.get_by_role("button", name="Remove").tap()
        assert page.locator("mark").count() == 0
        assert page.evaluate(CHECK) == []


def test_without_script_nothing_is_saved_as_if_no_error_were_found(campaign, open_page):
    path, created = campaign("mqm", data=campaign_of(SCRIPTS[:1]), judges=1, categories="Other")
    page = open_page(java_script_enabled=False)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        assert page.get_by_text("Errors cannot be marked").is_visible()
