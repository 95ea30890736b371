"""Matches between two token sequences beyond n-grams: common subsequences, skip-bigrams, common runs.

Kernels over pairs of sentences in CSR form: entry ``i`` compares sentence ``first[i]`` with sentence ``second[i]``.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray, Int32Array, Int64Array
from ranker.storage.kernels import kernel

_BITS = 64
_MANY_CELLS = 10_000
_EVERY, _ONE, _NONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1), np.uint64(0)


def _lcs_of_integers(left: Int32Array, right: Int32Array) -> int:
    """Return the LCS length, as `_lcs` does, computed on integers with one bit per word of `left` (Hyyrö 2004)."""
    places: dict[int, int] = {}
    for at, word in enumerate(left.tolist()):
        places[word] = places.get(word, 0) | (1 << at)
    every = (1 << len(left)) - 1
    unmatched = every
    for word in right.tolist():
        matched = unmatched & places.get(word, 0)
        unmatched = ((unmatched + matched) | (unmatched - matched)) & every
    return len(left) - unmatched.bit_count()


@kernel(plain=_lcs_of_integers)
def _long_lcs(left: Int32Array, right: Int32Array) -> np.int64:
    """Return the LCS length, as `_lcs` does, computed in blocks of 64 words of `left`."""
    words, numbers = np.unique(left), np.zeros(len(right), dtype=np.int64)
    found = np.searchsorted(words, right)
    for at in range(len(right)):
        is_in_left = found[at] < len(words) and words[found[at]] == right[at]
        numbers[at] = found[at] if is_in_left else len(words)
    places = np.searchsorted(words, left)
    masks, carries = np.zeros(len(words) + 1, dtype=np.uint64), np.zeros(len(right), dtype=np.uint64)
    common = np.int64(0)
    for start in range(0, len(left), _BITS):
        stop = min(start + _BITS, len(left))
        for at in range(start, stop):
            masks[places[at]] |= _ONE << np.uint64(at - start)
        unmatched = _EVERY
        for at in range(len(right)):
            matched = unmatched & masks[numbers[at]]
            whole = unmatched + matched
            following = whole + carries[at]
            carries[at] = _ONE if whole < unmatched or following < whole else _NONE
            unmatched = following | (unmatched & ~matched)
        for at in range(start, stop):
            masks[places[at]] = _NONE
            common += np.int64(unmatched >> np.uint64(at - start) & _ONE == _NONE)
    return common


@kernel(plain=_lcs_of_integers)
def _lcs(left: Int32Array, right: Int32Array) -> np.int64:
    if len(left) * len(right) > _MANY_CELLS:
        return _long_lcs(left, right)
    best = np.zeros((2, len(right) + 1), dtype=np.int64)
    for i in range(len(left)):
        now, before = (i + 1) % 2, i % 2
        for j in range(len(right)):
            if left[i] == right[j]:
                best[now, j + 1] = best[before, j] + 1
            else:
                best[now, j + 1] = max(best[before, j + 1], best[now, j])
    return np.int64(best[len(left) % 2, len(right)])


@kernel(elements=40_000, rows=("first", "second"))
def lcs_lengths(values: Int32Array, offsets: Int64Array, first: Int64Array, second: Int64Array) -> Int64Array:
    """Return the length of each pair's longest common subsequence, shape (pairs,)."""
    result = np.empty(len(first), dtype=np.int64)
    for pair in range(len(first)):
        left = values[offsets[first[pair]] : offsets[first[pair] + 1]]
        right = values[offsets[second[pair]] : offsets[second[pair] + 1]]
        result[pair] = _lcs(left, right)
    return result


def _weighted_lengths_on_lists(left: Int32Array, right: Int32Array, weight: float) -> list[list[float]]:
    columns = left.tolist()
    powers = [(1.0 * length) ** weight for length in range(len(columns) + 2)]
    best, runs = [[0.0] * (len(columns) + 1)], [0] * (len(columns) + 1)
    for word in right.tolist():
        value, above, now, runs_above, runs = 0.0, best[-1], [0.0], runs, [0]
        for j, other in enumerate(columns):
            length = -1
            if word == other:
                length = runs_above[j]
                value = above[j] + powers[length + 1] - powers[length]
            elif above[j + 1] > value:
                value = above[j + 1]
            now.append(value)
            runs.append(length + 1)
        best.append(now)
    return best


@kernel(plain=_weighted_lengths_on_lists)
def _weighted_lengths(left: Int32Array, right: Int32Array, weight: float) -> FloatArray:
    """Return the weighted LCS length of each pair of prefixes (Lin 2004, section 4), shape (right + 1, left + 1)."""
    best = np.zeros((len(right) + 1, len(left) + 1))
    runs = np.zeros((len(right) + 1, len(left) + 1), dtype=np.int64)
    for i in range(len(right)):
        for j in range(len(left)):
            if right[i] == left[j]:
                length = runs[i, j]
                best[i + 1, j + 1] = best[i, j] + (length + 1.0) ** weight - (1.0 * length) ** weight
                runs[i + 1, j + 1] = length + 1
            else:
                best[i + 1, j + 1] = max(best[i, j + 1], best[i + 1, j])
    return best


