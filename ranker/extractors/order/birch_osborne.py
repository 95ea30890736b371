"""From word alignments to permutations, by the rules of Birch and Osborne (2011, section 2.1).

The order of a translation is written as a permutation of the source words: entry ``i`` is the rank, from 0, that
source word ``i`` takes when the source words are put into the order of their translations. Every source word has one:

one source word, many target words
    the lowest target position counts;
many source words, one target word
    they keep the order of the source;
source words without a link
    come right after the word before them in the source (``same-key``: they share its target position, and the order of
    the source breaks the tie; before the first linked word the position is 0). The words of the paper, "the target
    position immediately after", can also be taken literally (``plus-one``): then another word may sit on that
    position already, and the unlinked word lands behind it.

Two orders of one source are compared through a third: `relative_orders` gives, for each word in the order of the
reference, its rank in the order of the candidate. It is the identity where both translations order the source words
alike, has as many inversions as there are pairs of source words that the two put in opposite order, and as many fixed
points as there are source words of equal rank; so every metric of one permutation against the identity applies.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int32Array, Int64Array, offsets_of
from ranker.links import Links
from ranker.ranks import stable_order
from ranker.storage.kernels import kernel

Rule = Literal["same-key", "plus-one"]


@kernel(elements=0)
def _keys(source: Int32Array, target: Int32Array, first: int, last: int, step: int, keys: Int64Array) -> None:
    keys[:] = -1
    for link in range(first, last):
        word = source[link]
        if keys[word] < 0 or target[link] < keys[word]:
            keys[word] = target[link]
    if keys[0] < 0:
        keys[0] = 0
    for word in range(1, len(keys)):
        if keys[word] < 0:
            keys[word] = keys[word - 1] + step


@kernel(elements=0, offsets=("link_offsets", "offsets"))
def _source_orders(
    source: Int32Array, target: Int32Array, link_offsets: Int64Array, offsets: Int64Array, step: int
) -> Int32Array:
    base = offsets[0]
    ranks = np.empty(offsets[-1] - base, dtype=np.int32)
    for pair in range(len(offsets) - 1):
        start, stop = offsets[pair], offsets[pair + 1]
        if stop > start:
            keys = np.empty(stop - start, dtype=np.int64)
            _keys(source, target, link_offsets[pair], link_offsets[pair + 1], step, keys)
            order = stable_order(keys)
            for rank in range(len(order)):
                ranks[start - base + order[rank]] = rank
    return ranks


@kernel(elements=0, rows=("candidate", "reference"), offsets=("result_offsets",))
def _relative_orders(
    values: Int32Array, offsets: Int64Array, candidate: Int64Array, reference: Int64Array, result_offsets: Int64Array
) -> Int32Array:
    base = result_offsets[0]
    relative = np.empty(result_offsets[-1] - base, dtype=np.int32)
    for row in range(len(candidate)):
        first, second = offsets[candidate[row]], offsets[reference[row]]
        for word in range(result_offsets[row + 1] - result_offsets[row]):
            relative[result_offsets[row] - base + values[second + word]] = values[first + word]
    return relative


def source_orders(
    links: Links, source_lengths: npt.ArrayLike, *, rule: Rule = "same-key"
) -> tuple[Int32Array, Int64Array]:
    """Return the order into which every translation puts the words of its source: permutations in CSR form."""
    lengths = np.asarray(source_lengths, dtype=np.int64)
    offsets = offsets_of(lengths)
    return _source_orders(links.source, links.target, links.offsets, offsets, int(rule == "plus-one")), offsets


def relative_orders(
    values: Int32Array, offsets: Int64Array, candidate: npt.ArrayLike, reference: npt.ArrayLike
) -> tuple[Int32Array, Int64Array]:
    """Return the order of candidates relative to that of references; the identity where they agree."""
    first, second = (np.asarray(rows, dtype=np.int64) for rows in (candidate, reference))
    lengths = np.diff(offsets)
    result_offsets = offsets_of(lengths[first])
    return _relative_orders(values, offsets, first, second, result_offsets), result_offsets
