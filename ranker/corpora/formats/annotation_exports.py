"""Exports of annotation tools, read as flat records like the rows of a table.

Label Studio (JSON): tasks ``{"data": {...}, "annotations": [{"completed_by": 1, "result": [...]}]}``. ``data`` has the
names of columns; of the results, ratings, numbers and choices that are numbers become ratings called by their
``from_name``, and a pairwise choice, or a choice where ``data`` has two texts, says which of them is preferred. Labels
of a part of the text, and choices about that part, become marked errors: a word such as ``major`` is the severity, the
other the category; choices called ``missing`` are an error without a place; other answers about a part are ignored. A
ranking of a list of items, ``{"id": "...", "title": SYSTEM, "body": TEXT}``, prefers each to those after it. JSON-MIN
and CSV have rows of columns, whose cells hold answers such as ``[{"rating": 4}]``; `without_bookkeeping` reads these,
and leaves out what the tool adds.

Pearmut (the file of downloaded annotations): ``{campaign: [{"user_id": "...", "item": [...], "annotation": [...]}]}``,
or its log, one of these entries per line. Scores become ratings called ``score``, sliders ratings of their names, and
error spans marked errors. An entry with the annotation ``__RESET__`` voids the earlier entries of its user and item, or
of all users if it names none. Items to welcome users, and tutorials and attention checks, which have rules for their
answers (``validation``), are not read.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ranker.corpora.column_names import TEXT_COLUMNS, canonical
from ranker.corpora.formats.error_spans import Place, note_lost_places, place_of_units, units_of
from ranker.corpora.formats.preference_tables import relation_of
from ranker.corpora.formats.tables import Columns
from ranker.corpora.marked_errors import SIDES
from ranker.corpora.records import number_in, shown
from ranker.corpora.severity_weights import WEIGHTS
from ranker.errors import DataError, counted, log_note
from ranker.storage.plain_data import typed

_NOT_JUDGED = ("welcome_", "random_", "goodbye_")
_RESET = "__RESET__"
_SIDES = {"left": "a", "right": "b"}
_VERDICTS = frozenset(("chosen", "preferred", "preference", "winner"))
_SEVERITIES = {name for name in WEIGHTS if name and ":" not in name}
_PEARMUT = frozenset((*TEXT_COLUMNS, "reference", "score", "errors"))
"""Keys of rows of Pearmut's exports that cannot be the names of sliders."""
_LABELS = ("labels", "hypertextlabels", "paragraphlabels", "htmllabels")
"""Keys of labels of parts of a text, which are the types of results; ``htmllabels`` is an earlier name."""
_BOOKKEEPING = ("id", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history")


class _Value(msgspec.Struct):
    start: Any = None
    end: Any = None
    globalOffsets: Any = None
    text: Any = None
    labels: list[str] = []
    hypertextlabels: list[str] = []
    paragraphlabels: list[str] = []
    htmllabels: list[str] = []
    taxonomy: list[list[str]] = []
    selected: str | None = None
    choices: list[str] = []
    rating: float | None = None
    number: float | None = None
    ranker: dict[str, list[str]] | None = None

    @property
    def score(self) -> float | None:
        return self.number if self.rating is None else self.rating

    @property
    def marks(self) -> list[str]:
        """Return the labels of a part of a text."""
        return [label for name in _LABELS for label in getattr(self, name)]


_ANSWERS = frozenset(("rating", "number", "selected", "choices", "ranker", *_LABELS))
_OF_ANSWERS = frozenset((*_Value.__struct_fields__, "startOffset", "endOffset", "original_width", "original_height"))


class _Result(msgspec.Struct):
    value: _Value
    from_name: str = ""
    to_name: Any = None
    id: Any = None


class _Annotation(msgspec.Struct):
    result: list[_Result]
    completed_by: Any = None
    was_cancelled: bool = False


class _Task(msgspec.Struct):
    """A task of Label Studio."""

    data: dict[str, Any]
    annotations: list[_Annotation]


class _Ranked(msgspec.Struct):
    """One item of a ranked list."""

    id: str
    title: str = ""
    body: str = ""


class _Item(msgspec.Struct):
    tgt: dict[str, str]
    src: str = ""
    ref: str | None = None
    item_id: Any = None
    validation: dict[str, Any] | list[Any] | None = None

    @property
    def is_check(self) -> bool:
        """True if the item has rules for its answers, as tutorials and attention checks have."""
        return any(self.validation.values() if isinstance(self.validation, dict) else self.validation or ())


class _Span(msgspec.Struct):
    start_i: Any = None
    end_i: Any = None
    severity: str | None = None
    category: str | None = None


class _Judgement(msgspec.Struct):
    score: float | None = None
    sliders: dict[str, float | None] | None = None
    error_spans: list[_Span] = []


class _Entry(msgspec.Struct):
    """Judgements of several items by one person, in Pearmut's format."""

    user_id: Any
    item: list[_Item]
    annotation: list[dict[str, _Judgement] | None]


def exported(values: Iterable[tuple[int, Any]], file: str) -> list[tuple[int, dict[str, Any]]]:
    """Return (line, row) pairs, one per judge of a candidate or comparison; an empty list for other JSON values."""
    answers: list[tuple[int, dict[str, Any], bool]] = []
    scored: dict[tuple[str, ...], tuple[int, dict[str, Any], bool]] = {}
    logs: dict[object, list[tuple[int, Any]]] = {}
    words: dict[str, str] = {}
    lost: list[int] = []
    void: list[int] = []
    checks: list[int] = []
    unread: set[str] = set()
    tool, first = "", 0
    for line, value in values:
        if not isinstance(value, dict):
            return []
        first = first or line
        if isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list):
            tool = "Label Studio"
        elif _is_entry(value) or _is_campaign(value):
            tool = "Pearmut"
        else:
            return []
        with _read_as(tool, file, line):
            if tool == "Label Studio":
                answers += [(line, *answer) for answer in _of_label_studio(value, words, unread, lost, line)]
            elif _is_entry(value):
                logs.setdefault("", []).append((line, value))
            else:
                logs |= {(line, name): [(line, entry) for entry in log] for name, log in value.items()}
    with _read_as("Pearmut", file, first):
        kept = [*itertools.chain.from_iterable(_without_resets(log, void) for log in logs.values())]
    for line, entry in kept:
        with _read_as("Pearmut", file, line):
            for key, row, is_answer in _of_pearmut(entry, checks, lost, line):
                # people may change their mind, and the last answer counts
                if is_answer or key not in scored:
                    scored[key] = line, row, is_answer
    for lines, what in ((void, "reset in Pearmut"), (checks, "of tutorials or attention checks")):
        if lines:
            log_note(f"left out {counted(len(lines), 'annotation')} {what} (the first on line {lines[0]})", file)
    note_lost_places(lost, file)
    if unread:
        what = f"ignored, because neither labels nor choices: answers about marked parts, {', '.join(sorted(unread))}"
        log_note(what, file)
    # in Pearmut, people who neither score nor mark found no errors, unless scores were asked for
    by_marks = not any(row["score"] is not None or {*row} - _PEARMUT for _, row, _ in scored.values())
    answers += [answer for answer in scored.values() if answer[2] or by_marks]
    marked = any(row.get("errors") for _, row, _ in answers)
    rows = [
        (line, {key: cell for key, cell in row.items() if marked or key != "errors"})
        for line, row, is_answer in answers
        if marked or is_answer
    ]
    if tool and not rows:
        found = "".join(f"; the answers of {name!r} are words such as {word!r}" for name, word in words.items())
        what = f"read as an export of {tool}: no answer is a rating, a number, a comparison or a ranking{found}"
        advice = "export finished annotations; for grades that are words, use numbers as the values of the choices"
        raise DataError(f"{what}: {advice}", file=file, line=first)
    return rows


