"""A data set of many files, its shards: which there are, in what order, and what is in each.

A directory of shards has a manifest, ``shards.json``, with the rows, sources and SHA-256 digest of every file. Without
a manifest, a pattern such as ``logs/*.jsonl.gz`` stands for shards in the order of their names.
"""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ranker.corpora.columns import canonical
from ranker.corpora.dataset import Dataset, concatenate
from ranker.corpora.formats.preference_pairs import companion
from ranker.corpora.formats.reading import read_dataset
from ranker.errors import DataError, counted
from ranker.files import display_name, inside, read_text, reading
from ranker.storage.plain_data import parse_json, record

MANIFEST = "shards.json"
FORMAT, VERSION = "ranker-shards", 1
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Shard:
    """One file of whole sources.

    Parameters
    ----------
    file : str
        Name in the manifest's directory, or path.
    rows, sources : int or None
        Candidates and sources; None where no manifest says it.
    sha256 : str or None
        Digest of the file and of its pairs file, if there is one.
    """

    file: str
    rows: int | None = None
    sources: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class ShardManifest:
    """What ``shards.json`` says.

    Parameters
    ----------
    format : str
    version : int
    name : str
        What the data set is called.
    rows, sources : int
    columns : mapping of str to str
        Columns of the files and their types; empty if they are no tables.
    shards : tuple of Shard
        In order.
    """

    format: str
    version: int
    name: str
    rows: int
    sources: int
    columns: dict[str, str]
    shards: tuple[Shard, ...]

    def text(self) -> str:
        """Return the JSON document."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False, indent=1) + "\n"


@dataclass(frozen=True)
class Shards:
    """The shards of one data set, in order, with absolute paths.

    Parameters
    ----------
    name : str
        What messages and signatures call the data set.
    shards : tuple of Shard
    """

    name: str
    shards: tuple[Shard, ...]

    @classmethod
    def open(cls, data: Sequence[str]) -> Shards | None:
        """Return the shards that directories with a manifest and patterns stand for; None if there are none of them.

        Other corpus files among `data` are shards too then.

        Raises
        ------
        DataError
            If a pattern matches no file, or a manifest is damaged or of a later version.
        """
        if not any(is_manifest(entry) or is_pattern(entry) for entry in data):
            return None
        names, shards = [], []
        for entry in data:
            if is_manifest(entry):
                folder = _folder(entry)
                manifest = read_manifest(folder)
                names.append(manifest.name)
                shards += [
                    dataclasses.replace(shard, file=str(inside(folder.absolute(), shard.file)))
                    for shard in manifest.shards
                ]
            else:
                files = matching(entry) if is_pattern(entry) else [entry]
                names.append(display_name(entry))
                shards += [Shard(str(Path(file).absolute())) for file in files]
        return cls("+".join(names), tuple(shards))

    def __len__(self) -> int:
        """Return the number of shards."""
        return len(self.shards)

    def read(self, number: int) -> Dataset:
        """Read one shard.

        Raises
        ------
        DataError
            If it is not what its format promises, or not the file that the manifest describes.
        """
        shard = self.shards[number]
        actual = digest(shard.file)
        if shard.sha256 not in (None, actual):
            what = (
                f"is not the file that {MANIFEST} describes (SHA-256 {actual[:12]}..., expected {shard.sha256[:12]}...)"
            )
            raise DataError(f"{what}: copy it again, or make the shards again", file=display_name(shard.file))
        dataset = read_dataset(shard.file, name=self.name)
        if shard.rows not in (None, len(dataset)):
            what = f"has {counted(len(dataset), 'candidate')}, but {MANIFEST} lists {shard.rows:,}"
            raise DataError(f"{what}: make the shards again", file=display_name(shard.file))
        return dataset

    def may_hold(self, number: int, seg_id: str) -> bool:
        """Whether a shard may have a source with a ``seg_id``: of Parquet, that column alone is read to tell."""
        file = self.shards[number].file
        if not file.endswith(".parquet"):
            return True
        try:
            opened = pyarrow.parquet.ParquetFile(file)
            columns = [name for name in opened.schema_arrow.names if canonical(name) == "seg_id"]
            ids = opened.read(columns).column(0) if columns else None
            if ids is None or ids.null_count:
                # numbered by their place
                return True
            return bool(pc.any(pc.equal(pc.utf8_trim_whitespace(ids.cast(pa.large_string())), seg_id)).as_py())
        except (OSError, pa.ArrowException):
            # whoever reads the shard says what is wrong
            return True

    def load(self) -> Dataset:
        """Read all shards into memory as one data set."""
        together = concatenate([self.read(number) for number in range(len(self))])
        return dataclasses.replace(together, name=self.name)


def is_pattern(data: str) -> bool:
    """Whether `data` is no file but a pattern for files: it contains an asterisk or a question mark."""
    return any(mark in data for mark in "*?") and not _there(data)


def is_manifest(data: str) -> bool:
    """Whether `data` is a directory of shards, or its manifest."""
    return Path(data).name == MANIFEST or _there(str(Path(data) / MANIFEST))


def matching(pattern: str) -> list[str]:
    """Return the files that match a pattern, by name, without pairs files.

    Raises
    ------
    DataError
        If there is none.
    """
    files = sorted(glob.glob(pattern))  # noqa: PTH207 - the pattern may have an absolute part
    files = [file for file in files if not file.removesuffix(".gz").endswith(".pairs.tsv")]
    if not files:
        raise DataError("no file matches this pattern", file=display_name(pattern))
    return files


def digest(path: str) -> str:
    """Return the SHA-256 of a shard: of the file and, if there is one, of its pairs file."""
    hasher = hashlib.sha256()
    for part in _blocks(Path(path)):
        hasher.update(part)
    pairs = companion(path)
    if pairs is not None:
        hasher.update(b"\0pairs\0")
        for part in _blocks(pairs):
            hasher.update(part)
    return hasher.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with reading(display_name(path)), path.open("rb") as stream:
        while part := stream.read(_BLOCK):
            yield part


def read_manifest(folder: Path) -> ShardManifest:
    """Read the manifest of a directory of shards.

    Raises
    ------
    DataError
        If it is damaged, of a later version, or its sums are wrong.
    """
    file = display_name(folder / MANIFEST)
    document: Any = parse_json(read_text(folder / MANIFEST), file)
    try:
        if document["format"] != FORMAT or document["version"] != VERSION:
            what = f"has version {document['version']} of the format {document['format']!r}, which is not supported"
            raise DataError(f"{what}: make the shards again", file=file)
        shards = tuple(record(Shard, shard) for shard in document["shards"])
        manifest = ShardManifest(**{**document, "columns": dict(document["columns"]), "shards": shards})
        sound = manifest.rows == sum(shard.rows or 0 for shard in shards)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("is not a complete manifest: make the shards again", file=file) from None
    if not sound or not shards:
        raise DataError(
            f"lists {manifest.rows:,} rows, but its shards do not add up to that: make them again", file=file
        )
    return manifest


def _folder(data: str) -> Path:
    return Path(data).parent if Path(data).name == MANIFEST else Path(data)


def _there(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False
