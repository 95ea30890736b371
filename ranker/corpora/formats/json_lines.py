"""JSON files of translations in all common layouts: JSONL, and ``candidates.json``.

A record is one source::

    {"source": "...", "references": ["..."], "candidates": [{"system": "A", "text": "..."}]}
    {"source": "...", "references": ["..."], "candidates": {"A": "..."}}
    {"src": "...", "ref": "..." or "refs": ["..."], "tgt": {"A": "..."}}
    {"prompt": "...", "outputs": ["..."]}
    {"src": "...", "hyps": ["..."]}

or one candidate, ``{"src": "...", "mt": "...", "ref": "..."}``, where records of equal source and reference are
one source, ``"system"`` may name the system and ``"judge"`` the judge; keys may be called as the columns of tables
are. A source may be missing where there are references. Optional: ``lp`` (or ``src_lang`` and ``tgt_lang``), ``doc``,
``seg_id``, ``reference_names``, and in a candidate ``human`` (``{"fluency": 3}`` or, with judges,
``{"fluency": {"judge1": 3}}``) and ``is_reference``; word alignments with the source in Pharaoh format, ``alignment``
of a candidate and ``reference_alignments``. A candidate may have marked errors (`ranker.corpora.marked_errors`),
``errors``, with the ``raters`` who looked for them, their names or objects with a name and ratings, ``source_errors``
marked in the source, and ``missing``, without a place. ``translation`` may hold the source and the reference, as in
data sets of Hugging Face: ``{"de": "...", "en": "..."}``.
A file holds one record per line, a list of records, or a single record. The outputs of known programs
(`ranker.corpora.formats.program_outputs`) are read too.

Any other key of a candidate that holds a number, or numbers by judge, is a rating, as in ``human``. Keys that hold
something else, such as settings, are not read, which a note says, unless they are spelled almost as one of those
above. A record of several candidates has no ratings of its own: a number is refused unless its key names metadata
(`ranker.corpora.column_names`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, NoReturn, cast

from ranker.corpora import column_names as names
from ranker.corpora.formats.json_text import json_values
from ranker.corpora.formats.program_outputs import program_records
from ranker.corpora.languages import (
    completed,
    contradict,
    is_language,
    language_code,
    language_pair,
    pair_of,
    stated_pair,
)
from ranker.corpora.marked_errors import NO_ERROR, SIDES, MarkedError
from ranker.corpora.numbered_systems import are_numbered
from ranker.corpora.records import (
    Candidate,
    Rating,
    Record,
    contradiction,
    duplicate_system_error,
    is_one_system,
    one_system_note,
    repeated_header_error,
    shown,
)
from ranker.errors import DataError, counted, log_note, nearest

_EXPECTED = 'expected keys "source", "references", "candidates", or "src", "ref", "tgt", or "src", "mt", "ref"'
_CANDIDATE = ("text", *names.HYPOTHESIS)
CANDIDATES = ("candidates", "tgt", "outputs", "hyps", "hypotheses", "completions", "responses", "generations")
_SOURCE = ("source", *names.SOURCE)
_REFERENCES = ("references", "refs", "ref", "reference")
_SOURCE_KEYS = ("lp", "doc", "seg_id", *_SOURCE, *_REFERENCES, "reference_names", "reference_alignments")
_CANDIDATE_KEYS = ("system", "text", "human", "is_reference", "alignment")
_MARKED = ("errors", "source_errors", "missing")


@dataclass
class Keys:
    """Keys of the records of a file that are not known by name."""

    left_out: dict[str, tuple[int, str] | None] = field(default_factory=dict)
    """Keys that are not read, each with the line and text of its first number in a form that is not read, or None."""
    rated: set[str] = field(default_factory=set)
    """Keys read as ratings."""
    objects: dict[str, set[str]] = field(default_factory=dict)
    """Keys that hold objects of numbers, each with the keys in these objects."""
    are_settings: dict[str, bool] = field(default_factory=dict)
    """Keys that hold objects of numbers, each with True if these are settings, not ratings by judge."""
    are_named: bool | None = None
    """True if records of single candidates name systems; None if there was none yet."""


def parse_records(text: str, file: str, lp: str | None = None) -> list[Record]:
    r"""Parse JSONL or JSON `text`, whose lines end in ``\n``, into records; those that name no pair are of `lp`."""
    return read_records(json_values(text, file), file, lp=lp)


def read_records(
    values: Iterable[tuple[int, Any]],
    file: str,
    unit: str = "line",
    lp: str | None = None,
    keys: Keys | None = None,
) -> list[Record]:
    """Make records from JSON values, each given with its line; `unit` is the word for a line in messages.

    Records that name no language pair are of the pair `lp`.
    For a file read in parts, `keys` has those of earlier parts, and those of this part are added.
    """
    records: list[Record] = []
    rows = _Rows(file, unit)
    keys, pair = keys or Keys(), stated_pair(lp)
    before: dict[tuple[object, ...], Record] = {}
    repeated: list[tuple[int, int]] = []
    notes: dict[str, None] = {}
    output_keys: set[str] = set()
    for line, value in program_records(values, file):
        reader = RecordReader(file, line, keys)
        written = reader.with_language_pair(reader.in_lower_case(reader.mapping(value, "record")))
        fields, note = reader.with_translation(written, pair)
        if pair and fields.get("lp") in (None, "", "-"):
            fields = {**fields, "lp": pair}
        notes.setdefault(note)
        source = reader.spelling(fields, *_SOURCE)
        candidates = reader.spelling(fields, *CANDIDATES, *_CANDIDATE) or reader.spelling(fields, *names.ANSWERS)
        if candidates is None or (source is None and reader.spelling(fields, *_REFERENCES) is None):
            raise DataError(f"{_EXPECTED}; found {shown(sorted(written))}", file=file, line=line)
        if candidates in CANDIDATES:
            record = _source_record(reader, fields, source)
            reader.refuse_others(fields, (*_SOURCE_KEYS, *CANDIDATES))
            record.candidates.extend(reader.candidates(fields[candidates], candidates))
            records.append(record)
            repeated.extend(_repeated(record, before))
            rows.are_all = False
        else:
            if names.is_header_cell(fields[candidates]) and names.is_header(fields.values(), fields):
                raise repeated_header_error(file, line)
            record = _source_record(reader, _as_table_row(reader, fields), source)
            records.extend(rows.add(record, reader, fields, candidates))
        output_keys.add(candidates)
    if len(output_keys) == 1 and output_keys <= {*names.ANSWERS}:
        sources = [record.source for record in records]
        outputs = [candidate.text for record in records for candidate in record.candidates]
        if found := names.verdicts_instead_of_texts(next(iter(output_keys)), sources, outputs):
            raise DataError(f"key {found}", file=file, line=records[0].line)
    records = rows.by_system(records)
    for note in filter(None, notes):
        log_note(note, file)
    if repeated:
        places = f"first: {unit} {repeated[0][0]}, like {unit} {repeated[0][1]}"
        what = (
            f"{counted(len(repeated), 'source')} {'is' if len(repeated) == 1 else 'are'} repeated with outputs of the"
        )
        advice = "remove one, or give each a seg_id"
        log_note(f"{what} same systems ({places}): {advice}", file)
    every = [candidate for record in records for candidate in record.candidates]
    _add_ratings_by_judge(every, keys, file)
    grades = {key: grade for key, grade in keys.left_out.items() if grade is not None}
    keys.rated |= {kind for candidate in every for kind, *_ in candidate.ratings}
    for key, (line, grade) in grades.items():
        if key in keys.rated:
            RecordReader(file, line, keys).fail(_inside("", key), f"{names.DECIMAL} as in other records", grade)
    if keys.left_out:
        unnamed = are_numbered(candidate.system for candidate in every)
        values_of = {key: grade for key, (_, grade) in grades.items()}
        unjudged = rows.number > 0 and {by for one in every for _, by, _ in one.ratings} == {None}
        log_note(names.not_read([*keys.left_out], values_of, unnamed=unnamed, unjudged=unjudged), file)
    return records


def _add_ratings_by_judge(candidates: Iterable[Candidate], keys: Keys, file: str) -> None:
    """Add to candidates' ratings the objects of numbers that hold ratings by judge, not settings, in all records."""
    for key, inner in keys.objects.items():
        are_settings = names.are_settings(key, inner)
        if keys.are_settings.setdefault(key, are_settings) != are_settings:
            what = f"key {shown(key)} holds settings in some records and ratings by judge in others"
            raise DataError(f'{what}: put ratings under "human", or rename the key', file=file)
        if are_settings:
            keys.left_out.setdefault(key)
    for candidate in candidates:
        for line, several in groupby(candidate.objects, itemgetter(0)):
            new = [rating for _, rating in several if not keys.are_settings[rating[0]]]
            candidate.ratings += RecordReader(file, line, keys).new_ratings(candidate, new)


