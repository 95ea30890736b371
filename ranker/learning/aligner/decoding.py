"""Applies a trained word aligner: link posteriors of sentence pairs, including words unseen in training."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import FloatArray, Int32Array, Int64Array
from ranker.learning.aligner.hmm import JUMPS, HmmTables, RealArray, find_entry, hmm
from ranker.learning.aligner.pairs import Pairs, count_cells
from ranker.storage.kernels import kernel

FLOOR = 1e-7
"""Probability, given a known word, of a word that never occurred with it in training."""
IDENTICAL = 0.5
"""Probability of a word given an equally spelt word that never occurred with it in training."""


class KnownWords(NamedTuple):
    """Index in the model of each word of the texts, -1 if unknown; `twins` has each source word's equal target word."""

    source: Int32Array
    target: Int32Array
    twins: Int32Array


@kernel(elements=0)
def _lexical(
    tables: HmmTables,
    words: KnownWords,
    source: Int32Array,
    target: Int32Array,
    forward: FloatArray,
    backward: FloatArray,
) -> None:
    """Write smoothed word probabilities; equally spelt words that never met in training get `IDENTICAL`."""
    unknown_source, unknown_target = 1.0 / max(1, len(tables.null_target)), 1.0 / max(1, len(tables.null_source))
    for i in range(len(source)):
        row = words.source[source[i]]
        for j in range(len(target)):
            column = words.target[target[j]]
            onto = FLOOR if row >= 0 else unknown_source
            back = FLOOR if column >= 0 else unknown_target
            entry = find_entry(tables.offsets, tables.columns, row, column) if row >= 0 and column >= 0 else -1
            if entry >= 0:
                onto += tables.forward[entry]
                back += tables.backward[entry]
            elif words.twins[source[i]] == target[j]:
                onto = back = IDENTICAL
            forward[j, i], backward[i, j] = onto, back


@kernel(elements=0)
def _nulls(probabilities: RealArray, numbers: Int32Array, text: Int32Array) -> FloatArray:
    """Return the smoothed probability that the null word generates each word of `text`."""
    null = np.full(len(text), FLOOR)
    for position in range(len(text)):
        if numbers[text[position]] >= 0:
            null[position] += probabilities[numbers[text[position]]]
    return null


@kernel(elements=0)
def _pair_posteriors(
    tables: HmmTables,
    words: KnownWords,
    source: Int32Array,
    target: Int32Array,
    null_probability: float,
    product: FloatArray,
) -> None:
    rows, columns = len(source), len(target)
    forward, backward = np.empty((columns, rows)), np.empty((rows, columns))
    _lexical(tables, words, source, target, forward, backward)
    null_target = _nulls(tables.null_target, words.target, target)
    null_source = _nulls(tables.null_source, words.source, source)
    onto, back = np.empty((columns, rows)), np.empty((rows, columns))
    counts, seen = np.zeros(JUMPS), np.zeros(JUMPS)
    hmm(forward, null_target, tables.jumps[0], null_probability, onto, np.empty(columns), counts, seen)
    hmm(backward, null_source, tables.jumps[1], null_probability, back, np.empty(rows), counts, seen)
    for i in range(rows):
        for j in range(columns):
            product[i * columns + j] = onto[j, i] * back[i, j]


@kernel(elements=0, size=count_cells, rows=("which",))
def link_posteriors(
    pairs: Pairs,
    tables: HmmTables,
    words: KnownWords,
    null_probability: float,
    product: FloatArray,
    which: Int64Array,
) -> None:
    """Write to `product` the product of both directions' posteriors for each possible link of the pairs `which`."""
    for pair in which:
        source = pairs.source[pairs.source_offsets[pair] : pairs.source_offsets[pair + 1]]
        target = pairs.target[pairs.target_offsets[pair] : pairs.target_offsets[pair + 1]]
        if len(source) and len(target):
            cells = product[pairs.cell_offsets[pair] : pairs.cell_offsets[pair + 1]]
            _pair_posteriors(tables, words, source, target, null_probability, cells)
