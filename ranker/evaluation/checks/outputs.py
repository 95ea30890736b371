"""Checks single outputs against their sources: wrong language, preambles, lost numbers and so on.

An output fails a check only if what is wrong can be seen in its text and that of its source, and no reference of the
source has it too. The patterns are in ``tables.toml``. What fails depends on no other output.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, source_language_pairs, view
from ranker.corpora.languages import is_language, language_name
from ranker.corpora.sanity import arrow_text
from ranker.corpora.scripts import written_languages
from ranker.frames.labelled import Candidates, candidate_rows

CHECKS = (
    *("empty", "copy", "language", "preamble", "repetition", "truncation"),
    *("numbers", "dates", "units", "urls", "markup", "placeholders"),
)
"""Names of the checks."""
_UNSPACED = r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}])"
_FINAL = r"[.!?…。！？।؟።:;”“„\"»«)\]'’]\s*$"
_DATE = re.compile(r"(?<!\d)(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?!\d)")
_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+[.,]\d+(?![.,]?\d)|\d+")
_LONGEST_PERIOD = 20
_MEASURES = ("length", "mass", "temperature")

Found = Counter[str]
"""What of interest a text holds."""


@functools.cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def check_outputs(candidates: Candidates) -> pd.DataFrame:
    """Check outputs for what is wrong whatever the metric: another language, lost numbers, markup, preambles.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        See `ranker.Ranker.score` for the forms. Checks that compare with the source are skipped where there is none.

    Returns
    -------
    DataFrame
        One row per output and check that it fails: ``candidate`` (row number), ``lp``, ``seg_id``, ``system``,
        ``check``, ``found`` (what is wrong) and ``text``.

    Examples
    --------
    >>> from ranker import check_outputs, from_texts
    >>> data = from_texts(["Here is the translation: It costs 15 euros."], sources=["Es kostet 51 Euro."], lp="de-en")
    >>> check_outputs(data)[["check", "found"]].values.tolist()
    [['preamble', 'Here is the translation'], ['numbers', '51 -> 15']]
    """
    return failed_checks(candidate_rows(candidates).dataset)


def failures(dataset: Dataset) -> Int64Array:
    """Return the number of checks that every candidate fails, shape (candidates,)."""
    return np.bincount(failed_checks(dataset)["candidate"], minlength=len(dataset)).astype(np.int64)


def system_counts(dataset: Dataset) -> list[dict[str, Any]]:
    """Return the number of outputs of every system, of those that fail a check, and of those that fail each check."""
    failed = failed_checks(dataset)
    columns = {"lp": source_language_pairs(dataset)[dataset.candidate_source], "system": dataset.candidates["system"]}
    frame = pd.DataFrame({**columns, "outputs": 1, "failed": failures(dataset) > 0}).assign(
        **{name: np.isin(np.arange(len(dataset)), failed["candidate"][failed["check"] == name]) for name in CHECKS}
    )[~dataset.candidates["is_reference"].to_numpy()]
    counts = frame.groupby(["lp", "system"]).sum().astype(int).reset_index()
    return [{**row, "lp": None if row["lp"] == "?" else row["lp"]} for row in counts.to_dict("records")]


@view
def failed_checks(dataset: Dataset) -> pd.DataFrame:
    """Return the table of `check_outputs`."""
    texts = _Texts(dataset)
    failed = {name: dict(find(texts)) for name, find in _FINDERS.items()}
    for row in failed["empty"].keys() | failed["copy"].keys():
        for name in CHECKS[2:]:
            failed[name].pop(row, None)
    pairs = sorted((row, number) for number, name in enumerate(CHECKS) for row in failed[name])
    rows = np.array([row for row, _ in pairs], dtype=np.int64)
    names = [CHECKS[number] for _, number in pairs]
    source, of_rows = dataset.sources.iloc[dataset.candidate_source[rows]], dataset.candidates.iloc[rows]
    found = [failed[name][row] for (row, _), name in zip(pairs, names, strict=True)]
    columns = {"candidate": rows, "lp": source["lp"], "seg_id": source["seg_id"], "system": of_rows["system"]}
    columns |= {"check": names, "found": found, "text": of_rows["text"]}
    return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})


class _Texts:
    """The candidates of a data set beside their sources and references."""

    def __init__(self, dataset: Dataset) -> None:
        self.source = dataset.candidate_source
        tables = dataset.candidates, dataset.sources, dataset.references
        self.own, self.sources, self.references = (pc.fill_null(arrow_text(table["text"]), "") for table in tables)
        self.slots = dataset.reference_offsets
        self.languages = written_languages(dataset)
        self.outputs = ~dataset.candidates["is_reference"].to_numpy(dtype=bool)

    def of_source(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a value of each source for each candidate."""
        return values.take(pa.array(self.source))

    def matched(self, pattern: str) -> BoolArray:
        """Return which candidates match a pattern that neither their sources nor references match."""
        own, source, reference = (
            _truth(pc.match_substring_regex(column, pattern)) for column in (self.own, self.sources, self.references)
        )
        return self.outputs & own & ~(source | self.of_references(reference))[self.source]

    def beside(self, flagged: BoolArray) -> Iterator[tuple[int, str, str, list[str]]]:
        """Yield the row, source, text and references of flagged candidates that have a source."""
        rows = np.flatnonzero(flagged)
        own, source = self.own.take(pa.array(rows)).to_pylist(), self.of_source(self.sources).take(pa.array(rows)).to_pylist()
        references = self.references.to_pylist() if len(rows) else []
        for row, text, of_source in zip(rows.tolist(), own, source, strict=True):
            if of_source:
                start, stop = self.slots[self.source[row]], self.slots[self.source[row] + 1]
                yield row, of_source, text, references[start:stop]

    @functools.cached_property
    def digits(self) -> list[npt.NDArray[np.object_]]:
        """The digits of candidates and sources, with one space for what is between them."""
        spaced = (pc.replace_substring_regex(column, r"\P{Nd}+", " ") for column in (self.own, self.sources))
        return [pc.utf8_trim_whitespace(column).to_numpy() for column in spaced]

    @functools.cached_property
    def other_digits(self) -> BoolArray:
        """Which candidates have not the digits of their source."""
        return np.asarray(self.digits[0] != self.digits[1][self.source])

    @functools.cached_property
    def words(self) -> tuple[Int64Array, Int64Array, dict[str, int]]:
        """The words of candidates, sources and references as numbers, the offsets of texts, and the number of words."""
        chunks = [chunk for column in (self.own, self.sources, self.references) for chunk in column.chunks]
        lower = pc.utf8_lower(pa.chunked_array(chunks, pa.large_string()))
        apart = pc.replace_substring_regex(lower, _UNSPACED, r" \1 ")
        clean = pc.utf8_trim_whitespace(pc.replace_substring_regex(apart, r"[^\p{L}\p{M}\p{N}]+", " "))
        lists = pc.utf8_split_whitespace(clean).combine_chunks()
        offsets = np.concatenate([[0], np.cumsum(pc.list_value_length(lists).to_numpy())])
        encoded = lists.flatten().dictionary_encode()
        return encoded.indices.to_numpy().astype(np.int64), offsets, {word: number for number, word in enumerate(encoded.dictionary.to_pylist())}

    def frequent_words(self, language: str, of: BoolArray, without: str = "") -> FloatArray:
        """Return the share of the words of some texts that are frequent in a language, and in no other; 0 for few."""
        codes, offsets, numbers = self.words
        table, lengths = _tables()["language"]["words"], np.diff(offsets)[of]
        words = {*table[language].split()} - {*table.get(without, "").split()}
        known = np.zeros(len(numbers), dtype=bool)
        known[[numbers[word] for word in words if word in numbers and (len(word) > 1 or not without)]] = True
        ends, sums = np.cumsum(lengths), np.cumsum(known[codes[np.repeat(of, np.diff(offsets))]])
        counts = np.diff(np.concatenate([[0], sums])[np.concatenate([[0], ends])])
        shares = np.zeros(len(of))
        shares[of] = np.where(counts >= (3 if without else 0), counts / np.maximum(lengths, 1), 0.0)
        return shares

    def of_references(self, flags: BoolArray) -> BoolArray:
        """Return the flags that any reference of a source has, shape (sources, ...)."""
        sums = np.concatenate([np.zeros((1, *flags.shape[1:]), np.int64), np.cumsum(flags, axis=0)])[self.slots]
        return np.diff(sums, axis=0) > 0


