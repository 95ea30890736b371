"""Checks single outputs against their sources: wrong language, preambles, lost numbers and so on.

An output fails a check only if the fault is visible in its text and its source's text, and no reference of the
source has it too. The patterns are in ``tables.toml``. What fails depends on no other output.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.checks.copies import copies, mixed, taken_over
from ranker.checks.numbers import beyond_digits, certain, numbers, unmatched, written
from ranker.checks.pairs import PairedTexts
from ranker.checks.places import with_places
from ranker.checks.texts import (
    compiled,
    joined,
    length_without,
    matches,
    matches_by_language,
    names_of,
    of_language,
    tables,
    without_addresses,
)
from ranker.corpora.catalogue.candidate_rows import Candidates, candidate_rows
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.languages import LanguagePair, is_language, language_name, unicode_scripts
from ranker.corpora.scripts import SENTENCE_ENDS, UNSPACED_LETTERS, is_unspaced

_FINAL = rf"[{SENTENCE_ENDS}…:;”“„\"»«)\]'’]\s*$"
_ENDLESS = r"[\p{Thai}\p{Lao}\p{Tibetan}]"
"""Letters of scripts in which a sentence may end without a mark."""
_BRACKET = rf"[{SENTENCE_ENDS}][\"”»」']?\s*([(（\[【][^()（）\[\]【】]{{4,}}[)）\]】])\s*$"
_PARAGRAPH = r"\S\s*\n\s*\n\s*(\S[^\n]*)"
_SENTENCE = rf"[{SENTENCE_ENDS}](?:\W|$)"
_NEVER = r"[^\s\S]"
"""Pattern without any match."""
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST_WORD = 8
"""Size of a source up to which "None" may be its translation."""
_LONGEST_PERIOD, _LONGEST_UNSPACED = 20, 40
"""Number of words that are looked for again, and of characters in scripts without spaces."""
_REPEATED = {1: 3, 2: 4, 3: 6, 4: 8}
"""Number of words that must equal the word one period earlier, by words per period; from five on, the period itself."""
_SHORT = 12
"""Number of characters, in scripts without spaces, up to which a text may repeat them once, as in reduplication."""
_SHORTEST_LOOP, _LOOP = 20, re.compile(r"([^\W\d_]\S{0,9}?)\1{7,}")
"""Least number of characters, and pattern, of letters that repeat within a word."""
_TAG = re.compile(r"</?[A-Za-z0-9:_-]+")
_FORMAT = re.compile(r"%%|%(?:([0-9]+)\$)?[-+#'0-9.]*(?:hh?|ll?|[jzt])?([A-Za-z@])")
_MANY_WORDS = 8
"""Number of words from which on a text has a frequent word of its language."""
_FEW_WORDS = 4
"""Number of words below which a text is in no other language than the source's; frequent words may be of several."""
_CHARACTERS = 2
"""Number of characters of the other form of Chinese from which on a text is in that form."""
_MEASURES = ("length", "mass", "temperature")

Failures = Iterator[tuple[int, str]]
"""Rows of candidates that fail a check, each with a description of the fault."""


def check_outputs(candidates: Candidates, *, spans: bool = False) -> pd.DataFrame:
    """Check outputs for faults that are visible without a metric: wrong language, lost numbers, markup, preambles.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        See `ranker.Ranker.score` for the forms. Checks that compare with the source are skipped where there is none.
    spans : bool, default False
        Add a row for each place of a fault, and the columns of marked errors: ``rater`` (``ranker``), ``start`` and
        ``end`` (characters of the text from ``start`` up to but not including ``end``, missing without a place),
        ``severity``, ``category`` (the check) and ``side``: ``target``, or ``source`` for what an output lacks.

    Returns
    -------
    DataFrame
        One row per output and check that it fails: ``candidate`` (its row number, of a frame the position of its first
        row, as of ``iloc``), ``lp``, ``seg_id``, ``system``, ``check``, ``found`` (what is wrong) and ``text``.

    Examples
    --------
    >>> from ranker import check_outputs, from_texts
    >>> data = from_texts(["Here is the translation: It costs 15 euros."], sources=["Es kostet 51 Euro."], lp="de-en")
    >>> check_outputs(data)[["check", "found"]].values.tolist()
    [['preamble', 'Here is the translation'], ['numbers', '51 -> 15']]
    """
    rows = candidate_rows(candidates)
    return rows.with_rows(placed_checks(rows.dataset) if spans else failed_checks(rows.dataset))


