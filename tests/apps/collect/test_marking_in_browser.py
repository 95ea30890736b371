"""Errors marked in a browser, in texts and sources of six scripts: every character that was marked is exported."""

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
    """A text, its language, and the words in it that are marked: with the mouse, and with the keyboard."""

    language: str
    text: str
    mouse: str
    keyboard: str


FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
SCRIPTS = [
    Script(
        "fr",
        f"  Le cafe\u0301  est{chr(160)}fe\u0301rie\u0301 \U0001f600 la ",
        "cafe\u0301  est",
        f"{chr(160)}fe\u0301rie\u0301",
    ),
    Script(
        "en",
        f"A {FAMILY} \U0001f1e9\U0001f1ea flag  \U0001f44d\U0001f3fd good ",
        "\U0001f1e9\U0001f1ea",
        "\U0001f44d\U0001f3fd good ",
    ),
    Script("ar", "سُمِّي الجسر  على اسم المهندس عام 1932. ", "الجسر  على", "المهندس"),
    Script("hi", "पुल का नाम  इंजीनियर के नाम पर रखा गया। ", "नाम  इंजीनियर", "रखा"),
    Script("zh", "这座桥以设计它的工程师𠮷野命名\u3000。", "设计它的", "𠮷野"),
    Script("ru", " Мост назван  в честь инженера.\r\nЙод й ", "назван  в", "инженера.\r\n"),
]
CARETS = """
([start, end, side]) => {
  const box = document.querySelector(`[data-side="${side}"]`);
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


def source_of(script):
    """Return the script that the source of a text is in: the next one."""
    return SCRIPTS[(SCRIPTS.index(script) + 1) % len(SCRIPTS)]


def campaign_of(scripts):
    records = []
    for number, each in enumerate(scripts):
        source = source_of(each)
        pair = f"{source.language}-{each.language}"
        records.append(Record(source.text, [], [Candidate("A", each.text)], lp=pair, doc="one", seg_id=str(number)))
    return assemble(records, "scripts")


def units(text):
    return len(text.encode("utf-16-le")) // 2


def drag_over(page, text, words, side=0):
    """Select words of the translation, or its source, as a person does."""
    before = units(text[: text.index(words)])
    (x, y), (to_x, to_y) = page.evaluate(CARETS, [before, before + units(words), side])
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to_x) / 2, y)
    page.mouse.move(to_x, to_y)
    page.mouse.up()


def characters(page, text):
    """Number of characters of a text as a browser's arrow keys pass them, one in a step."""
    return page.evaluate("text => [...new Intl.Segmenter().segment(text)].length", text)


def press_over(page, text, words, side=0):
    """Select words by the keyboard alone, from anywhere on the page."""
    box = page.locator(f"[data-side='{side}']")
    box.focus()
    page.keyboard.press("Control+Home")
    before = text[: text.index(words)]
    forward = "ArrowLeft" if box.get_attribute("dir") == "rtl" else "ArrowRight"
    for _ in range(characters(page, before)):
        page.keyboard.press(forward)
    for _ in range(characters(page, words)):
        page.keyboard.press(f"Shift+{forward}")


