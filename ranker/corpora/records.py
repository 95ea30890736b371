"""Assembly of records and columns into the tables of data sets.

Readers of tables make columns and call `build_dataset`; readers of nested formats make a `Record` for each source and
call `assemble`. All formats share one set of checks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import language_pair, unclear, unknown_language
from ranker.corpora.marked_errors import MarkedError, checked_errors, error_columns
from ranker.corpora.near_sources import near_sources_note
from ranker.corpora.own_references import mark_references
from ranker.corpora.schema import ALIGNMENT, LONGEST_NAMES, TEXT, empty_table, typed_columns
from ranker.errors import DataError, counted, log_note
from ranker.files import printable

LARGEST = 1e15
"""Largest absolute value of a judgement, or of another program's score, that is read."""
_INVISIBLE = r"[\p{Cf}\x{34f}\x{115f}\x{1160}\x{3164}\x{fe00}-\x{fe0f}]"


def shown(value: object) -> str:
    """Format a value from a file for a message, on one line, with quotes around text and long values shortened."""
    if isinstance(value, str):
        return repr(value if len(value) <= 30 else f"{value[:27]}...")
    try:
        text = printable(json.dumps(value, ensure_ascii=False, default=str))
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= 40 else f"{text[:37]}..."


def joined_texts(value: Any) -> str | None:
    """Return the text of a string, a list of texts (joined as lines) or the last of a list of messages, else None."""
    if isinstance(value, list) and value and isinstance(value[-1], dict) and "content" in value[-1]:
        value = value[-1]["content"]
    if isinstance(value, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in value]
        return "\n".join(text for text in texts if isinstance(text, str))
    return value if isinstance(value, str) else None


def asked_in(messages: Any) -> str:
    """Return the texts of the user's messages among `messages`, one per line."""
    of_users = [one for one in messages or [] if isinstance(one, dict) and one.get("role") == "user"]
    return "\n".join(joined_texts([message]) or "" for message in of_users)


