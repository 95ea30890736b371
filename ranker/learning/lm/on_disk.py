"""Interpolated modified Kneser-Ney models of texts of any size, written as ARPA files.

The same estimates as `ranker.learning.lm.kneser_ney`, which explains them, with columns on disk in place of arrays.
Words are numbered by their code points (``<unk>``, ``<s>`` and ``</s>`` first), so n-grams sorted by number are in the
order of the ARPA file, and what an n-gram needs of its context is read in ascending order. What it needs of its suffix,
the n-gram without its first word, is looked up for a block of n-grams at a time. Sums are of whole numbers, so no part
of the result depends on the size of the blocks. The vocabulary is kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranker import progress
from ranker.arrays import FloatArray, Int32Array, Int64Array
from ranker.errors import DataError, OptionError
from ranker.files import replacing
from ranker.learning.lm.arpa import SPECIAL_WORDS, check_word, ngram_lines
from ranker.learning.lm.counts import MAX_ORDER, ROOT, SENTENCE_END, SENTENCE_START, between_boundaries
from ranker.learning.lm.kneser_ney import DISCOUNT_FALLBACK, ZERO, discounts_from
from ranker.learning.lm.scratch import Column, Scratch
from ranker.learning.lm.windows import SortedWindows

FIRST_WORD = SENTENCE_END + 1
_LINES = 250_000
_BASE_BYTES, _WORD_BYTES = 150, 50
"""About what one row takes while it is worked on: so much, and so much for each word of an n-gram."""

Batch = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer], list[str]]
"""Sentences as values, offsets and the words that the values number, in order of first occurrence."""


@dataclass(frozen=True)
class TrainedModel:
    """What was learnt from a text, besides the file.

    Parameters
    ----------
    sentences, tokens : int
    ngrams : tuple of int
        Distinct n-grams by order; those of order 1 include ``<unk>``, ``<s>`` and ``</s>``.
    discounts : float array, shape (order, 3)
        As of `ranker.learning.lm.kneser_ney.NgramModel`.
    fallback_orders : tuple of int
        Orders whose discounts could not be estimated.
    """

    sentences: int
    tokens: int
    ngrams: tuple[int, ...]
    discounts: FloatArray
    fallback_orders: tuple[int, ...]


@dataclass(frozen=True)
class _Text:
    """Sentences between boundaries on disk, words numbered by first occurrence; and by their code points."""

    column: Column
    words: list[str]
    renumbered: Int32Array
    appearance: Int64Array
    sentences: int

    @classmethod
    def store(cls, batches: Iterable[Batch], scratch: Scratch) -> Self:
        column = scratch.column(np.int32)
        numbers: dict[str, int] = {}
        sentences = 0
        for values, offsets, vocabulary in batches:
            before = len(numbers)
            place = np.array(
                [numbers.setdefault(word, len(numbers) + FIRST_WORD) for word in vocabulary], dtype=np.int32
            )
            for word in vocabulary if len(numbers) > before else ():
                check_word(word)
            bounds = offsets.astype(np.int64)
            text, _ = between_boundaries(place[values], bounds, bounds + 2 * np.arange(len(bounds)))
            column.append(text)
            sentences += len(bounds) - 1
        if not sentences:
            raise DataError("a language model requires at least one training sentence, found none")
        words = sorted(numbers)
        first = np.array([numbers[word] for word in words], dtype=np.int64)
        renumbered = np.arange(FIRST_WORD + len(words), dtype=np.int32)
        renumbered[first] = np.arange(FIRST_WORD, len(renumbered))
        # the order in which lmplz numbers words: </s> comes before all others
        appearance = np.concatenate([np.arange(-SENTENCE_END, 1), first])
        return cls(column, words, renumbered, appearance, sentences)

    def by_code_points(self, scratch: Scratch) -> Column:
        column = scratch.column(np.int32)
        for start, stop in self.column.blocks():
            column.append(self.renumbered[self.column.read(start, stop)])
        return column


class NgramLevel:
    """The n-grams of one order, sorted; order 1 has all numbers of words, as the trie of `NgramCounts`."""

    def __init__(self, order: int, scratch: Scratch) -> None:
        self.order = order
        self.context = scratch.column(np.int64)
        self.word = scratch.column(np.int32)
        self.occurrences = scratch.column(np.int64)
        self.preceding = scratch.column(np.int64)
        self.suffix = scratch.column(np.int64)
        self.prob = scratch.column(np.float64)
        self.backoff = scratch.column(np.float64)

    def __len__(self) -> int:
        return len(self.word)

    def append(self, context: Int64Array, word: Int32Array) -> None:
        """Add n-grams, which sort behind all others."""
        self.context.append(context)
        self.word.append(word)

    def adjusted(self, start: int, stop: int) -> Int64Array:
        """Return adjusted counts; see `NgramCounts`."""
        preceding, occurrences = (column.read(start, stop) for column in (self.preceding, self.occurrences))
        counts = np.where(preceding > 0, preceding, occurrences)
        if self.order == 1 and start <= SENTENCE_START:
            counts[: SENTENCE_START + 1 - start] = 0
        return counts

    def find(self, context: Int64Array, word: Int32Array, types: int) -> Int64Array:
        """Return where n-grams are, all of which exist."""
        keys = context * types + word
        order = np.argsort(keys)
        keys = keys[order]
        places = np.empty(len(keys), dtype=np.int64)
        for start, stop in self.word.blocks():
            known = self.context.read(start, stop) * types + self.word.read(start, stop)
            part = slice(*np.searchsorted(keys, [known[0], known[-1] + 1]))
            places[order[part]] = start + np.searchsorted(known, keys[part])
        return places


def rows_for(memory: int, order: int) -> int:
    """Return how many n-grams fit into `memory` bytes while they are worked on."""
    return max(memory // (_BASE_BYTES + _WORD_BYTES * order), 1)


def train(
    batches: Iterable[Batch],
    order: int,
    path: str | Path,
    *,
    rows: int,
    directory: str | Path | None = None,
    comment: str | None = None,
) -> TrainedModel:
    """Estimate a language model from sentences of any number, and write it as an ARPA file.

    The bytes depend on the sentences alone.

    Parameters
    ----------
    batches : iterable of (values, offsets, words)
    order : int
        Longest n-grams, 2 to 6: KenLM reads no model of order 1.
    path : str or Path
        Replaced when the model is complete.
    rows : int
        How many n-grams are worked on at a time; see `rows_for`.
    directory : str or Path, optional
        For temporary files; by default the system's.
    comment : str, optional
        First line of the file, behind ``#``.

    Raises
    ------
    OptionError
        If the order is out of range.
    DataError
        If there is no sentence, a word cannot stand in an ARPA file, or a file cannot be written.
    """
    if not 2 <= order <= MAX_ORDER:
        raise OptionError(f"n-gram order {order}: expected 2 to {MAX_ORDER}, as supported by KenLM")
    with replacing(path) as stream, Scratch(directory, rows) as scratch:
        text = _Text.store(batches, scratch)
        types = len(text.renumbered)
        windows = SortedWindows.of_text(text.by_code_points(scratch), order, types, scratch)
        orders = count_windows(windows, order, types, scratch)
        last = link(orders, types, text.appearance)
        table, fallback_orders = estimate_discounts(orders, last)
        for level, discounts in zip(orders, table, strict=True):
            progress.report("orders estimated", level.order, order)
            _estimate(level, orders[level.order - 2] if level.order > 1 else None, discounts, scratch)
        ngrams = tuple(len(level) - (level.order == 1) for level in orders)
        highest = sum(size > 0 for size in ngrams)
        sizes = "".join(f"ngram {number}={size}\n" for number, size in enumerate(ngrams[:highest], start=1))
        header = f"# {comment}\n" if comment else ""
        stream.write(f"{header}\\data\\\n{sizes}".encode())
        strings = pa.array(["", *SPECIAL_WORDS, *text.words])
        for number in range(1, highest + 1):
            stream.write(f"\n\\{number}-grams:\n".encode())
            for start in range(1 if number == 1 else 0, len(orders[number - 1]), min(rows, _LINES)):
                stream.write(_lines(orders[:highest], number, start, start + min(rows, _LINES), strings))
        stream.write(b"\n\\end\\\n")
        tokens = len(text.column) - 2 * text.sentences
        return TrainedModel(text.sentences, tokens, ngrams, table, fallback_orders)


def count_windows(counted: SortedWindows, order: int, types: int, scratch: Scratch) -> list[NgramLevel]:
    """Return the distinct n-grams of all orders with their contexts and occurrences."""
    orders = [NgramLevel(number, scratch) for number in range(1, order + 1)]
    of_words = np.zeros(types, dtype=np.int64)
    orders[0].append(np.zeros(types, dtype=np.int64), np.arange(types, dtype=np.int32))
    # how often the last n-gram of each order occurs, as far as the windows were read
    pending = [0] * order
    last = np.full((1, order), -1, dtype=np.int32)
    for windows, counts in counted:
        differs = np.logical_or.accumulate(windows != np.concatenate([last, windows[:-1]]), axis=1)
        differs &= windows > 0
        last = windows[-1:]
        np.add.at(of_words, windows[:, 0], counts)
        above = windows[:, 0].astype(np.int64)
        for level, words, new in zip(orders[1:], windows[:, 1:].T, differs[:, 1:].T, strict=True):
            first = np.flatnonzero(new)
            known = len(level)
            level.append(above[first], words[first])
            # 0 is the last n-gram before these windows
            place = np.cumsum(new)
            occurrences = np.zeros(len(first) + 1, dtype=np.int64)
            np.add.at(occurrences, place, np.where(words > 0, counts, 0))
            occurrences[0] += pending[level.order - 1]
            if len(first):
                level.occurrences.append(occurrences[0 if known else 1 : -1])
            pending[level.order - 1] = int(occurrences[-1])
            above = known - 1 + place
    orders[0].occurrences.append(of_words)
    for level in orders[1:]:
        if len(level):
            level.occurrences.append(np.array([pending[level.order - 1]]))
    return orders


def link(orders: list[NgramLevel], types: int, appearance: Int64Array) -> list[int]:
    """Find the suffix of every n-gram, and count what precedes it.

    Returns
    -------
    list of int
        The last n-gram of each order below the highest, as `ranker.learning.lm.kneser_ney` counts it.
    """
    last = [int(np.argmax(appearance[1:])) + 1]
    for number, (lower, level) in enumerate(pairwise(orders), start=2):
        progress.report("orders counted", number, len(orders))
        lower.preceding.append_zeros(len(lower))
        candidates: list[Int64Array] = []
        for start, stop in level.word.blocks():
            word = level.word.read(start, stop)
            if number == 2:
                suffix = word.astype(np.int64)
            else:
                suffix = lower.find(lower.suffix.take(level.context.read(start, stop)), word, types)
            level.suffix.append(suffix)
            if len(last) == number - 1:
                candidates.append(_latest(orders, number, start + np.flatnonzero(suffix == last[-1]), appearance))
            lower.preceding.add(*np.unique(suffix, return_counts=True))
        latest = _latest(orders, number, np.concatenate([np.zeros(0, dtype=np.int64), *candidates]), appearance)
        last.extend(latest.tolist())
    orders[-1].preceding.append_zeros(len(orders[-1]))
    return last[: len(orders) - 1]


def _latest(orders: list[NgramLevel], number: int, ngrams: Int64Array, appearance: Int64Array) -> Int64Array:
    """Return that of some n-grams whose first word appeared last, or nothing of nothing."""
    first = ngrams
    for level in reversed(orders[1:number]):
        first = level.context.take(first)
    return ngrams[[np.argmax(appearance[first])]] if len(ngrams) else ngrams


def estimate_discounts(orders: list[NgramLevel], last: list[int]) -> tuple[FloatArray, tuple[int, ...]]:
    """Return the discounts, shape (orders, 3), and the orders of which they could not be estimated.

    Parameters
    ----------
    orders : list of NgramLevel
    last : list of int
        As of `link`.
    """
    table = np.zeros((len(orders), 3))
    fallback_orders = []
    for level in orders:
        counts_of_counts = np.zeros(6, dtype=np.int64)
        for start, stop in level.word.blocks():
            counts_of_counts += np.bincount(np.minimum(level.adjusted(start, stop), 5), minlength=6)
        if level.order <= len(last):
            place = last[level.order - 1]
            counts_of_counts[min(int(level.adjusted(place, place + 1)[0]), 5)] -= 1
            counts_of_counts[min(int(level.occurrences.read(place, place + 1)[0]), 5)] += 1
        estimated = discounts_from(counts_of_counts[1:5])
        if estimated is None:
            fallback_orders.append(level.order)
        table[level.order - 1] = DISCOUNT_FALLBACK if estimated is None else estimated
    return table, tuple(fallback_orders)


def _estimate(level: NgramLevel, lower: NgramLevel | None, discounts: FloatArray, scratch: Scratch) -> None:
    """Estimate the probabilities of one order, and the back-off weights of the order below."""
    discount = np.concatenate([[0.0], discounts])
    if lower is None:
        counts = level.adjusted(0, len(level))
        total = counts.sum()
        backoff = max(float(_taken(_by_count(counts), discount)) / total, ZERO)
        prob = (counts - discount[np.minimum(counts, 3)]) / total + backoff / (len(level) - 2)
        prob[[ROOT, SENTENCE_START]] = 1.0
        level.prob.append(prob)
        return
    totals, *numbers = context_sums(level, len(lower), scratch)
    for start, stop in lower.word.blocks():
        total = totals.read(start, stop)
        taken = _taken(tuple(column.read(start, stop) for column in numbers), discount)
        weight = np.divide(taken, total, out=np.ones(len(total)), where=total > 0)
        lower.backoff.append(np.maximum(weight, ZERO))
    for start, stop in level.word.blocks():
        context, counts = level.context.read(start, stop), level.adjusted(start, stop)
        shorter = lower.backoff.take(context) * lower.prob.take_unsorted(level.suffix.read(start, stop))
        level.prob.append((counts - discount[np.minimum(counts, 3)]) / totals.take(context) + shorter)


def context_sums(level: NgramLevel, contexts: int, scratch: Scratch) -> list[Column]:
    """Add up what follows every context: adjusted counts, and how many n-grams have the counts 1, 2, and 3 or more.

    Parameters
    ----------
    level : NgramLevel
    contexts : int
        Number of n-grams of the order below.
    scratch : Scratch
    """
    sums = [scratch.column(np.int64) for _ in range(4)]
    for column in sums:
        column.append_zeros(contexts)
    for start, stop in level.word.blocks():
        context, counts = level.context.read(start, stop), level.adjusted(start, stop)
        first = np.flatnonzero(np.diff(context, prepend=-1))
        for column, values in zip(sums, (counts, *_masks(counts)), strict=True):
            column.add(context[first], np.add.reduceat(values.astype(np.int64), first))
    return sums


def _masks(counts: Int64Array) -> tuple[npt.NDArray[np.bool_], ...]:
    return counts == 1, counts == 2, counts > 2


def _by_count(counts: Int64Array) -> tuple[Int64Array, ...]:
    return tuple(np.asarray(mask.sum()) for mask in _masks(counts))


def _taken(numbers: tuple[Int64Array, ...], discount: FloatArray) -> FloatArray:
    """Return what is taken from n-grams, of which so many have the counts 1, 2, and 3 or more."""
    ones, twos, more = numbers
    return np.asarray(discount[1] * ones + discount[2] * twos + discount[3] * more)


def _lines(orders: list[NgramLevel], number: int, start: int, stop: int, strings: pa.Array) -> bytes:
    level = orders[number - 1]
    backoff = np.log10(level.backoff.read(start, stop)) if number < len(orders) else None
    words = [level.word.read(start, stop)]
    context = level.context.read(start, stop)
    for lower in reversed(orders[: number - 1]):
        words.insert(0, lower.word.take(context))
        context = lower.context.take(context)
    prob = np.minimum(np.log10(level.prob.read(start, stop)), 0.0)
    return ngram_lines(strings, words, prob, backoff)
