"""The corpora known by name: one card a corpus, and where its files are looked for.

A card is ``data/NAME.toml``. The bundled sample lies beside its card; every other corpus is looked for in the folder
``NAME`` of the corpus directory: ``$RANKER_DATA``, by default the platform's user data directory. Nothing is
downloaded here: a card may say where its files are, and `ranker.corpora.downloads` fetches them when asked.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ranker import share
from ranker.corpora.dataset import Dataset
from ranker.corpora.documents.manifest import read_manifest
from ranker.corpora.documents.manifest_schema import FILE_NAME, decoded
from ranker.corpora.formats.mtme import is_mtme, read_mtme
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.records import shown
from ranker.corpora.shards.shards import Shards
from ranker.errors import DataError, MissingError, nearest, note_logger
from ranker.files import STDIN, display_name, exists, read_text
from ranker.storage.plain_data import parse_toml

_LOG = note_logger(__name__)


class Download(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a corpus that can be fetched."""

    address: str
    sha256: str = ""
    size: int = 0
    below: str = ""
    only: tuple[str, ...] = ()
    into: str = ""

    @property
    def file(self) -> str:
        """Name of the file: the last part of the address."""
        return self.address.rsplit("/", 1)[-1]


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts of one corpus, as its card file gives them."""

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
        """Folder that its files are looked for in."""
        return share.directory("data") if self.bundled else corpus_directory() / self.name

    def find(self) -> Path | None:
        """Return the first of its files that is on this machine."""
        return next((self.folder / name for name in self.files if _is_there(self.folder / name, name)), None)


def _is_there(path: Path, name: str) -> bool:
    return path.is_dir() if name.endswith("/") else path.is_file()


def corpus_directory() -> Path:
    """Return ``$RANKER_DATA``, or the folder for corpora in the platform's user data directory."""
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
            _LOG.warning("ranker: note: corpus skipped: %s", error)
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


def load(
    name_or_path: str | Path, *, systems: Sequence[str] = (), severity_weights: Mapping[str, float] | None = None
) -> Dataset:
    """Load a corpus by name, or by the path of a file or of a folder with a manifest (``-`` is standard input).

    Shards, a directory of them or a pattern for their files, are loaded as one data set. `systems` are the columns of
    the systems of a table with one row per source; `severity_weights` are weights of severities in a file of MQM
    errors, such as ``{"critical": 25}``.

    Raises
    ------
    MissingError
        If it is neither, or a corpus known by name whose files are not on this machine; the message then says
        how to get them and what works without.
    DataError
        If its file is not what its format promises.
    """
    known = cards()
    text = str(name_or_path)
    if text not in known:
        shards = None if text == STDIN else Shards.open([text])
        if shards is not None:
            return shards.load()
        if text != STDIN and not exists(text):
            raise MissingError(
                f"{shown(text)} is neither a file nor a known corpus{nearest(text, known)}; "
                f"known corpora: {', '.join(known)}"
            )
        return _read(text, systems=systems, severity_weights=severity_weights)
    folder = known[text].find()
    if folder is None:
        raise MissingError(_how_to_get(known[text]))
    return _read(folder, name=text)


def _read(
    path: str | Path,
    name: str | None = None,
    systems: Sequence[str] = (),
    severity_weights: Mapping[str, float] | None = None,
) -> Dataset:
    if str(path) == STDIN or not (Path(path).is_dir() or Path(path).name == FILE_NAME):
        return read_dataset(path, name=name, systems=systems, severity_weights=severity_weights)
    if Path(path).is_dir() and not (Path(path) / FILE_NAME).is_file():
        if is_mtme(path):
            return read_mtme(path, name=name)
        raise DataError(
            f"this is a directory without {FILE_NAME}; expected a directory with it, one in the layout of "
            "mt-metrics-eval, or a file",
            file=display_name(path),
        )
    return read_manifest(path, name=name)


def _how_to_get(card: Card) -> str:
    expected = " or ".join(card.files)
    return (
        f"corpus {card.name!r} is not on this machine: no {expected} in {card.folder}\n"
        f"  {card.title}. {card.licence}\n"
        f"  {card.obtain}\n"
        f"  Details: ranker data show {card.name}. To try the command now, use --data sample"
    )
