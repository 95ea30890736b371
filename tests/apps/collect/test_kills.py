"""A server that is killed loses nothing that it acknowledged."""

from __future__ import annotations

import http.client
import json
import signal
import sqlite3
import threading
import time
from contextlib import closing

from tests.apps.collect.conftest import Client, free_port
from tests.effort import thorough


@thorough
def test_what_was_acknowledged_is_in_the_file_and_judges_go_on_where_they_were(campaign, serve):
    path, created = campaign("fluency", judges=4)
    port = free_port()
    clients = {code: Client(f"http://127.0.0.1:{port}") for code in created.links if code != "owner"}
    acknowledged: dict[int, int] = {}

    def work(code: str) -> None:
        client = clients[code]
        try:
            page = client.enter(created.links[code])
            while True:
                fields = page.page().forms["/judge"]
                value = int(fields["assignment"]) % 5 + 1
                answer = client.post("/judge", {**fields, "value0": value}, follow=False)
                assert answer.status == 303
                acknowledged[int(fields["assignment"])] = value
                page = client.get(answer.headers["location"])
        except (OSError, http.client.HTTPException):
            return  # killed

    for number in (20, 1, 40):
        server = serve(path, port)
        threads = [threading.Thread(target=work, args=(code,)) for code in clients]
        for thread in threads:
            thread.start()
        before = len(acknowledged)
        while len(acknowledged) < before + number:
            time.sleep(0.001)
        server.send_signal(signal.SIGKILL)
        server.communicate()
        for thread in threads:
            thread.join()
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            stored = dict(connection.execute("SELECT id, answer FROM assignment WHERE answer NOT NULL"))
            open_items = dict(
                connection.execute(
                    "SELECT code, assignment.id FROM assignment JOIN person ON person.id = judge WHERE answer IS NULL"
                )
            )
        assert {key: json.loads(stored[key]) for key in acknowledged} == {k: [v] for k, v in acknowledged.items()}
    server = serve(path, port)
    for code, assignment in open_items.items():
        assert clients[code].get("/").page().forms["/judge"]["assignment"] == str(assignment)
    server.terminate()
    server.communicate()


@thorough
def test_commands_beside_the_server_see_every_answer_and_none_is_lost_in_a_kill(campaign, serve, command, tmp_path):
    path, created = campaign("fluency", judges=1)
    port = free_port()
    server = serve(path, port)
    judge, owner = Client(f"http://127.0.0.1:{port}"), Client(f"http://127.0.0.1:{port}")
    page = judge.enter(created.links["judge1"])

    def known() -> int:
        return int(json.loads(command("collect", "status", str(path), "-f", "json").out)["progress"]["judged"])

    counts = []
    for words in (["status"], ["link", "judge9"], ["export", "-o", str(tmp_path / "x.jsonl")]):
        assert owner.enter(created.links["owner"]).status == 200
        for _ in range(2):
            page = judge.judge(page, lambda texts: [4])
        command("collect", words[0], str(path), *words[1:])
        page = judge.judge(page, lambda texts: [2])
        counts.append(known())
    assert counts == [3, 6, 9]
    assert owner.get("/owner").status == 200
    assert "9 judged" in page.text
    server.send_signal(signal.SIGKILL)
    server.communicate()
    assert known() == 9
