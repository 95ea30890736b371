"""Loading of corpora by name or path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ranker.corpora.catalogue import card_files
from ranker.corpora.catalogue.card_files import Card
from ranker.corpora.dataset import Dataset
from ranker.corpora.documents.manifest import read_manifest
from ranker.corpora.documents.manifest_schema import FILE_NAME
from ranker.corpora.formats.mtme import is_mtme, read_mtme
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.shards import MANIFEST, Shards
from ranker.corpora.records import shown
from ranker.corpora.selection import with_language_pair
from ranker.errors import DataError, MissingError, nearest
from ranker.files import STDIN, display_name, exists, is_broken_link


def load(
    name_or_path: str | Path,
    *,
    systems: Sequence[str] = (),
    severity_weights: Mapping[str, float] | None = None,
    lp: str | None = None,
) -> Dataset:
    """Load a corpus by name, or by the path of a file or of a folder with a manifest (``-`` is standard input).

    Shards, a directory of them or a pattern for their files, are loaded as one data set. `systems` are the columns of
    the systems of a table with one row per source; `severity_weights` are weights of severities in a file of MQM
    errors, such as ``{"critical": 25}``. Sources that name no language pair are of the pair `lp`, such as ``de-en``.

    Raises
    ------
    MissingError
        If there is no such file or known corpus, or the files of a known corpus are not on this machine; the message
        then explains how to get them, and what works without them.
    DataError
        If a file violates its format.
    """
    dataset = _loaded(str(name_or_path), systems, severity_weights, lp)
    return with_language_pair(dataset, [lp]) if lp else dataset


def _loaded(text: str, systems: Sequence[str], severity_weights: Mapping[str, float] | None, lp: str | None) -> Dataset:
    known = card_files.cards()
    if text not in known:
        shards = None if text == STDIN else Shards.open([text])
        if shards is not None:
            return shards.load()
        if text != STDIN and not exists(text):
            if is_broken_link(text):
                what = f"{shown(text)} is a link to a file that does not exist: correct the link, or remove it"
                raise MissingError(what)
            near = nearest(text, known) or nearest(text, [path.name for path in Path().glob("*")], likeness=0.8)
            what = f"{shown(text)} is neither a file nor a known corpus{near}; known corpora: {', '.join(known)}"
            raise MissingError(what)
        return _read(text, systems=systems, severity_weights=severity_weights, lp=lp)
    folder = known[text].find()
    if folder is None:
        raise MissingError(_how_to_get(known[text]))
    return _read(folder, name=text, lp=lp)


def _read(
    path: str | Path,
    name: str | None = None,
    systems: Sequence[str] = (),
    severity_weights: Mapping[str, float] | None = None,
    lp: str | None = None,
) -> Dataset:
    if str(path) == STDIN or not (Path(path).is_dir() or Path(path).name == FILE_NAME):
        return read_dataset(path, name=name, systems=systems, severity_weights=severity_weights, lp=lp)
    if Path(path).is_dir() and not (Path(path) / FILE_NAME).is_file():
        if is_mtme(path):
            return read_mtme(path, name=name)
        saved = [("dataset_info.json", "dataset"), ("dataset_dict.json", "dataset['test']")]
        for mark, data in saved:
            if (Path(path) / mark).is_file():
                what = "this is a directory of save_to_disk of Hugging Face's datasets, which is not read"
                advice = f"write a file, {data}.to_parquet('data.parquet') or to_json('data.jsonl')"
                raise DataError(f"{what}: {advice}", file=display_name(path))
        raise DataError(
            f"this is a directory without {FILE_NAME} or {MANIFEST}; expected a directory that contains {FILE_NAME}, "
            f"shards (ranker data shard writes {MANIFEST} last: if it was interrupted, run it again), a directory in "
            "the layout of mt-metrics-eval, or a file",
            file=display_name(path),
        )
    return read_manifest(path, name=name)


def _how_to_get(card: Card) -> str:
    expected = " or ".join(card.files)
    return (
        f"corpus {card.name!r} is not on this machine: no {expected} in {card.folder}\n"
        f"  {card.title}. {card.licence}\n"
        f"  {card.obtain}\n"
        f"  Details: ranker data show {card.name}. To try the command now, use the corpus sample"
    )
