"""Files come whole and right or not at all, whatever the server does."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ranker.corpora.downloads import transfer
from ranker.corpora.downloads.transfer import DownloadLimits, fetch, in_bytes
from ranker.errors import FetchError
from tests.corpora.downloads.conftest import CONTENT, DIGEST, HASTY

OTHER = CONTENT.replace(b"0", b"9")


@pytest.fixture
def target(tmp_path):
    return tmp_path / "data.txt"


def check(target, content=CONTENT):
    """Check that the file is there and nothing else."""
    assert target.read_bytes() == content
    assert [path.name for path in target.parent.iterdir()] == ["data.txt"]


def test_a_file_comes_whole(server, target, caplog):
    assert fetch(f"{server.url}/data.txt", target, sha256=DIGEST, size=len(CONTENT), limits=HASTY) == DIGEST
    check(target)
    assert "downloading data.txt: 12.0 kB from 127.0.0.1" in caplog.text
    assert server.requests[0][1]["Accept-Encoding"] == "identity"


def test_a_stalled_connection_is_given_up(server, target, monkeypatch):
    opened = transfer._open

    def patient_until_the_answer(address, limits):
        response = opened(address, HASTY)
        response.fp.raw._sock.settimeout(limits.timeout)
        return response

    monkeypatch.setattr(transfer, "_open", patient_until_the_answer)
    server.stalls, server.stop_after = True, [4000]
    with pytest.raises(FetchError, match=r"no data for 0\.1 s after .* of 12\.0 kB: run the command again"):
        fetch(f"{server.url}/data.txt", target, sha256=None, limits=replace(HASTY, timeout=0.1))


def test_a_wrong_digest_leaves_nothing(server, target):
    server.files["/data.txt"] = OTHER
    with pytest.raises(FetchError, match=f"has the SHA-256 digest .*, expected {DIGEST}: the file is damaged or has"):
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
        ({"chunked": True, "stop_after": [500]}, {}, HASTY, "the connection failed after 500 bytes: run"),
        ({"chunked": True}, {"size": 13_000}, HASTY, r"the connection was closed after 12\.0 kB of 13\.0 kB"),
        ({"length": ""}, {}, HASTY, "the server does not report the file size, .*: give its digest with --sha256"),
        ({"length": "99999"}, {}, HASTY, "the connection was closed after 12.0 kB of 100.0 kB: run"),
        ({"status": 503}, {}, HASTY, "the server answered 503 Service Unavailable: the file"),
        ({"status": 206}, {}, HASTY, "the server answered 206 Partial Content: the file"),
        ({"files": {}}, {}, HASTY, "the server answered 404 Not Found: the file may have moved"),
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


def test_sizes_are_written_for_people():
    assert [in_bytes(size) for size in (0, 999, 1000, 120_180_301, 4 * 10**9)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "120.2 MB",
        "4.0 GB",
    ]
    assert DownloadLimits().size == 4 * 10**9