def _truth(values: pa.ChunkedArray) -> BoolArray:
    return np.asarray(values.to_numpy(), dtype=bool)


def _foreign(column: pa.ChunkedArray, rows: Int64Array, script: str) -> BoolArray:
    """Return which rows of a column have ten letters, most of them not of a script."""
    texts = column.take(pa.array(rows))
    others = _length_without(texts, rf"[\P{{L}}{script}]+")
    foreign = np.flatnonzero(others >= 10)
    letters = _length_without(texts.take(pa.array(foreign)), r"\P{L}+")
    return np.isin(np.arange(len(rows)), foreign[others[foreign] > 0.7 * letters])


def _length_without(column: pa.ChunkedArray, pattern: str) -> Int64Array:
    return np.asarray(pc.utf8_length(pc.replace_substring_regex(column, pattern, "")).to_numpy())


def _empty(texts: _Texts) -> Iterator[tuple[int, str]]:
    blank = _truth(pc.equal(pc.utf8_trim_whitespace(texts.own), "")) & texts.outputs
    yield from ((row, "no text") for row in np.flatnonzero(blank).tolist())


def _copy(texts: _Texts) -> Iterator[tuple[int, str]]:
    def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.utf8_lower(pc.utf8_trim_whitespace(column))

    own, sources = plain(texts.own), texts.of_source(plain(texts.sources))
    equal = _truth(pc.and_(pc.equal(own, sources), pc.greater(pc.binary_length(own), 20))) & texts.outputs
    for row, source, _, references in texts.beside(equal):
        if source.strip().lower() not in (text.strip().lower() for text in references):
            yield row, "the source"


