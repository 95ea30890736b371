"""The commands, with input that is wrong."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
from contextlib import closing

import pytest

from tests.collect.conftest import small


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


def test_what_a_campaign_lacks_is_said(tmp_path, campaign, refused):
    path, _ = campaign("fluency")
    assert "no judge has the code 'judge9'" in refused("link", path, "judge9", "--close")
    assert "contains no judgements to export yet" in refused("export", path, "--output", tmp_path / "x.jsonl")
    (tmp_path / "empty").touch()
    assert "is not a campaign file; expected a file created by" in refused("status", tmp_path / "empty")
    assert (tmp_path / "empty").stat().st_size == 0


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


def test_a_campaign_of_another_version_is_refused(campaign, refused):
    path, _ = campaign("fluency", data=small())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    expected = "has campaign format version 1, expected 3: use the version of ranker that created it to export"
    assert refused("status", path) == f"{path}: {expected} its judgements\n"
