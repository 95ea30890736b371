"""Relative rankings as published by WMT from 2012 to 2016: comma-separated values that belong to a corpus.

Until 2014 a row is a judge's ranking of up to five outputs of one source, from 2015 on a pair of one ranking::

    srclang,trglang,srcIndex,documentId,segmentId,judgeId,system1Number,system1Id,...,system1rank,...,system5rank
    srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID

Rank 1 is best, -1 left blank. Languages go by name or by code (``Czech``, ``cze``, ``ces``, ``cs``). A system is found
with or without what file names add to it: ``newstest2015.KIT.4017.de-en.txt`` is ``KIT.4017``. A source is found by
``seg_id``: ``srcIndex``, or ``documentId:segmentId``; where no ``seg_id`` of a language pair is a number, ``srcIndex``
counts its sources from 1.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.formats.tables import table_rows
from ranker.corpora.languages import UNKNOWN_PAIR, language_code
from ranker.corpora.records import first_repeated, shown
from ranker.corpora.schema import SCHEMA, table
from ranker.errors import DataError, log_note, nearest

_REQUIRED = ("srclang", "trglang", "srcindex")
_SYSTEM = re.compile(r"system([0-9]+)(id|rank)\Z")
_AROUND = re.compile(r"\A(?:newstest[0-9]{4}\.)?(.*?)(?:\.[a-z]{2,3}-[a-z]{2,3})?(?:\.txt)?\Z")
_REFERENCE = re.compile(r"_?ref(erence)?\Z", re.IGNORECASE)
_BLANK = -1


@dataclass(frozen=True)
class Ranking:
    """A row of a rankings file: the ranks that a judge gave several outputs for one source; rank 1 is best."""

    line: int
    pair: str
    index: str
    document: str
    segment: str
    judge: str | None
    task: str | None
    systems: tuple[str, ...]
    ranks: tuple[int, ...]


def is_rankings(text: str) -> bool:
    """True if the first line of `text` is that of a file of relative rankings."""
    header = {name.strip().lower() for name in text.split("\n", 1)[0].split(",")}
    return header >= {*_REQUIRED, "system1id", "system1rank"}


def parse_rankings(text: str, file: str) -> Iterator[Ranking]:
    r"""Parse relative rankings; `text` has lines that end in ``\n``."""
    rows = table_rows(text, file, ",", quoted=True)
    header = [name.strip().lower() for name in next(rows)[1]]
    numbers = sorted({int(match[1]) for match in map(_SYSTEM.match, header) if match})
    columns = [(f"system{number}id", f"system{number}rank") for number in numbers or (1, 2)]
    for name in (*_REQUIRED, *itertools.chain(*columns)):
        if name not in header:
            what = f"column {name!r} is missing; expected srclang, trglang, srcIndex, system1Id, system1rank, ..."
            raise DataError(what, file=file, line=1)
    twice = first_repeated(header)
    if twice is not None:
        raise DataError(f"column {shown(twice)} is duplicated; rename or remove one column", file=file, line=1)
    for line, row in rows:
        yield _ranking(dict(zip(header, row, strict=True)), columns, file, line)


def _ranking(row: Mapping[str, str], columns: Sequence[tuple[str, str]], file: str, line: int) -> Ranking:
    codes = []
    for name in ("srclang", "trglang"):
        code = language_code(row[name])
        if code is None:
            raise DataError(
                f"{name}: expected a language, such as de or German, found {shown(row[name])}", file=file, line=line
            )
        codes.append(code)
    ranked: list[tuple[str, int]] = []
    for system, rank in columns:
        value = row[rank].strip()
        if value in ("", str(_BLANK)):
            continue
        if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0):
            what = f"{rank}: expected a whole number from 1, or {_BLANK} for none, found {shown(value)}"
            raise DataError(what, file=file, line=line)
        if not row[system].strip():
            raise DataError(f"{system}: expected a system name for rank {value}, found ''", file=file, line=line)
        ranked.append((row[system].strip(), int(value)))
    return Ranking(
        line,
        "-".join(codes),
        row["srcindex"].strip(),
        row.get("documentid", "").strip(),
        row.get("segmentid", "").strip(),
        row.get("judgeid", "").strip() or None,
        row.get("rankingid", "").strip() or None,
        tuple(system for system, _ in ranked),
        tuple(rank for _, rank in ranked),
    )


def with_rankings(dataset: Dataset, text: str, file: str) -> Dataset:
    """Return `dataset` with preferences from relative rankings, one for every two outputs of a ranking.

    Rows of language pairs that `dataset` lacks, and ranked references, are skipped and counted in a note on standard
    error. Where rankings are given by pairs, a pair whose texts occurred before in its ranking, apart from case,
    punctuation and blanks, is not ``primary``: that output was shown once, under all its systems.
    """
    places = _Places(dataset)
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA["preferences"]}
    passed: dict[str, int] = {}
    seen: set[tuple[object, ...]] = set()
    for number, ranking in enumerate(parse_rankings(text, file), 1):
        source = places.source(ranking, file)
        if source is None:
            passed["rows of other language pairs"] = passed.get("rows of other language pairs", 0) + 1
            continue
        ranked = []
        for system, rank in zip(ranking.systems, ranking.ranks, strict=True):
            candidate = places.candidate(source, system)
            if candidate is not None:
                ranked.append((candidate, rank))
            elif _REFERENCE.match(_AROUND.sub(r"\1", system)):
                passed["ranks of references"] = passed.get("ranks of references", 0) + 1
            else:
                raise places.unknown_system(source, system, file, ranking.line)
        if len({candidate for candidate, _ in ranked}) < len(ranked):
            twice = first_repeated(str(candidate) for candidate, _ in ranked) or "0"
            system = dataset.candidates["system"].iloc[int(twice)]
            raise DataError(f"system {shown(system)} is ranked twice, expected once", file=file, line=ranking.line)
        for (first, rank_first), (second, rank_second) in itertools.combinations(ranked, 2):
            primary = True
            if ranking.task is not None:
                key = (
                    ranking.pair,
                    ranking.task,
                    *sorted([(places.content(first), rank_first), (places.content(second), rank_second)]),
                )
                primary = key not in seen
                seen.add(key)
            relation = ">" if rank_first < rank_second else "<" if rank_first > rank_second else "="
            row = (
                first,
                second,
                relation,
                ranking.judge,
                ranking.task or str(number),
                str(rank_first),
                str(rank_second),
                primary,
            )
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    for what, count in passed.items():
        log_note(f"{what}, ignored: {count:,}", file)
    if not columns["first"]:
        raise DataError(f"contains no comparison of two outputs of {dataset.name}, expected at least one", file=file)
    return dataclasses.replace(dataset, preferences=table("preferences", columns))


class _Places:
    """Finds the sources and candidates of a data set that rankings refer to."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.systems = dataset.candidates["system"].tolist()
        self.texts = dataset.candidates["text"].tolist()
        self.contents: dict[int, str] = {}
        self.by_source: dict[int, dict[str, int]] = {}
        self.keys: dict[tuple[str, str], int] = {}
        pairs, ids = dataset.source_language_pairs, dataset.sources["seg_id"].tolist()
        for source, key in enumerate(zip(pairs, ids, strict=True)):
            self.keys[key] = source
        self.counted: dict[str, np.ndarray] = {}
        for pair in dataset.language_pairs:
            rows = np.flatnonzero(pairs == pair)
            if not any(ids[row].isdecimal() for row in rows):
                self.counted[pair] = rows
        self.pairs = set(dataset.language_pairs)
        self.only: str | None = None

    def source(self, ranking: Ranking, file: str) -> int | None:
        """Return the source that a ranking refers to, or None if its language pair is not in the data set."""
        pair = ranking.pair
        if self.pairs == {UNKNOWN_PAIR}:
            # a corpus that does not say its languages can be of one pair only
            self.only = self.only or ranking.pair
            if ranking.pair != self.only:
                what = (
                    f"{self.dataset.name} has no language pair; expected rankings of one language pair, found "
                    f"{self.only} and"
                )
                raise DataError(f"{what} {ranking.pair}", file=file, line=ranking.line)
            pair = UNKNOWN_PAIR
        elif pair not in self.pairs:
            return None
        for seg_id in (ranking.index, f"{ranking.document}:{ranking.segment}"):
            source = self.keys.get((pair, seg_id))
            if source is not None:
                return source
        rows = self.counted.get(pair)
        if (
            rows is not None
            and ranking.index.isdecimal()
            and len(ranking.index) < 10
            and 1 <= int(ranking.index) <= len(rows)
        ):
            return int(rows[int(ranking.index) - 1])
        what = f"srcIndex: expected a source of {self.dataset.name} ({ranking.pair}), found {shown(ranking.index)}"
        raise DataError(what, file=file, line=ranking.line)

    def candidate(self, source: int, system: str) -> int | None:
        named = self.by_source.get(source)
        if named is None:
            rows = range(*self.dataset.candidate_offsets[source : source + 2])
            named = {_AROUND.sub(r"\1", self.systems[row]): row for row in rows}
            named.update((self.systems[row], row) for row in rows)
            self.by_source[source] = named
        candidate = named.get(system)
        return named.get(_AROUND.sub(r"\1", system)) if candidate is None else candidate

    def unknown_system(self, source: int, system: str, file: str, line: int) -> DataError:
        where, known = source_place(self.dataset, source), list(self.by_source[source])
        what = f"expected a system that translated {where}, found {shown(system)}{nearest(system, known)}"
        return DataError(what, file=file, line=line)

    def content(self, candidate: int) -> str:
        """Return the text of a candidate in lower case, without punctuation and blanks."""
        if candidate not in self.contents:
            letters = (
                character
                for character in self.texts[candidate].lower()
                if unicodedata.category(character)[0] not in "PZC"
            )
            self.contents[candidate] = "".join(letters)
        return self.contents[candidate]
