"""Outputs of a data set with their sources and references, in the forms that checks read."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.sanity import arrow_text
from ranker.corpora.scripts import is_unspaced

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""A large odd number, so that pairs of words have different products modulo 2**64."""
_LETTERS = "\u2e80"
"""The first character of scripts whose characters are words."""
_ADDRESS = r"[A-Za-z0-9._/@+:-]*[A-Za-z0-9][/_.][A-Za-z][A-Za-z0-9._/@+:-]*"
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
_CLUSTER = rf"({_UNSPACED}(?:[\x{{1039}}\x{{17D2}}]\p{{L}}|[\p{{M}}\x{{0E33}}\x{{0EB3}}])*)"
"""A grapheme cluster of a script without spaces, with stacked consonants and the Thai and Lao vowel am."""


@functools.cache
def tables() -> dict[str, Any]:
    """Return the patterns and word lists of ``tables.toml``."""
    return tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def of_language(table: dict[str, str], language: str) -> list[str]:
    """Return the entries of a table for a language, or those for others; all entries if it is unknown ("")."""
    entries = [entry for codes, entry in table.items() if not language or language in codes.split()]
    return entries or [table[name] for name in table if name == "others"]


@functools.cache
def names_of(kind: str, group: str, language: str) -> dict[str, str]:
    """Return the patterns for the names of a group, such as the months, in a language; none if there is no table."""
    table: dict[str, str] = tables()[kind][group]
    if group not in tables()["names"]:
        return table
    patterns = zip(*(entry.split() for entry in of_language(table, language)), strict=True)
    names = tables()["names"][group].split()
    return {name: f"(?i){'|'.join(each)}" for name, each in zip(names, patterns, strict=False)}


def matches(texts: pa.ChunkedArray, pattern: str) -> BoolArray:
    """True for texts that contain a match of a pattern."""
    return np.asarray(pc.match_substring_regex(texts, pattern).to_numpy(), dtype=bool)


def matches_by_language(
    texts: pa.ChunkedArray,
    languages: npt.NDArray[np.object_],
    patterns: Callable[[str], Sequence[str]],
    number: int = 1,
) -> BoolArray:
    """True for texts that match each of the `number` patterns for their language, shape (texts, number).

    Texts in a language without patterns match none.
    """
    found = np.zeros((len(texts), number), dtype=bool)
    for language in dict.fromkeys(languages):
        rows = np.flatnonzero(languages == language)
        chosen = texts if len(rows) == len(texts) else texts.take(pa.array(rows))
        for place, pattern in enumerate(patterns(language)):
            found[rows, place] = matches(chosen, pattern)
    return found


def length_without(texts: pa.ChunkedArray, pattern: str) -> Int64Array:
    """Return the number of characters in each text outside the matches of a pattern."""
    return np.asarray(pc.utf8_length(pc.replace_substring_regex(texts, pattern, "")).to_numpy(), dtype=np.int64)


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    r"""Return a pattern of ``tables.toml`` for Python, where \b is a border of ASCII letters as it is for RE2."""
    return re.compile(re.sub(r"\\(.)", lambda escaped: r"(?a:\b)" if escaped[1] == "b" else escaped[0], pattern))