def failures(dataset: Dataset) -> Int64Array:
    """Return the number of checks that each candidate fails, shape (candidates,)."""
    return np.bincount(failed_checks(dataset)["candidate"], minlength=len(dataset)).astype(np.int64)


def system_counts(dataset: Dataset) -> list[dict[str, Any]]:
    """Return counts for each system: all outputs, outputs that fail any check, and outputs that fail each check."""
    failed = failed_checks(dataset)
    pairs, systems = dataset.source_language_pairs[dataset.candidate_source], dataset.candidates["system"]
    frame = pd.DataFrame({"lp": pairs, "system": systems, "outputs": 1, "failed": failures(dataset) > 0})
    for name in CHECKS:
        frame[name] = np.isin(np.arange(len(dataset)), failed["candidate"][failed["check"] == name])
    outputs = frame[~dataset.is_reference]
    counts = records(outputs.groupby(["lp", "system"], sort=False).sum().astype(int).reset_index())
    return [{**row, "lp": LanguagePair(row["lp"]).known} for row in counts]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


@view
def failed_checks(dataset: Dataset) -> pd.DataFrame:
    """Return the table of `check_outputs` for a data set."""
    texts = PairedTexts(dataset)
    failed = {name: dict(check(texts)) for name, check in CHECKS.items()}
    untranslated = failed["empty"].keys() | failed["copy"].keys()
    failed["mixed"] = {row: what for row, what in failed["mixed"].items() if row not in failed["language"]}
    found = [
        (row, name, what)
        for name, each in failed.items()
        for row, what in each.items()
        if texts.outputs[row] and (row not in untranslated or name in ("empty", "copy"))
    ]
    table = pd.DataFrame(found, columns=["candidate", "check", "found"])
    table = table.astype({"candidate": np.int64}).sort_values("candidate", kind="stable", ignore_index=True)
    source = dataset.sources[["lp", "seg_id"]].iloc[dataset.candidate_source[table["candidate"]]]
    outputs = dataset.candidates[["system", "text"]].iloc[table["candidate"]]
    parts = [part.astype(object).reset_index(drop=True) for part in (source, outputs)]
    columns = ["candidate", "lp", "seg_id", "system", "check", "found", "text"]
    return pd.concat([table, *parts], axis=1).replace({pd.NA: None})[columns]


@view
def placed_checks(dataset: Dataset) -> pd.DataFrame:
    """Return the table of `check_outputs` with the character positions of each fault."""
    failed = failed_checks(dataset)
    sources = dataset.sources["text"].iloc[dataset.candidate_source[failed["candidate"]]]
    return with_places(failed, sources.tolist())


def _empty(texts: PairedTexts) -> Failures:
    has_words, source, reference = (
        matches(column, r"[\p{L}\p{N}]") for column in (texts.own, texts.sources, texts.references)
    )
    wanted = (source | texts.of_references(reference)) & ~texts.of_references(~reference)
    for row in np.flatnonzero(~matches(texts.own, r"\S") | (~has_words & wanted[texts.source])).tolist():
        yield row, "no words" if texts.own[row].as_py().strip() else "no text"
    written = tables()["empty"]["written"]
    missing = matches(texts.own, written) & (_sizes(texts.sources) > _LONGEST_WORD)[texts.source]
    for row in np.flatnonzero(
        missing & ~texts.of_references(matches(texts.references, written))[texts.source]
    ).tolist():
        yield row, texts.own[row].as_py().strip()


