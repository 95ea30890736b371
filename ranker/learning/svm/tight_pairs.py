"""Lists the pairs whose margin is 1 but for a hair: kernels. `ranker.learning.svm.pair_sums` says what pairs are.

Lists grow as they fill and end soon after `limit` pairs, which is one sign that they are too many.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.learning.svm.graded_pairs import Groups, divide
from ranker.learning.svm.loss import Wins
from ranker.ranks import stable_order
from ranker.storage.kernels import kernel


@kernel(elements=0)
def _grown(listed: Int64Array) -> Int64Array:
    larger = np.empty((2 * len(listed), 2), dtype=np.int64)
    larger[: len(listed)] = listed
    return larger


@kernel(elements=0)
def graded_tight(
    block: int, blocks: Int64Array, groups: Groups, scores: FloatArray, width: float, limit: int
) -> tuple[Int64Array, FloatArray]:
    """List (better, worse) of the pairs of one block whose slack is at most `width` from 0, and their weights."""
    listed = np.empty((64, 2), dtype=np.int64)
    size = 0
    for group in range(blocks[block], blocks[block + 1]):
        first, last = groups.offsets[group], groups.offsets[group + 1]
        if not groups.is_large[group]:
            for better in range(first, last):
                for worse in range(groups.level_stop[better], last):
                    if abs(1.0 - (scores[better] - scores[worse])) <= width and size < limit:
                        if size == len(listed):
                            listed = _grown(listed)
                        listed[size, 0], listed[size, 1] = better, worse
                        size += 1
            continue
        own = scores[first:last]
        order = stable_order(own)
        spare = np.empty_like(order)
        for cut in range(groups.cut_offsets[group], groups.cut_offsets[group + 1]):
            low, middle, high = groups.cuts[cut]
            divide(order, low, middle, high, spare)
            inner = middle
            for better in order[low:middle]:
                while inner < high and 1.0 - (own[better] - own[order[inner]]) < -width:
                    inner += 1
                at = inner
                while at < high and 1.0 - (own[better] - own[order[at]]) <= width and size < limit:
                    if size == len(listed):
                        listed = _grown(listed)
                    listed[size, 0], listed[size, 1] = first + better, first + order[at]
                    size += 1
                    at += 1
    return listed[:size], np.ones(size)


@kernel(elements=0)
def listed_tight(
    block: int, blocks: Int64Array, wins: Wins, scores: FloatArray, width: float, limit: int
) -> tuple[Int64Array, FloatArray]:
    """List the pairs of one block as `graded_tight` does."""
    places = np.empty((64, 2), dtype=np.int64)
    size = 0
    for row in range(wins.offsets[blocks[block]], wins.offsets[blocks[block + 1]]):
        for pair in range(wins.starts[row], wins.starts[row + 1]):
            if abs(1.0 - (scores[row] - scores[wins.losers[pair]])) <= width and size < limit:
                if size == len(places):
                    places = _grown(places)
                places[size, 0], places[size, 1] = row, pair
                size += 1
    weights = np.empty(size)
    for place in range(size):
        pair = places[place, 1]
        weights[place] = wins.weights[pair]
        places[place, 1] = wins.losers[pair]
    return places[:size], weights