def number_in(text: str) -> float:
    """Parse a number; NaN for other texts, including Python's 1_000."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def contradiction(lp: str | None, other: str | None) -> str:
    """Return a message about a language pair that contradicts other columns or keys."""
    return f"lp {shown(lp)} contradicts the other columns or keys for languages, {shown(other)}: correct or remove one"


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first of `names` that occurs twice, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def is_one_system(outputs: npt.ArrayLike) -> bool:
    """True if the counts of unnamed outputs by source suggest a single system: most, but not all, counts are 1."""
    sizes = np.asarray(outputs)
    return bool((sizes > 1).any()) and 2 * int((sizes == 1).sum()) > len(sizes)


def one_system_note(sources: int, unit: str, first: int, second: int) -> str:
    """Return a note that rows were read as the output of one system."""
    return (
        f"no column 'system', and only {counted(sources, 'source')} with several rows (first: {unit}s {first} and "
        f"{second}): read as the output of one system; if they are candidates of one source, give them the same seg_id"
    )


Rating = tuple[str, str | None, float]
"""A kind, a judge or None, and a value."""


@dataclass
class Candidate:
    """One output: its ratings, its alignment to the source, its marked errors.

    `objects` has the numbers of JSON objects, which are ratings by judge or settings, with their lines.
    """

    system: str
    text: str
    ratings: list[Rating] = field(default_factory=list)
    is_reference: bool = False
    alignment: str | None = None
    errors: list[MarkedError] = field(default_factory=list)
    objects: tuple[tuple[int, Rating], ...] = ()


@dataclass
class Record:
    """One source with its references and candidates, and the line it came from."""

    source: str
    references: list[str]
    candidates: list[Candidate]
    lp: str | None = None
    doc: str | None = None
    seg_id: str | None = None
    reference_names: list[str] | None = None
    reference_alignments: list[str] | None = None
    line: int | None = None


def assemble(
    records: Iterable[Record], name: str, file: str | None = None, unit: str = "line", *, first: int = 1
) -> Dataset:
    """Make a `Dataset` from `records`, in the given order, with `build_dataset`."""
    record_list = list(records)
    outputs = [(code, candidate) for code, record in enumerate(record_list) for candidate in record.candidates]
    ratings = [(row, *rating) for row, (_, candidate) in enumerate(outputs) for rating in candidate.ratings]
    rated, kinds, judges, values = zip(*ratings, strict=True) if ratings else ((), (), (), ())
    sources = {column: [getattr(record, column) for record in record_list] for column in ("lp", "doc", "seg_id")}
    references: dict[str, list[Any]] = {
        "source": [code for code, record in enumerate(record_list) for _ in record.references],
        "name": [
            reference_name for record in record_list for reference_name in record.reference_names or _missing(record)
        ],
        "text": [text for record in record_list for text in record.references],
        ALIGNMENT: [
            reference_alignment
            for record in record_list
            for reference_alignment in record.reference_alignments or _missing(record)
        ],
    }
    candidates: dict[str, list[Any]] = {
        "source": [code for code, _ in outputs],
        **{
            column: [getattr(candidate, column) for _, candidate in outputs]
            for column in ("system", "text", "is_reference", ALIGNMENT)
        },
    }
    return build_dataset(
        name,
        {**sources, "text": [record.source for record in record_list]},
        references,
        candidates,
        {"candidate": rated, "judge": judges, "kind": kinds, "value": values},
        [(row, mark) for row, (_, candidate) in enumerate(outputs) for mark in candidate.errors],
        file=file,
        lines=[record.line for record in record_list],
        unit=unit,
        first=first,
    )


def _missing(record: Record) -> Sequence[str | None]:
    return [None] * len(record.references)


def build_dataset(
    name: str,
    sources: Mapping[str, Sized],
    references: Mapping[str, Sized],
    candidates: Mapping[str, Sized],
    ratings: Mapping[str, Sized],
    errors: Sequence[tuple[int, MarkedError]] = (),
    *,
    file: str | None = None,
    lines: Sequence[int | None] = (),
    candidate_lines: Sequence[int | None] = (),
    unit: str = "line",
    first: int = 1,
) -> Dataset:
    """Make a `Dataset` from columns, numbering sources without ``seg_id``.

    `lines` are the lines of sources in the file, and `candidate_lines` those of candidates, if they have their own.

    An empty ``lp``, ``doc`` or judge counts as unknown, like the ``lp`` that pairs files write as ``-``, and -0 as 0,
    because not every format can tell these apart. Language pairs are written as ``en-zh``. A system that is a
    reference throughout is marked as one (`ranker.corpora.own_references.mark_references`).
    """
    columns = {
        "sources": sources,
        "references": references,
        "candidates": candidates,
        "ratings": ratings,
        "errors": error_columns(errors),
    }
    arrays = {kind: typed_columns(kind, given) for kind, given in columns.items()}
    places = _Lines(arrays, lines, candidate_lines)
    _check_characters(arrays, file or name, places)
    keys, judged = arrays["sources"], arrays["ratings"]
    size = len(keys["text"])
    if not size:
        raise DataError("contains no source, expected at least one", file=file or name)
    keys["lp"] = pd.array(pairs_in_one_form(_text(keys["lp"])), dtype=TEXT)
    _note_pairs(_text(keys["lp"]), file or name, places, unit)
    keys["doc"] = _unless(keys["doc"], "")
    given = _unless(keys["seg_id"], "")
    keys["seg_id"] = _numbered(given, first)
    _check_keys(arrays, _text(given).is_null(), file, places, unit)
    _check_alike(arrays, file or name, places)
    of_candidate = np.asarray(arrays["candidates"]["source"])
    _check_sizes(judged, file or name, places)
    texts = {"target": _text(arrays["candidates"]["text"]), "source": _text(keys["text"])}
    marked, problem = checked_errors(arrays["errors"], texts, of_candidate)
    if problem is not None:
        raise DataError(problem[1], file=file or name, line=places.of("candidates", problem[0]))
    judged["judge"] = _unless(judged["judge"], "")
    judged["value"] += 0.0
    arrays["candidates"]["is_reference"] = mark_references(arrays["candidates"], arrays["references"], size)
    _add_alignments(arrays["references"], references)
    _add_alignments(arrays["candidates"], candidates)
    dataset = Dataset(
        name,
        _frame(keys),
        _frame(arrays["references"]),
        _frame(arrays["candidates"]),
        _frame(_in_order(judged)) if len(judged["value"]) else empty_table("ratings"),
        empty_table("preferences"),
        marked,
        None if file is None or unit != "line" else _places(file, lines, size),
    )
    note = near_sources_note(dataset, lines, unit)
    if note:
        log_note(note, file or name)
    return dataset


class _Lines:
    """Lines of the rows of all tables in the file, for messages."""

    def __init__(
        self,
        arrays: Mapping[str, Mapping[str, Any]],
        sources: Sequence[int | None],
        candidates: Sequence[int | None],
    ) -> None:
        self.arrays, self.sources, self.candidates = arrays, sources, candidates

    def of(self, kind: str, row: int) -> int | None:
        """Return the line of a row of the table `kind`, None if unknown."""
        if kind in ("ratings", "errors"):
            return self.of("candidates", int(self.arrays[kind]["candidate"][row]))
        if kind == "candidates" and self.candidates:
            return self.candidates[row]
        source = row if kind == "sources" else int(self.arrays[kind]["source"][row])
        return self.sources[source] if self.sources else None


def _frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(columns, copy=False)


def _text(values: Any) -> pa.ChunkedArray:
    """Return a text column as an Arrow array."""
    return pa.chunked_array(values.__arrow_array__())


def distinct_values(column: pa.ChunkedArray, null_encoding: Literal["mask", "encode"] = "mask") -> pa.DictionaryArray:
    """Dictionary-encode a column without copying all its texts."""
    # older versions of Arrow combine no chunks of a dictionary where there are none
    if not len(column):
        return column.combine_chunks().dictionary_encode(null_encoding)
    return column.dictionary_encode(null_encoding).combine_chunks()


def _unless(values: Any, *unknown: str) -> Any:
    """Replace the values `unknown` by null in a text column."""
    text = _text(values)
    replaced = pc.is_in(text, pa.array(unknown, text.type))
    return pd.array(pc.if_else(replaced, None, text), dtype=TEXT) if pc.any(replaced).as_py() else values


def pairs_in_one_form(pairs: pa.ChunkedArray) -> pa.ChunkedArray:
    """Normalise a column of language pairs with `language_pair`; an empty pair and ``-`` are unknown."""
    encoded = distinct_values(pairs)
    written = encoded.dictionary.to_pylist()
    known = [None if pair in ("", "-") else language_pair(pair) for pair in written]
    return pairs if known == written else pa.chunked_array([pa.array(known, pa.large_string()).take(encoded.indices)])


def _note_pairs(pairs: pa.ChunkedArray, file: str, places: _Lines, unit: str) -> None:
    """Note language pairs that could be several, and names of unknown languages."""
    encoded = distinct_values(pairs)
    for code, pair in enumerate(encoded.dictionary.to_pylist()):
        if pair is None:
            continue
        if unclear(pair):
            what = "is not clearly a pair of languages, so its languages count as unknown"
            advice = "write it as en-de or, with regions, as en_US-zh_CN"
        elif name := unknown_language(pair):
            what, advice = f"names an unknown language, {name!r}", "write its code, such as de or deu"
        else:
            continue
        line = places.of("sources", pc.index(encoded.indices, code).as_py())
        where = "" if line is None else f"{unit} {line}: "
        log_note(f"{where}lp {pair!r} {what}: {advice}", file)


def _numbered(values: Any, first: int) -> Any:
    """Replace missing values in a text column by their row numbers, counted from `first`."""
    text = _text(values)
    if not text.null_count:
        return values
    numbers = pc.cast(pa.array(np.arange(first, first + len(text))), text.type)
    return pd.array(pc.coalesce(text, numbers), dtype=TEXT)


def _places(file: str, lines: Sequence[int | None], size: int) -> pd.DataFrame:
    known = pd.array(list(lines) if lines else [None] * size, dtype="Int64")
    return pd.DataFrame({"file": pd.Categorical([file] * size), "line": known})


def side_by_side(texts: Sequence[Sequence[str]], size: int, **properties: Sequence[object]) -> dict[str, Any]:
    """Return table columns with the texts of parallel lists, source by source, and with each list's `properties`."""
    return {
        "source": np.repeat(np.arange(size), len(texts)),
        "text": [text for row in zip(*texts, strict=True) for text in row],
        **{column: [*values] * size for column, values in properties.items()},
    }


