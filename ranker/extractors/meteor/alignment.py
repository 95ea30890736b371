"""METEOR's alignment of a candidate with a reference: a beam search over their matches.

The reference is read from left to right. At each word a partial alignment takes one of the matches that begin there, if
the candidate's words are free, or no match. The best alignment covers the most words, weighted by module; ties go to
the fewest chunks, then to the least distance between the positions of matched words (Denkowski and Lavie 2014,
section 2).

With ``as_meteor`` the search has two peculiarities of the program Meteor 1.5, found by comparing alignments:

* weights are truncated to whole numbers when alignments are compared, so that of single words only exact matches count
  as covered: where matches compete, a stem or synonym match is taken only if it saves a chunk or costs none. The search
  uses the weights of the parameter set ``rank``, whichever set the scores use;
* the distance of a match is charged to the alternatives tried after it instead of to the alignment that takes it, so
  that of otherwise equal alignments one without a near match wins.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array, offsets_of
from ranker.extractors.meteor.matching import MatchTables, list_matches, matches_by_word, words_alone_match
from ranker.storage.kernels import kernel

STATISTICS = 21
"""Number of statistics: candidate words, reference words, function words of each, chunks (0 if all words of both match
in one chunk); then the matched content and function words of candidate and reference for each of the four modules."""
_FIRST_MODULE = 5
_SCALE = 1000  # weights are compared as whole thousandths, so that sums have no rounding
_OPEN = -1

# columns of a partial alignment: weight covered, chunks closed, distance, next free reference word, candidate word that
# would continue the open chunk or _OPEN, last node of its matches, match just taken or -1, and its parent's place
_WEIGHT, _CHUNKS, _DISTANCE, _NEXT, _CONTINUES, _NODE, _MATCH, _PARENT = range(8)


_PREFERENCE = itemgetter(0, 1, 2)
"""Sort key of partial alignments that are lists."""


class SearchOptions(NamedTuple):
    """Options of the search for an alignment: module weights, beam, and whether to search as Meteor 1.5 does."""

    weights: FloatArray
    beam: int
    as_meteor: bool


@kernel
def _better(path: Int64Array, other: Int64Array) -> bool:
    """True if the partial alignment `path` is strictly better than `other`."""
    if path[_WEIGHT] != other[_WEIGHT]:
        return bool(path[_WEIGHT] > other[_WEIGHT])
    if path[_CHUNKS] != other[_CHUNKS]:
        return bool(path[_CHUNKS] < other[_CHUNKS])
    return bool(path[_DISTANCE] < other[_DISTANCE])


@kernel
def _keep(path: Int64Array, best_paths: Int64Array, count: int) -> int:
    """Insert `path` into the sorted first `count` of `best_paths`, after equally good paths; return the new count."""
    place = count
    while place > 0 and _better(path, best_paths[place - 1]):
        place -= 1
    if place == len(best_paths):
        return count
    last = min(count, len(best_paths) - 1)
    for index in range(last, place, -1):
        best_paths[index] = best_paths[index - 1]
    best_paths[place] = path
    return last + 1


@kernel
def _undisputed(size: int, length: int, offsets: Int64Array, matches: Int32Array) -> Int64Array:
    """Return, for each reference word, the match that begins there and shares no word with another match, or -1."""
    in_candidate = np.zeros(size, dtype=np.int64)
    in_reference = np.zeros(length, dtype=np.int64)
    for j in range(length):
        for match in range(offsets[j], offsets[j + 1]):
            for i in range(matches[match, 0], matches[match, 0] + matches[match, 1]):
                in_candidate[i] += 1
            in_reference[j : j + matches[match, 2]] += 1
    sure = np.full(length, -1, dtype=np.int64)
    for j in range(length):
        if offsets[j + 1] - offsets[j] != 1:
            continue
        match = offsets[j]
        first = matches[match, 0]
        if in_candidate[first : first + matches[match, 1]].max() > 1:
            continue
        if in_reference[j : j + matches[match, 2]].max() == 1:
            sure[j] = match
    return sure


@kernel
def _match_weights(matches: Int32Array, options: SearchOptions) -> Int64Array:
    """Return each match's weight, the module's weight x the number of words matched in both texts, as an integer."""
    covered = np.empty(len(matches), dtype=np.int64)
    for match in range(len(matches)):
        weight = options.weights[matches[match, 3]]
        if options.as_meteor:
            covered[match] = int(weight * matches[match, 1]) + int(weight * matches[match, 2])
        else:
            covered[match] = round(_SCALE * weight * (matches[match, 1] + matches[match, 2]))
    return covered


@kernel
def _free(used: BoolArray, match: Int32Array) -> bool:
    return not bool(used[match[0] : match[0] + match[1]].any())


def _undisputed_on_lists(size: int, offsets: list[int], matches: list[Any]) -> list[bool]:
    """Return the mask of reference words at which a match begins that shares no word with any other match."""
    length = len(offsets) - 1
    in_candidate, in_reference = [0] * size, [0] * length
    for j in range(length):
        for first, candidate_words, reference_words, _ in matches[offsets[j] : offsets[j + 1]]:
            for i in range(first, first + candidate_words):
                in_candidate[i] += 1
            for word in range(j, j + reference_words):
                in_reference[word] += 1
    sure = []
    for j in range(length):
        alone = offsets[j + 1] - offsets[j] == 1
        if alone:
            first, candidate_words, reference_words, _ = matches[offsets[j]]
            alone = max(in_candidate[first : first + candidate_words]) == 1
            alone = alone and max(in_reference[j : j + reference_words]) == 1
        sure.append(alone)
    return sure


def _align_on_lists(
    size: int, offsets: list[int], matches: list[Any], options: SearchOptions
) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of chunks and the matches that `align` chooses, computed with Python integers and lists."""
    sure = _undisputed_on_lists(size, offsets, matches)
    weights, as_meteor = options.weights.tolist(), options.as_meteor
    # minus the weight covered, chunks closed, distance, next free reference word, what continues the open chunk, words
    # used, matches taken
    paths: list[tuple[int, int, int, int, int, int, Any]] = [(0, 0, 0, 0, _OPEN, 0, None)]
    for j, is_sure in enumerate(sure):
        choices = []
        for match in range(offsets[j], offsets[j + 1]):
            first, candidate_words, reference_words, module = matches[match]
            if as_meteor:
                covered = int(weights[module] * candidate_words) + int(weights[module] * reference_words)
            else:
                covered = round(_SCALE * weights[module] * (candidate_words + reference_words))
            stop, words = first + candidate_words, ((1 << candidate_words) - 1) << first
            choices.append((match, first, stop, words, covered, abs(j - first), j + reference_words))
        following = []
        for path in paths:
            weight, chunks, distance, after, continues, used, taken = path
            if after > j:
                following.append(path)
                continue
            closed = chunks + (continues != _OPEN)
            for match, first, stop, words, covered, gap, end in choices:
                if used & words and not is_sure:
                    continue
                chunks_then = chunks if continues == first else closed
                gone = distance if as_meteor else distance + gap
                following.append((weight - covered, chunks_then, gone, end, stop, used | words, (taken, j, match)))
                if as_meteor and not is_sure:
                    distance += gap
            if not is_sure:
                following.append((weight, closed, distance, j + 1, _OPEN, used, taken))
        if len(following) > 1:
            following.sort(key=_PREFERENCE)
        paths = following[: options.beam]
    best = min(paths, key=lambda path: (path[0], path[1] + (path[4] != _OPEN), path[2]))
    chosen = []
    taken = best[-1]
    while taken is not None:
        taken, j, match = taken
        chosen.append((j, match))
    return best[1] + (best[4] != _OPEN), chosen[::-1]


