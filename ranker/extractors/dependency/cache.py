"""Parses of sentences, each parsed once and kept on disk.

There is one file per parser; rows are named by the digest of the text that they parse. See `ranker.storage.row_cache`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ranker import share
from ranker.arrays import Int32Array, offsets_of
from ranker.errors import MissingError
from ranker.learning.parser import parser as parsing
from ranker.learning.parser.parser import DependencyParser, Parses
from ranker.storage.row_cache import RowCache
from ranker.threads import jobs

SHIPPED = "shipped"
_SHIPPED_DIRECTORY = "parser-en"
_ROUND = 4096
_FORK_FROM = 2000
_SIZE = 4
_NAMES = b"names"
_ESCAPE = re.compile("\1[\1\2]")


class _Parse(NamedTuple):
    """The parse of one sentence: columns as bytes, and strings."""

    heads: bytes
    relations: bytes
    tags: bytes
    words: list[str]
    lemmas: list[str]


def origin_of(parser: str) -> str:
    """Return the directory or package that the option `parser` names: the shipped one, a path or a spaCy package."""
    if parser != SHIPPED:
        return parser
    directory = share.directory("models") / _SHIPPED_DIRECTORY
    if not directory.is_dir():
        raise MissingError(
            "the included English parser is missing from this installation; choose an installed spaCy pipeline, as "
            "ds[parser=en_core_web_sm], or a parser trained with ranker parser train"
        )
    return str(directory)


def parse(sentences: Sequence[str], parser: str = SHIPPED) -> Parses:
    """Parse distinct sentences, taking from the cache what it has."""
    origin = origin_of(parser)
    keys = [hashlib.sha256(sentence.encode("utf-8", "surrogatepass")).digest() for sentence in sentences]
    with RowCache("parses", parsing.digest(origin)) as cache:
        cached = cache.known([_NAMES, *keys])
        names = _strings(cached.pop(_NAMES, b""))
        rows = {key: _unpacked(row) for key, row in cached.items()}
        missing = [index for index, key in enumerate(keys) if key not in rows]
        if missing or not names:
            pipeline = parsing.load(origin)
            names = [*pipeline.relation_names, "", *pipeline.tag_names]
            cache.keep({_NAMES: _packed_strings(names)})
        # what a round has parsed is kept even if the next one is interrupted
        for start in range(0, len(missing), _ROUND * jobs()):
            batch = missing[start : start + _ROUND * jobs()]
            parsed = _parse(pipeline, [sentences[index] for index in batch], len(missing))
            fresh = dict(zip((keys[index] for index in batch), _rows(parsed), strict=True))
            cache.keep({key: _packed(row) for key, row in fresh.items()})
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


def _packed(row: _Parse) -> bytes:
    """Return a parse as bytes: the number of words, three columns, then words and lemmas."""
    size = len(row.words).to_bytes(_SIZE, "little")
    return b"".join((size, row.heads, row.relations, row.tags, _packed_strings([*row.words, *row.lemmas])))


def _unpacked(raw: bytes) -> _Parse:
    size = int.from_bytes(raw[:_SIZE], "little")
    ends = 4 + 4 * size, 4 + 6 * size, 4 + 8 * size
    strings = _strings(raw[ends[2] :])
    return _Parse(raw[4 : ends[0]], raw[ends[0] : ends[1]], raw[ends[1] : ends[2]], strings[:size], strings[size:])


def _packed_strings(strings: Iterable[str]) -> bytes:
    """Return strings as bytes; a NUL in one of them is escaped."""
    escaped = [string.replace("\1", "\1\1").replace("\0", "\1\2") for string in strings]
    return "\0".join([*escaped, ""]).encode("utf-8", "surrogatepass")


def _strings(raw: bytes) -> list[str]:
    strings = raw.decode("utf-8", "surrogatepass").split("\0")[:-1]
    if b"\1" in raw:
        strings = [_ESCAPE.sub(lambda match: match[0][1].replace("\2", "\0"), string) for string in strings]
    return strings


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
    """Return heads, relations and tags of all words."""
    return (
        np.frombuffer(b"".join(row.heads for row in rows), dtype=np.int32),
        np.frombuffer(b"".join(row.relations for row in rows), dtype=np.uint16).astype(np.int32),
        np.frombuffer(b"".join(row.tags for row in rows), dtype=np.uint16).astype(np.int32),
    )