def _check_characters(arrays: Mapping[str, Mapping[str, Any]], file: str, lines: _Lines) -> None:
    """Refuse overlong names, and texts with the character NUL, which programs take for the end of a text."""
    for kind, columns in arrays.items():
        for column, values in columns.items():
            if values.dtype != TEXT:
                continue
            text = _text(values)
            if text.null_count == len(text):
                continue
            nul = "contains the character NUL (\\u0000): remove it"
            _refuse(pc.match_substring(text, "\0"), kind, f"{column} {nul}", file, lines)
            if most := LONGEST_NAMES.get(column):
                what = f"{column} has more than {most:,} characters: shorten it"
                _refuse(pc.greater(pc.utf8_length(text), most), kind, what, file, lines)


def _refuse(wrong: Any, kind: str, what: str, file: str, lines: _Lines) -> None:
    """Raise an error if the mask `wrong` is true for any row of the table `kind`, naming the line of the first."""
    place = pc.index(wrong, True).as_py()
    if place >= 0:
        raise DataError(what, file=file, line=lines.of(kind, place))


def _check_keys(
    arrays: Mapping[str, Mapping[str, Any]],
    numbered: pa.ChunkedArray,
    file: str | None,
    lines: _Lines,
    unit: str,
) -> None:
    """Refuse a repeated (lp, seg_id), a system repeated for one source, and a system without a name.

    The mask `numbered` is true for sources whose seg_id is their number.
    """
    sources, candidates = arrays["sources"], arrays["candidates"]
    lps, numbers, systems = _text(sources["lp"]), _text(sources["seg_id"]), _text(candidates["system"])
    repeated = _first_repeated_row(_codes(lps), numbers)
    if repeated is not None:
        row, before = repeated
        first = lines.of("sources", before)
        where = f" (first on {unit} {first})" if first is not None else ""
        lp = lps[row].as_py()
        pair = "" if lp is None else f" of language pair {shown(lp)}"
        what = f"seg_id {shown(numbers[row].as_py())}{pair} is duplicated{where}"
        invented = numbered[row].as_py() or numbered[before].as_py()
        some = "one of the two has none and was numbered: give all or none"
        advice = some if invented else "each source needs a unique one"
        raise DataError(f"{what}; {advice}", file=file, line=lines.of("sources", row))
    unnamed = pc.index(pc.fill_null(pc.equal(systems, ""), True), True).as_py()
    if unnamed >= 0:
        raise DataError("system: expected a name, found ''", file=file, line=lines.of("candidates", unnamed))
    twice = _first_repeated_row(candidates["source"], systems)
    if twice is not None:
        raise duplicate_system_error(systems[twice[0]].as_py(), file, lines.of("candidates", twice[0]))