@contextmanager
def _read_as(tool: str, file: str, line: int) -> Iterator[None]:
    """Raise a TypeError about a value as an error that names the tool and the line."""
    try:
        yield
    except TypeError as error:
        raise DataError(f"read as an export of {tool}: {error}", file=file, line=line) from None


def is_flat_export(header: Collection[str]) -> bool:
    """True if column names, or keys of a record, are those of Label Studio's JSON-MIN or CSV exports."""
    return {"annotation_id", "lead_time"} <= {*header}


def without_bookkeeping(table: Columns, texts: Collection[str]) -> Columns:
    """Drop the columns that Label Studio adds to a flat export, and read its annotators as judges and its answers.

    The columns `texts` hold texts or names of systems, not answers.
    """
    is_pair = "text" not in table.canonical
    columns: list[tuple[str, pa.ChunkedArray]] = []
    verdicts: dict[str, list[Any]] = {}
    choices: dict[str, list[Any]] = {}
    words: dict[str, set[str]] = {}
    marked: list[str] = []
    systems = {
        cell
        for name, values in zip(table.header, table.values, strict=True)
        if name in texts and re.match("system|model", name, re.IGNORECASE) and not pa.types.is_nested(values.type)
        for cell in values.unique().to_pylist()
    }
    has_sides = any(name in table.kinds for name in texts) and not _VERDICTS & {*map(str.lower, table.header)}
    for name, values in zip(table.header, table.values, strict=True):
        if name in _BOOKKEEPING:
            continue
        cells = [*values.to_pylist()] if name not in texts and _may_hold_answers(values) else []
        answers = [_answers_in(cell) for cell in cells]
        every = [answer for several in answers for answer in several or ()]
        if any(answer.marks or answer.start is not None for answer in every):
            marked.append(name)
        elif every:
            listed = [word for answer in every for word in answer.choices]
            listed += [cell for cell, several in zip(cells, answers, strict=True) if several is None and cell]
            compares = any(answer.selected is not None for answer in every)
            compares |= is_pair and any(_is_verdict(word, systems) for word in listed)
            said = [
                cell if several is None else _said(several, name, compares, table.file, line)
                for cell, several, line in zip(cells, answers, table.lines.tolist(), strict=True)
            ]
            if compares:
                verdicts[name] = said
            else:
                columns.append((name, _answer_column(said)))
                if is_pair and listed:
                    choices[name] = said
        elif is_pair and name == "preferred":
            verdicts[name] = values.to_pylist()
        else:
            if is_pair and (spoken := _verdicts_in(values)):
                words[name] = spoken
            columns.append(("judge" if name == "annotator" else name, values))
    # beside answers, a question of its own may say that two texts are equal
    of_ties = [name for name, spoken in words.items() if spoken.isdisjoint(_SIDES)]
    read = of_ties if verdicts else [*words] if len(words) == 1 else []
    for name in read:
        verdicts[name] = next(values for column, values in columns if column == name).to_pylist()
        log_note(f"column {shown(name)} is read as the text that is preferred; if not, rename it", table.file)
    columns = [(name, values) for name, values in columns if name not in read]
    for name, said in (verdicts or (choices if has_sides else {})).items():
        for line, word in zip(table.lines.tolist(), said, strict=True):
            if word not in (None, "") and name != "preferred" and not _is_verdict(word, systems):
                what = f"column {shown(name)}: expected left, right, or a word such as tie, found {shown(word)}"
                raise DataError(f"read as an export of Label Studio: {what}", file=table.file, line=line)
    if marked:
        what = f"{', '.join(map(shown, marked))}: labels of parts of a text are read from the full JSON alone"
        log_note(f"{what}, so the data has no marked errors; for these, export JSON", table.file)
    lines = table.lines
    if verdicts:
        preferred = pa.chunked_array([pa.array(_one_verdict(verdicts, table), pa.large_string())])
        columns.append(("preferred", preferred))
        if is_pair:
            # as in full exports, annotations without an answer are no comparisons
            answered = preferred.is_valid()
            if number := pc.sum(preferred.is_null()).as_py():
                first = lines[pc.index(answered, False).as_py()]
                what = f"left out {counted(number, 'row')} without an answer that compares texts"
                log_note(f"{what} (first: {table.unit} {first})", table.file)
            lines = lines[answered.to_numpy()]
            columns = [(name, values.filter(answered)) for name, values in columns]
    return replace(table, header=[name for name, _ in columns], values=[values for _, values in columns], lines=lines)


