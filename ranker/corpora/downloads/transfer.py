"""Fetches one file over HTTP or HTTPS. No other module opens a connection to another computer.

A proxy is taken from the environment (``http_proxy``, ``https_proxy``, ``no_proxy``).
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import string
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from urllib.error import URLError
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from ranker.errors import FetchError, log_note
from ranker.files import display_name, printable, replacing
from ranker.progress import report
from ranker.version import VERSION

_BLOCK = 1 << 16
_MEGABYTE = 1_000_000
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class DownloadLimits:
    """Limits on a download: bytes, seconds without data, and number of redirections."""

    size: int = 4_000 * _MEGABYTE
    timeout: float = 30.0
    redirects: int = 5


def in_bytes(size: int) -> str:
    """Format a number of bytes in a readable unit, such as ``1.5 MB``."""
    for unit, name in ((1000 * _MEGABYTE, "GB"), (_MEGABYTE, "MB"), (1000, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def digest_of(path: Path) -> str:
    """Return the SHA-256 digest of a file as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_address(address: str, before: str = "") -> None:
    """Refuse an address that is neither HTTP nor HTTPS, and a redirection from the HTTPS address `before` to HTTP."""
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
    """Download `address`, replace the file `target` when the download is complete, and return the SHA-256 digest."""
    check_address(address)
    with replacing(target) as stream, _open(address, limits) as response:
        if response.status != 200:
            answer = f"{response.status} {printable(response.reason)[:60]}".strip()
            what = "the file may have moved, or the server may be busy; try again later"
            raise FetchError(f"{address}: the server answered {answer}: {what}")
        total = _total(response, address, size, is_known=bool(sha256))
        _check_room(address, target.parent, total or 0, limits)
        host, told = urlsplit(address).hostname, in_bytes(response.length) if response.length else "size unknown"
        log_note(f"downloading {target.name}: {told} from {host}")
        digest = _receive(response, stream, address, total, limits)
        if sha256 and digest != sha256:
            what = f"has the SHA-256 digest {digest}, expected {sha256}"
            raise FetchError(f"{address}: {what}: the file is damaged or has changed, and was deleted; try again")
    return digest


def _total(response: http.client.HTTPResponse, address: str, size: int | None, *, is_known: bool) -> int | None:
    """Return the download size that the server declares, or else the expected `size`.

    Refuse a declared size other than `size`, and a download whose completeness cannot be checked.
    """
    if response.length is not None and size and response.length != size:
        what = f"the file has {response.length:,} bytes, expected {size:,}: it has changed"
        raise FetchError(f"{address}: {what}; give the digest of this version with --sha256, or find another address")
    if response.length is None and not response.chunked and not is_known:
        what = "the server does not report the file size, so completeness cannot be checked"
        raise FetchError(f"{address}: {what}: give its digest with --sha256")
    return response.length or size


def _check_room(address: str, folder: Path, size: int, limits: DownloadLimits) -> None:
    if size > limits.size:
        limit = f"more than the limit of {in_bytes(limits.size)}; raise it with --max-gb"
        raise FetchError(f"{address}: the file has {in_bytes(size)}, {limit}")
    free = shutil.disk_usage(folder).free
    if size > free:
        needed = f"{in_bytes(size)} needed, {in_bytes(free)} free"
        raise FetchError(f"{display_name(folder)}: not enough disk space: {needed}")


def _receive(
    response: http.client.HTTPResponse, stream: IO[bytes], address: str, total: int | None, limits: DownloadLimits
) -> str:
    """Write the downloaded file to `stream`, and return its SHA-256 digest."""
    received, digest, most = 0, hashlib.sha256(), total or limits.size
    while True:
        try:
            block = response.read1(_BLOCK)
        except TimeoutError:
            problem = f"no data for {limits.timeout:g} s"
            break
        except (http.client.HTTPException, OSError, ValueError):
            problem = "the connection failed"
            break
        if not block:
            if received >= (total or 0):
                return digest.hexdigest()
            problem = "the connection was closed"
            break
        received += len(block)
        if received > most:
            raise FetchError(f"{address}: received more than {most:,} bytes, the maximum: the download was deleted")
        stream.write(block)
        digest.update(block)
        report("MB", received // _MEGABYTE, most // _MEGABYTE)
    came = in_bytes(received) + (f" of {in_bytes(total)}" if total else "")
    raise FetchError(f"{address}: {problem} after {came}: run the command again")


def _open(address: str, limits: DownloadLimits) -> http.client.HTTPResponse:
    """Request `address`, following redirections, and return the response."""
    # neither urllib's handlers of file:, ftp: and data:, nor its own redirections
    opener = OpenerDirector()
    for handler in (ProxyHandler(), HTTPHandler(), HTTPSHandler()):
        opener.add_handler(handler)
    headers = {"Accept-Encoding": "identity", "User-Agent": f"mt-ranker/{VERSION}"}
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
            return cast(http.client.HTTPResponse, response)
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