def _check_sizes(ratings: Mapping[str, Any], file: str, lines: _Lines) -> None:
    """Refuse ratings that are too large to be summed or squared."""
    values = np.asarray(ratings["value"], dtype=np.float64)
    for at in np.flatnonzero(np.abs(values) > LARGEST)[:1].tolist():
        what = f"{shown(ratings['kind'][at])} is {values[at]:g}: expected a number of at most {LARGEST:g} in magnitude"
        raise DataError(what, file=file, line=lines.of("ratings", at))


def _check_alike(arrays: Mapping[str, Mapping[str, Any]], file: str, lines: _Lines) -> None:
    """Refuse names that differ only in white space, and ids in a language pair that differ only in number format."""
    for kind, column in (
        ("candidates", "system"),
        ("ratings", "judge"),
        ("errors", "rater"),
        ("sources", "doc"),
        ("sources", "seg_id"),
    ):
        text = _text(arrays[kind][column]).cast(pa.large_string())
        if column == "seg_id":
            pairs = pc.fill_null(_text(arrays["sources"]["lp"]).cast(pa.large_string()), "")
            text = pc.binary_join_element_wise(pairs, text, pa.scalar("\0", pa.large_string()))
        # tables have an empty judge where none is known
        distinct = text.unique().drop_null()
        distinct = distinct.filter(pc.not_equal(distinct, ""))
        if len(distinct) < 2:
            continue
        form = pc.replace_substring_regex(distinct, _INVISIBLE, "")
        form = pc.utf8_normalize(form, "NFKC" if column == "seg_id" else "NFC")
        form = pc.utf8_trim_whitespace(pc.replace_substring_regex(form, r"[ \t\p{Z}]+", " "))
        if column == "seg_id":
            form = pc.replace_substring_regex(form, r"(\x00 ?|[:#/_ -])0+([0-9])", r"\1\2")
            form = pc.replace_substring_regex(form, r"(\x00) *([0-9]+)(\.0*)?$", r"\1\2")
        for at in np.flatnonzero(form.to_pandas().duplicated())[:1].tolist():
            first = pc.index(form, form[at]).as_py()
            row = pc.index(text, distinct[at]).as_py()
            names = " and ".join(shown(distinct[one].as_py().rpartition("\0")[2]) for one in (first, at))
            what = f"{column}s {names} look the same: write both alike, or rename one"
            raise DataError(what, file=file, line=lines.of(kind, row))


