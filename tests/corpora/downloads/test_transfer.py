"""Files come whole and right or not at all, whatever the server does, and an interrupted download goes on."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ranker.corpora.downloads import transfer
from ranker.corpora.downloads.transfer import DownloadLimits, fetch, in_bytes
from ranker.errors import FetchError
from ranker.storage import locks
from tests.corpora.downloads.conftest import CONTENT, DIGEST, HASTY

ONCE = replace(HASTY, attempts=1)
OTHER = CONTENT.replace(b"0", b"9")


@pytest.fixture
def target(tmp_path):
    return tmp_path / "data.txt"


def leave(server, target, size=7000):
    """Fetch the first `size` bytes; the server breaks off then."""
    server.stop_after = [size]
    with pytest.raises(FetchError, match="the same command again to resume"):
        fetch(f"{server.url}/data.txt", target, sha256=DIGEST, limits=ONCE)
    assert not target.exists()
    assert (target.parent / "data.txt.partial").stat().st_size == size
    server.requests.clear()


def check(target, content=CONTENT):
    """Check that the file is there and nothing else."""
    assert target.read_bytes() == content
    assert [path.name for path in target.parent.iterdir()] == ["data.txt"]


def test_a_file_comes_whole(server, target, caplog):
    assert fetch(f"{server.url}/data.txt", target, sha256=DIGEST, size=len(CONTENT), limits=HASTY) == DIGEST
    check(target)
    assert "downloading data.txt: 12.0 kB from 127.0.0.1" in caplog.text
    assert server.requests[0][1]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("validator", [{"tag": '"1"'}, {"tag": "", "date": "Sun, 01 Jan 2017 00:00:00 GMT"}])
def test_an_interrupted_download_goes_on(server, target, validator, caplog):
    for name, value in validator.items():
        setattr(server, name, value)
    leave(server, target)
    caplog.clear()
    assert fetch(f"{server.url}/data.txt", target, sha256=DIGEST, limits=HASTY) == DIGEST
    check(target)
    [(_, headers)] = server.requests
    assert (headers["Range"], headers["If-Range"]) == ("bytes=7000-", server.tag or server.date)
    assert caplog.messages == ["ranker: note: resuming data.txt: 5.0 kB"]


def test_a_broken_connection_is_made_again_as_long_as_it_brings_something(server, target):
    server.stop_after = [5000, 3000]
    assert fetch(f"{server.url}/data.txt", target, sha256=None, limits=replace(HASTY, attempts=3)) == DIGEST
    assert [headers.get("Range") for _, headers in server.requests] == [None, "bytes=5000-", "bytes=8000-"]
    check(target)


def test_a_stalled_connection_is_given_up(server, target, monkeypatch):
    opened = transfer._open

    def patient_until_the_answer(address, headers, limits):
        response = opened(address, headers, HASTY)
        response.fp.raw._sock.settimeout(limits.timeout)
        return response

    monkeypatch.setattr(transfer, "_open", patient_until_the_answer)
    server.stalls, server.stop_after = True, [4000]
    with pytest.raises(
        FetchError, match=r"no data for 0\.1 s after .* of 12\.0 kB, which were kept: run the same command"
    ):
        fetch(f"{server.url}/data.txt", target, sha256=None, limits=replace(ONCE, timeout=0.1))


def test_a_complete_part_is_not_asked_for_again(server, target):
    leave(server, target)
    with (target.parent / "data.txt.partial").open("ab") as stream:
        stream.write(CONTENT[7000:])
    assert fetch(f"{server.url}/data.txt", target, sha256=DIGEST, limits=HASTY) == DIGEST
    assert server.requests == []


@pytest.mark.parametrize(
    "how", ["changed", "unconditional", "dated", "ranges", "weak", "range", "416", "address", "facts", "longer"]
)
def test_a_part_that_does_not_fit_is_thrown_away(how, server, target, caplog):
    content, path, part = CONTENT, "/data.txt", target.parent / "data.txt.partial"
    if how == "weak":
        server.tag = 'W/"1"'
    if how == "dated":
        server.tag, server.date = "", "Sun, 01 Jan 2017 00:00:00 GMT"
    leave(server, target)
    if how == "changed":
        server.tag, server.files[path] = '"2"', OTHER
        content = OTHER
    elif how in ("unconditional", "dated"):
        server.conditions, server.files[path] = False, OTHER
        server.tag, server.date = (server.tag and '"2"'), (server.date and "Mon, 02 Jan 2017 00:00:00 GMT")
        content = OTHER
    elif how == "ranges":
        server.ranges = False
    elif how == "range":
        server.range_header = "bytes 6999-11999/12000"
    elif how == "416":
        answer = server.answer

        def once(handler):
            # before the answer is sent: the next request may come as soon as it is
            server.answer = answer
            server.requests.append((handler.path, dict(handler.headers.items())))
            handler.send_response(416)
            handler.end_headers()

        server.answer = once
    elif how == "address":
        path = "/other.txt"
        server.files[path] = content = OTHER
    elif how == "facts":
        (target.parent / "data.txt.partial.json").write_text('{"address": 1}')
    elif how == "longer":
        part.write_bytes(CONTENT * 2)
    digest = hashlib.sha256(content).hexdigest()
    assert fetch(f"{server.url}{path}", target, sha256=digest, limits=HASTY) == digest
    check(target, content)
    assert "downloading from the start" in caplog.text
    assert "Range" not in server.requests[-1][1] or how in ("changed", "ranges")


def test_a_wrong_digest_leaves_nothing(server, target):
    server.files["/data.txt"] = OTHER
    with pytest.raises(FetchError, match=f"has the SHA-256 digest .*, expected {DIGEST}: it is damaged or has changed"):
        fetch(f"{server.url}/data.txt", target, sha256=DIGEST, limits=HASTY)
    assert list(target.parent.iterdir()) == []


def test_the_old_file_stays_if_the_new_one_is_wrong(server, target):
    target.write_text("old")
    with pytest.raises(FetchError):
        fetch(f"{server.url}/data.txt", target, sha256="0" * 64, limits=HASTY)
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    ("settings", "expected", "limits", "says"),
    [
        ({}, {"size": 11_999}, HASTY, "the file has 12,000 bytes, expected 11,999: it has changed"),
        ({}, {}, replace(HASTY, size=11_000), "has 12.0 kB, more than the limit of 11.0 kB; raise it with --max-gb"),
        ({"chunked": True}, {}, replace(HASTY, size=11_000), "received more than 11,000 bytes"),
        ({"chunked": True}, {"size": 11_000}, HASTY, "received more than 11,000 bytes"),
        ({"chunked": True, "stop_after": [500]}, {}, ONCE, "the connection failed after 500 bytes, which were kept"),
        ({"chunked": True}, {"size": 13_000}, HASTY, r"the connection was closed after 12\.0 kB of 13\.0 kB"),
        ({"length": ""}, {}, HASTY, "the server does not report the file size, .*: give its digest with --sha256"),
        ({"length": "99999"}, {}, HASTY, "the connection was closed after 12.0 kB of 100.0 kB, which were kept"),
        ({"status": 503}, {}, HASTY, "the server answered 503 Service Unavailable, the file"),
        ({"status": 206}, {}, HASTY, "the server answered 206 Partial Content, the file"),
        ({"files": {}}, {}, HASTY, "the server answered 404 Not Found, the file may have moved"),
    ],
)
def test_what_is_not_as_declared_is_refused(settings, expected, limits, says, server, target):
    for name, value in settings.items():
        setattr(server, name, value)
    with pytest.raises(FetchError, match=says) as refused:
        fetch(f"{server.url}/data.txt", target, sha256=None, limits=limits, **expected)
    assert str(refused.value).startswith(f"{server.url}/data.txt: ")
    assert not target.exists()


@pytest.mark.parametrize("how", [{"chunked": True}, {"length": ""}])
def test_a_file_of_undeclared_length_comes_if_its_digest_is_known(how, server, target):
    for name, value in how.items():
        setattr(server, name, value)
    assert fetch(f"{server.url}/data.txt", target, sha256=DIGEST, limits=HASTY) == DIGEST
    check(target)


def test_redirections_are_followed_a_few_times(server, target):
    server.files |= {"/a": "/b", "/b": f"{server.url}/data.txt", "/c": "/a"}
    assert fetch(f"{server.url}/a", target, sha256=DIGEST, limits=HASTY) == DIGEST
    with pytest.raises(FetchError, match="redirects more than 2 times"):
        fetch(f"{server.url}/c", target, sha256=DIGEST, limits=HASTY)


def test_a_redirection_to_what_is_not_there_names_both_addresses(server, target):
    server.files["/a"] = "http://127.0.0.1:1/x"
    with pytest.raises(FetchError, match=r"/a redirects to http://127\.0\.0\.1:1/x, which cannot be reached"):
        fetch(f"{server.url}/a", target, sha256=DIGEST, limits=HASTY)


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://u:p@127.0.0.1/x", "http://h:x/", "http://[::1", ""]
)
def test_redirections_lead_to_the_web_only(to, server, target):
    server.files["/a"] = to
    says = "redirects (to .*: expected an address https|more than)"
    with pytest.raises(FetchError, match=says):
        fetch(f"{server.url}/a", target, sha256=DIGEST, limits=HASTY)


def test_nothing_that_was_encrypted_comes_unencrypted():
    transfer.check_address("https://b/x", before="http://a/x")
    with pytest.raises(FetchError, match="https://a/x: the server redirects to http://b/x, which is not encrypted"):
        transfer.check_address("http://b/x", before="https://a/x")


@pytest.mark.parametrize("address", ["file:///etc/passwd", "data:,x", "/etc/passwd", "https:///x", "http://a/\nb", ""])
def test_only_addresses_of_the_web_are_fetched(address, target):
    with pytest.raises(FetchError, match="expected an address https://HOST/FILE"):
        fetch(address, target, sha256=None, limits=HASTY)
    assert list(target.parent.iterdir()) == []


def test_a_server_that_is_not_there_is_said(server, target, monkeypatch):
    with pytest.raises(FetchError, match=r"http://127.0.0.1:1/x: cannot be reached \(.*refused.*\): check the network"):
        fetch("http://127.0.0.1:1/x", target, sha256=None, limits=HASTY)


def test_a_proxy_of_the_environment_is_used(server, target, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("no_proxy", "")
    server.files["http://data.invalid/data.txt"] = CONTENT
    assert fetch("http://data.invalid/data.txt", target, sha256=DIGEST, limits=HASTY) == DIGEST


def test_a_full_disk_is_noticed_before(server, target, monkeypatch):
    monkeypatch.setattr(transfer.shutil, "disk_usage", lambda folder: SimpleNamespace(free=100))
    with pytest.raises(FetchError, match=r"not enough disk space: 12\.0 kB needed, 100 bytes free"):
        fetch(f"{server.url}/data.txt", target, sha256=None, limits=HASTY)


@pytest.mark.skipif(not locks.HAS_LOCKS, reason="no locks on this system")
def test_two_runs_do_not_write_one_file(server, target):
    with (target.parent / "data.txt.partial").open("wb") as stream:
        locks.lock(stream.fileno())
        with pytest.raises(FetchError, match="another process is downloading this file"):
            fetch(f"{server.url}/data.txt", target, sha256=None, limits=HASTY)


def test_ctrl_c_keeps_what_has_come(server, target, monkeypatch):
    reports = []

    def stop(what, done, total):
        reports.append((what, done, total))
        raise KeyboardInterrupt

    monkeypatch.setattr(transfer, "report", stop)
    with pytest.raises(KeyboardInterrupt):
        fetch(f"{server.url}/data.txt", target, sha256=DIGEST, limits=HASTY)
    assert reports == [("MB", 0, 0)]
    monkeypatch.undo()
    size = (target.parent / "data.txt.partial").stat().st_size
    assert 0 < size <= len(CONTENT)
    assert fetch(f"{server.url}/data.txt", target, sha256=DIGEST, limits=HASTY) == DIGEST
    assert [headers.get("Range") for _, headers in server.requests[1:]] == [f"bytes={size}-"] * (size < len(CONTENT))


def test_sizes_are_written_for_people():
    assert [in_bytes(size) for size in (0, 999, 1000, 120_180_301, 4 * 10**9)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "120.2 MB",
        "4.0 GB",
    ]
    assert DownloadLimits().size == 4 * 10**9