def _language(texts: PairedTexts) -> Failures:
    table = tables()["language"]
    scripts = {code: names for names, codes in table["scripts"].items() for code in codes.split()}
    languages = np.where(texts.expected.target == "", texts.languages, texts.expected.target)
    for code, stated in dict.fromkeys(zip(languages, texts.scripts, strict=True)):
        if not (is_language(code) or stated):
            continue
        usual = scripts.get(code, "Latin").split()
        names = unicode_scripts(stated).split() or usual
        script = "".join(rf"\p{{{name}}}" for name in names)
        of_code = (languages == code) & (texts.scripts == stated)
        rows = np.flatnonzero(of_code[texts.source])
        in_reference = _foreign(texts.references, np.flatnonzero(np.repeat(of_code, np.diff(texts.slots))), script)
        foreign = _foreign(texts.own, rows, script) & ~(texts.of_references(in_reference)[texts.source] | texts.copies)
        found = [(row, "other letters") for row in np.flatnonzero(foreign).tolist()]
        if stated in table["characters"]:
            found += _other_characters(texts, stated, rows[~foreign[rows]])
        if code in table["words"] and not {*names}.isdisjoint(usual):
            found += _other_words(texts, code, rows[~foreign[rows]])
        yield from ((row, what) for row, what in found if not taken_over(texts, row))


def _other_characters(texts: PairedTexts, script: str, rows: Int64Array) -> Failures:
    """Yield the outputs in simplified Chinese where traditional is stated, or the reverse."""
    forms = tables()["language"]["characters"]
    other, what = ("Hans", "simplified characters") if script == "Hant" else ("Hant", "traditional characters")

    def written(column: pa.ChunkedArray) -> BoolArray:
        of_other, own = (length_without(column, f"[^{forms[name]}]+") for name in (other, script))
        return np.asarray((of_other >= _CHARACTERS) & (of_other > 2 * own))

    failing = written(texts.own) & ~texts.of_references(written(texts.references))[texts.source] & ~texts.copies
    for row in rows[failing[rows]].tolist():
        yield row, what


def _foreign(column: pa.ChunkedArray, rows: Int64Array, script: str) -> BoolArray:
    """True for texts in `rows` that have at least ten letters, most of them in scripts other than `script`."""
    chosen = without_addresses(column.take(pa.array(rows)))
    others = _letters(chosen, rf"[\P{{L}}{script}]+", rf"[^\p{{Han}}\p{{Hangul}}]+|[{script}]+")
    foreign = np.zeros(len(column), dtype=bool)
    foreign[rows] = (others >= 10) & (others > 0.7 * _letters(chosen, r"\P{L}+", r"[^\p{Han}\p{Hangul}]+"))
    return foreign


def _letters(texts: pa.ChunkedArray, ignored: str, ignored_syllables: str) -> Int64Array:
    """Return the number of letters in each text; a character that stands for a word or a syllable counts as three."""
    return length_without(texts, ignored) + 2 * length_without(texts, ignored_syllables)


def _other_words(texts: PairedTexts, code: str, rows: Int64Array) -> Failures:
    """Yield the outputs that have many frequent words of another language and few of the expected language."""
    looked_at = np.zeros(len(texts.words[1]) - 1, dtype=bool)
    of_references = len(texts.own) + len(texts.sources) + np.arange(len(texts.references))
    looked_at[rows] = looked_at[of_references] = True
    own = texts.frequent_words(code, looked_at)
    looked_at &= own < 0.1
    none = (own == 0) & (np.diff(texts.words[1]) >= _MANY_WORDS)
    best, most = np.full(len(own), "", dtype=object), np.where(none, 0.1, np.maximum(0.2, 3 * own))
    for other in tables()["language"]["words"]:
        shares = texts.frequent_words(other, looked_at, code) if other != code else np.zeros(len(own))
        better = shares > most
        best[better], most[better] = other, shares[better]
    few = np.diff(texts.words[1])[: len(texts.own)] < _FEW_WORDS
    best[: len(few)][few & (best[: len(few)] != texts.expected.source[texts.source])] = ""
    flagged = rows[(best[rows] != "") & ~texts.of_references(best[of_references] != "")[texts.source[rows]]]
    for row, other in zip(flagged.tolist(), best[flagged], strict=True):
        if not _has_own_letters(texts, row, code, other):
            yield row, language_name(other)