def _repeated(record: Record, before: dict[tuple[object, ...], Record]) -> Iterator[tuple[int, int]]:
    """Yield the lines of `record` and an earlier record of its source, if both lack ids and have a system in common."""
    if record.seg_id is None and record.source:
        first = before.setdefault((record.source, tuple(record.references), record.lp, record.doc), record)
        systems = [{candidate.system for candidate in one.candidates} for one in (first, record)]
        if first is not record and systems[0] & systems[1] and record.line is not None and first.line is not None:
            yield record.line, first.line


class _Rows:
    """Records of single candidates, grouped by source like the rows of a table."""

    def __init__(self, file: str, unit: str) -> None:
        self.file, self.unit = file, unit
        self.are_all = True
        self.number = 0
        self.grouped: dict[tuple[object, ...], tuple[Record, dict[str, tuple[int, int, Candidate]]]] = {}

    def add(self, record: Record, reader: RecordReader, fields: Mapping[str, Any], text_key: str) -> list[Record]:
        """Add a candidate to its source's record; return that record in a list if it is new, else an empty list."""
        self.number += 1
        named = fields.get("system") not in (None, "")
        if reader.keys.are_named is (not named):
            found = shown(fields["system"]) if named else "nothing"
            what = f"system: expected a name in every {self.unit} or in none, found {found}"
            raise DataError(what, file=self.file, line=reader.line)
        reader.keys.are_named = named
        self.are_all &= not named and record.seg_id is None
        # nothing tells whether equal references without a source are of one
        own = self.number if not record.source and record.seg_id is None and not named else None
        key = (record.source, tuple(record.references), record.lp, record.doc, record.seg_id, own)
        new = key not in self.grouped
        record, by_system = self.grouped.setdefault(key, (record, {}))
        candidate = reader.candidate(fields, "", len(record.candidates), text_key, row=True)
        judge = reader.optional_text(fields, "judge", "judge")
        if judge and not named:
            candidate.system = _judged_before(record, candidate, judge) or candidate.system
        _, line, before = by_system.setdefault(candidate.system, (self.number, reader.line, candidate))
        if before is candidate:
            record.candidates.append(candidate)
        elif not judge or (before.text, before.is_reference) != (candidate.text, candidate.is_reference):
            hint = f" ({self.unit} {line} has it too), or distinguish equal sources by seg_id{names.judge_hint(fields)}"
            raise duplicate_system_error(candidate.system, self.file, reader.line, hint)
        else:
            before.ratings.extend(reader.new_ratings(before, candidate.ratings))
            before.objects += candidate.objects
            before.errors.extend(candidate.errors)
        return [record] if new else []

    def by_system(self, records: list[Record]) -> list[Record]:
        """Return one record per candidate if all are unnamed outputs of one system, else `records` unchanged."""
        groups = [[*by_system.values()] for _, by_system in self.grouped.values()]
        if not self.are_all or not is_one_system([len(group) for group in groups]):
            return records
        first, second = min((group for group in groups if len(group) > 1), key=lambda group: group[1][0])[:2]
        note = one_system_note(sum(len(group) > 1 for group in groups), self.unit, first[1], second[1])
        log_note(note, self.file)
        apart = [
            (number, replace(record, line=line, candidates=[replace(candidate, system="candidate1")]))
            for record, by_system in self.grouped.values()
            for number, line, candidate in by_system.values()
        ]
        return [record for _, record in sorted(apart, key=itemgetter(0))]