def without_addresses(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace each URL, path and dotted name in Latin letters by a space."""
    return pc.replace_substring_regex(pc.replace_substring_regex(texts, tables()["kept"]["urls"], " "), _ADDRESS, " ")


@functools.cache
def _no_words() -> str:
    """Return a pattern of the URLs, placeholders, tags and names of options in a text."""
    kept, others = tables()["kept"], tables()["no_words"]
    return "|".join((kept["urls"], kept["placeholders"], *others.values()))


def blanked(text: str) -> str:
    """Replace by spaces, one per character, what `clean_words` leaves out of a text besides punctuation."""
    return compiled(_no_words()).sub(lambda match: " " * len(match[0]), text)


def clean_words(texts: pa.ChunkedArray, *, lower: bool = True) -> pa.ListArray:
    """Return each text's words; in scripts without spaces each cluster is a word.

    Punctuation, URLs, placeholders, tags and names of options are left out.
    """
    bare = pc.replace_substring_regex(texts, _no_words(), " ")
    apart = pc.replace_substring_regex(pc.utf8_lower(bare) if lower else bare, _CLUSTER, r" \1 ")
    clean = pc.utf8_trim_whitespace(pc.replace_substring_regex(apart, r"[^\p{L}\p{M}\p{N}]+", " "))
    return pc.utf8_split_whitespace(clean).combine_chunks()


def joined(words: Sequence[str]) -> str:
    """Return words of `clean_words` as one text, with spaces unless most of them are of scripts without spaces."""
    return ("" if 2 * sum(map(is_unspaced, words)) > len(words) else " ").join(words)


def bare(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts in lower case, without punctuation, spaces, dots on the letter ё, and symbols unless all are."""
    signs = pc.replace_substring_regex(texts, r"[^\p{L}\p{M}\p{N}\p{S}]+", "")
    letters = pc.replace_substring_regex(signs, r"\p{S}\p{M}*", "")
    return pc.replace_substring(pc.utf8_lower(pc.if_else(pc.equal(letters, ""), signs, letters)), "ё", "е")


class Texts:
    """Texts of the candidates of a data set (`own`), of their sources and of their references; "" if missing."""

    def __init__(self, dataset: Dataset) -> None:
        tables = dataset.candidates, dataset.sources, dataset.references
        self.own, self.sources, self.references = (pc.fill_null(arrow_text(table["text"]), "") for table in tables)
        self.source, self.slots = dataset.candidate_source, dataset.reference_offsets
        self.languages, self.pairs = dataset.target_languages, dataset.source_language_pairs
        self.outputs = ~dataset.is_reference

    def of_references(self, flags: BoolArray) -> BoolArray:
        """Return flags by source, True where any reference of the source is flagged, shape (sources, ...)."""
        sums = np.concatenate([np.zeros((1, *flags.shape[1:]), np.int64), np.cumsum(flags, axis=0)])[self.slots]
        return np.asarray(np.diff(sums, axis=0) > 0)

    def beside(self, flagged: BoolArray) -> Iterator[tuple[int, str, str, list[str]]]:
        """Yield the row, source, text and references of each flagged output that has a source."""
        rows = np.flatnonzero(flagged & self.outputs)
        own, sources = self.own.take(pa.array(rows)).to_pylist(), self.sources.take(pa.array(self.source[rows]))
        references = self.references.to_pylist() if len(rows) else []
        for row, text, source in zip(rows.tolist(), own, sources.to_pylist(), strict=True):
            if source:
                yield row, source, text, references[slice(*self.slots[self.source[row] :][:2])]

    def reference_words(self, row: int) -> list[list[str]]:
        """Return the words of each reference of a candidate's source."""
        first, end = self.slots[self.source[row] :][:2]
        lists: list[list[str]] = clean_words(self.references.slice(first, end - first)).to_pylist()
        return lists

    @functools.cached_property
    def every(self) -> pa.ChunkedArray:
        """Texts of the candidates, the sources and the references, in this order, as one column."""
        columns = (self.own, self.sources, self.references)
        return pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.large_string())

    @functools.cached_property
    def copies(self) -> BoolArray:
        """True for candidates that equal their source, regardless of case, punctuation and white space."""
        own, sources = (bare(column) for column in (self.own, self.sources))
        return np.asarray(pc.equal(own, sources.take(pa.array(self.source))).to_numpy(), dtype=bool)

    @functools.cached_property
    def digits(self) -> list[npt.NDArray[np.object_]]:
        """Digits of each candidate and of each source, with every run of other characters replaced by a space."""
        spaced = (pc.replace_substring_regex(column, r"\P{Nd}+", " ") for column in (self.own, self.sources))
        return [pc.utf8_trim_whitespace(column).to_numpy() for column in spaced]

    @functools.cached_property
    def words(self) -> tuple[Int64Array, Int64Array, dict[str, int]]:
        """Words of candidates, sources and references as indices, the offset of each text, and each word's index."""
        lists = clean_words(self.every)
        words, lengths = lists.flatten().dictionary_encode(), pc.list_value_length(lists).to_numpy()
        numbers = {word: number for number, word in enumerate(words.dictionary.to_pylist())}
        return words.indices.to_numpy().astype(np.int64), np.concatenate([[0], np.cumsum(lengths)]), numbers

    @functools.cached_property
    def shared_words(self) -> FloatArray:
        """Share of each candidate's words that its source has too, shape (candidates,)."""
        codes, offsets, numbers = self.words
        of_source, own, owner = self._source_words
        key = owner[own] * len(numbers) + codes[: len(own)]
        known = np.isin(key, of_source * len(numbers) + codes[len(own) : len(own) + len(of_source)])
        sums = np.concatenate([[0], np.cumsum(known)])[offsets[: len(self.own) + 1]]
        return np.asarray(np.diff(sums) / np.maximum(np.diff(offsets[: len(self.own) + 1]), 1))

    @functools.cached_property
    def copied_runs(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Runs of words copied by candidates from their source: first word (index in `words`), length, candidate."""
        codes = self.words[0].astype(np.uint64)
        of_source, own, owner = self._source_words
        between = slice(len(own), len(own) + len(of_source))

        def pairs(source: Int64Array, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
            first = source[:-1].astype(np.uint64) * np.uint64(len(self.words[2]) + 1) + words[:-1]
            return np.asarray(first * _MIX + words[1:])

        copied = np.isin(
            pairs(owner[own], codes[: len(own)]), pairs(of_source, codes[between])[np.diff(of_source) == 0]
        )
        places = np.flatnonzero(copied & (np.diff(own) == 0))
        starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
        lengths = np.diff(starts, append=len(places)) + 1
        firsts = places[starts]
        return firsts, lengths, own[firsts]

    @property
    def _source_words(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Source index of each source word, candidate index of each candidate word, source index of each candidate."""
        sizes = np.diff(self.words[1])
        own, sources = len(self.own), len(self.sources)
        of_source = np.repeat(np.arange(sources), sizes[own : own + sources])
        return of_source, np.repeat(np.arange(own), sizes[:own]), self.source

    def frequent_words(self, language: str, of: BoolArray, without: str = "") -> FloatArray:
        """Return the share of each text's words that are frequent in a language; 0 for texts not flagged in `of`.

        Given another language `without`, only words of two or more letters that are not frequent in it count; the share
        of a text with fewer than two different ones is 0.
        """
        codes, offsets, numbers = self.words
        listed, lengths = tables()["language"]["words"], np.diff(offsets)[of]
        words = {*listed[language].split()} - {*listed.get(without, "").split()}
        known = np.zeros(len(numbers), dtype=bool)
        known[
            [numbers[word] for word in words if word in numbers and (len(word) > 1 or word > _LETTERS or not without)]
        ] = True
        chosen = codes[np.repeat(of, np.diff(offsets))]
        frequent = known[chosen]
        text = np.repeat(np.arange(len(lengths)), lengths)[frequent]
        counts = np.bincount(text, minlength=len(lengths))
        # a name such as Li Li has no two words of a language
        pairs = np.unique(text * len(numbers) + chosen[frequent])
        different = np.bincount(pairs // max(len(numbers), 1), minlength=len(lengths))
        shares = np.zeros(len(of))
        shares[of] = np.where(different >= (2 if without else 0), counts / np.maximum(lengths, 1), 0.0)
        return shares