def _is_verdict(word: object, systems: Collection[object]) -> bool:
    """True if an answer says which of two texts is preferred, or names one of the `systems`."""
    plain = str(word).strip()
    return plain in systems or plain.lower() in _SIDES or relation_of(plain.lower()) is not None


def _may_hold_answers(values: pa.ChunkedArray) -> bool:
    """True if cells of a column are objects or lists, or text that begins like them in JSON."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return pc.any(pc.match_substring_regex(values, r"^\s*[\[{]")).as_py() is True
    return pa.types.is_nested(values.type) is True


def _answers_in(cell: object) -> list[_Value] | None:
    """Return the answers in a cell of a flat export, which may be JSON; None if the cell holds anything else."""
    try:
        value = json.loads(cell) if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{") else cell
        if isinstance(value, dict) and {*_filled(value)} == {"choices"}:
            value = [value]
        if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
            return None
        answers = [*map(_filled, value)]
        if not all(_ANSWERS & {*one} and {*one} <= _OF_ANSWERS for one in answers):
            return None
        return [typed(one, _Value) for one in answers]
    except (ValueError, TypeError, RecursionError):
        return None


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the keys with values, because a column of objects has every key in each of its cells."""
    return {key: value for key, value in fields.items() if value is not None}


def _said(answers: Sequence[_Value], name: str, compares: bool, file: str, line: int) -> float | str | None:
    """Return the number, the verdict or the words of the answer in a cell; refuse several answers."""
    answer, *others = answers
    numbers = any(math.isfinite(number_in(choice)) for choice in answer.choices)
    if answer.ranker is not None:
        what = "rankings are read from the full JSON alone: export JSON instead of JSON-MIN or CSV"
        raise DataError(f"read as an export of Label Studio: column {shown(name)}: {what}", file=file, line=line)
    if others or (len(answer.choices) > 1 and (compares or numbers)):
        what = f"found several answers called {shown(name)}, expected one answer by each annotator"
        raise DataError(f"read as an export of Label Studio: {what}", file=file, line=line)
    if answer.selected is not None:
        return _SIDES.get(answer.selected, answer.selected)
    return ", ".join(answer.choices) or None if answer.score is None else answer.score