def _has_own_letters(texts: PairedTexts, row: int, language: str, other: str) -> bool:
    """True if an output has lower-case words, not in its source, with letters of `language` that `other` lacks."""
    letters = tables()["language"]["letters"]
    own = {*letters.get(language, "")} - {*letters.get(other, letters.get(language, ""))}
    words = {*_WORD.findall(texts.own[row].as_py())} - {*_WORD.findall(texts.sources[texts.source[row]].as_py())}
    return any(word.islower() and not own.isdisjoint(word) for word in words)


def _preamble(texts: PairedTexts) -> Failures:
    table = tables()["preamble"]
    start, end = ("|".join(table[name]) for name in ("start", "end"))
    begins = rf"(?i)^\W*(?:(?:{table['agreement']})\W+)?(?:{start})"
    for pattern in (_PARAGRAPH, _BRACKET, begins, f"(?i)(?:{end})"):
        own, source, reference = (matches(column, pattern) for column in (texts.own, texts.sources, texts.references))
        for row in np.flatnonzero(own & ~(source | texts.of_references(reference))[texts.source]).tolist():
            text, of_source = texts.own[row].as_py(), texts.sources[texts.source[row]].as_py()
            match = compiled(pattern).search(text)
            if not match:
                continue
            found = match[match.lastindex or 0].strip()

            def more(part: str, text: str = text, of_source: str = of_source) -> bool:
                return len(re.findall(part, text)) > len(re.findall(part, of_source))

            if pattern == _BRACKET:
                added = bool(of_source) and more(r"[(（\[【]")
            elif pattern == _PARAGRAPH:
                added = bool(of_source) and more(r"\S.*") and (more(_SENTENCE) or more("[:：]"))
            elif found.endswith((":", "：")):
                added = not of_source or more("[:：]")
            else:
                added = pattern == begins or not of_source or more(_SENTENCE)
            if added:
                yield row, found


def _refusal(texts: PairedTexts) -> Failures:
    table = tables()["refusal"]
    pattern = rf"(?i)^\W*(?:{'|'.join(table['start'])})"
    own, reference = (matches(column, pattern) for column in (texts.own, texts.references))
    # a source that says so too is about as long
    likely = matches(texts.sources, table["source"])[texts.source] & (
        _sizes(texts.own) > 0.5 * _sizes(texts.sources)[texts.source]
    )
    for row in np.flatnonzero(own & ~likely & ~texts.of_references(reference)[texts.source]).tolist():
        if match := compiled(pattern).search(texts.own[row].as_py()):
            yield row, match[0].strip()


