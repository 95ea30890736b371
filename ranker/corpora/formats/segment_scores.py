"""Segment scores written by other programs, and their assignment to the candidates of a data set.

These are score files of mt-metrics-eval (see `ranker.corpora.formats.mtme_scores`), the JSON that ``comet-score
--to_json`` writes, CSV, TSV and JSONL with a score in every row, files of one score per line, and folders of these, one
for each system. A row belongs to a segment by its ``seg_id`` (and ``lp``), or without one by its place among the rows
of its system.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.formats.json_lines import Keys, RecordReader
from ranker.corpora.formats.json_text import json_values
from ranker.corpora.formats.mtme_scores import parse_score, parse_scores
from ranker.corpora.formats.tables import Columns, Delimiter, parse_table, table_rows, without_separator_line
from ranker.corpora.languages import language_pair
from ranker.corpora.records import LARGEST, shown
from ranker.errors import DataError, counted, log_note, nearest
from ranker.files import display_name, read_text, sha256

_KEYS = ("lp", "seg_id", "system")
_TEXTS = ("mt", "hypothesis", "hyp", "translation", "candidate", "text")
_SOURCES = ("src", "source")
_NUMBERS = re.compile(
    r"(?:seg(?:ment)?|sent(?:ence)?|line|row)[ _-]?(?:id|index|idx|number|no|nr)?|id|index|idx|unnamed: 0"
)
"""Names of columns and keys that number segments, besides ``seg_id``."""
_SCORES = ("score", "COMET", "prediction")
"""Names of the column or key with the score, besides the metric's own name: general, of COMET and of MetricX."""
_PRINTED_BY_COMET = re.compile(r"^(?:[^\t\n]*\t)?Segment \d+\tscore: ", re.MULTILINE)
_FORMS = "expected lines with a system and a score, lines with a score, columns lp, seg_id, system, score, or JSON"


class Row(NamedTuple):
    """One score with its place in the file, and its language pair, segment and system if they are stated."""

    score: float
    where: int | str
    lp: str | None = None
    seg_id: str | None = None
    system: str | None = None
    text: str | None = None
    source: str | None = None
    number: str | None = None


