"""A data set of many files, its shards: their names, order and content.

A directory of shards has a manifest, ``shards.json``, with the rows, sources and SHA-256 digest of every file. Without
a manifest, a pattern such as ``logs/*.jsonl.gz`` stands for shards in the order of their names.
"""

from __future__ import annotations

import dataclasses
import glob
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.formats.preference_pairs import companion
from ranker.corpora.formats.reading import read_dataset
from ranker.errors import DataError, counted
from ranker.files import display_name, exists, read_text, reading, safe_join, without_gz

MANIFEST = "shards.json"
FORMAT, VERSION = "ranker-shards", 1
_BLOCK = 1 << 20
Count = Annotated[int, msgspec.Meta(ge=0)]


class Shard(msgspec.Struct, frozen=True):
    """One file of a data set in shards: its path, or name beside the manifest, and its sizes and digest if known.

    The candidates of a source are never divided between files.
    """

    file: str
    rows: Count | None = None
    sources: Count | None = None
    sha256: str | None = None


class ShardManifest(msgspec.Struct, frozen=True):
    """The content of ``shards.json``."""

    format: str
    version: int
    name: str
    rows: Count
    sources: Count
    shards: tuple[Shard, ...]


@dataclass(frozen=True)
class Shards:
    """The shards of one data set in order, with absolute paths; the name is used in messages and signatures."""

    name: str
    shards: tuple[Shard, ...]

    @classmethod
    def open(cls, data: Sequence[str]) -> Shards | None:
        """Open shards given as directories with a manifest, patterns or files; None if `data` names no shards."""
        if not any(is_manifest(entry) or is_pattern(entry) for entry in data):
            return None
        names: list[str] = []
        shards: list[Shard] = []
        for entry in data:
            if is_manifest(entry):
                folder = Path(entry).parent if Path(entry).name == MANIFEST else Path(entry)
                manifest = read_manifest(folder)
                names.append(manifest.name)
                paths = [str(safe_join(folder.absolute(), shard.file)) for shard in manifest.shards]
                shards += map(_moved, manifest.shards, paths)
            else:
                files = matching(entry) if is_pattern(entry) else [entry]
                names.append(display_name(entry))
                shards += [Shard(str(Path(file).absolute())) for file in files]
        return cls("+".join(names), tuple(shards))

    def __len__(self) -> int:
        """Return the number of shards."""
        return len(self.shards)

    def read(self, number: int, expected: str | None = None) -> Dataset:
        """Read one shard, which must match the manifest and have the `expected` digest, if any."""
        shard = self.shards[number]
        actual = digest(shard)
        if expected not in (None, actual):
            raise DataError("was changed during the run: run the command again", file=display_name(shard.file))
        dataset = read_dataset(shard.file, name=self.name)
        if shard.rows not in (None, len(dataset)):
            what = f"has {counted(len(dataset), 'candidate')}, but {MANIFEST} lists {shard.rows:,}"
            raise DataError(f"{what}: make the shards again", file=display_name(shard.file))
        return dataset

    def load(self) -> Dataset:
        """Read all shards into memory as one data set."""
        together = concatenate_datasets([self.read(number) for number in range(len(self))])
        return dataclasses.replace(together, name=self.name)


def is_pattern(data: str) -> bool:
    """True if `data` is a pattern for files: it contains ``*`` or ``?`` and is not the name of a file."""
    return any(mark in data for mark in "*?") and not exists(data)


def is_manifest(data: str) -> bool:
    """True if `data` is a directory of shards, or its manifest."""
    return Path(data).name == MANIFEST or exists(str(Path(data) / MANIFEST))


def matching(pattern: str) -> list[str]:
    """Return the files of data that match a pattern, sorted by name; raise an error if none matches."""
    files = sorted(glob.glob(pattern))  # noqa: PTH207 - the pattern may have an absolute part
    files = [file for file in files if not without_gz(file).endswith(".pairs.tsv")]
    files = [file for file in files if Path(file).name != MANIFEST]
    if not files:
        raise DataError("no file matches this pattern, expected at least one", file=display_name(pattern))
    return files


def digest(shard: Shard) -> str:
    """Return the SHA-256 digest of a shard; raise an error if the manifest has a different digest."""
    hasher = hashlib.sha256()
    for block in _blocks(Path(shard.file)):
        hasher.update(block)
    pairs = companion(shard.file)
    if pairs is not None:
        hasher.update(b"\0pairs\0")
        for block in _blocks(pairs):
            hasher.update(block)
    actual = hasher.hexdigest()
    if shard.sha256 not in (None, actual):
        what = f"is not the file that {MANIFEST} describes (SHA-256 {actual[:12]}..., expected {shard.sha256[:12]}...)"
        raise DataError(f"{what}: copy it again, or make the shards again", file=display_name(shard.file))
    return actual


def read_manifest(folder: Path) -> ShardManifest:
    """Read the manifest of a directory of shards; raise an error if it is damaged or its version is not supported."""
    file = display_name(folder / MANIFEST)
    text = read_text(folder / MANIFEST)
    try:
        manifest = msgspec.json.decode(text, type=ShardManifest)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise DataError(f"is not a manifest of shards ({error}): make the shards again", file=file) from None
    if (manifest.format, manifest.version) != (FORMAT, VERSION):
        what = f"has version {manifest.version} of the format {manifest.format!r}, which is not supported"
        raise DataError(f"{what}: make the shards again", file=file)
    if not manifest.shards or manifest.rows != sum(shard.rows or 0 for shard in manifest.shards):
        what = f"lists {manifest.rows:,} rows, but its shards do not add up to that"
        raise DataError(f"{what}: make the shards again", file=file)
    return manifest


def _moved(shard: Shard, path: str) -> Shard:
    return msgspec.structs.replace(shard, file=path)


def _blocks(path: Path) -> Iterator[bytes]:
    with reading(display_name(path)), path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            yield block