def repetition(texts: PairedTexts, least: float = 0.0) -> Failures:
    """Yield the outputs in which immediately repeated words make up at least the share `least`.

    In scripts without spaces, where the words are characters, what is short must be repeated at least twice, and more
    than twice as often as in the source or a reference; with a share `least`, it must make up a dozen characters too.
    """
    codes, offsets, vocabulary = texts.words[0], texts.words[1], [*texts.words[2]]
    sizes = np.diff(offsets)
    text = np.repeat(np.arange(len(sizes)), sizes)
    unspaced = np.array([*map(is_unspaced, vocabulary)], dtype=bool)
    own, sources = len(texts.own), len(texts.sources)
    said = np.ones(len(sizes), dtype=np.int64)
    shown: dict[int, str] = {}
    short: dict[int, int] = {}

    @lru_cache(maxsize=1)
    def lower(row: int) -> str:
        return str(texts.every[row].as_py()).lower()

    for period in range(1, _LONGEST_UNSPACED + 1):
        if period == _LONGEST_PERIOD + 1:
            kept = np.bincount(text, unspaced[codes], minlength=len(sizes)) > 0
            kept[own:] |= kept[:own].any()
            codes, text = codes[kept[text]], text[kept[text]]
        same = np.flatnonzero((codes[:-period] == codes[period:]) & (text[:-period] == text[period:]))
        starts = np.flatnonzero(np.diff(same, prepend=-2) != 1)
        lengths = np.diff(starts, append=len(same))
        rows, of_letters = text[same[starts]], unspaced[codes[same[starts]]]
        heard = (lengths >= period + (of_letters & (period == 1))) & (rows >= own)
        np.maximum.at(said, rows[heard], 1 + lengths[heard] // period)
        long = (lengths >= _REPEATED.get(period, period)) & (lengths + period >= least * sizes[rows])
        for start, length, row in zip(*(each[long].tolist() for each in (same[starts], lengths, rows)), strict=True):
            unit, times = codes[start : start + period], 1 + length // period
            words = [vocabulary[code] for code in unit]
            few = period <= _SHORT and bool(unspaced[unit].any())
            if few and row < own and (times == 2 or (least and length + period < _SHORT)):
                continue
            if row in shown or all(map(str.isdigit, words)) or (times == 2 and _taken_up(lower(row), words)):
                continue
            shown[row] = f"{joined(words)} ({times} times)"
            if few:
                short[row] = times
    for row in np.flatnonzero(matches(texts.every, rf"\S{{{_SHORTEST_LOOP}}}")).tolist():
        looped = texts.every[row].as_py()
        loop = max(_LOOP.finditer(looped), key=lambda match: len(match[0]), default=None)
        if loop and len(loop[0]) >= max(_SHORTEST_LOOP, least * len(looped)):
            shown.setdefault(row, f"{loop[1]} ({len(loop[0]) // len(loop[1])} times)")
    _, source, reference = np.split(np.isin(np.arange(len(sizes)), [*shown]), np.cumsum([own, sources]))
    repeated = (source | texts.of_references(reference))[texts.source]
    for row, what in shown.items():
        if row < own and not repeated[row]:
            first, end = own + sources + texts.slots[texts.source[row] :][:2]
            most = said[[own + texts.source[row], *range(first, end)]].max()
            if short.get(row, 2 * most + 1) > 2 * most or most == 1:
                yield row, what


def _taken_up(text: str, words: list[str]) -> bool:
    """True if a sentence of a text in lower case ends with the words, and the next one begins with them and goes on."""
    said = r"\W*".join(map(re.escape, words))
    return bool(re.search(rf"{said}[{SENTENCE_ENDS}…][\"”“»」)']?\s*{said}\s*[^\s{SENTENCE_ENDS}…]", text))


def _sizes(texts: pa.ChunkedArray) -> FloatArray:
    """Return the lengths of texts in alphabetic letters: a Chinese character counts as four, kana and Hangul as two."""
    han, syllables = (
        length_without(texts, rf"[^{script}]+") for script in (r"\p{Han}", r"\p{Hiragana}\p{Katakana}\p{Hangul}")
    )
    return np.asarray(pc.utf8_length(texts).to_numpy() + 3.0 * han + syllables)


def _truncation(texts: PairedTexts) -> Failures:
    own, source, reference = map(_sizes, (texts.own, texts.sources, texts.references))
    shortest = np.full(len(source), np.inf)
    np.minimum.at(shortest, np.repeat(np.arange(len(source)), np.diff(texts.slots)), reference)
    known = np.isfinite(shortest)
    expected, least = np.where(known, shortest, source)[texts.source], np.where(known, 1 / 3, 0.2)[texts.source]
    ended, finished = matches(texts.own, _FINAL), matches(texts.sources, _FINAL)[texts.source]

    def endings(language: str) -> list[str]:
        words = "|".join(" ".join(of_language(tables()["truncation"], language)).split()) or _NEVER
        return [rf"(?:[(\[„«–,，、،-]|\s(?:{words}))\s*$"]

    _, target = texts.stated
    in_references = matches_by_language(texts.references, np.repeat(target, np.diff(texts.slots)), endings)
    unfinished = matches_by_language(texts.own, target[texts.source], endings)
    unfinished = (unfinished & ~texts.of_references(in_references)[texts.source])[:, 0]
    unended = finished & ~ended & ~matches(texts.own, _ENDLESS)
    short = (expected > 40) & (own < np.where(unended, 0.68, least) * expected)
    for row in np.flatnonzero(short | (finished & ~ended & unfinished & (own > 20))).tolist():
        yield row, f"ends with: {texts.own[row].as_py()[-30:]}"


def _exchanged(texts: PairedTexts, table: str) -> Failures:
    """Yield outputs with the wrong name from a group, for example of another month than in the source."""
    of_source, target = texts.stated
    for group in tables()[table]:

        def patterns(language: str, group: str = group) -> list[str]:
            return [*names_of(table, group, language).values()]

        names = np.array([*names_of(table, group, "")])
        in_source = matches_by_language(texts.sources, of_source, patterns, len(names))
        in_references = matches_by_language(
            texts.references, np.repeat(target, np.diff(texts.slots)), patterns, len(names)
        )
        rows = np.flatnonzero(in_source[texts.source].any(axis=1))
        source = texts.source[rows]
        own = matches_by_language(texts.own.take(pa.array(rows)), target[source], patterns, len(names))
        wanted = in_source[source]
        bare = np.diff(texts.slots)[source, np.newaxis] == 0
        kept = texts.of_references(in_references)[source]
        missing, extra = wanted & ~own & (kept | bare), own & ~wanted & ~kept
        wrong = missing.any(axis=1) & extra.any(axis=1)
        if group in _MEASURES:
            # where the number is another too, it was converted
            digits = texts.digits[1][source]
            wrong &= (digits != "") & (digits == texts.digits[0][rows])
        for at in np.flatnonzero(wrong).tolist():
            yield int(rows[at]), " -> ".join(", ".join(names[which[at]]) for which in (missing, extra))


def _compared(
    texts: PairedTexts,
    suspect: BoolArray,
    find: Callable[[str], Counter[str]],
    differ: Callable[..., tuple[list[str], list[str]]],
    fails: Callable[..., bool] = lambda *_: True,
    written: Callable[[str, str], Iterable[str]] = lambda *_: (),
) -> Failures:
    """Yield the outputs that lack items found in both their source and references, or have items found in neither."""
    found = lru_cache(maxsize=100_000)(find)
    for row, source, own, references in texts.beside(suspect):
        languages = texts.pair(row)
        missing, extra = differ(source, own, found(source), found(own), languages)
        if references and (missing or extra):
            kept = {item for text in references for item in (*found(text), *written(text, languages[1]))}
            missing, extra = [item for item in missing if item in kept], [item for item in extra if item not in kept]
        if (missing or extra) and fails(missing, extra, languages):
            yield row, " -> ".join(", ".join(items) or "nothing" for items in (missing, extra))


def _numbers(texts: PairedTexts) -> Failures:
    own, source = texts.digits
    suspect = np.asarray(own != source[texts.source]) | matches(texts.sources, beyond_digits())[texts.source]
    return _compared(
        texts, suspect, numbers, unmatched, lambda missing, extra, pair: certain(missing, extra, pair[1]), written
    )


def _kept(texts: PairedTexts, name: str) -> Failures:
    pattern = tables()["kept"][name]

    def find(text: str) -> Counter[str]:
        # before a letter of any script, \\t is no placeholder
        found = (
            each
            for each in compiled(pattern).finditer(text)
            if each[0][0] != "\\" or not text[each.end() : each.end() + 1].isalpha()
        )
        items = (unquote(each[0]).lower() if name == "urls" else each[0] for each in found)
        # of a tag, only its name
        return Counter(f"{tag[0]}>" if (tag := _TAG.match(item)) else item for item in items)

    suspect = matches(texts.own, pattern) | matches(texts.sources, pattern)[texts.source]
    if name == "urls":
        return _compared(texts, suspect, find, _other_urls, written=lambda text, _: _beginnings(text))
    if name == "placeholders":
        return _compared(texts, suspect, find, partial(_other_placeholders, find))
    return _compared(
        texts, suspect, find, lambda _, __, wanted, given, ___: (_lacking(wanted, given), _lacking(given, wanted))
    )


def _lacking(items: Counter[str], others: Counter[str]) -> list[str]:
    """Return the items of markup that `others` have less often, whatever the bold text or the text of a link."""
    excess = Counter(map(_form, items.elements())) - Counter(map(_form, others.elements()))
    found: dict[str, None] = {}
    for item in (items - others).elements():
        if excess[_form(item)] > 0:
            excess[_form(item)] -= 1
            found[item] = None
    return [*found]


def _form(markup: str) -> str:
    """Return an item of markup without text that is translated: ``**``, or a link's address."""
    return "**" if markup.startswith("**") else markup[markup.find("](") :] if markup.startswith("[") else markup


def _other_placeholders(
    find: Callable[[str], Counter[str]],
    source: str,
    own: str,
    wanted: Counter[str],
    given: Counter[str],
    _: tuple[str, str],
) -> tuple[list[str], list[str]]:
    """Return the placeholders that an output lacks, and those that its source lacks.

    ``%2$s`` is the second placeholder of a text without numbers. One that a letter follows, as in ``%dMB``, counts only
    if the other text has it otherwise.
    """
    numbered = any("$" in item for item in (*wanted, *given) if item.startswith("%"))
    if wanted == given or (numbered and find(_numbered(source)) == find(_numbered(own))):
        return [], []
    missing = [item for item, times in wanted.items() if given[item] < times > own.count(item)]
    return missing, [item for item, times in given.items() if wanted[item] < times > source.count(item)]


def _numbered(text: str) -> str:
    """Number the format placeholders of a text, as in ``%1$s``, without their flags and sizes."""
    places = itertools.count(1)
    return _FORMAT.sub(lambda each: f"%{each[1] or next(places)}${each[2]}" if each[2] else each[0], text)


def _other_urls(
    source: str, own: str, wanted: Counter[str], given: Counter[str], _: tuple[str, str]
) -> tuple[list[str], list[str]]:
    """Return the URLs that an output lacks, and those that its source lacks.

    In scripts without spaces, letters after a URL are a part of it only if a source with spaces shows that they are.
    """
    missing, extra = [*(wanted - given)], [*(given - wanted)]
    source, own = (unquote(text).lower() for text in (source, own))
    tailed = _tailed_url()
    if not any(map(is_unspaced, tailed.sub("", source))):
        urls = dict.fromkeys(url[0] for url in tailed.finditer(source))
        missing = [*urls, *(each for each in missing if not any(url.startswith(each) for url in urls))]
    for url in [url for url in missing if tailed.fullmatch(url) and url in own]:
        missing.remove(url)
        extra = [other for other in extra if not url.startswith(other)]
    return missing, extra


@cache
def _tailed_url() -> re.Pattern[str]:
    """Return a pattern of URLs that go on in a script without spaces."""
    return re.compile(rf"(?:{tables()['kept']['urls']})[{UNSPACED_LETTERS}]+")


def _beginnings(text: str) -> Iterator[str]:
    """Yield the parts of a text that may be a URL that ends in a script without spaces."""
    for url in _tailed_url().finditer(unquote(text).lower()):
        yield from (url[0][:end] for end in range(len(url[0])) if is_unspaced(url[0][end]))
        yield url[0]


CHECKS: dict[str, Callable[[PairedTexts], Failures]] = {
    "empty": _empty,
    "copy": copies,
    "language": _language,
    "mixed": mixed,
    "refusal": _refusal,
    "preamble": _preamble,
    "repetition": repetition,
    "truncation": _truncation,
    "numbers": _numbers,
    "dates": partial(_exchanged, table="dates"),
    "units": partial(_exchanged, table="units"),
    **{name: partial(_kept, name=name) for name in ("urls", "markup", "placeholders")},
}
"""The checks by name."""