@kernel(elements=80_000)
def align(
    size: int, length: int, offsets: Int64Array, matches: Int32Array, options: SearchOptions
) -> tuple[int, Int64Array, Int64Array]:
    """Choose the best disjoint matches; return the number of chunks and each match's first reference word and index."""
    sure = _undisputed(size, length, offsets, matches)
    beam, as_meteor = options.beam, options.as_meteor
    covered = _match_weights(matches, options)
    paths, following = np.empty((beam, 8), dtype=np.int64), np.empty((beam, 8), dtype=np.int64)
    used, used_next = np.zeros((beam, size), dtype=np.bool_), np.zeros((beam, size), dtype=np.bool_)
    nodes = np.empty((beam * length + 1, 3), dtype=np.int64)  # previous node, reference word, match
    node_count = 0
    path = np.empty(8, dtype=np.int64)
    paths[0] = 0
    paths[0, _CONTINUES] = _OPEN
    paths[0, _NODE] = -1
    path_count = 1
    for j in range(length):
        count = 0
        for parent in range(path_count):
            path[:] = paths[parent]
            path[_PARENT], path[_MATCH] = parent, -1
            if path[_NEXT] > j:
                count = _keep(path, following, count)
                continue
            continues = path[_CONTINUES]
            closed = path[_CHUNKS] + (continues != _OPEN)
            for match in range(offsets[j], offsets[j + 1]):
                first = matches[match, 0]
                if sure[j] < 0 and not _free(used[parent], matches[match]):
                    continue
                distance = abs(j - first)
                path[_WEIGHT] = paths[parent, _WEIGHT] + covered[match]
                path[_CHUNKS] = paths[parent, _CHUNKS] if continues == first else closed
                if not as_meteor:
                    path[_DISTANCE] = paths[parent, _DISTANCE] + distance
                path[_NEXT] = j + matches[match, 2]
                path[_CONTINUES] = first + matches[match, 1]
                path[_MATCH] = match
                count = _keep(path, following, count)
                if as_meteor and sure[j] < 0:
                    path[_DISTANCE] += distance
            if sure[j] < 0:
                path[_WEIGHT], path[_CHUNKS] = paths[parent, _WEIGHT], closed
                if not as_meteor:
                    path[_DISTANCE] = paths[parent, _DISTANCE]
                path[_NEXT], path[_CONTINUES], path[_MATCH] = j + 1, _OPEN, -1
                count = _keep(path, following, count)
        for index in range(count):
            parent, match = following[index, _PARENT], following[index, _MATCH]
            used_next[index] = used[parent]
            if match >= 0:
                used_next[index, matches[match, 0] : matches[match, 0] + matches[match, 1]] = True
                nodes[node_count, 0], nodes[node_count, 1], nodes[node_count, 2] = following[index, _NODE], j, match
                following[index, _NODE] = node_count
                node_count += 1
        paths, following = following, paths
        used, used_next = used_next, used
        path_count = count
    for index in range(path_count):
        paths[index, _CHUNKS] += paths[index, _CONTINUES] != _OPEN
    best = 0
    for index in range(1, path_count):
        if _better(paths[index], paths[best]):
            best = index
    chosen_count = 0
    node = paths[best, _NODE]
    while node >= 0:
        chosen_count += 1
        node = nodes[node, 0]
    places, chosen = np.empty(chosen_count, dtype=np.int64), np.empty(chosen_count, dtype=np.int64)
    node = paths[best, _NODE]
    for index in range(chosen_count - 1, -1, -1):
        places[index], chosen[index] = nodes[node, 1], nodes[node, 2]
        node = nodes[node, 0]
    return paths[best, _CHUNKS], places, chosen


