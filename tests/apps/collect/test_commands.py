"""The commands, with input that is wrong."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.apps.collect.conftest import Client, free_port, small
from tests.effort import further


@pytest.fixture
def refused(command):
    """Run a command of campaigns that must be refused in one line, and return the line."""

    def call(*words: object) -> str:
        (line,) = command("-q", "collect", *map(str, words), code=2).err.splitlines(keepends=True)
        assert line.startswith("ranker: error: ")
        return line.removeprefix("ranker: error: ")

    return call


def test_a_port_that_is_taken_and_an_address_of_nobody(campaign, refused):
    pytest.importorskip("uvicorn", reason="mt-ranker[collect] is not installed")
    path, _ = campaign("fluency")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words in (["--port", port], ["--host", "203.0.113.1"], ["--host", "no such host"]):
            message = refused("serve", path, *words)
            assert message.startswith("cannot listen on")
            assert message.endswith("; choose another --host or --port\n")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--port", "0"], ["127.0.0.1"]),
        further(["--port", "0", "--host", "localhost"], ["localhost"]),
        further(["--port", "0", "--host", "0.0.0.0"], ["127.0.0.1"]),
        further(["--port", "0", "--host", "0.0.0.0", "--allow-host", "localhost"], ["localhost", "127.0.0.1"]),
        further(["--port", "0", "--host", "::1"], ["[::1]"]),
        further(["--port", "0", "--host", "::", "--allow-host", "::1"], ["[::1]", "[::1]"]),
    ],
)
def test_the_addresses_that_are_printed_answer_and_links_lead_there(campaign, serve, command, options, shown):
    if "::" in "".join(options) and not has_ipv6():
        pytest.skip("no IPv6")
    path, created = campaign("fluency", data=small())
    server = serve(path, *options)
    addresses = re.findall(r"http://\S+:\d+", server.said.partition(";")[0])
    assert [address.removeprefix("http://").rpartition(":")[0] for address in addresses] == shown
    # they begin with the port of `new`, which is another one here
    assert f"; personal links now begin with {addresses[0]}: replace http://127.0.0.1:8765 " in server.said
    link = command("collect", "link", str(path), "judge1").out.strip()
    assert link.startswith(f"{addresses[0]}/enter/")
    for address in addresses:
        assert Client(address).enter(link).status == 200
    owner = Client(addresses[0])
    page = owner.enter(created.links["owner"])
    form = {**page.page().forms["/owner/links"], "code": "new", "do": "give"}
    assert f'class="link">{addresses[0]}/enter/' in owner.post("/owner/links", form).text


def has_ipv6() -> bool:
    try:
        with closing(socket.create_server(("::1", 0), family=socket.AF_INET6)):
            return True
    except OSError:
        return False


def test_links_lead_to_the_public_address_and_a_local_one_gives_the_port(campaign, serve, command):
    port = free_port()
    path, created = campaign("fluency", data=small(), url=f"http://localhost:{port}/")
    assert created.links["judge1"].startswith(f"http://localhost:{port}/enter/")
    server = serve(path)
    assert f"serving {path} at http://127.0.0.1:{port}; personal links lead to http://localhost:{port}/;" in server.said
    assert Client(f"http://localhost:{port}").enter(created.links["judge1"]).status == 200
    assert command("collect", "link", str(path), "judge1").out.startswith(f"http://localhost:{port}/enter/")


@pytest.mark.parametrize(
    "url", ["http://[", "judge.example.org", "ftp://a", "http://", "http://a:99999", "http://a b", ""]
)
def test_what_is_no_public_address_is_refused(tmp_path, refused, url):
    assert "expected an address such as https://judge.example.org" in refused(
        "new", tmp_path / "x", "--data", "sample", "--url", url
    )


def test_what_a_campaign_lacks_is_said(tmp_path, campaign, refused):
    path, _ = campaign("fluency")
    assert "no judge has the code 'judge9'" in refused("link", path, "judge9", "--close")
    assert "contains no judgements to export yet" in refused("export", path, "--output", tmp_path / "x.jsonl")
    (tmp_path / "empty").touch()
    assert "is not a campaign file; expected a file created by" in refused("status", tmp_path / "empty")
    assert (tmp_path / "empty").stat().st_size == 0


def test_a_database_of_another_program_is_refused_and_stays_as_it_was(tmp_path, refused):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE settings (x); INSERT INTO settings VALUES (1)")
    before = path.read_bytes()
    for words in (["status", path], ["export", path, "-o", tmp_path / "x.jsonl"], ["link", path, "judge1"]):
        assert "is not a campaign file; expected a file created by" in refused(*words)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["other.db"]


def test_no_command_writes_its_result_over_a_campaign(campaign, refused, command):
    path, _ = campaign("fluency", data=small())
    before = path.read_bytes()
    read = "is read by this command, which would replace it: write to another file"
    database = "is a database, such as a campaign; choose another name"
    for words, reason in (
        (("collect", "status", path, "-o", path), read),
        (("collect", "export", path, "-o", path), read),
        (("collect", "new", path.with_name("y.campaign"), "--data", "sample", "-o", path), database),
        (("score", "--data", "sample", "-m", "bleu", "-o", path), database),
    ):
        assert reason in command(*map(str, words), code=2).err
        assert path.read_bytes()[100:] == before[100:]


def test_changes_that_a_deleted_campaign_left_do_not_become_part_of_a_new_one(campaign, refused):
    path, _ = campaign("fluency", data=small())
    path.unlink()
    path.with_name(f"{path.name}-wal").write_bytes(b"judgements")
    message = refused("new", path, "--data", "sample")
    assert message == f"{path}-wal: already exists; choose another name or delete it\n"
    assert not path.exists()


@pytest.mark.skipif(os.name != "posix", reason="needs hard links")
def test_a_second_name_of_a_campaign_is_refused(tmp_path, campaign, refused):
    path, _ = campaign("fluency", data=small())
    (tmp_path / "second").hardlink_to(path)
    assert "has a second name (a hard link)" in refused("status", tmp_path / "second")
    (tmp_path / "second").unlink()
    (tmp_path / "second").symlink_to(path)
    assert "contains no judgements" in refused("export", tmp_path / "second", "-o", tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    "statement",
    [
        "garbage in the middle",
        "DELETE FROM settings",
        "UPDATE settings SET judges_per_item = 0",
        "UPDATE settings SET kind = 'x'",
        "INSERT INTO settings SELECT * FROM settings",
        "DROP TABLE assignment",
        "PRAGMA foreign_keys = OFF; DELETE FROM candidate",
        "UPDATE source SET text = 'a' || char(0)",
        "UPDATE source SET text = CAST(x'ff' AS TEXT)",
        "UPDATE item SET outputs = '[[]]'",
        "UPDATE item SET outputs = '['",
        "UPDATE item SET wanted = -1",
        "UPDATE candidate SET source = 2, system = 'x' WHERE id = 1",
        "CREATE TRIGGER x AFTER INSERT ON person BEGIN DELETE FROM judgement; END",
    ],
)
def test_a_damaged_campaign_is_refused_in_one_line(statement, tmp_path, campaign, refused):
    path, _ = campaign("fluency", data=small())
    if statement.startswith("garbage"):
        raw = path.read_bytes()
        path.write_bytes(raw[:4096] + b"\x07" * (len(raw) - 4096))
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(f"PRAGMA ignore_check_constraints = ON; {statement}")
    for words in (["status", path], ["export", path, "-o", tmp_path / "x.jsonl"], ["link", path, "judge1"]):
        message = refused(*words)
        assert re.match(f"{path}: (cannot be used|is not a campaign file, or is damaged) \\(", message)


@pytest.mark.skipif(os.name != "posix", reason="needs permissions of files")
@pytest.mark.parametrize(("mode", "denied"), [(0o555, "no permission to write in its directory"), (0o755, "this file")])
def test_a_campaign_that_may_not_be_written_is_not_called_damaged(mode, denied, tmp_path, campaign, refused):
    path, _ = campaign("fluency", data=small())
    (tmp_path / "out").mkdir()
    tmp_path.chmod(mode)
    path.chmod(0o644 if mode == 0o555 else 0o444)
    try:
        if os.access(tmp_path if mode == 0o555 else path, os.W_OK):
            pytest.skip("this user may write everything")
        for words in (["status", path], ["export", path, "-o", tmp_path / "out" / "x"], ["link", path, "judge1"]):
            message = refused(*words)
            assert message.startswith(f"{path}: cannot be opened: no permission to ")
            assert denied in message
            assert mode == 0o755 or str(tmp_path.resolve()) in message.partition(": ")[2]
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="needs permissions of files")
def test_links_in_a_file_are_for_the_owner_alone(tmp_path, command):
    before = os.umask(0o022)
    try:
        for words in (["new", str(tmp_path / "a"), "--data", "sample"], ["status", str(tmp_path / "a")]):
            command("collect", *words, "-o", str(tmp_path / f"{words[0]}.json"))
    finally:
        os.umask(before)
    assert "/enter/" in (tmp_path / "new.json").read_text()
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("a", "new.json", "status.json")}
    assert modes == {"a": 0o600, "new.json": 0o600, "status.json": 0o644}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("stars\tgrade", "expected one kind of judgement for control items, or a known kind such as fluency,"),
        ("stars", ""),
        ("mqm_total", ""),
        ("comment", "expected one kind of judgement for control items"),
    ],
)
@pytest.mark.parametrize("values", [("1", "5"), ("-1", "-5"), ("-1", "5")])
def test_the_options_of_a_message_on_control_items_mean_what_it_says(tmp_path, command, columns, message, values):
    """``--kind`` is the kind of task here; messages of other commands mean the kind of judgement by it."""
    lines = [f"source\tsystem\ttext\t{columns}"]
    for system, value in zip("AB", values, strict=True):
        cells = ["x" if column == "comment" else value for column in columns.split("\t")]
        lines.append("\t".join(["s", system, f"text {system}", *cells]))
    (tmp_path / "gold.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["collect", "new", str(tmp_path / "x"), "--data", "sample", "--show", "source"]
    words += ["--gold", str(tmp_path / "gold.tsv")]
    said = command(*words, code=2 if message else 0).err
    assert message in said
    assert "--kind" not in said


@pytest.mark.parametrize(
    ("options", "order", "told"),
    [
        ([], ("uniform", 1), ", each by 1 of 3 judges;"),
        (["--judges-per-item", "2"], ("uniform", 2), ", each by 2 of 3 judges;"),
        (["--judges-per-item", "3"], ("uniform", 3), ";"),
        (["--overlap", "0.3"], ("overlap", 2), ", 249 of them by 2 judges;"),
        (["--overlap", "0", "--judges-per-item", "3"], ("overlap", 3), ";"),
    ],
)
def test_a_share_of_overlap_sets_the_order_of_items(tmp_path, command, options, order, told):
    path = str(tmp_path / "x")
    made = command("collect", "new", path, "--data", "sample", "--kind", "fluency", "--judges", "3", *options).out
    assert f"items to judge{told} start with" in made
    settings = json.loads(command("collect", "status", path, "--json").out)["settings"]
    assert (settings["next"], settings["judges_per_item"]) == order
    assert settings["overlap"] == (float(options[1]) if "--overlap" in options else 0.2)


def test_a_campaign_of_another_version_is_refused(campaign, refused):
    path, _ = campaign("fluency", data=small())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    expected = "has campaign format version 1, expected 6: use the version of ranker that created it to export"
    assert refused("status", path) == f"{path}: {expected} its judgements\n"


def test_a_server_imports_nothing_heavy():
    pytest.importorskip("starlette", reason="mt-ranker[collect] is not installed")
    heavy = "pandas", "pyarrow", "numpy"
    code = f"import sys, ranker.apps.collect.web.server; print(sorted({{*{heavy}}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
