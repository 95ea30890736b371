"""Writes a corpus as shards, and checks shards."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ranker import progress
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.preference_pairs import companion_name
from ranker.corpora.formats.shards import FORMAT, MANIFEST, VERSION, Shard, ShardManifest, Shards, digest
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.own_references import mark_systems
from ranker.corpora.selection import only_pair, select_language_pairs, with_language_pair
from ranker.corpora.shards.streaming import Part, SourceKeys, parts_of
from ranker.errors import NOTES, DataError, OptionError
from ranker.files import display_name, unwritable, used_alone, write_bytes

ENDINGS = (".parquet", ".jsonl.gz")
"""Endings of the names of shards: Parquet tables, or JSON lines, which can hold all data."""


def make_shards(
    data: str, folder: str | Path, rows: int, *, ending: str = ".parquet", lp: Sequence[str] = ()
) -> ShardManifest:
    """Write a corpus, given by name or path, as shards of whole sources, up to `rows` rows each, and a manifest."""
    folder = Path(folder)
    if rows < 1:
        raise OptionError(f"--rows {rows}: expected a whole number from 1")
    shards: list[Shard] = []
    name, count = "", 0
    references: set[str] = set()
    present: set[str] = set()
    with used_alone(folder), notes_once(), _removed_on_failure(folder):
        for part in parts_of(data, rows, only_pair(lp)):
            stated = with_language_pair(part, lp)
            known = [wanted for wanted in lp if _has(stated, wanted)]
            present |= {*known}
            chosen = select_language_pairs(stated, known) if lp else stated
            if not len(chosen.sources):
                continue
            # the last shard may have too few sources to tell
            chosen = mark_systems(chosen, references)
            references |= {*chosen.candidates["system"][chosen.is_reference]}
            name, count = chosen.name, count + len(chosen)
            path = folder / f"part-{len(shards):05d}{ending}"
            write_dataset(chosen, path)
            shards.append(Shard(path.name, len(chosen), len(chosen.sources), digest(Shard(str(path)))))
            progress.report("candidates", count, 0)
        if lacking := [wanted for wanted in lp if wanted not in present]:
            raise DataError(
                f"has no sources of {', '.join(lacking)}; give another pair with --lp", file=display_name(data)
            )
        sources = sum(shard.sources or 0 for shard in shards)
        manifest = ShardManifest(FORMAT, VERSION, name, count, sources, tuple(shards))
        write_bytes(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
        return manifest


def check_shards(shards: Shards) -> Iterator[Dataset]:
    """Yield all shards one by one; refuse a wrong digest, a wrong number of rows and a repeated source."""
    keys = SourceKeys(shards.name)
    with notes_once():
        for number, shard in enumerate(shards.shards):
            part = shards.read(number)
            if shard.sha256 is not None:
                keys.add(Part(part))
            progress.report("shards", number + 1, len(shards))
            yield part


@contextmanager
def notes_once() -> Iterator[None]:
    """Log each note about ignored columns once, not once per shard."""
    reported: set[str] = set()

    def is_new(entry: logging.LogRecord) -> bool:
        # what follows the name of the file
        text = entry.getMessage().rpartition(": ignored")[2]
        new = text not in reported
        reported.add(text)
        return new

    NOTES.addFilter(is_new)
    try:
        yield
    finally:
        NOTES.removeFilter(is_new)


def _has(part: Dataset, lp: str) -> bool:
    try:
        select_language_pairs(part, [lp])
    except DataError:
        return False
    return True


@contextmanager
def _removed_on_failure(folder: Path) -> Iterator[None]:
    """Refuse a directory of finished shards; remove those of a killed run now, and those of the block if it fails."""
    if (folder / MANIFEST).exists():
        what = f"already has {MANIFEST}"
        raise DataError(f"{what}: delete the directory, or choose another", file=display_name(folder))
    _remove_shards(folder)
    try:
        yield
    except BaseException:
        with suppress(DataError):
            _remove_shards(folder)
        raise


def _remove_shards(folder: Path) -> None:
    try:
        for path in [path for ending in ENDINGS for path in folder.glob(f"part-[0-9]*{ending}")]:
            path.unlink()
            path.with_name(companion_name(path)).unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