def exported(path, command, output):
    """Severity, category, words and side of every error, by the translation."""
    command("collect", "export", str(path), "-o", str(output))
    dataset = catalogue.load(str(output))
    texts = dataset.candidates["text"].tolist()
    sources = dataset.sources["text"].iloc[dataset.candidate_source].tolist()
    marked: dict[str, list[tuple[str, str, str | None, str]]] = {}
    for row, marks in errors_by_candidate(dataset.errors).items():
        for mark in marks:
            text = texts[row] if mark.side == "target" else sources[row]
            words = None if mark.start is None else text[mark.start : mark.end]
            marked.setdefault(texts[row], []).append((mark.severity, mark.category, words, mark.side))
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
                page.keyboard.press("g")
                page.keyboard.press("Escape")
            press_over(page, script.text, script.keyboard)
            page.keyboard.press("2")
            if kind == "mqm":
                page.keyboard.press("g")
                page.keyboard.press("Escape")
            source = source_of(script)
            drag_over(page, source.text, source.mouse, 1)
            page.get_by_role("button", name="Major").click()
            if kind == "mqm":
                page.keyboard.press("Escape")
            press_over(page, source.text, source.keyboard, 1)
            page.keyboard.press("1")
            said = page.get_by_role("status").last.text_content()
            assert said == f"Marked as minor: “{source.keyboard}” in the source."
            if kind == "mqm":
                page.keyboard.press("g")
                page.keyboard.press("Escape")
            page.keyboard.press("0")
            in_order = [sorted((each.mouse, each.keyboard), key=each.text.index) for each in (script, source)]
            assert page.locator("#marks mark").all_text_contents() == [*in_order[0], *in_order[1]]
            for side, each in enumerate((script, source)):
                assert page.locator(f"[data-side='{side}'] mark").all_text_contents() == in_order[side]
                assert page.locator(f"[data-side='{side}']").text_content() == each.text
            assert page.evaluate(CHECK) == []
            if kind == "esa":
                page.get_by_label("Score, 0 to 100").first.fill("70")
            page.get_by_role("button", name="Save and continue").click()
            page.wait_for_url("**/done" if number + 1 == created.items else f"**/item/{number + 2}")
    for text, errors in exported(path, command, tmp_path / "marks.jsonl").items():
        script, source = by_text[text], source_of(by_text[text])
        usual, missing = ("Fluency/Grammar", "Accuracy/Omission") if kind == "mqm" else ("", "")
        placed = [("minor", usual, script.mouse, "target"), ("major", usual, script.keyboard, "target")]
        there = [("major", missing, source.mouse, "source"), ("minor", usual, source.keyboard, "source")]
        assert errors == [
            *sorted(placed, key=lambda one: text.index(one[2])),
            *sorted(there, key=lambda one: source.text.index(one[2])),
            ("minor", "Accuracy/Omission", None, "target"),
        ]


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
    marks = [{0: [[0, 0, 1, 5]]}]
    path, created = campaign("esa", data=campaign_of(SCRIPTS[-1:]), judges=1, prefill="ranker", marks=marks)
    page = open_page(390, "dark")
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        assert "Errors are marked already, by ranker." in page.locator(".note").first.inner_text()
        said, box = page.get_by_role("status").last, page.get_by_role("textbox", name="Translation")
        # from the beginning of the page: past the link to the content, and the source
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.side") == "1"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "text0"
        for key in ("Control+Home", "ArrowRight", "ArrowRight", "2"):
            page.keyboard.press(key)
        assert said.inner_text() == "Marked as major: “Мост”."
        assert page.locator("#text0 mark.major").inner_text() == "Мост"
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
        assert page.evaluate("document.activeElement.textContent") == "Save and continue"
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
        page.get_by_text("Document: one (earlier segments)").click()
        assert page.locator(".earlier li").inner_text().endswith(SCRIPTS[0].text)
        assert page.evaluate(CHECK) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_severities_of_mqm(campaign, open_page, scheme):
    script, names = SCRIPTS[1], ["neutral", "minor", "major", "critical"]
    marks = {"categories": "Other", "severities": ",".join(names)}
    path, created = campaign("mqm", data=campaign_of([script]), judges=1, **marks)
    page = open_page(390, scheme)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        for number, words in enumerate(("A", "fl", "ag", "good"), 1):
            press_over(page, script.text, words)
            page.keyboard.press(str(number))
            page.keyboard.press("o")
            page.keyboard.press("Escape")
        assert [page.locator(f"#text0 mark.{name}").inner_text() for name in names] == ["A", "fl", "ag", "good"]
        page.get_by_label("Severity of “fl”").select_option("Critical")
        assert page.locator("#text0 mark.critical").first.inner_text() == "fl"
        press_over(page, script.text, "oo")
        page.keyboard.press("2")
        assert page.locator("#text0 mark.critical.several").inner_text() == "oo"
        page.keyboard.press("Escape")
        page.keyboard.press("0")
        assert page.get_by_label("Severity of missing content").input_value() == "1"
        assert page.evaluate(CHECK) == []


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
        page.evaluate(
            "(text => getSelection().setBaseAndExtent(text, 2, text, 6))(passage1.nextElementSibling.firstChild)"
        )
        page.get_by_role("button", name="Minor").tap()
        assert page.locator("[data-side='1'] mark").inner_text() == source_of(SCRIPTS[2]).text[2:6]
        assert page.evaluate(CHECK) == []


def test_without_script_nothing_is_saved_as_if_no_error_were_found(campaign, open_page):
    path, created = campaign("mqm", data=campaign_of(SCRIPTS[:1]), judges=1, categories="Other")
    page = open_page(java_script_enabled=False)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        assert page.get_by_text("Errors cannot be marked").is_visible()
