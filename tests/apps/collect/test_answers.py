"""What becomes of answers: the last one counts, the earlier ones stay, and nobody loses his place."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from contextlib import closing

import pytest

from ranker.apps.collect import assigning
from ranker.apps.collect.campaign import connect, settings_of, transaction
from ranker.apps.collect.making import make_campaign
from ranker.apps.collect.tasks import KINDS
from ranker.corpora.dataset import concatenate_datasets
from ranker.errors import DataError
from tests.apps.collect.conftest import Client, judge_all, serving, settings, small
from tests.datasets import dataset_of as made
from tests.datasets import equally_judged


def rows(path, query, *values):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, values).fetchall()


def answers(path):
    return rows(path, "SELECT assignment, answer FROM judgement ORDER BY id")


@pytest.fixture
def client(campaign):
    path, created = campaign("fluency", judges=2, data=small())
    with serving(path) as address:
        yield path, Client(address), created.links["judge1"]


def test_a_double_click_is_one_judgement(client):
    path, judge, link = client
    fields = {**judge.enter(link).page().forms["/judge"], "value0": 4}
    first, second = (judge.post("/judge", fields, follow=False) for _ in range(2))
    assert (first.status, second.status) == (303, 303)
    assert first.headers["location"] == second.headers["location"]
    assert answers(path) == [(1, "[4]")]


def test_of_two_tabs_that_show_an_item_only_the_first_answer_is_saved(client):
    path, judge, link = client
    tabs = [judge.enter(link).page().forms["/judge"] for _ in range(2)]
    assert tabs[0]["assignment"] == tabs[1]["assignment"]
    assert judge.post("/judge", {**tabs[0], "value0": 4}).status == 200
    for tab, value in ((tabs[0], 3), (tabs[1], 2), (tabs[1], 5)):
        refused = judge.post("/judge", {**tab, "value0": value})
        assert refused.status == 409
        assert "Already saved" in refused.text
        assert 'href="/item/1"' in refused.text
    assert answers(path) == [(1, "[4]")]
    assert rows(path, "SELECT answer FROM assignment WHERE id = 1") == [("[4]",)]
    # one item was answered, however often
    assert "1 judged" in judge.get("/").text


@pytest.mark.parametrize(("each", "left"), [(1, [9, 8, 7, 6]), (2, [9, 9, 8, 8])])
def test_two_judges_see_how_many_items_are_left(campaign, each, left):
    """Of nine items, which each judge gets or which they share."""
    path, created = campaign("fluency", judges=2, data=small(), judges_per_item=each)
    with serving(path) as address:
        judges = [Client(address), Client(address)]
        pages = [judge.enter(created.links[name]) for judge, name in zip(judges, ("judge1", "judge2"), strict=True)]
        pages += [judge.judge(page, lambda texts: [4]) for judge, page in zip(judges, pages, strict=True)]
        assert [int(re.search(r"judged, about (\d+) left", page.text)[1]) for page in pages] == left


def test_the_back_button_shows_the_answer_and_takes_another(client):
    path, judge, link = client
    judge.judge(judge.enter(link), lambda texts: [4])
    before = judge.get("/item/1")
    assert "You have already judged this item" in before.text
    assert re.search(r'value="4" required checked', before.text)
    after = judge.judge(before, lambda texts: [5])
    assert after.page().forms["/judge"]["assignment"] == "2"
    assert answers(path) == [(1, "[4]"), (1, "[5]")]


def test_a_tab_left_open_does_not_replace_a_correction(client):
    path, judge, link = client
    old, first = (judge.enter(link).page().forms["/judge"] for _ in range(2))
    judge.post("/judge", {**first, "value0": 4})
    judge.judge(judge.get("/item/1"), lambda texts: [5])
    assert judge.post("/judge", {**old, "value0": 2}).status == 409
    # the same form again, as a browser sends it after a lost connection, goes on as before
    last = judge.get("/item/1").page().forms["/judge"]
    for _ in range(2):
        assert judge.post("/judge", {**last, "value0": 3}).page().forms["/judge"]["assignment"] == "2"
    assert answers(path) == [(1, "[4]"), (1, "[5]"), (1, "[3]")]


def test_repetitions_neither_undo_an_undo_nor_an_answer_after_it(client):
    path, judge, link = client
    tab, first = (judge.enter(link).page().forms["/judge"] for _ in range(2))
    undo = judge.post("/judge", {**first, "value0": 4}).page().forms["/undo"]
    assert judge.post("/undo", undo).page().forms["/judge"]["assignment"] == "1"
    for form in (first, tab):
        refused = judge.post("/judge", {**form, "value0": 4})
        assert refused.status == 409
        assert "You have undone your answer" in refused.text
    assert rows(path, "SELECT answer FROM assignment WHERE id = 1") == [(None,)]
    judge.judge(judge.get("/item/1"), lambda texts: [3])
    refused = judge.post("/undo", undo)
    assert refused.status == 409
    assert "nothing was undone" in refused.text
    assert answers(path) == [(1, "[4]"), (1, None), (1, "[3]")]


def test_a_clock_that_is_set_back_shuts_nobody_out(client, monkeypatch):
    path, judge, link = client
    judge.judge(judge.enter(link), lambda texts: [4])
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now - 86_400)
    assert judge.judge(judge.get("/item/1"), lambda texts: [5]).status == 200
    assert judge.post("/undo", judge.get("/item/2").page().forms["/undo"]).status == 200
    assert answers(path) == [(1, "[4]"), (1, "[5]"), (1, None)]


def test_a_page_from_before_the_clock_was_set_back_does_not_replace_a_later_answer(client, monkeypatch):
    path, judge, link = client
    old, now = judge.enter(link).page().forms["/judge"], time.time()
    monkeypatch.setattr("time.time", lambda: now - 60)
    judge.judge(judge.get("/item/1"), lambda texts: [5])
    assert judge.post("/judge", {**old, "value0": 2}).status == 409
    assert answers(path) == [(1, "[5]")]


def test_answers_are_refused_while_the_file_is_not_in_its_place(client):
    path, judge, link = client
    fields = {**judge.enter(link).page().forms["/judge"], "value0": 4}
    away = path.with_name("away")
    for name in (path, path.with_name(f"{path.name}-wal")):
        name.rename(away)
        assert judge.post("/judge", fields).status == 503
        away.rename(name)
    assert judge.post("/judge", fields).status == 200
    assert answers(path) == [(1, "[4]")]


def test_the_refusal_says_to_put_the_file_back(campaign):
    pytest.importorskip("starlette", reason="mt-ranker[collect] is not installed")
    from ranker.apps.collect.web.server import Site

    path, _ = campaign()
    with closing(connect(path)) as connection:
        site = Site(path, connection)
        path.rename(path.with_name("away"))
        with pytest.raises(sqlite3.OperationalError, match=r"the campaign's file was moved.*put the file back"):
            site.served_at("http://127.0.0.1:8000")


def test_known_answers_are_shown_after_the_judges_own_which_are_final_then(campaign):
    gold = made([(["r"], [f"good {n}", f"bad {n}"]) for n in range(9)], lp="de-en", kind="fluency")
    for show in (True, False):
        path, created = campaign("ranking", data=small(sources=30), gold=0.5, gold_data=gold, show_gold=show)
        with serving(path) as address:
            judge = Client(address)
            judge_all(judge, created.links["judge1"], lambda texts: [1, 2, 3][: len(texts)], 1)
            known = [judge.judge(judge.get("/"), lambda texts: [1, 2, 3][: len(texts)]) for _ in range(15)]
        known = [page for page in known if "The known answer" in page.text]
        golds = rows(path, "SELECT count(*) FROM assignment JOIN item ON item.id = item WHERE role = 'gold'")
        assert len(known) >= golds[0][0] - 1 > 2 if show else not known
        path.unlink()
        for page in known:
            ranks = re.findall(r"<dd>(\d)</dd>", page.text)
            assert ranks == (
                ["1", "1", "2", "2"] if page.text.index("good ") < page.text.index("bad ") else ["2", "1", "1", "2"]
            )


def test_rounding_of_known_judgements_is_no_order(campaign, tmp_path):
    gold = concatenate_datasets([equally_judged(), made([(["r"], ["good", "bad"])], lp="de-en", kind="fluency")])
    _, created = campaign("pairwise", data=small(), gold=0.5, gold_data=gold)
    assert created.gold == 1
    with pytest.raises(DataError, match="no source with two outputs judged differently: use another --gold corpus"):
        make_campaign(tmp_path / "new", small(), settings("pairwise"), [], gold=equally_judged())


def test_an_answer_whose_known_one_was_seen_is_final(campaign):
    gold = made([(["r"], [f"good {n}", f"bad {n}"]) for n in range(9)], lp="de-en", kind="fluency")
    path, created = campaign("pairwise", data=small(), gold=1.0, gold_data=gold, show_gold=True)
    with serving(path) as address:
        judge = Client(address)
        first, tab = (judge.enter(created.links["judge1"]).page().forms["/judge"] for _ in range(2))
        answer = {**first, "choice": "first"}
        assert "The known answer" in judge.post("/judge", answer).text
        assert "The known answer" in judge.get("/item/1").text
        assert "The known answer" in judge.post("/judge", answer).text
        assert judge.post("/judge", {**tab, "choice": "second"}).status == 409
        following = judge.get("/")
        assert "/undo" not in following.page().forms
        undo = {**following.page().forms["/judge"], "assignment": "1"}
        assert judge.post("/undo", undo).status == 409
    assert len(answers(path)) == 1


def test_an_answer_that_cannot_be_written_is_said_to_be_lost_and_can_be_sent_again(campaign, monkeypatch):
    monkeypatch.setattr("ranker.apps.collect.campaign._BUSY_SECONDS", 0.2)
    path, created = campaign("fluency", data=small())
    with serving(path) as address, closing(sqlite3.connect(path, isolation_level=None)) as other:
        judge = Client(address)
        fields = {**judge.enter(created.links["judge1"]).page().forms["/judge"], "value0": 4}
        other.execute("BEGIN IMMEDIATE")
        refused = judge.post("/judge", fields)
        other.execute("ROLLBACK")
        assert refused.status == 503
        assert "could not be saved" in refused.text
        assert answers(path) == []
        assert judge.post("/judge", fields).status == 200
    assert answers(path) == [(1, "[4]")]


def test_undo_opens_the_last_item_again_and_only_once(client):
    path, judge, link = client
    second = judge.judge(judge.enter(link), lambda texts: [4])
    undo = second.page().forms["/undo"]
    again = judge.post("/undo", undo)
    assert again.page().forms["/judge"]["assignment"] == "1"
    assert 'value="4" required checked' in again.text
    assert "0 judged" in again.text
    judge.post("/undo", undo)
    assert answers(path) == [(1, "[4]"), (1, None)]
    third = judge.judge(again, lambda texts: [3])
    # goes on where it was
    assert third.page().forms["/judge"]["assignment"] == "2"
    assert rows(path, "SELECT answer FROM assignment ORDER BY id") == [("[3]",), (None,)]


@pytest.mark.parametrize(
    "fields", [{}, {"value0": ""}, {"value0": "6"}, {"value0": "0"}, {"value0": "²"}, {"value0": "1 OR 1"}]
)
def test_an_incomplete_answer_is_not_saved_and_says_what_is_missing(client, fields):
    path, judge, link = client
    refused = judge.post("/judge", {**judge.enter(link).page().forms["/judge"], **fields})
    assert refused.status == 422
    assert "Not saved:" in refused.text
    assert answers(path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_judged_to_the_end_by_two_judges(campaign, kind):
    path, created = campaign(kind, data=small(), judges_per_item=2)
    value = {"ranking": [2, 1, 1], "pairwise": [1, 2]}.get(kind, [3] if kind != "mqm" else [0])
    with serving(path) as address:
        for code in ("judge1", "judge2"):
            assert judge_all(Client(address), created.links[code], lambda texts: value) == created.items
        assert "Nothing to judge" not in Client(address).enter(created.links["judge1"]).text
    # the shown order differs between judges, and the answers follow the texts
    shown = rows(path, "SELECT item, count(DISTINCT shown) FROM assignment GROUP BY item")
    assert not KINDS[kind].compares or max(count for _, count in shown) == 2


def test_the_order_of_outputs_is_shuffled_for_each_judge_and_the_answer_undoes_it(campaign):
    path, created = campaign("ranking", data=small(), judges=4, judges_per_item=4)
    best = {"one": 1, "two": 2, "three": 3}
    with serving(path) as address:
        for code in ("judge1", "judge2", "judge3", "judge4"):
            judge_all(Client(address), created.links[code], lambda texts: [best[text.split()[0]] for text in texts])
    assert len(rows(path, "SELECT DISTINCT shown FROM assignment")) > 1
    for outputs, answer in rows(path, "SELECT outputs, answer FROM assignment JOIN item ON item.id = item"):
        systems = [
            rows(path, "SELECT system FROM candidate WHERE id = ?", output[0])[0][0] for output in json.loads(outputs)
        ]
        assert [best[system] for system in systems] == json.loads(answer)


def test_an_item_that_was_left_open_goes_to_somebody_else_after_a_while(campaign):
    path, _ = campaign("fluency", judges=4, data=small(sources=1, outputs=("one",)))
    connection = connect(path)
    judges = [row["id"] for row in connection.execute("SELECT id FROM person WHERE role = 'judge' ORDER BY id")]
    held = assigning.HELD_SECONDS

    def assigned(judge, now):
        return assigning.next_assignment(connection, settings_of(connection), judges[judge], now)

    with transaction(connection):
        assert [assigned(0, 0.0), assigned(0, 1.0), assigned(1, 1.0), assigned(1, held + 1)] == [1, 1, None, 2]
        # the second judge has as long
        assert [assigned(2, held + 2), assigned(2, 2 * held + 1), assigned(2, 2 * held + 2)] == [None, None, 3]
        # the first judge's time runs from the beginning
        assigning.save(connection, judges[0], 1, [3], 1, 2 * held + 3)
        assert connection.execute("SELECT seconds FROM assignment WHERE id = 1").fetchone()[0] == 2 * held + 3
        assert assigned(3, 9 * held) is None
    connection.close()


def test_a_repetition_that_was_left_open_goes_to_nobody_else(campaign):
    path, _ = campaign("fluency", data=small(sources=5, outputs=("one",)), repeat=1.0)
    connection = connect(path)
    first, second = (row["id"] for row in connection.execute("SELECT id FROM person WHERE role = 'judge' ORDER BY id"))
    with transaction(connection):
        last = (
            "SELECT 1 FROM assignment WHERE id = ? AND repeat AND NOT EXISTS (SELECT 1 FROM item WHERE place NOT NULL)"
        )
        key = 0
        while not connection.execute(last, (key,)).fetchone():
            key = assigning.next_assignment(connection, settings_of(connection), first, 0.0)
            if not connection.execute(last, (key,)).fetchone():
                assigning.save(connection, first, key, [3], 1, 9.0)
        assert assigning.next_assignment(connection, settings_of(connection), second, 9999.0) is None
    connection.close()


def test_overlap_gives_a_share_of_the_items_to_several_judges(campaign, sample):
    path, created = campaign("ranking", judges=3, next="overlap", overlap=0.3, judges_per_item=2)
    assert rows(path, "SELECT sum(wanted) - count(*), count(*) FROM item") == [(created.shared, created.items)]
    assert created.shared == round(0.3 * created.items)
    connection = connect(path)
    settings = settings_of(connection)
    judges = [row["id"] for row in connection.execute("SELECT id FROM person WHERE role = 'judge'")]
    with transaction(connection):
        for turn in range(60):
            judge = judges[turn % 3]
            key = assigning.next_assignment(connection, settings, judge, turn)
            assigning.save(connection, judge, key, [1] * 5, turn, turn)
    connection.close()
    # those that have a first judge get the second before new items are opened
    given = dict(rows(path, "SELECT given, count(*) FROM item WHERE wanted = 2 AND given > 0 GROUP BY given"))
    assert given.get(2, 0) >= 8
    assert given.get(1, 0) <= 3


@pytest.mark.parametrize(("overlap", "shared"), [(0.0, 0), (0.01, 1), (0.2, 1), (0.5, 3), (1.0, 6)])
@pytest.mark.parametrize("seed", [0, 5])
def test_an_overlap_is_the_same_number_of_items_for_every_seed(campaign, overlap, shared, seed):
    data = small(sources=6, outputs=("one",))
    path, created = campaign("fluency", data=data, next="overlap", overlap=overlap, judges_per_item=3, seed=seed)
    assert created.shared == shared
    assert rows(path, "SELECT count(*) FROM item WHERE wanted = 3") == [(shared,)]


def test_a_quota_ends_the_work_of_a_judge(campaign):
    path, created = campaign("fluency", quota=4)
    with serving(path) as address:
        judge = Client(address)
        assert judge_all(judge, created.links["judge1"], lambda texts: [3]) == 4
        assert "Thank you" in judge.get("/").text
