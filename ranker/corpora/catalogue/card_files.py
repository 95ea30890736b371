"""The corpora known by name: one card per corpus, and the folder where its files are looked for.

A card is ``data/NAME.toml``. The bundled sample is next to its card; every other corpus is looked for in the folder
``NAME`` of the corpus directory: ``$RANKER_DATA``, by default the platform's user data directory. Nothing is
downloaded here: a card may say where its files are, and `ranker.corpora.downloads` fetches them when asked.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import msgspec

from ranker import share
from ranker.corpora.documents.manifest_schema import decoded
from ranker.errors import DataError, MissingError, log_note, nearest
from ranker.files import display_name, read_text
from ranker.storage.plain_data import parse_toml


class Download(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A downloadable file of a corpus."""

    address: str
    sha256: str = ""
    size: int = 0
    below: str = ""
    only: tuple[str, ...] = ()
    into: str = ""

    @property
    def file(self) -> str:
        """Name of the file: the last part of its address."""
        return self.address.rsplit("/", 1)[-1]


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about one corpus, from its card file."""

    name: str
    title: str
    description: str
    languages: str
    licence: str
    files: tuple[str, ...]
    obtain: str = ""
    homepage: str = ""
    bundled: bool = False
    download: tuple[Download, ...] = ()
    facts: dict[str, str] = {}
    """Additional facts for `ranker data show`, as given in the card."""

    @property
    def folder(self) -> Path:
        """Folder in which to look for the files of the corpus."""
        return share.directory("data") if self.bundled else corpus_directory() / self.name

    def find(self) -> Path | None:
        """Return the path of the first of the corpus files that exists on this machine, or None."""
        return next((self.folder / name for name in self.files if _is_there(self.folder / name, name)), None)


def _is_there(path: Path, name: str) -> bool:
    return path.is_dir() if name.endswith("/") else path.is_file()


def corpus_directory() -> Path:
    """Return the folder of corpora: ``$RANKER_DATA``, or else ``corpora`` in the user's data directory for ranker."""
    chosen = os.environ.get("RANKER_DATA")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_data_dir("ranker", appauthor=False)) / "corpora"


def cards() -> dict[str, Card]:
    """Return the cards of all corpora known by name, sorted by name."""
    catalogue = {}
    for path in sorted(share.directory("data").glob("*.toml"), key=lambda path: path.stem):
        try:
            catalogue[path.stem] = _card(path.stem, read_text(path), display_name(path))
        except DataError as error:
            log_note(f"corpus skipped: {error}")
    return catalogue


@functools.lru_cache(maxsize=256)
def _card(name: str, text: str, file: str) -> Card:
    values = parse_toml(text, file)
    if isinstance(facts := values.get("facts"), dict):
        # dates, among others
        values["facts"] = {key: str(value) for key, value in facts.items()}
    return decoded({**values, "name": name}, Card, file)


def card(name: str) -> Card:
    """Return the card of one corpus."""
    known = cards()
    if name not in known:
        raise MissingError(f"unknown corpus {name!r}{nearest(name, known)}; known corpora: {', '.join(known)}")
    return known[name]
