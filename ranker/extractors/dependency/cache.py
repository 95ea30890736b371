"""Dependency parses of sentences, computed once and cached on disk.

There is one file per parser; rows are named by the digest of the text that they parse. See `ranker.storage.row_cache`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ranker import share
from ranker.arrays import Int32Array, offsets_of
from ranker.errors import MissingError
from ranker.learning.parser import parsing
from ranker.learning.parser.parsing import DependencyParser, Parses
from ranker.storage.row_cache import RowCache
from ranker.threads import jobs

SHIPPED = "shipped"
_SHIPPED_DIRECTORY = "parser-en"
_ROUND = 4096
_FORK_FROM = 2000
_NAMES = b"names"


class _Parse(NamedTuple):
    """The parse of one sentence as it is cached: heads, relations and tags as bytes, words and lemmas as strings."""

    heads: bytes
    relations: bytes
    tags: bytes
    words: list[str]
    lemmas: list[str]


_DECODER = msgspec.msgpack.Decoder(_Parse)


def origin_of(parser: str) -> str:
    """Return the directory or spaCy package named by the option `parser`; ``shipped`` is the included parser."""
    if parser != SHIPPED:
        return parser
    directory = share.directory("models") / _SHIPPED_DIRECTORY
    if not directory.is_dir():
        raise MissingError(
            "the included English parser is missing from this installation; name an installed spaCy pipeline, such "
            "as ds[parser=en_core_web_sm], or the directory of one trained with spacy train"
        )
    return str(directory)


def parse(sentences: Sequence[str], parser: str = SHIPPED) -> Parses:
    """Return the parses of distinct sentences, taken from the cache where possible."""
    origin = origin_of(parser)
    keys = [hashlib.sha256(sentence.encode("utf-8", "surrogatepass")).digest() for sentence in sentences]
    with RowCache("parses", f"{parsing.digest(origin)} in msgpack") as cache:
        cached = cache.known([_NAMES, *keys])
        names = msgspec.msgpack.decode(cached.pop(_NAMES, b"\x90"), type=list[str])
        rows = {key: _DECODER.decode(row) for key, row in cached.items()}
        missing = [index for index, key in enumerate(keys) if key not in rows]
        if missing or not names:
            pipeline = parsing.load(origin)
            names = [*pipeline.relation_names, "", *pipeline.tag_names]
            cache.keep({_NAMES: msgspec.msgpack.encode(names)})
        # what a round has parsed is kept even if the next one is interrupted
        for start in range(0, len(missing), _ROUND * jobs()):
            batch = missing[start : start + _ROUND * jobs()]
            parsed = _parse(pipeline, [sentences[index] for index in batch], len(missing))
            fresh = dict(zip((keys[index] for index in batch), _rows(parsed), strict=True))
            cache.keep({key: msgspec.msgpack.encode(row) for key, row in fresh.items()})
            rows.update(fresh)
    end = names.index("")
    return _joined([rows[key] for key in keys], tuple(names[:end]), tuple(names[end + 1 :]))


def _parse(pipeline: DependencyParser, sentences: list[str], planned: int) -> Parses:
    # worker processes must load the parser first, which pays for many sentences only
    processes = jobs() if planned >= _FORK_FROM else 1
    return pipeline.parse(sentences, lemmas=pipeline.has_lemmas, processes=processes)


def _rows(parsed: Parses) -> Iterator[_Parse]:
    lemmas = parsed.lemmas or [word.lower() for word in parsed.words]
    relations, tags = parsed.relations.astype(np.uint16), parsed.tags.astype(np.uint16)
    for start, stop in zip(parsed.offsets[:-1], parsed.offsets[1:], strict=True):
        heads, relation, tag = (column[start:stop].tobytes() for column in (parsed.heads, relations, tags))
        yield _Parse(heads, relation, tag, parsed.words[start:stop], lemmas[start:stop])


def _joined(rows: list[_Parse], relation_names: tuple[str, ...], tag_names: tuple[str, ...]) -> Parses:
    return Parses(
        offsets_of([len(row.words) for row in rows]),
        [word for row in rows for word in row.words],
        *_columns(rows),
        [lemma for row in rows for lemma in row.lemmas],
        relation_names,
        tag_names,
    )


def _columns(rows: list[_Parse]) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Return the heads, relations and tags of the words of all `rows`, concatenated."""
    return (
        np.frombuffer(b"".join(row.heads for row in rows), dtype=np.int32),
        np.frombuffer(b"".join(row.relations for row in rows), dtype=np.uint16).astype(np.int32),
        np.frombuffer(b"".join(row.tags for row in rows), dtype=np.uint16).astype(np.int32),
    )
