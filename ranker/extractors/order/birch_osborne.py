"""Permutations derived from word alignments, by the rules of Birch and Osborne (2011, section 2.1).

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

from ranker.arrays import Int32Array, Int64Array, offsets_of, take_rows
from ranker.links import Links
from ranker.ranks import ordinal_ranks

Rule = Literal["same-key", "plus-one"]


_NO_LINK = np.iinfo(np.int64).max


def source_orders(
    links: Links, source_lengths: npt.ArrayLike, *, rule: Rule = "same-key"
) -> tuple[Int32Array, Int64Array]:
    """Return the order in which each translation renders the words of its source, as permutations in CSR form."""
    offsets = offsets_of(source_lengths)
    words = np.arange(offsets[-1])
    keys = np.full(len(words), _NO_LINK)
    pair = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    np.minimum.at(keys, offsets[pair] + links.source, links.target)
    first = offsets[:-1][np.diff(offsets) > 0]
    keys[first[keys[first] == _NO_LINK]] = 0
    linked = np.maximum.accumulate(np.where(keys < _NO_LINK, words, 0))
    keys = keys[linked] + (words - linked) * (rule == "plus-one")
    return ordinal_ranks(keys, offsets), offsets


def relative_orders(
    values: Int32Array, offsets: Int64Array, candidate: npt.ArrayLike, reference: npt.ArrayLike
) -> tuple[Int32Array, Int64Array]:
    """Return each candidate's word order relative to a reference, in CSR form; equal word orders give the identity."""
    mine, starts = take_rows(offsets, np.asarray(candidate, dtype=np.int64))
    theirs, _ = take_rows(offsets, np.asarray(reference, dtype=np.int64))
    relative = np.empty(len(mine), dtype=np.int32)
    relative[np.repeat(starts[:-1], np.diff(starts)) + values[theirs]] = values[mine]
    return relative, starts
