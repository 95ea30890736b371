"""Links that are forged, texts that bite, and clients that mean no good: nothing executes, nothing leaks."""

from __future__ import annotations

import http.client
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import pytest

from ranker.apps.collect import access
from ranker.apps.collect.campaign import connect, transaction
from ranker.apps.collect.making import CreatedCampaign
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import OptionError
from tests.apps.collect.conftest import EVIL, Client, judge_all, serving, small
from tests.effort import thorough


class Served(NamedTuple):
    path: Path
    address: str
    made: CreatedCampaign


@pytest.fixture
def served(campaign):
    outputs = [Candidate(f"{EVIL}{n}", f"{EVIL} {n}") for n in range(3)]
    data = assemble([Record(EVIL, [EVIL], outputs, lp="de-en", doc=EVIL, seg_id=EVIL)], EVIL)
    path, created = campaign("ranking", data=data, title=EVIL)
    with serving(path) as address:
        yield Served(path, address, created)


def enter(served):
    client = Client(served.address)
    return client, client.enter(served.made.links["judge1"])


def test_markup_in_texts_and_names_is_shown_and_not_run(served):
    client, answer = enter(served)
    owner = Client(served.address)
    pages = [
        answer,
        owner.enter(served.made.links["owner"]),
        client.get("/item/99999"),
        client.get(f"/{EVIL.replace(' ', '')}"),
    ]
    for page in pages:
        assert "<script>" not in page.text
        assert "<img" not in page.text
        assert page.page().scripts == 0
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
        assert page.headers["x-content-type-options"] == "nosniff"
    assert "&lt;script&gt;" in answer.text
    # a judge never sees the names of the systems
    assert f"{EVIL}0" not in answer.text.replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">").replace(
        "&#34;", '"'
    )


@pytest.mark.parametrize("code", [EVIL, "Ann Smith", "ann@example.org", "", "owner", "x" * 33, "a\nb", "-a", "é"])
def test_codes_that_could_be_names_or_markup_are_refused(served, code):
    with pytest.raises(OptionError, match="judge code"):
        access.check_code(code)
    owner = Client(served.address)
    key = owner.enter(served.made.links["owner"]).page().forms["/owner/links"]["key"]
    refused = owner.post("/owner/links", {"key": key, "code": code, "do": "give"})
    assert refused.status == 422
    assert "<script>" not in refused.text


def test_without_a_token_nothing_is_shown(served):
    for page in ("/", "/item/1", "/done", "/owner", "/enter/x", "/owner/links", "/judge", "/undo"):
        answer = Client(served.address).send("GET", page)
        assert answer.status in (403, 404, 405), page
        assert "Rank" not in answer.text
        assert "DROP" not in answer.text
    for page in ("/judge", "/undo", "/owner/links"):
        answer = Client(served.address).post(page, {"assignment": 1, "value0": 1, "code": "x"})
        assert answer.status == 403


def test_forged_expired_closed_and_foreign_tokens(served, tmp_path):
    token = served.made.links["judge1"].rsplit("/", 1)[1]
    for forged in (
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        token.swapcase(),
        "' OR 1=1 --",
        "../" * 5,
        token + "x",
    ):
        assert Client(served.address).send("GET", "/enter/" + forged.replace(" ", "%20")).status in (403, 404)
        assert Client(served.address, {"ranker-test-judge": forged}).get("/").status == 403
    # a judge's token is none of the owner
    assert Client(served.address, {"ranker-test-owner": token}).get("/owner").status == 403
    judge = Client(served.address)
    judge.enter(served.made.links["judge1"])
    assert judge.get("/owner").status == 403
    # nor may a judge look at another's items
    other = Client(served.address)
    other.enter(served.made.links["judge2"])
    assert other.get("/item/1").status == 404
    fields = {**judge.get("/item/1").page().forms["/judge"], "value0": 1, "value1": 1, "value2": 1}
    stolen = {**fields, "key": access.form_key(other.cookies["ranker-test-judge"])}
    assert other.post("/judge", stolen).status == 404
    assert other.post("/undo", stolen).status == 404
    with closing(connect(served.path)) as connection, transaction(connection):
        connection.execute("UPDATE person SET expires = 1 WHERE code = 'judge1'")
        access.close_link(connection, "judge2")
    assert judge.get("/item/1").status == 403
    assert other.get("/").status == 403


def test_tokens_are_not_in_the_file(campaign):
    path, created = campaign("fluency", data=small())
    with serving(path) as address:
        Client(address).enter(created.links["judge1"])
    # the server is closed: a file that is opened outside SQLite loses the locks of this process
    content = b"".join(item.read_bytes() for item in path.parent.glob("test.campaign*"))
    assert b"judge1" in content
    for link in created.links.values():
        assert link.rsplit("/", 1)[1].encode() not in content


