"""Notes on data sets that are probably not as their user assumes, each found by a small function.

The texts of every system are compared with the references of the same sources. Thresholds are far from what clean
outputs show, so that a note is worth reading. Systems with fewer than five such outputs get no note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, block_offsets, source_place, view
from ranker.corpora.judgements import PREFERENCES, kinds, mean_ratings, ratings_of
from ranker.corpora.records import distinct_values
from ranker.errors import counted
from ranker.ranks import TIE, merge_ties

_LONGEST_NAME = 60

FEWEST_SOURCES = 30
_FEWEST = 5
_EQUAL, _NEARLY_EQUAL = 0.5, 0.6
_COPIED, _EXTREME, _REPEATED, _FOREIGN = 0.05, 0.02, 0.02, 0.05
_STYLED, _UNSTYLED = 0.4, 0.1
_MARKED = 0.05
_SUBWORDS = "divided into sub-words (@@ or \u2581): join them first, as fairseq's --remove-bpe does"
_TIMES, _LONG = 3.0, 40
_MOST_SYSTEMS = 100
_TIED = 0.95
_WINDOW, _SHIFTED = 10, 1.4
_SKETCHED, _BITS = 96, 512
_FEW_LINES, _EACH = 1000, 30
_PROFILED, _PROFILE_BYTES, _PROFILE, _LEAST_SIMILAR = 100, 200, 4096, 0.5
_CHUNK = 20_000


@dataclass(frozen=True)
class Note:
    """A probable problem in a data set: the number of cases, the place of the first case, and a description."""

    count: int
    first: str
    text: str

    def __str__(self) -> str:
        """Return the note as one line."""
        return f"{self.text} (first: {self.first})" if self.first else self.text


Check = Callable[[Dataset], list[Note]]


@dataclass(frozen=True, eq=False)
class Outputs:
    """System outputs of a data set with their first references, grouped by language pair and system."""

    rows: Int64Array
    group: Int64Array
    names: list[tuple[str, str]]
    source: Int64Array
    reference: Int64Array
    text: Int64Array
    reference_text: Int64Array
    source_text: Int64Array

    @property
    def compared(self) -> BoolArray:
        """True for outputs whose source has a reference, shape (outputs,)."""
        return self.reference >= 0

    @property
    def sizes(self) -> Int64Array:
        """Number of outputs of each system of each language pair, shape (groups,)."""
        return np.bincount(self.group, minlength=len(self.names))

    def shares(self, flagged: BoolArray, among: BoolArray) -> FloatArray:
        """Return the fraction of flagged outputs for each group, of its outputs that are `among`, shape (groups,)."""
        counts, sizes = (np.bincount(self.group[rows], minlength=len(self.names)) for rows in (flagged & among, among))
        return np.asarray(counts / np.maximum(sizes, 1))

    def often(self, flagged: BoolArray, least: float, among: BoolArray) -> BoolArray:
        """True for groups in which enough outputs are flagged, and at least the fraction `least` of those `among`."""
        counts = np.bincount(self.group[flagged & among], minlength=len(self.names))
        return np.asarray((self.shares(flagged, among) >= least) & (counts >= _FEWEST))


@view
def outputs(dataset: Dataset) -> Outputs:
    """Return the system outputs of `dataset`, grouped by language pair and system; if it has none, all candidates."""
    candidates = dataset.candidates
    # where all candidates are references, they are what is scored
    rows = np.flatnonzero(~dataset.is_reference | dataset.is_reference.all())
    pairs, pair_names = pd.factorize(dataset.source_language_pairs)
    systems, system_names = pd.factorize(candidates["system"])
    codes = pairs[dataset.candidate_source[rows]].astype(np.int64) * len(system_names) + systems[rows]
    present, group = np.unique(codes, return_inverse=True)
    order = np.argsort(group, kind="stable")
    rows, group = rows[order], group[order].astype(np.int64)
    source = dataset.candidate_source[rows]
    starts, stops = dataset.reference_offsets[:-1][source], dataset.reference_offsets[1:][source]
    reference = np.where(starts < stops, starts, -1)
    texts = _numbered(candidates["text"], dataset.references["text"], dataset.sources["text"])
    return Outputs(
        rows,
        group,
        [
            (str(pair_names[code // len(system_names)]), _short(str(system_names[code % len(system_names)])))
            for code in present.tolist()
        ],
        source,
        reference,
        texts[0][rows],
        np.append(texts[1], -1)[reference],
        texts[2][source],
    )


def arrow_text(texts: pd.Series) -> pa.ChunkedArray:
    """Return a text column as an Arrow array."""
    return pa.chunked_array(pa.array(texts.array))


def _numbered(*columns: pd.Series) -> list[Int64Array]:
    """Return an integer for each text of each column; equal texts have equal integers in all columns."""
    chunks = [chunk for column in columns for chunk in arrow_text(column).cast(pa.large_string()).chunks]
    encoded = distinct_values(pa.chunked_array(chunks, pa.large_string()))
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1])


def _place(dataset: Dataset, at: int) -> str:
    arrays = outputs(dataset)
    return f"{source_place(dataset, int(arrays.source[at]))}, {arrays.names[arrays.group[at]][1]}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def _of_systems(dataset: Dataset, flagged: BoolArray, what: str) -> list[Note]:
    """Return a list with one note about the flagged outputs, or an empty list if none is flagged."""
    if not flagged.any():
        return []
    arrays = outputs(dataset)
    names = [arrays.names[group] for group in np.unique(arrays.group[flagged]).tolist()]
    several = len({pair for pair, _ in arrays.names}) > 1
    listed = [f"{system} ({pair})" if several else system for pair, system in names]
    shown = ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
    count = int(flagged.sum())
    return [Note(count, _place(dataset, int(np.argmax(flagged))), f"{counted(count, 'output')} of {shown} {what}")]


def equal_to_the_reference(dataset: Dataset) -> list[Note]:
    """Find systems whose outputs equal the reference."""
    arrays = outputs(dataset)
    flagged = (arrays.text == arrays.reference_text) & arrays.compared
    often = arrays.often(flagged, _EQUAL, arrays.compared)
    return _of_systems(dataset, flagged & often[arrays.group], "equal the reference")


def copies_of_the_source(dataset: Dataset) -> list[Note]:
    """Find systems that leave many sources untranslated."""
    arrays = outputs(dataset)
    long = pc.greater(pc.utf8_length(arrow_text(dataset.sources["text"])), 20).to_numpy()[arrays.source]
    flagged = (arrays.text == arrays.source_text) & (arrays.text != arrays.reference_text) & long
    often = arrays.often(flagged, _COPIED, np.ones_like(flagged))
    return _of_systems(dataset, flagged & often[arrays.group], "are copies of the source")


def shifted_lines(dataset: Dataset) -> list[Note]:
    """Find runs of outputs that match the reference of the line before or after instead of their own."""
    arrays = outputs(dataset)
    if not len(dataset.references):
        return []
    texts, sketches = arrow_text(dataset.candidates["text"]), _sketches(arrow_text(dataset.references["text"]))
    sketches = np.concatenate([sketches, np.zeros_like(sketches[:1])])
    flagged = np.zeros(len(arrays.rows), dtype=bool)
    bounds = np.searchsorted(arrays.group, np.arange(len(arrays.names) + 1))
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        every = np.arange(start, stop)
        some = every if len(every) < _FEW_LINES else every[(every - start) % _EACH < _WINDOW]
        for at in (some, every) if len(every) >= _FEWEST else ():
            own = _sketches(texts.take(pa.array(arrays.rows[at])))
            agreement, before, after = (
                _overlaps(own, sketches[arrays.reference[np.clip(at + step, start, stop - 1)]]) for step in (0, -1, 1)
            )
            closer = _runs(agreement, before) | _runs(agreement, after)
            flagged[at] = closer
            if not closer.any():
                break
    what = "agree with the reference of a neighbouring source, not with their own: are lines shifted?"
    return _of_systems(dataset, flagged, what)


def _runs(own: FloatArray, other: FloatArray) -> BoolArray:
    """True for outputs that match a neighbouring line's reference better than their own, as most outputs nearby do."""
    size = min(_WINDOW, len(own))
    sums = [np.convolve(values, np.ones(size), mode="valid") for values in (own, other)]
    closer = np.convolve(other > own, np.ones(size), mode="valid")
    begins = np.flatnonzero((sums[1] > _SHIFTED * sums[0]) & (closer >= 0.8 * size))
    inside = np.zeros(len(own) + 1, dtype=np.int64)
    np.add.at(inside, begins, 1)
    np.add.at(inside, begins + size, -1)
    return (np.cumsum(inside)[:-1] > 0) & (other > own)