def _language(texts: _Texts) -> Iterator[tuple[int, str]]:
    table = _tables()["language"]
    scripts = {code: names for names, codes in table["scripts"].items() for code in codes.split()}
    for code in filter(is_language, {*texts.languages}):
        script = "".join(rf"\p{{{name}}}" for name in scripts.get(code, "Latin").split())
        of_code = texts.languages == code
        rows = np.flatnonzero(texts.outputs & of_code[texts.source])
        other = rows[_foreign(texts.own, rows, script)]
        in_reference = np.zeros(len(texts.references), dtype=bool)
        of_references = np.flatnonzero(np.repeat(of_code, np.diff(texts.slots)))
        in_reference[of_references] = _foreign(texts.references, of_references, script)
        other = other[~texts.of_references(in_reference)[texts.source[other]]]
        yield from ((row, "other letters") for row in other.tolist())
        if code in table["words"]:
            yield from _other_words(texts, code, np.setdiff1d(rows, other))


def _other_words(texts: _Texts, code: str, rows: Int64Array) -> Iterator[tuple[int, str]]:
    """Yield the outputs with many of the frequent words of another language, and few of those of their own."""
    looked_at = np.zeros(len(texts.words[1]) - 1, dtype=bool)
    of_references = len(texts.own) + len(texts.sources) + np.arange(len(texts.references))
    looked_at[rows] = looked_at[of_references] = True
    own = texts.frequent_words(code, looked_at)
    few, looked_at = rows[own[rows] < 0.1], looked_at & (own < 0.1)
    for other in _tables()["language"]["words"].keys() - {code}:
        flagged = texts.frequent_words(other, looked_at, code) >= np.maximum(0.2, 3 * own)
        like_references = texts.of_references(flagged[of_references])[texts.source[few]]
        yield from ((row, language_name(other)) for row in few[flagged[few] & ~like_references].tolist())


def _preamble(texts: _Texts) -> Iterator[tuple[int, str]]:
    table = _tables()["preamble"]
    for pattern in (rf"(?i)^\W*(?:{'|'.join(table['start'])})", f"(?i)(?:{'|'.join(table['end'])})"):
        for row in np.flatnonzero(texts.matched(pattern)).tolist():
            match = re.search(pattern, texts.own[row].as_py())
            yield row, match[0].strip() if match else ""