def test_a_new_link_ends_the_earlier_one(served):
    owner = Client(served.address)
    key = owner.enter(served.made.links["owner"]).page().forms["/owner/links"]["key"]
    page = owner.post("/owner/links", {"key": key, "code": "judge1", "do": "give"}).text
    link = re.search(r'class="link">([^<]+)<', page)[1]
    assert Client(served.address).enter(served.made.links["judge1"]).status == 403
    assert Client(served.address).enter(link).status == 200
    owner.post("/owner/links", {"key": key, "code": "judge1", "do": "close"})
    assert Client(served.address).enter(link).status == 403


def test_a_form_of_the_owner_ends_a_link_once(served):
    owner = Client(served.address)
    page = owner.enter(served.made.links["owner"])
    new = {**page.page().forms["/owner/links"], "code": "judge9", "do": "give"}
    link = re.search(r'class="link">([^<]+)<', owner.post("/owner/links", new).text)[1]
    # as the page is loaded again, which sends the form again
    again = owner.post("/owner/links", new)
    assert again.status == 422
    assert "judge9: this form is older than the last link" in again.text
    assert Client(served.address).enter(link).status == 200
    states = dict(
        re.findall(r'name="code" value="(judge\d)">\s*<input type="hidden" name="state" value="(\w+)"', again.text)
    )
    row = {"key": new["key"], "code": "judge9", "state": states["judge9"], "do": "close"}
    assert owner.post("/owner/links", row, follow=False).status == 303
    assert Client(served.address).enter(link).status == 403
    assert owner.post("/owner/links", {**row, "do": "give"}).status == 422


NUMBERS = ("9" * 5000, str(2**63), str(2**64), "1" * 17 + "0", "-1", "1e3", "٣", "0x1", "", " 1", "1_0", "1\0")
ORIGINS = (
    "http://[",
    "http://]",
    "[",
    "http://[::1",
    "http://a:b:c",
    "//",
    "\xff",
    "http://" + "a" * 5000,
    "http://:99999999",
)


