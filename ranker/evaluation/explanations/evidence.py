"""Words that explain the difference between the scores of two candidates of one source."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.errors import counted
from ranker.extractors.base import Extractor
from ranker.text.matched_words import readable_batch, stretches, words_matched_by_one
from ranker.text.ngrams import closest_reference_lengths
from ranker.text.reference_pairs import reference_pairs
from ranker.text.repeated_words import align_contexts
from ranker.text.tokens import TokenBatch, token_batch

_SHOWN = 3
"""Maximum number of phrases that a line of evidence quotes."""
_LONGEST = 6
"""Maximum number of words quoted of a phrase."""
_SIMILARITY = re.compile(r" -?\d\.\d\d\Z")


@dataclass(frozen=True)
class Evidence:
    """Evidence for the score difference between two candidates: words for each candidate, and a description."""

    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    text: str = ""


def evidence_of(
    extractors: Sequence[Extractor], dataset: Dataset, rows: tuple[int, int], names: tuple[str, str]
) -> Evidence:
    """Return the evidence that the variants of one extractor find in only one of two candidates."""
    if not extractors:
        return Evidence()
    matches = [_matches(extractors, dataset, row) for row in rows]
    if any(matches):
        only = tuple((matches[0] - matches[1]).elements()), tuple((matches[1] - matches[0]).elements())
        return _only(only, names, "has" if extractors[0].family == "mismatch" else "matches")
    family = extractors[0].family
    if family == "length":
        return _lengths(dataset, rows, names)
    first, last = dataset.reference_offsets[dataset.candidate_source[rows[0]] :][:2]
    if first == last:
        # all other evidence requires references
        return Evidence()
    if family == "word order":
        return _only(_out_of_order(dataset, rows), names, "has out of order")
    if family == "fluency" and any(extractor.fit_scope == "ranked" for extractor in extractors):
        return _only(_unseen(dataset, rows), names, "has phrases that are in no other reference:")
    if family in ("words", "similarity"):
        return _only(words_matched_by_one(readable_batch(dataset), *rows), names, "matches")
    return Evidence()


def _matches(extractors: Sequence[Extractor], dataset: Dataset, row: int) -> Counter[str]:
    """Return a candidate's matches, each with its highest count for any one reference."""
    matches: Counter[str] = Counter()
    for extractor in extractors:
        for notes in extractor.evidence(dataset, row).values():
            matches |= Counter(match for note in notes if (match := as_match(note)))
    return matches


def as_match(evidence: str) -> str:
    """Return a match without its similarity, or only one word if its two words are equal; "" for other evidence."""
    if evidence.startswith(("+ ", "- ")) or evidence.endswith("(substitution)"):
        return ""
    match = _SIMILARITY.sub("", evidence)
    for sign in (" = ", "~"):
        left, separator, right = match.partition(sign)
        if separator and right == "(none)":
            return ""
        if separator and left == right:
            return left
    return match


def _only(words: tuple[tuple[str, ...], tuple[str, ...]], names: tuple[str, str], does: str) -> Evidence:
    texts = [
        f"only {name} {does} {', '.join(map(_quoted, only[:_SHOWN]))}{', ...' if len(only) > _SHOWN else ''}"
        for name, only in zip(names, words, strict=True)
        if only
    ]
    return Evidence(*words, "; ".join(texts))


def _quoted(stretch: str) -> str:
    words = stretch.split(" ")
    return repr(" ".join([*words[:_LONGEST], "..."] if len(words) > _LONGEST else words))


def _lengths(dataset: Dataset, rows: tuple[int, int], names: tuple[str, str]) -> Evidence:
    batch = readable_batch(dataset)
    lengths = batch.candidate_lengths
    texts = [f"{name} has {counted(int(lengths[row]), 'word')}" for name, row in zip(names, rows, strict=True)]
    source = dataset.candidate_source[rows[0]]
    if dataset.reference_offsets[source] < dataset.reference_offsets[source + 1]:
        closest = closest_reference_lengths(batch)
        texts = [f"{text}, its closest reference {closest[row]}" for text, row in zip(texts, rows, strict=True)]
    return Evidence(text="; ".join(texts))


