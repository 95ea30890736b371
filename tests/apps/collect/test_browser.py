"""The pages in a browser: by mouse, by keyboard only, on a phone, in the dark, for a screen reader."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ranker.apps.collect.tasks import KINDS
from ranker.corpora.judgements import human_scores
from ranker.corpora.records import Candidate, Record, assemble
from tests.apps.collect.conftest import EVIL, serving, small
from tests.apps.collect.test_quality import careful, careless, judge_in_file
from tests.datasets import dataset_of as made
from tests.effort import thorough

pytestmark = thorough
CHECK = Path(__file__).parents[2].joinpath("accessibility.js").read_text(encoding="utf-8")


@pytest.fixture
def open_page(new_page):
    """Open a page whose console must stay empty."""
    messages = []
    listeners = {
        "console": lambda message: messages.append(message.text),
        "pageerror": lambda error: messages.append(str(error)),
        "request": lambda request: messages.append(request.url) if "127.0.0.1" not in request.url else None,
    }

    def make(width: int = 1280, scheme: str = "light", **more):
        return new_page(listeners, width, scheme, **more)

    yield make
    assert [text for text in messages if not text.startswith("data:")] == []


def answers(path):
    with closing(sqlite3.connect(path)) as connection:
        return [json.loads(row[0]) for row in connection.execute("SELECT answer FROM assignment WHERE answer NOT NULL")]


def start(page, address, link):
    page.goto(address + urlsplit(link).path)


@pytest.mark.parametrize(
    ("kind", "width"),
    [("ranking", 390), ("ranking", 1280), ("pairwise", 390), ("fluency", 1280), ("adequacy", 390), ("score", 1280)],
)
def test_a_whole_campaign_by_mouse(campaign, open_page, kind, width):
    path, created = campaign(kind, data=small(sources=2))
    page = open_page(width)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        for number in range(created.items):
            if kind == "ranking":
                for place, rank in enumerate((2, 1, 2)):
                    page.locator(f"label:has([name=value{place}][value='{rank}'])").click()
            elif kind == "pairwise":
                page.locator(".choice label").nth(2).click()
            elif kind == "score":
                box = page.get_by_role("slider").bounding_box()
                page.mouse.click(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
            else:
                page.locator(".scale label").nth(1).click()
            assert page.evaluate(CHECK) == []
            page.get_by_role("button", name="Save and continue").click()
            page.wait_for_url("**/done" if number + 1 == created.items else f"**/item/{number + 2}")
        page.get_by_role("heading", name="Thank you").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.wait_for_url("**/item/*")
    given = answers(path)
    assert len(given) == created.items - 1
    assert kind != "score" or all(20 <= value <= 30 for (value,) in given)
    assert kind not in ("fluency", "adequacy") or given[0] == [4]


KEYS = {
    "ranking": (["2", "ArrowUp", "ArrowRight", "ArrowDown", "1", "2"], {(3, 1, 2)}),
    "pairwise": (["ArrowRight"], {(1, 2), (2, 1)}),
    "fluency": (["3", "ArrowUp"], {(4,)}),
    "adequacy": (["1"], {(1,)}),
    "score": (["7", "3"], {(73,)}),
    "esa": (["Tab", "Tab", "Tab", "Control+Home", "Shift+ArrowRight", "2", "Tab", "7", "3"], {(73, (1, 0, 0, 1))}),
    "mqm": (["Tab", "Tab", "Control+Home", "Shift+ArrowRight", "1", "a", "Escape"], {(0, (0, 0, 0, 1, 1))}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_campaign_by_keyboard(campaign, open_page, kind):
    path, created = campaign(kind, data=small(sources=2), categories="A" if kind == "mqm" else None)
    keys, expected = KEYS[kind]
    page = open_page(390)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        for number in range(created.items):
            assert page.url.endswith(f"/item/{number + 1}")
            for key in keys:
                page.keyboard.press(key)
            page.keyboard.press("Enter")
            page.wait_for_url("**/done" if number + 1 == created.items else f"**/item/{number + 2}")
        page.keyboard.press("u")
        page.wait_for_url(f"**/item/{created.items}")
        if kind == "mqm":
            page.locator("#text0").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/done")
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT shown, answer FROM assignment").fetchall()
    # as shown: the answer at each place of the page
    if KINDS[kind].severities:
        shown = {(value, *map(tuple, marks)) for value, *marks in (json.loads(answer) for _, answer in rows)}
    else:
        shown = {tuple(json.loads(answer)[output] for output in json.loads(order)) for order, answer in rows}
    assert len(rows) == created.items
    assert shown <= expected if kind != "pairwise" else shown == {(2, 1)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [12, 150])
def test_the_answer_and_its_button_are_in_view_without_scrolling(campaign, open_page, kind, words):
    text = "word " * words
    outputs = [Candidate(f"{number}", f"{text}{number}") for number in range(5)]
    path, created = campaign(kind, data=assemble([Record(text, [text], outputs, lp="de-en")], "long"), quota=5)
    page = open_page()
    page.set_viewport_size({"width": 1280, "height": 800})
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        controls = [page.get_by_role("button", name="Save and continue")]
        if kind != "ranking":
            controls += page.locator(".answer label:visible").all()
        for control in controls:
            box = control.bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 800
        # and what has the focus is not covered by it
        page.keyboard.press("ArrowDown")
        for _ in range(3 if kind == "ranking" else 0):
            page.keyboard.press("ArrowDown")
            ranks = page.locator(".output.marked .ranks").bounding_box()
            assert ranks["y"] + ranks["height"] <= controls[0].bounding_box()["y"]
        assert page.evaluate(CHECK) == []


def test_a_known_answer_is_shown_and_left_by_the_keyboard(campaign, open_page):
    gold = made([(["r"], [f"good {n}", f"bad {n}"]) for n in range(3)], lp="de-en", kind="fluency")
    path, created = campaign("pairwise", data=small(), gold=1.0, gold_data=gold, show_gold=True)
    page = open_page()
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="The known answer to this item").wait_for()
        assert page.evaluate(CHECK) == []
        page.keyboard.press("Enter")
        page.wait_for_url("**/item/2")
    assert answers(path) in ([[1, 2]], [[2, 1]])


def test_a_tab_that_was_left_open_is_told_what_was_saved(campaign, new_page):
    path, created = campaign("fluency", data=small())
    # no listeners: of an answer with status 409 the console says so
    first, second = (new_page({}, width, "light", is_mobile=width < 400) for width in (1280, 390))
    with serving(path) as address:
        start(first, address, created.links["judge1"])
        start(second, address, created.links["judge1"])
        for page, place in ((second, 0), (first, 3)):
            page.locator(".scale label").nth(place).click()
            page.get_by_role("button", name="Save and continue").click()
            page.wait_for_url("**/item/2" if page is second else "**/judge")
        first.get_by_role("heading", name="Already saved").wait_for()
        assert first.evaluate(CHECK) == []
        first.get_by_role("link", name="Go on").click()
        first.wait_for_url("**/item/2")
    assert answers(path) == [[5]]


@pytest.mark.parametrize("arrived", [False, True])
def test_an_answer_can_be_sent_again_after_its_request_was_stopped(campaign, new_page, arrived):
    path, created = campaign("fluency", data=small())
    page = new_page({}, 1280, "light")
    sent = []

    def stop(route):
        sent.append(route.request.url)
        if arrived:
            route.fetch(max_redirects=0)
        route.abort("aborted")

    with serving(path) as address:
        page.clock.install()
        start(page, address, created.links["judge1"])
        page.route("**/judge", stop)
        for key in ("3", "Enter", "4", "Enter", "Enter"):
            page.keyboard.press(key)
        page.wait_for_timeout(200)
        assert len(sent) == 1
        page.unroute("**/judge")
        page.clock.fast_forward(3000)
        page.keyboard.press("Enter")
        page.wait_for_url("**/judge" if arrived else "**/item/2")
        assert arrived == page.get_by_role("heading", name="Already saved").is_visible()
    assert answers(path) == [[3] if arrived else [4]]


def test_without_script_by_tab_and_arrows(campaign, open_page):
    path, created = campaign("fluency", data=small(sources=1, outputs=("one",)))
    page = open_page(java_script_enabled=False)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        for key in ("Tab", "Tab", "Space", "ArrowDown", "Enter"):
            page.keyboard.press(key)
        page.wait_for_url("**/done")
    assert answers(path) == [[4]]


def test_differences_are_highlighted_on_request(campaign, open_page):
    path, created = campaign("pairwise", data=small(sources=1, outputs=("the same words", "the other words")))
    page = open_page()
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        mark = page.locator("mark.differs").first
        assert mark.inner_text().strip() in ("same", "other")
        plain = mark.evaluate("one => getComputedStyle(one).backgroundColor")
        page.keyboard.press("d")
        assert mark.evaluate("one => getComputedStyle(one).backgroundColor") != plain
        page.get_by_label("Highlight differences").uncheck()
        assert mark.evaluate("one => getComputedStyle(one).backgroundColor") == plain


def test_an_earlier_page_answered_again_by_the_back_button(campaign, open_page):
    path, created = campaign("fluency", data=small())
    page = open_page()
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        for value in (0, 1):
            page.locator(".scale label").nth(value).click()
            page.get_by_role("button", name="Save and continue").click()
            page.wait_for_url(f"**/item/{value + 2}")
        page.go_back()
        page.wait_for_url("**/item/2")
        page.locator(".scale label").nth(4).click()
        page.get_by_role("button", name="Save and continue").click()
        page.wait_for_url("**/item/3")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM judgement").fetchone()[0] == 3
    assert answers(path) == [[5], [1]]


@pytest.mark.parametrize(
    ("pair", "source", "target", "directions"),
    [
        ("ar-he", "مرحبا بالعالم", "שלום עולם", ["rtl", "rtl"]),
        ("zh-ja", "你好，世界。", "こんにちは世界", ["ltr", "ltr"]),
        (None, "x", "y", ["auto", "auto"]),
    ],
)
def test_right_to_left_and_cjk_text(campaign, open_page, pair, source, target, directions):
    data = assemble([Record(source, [target], [Candidate("A", target), Candidate("B", target + target)], lp=pair)], "x")
    path, created = campaign("pairwise", data=data)
    page = open_page(390)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        passage, text = page.locator(".passage p").first, page.locator("#text0")
        assert [item.get_attribute("dir") for item in (passage, text)] == directions
        assert [item.get_attribute("lang") for item in (passage, text)] == (pair.split("-") if pair else [None, None])
        if directions[0] == "rtl":
            left, right = text.evaluate(
                "one => { const range = document.createRange(); range.selectNodeContents(one);"
                " const a = range.getBoundingClientRect(), b = one.getBoundingClientRect();"
                " return [a.left - b.left, b.right - a.right]; }"
            )
            assert left > right
        assert page.evaluate(CHECK) == []


@pytest.mark.parametrize(
    ("kind", "width", "scheme"),
    [("ranking", 390, "dark"), ("ranking", 1280, "light"), ("score", 390, "light"), ("pairwise", 1280, "dark")],
)
def test_labels_contrast_and_layout(campaign, open_page, kind, width, scheme):
    data = assemble([Record(EVIL * 3, [EVIL], [Candidate(f"{n}", EVIL + "w" * 90 * n) for n in range(5)])], EVIL)
    path, created = campaign(kind, data=data, title=EVIL, quota=9)
    page = open_page(width, scheme)
    with serving(path) as address:
        start(page, address, created.links["judge1"])
        page.locator("summary").click()
        if kind == "ranking":
            page.keyboard.press("d")
            page.keyboard.press("3")
        else:
            page.keyboard.type("5")
        assert page.evaluate(CHECK) == []
        # the evil title would have changed it
        assert page.title().startswith(KINDS[kind].question)
        start(page, address, created.links["owner"])
        assert page.evaluate(CHECK) == []
        assert page.title().startswith("Dashboard")


def test_the_owner_sees_flags_statistics_and_a_new_link(campaign, open_page, sample):
    quality = dict(zip(sample.candidates["text"], human_scores(sample, "fluency"), strict=True))
    path, created = campaign("ranking", judges=3, next="overlap", overlap=1.0, judges_per_item=3, degraded=0.1)
    judges = {f"judge{number}": (careful(quality, "ranking", 0.1, number), 9) for number in (1, 3)}
    judges["judge2"] = careless("ranking"), 1
    judge_in_file(path, judges, 40)[0].close()
    for width, scheme in ((390, "dark"), (1280, "light")):
        page = open_page(width, scheme)
        with serving(path) as address:
            start(page, address, created.links["owner"])
            assert page.locator(".note").count() == 1
            assert page.locator(".note").inner_text().startswith("judge2:")
            assert page.locator("#systems ~ * tbody tr").count() > 1
            assert page.evaluate(CHECK) == []
            page.get_by_label("Code of the new judge").fill(f"new{width}")
            page.get_by_role("button", name="Create link").click()
            page.locator(".link").get_by_text("/enter/").wait_for()
            assert page.evaluate(CHECK) == []
            page.get_by_role("button", name=f"Close the link of new{width}").click()
            page.get_by_role("row", name=f"new{width}").get_by_text("closed").wait_for()
