"""Parses of sentences, each parsed once and kept on disk.

The cache is one SQLite file a parser, in ``$RANKER_CACHE`` or the platform's user cache directory, its rows named by
the text they parse: content-addressed, safe under concurrent runs and under kill -9, and free to be deleted.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import numpy as np

from ranker import share
from ranker.arrays import offsets_of
from ranker.errors import MissingError
from ranker.files import cache_directory
from ranker.learning.parser import parser as parsing
from ranker.learning.parser.parser import DependencyParser, Parses
from ranker.threads import jobs

SHIPPED = "shipped"
_SHIPPED_DIRECTORY = "parser-en"
_ROUND = 4096
_FORK_FROM = 2000
_TABLE = (
    "CREATE TABLE IF NOT EXISTS parses (text BLOB PRIMARY KEY, heads BLOB NOT NULL, relations BLOB NOT NULL, "
    "tags BLOB NOT NULL, words TEXT NOT NULL, lemmas TEXT NOT NULL) WITHOUT ROWID"
)
_Row = tuple[bytes, bytes, bytes, str, str]


def origin_of(parser: str) -> str:
    """Return the directory or package that the option `parser` names: the shipped one, a path or a spaCy package."""
    if parser != SHIPPED:
        return parser
    directory = share.directory("models") / _SHIPPED_DIRECTORY
    if not directory.is_dir():
        raise MissingError(
            "the shipped English parser is not in this installation; name an installed spaCy pipeline, as "
            "ds[parser=en_core_web_sm], or one made by ranker parser train"
        )
    return str(directory)


def parse(sentences: Sequence[str], parser: str = SHIPPED) -> Parses:
    """Parse distinct sentences, taking from the cache what it has.

    Parameters
    ----------
    sentences : sequence of str
    parser : str
        ``shipped``, a directory, or an installed spaCy package.

    Returns
    -------
    Parses
        In the order of `sentences`; with lemmas where the parser gives them, else with lower-cased words.
    """
    origin = origin_of(parser)
    keys = [hashlib.sha256(sentence.encode("utf-8", "surrogatepass")).digest() for sentence in sentences]
    with _opened(parsing.digest(origin)) as cache:
        rows = dict(_known(cache, keys))
        missing = [index for index, key in enumerate(keys) if key not in rows]
        if missing:
            pipeline = parsing.load(origin)
            known = pipeline.relation_names, pipeline.tag_names
            cache.executemany("INSERT OR REPLACE INTO names VALUES (?, ?)", enumerate(map("\0".join, known)))
        # what a round has parsed is kept even if the next one is interrupted
        for start in range(0, len(missing), _ROUND * jobs()):
            batch = missing[start : start + _ROUND * jobs()]
            parsed = _parse(pipeline, [sentences[index] for index in batch], len(missing))
            fresh = dict(zip((keys[index] for index in batch), _rows(parsed), strict=True))
            cache.executemany(
                "INSERT OR REPLACE INTO parses VALUES (?, ?, ?, ?, ?, ?)", ((key, *row) for key, row in fresh.items())
            )
            cache.commit()
            rows.update(fresh)
        names = [text.split("\0") for (text,) in cache.execute("SELECT names FROM names ORDER BY kind")]
    relation_names, tag_names = names or ((), ())
    return _joined([rows[key] for key in keys], tuple(relation_names), tuple(tag_names))


def _parse(pipeline: DependencyParser, sentences: list[str], planned: int) -> Parses:
    # worker processes must load the parser first, which pays for many sentences only
    processes = jobs() if planned >= _FORK_FROM else 1
    return pipeline.parse(sentences, lemmas=pipeline.has_lemmas, processes=processes)


@contextmanager
def _opened(name: str) -> Iterator[sqlite3.Connection]:
    directory = cache_directory() / "parses"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(directory / f"{name[:32]}.sqlite", timeout=60)
    except (OSError, sqlite3.Error):
        # a cache that cannot be written only costs time
        connection = sqlite3.connect(":memory:")
    with closing(connection):
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(_TABLE)
        connection.execute("CREATE TABLE IF NOT EXISTS names (kind INTEGER PRIMARY KEY, names TEXT NOT NULL)")
        connection.commit()
        yield connection


def _known(cache: sqlite3.Connection, keys: list[bytes]) -> Iterator[tuple[bytes, _Row]]:
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        marks = ",".join("?" * len(part))
        for key, *row in cache.execute(f"SELECT * FROM parses WHERE text IN ({marks})", part):
            yield key, tuple(row)


def _rows(parsed: Parses) -> Iterator[_Row]:
    lemmas = parsed.lemmas or [word.lower() for word in parsed.words]
    relations, tags = parsed.relations.astype(np.uint16), parsed.tags.astype(np.uint16)
    for start, stop in zip(parsed.offsets[:-1], parsed.offsets[1:], strict=True):
        heads, relation, tag = (column[start:stop].tobytes() for column in (parsed.heads, relations, tags))
        yield heads, relation, tag, "\0".join(parsed.words[start:stop]), "\0".join(lemmas[start:stop])


def _joined(rows: list[_Row], relation_names: tuple[str, ...], tag_names: tuple[str, ...]) -> Parses:
    lengths = [len(row[0]) // np.dtype(np.int32).itemsize for row in rows]
    filled = [row for row in rows if row[0]]
    return Parses(
        offsets_of(lengths),
        [word for row in filled for word in row[3].split("\0")],
        np.frombuffer(b"".join(row[0] for row in rows), dtype=np.int32),
        np.frombuffer(b"".join(row[1] for row in rows), dtype=np.uint16).astype(np.int32),
        np.frombuffer(b"".join(row[2] for row in rows), dtype=np.uint16).astype(np.int32),
        [lemma for row in filled for lemma in row[4].split("\0")],
        relation_names,
        tag_names,
    )