def _codes(text: pa.ChunkedArray) -> Int64Array:
    """Return an integer for each value, the same for equal values."""
    return np.asarray(distinct_values(text, "encode").indices, dtype=np.int64)


def _first_repeated_row(group: Int64Array, names: pa.ChunkedArray) -> tuple[int, int] | None:
    """Return the first row whose name occurred earlier in its group, and the earlier row, or None."""
    codes = _codes(names)
    keys = group * (codes.max(initial=0) + 1) + codes
    if len(pd.unique(keys)) == len(keys):
        return None
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    row = int(np.argmax(first[inverse] != np.arange(len(keys))))
    return row, int(first[inverse[row]])


def _add_alignments(arrays: dict[str, Any], columns: Mapping[str, Sized]) -> None:
    """Add word alignments to references or candidates, if there are any."""
    texts: Any = columns.get(ALIGNMENT, ())
    alignments = pd.array(texts, dtype=TEXT)
    if not alignments.isna().all():
        arrays[ALIGNMENT] = alignments


def _in_order(ratings: Mapping[str, Any]) -> dict[str, Any]:
    """Sort ratings, so that formats that order them differently give equal data sets."""
    kind, judge = (pd.factorize(ratings[column], sort=True)[0] for column in ("kind", "judge"))
    order = np.lexsort((judge, kind, ratings["candidate"]))
    return {column: values.take(order) for column, values in ratings.items()}


def duplicate_system_error(system: str, file: str | None, line: int | None, hint: str = "") -> DataError:
    """Return the error about two outputs of one system for one source."""
    what = f"system {shown(system)} is listed twice for one source; rename or remove one of them{hint}"
    return DataError(what, file=file, line=line)


def repeated_header_error(file: str, line: int) -> DataError:
    """Return the error about a row or record that has the names of the columns or keys."""
    return DataError("the names of the columns are repeated here: remove this line", file=file, line=line)
