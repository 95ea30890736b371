"""Scores of permutations, in batches: similarity of a word order to the reference's order.

A permutation p of 0..n-1 gives the reference's position for each position; the identity is the same order. All scores
are 1 for the identity and lie in [0, 1], except `pet_flat`, which can be negative, and scores of trees with a positive
gamma, which are negative if a primal operator is worse than the inverted permutation. n = 0 scores 0, n = 1 scores 1.
The formulas are those of the metrics of the same names, in `ranker.extractors.order.metrics` and `tree_metrics`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.extractors.order.tree_parser import new_nodes, parse_permutation
from ranker.extractors.order.tree_scores import (
    CANONICAL,
    FLAT,
    FOREST,
    VITERBI,
    TreeTables,
    forest_shape,
    inverted_value,
    log_catalan,
    make_tables,
    raw_value,
)
from ranker.ranks import sort_counting
from ranker.storage.kernels import kernel

_SEQUENCE = {"hamming": 0, "kendall": 1, "kendall_sqrt": 2, "spearman": 3, "ulam": 4, "fuzzy": 5}
_HAMMING, _KENDALL, _KENDALL_SQRT, _SPEARMAN, _ULAM, _FUZZY = range(6)
_RECURSIVE = {"pet": CANONICAL, "pet_flat": FLAT, "pet_viterbi": VITERBI, "pef": FOREST}
_SHAPE = {"pet_arity": 0, "pet_size": 1, "pet_max_arity": 2, "pef_size": 3}
_ARITY, _SIZE, _MAX_ARITY, _PEF_SIZE = range(4)

NAMES = (*_SEQUENCE, *_RECURSIVE, *_SHAPE)
"""Names of the metrics whose scores `permutation_scores` computes."""


@kernel
def _longest(offsets: Int64Array) -> int:
    longest = 0
    for item in range(len(offsets) - 1):
        longest = max(longest, offsets[item + 1] - offsets[item])
    return longest


@kernel
def _longest_increasing(permutation: Int64Array, ends: Int64Array) -> int:
    """Length of the longest increasing subsequence; ``ends[k]`` is the lowest end of subsequences of length k + 1."""
    longest = 0
    for value in permutation:
        low, high = 0, longest
        while low < high:
            middle = (low + high) // 2
            if ends[middle] < value:
                low = middle + 1
            else:
                high = middle
        ends[low] = value
        longest = max(longest, low + 1)
    return longest


@kernel
def _sequence_score(permutation: Int64Array, score: int, room: Int64Array) -> float:
    length = len(permutation)
    if score == _HAMMING:
        moved = 0
        for at in range(length):
            moved += permutation[at] != at
        return 1 - moved / length
    if score in (_KENDALL, _KENDALL_SQRT):
        values = room[0, :length]
        values[:] = permutation
        share = sort_counting(values, room[1]) / (0.5 * length * (length - 1))
        return 1 - (np.sqrt(share) if score == _KENDALL_SQRT else share)
    if score == _SPEARMAN:
        squares = 0.0
        for at in range(length):
            squares += float(permutation[at] - at) ** 2
        return 1 - 3 * squares / (length * (float(length) ** 2 - 1))
    if score == _ULAM:
        return (_longest_increasing(permutation, room[0]) - 1) / (length - 1)
    breaks = 0
    for at in range(1, length):
        breaks += permutation[at] != permutation[at - 1] + 1
    return 1 - breaks / (length - 1)


@kernel(elements=300_000, offsets=("offsets",))
def _sequence_scores(values: Int64Array, offsets: Int64Array, score: int) -> FloatArray:
    result = np.empty(len(offsets) - 1)
    room = np.empty((2, _longest(offsets)), dtype=np.int64)
    for item in range(len(result)):
        permutation = values[offsets[item] : offsets[item + 1]]
        if len(permutation) > 1:
            result[item] = _sequence_score(permutation, score, room)
        else:
            result[item] = len(permutation)
    return result


@kernel(offsets=("offsets",))
def _recursive_scores(
    values: Int64Array,
    offsets: Int64Array,
    trees: int,
    beta: float,
    gamma: float,
    tables: TreeTables,
    inverted: FloatArray,
) -> FloatArray:
    result = np.empty(len(offsets) - 1)
    nodes = new_nodes(_longest(offsets))
    for item in range(len(result)):
        permutation = values[offsets[item] : offsets[item + 1]]
        if len(permutation) > 1:
            raw = raw_value(nodes, parse_permutation(permutation, nodes), trees, beta, gamma, tables)
            lowest = inverted[len(permutation)]
            result[item] = (raw - lowest) / (1 - lowest)
        else:
            result[item] = len(permutation)
    return result


@kernel(elements=0, offsets=("offsets",))
def _shape_scores(values: Int64Array, offsets: Int64Array, score: int, log_catalans: FloatArray) -> FloatArray:
    result = np.empty(len(offsets) - 1)
    nodes = new_nodes(_longest(offsets))
    for item in range(len(result)):
        permutation = values[offsets[item] : offsets[item + 1]]
        length = len(permutation)
        if length < 2:
            result[item] = length
        elif length == 2:
            result[item] = score == _SIZE or (score == _PEF_SIZE and permutation[0] == 0)
        else:
            shape = forest_shape(nodes, parse_permutation(permutation, nodes), log_catalans)
            if score == _ARITY:
                result[item] = (length - shape.arities / shape.n_inner) / (length - 2)
            elif score == _SIZE:
                result[item] = (shape.n_inner - 1) / (length - 2)
            elif score == _MAX_ARITY:
                result[item] = (length - shape.widest) / (length - 2)
            else:
                # both counts divided by that of all trees, which overflows
                least = np.exp(-log_catalans[length])
                share = np.exp(shape.log_trees - log_catalans[length])
                result[item] = (share - least) / (1 - least)
    return result


def permutation_scores(
    name: str, values: npt.ArrayLike, offsets: npt.ArrayLike, *, beta: float = 0.6, gamma: float = 0.0
) -> FloatArray:
    """Return the scores of permutations of 0..n-1 in CSR form by the metric called `name`, shape (permutations,)."""
    numbers, bounds = (np.ascontiguousarray(array, dtype=np.int64) for array in (values, offsets))
    if name in _SEQUENCE:
        return _sequence_scores(numbers, bounds, _SEQUENCE[name])
    lengths = np.diff(bounds)
    longest = int(lengths.max(initial=0))
    if name in _SHAPE:
        return _shape_scores(numbers, bounds, _SHAPE[name], log_catalan(longest))
    trees = _RECURSIVE[name]
    tables = make_tables(trees, longest, beta)
    inverted = np.full(longest + 1, math.nan)
    for length in np.unique(lengths).tolist():
        inverted[length] = inverted_value(length, trees, beta, gamma, tables)
    return _recursive_scores(numbers, bounds, trees, float(beta), float(gamma), tables, inverted)
