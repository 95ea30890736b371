"""Fetches corpus files from the addresses on the corpus card, for ``ranker data get``.

Files are put into the folder ``downloads`` of the corpus directory. An archive stays there, and other cards take their
part of it without fetching it again. If no card has the digest of a file, ``NAME.sha256`` there records it, so that it
is checked from then on. The files of a corpus are put into its folder together, once all have been fetched.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from ranker.corpora import catalogue
from ranker.corpora.catalogue import Card, Download
from ranker.corpora.downloads.archives import is_archive, unpack
from ranker.corpora.downloads.transfer import DownloadLimits, digest_of, fetch
from ranker.errors import DataError, FetchError, MissingError, OptionError, log_note
from ranker.files import display_name, printable, read_text, replacing_together, safe_join, write_bytes

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_GIVEN = "--sha256"


@dataclass(frozen=True)
class Fetched:
    """A file that was fetched, or found among earlier downloads."""

    file: str
    size: int
    sha256: str
    checked: str
    written: Path


def get(
    name: str,
    *,
    sha256: Mapping[str, str] | None = None,
    unverified: bool = False,
    again: bool = False,
    sources: Sequence[str] | None = None,
    limits: DownloadLimits | None = None,
) -> list[Fetched]:
    """Fetch a corpus by name into its folder, or only the sources and references of the language pairs in `sources`."""
    card = catalogue.card(name) if sources is None else _sources_alone(catalogue.card(name), sources)
    if not card.download:
        how = "it is included in this package" if card.bundled else card.obtain
        raise MissingError(f"the card of corpus {name!r} has no download address: {how}")
    chosen = _chosen(card, sha256 or {})
    existing = card.find()
    if existing is not None and not again:
        log_note(f"{name} is already present: {display_name(existing)} (use --again to download it again)")
        return []
    downloads = catalogue.corpus_directory() / "downloads"
    expected = {part.file: _expected(part, chosen, downloads) for part in card.download}
    unknown = [file for file, (digest, _) in expected.items() if not digest]
    if unknown and not unverified:
        what = f"no SHA-256 digest is known for {', '.join(unknown)}"
        how = (
            "give it with --sha256, or accept the file with --unverified; its digest is then recorded and checked later"
        )
        raise OptionError(f"{what}: {how}")
    _make_folder(downloads)
    rows = [
        fetch_file(card, part, downloads, *expected[part.file], again, limits or DownloadLimits())
        for part in card.download
    ]
    _put_in_place(card, downloads)
    return rows


def _sources_alone(card: Card, lps: Sequence[str]) -> Card:
    """Return a card for only the sources and references of the language pairs `lps`, or of all pairs if `lps` is empty.

    The files go into a separate folder.
    """
    parts = [part for part in card.download if {"sources", "references"} <= set(part.only)]
    if not parts:
        raise OptionError(f"the sources and references of {card.name} cannot be downloaded alone: leave out --sources")
    only, into = tuple(f"{kind}/{lp}" for kind in ("sources", "references") for lp in lps), "+".join(lps) or "sources"
    download = tuple(replace(part, only=only or ("sources", "references"), into=into) for part in parts)
    return replace(card, download=download, files=(f"{into}/",))


def _chosen(card: Card, sha256: Mapping[str, str]) -> dict[str, str]:
    """Return the SHA-256 digests given with ``--sha256``, by file name; refuse unknown files and malformed digests."""
    files = [part.file for part in card.download]
    chosen = {}
    for file, digest in sha256.items():
        name = files[0] if not file and len(files) == 1 else file
        if name not in files:
            raise OptionError(
                f"--sha256 {printable(file)[:60]!r}: expected FILE=DIGEST, where FILE is {' or '.join(files)}"
            )
        if not _DIGEST.match(digest.lower()):
            raise OptionError(f"--sha256 {printable(digest)[:70]}: expected 64 hexadecimal digits")
        chosen[name] = digest.lower()
    return chosen


def _expected(part: Download, chosen: Mapping[str, str], downloads: Path) -> tuple[str, str]:
    """Return the expected digest of a file, empty if unknown, and the origin of that digest."""
    if part.file in chosen:
        return chosen[part.file], _GIVEN
    if part.sha256:
        return part.sha256, "card"
    record = _record(part, downloads)
    if not record.is_file():
        return "", "nothing"
    digest = read_text(record).split(" ")[0]
    if not _DIGEST.match(digest):
        raise DataError("expected a SHA-256 digest and a file name: delete this file", file=display_name(record))
    return digest, "first download"


def _record(part: Download, downloads: Path) -> Path:
    return safe_join(downloads, f"{part.file}.sha256")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be created: {error.strerror or error}; set RANKER_DATA to a directory that can be written"
        raise DataError(what, file=display_name(folder)) from None


def fetch_file(
    card: Card, part: Download, downloads: Path, digest: str, source: str, again: bool, limits: DownloadLimits
) -> Fetched:
    """Fetch one file unless it was downloaded before, and record its SHA-256 digest unless the card lists it."""
    path, record = safe_join(downloads, part.file), _record(part, downloads)
    if path.is_file() and not again:
        actual_digest = digest_of(path)
        if digest and actual_digest != digest:
            what = (
                f"has the SHA-256 digest {actual_digest}, expected {digest} ({source}): delete it to download it again"
            )
            raise FetchError(f"{display_name(path)}: {what}")
        log_note(f"using {part.file}, which is already downloaded")
    else:
        try:
            # a digest given for another version of the file says nothing about its size
            size = None if source == _GIVEN else part.size or None
            actual_digest = fetch(part.address, path, sha256=digest or None, size=size, limits=limits)
        except FetchError as error:
            if source == "first download" and digest in str(error):
                raise FetchError(
                    f"{error}; to accept the changed file, delete {display_name(record)} and fetch again"
                ) from None
            raise
    if actual_digest != part.sha256:
        write_bytes(record, f"{actual_digest}  {part.file}\n".encode())
    written = card.folder / part.into if is_archive(part.file) else card.folder / part.file
    return Fetched(part.file, path.stat().st_size, actual_digest, source, written)


def _put_in_place(card: Card, downloads: Path) -> None:
    """Move all downloaded files into the corpus folder, replacing files of the same names all at once."""
    _make_folder(card.folder)
    with replacing_together(card.folder) as temporary:
        for part in card.download:
            path = downloads / part.file
            if is_archive(part.file):
                unpack(path, temporary / part.into, below=part.below, only=part.only)
            else:
                shutil.copyfile(path, temporary / part.file)
    for part in card.download:
        if not is_archive(part.file):
            (downloads / part.file).unlink()