@dataclass(frozen=True, eq=False)
class SegmentScores:
    """The scores of one metric, read from a file or a folder."""

    file: str
    rows: list[Row]
    digest: str

    @classmethod
    def read(cls, path: str | Path, name: str) -> SegmentScores:
        """Read the scores of the metric called `name` from a file or folder."""
        file = display_name(path)
        if not Path(path).is_dir():
            text = read_text(path)
            return cls(file, _parse(text, file, name), sha256(text.encode()))
        parts = sorted(part for part in Path(path).iterdir() if part.is_file() and not part.name.startswith("."))
        if not parts:
            raise DataError("is an empty directory, expected one score file per system", file=file)
        rows, digests = [], []
        for part in parts:
            text, inside = read_text(part), display_name(part)
            _refuse_output_of_comet(text, inside)
            numbers = _lines_of_scores(text.split("\n"), inside)
            if numbers is None:
                raise DataError("expected one score per line, as in every file of a directory", file=inside, line=1)
            rows += [Row(number.score, f"{part.name}:{number.where}", system=part.name) for number in numbers]
            digests.append(sha256(text.encode()))
        return cls(file, rows, sha256("".join(digests).encode()))

    @property
    def values(self) -> FloatArray:
        """All scores, in the order of the file."""
        return np.array([row.score for row in self.rows], dtype=np.float64)

    def error(self, what: str, row: Row | None = None) -> DataError:
        """Make an error about a row, or about the whole file."""
        return DataError(what, file=self.file) if row is None else _error(what, self.file, row)

    def in_order(self, dataset: Dataset) -> FloatArray:
        """Return the scores in file order, which must be the order of the hypotheses, the candidates of `dataset`."""
        if len(self.rows) != len(dataset):
            what = f"has {counted(len(self.rows), 'score')}, expected {len(dataset):,}"
            raise self.error(f"{what}, one for each of the hypotheses of {dataset.name}")
        lacking = next((row for row in self.rows if math.isnan(row.score)), None)
        if lacking is not None:
            raise self.error("the score is missing, expected a number", lacking)
        self._check_texts(dataset, np.arange(len(dataset)))
        self._check_places(dataset)
        return self.values

    def _check_places(self, dataset: Dataset) -> None:
        """Refuse rows whose segments or systems show that they are not in the order of the candidates."""
        source = dataset.candidate_source
        expected = f"expected scores in the order of the hypotheses of {dataset.name}"
        if self.rows[0].seg_id is not None:
            own = dataset.sources["seg_id"].to_numpy(object)[source]
            given = np.array([row.seg_id for row in self.rows], dtype=object)
            by_number = all(map(_is_index, {*own, *given}))
            segment, own_segment = (
                np.unique(ids.astype(np.int64), return_inverse=True)[1] if by_number else pd.factorize(ids)[0]
                for ids in (given, own)
            )
            # segments may be numbered from another number, or lines in place of segments
            wrong = np.flatnonzero((segment != own_segment) & (segment != np.arange(len(segment))).any())
            for at in wrong[:1].tolist():
                place = source_place(dataset, int(source[at]))
                what = f"seg_id {shown(given[at])} is in the place of a score for {place}"
                raise self.error(f"{what}: {expected}; sort the rows", self.rows[at])
        system = [row.system for row in self.rows]
        again = np.flatnonzero(pd.DataFrame({"source": source, "system": system}).duplicated())
        for at in again[:1].tolist() if len(set(system)) > 1 else []:
            what = f"system {shown(system[at])} has a second score for {source_place(dataset, int(source[at]))}"
            raise self.error(f"{what}: {expected}, not by system", self.rows[at])

    def names_systems(self, dataset: Dataset) -> bool:
        """True if the rows are of several systems, any of which is a system of the data set."""
        known, systems = _system_names(dataset), {row.system for row in self.rows} - {None}
        return len(systems) > 1 and any(_fitting(str(system), known) for system in systems)

    def of_candidates(self, dataset: Dataset, pairs: Sequence[str] = ()) -> FloatArray:
        """Return the score of each candidate of a data set, shape (candidates,); NaN if missing."""
        systems = self._systems(dataset)
        there = np.array([name is not None for name in systems])
        system = [name for name in systems if name is not None]
        part = replace(self, rows=[row for row, known in zip(self.rows, there, strict=True) if known])
        source = part._sources(dataset, system, pairs)
        names = dataset.candidates["system"].to_numpy(object)
        codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
        width = max(len(codes), 1)
        place = pd.Index(dataset.candidate_source * width + np.array([codes[name] for name in names], dtype=np.int64))
        wanted = source * width + np.array([codes[name] for name in system], dtype=np.int64)
        candidate = np.full(len(self.rows), -1, dtype=np.int64)
        candidate[there] = np.where(source < 0, -1, place.get_indexer(pd.Index(wanted)))
        score = self.values
        self._note_unused(dataset, np.flatnonzero((candidate < 0) & ~np.isnan(score)), int((~np.isnan(score)).sum()))
        again = np.flatnonzero((candidate >= 0) & pd.Series(candidate).duplicated().to_numpy())
        for at in again[:1].tolist():
            first = self.rows[int(np.argmax(candidate == candidate[at]))]
            row, where = int(candidate[at]), int(dataset.candidate_source[candidate[at]])
            what = f"system {shown(names[row])} has a second score for {source_place(dataset, where)}"
            raise self.error(f"{what} (the first: {_named(first)}); expected one", self.rows[at])
        self._check_texts(dataset, candidate)
        candidate_scores = np.full(len(dataset), np.nan)
        candidate_scores[candidate[candidate >= 0]] = score[candidate >= 0]
        return candidate_scores

    def _note_unused(self, dataset: Dataset, unused: Int64Array, number: int) -> None:
        """Log the number of scores without a candidate in the data set; raise an error if no score has a candidate."""
        if len(unused):
            row = self.rows[int(unused[0])]
            keys = [f"{key} {shown(getattr(row, key))}" for key in _KEYS if getattr(row, key) is not None]
            belong = "belongs" if len(unused) == 1 else "belong"
            what = f"{len(unused):,} of {counted(number, 'score')} {belong} to no candidate of {dataset.name}"
            where = f"first: {_named(row)}{''.join(f', {key}' for key in keys)}"
            if len(unused) == number:
                raise self.error(f"{what} ({where}): expected scores of its systems and segments")
            log_note(f"{what} ({where}): not used", self.file)

    def _check_texts(self, dataset: Dataset, candidate: Int64Array) -> None:
        """Refuse scores of texts that differ from the translations or the sources of the data set."""
        texts = dataset.candidates["text"].to_numpy(object)
        sources = dataset.sources["text"].to_numpy(object)[dataset.candidate_source]
        for row, place in zip(self.rows, candidate.tolist(), strict=True):
            if place < 0:
                continue
            pairs = [("translation", row.text, texts[place]), ("source", row.source, sources[place] or row.source)]
            for name, given, own in pairs:
                if given is not None and given.split() != own.split():
                    where = source_place(dataset, int(dataset.candidate_source[place]))
                    what = f"this score belongs to the {name} {shown(given)}, but {where} has {shown(own)}"
                    raise self.error(f"{what}: expected scores of the same {name}s in the same order", row)

    def _systems(self, dataset: Dataset) -> list[str | None]:
        """Return each row's system by its name in the data set, None for systems that the data set lacks."""
        known = _system_names(dataset)
        by_name: dict[str | None, str | None] = {}
        for row in self.rows:
            if row.system in by_name:
                continue
            if row.system is None:
                if len(known) != 1:
                    what = (
                        f"has no system names, but {dataset.name} has {len(known)} systems: add a column or "
                        "key 'system'"
                    )
                    raise self.error(what, row)
                by_name[None] = known[0]
                continue
            fitting = _fitting(row.system, known)
            by_name[row.system] = fitting[0] if len(fitting) == 1 else None
        if not any(by_name.values()):
            row = self.rows[0]
            hint = nearest(str(row.system)[:60], known)
            raise self.error(f"expected a system of {dataset.name}, found {shown(row.system)}{hint}", row)
        twice = pd.Series({key: name for key, name in by_name.items() if name}).duplicated(keep=False)
        if twice.any():
            duplicated = " and ".join(shown(name) for name in list(twice[twice].index)[:2])
            raise self.error(f"systems {duplicated} are the same system of {dataset.name}; rename or remove one")
        return [by_name[row.system] for row in self.rows]

    def _sources(self, dataset: Dataset, system: list[str], wanted: Sequence[str]) -> Int64Array:
        """Return each row's source as an index into the data set, -1 for unknown segments."""
        if self.rows[0].seg_id is None:
            return self._counted(dataset, system, wanted)
        pairs, ids = dataset.source_language_pairs, dataset.sources["seg_id"].to_numpy(object)
        by_id: dict[str, list[int]] = {}
        for place, seg_id in enumerate(ids):
            by_id.setdefault(seg_id, []).append(place)
        self._check_first(by_id)
        indices = []
        for row in self.rows:
            assert row.seg_id is not None
            places = by_id.get(row.seg_id, [])
            if row.lp is not None:
                places = [place for place in places if pairs[place] == language_pair(row.lp)]
            if not places:
                indices.append(-1)
            elif len(places) != 1:
                named = f"seg_id {shown(row.seg_id)}{'' if row.lp is None else f' of {shown(row.lp)}'}"
                advice = "add the language pair in a column or key 'lp'"
                if len({pairs[place] for place in places}) < len(places):
                    advice = "give the scores in a column of each data file, or score the files separately"
                raise self.error(f"{named} matches {len(places)} segments of {dataset.name}: {advice}", row)
            else:
                indices.append(places[0])
        return np.array(indices, dtype=np.int64)

    def _check_first(self, ids: Iterable[str]) -> None:
        """Refuse segments that are numbered from 0 where those of the data set are numbered from 1, and the reverse."""
        own, given = (
            {int(one) for one in some if _is_index(one)} for some in (ids, (row.seg_id or "" for row in self.rows))
        )
        if own and given and {min(own), min(given)} == {0, 1} and max(own) - max(given) == min(own) - min(given):
            what = f"segments are numbered from {min(given)} to {max(given)} here, but from {min(own)} in the data set"
            raise self.error(f"{what}: expected the same seg_ids; number both alike", self.rows[0])

    def _counted(self, dataset: Dataset, system: list[str], wanted: Sequence[str]) -> Int64Array:
        """Match scores without segment ids to sources in order, and return the source of each row."""
        source = np.zeros(len(self.rows), dtype=np.int64)
        names = dataset.candidates["system"].to_numpy(object)
        groups: dict[tuple[str, str | None], list[int]] = {}
        for at, (row_system, row) in enumerate(zip(system, self.rows, strict=True)):
            groups.setdefault((row_system, row.lp), []).append(at)
        pairs = dataset.source_language_pairs
        every = np.ones(len(pairs), dtype=bool)
        for (name, lp), rows in groups.items():
            parts = (
                [pairs == language_pair(lp)]
                if lp is not None
                else [every, np.isin(pairs, wanted)]
                if wanted
                else [every]
            )
            translated = np.zeros(len(dataset.sources), dtype=bool)
            translated[dataset.candidate_source[names == name]] = True
            sizes = [np.flatnonzero(part & more) for part in parts for more in (translated, every)]
            fitting = next((group for group in sizes if len(group) == len(rows)), None)
            if fitting is None:
                what = (
                    f"system {shown(name)} has {counted(len(rows), 'score')}, expected {len(sizes[-2]):,}, one for each"
                )
                raise self.error(f"{what} of its segments in {dataset.name}", self.rows[rows[-1]])
            source[rows] = fitting
        return source