@kernel
def _weighted_lcs(left: Int32Array, right: Int32Array, weight: float) -> float:
    """Return the sum of ``k ** weight`` over runs of k consecutive words of `right` in the weighted LCS."""
    best = _weighted_lengths(left, right, weight)
    total = 0.0
    i, j, length, last = len(right), len(left), 0, -1
    while i > 0 and j > 0:
        if right[i - 1] == left[j - 1]:
            if last != i:
                total += (1.0 * length) ** weight if length else 0.0
                length = 0
            length += 1
            last = i - 1
            i -= 1
            j -= 1
        elif best[i - 1][j] >= best[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return total + ((1.0 * length) ** weight if length else 0.0)


@kernel(elements=40_000, rows=("first", "second"))
def weighted_lcs(
    values: Int32Array, offsets: Int64Array, first: Int64Array, second: Int64Array, weight: float
) -> FloatArray:
    """Return the weight of each pair's weighted longest common subsequence, shape (pairs,).

    As in ROUGE-1.5.5: Lin's (2004) recursion finds the path, and then runs that are consecutive in the second
    sentence count, whether or not they are consecutive in the first.
    """
    result = np.empty(len(first))
    for pair in range(len(first)):
        left = values[offsets[first[pair]] : offsets[first[pair] + 1]]
        right = values[offsets[second[pair]] : offsets[second[pair] + 1]]
        result[pair] = _weighted_lcs(left, right, weight)
    return result


@kernel
def _skip_bigrams(words: Int32Array, distance: int) -> Int64Array:
    """Return all pairs of words, in text order, with at most `distance` words between them, as sorted integers."""
    reach = len(words) if distance < 0 else distance + 1
    size = 0
    for i in range(len(words)):
        size += min(reach, len(words) - 1 - i)
    keys = np.empty(size, dtype=np.int64)
    at = 0
    for i in range(len(words)):
        for j in range(i + 1, min(i + 1 + reach, len(words))):
            keys[at] = (np.int64(words[i]) << 32) | np.int64(words[j])
            at += 1
    return np.sort(keys)


@kernel
def _common(left: Int64Array, right: Int64Array) -> int:
    """Return the size of the multiset intersection of two sorted arrays."""
    i = j = size = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            size += 1
            i += 1
            j += 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return size


@kernel(rows=("first", "second"))
def skip_bigram_counts(
    values: Int32Array, offsets: Int64Array, first: Int64Array, second: Int64Array, distance: int
) -> Int64Array:
    """Count the skip-bigrams that the two sentences of each pair share, and those of each sentence, shape (pairs, 3).

    They skip at most `distance` words, or any number if it is negative (Lin 2004, section 5).
    """
    result = np.empty((len(first), 3), dtype=np.int64)
    for pair in range(len(first)):
        left = _skip_bigrams(values[offsets[first[pair]] : offsets[first[pair] + 1]], distance)
        right = _skip_bigrams(values[offsets[second[pair]] : offsets[second[pair] + 1]], distance)
        result[pair] = _common(left, right), len(left), len(right)
    return result


@kernel(rows=("first", "second"))
def common_words(
    values: Int32Array, offsets: Int64Array, first: Int64Array, second: Int64Array, dropped: int
) -> Int64Array:
    """Count the words that each pair of sentences shares, repetitions included, without their last `dropped` words."""
    result = np.empty(len(first), dtype=np.int64)
    for pair in range(len(first)):
        start, stop = offsets[first[pair]], offsets[first[pair] + 1]
        left = np.sort(values[start : max(start, stop - dropped)].astype(np.int64))
        start, stop = offsets[second[pair]], offsets[second[pair] + 1]
        result[pair] = _common(left, np.sort(values[start : max(start, stop - dropped)].astype(np.int64)))
    return result


@kernel
def _run_sum(left: Int32Array, right: Int32Array, exponent: float) -> float:
    """Return the sum of ``length ** exponent`` over common runs, always matching the longest unmatched run next."""
    free_left = np.ones(len(left), dtype=np.bool_)
    free_right = np.ones(len(right), dtype=np.bool_)
    run = np.zeros((2, len(right) + 1), dtype=np.int64)
    total = 0.0
    while True:
        longest, end_left, end_right = 0, 0, 0
        run[:] = 0
        for i in range(len(left)):
            now, before = (i + 1) % 2, i % 2
            for j in range(len(right)):
                if free_left[i] and free_right[j] and left[i] == right[j]:
                    run[now, j + 1] = run[before, j] + 1
                    if run[now, j + 1] > longest:
                        longest, end_left, end_right = run[now, j + 1], i + 1, j + 1
                else:
                    run[now, j + 1] = 0
        if longest == 0:
            return total
        total += (1.0 * longest) ** exponent
        free_left[end_left - longest : end_left] = False
        free_right[end_right - longest : end_right] = False


@kernel(rows=("first", "second"))
def run_sums(
    values: Int32Array, offsets: Int64Array, first: Int64Array, second: Int64Array, exponent: float
) -> FloatArray:
    """Return, for each pair, the sum of length ** exponent over the greedily matched common runs of words."""
    result = np.empty(len(first))
    for pair in range(len(first)):
        left = values[offsets[first[pair]] : offsets[first[pair] + 1]]
        right = values[offsets[second[pair]] : offsets[second[pair] + 1]]
        result[pair] = _run_sum(left, right, exponent)
    return result
