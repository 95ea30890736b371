"""N-gram counts of the parts of a text, added up on disk: exactly the counts of the whole text.

Words are numbered by their code points. So the sorted windows of a part (`ranker.learning.lm.windows`) stay sorted
when they get the numbers of all words, and merging them adds their counts up. Of the sums, every process then reads the
n-grams that it needs: a part of the trie with the counts of the whole text. The vocabulary, with a sentence for each of
its words, is kept in memory while counts are added up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from ranker.arrays import FloatArray, Int32Array, Int64Array, take_rows
from ranker.errors import DataError
from ranker.files import display_name, finish_writing, replacing_together
from ranker.learning.lm.counts import SENTENCE_END, NgramCounts, NgramTrie, TextSums, between_boundaries, count_ngrams
from ranker.learning.lm.on_disk import FIRST_WORD, context_sums, count_windows, estimate_discounts, link
from ranker.learning.lm.scratch import Column, Scratch
from ranker.learning.lm.windows import SortedWindows, windows_of

_FACTS, _WORDS = "facts.json", "words.parquet"


@dataclass(frozen=True, eq=False)
class PartCounts:
    """The windows of a part of a text, and where its words appear first if sentences are sorted by their code points.

    Parameters
    ----------
    words : list of str
        By code points; the first has the number 4, as in `ranker.learning.lm.counts`.
    windows : int32 array, shape (windows, order)
        Distinct and ascending, padded with 0.
    counts : int64 array, shape (windows,)
    first_text : list of str
        The sentence in which every word appears first.
    first_row, first_position : int64 array, shape (words,)
        Row of this sentence among all as they are sorted, and the place of the word in it.
    sentences : int
    """

    words: list[str]
    windows: Int32Array
    counts: Int64Array
    first_text: list[str]
    first_row: Int64Array
    first_position: Int64Array
    sentences: int

    @classmethod
    def of(
        cls, values: Int32Array, offsets: Int64Array, vocabulary: Sequence[str], texts: Sequence[str], order: int
    ) -> Self:
        """Count the sentences of a part.

        Parameters
        ----------
        values : int32 array, shape (tokens,)
        offsets : int64 array, shape (sentences + 1,)
        vocabulary : sequence of str
            Word of every value.
        texts : sequence of str
            The sentences as written, by code points.
        order : int
            Longest n-grams.
        """
        used, first = np.unique(np.asarray(values, dtype=np.int64), return_index=True)
        words = [vocabulary[word] for word in used.tolist()]
        by_code_points = np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.int64)
        used, first = used[by_code_points], first[by_code_points]
        number = np.zeros(len(vocabulary), dtype=np.int32)
        number[used] = np.arange(FIRST_WORD, FIRST_WORD + len(used))
        text, _ = between_boundaries(number[values], offsets, offsets + 2 * np.arange(len(offsets)))
        with Scratch(None, max(len(text), 1)) as scratch:
            counted = SortedWindows(order, FIRST_WORD + len(used), scratch)
            counted.add(windows_of(text, len(text), order))
            # one run of one block
            windows, counts = next(iter(counted), (np.zeros((0, order), dtype=np.int32), np.zeros(0, dtype=np.int64)))
        sentence = np.searchsorted(offsets, first, side="right") - 1
        return cls(
            sorted(words),
            windows,
            counts,
            [texts[place] for place in sentence.tolist()],
            sentence.astype(np.int64),
            first - offsets[sentence],
            len(offsets) - 1,
        )


def merge(
    parts: Callable[[], Iterable[PartCounts]], order: int, folder: str | Path, *, signature: str, model: bool, rows: int
) -> None:
    """Add up the counts of all parts and write them; other files in `folder` stay.

    Parameters
    ----------
    parts : callable
        Returns the parts in their order, twice.
    order : int
    folder : str or Path
        Exists; `MergedCounts` reads it.
    signature : str
        Of the parts.
    model : bool
        Whether a language model is estimated from the counts.
    rows : int
        How many n-grams are worked on at a time.
    """
    first: dict[str, tuple[str, int, int, int]] = {}
    sentences = 0
    for number, part in enumerate(parts()):
        sentences += part.sentences
        places = zip(part.first_row.tolist(), part.first_position.tolist(), strict=True)
        for word, text, place in zip(part.words, part.first_text, places, strict=True):
            here = (text, number, *place)
            if word not in first or here < first[word]:
                first[word] = here
    words = sorted(first)
    types = FIRST_WORD + len(words)
    appearance = np.empty(types, dtype=np.int64)
    # </s> comes before all others
    appearance[:FIRST_WORD] = range(-SENTENCE_END, 1)
    by_appearance = sorted(range(len(words)), key=lambda word: first[words[word]])
    appearance[FIRST_WORD + np.array(by_appearance, dtype=np.int64)] = np.arange(1, len(words) + 1)
    number_of = {word: number for number, word in enumerate(words, FIRST_WORD)}
    first.clear()
    with replacing_together(folder) as temporary, Scratch(temporary, rows) as scratch:
        counted = SortedWindows(order, types, scratch)
        for part in parts():
            numbers = np.array([*range(FIRST_WORD), *(number_of[word] for word in part.words)], dtype=np.int32)
            counted.add(numbers[part.windows], part.counts)
        number_of.clear()
        orders = count_windows(counted, order, types, scratch)
        table, _ = estimate_discounts(orders, link(orders, types, appearance)) if model else (np.zeros((order, 3)), ())
        for level in orders:
            _write(temporary, f"{level.order}.occurrences", level.occurrences)
            if level.order > 1:
                _write(temporary, f"{level.order}.keys", level.context, level.word, types)
            if model:
                _write(temporary, f"{level.order}.preceding", level.preceding)
                contexts = len(orders[level.order - 2]) if level.order > 1 else 1
                for name, column in zip(_SUMS, context_sums(level, contexts, scratch), strict=True):
                    _write(temporary, f"{level.order - 1}.{name}", column)
        pyarrow.parquet.write_table(pa.table({"word": pa.array(words, pa.large_string())}), temporary / _WORDS)
        facts = {"signature": signature, "order": order, "types": types, "sentences": sentences}
        (temporary / _FACTS).write_text(json.dumps({**facts, "discounts": table.tolist()}), encoding="utf-8")


def is_merged(folder: str | Path, signature: str) -> bool:
    """Whether `folder` has the sums of parts with this signature."""
    try:
        return MergedCounts(folder).signature == signature
    except DataError:
        return False


class MergedCounts:
    """The counts of all parts, as `merge` wrote them; read where they are needed.

    Parameters
    ----------
    folder : str or Path

    Raises
    ------
    DataError
        If files are missing or damaged.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        finish_writing(folder)
        try:
            facts: dict[str, Any] = json.loads((self.folder / _FACTS).read_text(encoding="utf-8"))
            self.signature, self.order, self.types = str(facts["signature"]), int(facts["order"]), int(facts["types"])
            self.sentences = int(facts["sentences"])
            self.discounts: FloatArray = np.array(facts["discounts"], dtype=np.float64)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._damaged(error) from None

    def numbers(self, words: Sequence[str]) -> Int64Array:
        """Return the numbers of words, -1 of those that no part has."""
        try:
            known = pyarrow.parquet.read_table(self.folder / _WORDS).column("word")
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(error) from None
        place = pc.index_in(pa.array(words, pa.large_string()), value_set=known)
        places: Int64Array = place.fill_null(-1 - FIRST_WORD).to_numpy(zero_copy_only=False).astype(np.int64)
        return places + FIRST_WORD

    def find(self, order: int, context: Int64Array, word: Int64Array) -> Int64Array:
        """Return where n-grams are among those of their order, -1 of those that no part has.

        Parameters
        ----------
        order : int
            From 2.
        context : int64 array
            Where the n-grams without their last words are; -1 if they are not there.
        word : int64 array
            Number of the last word, or -1.
        """
        places = np.full(len(context), -1, dtype=np.int64)
        keys = self._array(f"{order}.keys")
        possible = np.flatnonzero((context >= 0) & (word >= 0))
        if not len(keys) or not len(possible):
            return places
        wanted = context[possible] * self.types + word[possible]
        ascending = np.argsort(wanted)
        possible, wanted = possible[ascending], wanted[ascending]
        place = np.searchsorted(keys, wanted)
        known = keys[np.minimum(place, len(keys) - 1)] == wanted
        places[possible[known]] = place[known]
        return places

    def occurrences(self, order: int, places: Int64Array) -> Int64Array:
        """Return how often n-grams occur, 0 of those at -1."""
        counts = np.zeros(len(places), dtype=np.int64)
        known = places >= 0
        counts[known] = self._array(f"{order}.occurrences")[places[known]]
        return counts

    @property
    def tokens(self) -> int:
        """Number of words in all parts."""
        return int(self._array("1.occurrences")[FIRST_WORD:].sum())

    def part(
        self, values: npt.ArrayLike, offsets: npt.ArrayLike, vocabulary: Sequence[str], training: npt.ArrayLike
    ) -> tuple[NgramCounts, TextSums]:
        """Return those n-grams that occur in some sentences, with their counts in all parts.

        Parameters
        ----------
        values : array-like of int, shape (tokens,)
        offsets : array-like of int, shape (sentences + 1,)
        vocabulary : sequence of str
            Word of every value.
        training : array-like of int
            Which of the sentences are sentences of a part; they are those of the result, in this order.
        """
        own = count_ngrams(values, offsets, self.order)
        trie = own.trie
        places = np.full(len(trie.word), -1, dtype=np.int64)
        places[:FIRST_WORD] = range(FIRST_WORD)
        places[FIRST_WORD : trie.starts[2]] = self.numbers([vocabulary[word] for word in trie.word_ids.tolist()])
        for order in range(2, self.order + 1):
            nodes = trie.nodes(order)
            places[nodes] = self.find(order, places[trie.context[nodes]], places[trie.word[nodes]])
        present = np.flatnonzero(places >= 0)
        levels = [present[(present >= start) & (present < stop)] for start, stop in pairwise(trie.starts)]
        new = np.full(len(places), -1, dtype=np.int32)
        new[present] = np.arange(len(present), dtype=np.int32)
        context = new[trie.context[present]]
        restricted = NgramTrie(
            word_ids=trie.word_ids[levels[1][FIRST_WORD - 1 :] - FIRST_WORD],
            starts=np.cumsum([0, *map(len, levels)]),
            context=context,
            word=new[trie.word[present]],
            suffix=new[trie.suffix[present]],
            first_child=np.searchsorted(context[1:], np.arange(len(present) + 1)).astype(np.int32) + np.int32(1),
        )
        occurrences, preceding = (
            np.concatenate(
                [[0], *(self._array(f"{n}.{name}")[places[level]] for n, level in enumerate(levels[1:], start=1))]
            )
            for name in ("occurrences", "preceding")
        )
        adjusted = np.where(preceding > 0, preceding, occurrences)
        adjusted[: FIRST_WORD - 1] = 0
        sums = [
            np.concatenate([self._array(f"{n}.{name}")[places[level]] for n, level in enumerate(levels[:-1])])
            for name in _SUMS
        ]
        chosen, ends = take_rows(own.sentence_offsets, np.asarray(training, dtype=np.int64))
        counts = NgramCounts(
            restricted, occurrences.astype(np.int32), adjusted.astype(np.int32), ends, new[own.longest[chosen]]
        )
        followers = np.stack([np.zeros_like(sums[0]), *sums[1:]], axis=1)
        return counts, TextSums(sums[0], followers, preceding > 0, self.types - 2, self.sentences)

    def _array(self, name: str) -> npt.NDArray[Any]:
        try:
            array: npt.NDArray[Any] = np.load(self.folder / f"{name}.npy", mmap_mode="r")
        except (OSError, ValueError, EOFError) as error:
            raise self._damaged(error) from None
        return array

    def _damaged(self, error: Exception) -> DataError:
        what = f"cannot be read ({type(error).__name__}): delete it and run the command again"
        return DataError(what, file=display_name(self.folder))


_SUMS = ("totals", "ones", "twos", "more")


def _write(folder: Path, name: str, column: Column, words: Column | None = None, types: int = 1) -> None:
    """Write a column, or contexts times `types` plus words, as a file that numpy maps into memory."""
    with (folder / f"{name}.npy").open("wb") as stream:
        header = {"descr": "<i8", "fortran_order": False, "shape": (len(column),)}
        np.lib.format.write_array_header_1_0(stream, header)
        for start, stop in column.blocks():
            values = column.read(start, stop).astype("<i8")
            if words is not None:
                values = values * types + words.read(start, stop)
            stream.write(values.tobytes())