def _system_names(dataset: Dataset) -> list[str]:
    return list(dict.fromkeys(dataset.candidates["system"].to_numpy(object)))


def _fitting(system: str, known: Sequence[str]) -> list[str]:
    """Return the systems among `known` to which the name `system` may refer."""
    # COMET names systems by the paths of their files
    bare = system.replace("\\", "/").rsplit("/", 1)[-1]
    fitting = [spelling for spelling in (system, bare, bare.rsplit(".", 1)[0]) if spelling in known][:1]
    fitting = fitting or [name for name in known if name.rsplit(".", 1)[0] == bare]
    return fitting or [name for name in known if f".{name}." in f".{bare}."]


def _error(what: str, file: str, row: Row) -> DataError:
    if isinstance(row.where, str):
        return DataError(f"{row.where}: {what}", file=file)
    return DataError(what, file=file, line=row.where)


def _named(row: Row) -> str:
    return f"line {row.where}" if isinstance(row.where, int) else row.where


def _parse(text: str, file: str, name: str) -> list[Row]:
    text, separator = without_separator_line(text)
    if not text.strip():
        raise DataError(f"is empty, {_FORMS}", file=file)
    if text.lstrip()[0] in "{[":
        rows = list(_from_json(text, file, name))
    else:
        _refuse_output_of_comet(text, file)
        lines = text.removesuffix("\n").split("\n")
        skipped = int(separator is not None)
        number, first = next((number, line) for number, line in enumerate(lines, 1) if line)
        delimiter: Delimiter = "\t" if "\t" in first else ";" if ";" in first and "," not in first else ","
        quoted = delimiter != "\t"
        header = _header(next(table_rows(text, file, delimiter, quoted=quoted))[1], name, file)
        if header is not None:
            rows = list(_from_table(parse_table(text, file, delimiter, quoted=quoted), header))
        elif (numbers := _lines_of_scores(lines[skipped:], file, 1 + skipped)) is not None:
            rows = numbers
        elif delimiter != "\t" and delimiter in first:
            raise DataError(f"found {shown(first)} without column names; {_FORMS}", file=file, line=number)
        else:
            by_system = parse_scores("\n".join([*lines[skipped:], ""]), file, 1 + skipped)
            rows = [
                Row(math.nan if score is None else score, line, system=system)
                for system, scores in by_system.items()
                for score, line in scores
            ]
    if not rows:
        raise DataError(f"contains no score, {_FORMS}", file=file)
    for row in rows:
        if abs(row.score) > LARGEST:
            raise _error(f"the score {row.score:g}: expected a number of at most {LARGEST:g} in magnitude", file, row)
    for key in _KEYS:
        has = [getattr(row, key) is not None for row in rows]
        if any(has) and not all(has):
            row = rows[has.index(False)]
            what = f"{key} is missing here but not elsewhere; expected it in all rows or none"
            raise _error(what, file, row)
    _check_order(rows, file)
    return rows


