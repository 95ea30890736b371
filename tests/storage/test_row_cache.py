"""The cache on disk: it may cost time, but never changes a result and never fails a run."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from ranker.storage.row_cache import RowCache
from tests.effort import thorough

ROWS = {f"name {number}".encode(): bytes([number % 256]) * (number % 50) for number in range(700)}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill():
    with RowCache("things", "one") as cache:
        cache.keep(ROWS)
    return cache.path


def notes(caplog):
    lines = [record.getMessage() for record in caplog.records]
    assert all(line.isprintable() for line in lines)
    return lines


def test_rows_come_back_and_others_do_not(caplog):
    path = fill()
    assert path.parent.name == "things"
    with RowCache("things", "one") as cache:
        assert cache.known([*ROWS, b"other"]) == ROWS
        cache.keep({b"name 1": b"new"})
        assert cache.known([b"name 1"]) == {b"name 1": b"new"}
    with RowCache("things", "two") as cache:
        assert cache.known([*ROWS]) == {}
    assert notes(caplog) == []


def works_without(caplog, says):
    with RowCache("things", "one") as cache:
        assert set(cache.known([*ROWS]).items()) <= set(ROWS.items())
        cache.keep(ROWS)
        cache.keep(ROWS)
    messages = notes(caplog)
    assert len(messages) == 1
    assert says in messages[0]
    assert str(cache.path) in messages[0]


def test_a_folder_that_cannot_be_made(folder, caplog):
    folder.write_text("")
    works_without(caplog, "continuing without it")


@pytest.mark.parametrize("content", [b"no database " * 100, bytes(5000), b"SQLite format 3\0" + bytes(4000)])
def test_garbage_is_replaced(content, caplog):
    path = fill()
    path.write_bytes(content)
    works_without(caplog, "created again")
    with RowCache("things", "one") as cache:
        assert cache.known([*ROWS]) == ROWS


def test_every_truncation_gives_right_rows_and_heals(caplog):
    path = fill()
    whole = path.read_bytes()
    for size in (0, 1, 100, 4096, 5000, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        path.write_bytes(whole[:size])
        with RowCache("things", "one") as cache:
            assert set(cache.known([*ROWS]).items()) <= set(ROWS.items())
            cache.keep(ROWS)
        with RowCache("things", "one") as cache:
            assert cache.known([*ROWS]) == ROWS, size
    assert all("created again" in note or "recomputed" in note for note in notes(caplog))


@thorough
def test_flipped_bits_never_change_a_row(caplog):
    path = fill()
    whole = path.read_bytes()
    choose = random.Random(3)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(choose.choice((1, 1, 8))):
            damaged[choose.randrange(len(damaged))] ^= 1 << choose.randrange(8)
        path.write_bytes(damaged)
        with RowCache("things", "one") as cache:
            assert set(cache.known([*ROWS]).items()) <= set(ROWS.items())
            cache.keep(ROWS)
    assert any("damaged rows" in note for note in notes(caplog))


def test_a_lock_held_by_another_run_is_not_waited_for_long(monkeypatch, caplog):
    monkeypatch.setattr("ranker.storage.row_cache._WAIT_SECONDS", 0.1)
    path = fill()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        works_without(caplog, "is in use by another process")
        other.execute("ROLLBACK")


CHILD = """
import sys
from ranker.storage.row_cache import RowCache
rows = {str(n).encode(): b"x" * 1000 for n in range(int(sys.argv[1]))}
with RowCache("things", "one") as cache:
    known = cache.known([*rows])
    cache.keep(rows)
    print(len(known), len(cache.known([*rows])))
"""


def child(count, **more):
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(count)], capture_output=True, text=True, check=False, **more
    )


def test_no_room_on_the_disk(caplog):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    result = child(2000, preexec_fn=limit)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "0 0\n"
    assert result.stderr.count("\n") == 1
    assert "continuing without it" in result.stderr
    # what could be written is still sound
    assert child(10).stdout == "0 10\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_a_folder_without_write_permission(folder, caplog):
    path = fill()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    works_without(caplog, "continuing without it")
    path.parent.chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
def test_only_its_user_reads_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKER_CACHE", str(tmp_path / "cache"))
    before = os.umask(0)
    try:
        with RowCache("parses", "a") as cache:
            cache.keep({b"x": b"y"})
            made = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "cache" / "parses").rglob("*")}
        assert len(made) > 1
        assert set(made.values()) == {0o600}
        # as earlier versions made it
        for path, mode in ((cache.path, 0o644), (cache.path.parent, 0o755)):
            path.chmod(mode)
        with RowCache("parses", "a") as cache:
            assert cache.known([b"x"]) == {b"x": b"y"}
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.path.parent.stat().st_mode) == 0o700


def test_rows_that_cannot_be_written(caplog):
    path = fill()
    with RowCache("things", "one") as cache:
        cache._connection.execute("PRAGMA query_only=ON")
        cache.keep({b"new": b"row"})
    assert "readonly" in notes(caplog)[0]
    assert path.is_file()