def _overlaps(first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64]) -> FloatArray:
    return np.asarray(np.bitwise_count(first & second).sum(axis=1), dtype=np.float64)


def _sketches(texts: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return a bit set of hashed four-byte runs from the start of each text, shape (texts, `_BITS` / 64)."""
    parts = []
    for start in range(0, len(texts), _CHUNK):
        row, code = _byte_runs(texts.slice(start, _CHUNK), _SKETCHED, 4, _BITS)
        present = np.zeros((min(_CHUNK, len(texts) - start), _BITS), dtype=bool)
        present[row, code] = True
        parts.append(np.packbits(present, axis=1).view(np.uint64))
    return np.concatenate([np.zeros((0, _BITS // 64), dtype=np.uint64), *parts])


def _byte_runs(
    texts: pa.ChunkedArray, longest: int, size: int, codes: int
) -> tuple[Int64Array, npt.NDArray[np.uint32]]:
    """Return the text and the hash of each of the first `longest` runs of `size` bytes in each lower-cased text.

    Hashes are integers below `codes`.
    """
    lower = pc.ascii_lower(texts).cast(pa.large_string()).combine_chunks()
    buffer = lower.buffers()[2]
    points = np.zeros(0, dtype=np.uint8) if buffer is None else np.frombuffer(buffer, dtype=np.uint8)
    offsets = np.frombuffer(lower.buffers()[1], dtype=np.int64)[lower.offset : lower.offset + len(lower) + 1]
    runs = np.clip(np.diff(offsets) - size + 1, 0, longest)
    row = np.repeat(np.arange(len(runs)), runs)
    place = np.arange(len(row)) + np.repeat(offsets[:-1] - (np.cumsum(runs) - runs), runs)
    code = np.zeros(len(row), dtype=np.uint32)
    for step in range(size):
        code = code * np.uint32(0x01000193) + points[place + step]
    code ^= code >> np.uint32(15)
    code *= np.uint32(0x2C1B3C6D)
    return row, (code >> np.uint32(12)) % np.uint32(codes)


def one_sentence_repeated(dataset: Dataset) -> list[Note]:
    """Find systems that give the same text for many sources whose references differ."""
    arrays = outputs(dataset)
    size = int(arrays.text.max(initial=0)) + 1
    key = arrays.group * size + arrays.text
    keys, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    pairs = np.unique(
        np.stack([inverse, arrays.reference_text, arrays.source_text], axis=1)[counts[inverse] >= _FEWEST], axis=0
    )
    different = np.bincount(pairs[:, 0], minlength=len(keys))
    often = (counts >= np.maximum(_FEWEST, _REPEATED * arrays.sizes[keys // size])) & (2 * different > counts)
    flagged = often[inverse] & (arrays.text >= 0) & ~_blank(dataset)[arrays.rows]
    return _of_systems(dataset, flagged, "repeat a sentence given for other sources")


def _styled(dataset: Dataset, has: Callable[[pa.ChunkedArray], pa.ChunkedArray], what: str) -> list[Note]:
    arrays = outputs(dataset)
    own = _truth(has(arrow_text(dataset.candidates["text"])))[arrays.rows] & arrays.compared
    of_references = np.append(_truth(has(arrow_text(dataset.references["text"]))), False)[arrays.reference]
    groups = arrays.often(own, _STYLED, arrays.compared)
    groups &= arrays.shares(of_references, arrays.compared) <= _UNSTYLED
    return _of_systems(dataset, own & ~of_references & groups[arrays.group], f"{what}, unlike the references")


def _truth(values: pa.ChunkedArray) -> BoolArray:
    return np.asarray(values.to_numpy(), dtype=bool)


def lower_case(dataset: Dataset) -> list[Note]:
    """Find systems that use no capital letters although the references do."""
    return _styled(
        dataset, lambda texts: pc.and_(pc.equal(pc.utf8_lower(texts), texts), _longer(texts)), "are in lower case"
    )


def tokenised(dataset: Dataset) -> list[Note]:
    """Find systems with spaces before commas and full stops although the references have no such spaces."""
    return _styled(
        dataset,
        lambda texts: pc.or_(pc.match_substring(texts, " , "), pc.ends_with(texts, " .")),
        "are tokenised (have spaces before commas or full stops)",
    )


def decomposed(dataset: Dataset) -> list[Note]:
    """Find systems that write accents as characters of their own although the references do not."""
    return _styled(
        dataset,
        lambda texts: pc.match_substring_regex(texts, r"[\x{300}-\x{36f}]"),
        "have accents as separate characters",
    )


def in_subwords(dataset: Dataset) -> list[Note]:
    """Find systems, and references, whose words are divided into sub-words with marks, as by BPE or SentencePiece."""
    arrays = outputs(dataset)
    flagged = _has_subwords(dataset.candidates["text"])[arrays.rows]
    flagged &= arrays.often(flagged, _MARKED, np.ones_like(flagged))[arrays.group]
    notes = _of_systems(dataset, flagged, f"are {_SUBWORDS}")
    marked = _has_subwords(dataset.references["text"])
    if marked.sum() >= max(_FEWEST, _MARKED * len(marked)):
        at = dataset.references["source"].to_numpy(np.int64)[marked]
        notes += _at_sources(dataset, at, f"reference is {_SUBWORDS}", f"references are {_SUBWORDS}")
    return notes


def _has_subwords(texts: pd.Series) -> BoolArray:
    return _truth(pc.match_substring_regex(arrow_text(texts), r"\S@@(?:\s|$)|(?:^|\s)\x{2581}"))


def _longer(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.not_equal(pc.utf8_upper(texts), texts)


def other_language(dataset: Dataset) -> list[Note]:
    """Find systems that write in a different script or language from the references."""
    arrays = outputs(dataset)
    if not len(dataset.references):
        return []
    own, reference = _bytes_per_letter(dataset.candidates["text"]), _bytes_per_letter(dataset.references["text"])
    width, expected = own[arrays.rows], np.append(reference, np.nan)[arrays.reference]
    flagged = (np.maximum(width, expected) > 1.6) & (np.minimum(width, expected) < 1.2)
    flagged &= arrays.often(flagged, _FOREIGN, arrays.compared)[arrays.group]
    flagged |= (_similarity(dataset) < _LEAST_SIMILAR)[arrays.group]
    # copies of the source and sub-words have notes of their own
    flagged &= arrays.compared & (arrays.text != arrays.source_text)
    if flagged.any():
        flagged &= ~_has_subwords(dataset.candidates["text"])[arrays.rows]
        flagged &= ~np.append(_has_subwords(dataset.references["text"]), False)[arrays.reference]
    return _of_systems(dataset, flagged, "look to be in another language than the references")


def _bytes_per_letter(texts: pd.Series) -> FloatArray:
    """Return the bytes per character of each text, which depend on the script; NaN for short texts."""
    arrow = arrow_text(texts)
    letters = pc.utf8_length(arrow).to_numpy().astype(np.float64)
    letters[letters < 10] = np.nan
    return np.asarray(pc.binary_length(arrow).to_numpy() / letters)


def _similarity(dataset: Dataset) -> FloatArray:
    """Return the similarity of each system's outputs to the references, by three-byte runs; NaN for too few outputs."""
    arrays = outputs(dataset)
    alike = np.full(len(arrays.names), np.nan)
    texts, references = (arrow_text(table["text"]) for table in (dataset.candidates, dataset.references))
    bounds = np.searchsorted(arrays.group, np.arange(len(arrays.names) + 1))
    for group, (start, stop) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        at = np.arange(start, stop, max(1, (stop - start) // _PROFILED))
        at = at[arrays.reference[at] >= 0]
        if len(at) < FEWEST_SOURCES:
            continue
        profiles = [
            np.bincount(_byte_runs(column.take(pa.array(rows[at])), _PROFILE_BYTES, 3, _PROFILE)[1], minlength=_PROFILE)
            for column, rows in ((texts, arrays.rows), (references, arrays.reference))
        ]
        norms = [float(np.linalg.norm(profile)) for profile in profiles]
        if min(norms) > 0:
            alike[group] = float(profiles[0] @ profiles[1]) / (norms[0] * norms[1])
    return alike


def _blank(dataset: Dataset) -> BoolArray:
    return _truth(pc.equal(pc.utf8_trim_whitespace(arrow_text(dataset.candidates["text"])), ""))


def empty(dataset: Dataset) -> list[Note]:
    """Find outputs without any text."""
    arrays = outputs(dataset)
    flagged = _blank(dataset)[arrays.rows]
    return _of_systems(dataset, flagged, f"{'is' if flagged.sum() == 1 else 'are'} empty")


def _at_sources(dataset: Dataset, sources: Int64Array, one: str, several: str) -> list[Note]:
    """Return a list with one note about the given sources, or an empty list if there are none."""
    if not len(sources):
        return []
    text = f"1 {one}" if len(sources) == 1 else f"{len(sources):,} {several}"
    return [Note(len(sources), source_place(dataset, int(sources[0])), text)]


def without_outputs(dataset: Dataset) -> list[Note]:
    """Find sources that no system translated."""
    none = np.flatnonzero(np.bincount(outputs(dataset).source, minlength=len(dataset.sources)) == 0)
    return _at_sources(dataset, none, "source has no output", "sources have no output")


def empty_references(dataset: Dataset) -> list[Note]:
    """Find references without any text."""
    blank = _truth(pc.equal(pc.utf8_trim_whitespace(arrow_text(dataset.references["text"])), ""))
    of_blank = dataset.references["source"].to_numpy(np.int64)[blank]
    return _at_sources(dataset, of_blank, "reference is empty", "references are empty")


def of_two_language_pairs(dataset: Dataset) -> list[Note]:
    """Find sources whose text and reference also occur in another language pair."""
    if len(dataset.language_pairs) < 2:
        return []
    of_source = dataset.references["source"].to_numpy(np.int64)
    texts = _numbered(dataset.references["text"], dataset.sources["text"])
    pairs = pd.factorize(dataset.source_language_pairs)[0]
    frame = pd.DataFrame({"text": texts[1][of_source], "reference": texts[0], "pair": pairs[of_source]})
    blank, unknown = (
        _truth(pc.equal(pc.utf8_trim_whitespace(arrow_text(table["text"])), ""))
        for table in (dataset.references, dataset.sources)
    )
    filled = ~(blank | unknown[of_source])
    first = frame.groupby(["text", "reference"])["pair"].transform("first").to_numpy()
    again = np.unique(of_source[(first != frame["pair"].to_numpy()) & filled])
    # short texts are the same in several languages
    again = again[: len(again) if len(again) >= _FOREIGN * len(dataset.sources) else 0]
    what = "the same text and reference in another language pair"
    return _at_sources(dataset, again, f"source has {what}", f"sources have {what}")


def short_or_long(dataset: Dataset) -> list[Note]:
    """Find systems with many outputs less than a third, or more than three times, as long as the reference."""
    arrays = outputs(dataset)
    own = pc.utf8_length(arrow_text(dataset.candidates["text"])).to_numpy()[arrays.rows]
    expected = np.append(pc.utf8_length(arrow_text(dataset.references["text"])).to_numpy(), -1)[arrays.reference]
    longer, shorter = np.maximum(own, expected), np.minimum(own, expected)
    flagged = (expected > 0) & (own > 0) & (longer > _LONG) & (longer > _TIMES * shorter)
    flagged &= arrays.often(flagged, _EXTREME, arrays.compared)[arrays.group]
    return _of_systems(dataset, flagged, "are much longer or shorter than the reference")


@view
def nearly_identical(dataset: Dataset) -> list[tuple[tuple[str, str, str], int]]:
    """Find pairs of systems with mostly equal outputs; return their language pair and names, and an example source."""
    arrays = outputs(dataset)
    found: list[tuple[tuple[str, str, str], int]] = []
    for pair in dict.fromkeys(pair for pair, _ in arrays.names):
        groups = [number for number, (own, _) in enumerate(arrays.names) if own == pair]
        if not 2 <= len(groups) <= _MOST_SYSTEMS:
            continue
        number = {group: place for place, group in enumerate(groups)}
        at = np.flatnonzero(np.isin(arrays.group, groups))
        sources, column = np.unique(arrays.source[at], return_inverse=True)
        texts = np.full((len(groups), len(sources)), -1, dtype=np.int64)
        texts[[number[group] for group in arrays.group[at].tolist()], column] = arrays.text[at]
        for place, row in enumerate(texts):
            both = (row >= 0) & (texts >= 0)
            equal = ((row == texts) & both).sum(axis=1)
            close = (equal >= _NEARLY_EQUAL * np.maximum(both.sum(axis=1), 1)) & (equal >= 2 * _FEWEST)
            for other in np.flatnonzero(close[:place]).tolist():
                same = int(sources[np.argmax((row == texts[other]) & (row >= 0))])
                found.append(((pair, arrays.names[groups[other]][1], arrays.names[groups[place]][1]), same))
    return found


def nearly_identical_systems(dataset: Dataset) -> list[Note]:
    """Find systems of one language pair whose outputs are mostly the same."""
    found = nearly_identical(dataset)
    if not found:
        return []
    ((_, first, second), source), *others = found
    more = f" and {counted(len(others), 'more pair')}" if others else ""
    return [Note(len(found), source_place(dataset, source), f"nearly identical systems: {first} and {second}{more}")]


def few_sources(dataset: Dataset) -> list[Note]:
    """Find language pairs with too few sources for conclusions about systems or metrics."""
    pairs, sizes = np.unique(dataset.source_language_pairs, return_counts=True)
    few = np.flatnonzero(sizes < FEWEST_SOURCES)
    if not len(few):
        return []
    of_pair = f" of {pairs[few[0]]}" if len(pairs) > 1 else ""
    more = f" and {counted(len(few) - 1, 'more language pair')}" if len(few) > 1 else ""
    what = f"only {counted(int(sizes[few[0]]), 'source')}{of_pair}{more}: differences may be chance"
    return [Note(len(few), "", what)]


def almost_all_ties(dataset: Dataset) -> list[Note]:
    """Return a list with one note if almost all judgements of the default kind are ties, or else an empty list."""
    kind = next(iter(kinds(dataset)), None)
    if kind is None:
        return []
    if kind == PREFERENCES:
        relations = dataset.preferences["relation"][dataset.preferences["relation"] != "-"]
        return _tied(int((relations == "=").sum()), len(relations), "preferences are ties")
    ratings = ratings_of(dataset, kind)
    return tied_scores(dataset, mean_ratings(dataset, ratings, ratings["value"].to_numpy(np.float64)), kind)


def tied_scores(dataset: Dataset, scores: FloatArray, what: str, *, only_near: bool = False) -> list[Note]:
    """Return a list with one note if candidates of a source almost always have equal `scores`, ignoring NaN scores.

    If `only_near` is true, only scores that differ, but are near enough to tie, count as equal.
    """
    known = ~np.isnan(scores)
    source = dataset.candidate_source[known]
    merged = merge_ties(scores[known], block_offsets(source, len(dataset.sources)))
    frame = pd.DataFrame({"source": source, "tied": merged, "equal": scores[known]})
    keys = (["source"], ["source", "tied"], ["source", "tied", "equal"])
    sizes = [frame.groupby(columns, sort=False).size().to_numpy() for columns in keys]
    pairs, ties, equal = (int((size * (size - 1) // 2).sum()) for size in sizes)
    near = f" (scores nearer than {TIE:g} tie: give them on a larger scale)" if 2 * equal < ties else ""
    ties -= equal if only_near else 0
    return _tied(ties, pairs, f"pairs of candidates of a source have the same {what}{near}")


def _tied(ties: int, pairs: int, what: str) -> list[Note]:
    few = pairs < _FEWEST or ties < _TIED * pairs
    return [] if few else [Note(ties, "", f"{ties:,} of {pairs:,} {what}")]


def given_twice(datasets: Sequence[Dataset]) -> Iterator[str]:
    """Yield a note on each data set that has outputs of an earlier one, of the same systems for the same sources."""
    before = np.zeros(0, dtype=np.uint64)
    for dataset in datasets:
        texts = {"source": dataset.sources["text"].to_numpy(object)[dataset.candidate_source]}
        texts |= {column: dataset.candidates[column].to_numpy(object) for column in ("system", "text")}
        keys = pd.util.hash_pandas_object(pd.DataFrame(texts), index=False).to_numpy()[~_blank(dataset)]
        again = int(np.isin(keys, before).sum())
        if again >= max(_FOREIGN * len(keys), 1):
            yield f"{dataset.name}: {again:,} of {counted(len(keys), 'output')} are in other data too: give them once"
        before = np.concatenate([before, keys])


CHECKS: tuple[Check, ...] = (
    equal_to_the_reference,
    copies_of_the_source,
    in_subwords,
    shifted_lines,
    one_sentence_repeated,
    other_language,
    empty,
    empty_references,
    without_outputs,
    of_two_language_pairs,
    short_or_long,
    lower_case,
    tokenised,
    decomposed,
    nearly_identical_systems,
    almost_all_ties,
)
"""Checks of all data, the most serious first."""
CONCLUSIONS: tuple[Check, ...] = (few_sources,)
"""Additional checks for conclusions about systems or metrics."""


def notes_of(dataset: Dataset, checks: Sequence[Check] = CHECKS) -> Iterator[Note]:
    """Yield the notes found by `checks`; checks of texts run only if there are texts."""
    for check in checks:
        if dataset.has_texts or check in (almost_all_ties, *CONCLUSIONS):
            yield from check(dataset)