def _repetition(texts: _Texts) -> Iterator[tuple[int, str]]:
    codes, offsets, numbers = texts.words
    vocabulary, text = [*numbers], np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    shown: dict[int, str] = {}
    for period in range(1, _LONGEST_PERIOD + 1):
        same = np.flatnonzero((codes[:-period] == codes[period:]) & (text[:-period] == text[period:]))
        starts = np.flatnonzero(np.diff(same, prepend=-2) != 1)
        lengths = np.diff(starts, append=len(same))
        long = lengths >= {1: 3, 2: 4, 3: 6, 4: 8}.get(period, period)
        for start, length in zip(same[starts[long]].tolist(), lengths[long].tolist(), strict=True):
            words = [vocabulary[code] for code in codes[start : start + period]]
            if not all(map(str.isdigit, words)):
                shown.setdefault(int(text[start]), f"{' '.join(words)} ({1 + length // period} times)")
    size, sources = len(texts.own), len(texts.sources)
    of_source = np.isin(np.arange(size, size + sources), [*shown])
    of_source |= texts.of_references(np.isin(np.arange(size + sources, len(offsets) - 1), [*shown]))
    yield from ((row, what) for row, what in shown.items() if row < size and texts.outputs[row] and not of_source[texts.source[row]])


def _truncation(texts: _Texts) -> Iterator[tuple[int, str]]:
    table = _tables()["truncation"]
    columns = texts.own, texts.sources, texts.references
    own, source, reference = (pc.utf8_length(column).to_numpy().astype(np.float64) for column in columns)
    widths = [
        1 + sum(
            (table[name] - 1) * _length_without(column, f"[^{characters}]+") / np.maximum(length, 1)
            for name, characters in (("Han", r"\p{Han}\p{Hiragana}\p{Katakana}"), ("Hangul", r"\p{Hangul}"))
        )
        for column, length in ((texts.own, own), (texts.sources, source))
    ]
    shortest = np.full(len(source), np.inf)
    np.minimum.at(shortest, np.repeat(np.arange(len(source)), np.diff(texts.slots)), reference)
    known = np.isfinite(shortest)[texts.source]
    expected = np.where(known, shortest[texts.source], 0.6 * (source * widths[1])[texts.source] / widths[0])
    unfinished = rf"(?i)(?:[,(\[„“«–-]|\s(?:{'|'.join(table['unfinished'].split())}))\s*$"
    ends, open_end = _truth(pc.match_substring_regex(texts.own, _FINAL)), _truth(pc.match_substring_regex(texts.own, unfinished))
    sound = _truth(pc.match_substring_regex(texts.sources, _FINAL))[texts.source]
    short = (expected > 40) & ((own < expected / 3) | (sound & ~ends & (own < expected / 2)))
    for row in np.flatnonzero(texts.outputs & (short | (sound & ~ends & open_end & (own > 20)))).tolist():
        yield row, f"ends with: {texts.own[row].as_py()[-30:]}"


Finder = Callable[[_Texts], Iterator[tuple[int, str]]]
"""Yields the outputs that fail a check, and what was found."""
Differs = Callable[[str, str, Found, Found], tuple[Found, Found]]
"""Tells of a source, an output and what was found in them what is missing and what was added."""


def _compared(
    find: Callable[[str], Found], differs: Differs, suspect: Callable[[_Texts], BoolArray]
) -> Finder:
    """Return the check that what `find` finds in a source is in the output, and nothing else."""

    def check(texts: _Texts) -> Iterator[tuple[int, str]]:
        found = functools.lru_cache(maxsize=100_000)(find)
        for row, source, own, references in texts.beside(suspect(texts) & texts.outputs):
            wanted, given = found(source), found(own)
            if references:
                kept = functools.reduce(lambda left, right: left | right, map(found, references))
                wanted, given = (
                    Counter({item: number for item, number in items.items() if (item in kept) == needed or item in other})
                    for items, other, needed in ((wanted, given, True), (given, wanted, False))
                )
            missing, extra = differs(source, own, wanted, given)
            if missing or extra:
                yield row, f"{_listed(missing)} -> {_listed(extra)}"

    return check


def _listed(items: Found) -> str:
    return ", ".join(items) or "nothing"


def _kept(name: str) -> Finder:
    pattern = _tables()["kept"][name]
    expression = re.compile(pattern)

    def find(text: str) -> Found:
        # of a tag its name
        items = (item.lower() if name == "urls" else item for item in expression.findall(text))
        return Counter(f"{item.split()[0]}>" if item[0] == "<" and " " in item else item for item in items)

    def suspect(texts: _Texts) -> BoolArray:
        own, source = (_truth(pc.match_substring_regex(column, pattern)) for column in (texts.own, texts.sources))
        return own | source[texts.source]

    return _compared(find, lambda source, own, wanted, given: (wanted - given, given - wanted), suspect)


