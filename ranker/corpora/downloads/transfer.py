"""Fetches one file over HTTP or HTTPS. No other module opens a connection to another computer.

If a connection breaks off, the rest is asked for with ``Range`` and ``If-Range``, by the validator by which the server
knows the file (a strong ``ETag``, else ``Last-Modified``). A proxy is taken from the environment (``http_proxy``,
``https_proxy``, ``no_proxy``).
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import string
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.error import URLError
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from ranker.errors import FetchError, note_logger
from ranker.files import display_name, printable, replacing
from ranker.progress import report
from ranker.version import VERSION

_LOG = note_logger(__name__)
_BLOCK = 1 << 16
_MEGABYTE = 1_000_000
_REDIRECTS = (301, 302, 303, 307, 308)


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
    """Fetch the file at `address` as `target`, which it replaces once it is complete, and return its SHA-256 digest."""
    check_address(address)
    with replacing(target) as stream:
        transfer = _Transfer(address, target, sha256, size, limits, stream)
        for attempt in range(1, limits.attempts + 1):
            before = transfer.have
            try:
                transfer.receive()
                break
            except _BrokenError:
                if attempt == limits.attempts or transfer.have == before:
                    raise
                time.sleep(limits.pause)
        digest: str = transfer.digest.hexdigest()
        if sha256 and digest != sha256:
            what = f"has the SHA-256 digest {digest}, expected {sha256}"
            raise FetchError(f"{address}: {what}: it is damaged or has changed, and was deleted")
    return digest


@dataclass
class _Transfer:
    """A file of which a part may have come."""

    address: str
    target: Path
    sha256: str | None
    size: int | None
    limits: DownloadLimits
    stream: IO[bytes]
    have: int = 0
    """Bytes received."""
    total: int | None = None
    validator: str = ""
    digest: Any = field(default_factory=hashlib.sha256)

    def receive(self) -> None:
        """Receive what has not come yet."""
        headers = {"Accept-Encoding": "identity", "User-Agent": f"mt-ranker/{VERSION}"}
        if self.have and self.total and self.validator:
            headers |= {"Range": f"bytes={self.have}-", "If-Range": self.validator}
        with _open(self.address, headers, self.limits) as response:
            rest = f"bytes {self.have}-{(self.total or 0) - 1}/{self.total}"
            if response.status == 200:
                self._begin(response)
            elif "Range" not in headers or response.status != 206 or response.headers.get("Content-Range") != rest:
                answer = f"{response.status} {printable(response.reason)[:60]}".strip()
                what = "the file may have moved, or the server may be busy"
                raise FetchError(f"{self.address}: the server answered {answer}, {what}")
            self._receive_body(response)

    def _begin(self, response: http.client.HTTPResponse) -> None:
        """Check the size that the server declares, and note what is about to come from its beginning."""
        self.stream.seek(0)
        self.stream.truncate()
        self.have, self.digest = 0, hashlib.sha256()
        declared = response.headers.get("Content-Length", "")
        total = int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 19 else None
        if total is not None and self.size and total != self.size:
            raise FetchError(f"{self.address}: the file has {total:,} bytes, expected {self.size:,}: it has changed")
        if total is None and not response.chunked and not self.sha256:
            what = "the server does not report the file size, so completeness cannot be checked"
            raise FetchError(f"{self.address}: {what}: give its digest with --sha256")
        self._check_room(total or self.size or 0)
        tag = response.headers.get("ETag", "")
        # a weak tag does not promise the same bytes
        strong = tag and not tag.startswith("W/")
        self.total, self.validator = total, tag if strong else response.headers.get("Last-Modified", "")
        _LOG.warning(
            "ranker: note: downloading %s: %s from %s",
            self.target.name,
            "size unknown" if total is None else in_bytes(total),
            urlsplit(self.address).hostname,
        )

    def _check_room(self, size: int) -> None:
        if size > self.limits.size:
            limit = f"more than the limit of {in_bytes(self.limits.size)}; raise it with --max-gb"
            raise FetchError(f"{self.address}: the file has {in_bytes(size)}, {limit}")
        free = shutil.disk_usage(self.target.parent).free
        if size > free:
            needed = f"{in_bytes(size)} needed, {in_bytes(free)} free"
            raise FetchError(f"{display_name(self.target.parent)}: not enough disk space: {needed}")

    def _receive_body(self, response: http.client.HTTPResponse) -> None:
        most = self.total or self.size or self.limits.size
        while block := self._next_block(response):
            self.have += len(block)
            if self.have > most:
                raise FetchError(f"{self.address}: received more than {most:,} bytes: the download was deleted")
            self.stream.write(block)
            self.digest.update(block)
            report("MB", self.have // _MEGABYTE, most // _MEGABYTE)
        if self.have < (self.total or self.size or 0):
            raise self._broken("the connection was closed")

    def _next_block(self, response: http.client.HTTPResponse) -> bytes:
        try:
            return response.read1(_BLOCK)
        except TimeoutError:
            raise self._broken(f"no data for {self.limits.timeout:g} s") from None
        except (http.client.HTTPException, OSError, ValueError):
            raise self._broken("the connection failed") from None

    def _broken(self, what: str) -> _BrokenError:
        total = self.total or self.size
        came = in_bytes(self.have) + (f" of {in_bytes(total)}" if total else "")
        return _BrokenError(f"{self.address}: {what} after {came}: run the command again")


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