def _refuse_output_of_comet(text: str, file: str) -> None:
    if printed := _PRINTED_BY_COMET.search(text[:10_000]):
        what = "this is what comet-score prints, expected its JSON: run it with --to_json FILE"
        raise DataError(what, file=file, line=text.count("\n", 0, printed.start()) + 1)


def _check_order(rows: Sequence[Row], file: str) -> None:
    """Refuse rows without ``seg_id`` and texts whose other numbers, such as ``line``, are not in ascending order."""
    numbered: dict[tuple[str | None, str | None], list[tuple[int, Row]]] = {}
    for row in rows:
        if row.number and _is_index(row.number) and row.seg_id is row.text is row.source is None:
            numbered.setdefault((row.system, row.lp), []).append((int(row.number), row))
    for several in numbered.values():
        # numbers that occur again are those of another document
        if len({number for number, _ in several}) < len(several):
            continue
        for (before, _), (number, row) in pairwise(several):
            if number < before:
                what = f"number {number} follows {before} of the same system, so rows are not in the order of segments"
                raise _error(f"{what}: call the column or key of numbers seg_id, or sort the rows", file, row)


def _is_index(text: str) -> bool:
    return text.isdecimal() and len(text) < 19


def _lines_of_scores(lines: list[str], file: str, first: int = 1) -> list[Row] | None:
    """Read one score per line, from line number `first`; return None if the lines are not single scores."""
    filled = lines[:-1] if lines and not lines[-1] else lines
    if any(len(line.split()) != 1 or "," in line for line in filled[:2]):
        return None
    return [Row(_value(line.strip(), file, number), number) for number, line in enumerate(filled, first)]