def _answer_column(said: Sequence[object]) -> pa.ChunkedArray:
    """Make a column of numbers or, if any answer is text, of texts."""
    if any(isinstance(one, str) for one in said):
        return pa.chunked_array([pa.array([None if one is None else str(one) for one in said], pa.large_string())])
    return pa.chunked_array([pa.array(said, pa.float64())])


def _verdicts_in(values: pa.ChunkedArray) -> set[str]:
    """Return the words of a column if all are ``left``, ``right``, or say that two outputs are equal; else none."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return set()
    words = {word.strip().lower() for word in values.unique().to_pylist() if word} - {""}
    return words if all(word in _SIDES or relation_of(word) == "=" for word in words) else set()


def _one_verdict(verdicts: dict[str, list[Any]], table: Columns) -> list[str | None]:
    """Return each row's verdict from the columns that hold verdicts; refuse two in one row."""
    merged: list[str | None] = []
    for line, row in zip(table.lines.tolist(), zip(*verdicts.values(), strict=True), strict=True):
        said = {name: word for name, word in zip(verdicts, row, strict=True) if word not in (None, "")}
        if len(said) > 1:
            first, second = [*said][:2]
            what = f"columns {shown(first)} and {shown(second)} both say which text is preferred: remove one of them"
            raise DataError(f"read as an export of Label Studio: {what}", file=table.file, line=line)
        merged.append(next(iter(said.values()), None))
    return merged


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and "user_id" in value and ("item" in value or value.get("annotation") == _RESET)