def _align_pairs_on_lists(
    values: Int32Array, offsets: Int64Array, pairs: Int64Array, tables: MatchTables, options: SearchOptions
) -> tuple[Int64Array, Int64Array, Int32Array]:
    stems = tables.words.stems
    chunks, counts, taken = [], [], []
    for first, second in pairs.tolist():
        texts = [values[offsets[sentence] : offsets[sentence + 1]] for sentence in (first, second)]
        candidate, reference = (text.tolist() for text in texts)
        if words_alone_match(second, tables):
            candidate_stems, reference_stems = (stems[text].tolist() if len(stems) else text.tolist() for text in texts)
            starts, matches = matches_by_word(candidate, reference, candidate_stems, reference_stems)
        else:
            starts, matches = (part.tolist() for part in list_matches(texts[0], texts[1], (first, second), tables))
        closed, chosen = _align_on_lists(len(candidate), starts, matches, options)
        chunks.append(closed)
        counts.append(len(chosen))
        taken += [(place, *matches[match]) for place, match in chosen]
    return (
        np.array(chunks, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array(taken, dtype=np.int32).reshape(-1, 5),
    )


def _words_to_align(values: Int32Array, offsets: Int64Array, pairs: Int64Array, *_: Any) -> int:
    return int(np.diff(offsets)[pairs].sum())


@kernel(elements=200_000, size=_words_to_align, plain=_align_pairs_on_lists, rows=("pairs",))
def align_pairs(
    values: Int32Array, offsets: Int64Array, pairs: Int64Array, tables: MatchTables, options: SearchOptions
) -> tuple[Int64Array, Int64Array, Int32Array]:
    """Return each pair's chunk count and match count, and all matches, with their first reference word in column 0."""
    chunks, counts = np.zeros(len(pairs), dtype=np.int64), np.zeros(len(pairs), dtype=np.int64)
    room = 0
    for pair in range(len(pairs)):
        room += offsets[pairs[pair, 1] + 1] - offsets[pairs[pair, 1]]
    taken = np.empty((room, 5), dtype=np.int32)
    count = 0
    for pair in range(len(pairs)):
        first, second = pairs[pair]
        candidate, reference = (
            values[offsets[first] : offsets[first + 1]],
            values[offsets[second] : offsets[second + 1]],
        )
        match_offsets, matches = list_matches(candidate, reference, (first, second), tables)
        chunks[pair], places, chosen = align(len(candidate), len(reference), match_offsets, matches, options)
        counts[pair] = len(chosen)
        for index in range(len(chosen)):
            taken[count, 0], taken[count, 1:] = places[index], matches[chosen[index]]
            count += 1
    return chunks, counts, taken[:count].copy()


def alignment_statistics(
    values: Int32Array,
    offsets: Int64Array,
    pairs: Int64Array,
    tables: MatchTables,
    is_function: BoolArray,
    options: SearchOptions,
) -> FloatArray:
    """Return the statistics of the alignments of sentence pairs, shape (pairs, STATISTICS)."""
    chunks, counts, matches = align_pairs(values, offsets, pairs, tables, options)
    functions = offsets_of(is_function[values])
    lengths = np.diff(offsets)[pairs]
    rows = np.zeros((len(pairs), STATISTICS))
    rows[:, 0:2], rows[:, 2:4] = lengths, functions[offsets[pairs + 1]] - functions[offsets[pairs]]
    pair = np.repeat(np.arange(len(pairs)), counts)
    for side, (place, size) in enumerate((matches.T[1:3], matches.T[0:4:3])):
        start = offsets[pairs[pair, side]] + place
        functional = functions[start + size] - functions[start]
        column = _FIRST_MODULE + 4 * matches[:, 4] + 2 * side
        np.add.at(rows, (pair, column), size - functional)
        np.add.at(rows, (pair, column + 1), functional)
    is_whole = (chunks == 1) & (rows[:, _FIRST_MODULE:].sum(axis=1) == lengths.sum(axis=1))
    rows[:, 4] = np.where(is_whole, 0, chunks)
    return rows
