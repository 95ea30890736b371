"""Fetches one file over HTTP or HTTPS. No other module opens a connection to another computer.

What has come lies in ``NAME.partial``, and ``NAME.partial.json`` says what it is a part of: address, size, and the
validator by which the server knows the file (a strong ``ETag``, else ``Last-Modified``). A later run asks for the rest
with ``Range`` and ``If-Range``. Whatever does not fit is thrown away, and the file fetched from its beginning. A proxy
is taken from the environment (``http_proxy``, ``https_proxy``, ``no_proxy``).
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import shutil
import string
import time
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import BinaryIO
from urllib.error import URLError
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from ranker.errors import DataError, FetchError, note_logger
from ranker.files import display_name, printable, read_text, replacing_together, write_bytes
from ranker.progress import report
from ranker.storage import locks
from ranker.storage.plain_data import parse_json
from ranker.version import VERSION

_LOG = note_logger(__name__)
_BLOCK = 1 << 16
_MEGABYTE = 1_000_000
_REDIRECTS = (301, 302, 303, 307, 308)
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})\Z")


@dataclass(frozen=True)
class DownloadLimits:
    """What a transfer may take."""

    size: int = 4_000 * _MEGABYTE
    timeout: float = 30.0
    attempts: int = 5
    pause: float = 2.0
    redirects: int = 5


class _BrokenError(FetchError):
    """A connection that ended early."""


def in_bytes(size: int) -> str:
    """Write a number of bytes for people."""
    for unit, name in ((1000 * _MEGABYTE, "GB"), (_MEGABYTE, "MB"), (1000, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def digest_of(path: Path) -> str:
    """Return the SHA-256 digest of a file as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_address(address: str, before: str = "") -> None:
    """Refuse an address that is not one of HTTP or HTTPS, or to which `before` must not redirect."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        is_web = False
    start = f"{before}: the server redirects to {printable(address)[:200]}" if before else printable(address)[:200]
    if not is_web or not address.isprintable() or " " in address:
        raise FetchError(f"{start}: expected an address https://HOST/FILE or http://HOST/FILE without a password")
    if before.startswith("https:") and parts.scheme == "http":
        raise FetchError(f"{start}, which is not encrypted: refused; find a new address on the homepage of the corpus")


def fetch(address: str, target: Path, *, sha256: str | None, size: int | None = None, limits: DownloadLimits) -> str:
    """Fetch the file at `address` as `target`, going on where an earlier run stopped, and return its SHA-256 digest."""
    check_address(address)
    part = _Partial.open(address, target, sha256, size, limits)
    try:
        for attempt in range(1, limits.attempts + 1):
            before = part.have
            try:
                part.receive()
                break
            except _BrokenError:
                if attempt == limits.attempts or part.have == before:
                    raise
                time.sleep(limits.pause)
    finally:
        part.stream.close()
    return part.finish()


@dataclass
class _Partial:
    """A file of which a part may have come."""

    address: str
    target: Path
    sha256: str | None
    size: int | None
    limits: DownloadLimits
    stream: BinaryIO
    have: int = field(init=False)
    """Bytes received."""

    def __post_init__(self) -> None:
        self.have = self.stream.seek(0, os.SEEK_END)

    @classmethod
    def open(cls, address: str, target: Path, sha256: str | None, size: int | None, limits: DownloadLimits) -> _Partial:
        path = _with_ending(target, ".partial")
        try:
            stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b", 0)
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror or error}", file=display_name(path)) from None
        try:
            locks.lock(stream.fileno(), wait=False)
        except BlockingIOError:
            stream.close()
            raise FetchError(
                f"{display_name(path)}: another process is downloading this file; wait until it finishes"
            ) from None
        return cls(address, target, sha256, size, limits, stream)

    @property
    def path(self) -> Path:
        return _with_ending(self.target, ".partial")

    @property
    def facts_path(self) -> Path:
        return _with_ending(self.target, ".partial.json")

    def receive(self) -> None:
        """Receive what has not come yet."""
        facts = self._facts()
        if not facts and self.have:
            self._start_anew("belongs to another file, or the server cannot resume")
        validator, total = facts or ("", None)
        if self.have and self.have == total:
            return
        headers = {"Accept-Encoding": "identity", "User-Agent": f"mt-ranker/{VERSION}"}
        if self.have:
            headers |= {"Range": f"bytes={self.have}-", "If-Range": validator}
        response = _open(self.address, headers, self.limits)
        with response:
            if self.have and response.status == 206 and self._fits(response.headers, validator, total):
                rest = in_bytes((total or 0) - self.have)
                _LOG.warning("ranker: note: resuming %s: %s", self.target.name, rest)
                self._receive_body(response, total)
                return
            if response.status == 200:
                if self.have:
                    self._start_anew("does not match: the file has changed, or the server cannot resume")
                self._receive_body(response, self._begin(response.headers, response))
                return
        if self.have and response.status in (206, 416):
            self._start_anew("does not match: the file has changed")
            self.receive()
            return
        answer = f"{response.status} {printable(response.reason)[:60]}".strip()
        what = "the file may have moved, or the server may be busy"
        raise FetchError(f"{self.address}: the server answered {answer}, {what}")

    def _facts(self) -> tuple[str, int] | None:
        """Return the validator and the size of the file of which a part has come, if the server can go on."""
        try:
            facts = parse_json(read_text(self.facts_path), display_name(self.facts_path))
            validator, size = str(facts["validator"]), int(facts["size"])
            fits = facts["address"] == self.address and validator.isprintable() and 0 < self.have <= size
        except (DataError, KeyError, TypeError, ValueError):
            return None
        return (validator, size) if fits and validator else None

    def _fits(self, headers: Message, validator: str, total: int | None) -> bool:
        """Whether what comes is the rest of what has come."""
        named = _CONTENT_RANGE.match(headers.get("Content-Range", ""))
        ranges = named and tuple(int(number) for number in named.groups())
        known = headers.get("ETag" if validator.startswith('"') else "Last-Modified", validator)
        return ranges == (self.have, (total or 0) - 1, total) and known == validator

    def _start_anew(self, why: str) -> None:
        _LOG.warning("ranker: note: %s %s; downloading from the start", display_name(self.path), why)
        self._empty()

    def _empty(self) -> None:
        self.stream.seek(0)
        self.stream.truncate()
        self.have = 0

    def _begin(self, headers: Message, response: http.client.HTTPResponse) -> int | None:
        """Check the size that the server declares, note what is about to come, and return the size."""
        declared = headers.get("Content-Length", "")
        total = int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 19 else None
        if total is not None and self.size and total != self.size:
            raise FetchError(f"{self.address}: the file has {total:,} bytes, expected {self.size:,}: it has changed")
        if total is None and not response.chunked and not self.sha256:
            what = "the server does not report the file size, so completeness cannot be checked"
            raise FetchError(f"{self.address}: {what}: give its digest with --sha256")
        self._check_room(total or self.size or 0)
        if total is not None:
            validator = headers.get("ETag", "")
            if not validator or validator.startswith("W/"):
                # a weak tag does not promise the same bytes
                validator = headers.get("Last-Modified", "")
            facts = {"address": self.address, "size": total, "validator": validator}
            write_bytes(self.facts_path, json.dumps(facts).encode())
        else:
            self.facts_path.unlink(missing_ok=True)
        _LOG.warning(
            "ranker: note: downloading %s: %s from %s",
            self.target.name,
            "size unknown" if total is None else in_bytes(total),
            urlsplit(self.address).hostname,
        )
        return total

    def _check_room(self, size: int) -> None:
        if size > self.limits.size:
            limit = f"more than the limit of {in_bytes(self.limits.size)}; raise it with --max-gb"
            raise FetchError(f"{self.address}: the file has {in_bytes(size)}, {limit}")
        free = shutil.disk_usage(self.target.parent).free
        if size - self.have > free:
            needed = f"{in_bytes(size - self.have)} needed, {in_bytes(free)} free"
            raise FetchError(f"{display_name(self.target.parent)}: not enough disk space: {needed}")

    def _receive_body(self, response: http.client.HTTPResponse, total: int | None) -> None:
        most = total or self.size or self.limits.size
        while block := self._next_block(response, total):
            if self.have + len(block) > most:
                self._empty()
                raise FetchError(f"{self.address}: received more than {most:,} bytes: the download was deleted")
            self._write(block)
            report("MB", self.have // _MEGABYTE, most // _MEGABYTE)
        if self.have < (total or self.size or 0):
            raise _BrokenError(self._broken("the connection was closed", total or self.size))

    def _write(self, block: bytes) -> None:
        view = memoryview(block)
        try:
            while view:
                view = view[self.stream.write(view) :]
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror or error}", file=display_name(self.path)) from None
        self.have += len(block)

    def _next_block(self, response: http.client.HTTPResponse, total: int | None) -> bytes:
        try:
            return response.read1(_BLOCK)
        except TimeoutError:
            raise _BrokenError(self._broken(f"no data for {self.limits.timeout:g} s", total)) from None
        except (http.client.HTTPException, OSError, ValueError):
            raise _BrokenError(self._broken("the connection failed", total)) from None

    def _broken(self, what: str, total: int | None) -> str:
        came = in_bytes(self.have) + (f" of {in_bytes(total)}" if total else "")
        return f"{self.address}: {what} after {came}, which were kept: run the same command again to resume"

    def finish(self) -> str:
        """Check what has come and put it in place; return its digest."""
        actual_digest = digest_of(self.path)
        if self.sha256 and actual_digest != self.sha256:
            self.path.unlink()
            self.facts_path.unlink(missing_ok=True)
            what = f"has the SHA-256 digest {actual_digest}, expected {self.sha256}"
            raise FetchError(f"{self.address}: {what}: it is damaged or has changed, and was deleted")
        with replacing_together(self.target.parent) as temporary:
            self.path.rename(temporary / self.target.name)
        self.facts_path.unlink(missing_ok=True)
        return actual_digest


def _with_ending(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _open(address: str, headers: dict[str, str], limits: DownloadLimits) -> http.client.HTTPResponse:
    """Ask for `address`, following redirections, and return the response."""
    # neither urllib's handlers of file:, ftp: and data:, nor its own redirections
    opener = OpenerDirector()
    for handler in (ProxyHandler(), HTTPHandler(), HTTPSHandler()):
        opener.add_handler(handler)
    current = address
    for _ in range(limits.redirects + 1):
        try:
            response = opener.open(Request(current, headers=headers), timeout=limits.timeout)
        except (http.client.HTTPException, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            text = printable(str(reason) or type(reason).__name__)[:200]
            what = f"cannot be reached ({text}): check the network and the proxy (https_proxy, http_proxy)"
            start = f"{address}:" if current == address else f"{address} redirects to {current}, which"
            raise FetchError(f"{start} {what}") from None
        if response.status not in _REDIRECTS:
            return response  # type: ignore[no-any-return]
        response.close()
        location = quote(response.headers.get("Location", ""), safe=string.punctuation)
        try:
            following = urljoin(current, location)
        except ValueError:
            # no address at all, which is refused
            following = location
        check_address(following, before=current)
        current = following
    raise FetchError(f"{address}: the server redirects more than {limits.redirects} times; try again later")