@thorough
def test_values_that_no_page_sends_are_refused_and_leave_the_log_empty(served, capfd, caplog):
    judge, answer = enter(served)
    fields = {**answer.page().forms["/judge"], "value0": 1, "value1": 2, "value2": 3}
    statuses = []
    for number in NUMBERS:
        quoted = quote(number)
        statuses.append(judge.get(f"/item/{quoted}").status)
        statuses.append(judge.get(f"/static/{quoted}").status)
        statuses += [judge.post("/judge", {**fields, name: number}).status for name in ("assignment", "form", "value0")]
        statuses += [judge.post("/undo", {**fields, name: number}).status for name in ("assignment", "form")]
        statuses.append(judge.send("POST", "/judge", "", Content_Length=quoted).status)
    for origin in ORIGINS:
        statuses.append(judge.post("/judge", fields, Origin=origin).status)
        statuses.append(judge.send("GET", "/", Host=origin).status)
        cookie = f'ranker-test-judge="\\777{origin}"'
        statuses.append(Client(served.address, patient=False).send("GET", "/", Cookie=cookie).status)
        proxy = {"X_Forwarded_For": origin, "X_Forwarded_Proto": origin, "Cookie": cookie}
        statuses.append(judge.send("GET", "/done", **proxy).status)
    for body in ("&&&", "%", "a=%zz", "key=%ff", "=" * 200, "&".join(f"a{n}=1" for n in range(99)), "\xff", "key"):
        statuses.append(judge.send("POST", "/judge", body, Content_Type="application/x-www-form-urlencoded").status)
    for path in (
        "/%",
        "/%ff",
        "/%00",
        "//[",
        "/item/1/",
        "/enter/%ff",
        "/enter/" + "x" * 5000,
        "/;[",
        "/\\",
    ):
        statuses.append(judge.send("GET", path).status)
    assert {status // 100 for status in statuses} == {4}, statuses
    assert judge.post("/judge", fields).status == 200
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_strangers_are_slowed_down_before_anything_is_looked_at(served):
    for path in ("/item/" + "9" * 5000, "/nothing", "/static/nothing"):
        stranger = Client(served.address, patient=False)
        statuses = [stranger.send("GET", path).status for _ in range(60)]
        assert statuses[-1] == 429
        assert 429 in statuses
    assert enter(served)[1].status == 200


def test_failures_are_answered_and_said_in_a_few_lines(served, monkeypatch, capfd, caplog):
    from ranker.apps.collect.web import server

    judge, _ = enter(served)
    monkeypatch.setattr(server, "_LINES", access.Limiter(rate=0, burst=12))
    for error, status in (
        (RuntimeError("no\nreason"), 500),
        (ValueError("x" * 999), 400),
        (sqlite3.Error("full"), 503),
    ):
        monkeypatch.setattr(server, "task_page", lambda *_, error=error: (_ for _ in ()).throw(error))
        answers = [judge.get("/item/1") for _ in range(8)]
        assert {answer.status for answer in answers} == {status}
        assert "script-src 'self'" in answers[0].headers["content-security-policy"]
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "ranker: error: RuntimeError: no\\nreason"
    assert len(lines) == 12
    assert max(map(len, lines)) < 400
    assert "Traceback" not in "".join(capfd.readouterr())


def test_forms_of_other_sites_are_refused(served):
    judge, answer = enter(served)
    fields = {**answer.page().forms["/judge"], "value0": 1, "value1": 2, "value2": 3}
    for wrong in ({"key": ""}, {"key": "0" * 32}, {"key": "é"}):
        assert judge.post("/judge", {**fields, **wrong}).status == 403
    assert judge.post("/judge", fields, Origin="https://evil.example").status == 403
    assert judge.post("/judge", fields, Origin="null").status == 403
    assert judge.send("POST", "/judge", "{}", Content_Type="application/json").status == 415
    assert judge.send("POST", "/judge", "", Content_Type="multipart/form-data").status == 415
    cookie = judge.send("GET", urlsplit(served.made.links["judge1"]).path).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    with closing(sqlite3.connect(served.path)) as connection:
        assert connection.execute("SELECT count(*) FROM judgement").fetchone()[0] == 0
    assert judge.post("/judge", fields, Origin=served.address).status == 200


@pytest.mark.parametrize("text", ["'; DROP TABLE judgement; --", "1 UNION SELECT token FROM person", "\0", "９"])
@thorough
def test_sql_in_every_field(served, text):
    judge, answer = enter(served)
    fields = {**answer.page().forms["/judge"], "value0": 1, "value1": 2, "value2": 3}
    for name in fields:
        assert judge.post("/judge", {**fields, name: text}).status in (400, 403, 404, 422), name
    assert judge.post("/undo", {**fields, "assignment": text}).status in (400, 403, 404)
    assert judge.post("/judge", {**fields, text: text}).status == 200
    cookie = text.replace("\0", "").encode("ascii", "ignore").decode()
    assert Client(served.address, {"ranker-test-judge": cookie}).get("/").status == 403
    with closing(sqlite3.connect(served.path)) as connection:
        assert connection.execute("SELECT count(*) FROM person").fetchone()[0] == 3
        assert len(connection.execute("SELECT answer FROM judgement").fetchall()) == 1


@pytest.mark.parametrize("path", ["../campaign.py", "%2e%2e/server.py", "..%2fserver.py", "/etc/passwd", "item.html"])
def test_no_way_to_other_files(served, path):
    answer = Client(served.address).send("GET", f"/static/{path}")
    assert answer.status == 404
    assert "import" not in answer.text


@pytest.mark.parametrize("announced", [True, False])
@thorough
def test_a_body_of_100_megabytes_is_not_taken(served, announced):
    judge, _ = enter(served)
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=60)
    block = b"value0=" + b"1" * 1_000_000
    headers = {
        "Cookie": f"ranker-test-judge={judge.cookies['ranker-test-judge']}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    more = {"Content-Length": str(100 * len(block))} if announced else {"Transfer-Encoding": "chunked"}
    sent = 0
    try:
        connection.request(
            "POST", "/judge", (block for _ in range(100)), {**headers, **more}, encode_chunked=not announced
        )
        sent = 100
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        # closed while we were still sending
        assert sent < 100
    finally:
        connection.close()
    # the server goes on
    assert judge.get("/").status == 200


def test_floods_are_slowed_down_without_harm_to_others(served, monkeypatch):
    now = 0.0
    monkeypatch.setattr(access, "time", SimpleNamespace(time=time.time, monotonic=lambda: now))
    judge, _ = enter(served)
    judge.patient = False
    statuses = [judge.send("GET", "/item/1").status for _ in range(130)]
    assert set(statuses[:110]) == {200}
    assert set(statuses[-10:]) == {429}
    now += 1
    assert [judge.send("GET", "/item/1").status for _ in range(21)] == [200] * 20 + [429]
    other = Client(served.address, patient=False)
    assert other.enter(served.made.links["judge2"]).status == 200
    stranger = Client(served.address, patient=False)
    assert 429 in {stranger.send("GET", f"/enter/{'x' * 43}").status for _ in range(60)}
    # strangers at the same address do not shut anybody out
    assert other.get("/").status == 200


def test_the_form_of_a_page_holds_no_known_answer(campaign):
    path, created = campaign("pairwise", data=small(sources=6), degraded=0.4)
    with serving(path) as address:
        client = Client(address)
        judge_all(client, created.links["judge1"], lambda texts: [1, 2])
        kinds = set()
        for number in range(1, 15):
            page = client.get(f"/item/{number}")
            kinds.add(re.sub(r"\d+|[0-9a-f]{16,}", "", str(sorted(page.page().forms["/judge"]))))
    assert len(kinds) == 1