def _judged_before(record: Record, candidate: Candidate, judge: str) -> str | None:
    """Return the system whose output in `record` has the same text and no rating by `judge`, or None."""
    for before in record.candidates:
        if before.text == candidate.text and judge not in {by for _, by, _ in before.ratings}:
            return before.system
    return None


def _as_table_row(reader: RecordReader, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `fields` with numbered references, ``reference1`` and so on, collected in one list."""
    numbered = names.reference_columns([key for key in map(names.canonical, fields) if key[9:].isdecimal()])
    if not numbered:
        return fields
    if (key := reader.spelling(fields, *_REFERENCES)) is not None and fields[key] is not None:
        reader.fail(key, f"references under one key, or under {numbered[0]}, ...", fields[key])
    by_name = {names.canonical(key): value for key, value in fields.items()}
    return {**fields, "references": [by_name[column] for column in numbered if by_name[column] is not None]}


def source_key(value: object) -> str | None:
    """Return a text that identifies the source of a single-candidate record, or None for any other record."""
    if not isinstance(value, dict) or any(key in value for key in CANDIDATES):
        return None
    keys = [
        key
        for key in value
        if key.strip().lower() in (*_SOURCE_KEYS, *names.LANGUAGE_KEYS)
        or names.canonical(key).startswith("reference")
        or (key.strip().lower() == "translation" and isinstance(value[key], dict))
    ]
    return repr([(key, value[key]) for key in sorted(keys)])


class RecordReader:
    """Reads typed values from one JSON record; errors name the path of a wrong value."""

    def __init__(self, file: str, line: int, keys: Keys) -> None:
        self.file, self.line, self.keys = file, line, keys

    def fail(self, path: str, expected: str, actual: object) -> NoReturn:
        """Raise an error that states the expected and the actual value at `path`."""
        raise DataError(f"{path}: expected {expected}, found {shown(actual)}", file=self.file, line=self.line)

    def spelling(self, fields: Mapping[str, Any], *spellings: str) -> str | None:
        """Return the key in `fields` that is one of `spellings`, or None; raise an error if two of them have values."""
        present = [key for key in spellings if key in fields]
        filled = [key for key in present if fields[key] is not None]
        if len(filled) > 1:
            what = f"keys {filled[0]!r} and {filled[1]!r} mean the same; keep one of them"
            raise DataError(what, file=self.file, line=self.line)
        return next(iter(filled or present), None)

    def in_lower_case(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a record with keys such as ``Source`` in lower case, because columns may be named in any case."""
        changed = {key: plain for key in fields if (plain := key.strip().lower()) != key and plain in names.SPELLINGS}
        for plain in dict.fromkeys(changed.values()):
            self.spelling(fields, *(key for key in fields if plain in (key, changed.get(key))))
        return {changed.get(key, key): value for key, value in fields.items()} if changed else fields

    def with_language_pair(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a record with ``lp`` in place of other language keys."""
        if names.LANGUAGE_KEYS.isdisjoint(fields):
            return fields
        stated = {
            names.canonical(key): self.optional_text(fields, key, key) for key in fields if key in names.LANGUAGE_KEYS
        }
        others = {key: value for key, value in fields.items() if key not in names.LANGUAGE_KEYS}
        made = pair_of(stated.get(names.SOURCE_LANGUAGE), stated.get(names.TARGET_LANGUAGE))
        pair = self.optional_text(others, "lp", "lp") or stated.get("lp") or made
        if contradict(pair, made):
            raise DataError(contradiction(pair, made), file=self.file, line=self.line)
        return {**others, "lp": pair or made}

    def with_translation(self, fields: Mapping[str, Any], pair: str | None) -> tuple[Mapping[str, Any], str]:
        """Return a record with the texts of two languages under ``translation`` as source and references, and a note.

        The language pair, or else `pair`, says which text is the source; otherwise the first is, which the note says.
        """
        texts = fields.get("translation")
        if not isinstance(texts, dict):
            return fields, ""
        others = {key: value for key, value in fields.items() if key != "translation"}
        codes = [language_code(key) for key in texts]
        known = [code for code in codes if code and is_language(code.partition("_")[0])]
        if len(codes) != 2 or None in codes or not known or codes[0] == codes[1]:
            expected = 'a text, or {"de": "...", "en": "..."} with the texts of two languages'
            advice = 'write "source", "references" and "lp", such as "de-en"'
            self.fail("translation", f"{expected} ({advice})", texts)
        if own := [key for key in (*_SOURCE, *_REFERENCES) if others.get(key) is not None]:
            what = f"keys 'translation' and {own[0]!r} both hold the source or a reference: keep one of them"
            raise DataError(what, file=self.file, line=self.line)
        source, target = texts
        named = self.optional_text(others, "lp", "lp")
        stated = pair if named in (None, "", "-") else named
        made, turned = f"{codes[0]}-{codes[1]}", f"{codes[1]}-{codes[0]}"
        if contradict(stated, made) and contradict(stated, turned):
            if stated == named:
                raise DataError(contradiction(stated, made), file=self.file, line=self.line)
            stated = None
        if contradict(stated, made):
            source, target, made = target, source, turned
        note = (
            f"translation: {source!r} is the source and {target!r} is the reference, in the order of the keys: if not"
        )
        return {
            **others,
            "source": self.text(texts[source], _inside("translation", source)),
            "references": None if texts[target] is None else self.texts(texts[target], _inside("translation", target)),
            "lp": completed(stated, made) if stated else made,
        }, "" if stated else f'{note}, give "lp" too'

    def mapping(self, value: object, path: str) -> Mapping[str, Any]:
        """Return `value`, or raise an error if it is not a JSON object."""
        if not isinstance(value, dict):
            self.fail(path, "a JSON object {...}", value)
        return value

    def text(self, value: object, path: str) -> str:
        """Return `value`, or raise an error if it is not a string that can be encoded in UTF-8."""
        if not isinstance(value, str):
            self.fail(path, "a string", value)
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            self.fail(path, "text that can be encoded in UTF-8", value)
        return value

    def optional_text(self, fields: Mapping[str, Any], key: str, path: str) -> str | None:
        """Return the string or whole number under `key` as text, or None if there is none.

        Programs that keep missing numbers as floats write 1 as 1.0.
        """
        value = fields.get(key)
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return None if value is None else self.text(value, path)

    def texts(self, value: object, path: str) -> list[str]:
        """Return a list of strings unchanged and a single string as a list; raise an error for other values."""
        if isinstance(value, str):
            return [self.text(value, path)]
        if not isinstance(value, list):
            self.fail(path, "a list of strings", value)
        return [self.text(item, f"{path}[{index}]") for index, item in enumerate(value)]

    def number(self, value: object, path: str) -> float:
        """Return `value` as a float, or raise an error if it is not a finite number."""
        if _is_number(value):
            try:
                number = float(cast(Any, value))
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        return self.fail(path, "a finite number", value)

    def ratings(self, value: object, path: str, known: tuple[str, ...] = ()) -> list[Rating]:
        """Read an object of ratings as (kind, judge, value); error messages suggest the `known` keys."""
        ratings: list[Rating] = []
        for kind, score in self.mapping(value, path).items():
            inside = _inside(path, self.name(kind, path))
            if known and not _is_number(score) and not isinstance(score, dict):
                if names.is_grade(score):
                    self.fail(inside, f"{names.DECIMAL} without quotes", score)
                what = f"a number as a rating, or one of the keys {_listed(known)}{nearest(kind[:40], known)}"
                self.fail(inside, what, score)
            if isinstance(score, dict):
                ratings += [
                    (kind, self.text(judge, inside), self.number(by_judge, _inside(inside, judge)))
                    for judge, by_judge in score.items()
                    if by_judge is not None
                ]
            elif score is not None:
                ratings.append((kind, None, self.number(score, inside)))
        return ratings

    def others(self, fields: Mapping[str, Any], known: tuple[str, ...], *, numbers: bool) -> Iterator[str]:
        """Yield the keys of `fields` that may be ratings or misspelt `known` keys.

        If `numbers` is true, all keys with numbers count as ratings, except `known` keys, and those with objects of
        numbers may be ratings.
        """
        for key, value in fields.items():
            is_rating = numbers and _is_number(value)
            if key in known or value is None or (key in names.NOT_READ and not is_rating):
                continue
            by_judge = numbers and _holds_numbers(value)
            if is_rating or not (names.may_hold_text(key) or (not by_judge and _is_metadata(key, value, known))):
                yield key
            elif self.keys.left_out.get(key) is None:
                is_grade = names.is_grade(value) and not names.may_hold_text(key)
                self.keys.left_out[key] = (self.line, value) if is_grade else None

    def refuse_others(self, fields: Mapping[str, Any], known: tuple[str, ...]) -> None:
        """Refuse a record of several candidates with a key that is neither known nor metadata."""
        for key in self.others(fields, known, numbers=False):
            hint = "; put ratings into their candidate" if _is_number(fields[key]) else nearest(key[:40], known)
            what = f"key {shown(key)} is unknown{hint}; expected {_listed(known)}, or metadata with a name such as id,"
            raise DataError(f"{what} domain, meta, comment: rename or remove the key", file=self.file, line=self.line)

    def new_ratings(self, candidate: Candidate, ratings: list[Rating]) -> list[Rating]:
        """Return `ratings`, refusing any that `candidate` already has."""
        judged = {(kind, judge) for kind, judge, _ in candidate.ratings} if ratings else set()
        for kind, judge, _ in ratings:
            if {(kind, judge), (kind, None)} & judged:
                what = (
                    f"{shown(kind)}: system {shown(candidate.system)} is judged twice; expected one judgement per judge"
                )
                raise DataError(what, file=self.file, line=self.line)
        return ratings

    def name(self, value: object, path: str) -> str:
        """Return `value`, or raise an error if it is not a non-empty string."""
        return self.text(value, path) or self.fail(path, "a name", value)

    def candidates(self, value: object, path: str) -> list[Candidate]:
        """Read the candidates of one source."""
        if isinstance(value, dict):
            return [
                Candidate(self.name(system, path), self.text(text, _inside(path, system)))
                for system, text in value.items()
            ]
        if not isinstance(value, list):
            self.fail(path, 'a list of {"system", "text"} or an object {system: text}', value)
        return [
            Candidate(f"candidate{index + 1}", self.text(item, f"{path}[{index}]"))
            if isinstance(item, str)
            else self.candidate(item, f"{path}[{index}]", index)
            for index, item in enumerate(value)
        ]

    def candidate(
        self, value: object, path: str, index: int, text_key: str = "text", *, row: bool = False
    ) -> Candidate:
        """Read one candidate; `row` is true if the same record also holds the source and perhaps a judge."""
        fields = self.mapping(value, path)
        if not row:
            text_key = self.spelling(fields, *_CANDIDATE, *names.ANSWERS, "content") or text_key
        if text_key not in fields:
            self.fail(path, f'key "{text_key}"', sorted(fields))
        system = self.optional_text(fields, "system", _inside(path, "system")) or f"candidate{index + 1}"
        is_reference = fields.get("is_reference", False)
        if not isinstance(is_reference, bool):
            self.fail(_inside(path, "is_reference"), "true or false", is_reference)
        human = fields.get("human")
        ratings = [] if human is None else self.ratings(human, _inside(path, "human"))
        known: tuple[str, ...] = (*_CANDIDATE_KEYS, text_key)
        if row:
            numbered = tuple(key for key in fields if names.canonical(key)[9:].isdecimal())
            known = (*_SOURCE_KEYS, *known, *CANDIDATES, *_CANDIDATE, "judge", *numbered)
        judge = self.optional_text(fields, "judge", "judge") if row else None
        errors: list[MarkedError] = []
        if has_errors(fields.get("errors")):
            errors, rated = self.marked_errors(fields, path, judge or "")
            ratings += rated
            known = (*known, *_MARKED, "raters")
        more = {key: fields[key] for key in self.others(fields, known, numbers=True)}
        twice = next((kind for kind, *_ in ratings if kind in more), None)
        if twice is not None:
            self.fail(_inside(path, twice), f"a rating here or in {_inside(path, 'human')}, not in both", more[twice])
        objects = {key: more.pop(key) for key in [*more] if _holds_numbers(more[key])}
        for key, numbers in objects.items():
            self.keys.objects.setdefault(key, set()).update(numbers)
        ratings += self.ratings(more, path, known)
        if judge is not None:
            ratings = [(kind, by or judge, score) for kind, by, score in ratings]
        text = self.text(fields[text_key], _inside(path, text_key))
        alignment = None
        if fields.get("alignment") is not None:
            alignment = self.text(fields["alignment"], _inside(path, "alignment"))
        by_judge = tuple((self.line, rating) for rating in self.ratings(objects, path))
        return Candidate(system, text, ratings, is_reference, alignment, errors, by_judge)

    def marked_errors(self, fields: Mapping[str, Any], path: str, rater: str) -> tuple[list[MarkedError], list[Rating]]:
        """Return a candidate's marked errors and its raters' ratings; `rater` marked the errors that name no rater."""
        errors, ratings = [], []
        for key in _MARKED:
            listed = fields.get(key)
            if listed is not None and not has_errors(listed):
                self.fail(_inside(path, key), "a list of errors {...}", listed)
            side = SIDES[key == "source_errors"]
            errors += [
                self.error(item, f"{_inside(path, key)}[{index}]", rater, side)
                for index, item in enumerate(listed or ())
            ]
        raters = fields.get("raters")
        if not isinstance(raters, list | None):
            self.fail(_inside(path, "raters"), "a list of names", raters)
        for index, item in enumerate(raters or ()):
            inside = f"{_inside(path, 'raters')}[{index}]"
            by = {**item} if isinstance(item, dict) else {"rater": item}
            name = self.optional_text({"rater": by.pop("rater", None)}, "rater", inside)
            if name is None:
                self.fail(inside, "the name of a rater", item)
            errors.append(MarkedError(NO_ERROR, rater=name))
            ratings += [(kind, name or None, score) for kind, _, score in self.ratings(by, inside)]
        if not errors and rater:
            errors.append(MarkedError(NO_ERROR, rater=rater))
        return errors, ratings

    def error(self, value: object, path: str, rater: str = "", side: str = SIDES[0]) -> MarkedError:
        """Read one marked error; its place is checked against the text when the data set is made."""
        fields = self.mapping(value, path)
        for key in sorted({key for key in fields if fields[key] is not None}.difference(MarkedError._fields)):
            if hint := nearest(key[:40], {*MarkedError._fields}.difference(fields), likeness=0.75):
                expected = ", ".join(MarkedError._fields)
                raise DataError(
                    f"{path}: key {shown(key)} is unknown{hint}; expected {expected}", file=self.file, line=self.line
                )
            self.keys.left_out[f"errors.{key}"] = None
        if fields.get("severity") is None:
            self.fail(_inside(path, "severity"), 'a severity, such as "major"', None)
        given = (fields.get(name) for name in ("start", "end"))
        # tables with missing numbers write whole ones as 3.0
        place = [int(one) if isinstance(one, float) and one.is_integer() else one for one in given]
        for name, number in zip(("start", "end"), place, strict=True):
            if number is not None and (type(number) is not int or not 0 <= number < 2**31):
                self.fail(_inside(path, name), "a whole number from 0, or null", number)
        named = {"severity": "", "category": "", "rater": rater, "side": side}
        for name in named:
            text = self.optional_text(fields, name, _inside(path, name))
            named[name] = named[name] if text is None else text.strip()
        if named["side"] not in SIDES:
            self.fail(_inside(path, "side"), " or ".join(SIDES), named["side"])
        return MarkedError(start=place[0], end=place[1], **{**named, "severity": named["severity"].lower()})


def _listed(keys: tuple[str, ...]) -> str:
    """Join `keys` for a message, naming only one of several synonyms."""
    return ", ".join(
        dict.fromkeys(names.canonical(key) for key in keys if key not in ("refs", "references", *CANDIDATES[2:]))
    )


def _is_metadata(key: str, value: object, known: tuple[str, ...]) -> bool:
    """True if a key can be ignored, because its value seems to be neither a rating nor a misspelt known key.

    With numbers, its name must be reserved, or they must be settings; with text, its name must suggest no judgement and
    resemble no key in `known`.
    """
    if isinstance(value, dict) and _holds_numbers(value):
        return names.are_settings(key, value)
    if _is_number(value):
        return names.is_reserved(key)
    return not names.is_unread_rating(key, value) and names.is_other(key, known)


def has_errors(value: object) -> bool:
    """True if a value is a list of marked errors; an empty list counts as one."""
    if not isinstance(value, list):
        return False
    return not value or any(isinstance(item, dict) and {"severity", "start", "end"} & {*item} for item in value)


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _holds_numbers(value: object) -> bool:
    """True if a value is an object of numbers, of which some may be missing."""
    numbers = [one for one in value.values() if one is not None] if isinstance(value, dict) else []
    return bool(numbers) and all(map(_is_number, numbers))


def _inside(path: str, key: str) -> str:
    """Return the path of `key` in the object at `path`, shortened to fit a message."""
    plain = key.isidentifier() and len(key) <= 30
    return f"{path}.{key}".lstrip(".") if plain else f"{path}[{shown(key)}]"


def _source_record(reader: RecordReader, fields: Mapping[str, Any], source: str | None) -> Record:
    """Make a record of one source without candidates."""
    key = reader.spelling(fields, "references", "refs", "ref", "reference")
    references = [] if key is None or fields[key] is None else reader.texts(fields[key], key)
    names = fields.get("reference_names")
    if names is not None:
        names = reader.texts(names, "reference_names")
        if len(names) != len(references):
            reader.fail("reference_names", f"{counted(len(references), 'name')}, one for each reference", names)
    alignments = fields.get("reference_alignments")
    if alignments is not None:
        alignments = reader.texts(alignments, "reference_alignments")
        if len(alignments) != len(references):
            expected = f"{counted(len(references), 'alignment')}, one for each reference"
            reader.fail("reference_alignments", expected, alignments)
    return Record(
        source="" if source is None else reader.text(fields[source], source),
        references=references,
        candidates=[],
        lp=language_pair(reader.optional_text(fields, "lp", "lp") or "") or None,
        doc=reader.optional_text(fields, "doc", "doc"),
        seg_id=reader.optional_text(fields, "seg_id", "seg_id"),
        reference_names=names,
        reference_alignments=alignments,
        line=reader.line,
    )