def _named(column: pa.ChunkedArray, table: str, group: str) -> BoolArray:
    """Return which names of a group, such as months, every text has, shape (texts, names)."""
    patterns = _tables()[table][group].values()
    return np.stack([_truth(pc.match_substring_regex(column, pattern)) for pattern in patterns], axis=1)


def _exchanged(table: str) -> Finder:
    """Return the check that an output does not have another name of a group, such as months, than its source."""

    def check(texts: _Texts) -> Iterator[tuple[int, str]]:
        for group, patterns in _tables()[table].items():
            names, source = np.array([*patterns]), _named(texts.sources, table, group)
            rows = np.flatnonzero(texts.outputs & source.any(axis=1)[texts.source])
            own, wanted = _named(texts.own.take(pa.array(rows)), table, group), source[texts.source[rows]]
            kept = texts.of_references(_named(texts.references, table, group))[texts.source[rows]]
            bare = (np.diff(texts.slots) == 0)[texts.source[rows]][:, np.newaxis]
            missing, extra = wanted & ~own & (kept | bare), own & ~wanted & ~kept
            wrong = missing.any(axis=1) & extra.any(axis=1)
            if group in _MEASURES:
                # where the number is another too, it was converted
                wrong &= (texts.digits[1] != "")[texts.source[rows]] & ~texts.other_digits[rows]
            for at in np.flatnonzero(wrong).tolist():
                yield int(rows[at]), " -> ".join(", ".join(names[which[at]]) for which in (missing, extra))

    return check


def _numbers(text: str) -> Found:
    """Return the numbers of a text, without what groups their digits, and with a point before decimals."""
    for pattern in _tables()["kept"].values():
        text = re.sub(pattern, " ", text)
    text = _DATE.sub(r"\1 \3 \4", text)
    numbers: Found = Counter()
    for number in _NUMBER.findall(text):
        whole, *decimals = re.split(r"[.,](?=\d+$)", number) if not re.search(r"\D\d{3}$", number) else [number]
        digits = "".join(str(int(digit)) for digit in re.sub(r"\D", "", whole)).lstrip("0") or "0"
        numbers[".".join([digits, *decimals])] += 1
    return numbers


def _other_numbers(source: str, own: str, wanted: Found, given: Found) -> tuple[Found, Found]:
    if not wanted - given:
        return Counter(), Counter()
    table = _tables()["numbers"]
    scaled, clock, spelled = (bool(re.search(table[name], f"{source} {own}")) for name in ("scale", "clock", "spelled"))

    def without(numbers: Found, others: Found, other: str) -> Found:
        known = {*others, *(part for number in others for part in number.split("."))}

        def agrees(number: str) -> bool:
            return any(_same_number(number, each, scaled=scaled, clock=clock) for each in known) or _is_month(number, other)

        return Counter({n: 1 for n in numbers if not agrees(n) and not all(agrees(part) for part in n.split("."))})

    missing, extra = without(wanted, given, own), without(given, wanted, source)
    if missing and extra and not spelled:
        return missing, extra
    long = Counter({n: 1 for n in missing if len(n.strip("0")) > 2 or (len(n) > 2 and not scaled)})
    return long, extra if long else Counter()


def _is_month(number: str, text: str) -> bool:
    """Tell whether a text names the month of that number."""
    months = [*_tables()["dates"]["month"].values()]
    return number.isdigit() and 1 <= int(number) <= 12 and bool(re.search(months[int(number) - 1], text))


def _same_number(first: str, second: str, *, scaled: bool, clock: bool) -> bool:
    """Tell whether two numbers may be the same, written otherwise."""
    if first == second:
        return True
    digits = [number.replace(".", "") for number in (first, second)]
    if (scaled or "." in first + second) and digits[0].strip("0") == digits[1].strip("0"):
        return True
    short, long = sorted(digits, key=len)
    if len(short) == 2 and len(long) == 4 and long.endswith(short):
        return True
    return clock and len(long) <= 2 and abs(int(short) - int(long)) == 12


_FINDERS: dict[str, Finder] = {
    "empty": _empty,
    "copy": _copy,
    "language": _language,
    "preamble": _preamble,
    "repetition": _repetition,
    "truncation": _truncation,
    "numbers": _compared(_numbers, _other_numbers, lambda texts: texts.other_digits),
    "dates": _exchanged("dates"),
    "units": _exchanged("units"),
    **{name: _kept(name) for name in ("urls", "markup", "placeholders")},
}