def _value(text: str, file: str, line: int) -> float:
    """Parse a number; NaN for ``None`` and for empty text."""
    score = parse_score(text, file, line) if text else None
    return math.nan if score is None else score


def _header(fields: list[str], name: str, file: str) -> dict[str, int] | None:
    """Return the column indices by name if `fields` are a header, else None."""
    known = {field.strip(): place for place, field in enumerate(fields)}
    score = _score_key(known, name, file, 1)
    if score is None:
        return None
    others = {"text": _TEXTS, "source": _SOURCES, "number": [key for key in known if _NUMBERS.fullmatch(key.lower())]}
    found = {as_: next((key for key in keys if key in known), None) for as_, keys in others.items()}
    return {
        "score": known[score],
        **{key: known[key] for key in _KEYS if key in known},
        **{as_: known[key] for as_, key in found.items() if key is not None},
    }


def _score_key(keys: Iterable[str], name: str, file: str, line: int) -> str | None:
    """Return the column or key that holds the score of the metric `name`, None if there is none."""
    own = [key for key in keys if key.lower() == name.lower()]
    found = own or [key for key in _SCORES if key in keys]
    if len(found) > 1 and name not in found:
        what = f"the score may be in {' or '.join(map(shown, found))}: remove one, or call one {shown(name)}"
        raise DataError(what, file=file, line=line)
    return name if name in found else next(iter(found), None)


def _from_table(table: Columns, header: Mapping[str, int]) -> Iterator[Row]:
    cells = {key: table.values[place].to_pylist() for key, place in header.items()}
    keys = [key for key in cells if key != "score"]
    for at, line in enumerate(table.lines.tolist()):
        score = _value((cells["score"][at] or "").strip(), table.file, line)
        yield Row(score, line, **{key: cells[key][at] or None for key in keys})


def _from_json(text: str, file: str, name: str) -> Iterator[Row]:
    for line, value in json_values(text, file):
        reader = RecordReader(file, line, Keys())
        fields = reader.mapping(value, "record")
        if fields and all(isinstance(scores, list) for scores in fields.values()):
            for system, scores in fields.items():
                for number, score in enumerate(scores):
                    row = _json_row(reader, score, f"{shown(system)}[{number}]", name)
                    yield row._replace(where=f"{shown(system)}[{number}]", system=system)
            continue
        yield _json_row(reader, fields, "record", name)


def _json_row(reader: RecordReader, value: object, path: str, name: str) -> Row:
    fields = reader.mapping(value, path)
    key = _score_key(fields, name, reader.file, reader.line)
    if key is None:
        wanted = ", ".join(dict.fromkeys(("score", "COMET", "prediction", name)))
        reader.fail(path, f"a score under one of the keys {wanted}", sorted(fields))
    score = math.nan if fields[key] is None else reader.number(fields[key], f"{path}.{key}")
    keys = {place: reader.optional_text(fields, place, f"{path}.{place}") for place in _KEYS}
    text, source = (
        next((fields[key] for key in some if isinstance(fields.get(key), str)), None) for some in (_TEXTS, _SOURCES)
    )
    number = next((str(value) for key, value in fields.items() if _NUMBERS.fullmatch(key.lower())), None)
    return Row(score, reader.line, **keys, text=text, source=source, number=number)