def _is_campaign(value: dict[str, Any]) -> bool:
    logs = [log for log in value.values() if log]
    return bool(logs) and all(isinstance(log, list) and _is_entry(log[0]) for log in logs)


def _without_resets(log: Sequence[tuple[int, Any]], void: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the judgements in a log of Pearmut that no reset follows; lines of the others are added to `void`."""
    entries = []
    for line, entry in log:
        if not isinstance(entry, dict):
            raise TypeError(f"expected an object for each annotation, found {shown(entry)}")
        if "annotation" in entry:
            entries.append((line, entry, repr(entry.get("user_id")), str(entry.get("item_i"))))
    resets = {(*key,): at for at, (_, entry, *key) in enumerate(entries) if entry["annotation"] == _RESET}
    for at, (line, entry, user, item) in enumerate(entries):
        if item.startswith(_NOT_JUDGED):
            continue
        if at > max(resets.get((by, item), -1) for by in (user, repr(None))):
            yield line, entry
        elif entry["annotation"] != _RESET:
            void.append(line)


def _of_label_studio(
    value: dict[str, Any], words: dict[str, str], unread: set[str], lost: list[int], line: int
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the rows of a task of Label Studio, each with True if it holds answers other than marked errors.

    Choices without a meaning are added to `words`, names of other answers about a part of the text to `unread`, and
    `line` to `lost` if the place of a mark is not in the text.
    """
    task = typed(value, _Task)
    texts = {canonical(key): text for key, text in task.data.items()}
    is_pair = "text" not in texts
    for annotation in task.annotations:
        if annotation.was_cancelled:
            continue
        by = annotation.completed_by
        row = {**task.data, "judge": by.get("email", by.get("id")) if isinstance(by, dict) else by}
        marks: dict[Any, dict[str, Any]] = {}
        displaced: set[Any] = set()
        answered = compared = False
        for number, result in enumerate(annotation.result):
            answer = result.value
            score = answer.score
            name = "preferred" if is_pair and answer.choices else result.from_name
            if answer.marks or answer.start is not None or result.from_name == "missing":
                key = number if result.id is None else result.id
                mark = marks.setdefault(key, {"severity": "", "category": ""})
                if score is not None or isinstance(answer.text, list):
                    unread.add(shown(result.from_name))
                for word in (*answer.marks, *answer.choices):
                    is_severity = result.from_name == "severity" or word.strip().lower() in _SEVERITIES
                    mark["severity" if is_severity else "category"] = word
                if answer.taxonomy and mark["category"]:
                    unread.add(shown(result.from_name))
                elif answer.taxonomy:
                    mark["category"] = ", ".join(map("/".join, answer.taxonomy))
                side = SIDES[1] if canonical(str(result.to_name)) == "source" else SIDES[0]
                start, end = _place(texts.get("source" if side == SIDES[1] else "text"), answer)
                # only results that quote the text show in which units they count
                if mark.get("start") is None or (start is not None and isinstance(answer.text, str)):
                    mark |= {"side": side, "start": start, "end": end}
                if mark["start"] is not None:
                    displaced.discard(key)
                elif answer.start is not None:
                    displaced.add(key)
            elif answer.ranker is not None:
                for ranked in _ranked(task.data, answer.ranker, row):
                    yield ranked, True
            elif answer.selected is not None:
                if compared:
                    raise TypeError(_several(result.from_name))
                row["preferred"], answered, compared = _SIDES.get(answer.selected, answer.selected), True, True
            elif score is not None or name == "preferred" or any(map(math.isfinite, map(number_in, answer.choices))):
                if name in row or len(answer.choices) > 1:
                    raise TypeError(_several(name))
                word = answer.choices[0] if answer.choices else ""
                row[name] = word if name == "preferred" else number_in(word) if score is None else score
                answered, compared = True, compared or name == "preferred"
            elif answer.choices:
                words.setdefault(result.from_name, answer.choices[0])
        lost += [line] * len(displaced)
        if not is_pair:
            row["errors"] = [*marks.values()]
        if answered or not is_pair:
            yield row, answered


def _several(name: str) -> str:
    return f"found several answers or data called {shown(name)}, expected one answer by each annotator"


def _place(text: object, answer: _Value) -> Place:
    """Return the place of a labelled span in characters, even if Label Studio counted it in UTF-16 units.

    In HTML, it counts the characters that are shown, so that a span has no place unless these are the text.
    """
    in_html = answer.globalOffsets if isinstance(answer.globalOffsets, dict) else {}
    start, end = in_html.get("start", answer.start), in_html.get("end", answer.end)
    if not isinstance(text, str) or type(start) is not int or type(end) is not int:
        return None, None
    in_units = place_of_units(text, start, end - 1)
    beyond = not 0 <= start <= end <= len(text)
    if beyond or (isinstance(answer.text, str) and text[start:end] != answer.text == text[slice(*in_units)]):
        start, end = in_units
    differs = text[start:end] != answer.text if isinstance(answer.text, str) else re.search("[<&]", text)
    return (None, None) if in_html and differs else (start, end)


def _ranked(data: dict[str, Any], ranker: dict[str, list[str]], row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one comparison for every two items of a ranking."""
    if len(ranker) != 1:
        raise TypeError("found items sorted into several lists, expected a single ranking")
    (order,) = ranker.values()
    lists = [typed(value, list[_Ranked]) for value in data.values() if isinstance(value, list)]
    items = next(({item.id: item for item in one} for one in lists if {*order} <= {item.id for item in one}), None)
    if items is None:
        raise TypeError("found a ranking of items that are not in the data of the task: export the task again")
    others = {key: value for key, value in row.items() if not isinstance(value, list)}
    for better, worse in itertools.combinations([items[name] for name in order], 2):
        sides = {"chosen": better.body, "rejected": worse.body, "chosen_system": better.title or better.id}
        yield {**others, **sides, "rejected_system": worse.title or worse.id}


def _of_pearmut(
    raw: dict[str, Any], checks: list[int], lost: list[int], line: int
) -> Iterator[tuple[tuple[str, ...], dict[str, Any], bool]]:
    """Yield each answer of an entry of Pearmut: the key of its item, its row, and True if it has a score or a mark.

    `line` is added to `checks` for an attention check, and to `lost` if the place of a mark is not in the text.
    """
    entry = typed(raw, _Entry)
    for item, annotation in zip(entry.item, entry.annotation, strict=False):
        if item.is_check:
            checks.append(line)
            continue
        for system, judged in (annotation or {}).items():
            sliders = {name: value for name, value in (judged.sliders or {}).items() if value is not None}
            is_answer = judged.score is not None or bool(sliders or judged.error_spans)
            if not is_answer and system not in item.tgt:
                continue
            if system not in item.tgt:
                raise TypeError(f"found a score of system {system!r} without its translation: export the task again")
            text = item.tgt[system]
            row = {"source": item.src, "reference": item.ref, "seg_id": item.item_id}
            row |= {"system": system, "text": text, "judge": entry.user_id}
            marks = []
            for span in judged.error_spans:
                start, end = place_of_units(text, span.start_i, span.end_i, line_breaks=False)
                after = len(units_of(text, line_breaks=False))
                if start is None and any(unit not in (None, after) for unit in (span.start_i, span.end_i)):
                    lost.append(line)
                place = {"start": start, "end": end}
                marks.append({**place, "severity": span.severity or "", "category": span.category or ""})
            score = sliders.pop("score", None) if judged.score is None else judged.score
            if taken := [name for name in sliders if canonical(name).lower() in _PEARMUT]:
                raise TypeError(f"slider {shown(taken[0])} has the name of another value: rename it in the file")
            yield tuple(map(str, row.values())), {**row, "score": score, "errors": marks, **sliders}, is_answer