def _out_of_order(dataset: Dataset, rows: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return, for each of two candidates, phrases of its closest reference that only this candidate puts out of order.

    The closest reference is the one that shares most words; words out of order are those outside a longest ascending
    sequence of reference positions.
    """
    batch, pairs = token_batch(dataset, "13a", lowercase=True), reference_pairs(dataset)
    orders = align_contexts(dataset, "isozaki", "13a", lowercase=True)
    source = batch.candidate_source[rows[0]]
    references = np.arange(*batch.reference_offsets[source : source + 2])
    displaced: list[Counter[tuple[int, int]]] = []
    for row in rows:
        block = pairs.offsets[references] + row - batch.candidate_offsets[source]
        best = int(np.argmax(orders.lengths[block]))
        positions = orders.positions[slice(*orders.offsets[block[best] : block[best] + 2])].tolist()
        ascending = set(longest_ascending(positions))
        displaced.append(Counter((int(references[best]), at) for at in dict.fromkeys(positions) if at not in ascending))
    word_lists = []
    for own, opposing in zip(displaced, reversed(displaced), strict=True):
        only = own - opposing
        phrases: list[str] = []
        for reference in sorted({reference for reference, _ in only}):
            words = batch.segments.words(int(batch.reference[reference]))
            flagged = [(reference, at) in only for at in range(len(words))]
            phrases.extend(stretches(batch.texts[batch.reference[reference]], words, flagged))
        word_lists.append(tuple(phrases))
    return word_lists[0], word_lists[1]


def longest_ascending(values: Sequence[int]) -> list[int]:
    """Return a longest strictly ascending subsequence (patience sorting)."""
    # the lowest last value of the subsequences of each length, and its index
    lowest: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values):
        length = bisect_left(lowest, value)
        before.append(places[length - 1] if length else -1)
        lowest[length : length + 1] = [value]
        places[length : length + 1] = [place]
    at = places[-1] if places else -1
    members = []
    while at >= 0:
        members.append(values[at])
        at = before[at]
    return members[::-1]


def _unseen(dataset: Dataset, rows: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return each candidate's phrases of word pairs absent from the other candidate and other sources' references."""
    batch = readable_batch(dataset)
    source = batch.candidate_source[rows[0]]
    own = np.sort(_word_pairs(batch, batch.reference[slice(*batch.reference_offsets[source : source + 2])]))
    pairs = [_word_pairs(batch, batch.candidate[[row]]) for row in rows]
    phrases = []
    for row, bigrams, opposing in zip(rows, pairs, reversed(pairs), strict=True):
        elsewhere = _occurrences(dataset, bigrams) - (
            np.searchsorted(own, bigrams, side="right") - np.searchsorted(own, bigrams)
        )
        unseen = (elsewhere == 0) & ~np.isin(bigrams, opposing)
        sentence = int(batch.candidate[row])
        words = batch.segments.words(sentence)
        # a word belongs to a phrase if a pair that it begins or ends is unseen
        around = np.concatenate([[False], unseen, [False]])[: len(words) + 1]
        phrases.append(stretches(batch.texts[sentence], words, (around[:-1] | around[1:]).tolist()))
    return phrases[0], phrases[1]


def _word_pairs(batch: TokenBatch, sentences: Int64Array) -> Int64Array:
    """Return the pairs of neighbouring words in sentences, encoded as numbers."""
    values, offsets = batch.segments.take(sentences)
    sentence = np.repeat(np.arange(len(sentences)), np.diff(offsets))
    words = values.astype(np.int64)
    codes = (words[:-1] << 32) + words[1:]
    return np.asarray(codes[sentence[:-1] == sentence[1:]])


def _occurrences(dataset: Dataset, pairs: Int64Array) -> Int64Array:
    """Number of occurrences of each word pair in all references."""
    known, counts = _reference_word_pairs(dataset)
    place = np.searchsorted(known, pairs)
    return np.where(np.append(known, -1)[place] == pairs, np.append(counts, 0)[place], 0)


@view
def _reference_word_pairs(dataset: Dataset) -> tuple[Int64Array, Int64Array]:
    """Return the distinct pairs of neighbouring words in all references, sorted by code, and the count of each pair."""
    batch = readable_batch(dataset)
    known, counts = np.unique(_word_pairs(batch, batch.reference), return_counts=True)
    return known, counts.astype(np.int64)
