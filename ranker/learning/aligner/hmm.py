"""Expectation step of word alignment: posteriors of IBM model 1 and of the alignment HMM, as numba kernels.

Both models generate one sentence, the *observed* words, from another, the *states*. In the HMM (Vogel, Ney and
Tillmann 1996; Och and Ney 2003) observed word ``j`` is null with probability ``p0``, and else comes from state ``i``
with probability

    (1 - p0) * s(i - i') / sum over i'' of s(i'' - i'),

``i'`` being the last state that was not null, -1 at the start, and ``s`` one weight for each jump width from -`REACH`
to `REACH` and one for all wider jumps on either side. With equal weights this is IBM model 1. The tails are summed by
running sums, so that the cost is (observed words) * (states) * (2 * `REACH` + 1).

A *cell* is a pair of a source and a target word of one sentence pair; cells of a pair are ordered by source, then
target. Tables hold one entry for every pair of words that share a sentence pair; `find_entry` finds one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import Float32Array, FloatArray, Int32Array, Int64Array
from ranker.learning.aligner.pairs import Pairs, count_cells
from ranker.storage.kernels import kernel
from ranker.threads import for_each_block

RealArray = FloatArray | Float32Array

REACH = 10
"""Longest jump with a separate weight."""
JUMPS = 2 * REACH + 3
"""Number of jump weights: one for every width, one for longer jumps on either side."""
TINY = 1e-30
"""Added to every word probability, so that no word ever becomes impossible."""


class HmmTables(NamedTuple):
    """Parameters learnt by EM: word probabilities, and jump weights from source to target (``jumps[0]``) and back.

    ``offsets`` and ``columns`` list the target words with which each source word shares a sentence pair; ``forward`` is
    P(target word | source word) and ``backward`` P(source word | target word) for each of them.
    """

    offsets: Int64Array
    columns: Int32Array
    forward: RealArray
    backward: RealArray
    null_target: RealArray
    null_source: RealArray
    jumps: FloatArray


class Expectations(NamedTuple):
    """Expected counts from one batch of sentence pairs, from which the next tables are estimated."""

    entries: Int64Array
    forward: FloatArray
    backward: FloatArray
    null_target: FloatArray
    null_source: FloatArray
    jumps: FloatArray
    exposures: FloatArray
    log_likelihood: FloatArray


@kernel(elements=0)
def find_entry(offsets: Int64Array, columns: Int32Array, row: int, column: int) -> int:
    """Return the index in `columns` of the entry for `column` in the sorted row `row`, or -1 if there is none."""
    low, high = offsets[row], offsets[row + 1]
    while low < high:
        middle = (low + high) // 2
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < offsets[row + 1] and columns[low] == column else -1


@kernel(elements=0)
def ibm1(
    lexical: FloatArray, null: FloatArray, null_probability: float, posterior: FloatArray, null_posterior: FloatArray
) -> float:
    """Write the posteriors of IBM model 1 for one sentence pair, and return the pair's log-likelihood."""
    observed, states = lexical.shape
    share = (1.0 - null_probability) / states
    log_likelihood = 0.0
    for j in range(observed):
        total = null_probability * null[j]
        for i in range(states):
            total += share * lexical[j, i]
        for i in range(states):
            posterior[j, i] = share * lexical[j, i] / total
        null_posterior[j] = null_probability * null[j] / total
        log_likelihood += np.log(total)
    return log_likelihood


@kernel(elements=0)
def _normalisers(jumps: FloatArray, states: int) -> FloatArray:
    """Return, for each previous state (-1 is the start), the sum of the weights of all jumps from it."""
    sums = np.zeros(states + 1)
    for k in range(states + 1):
        low, high = max(0, k - 1 - REACH), min(states, k + REACH)
        for i in range(low, high):
            sums[k] += jumps[i - k + 2 + REACH]
        sums[k] += low * jumps[0] + (states - high) * jumps[JUMPS - 1]
    return sums


@kernel(elements=0)
def _count_exposures(departures: FloatArray, sums: FloatArray, states: int, exposures: FloatArray) -> None:
    """Add to each jump's exposure the sum over previous states of expected departures divided by the normaliser."""
    for k in range(states + 1):
        if departures[k] > 0.0:
            rate = departures[k] / sums[k]
            low, high = max(0, k - 1 - REACH), min(states, k + REACH)
            for i in range(low, high):
                exposures[i - k + 2 + REACH] += rate
            exposures[0] += low * rate
            exposures[JUMPS - 1] += (states - high) * rate


@kernel(elements=0)
def _forward(
    lexical: FloatArray,
    null: FloatArray,
    jumps: FloatArray,
    null_probability: float,
    rates: FloatArray,
    memory: FloatArray,
    scales: FloatArray,
    posterior: FloatArray,
) -> None:
    """Write the scaled forward probabilities of the HMM to `memory` and `posterior`, and their divisors to `scales`.

    ``memory[j, k]`` is the probability of the first ``j`` words with ``k - 1`` as the last state that was not null,
    ``posterior[j, i]`` the probability of the words up to ``j`` with word ``j`` from state ``i``.
    """
    observed, states = lexical.shape
    leaving, before, behind = np.empty(states + 1), np.zeros(states + 2), np.zeros(states + 2)
    memory[0, :] = 0.0
    memory[0, 0] = 1.0
    for j in range(observed):
        for k in range(states + 1):
            leaving[k] = rates[k] * memory[j, k]
            before[k + 1] = before[k] + leaving[k]
        for k in range(states, -1, -1):
            behind[k] = behind[k + 1] + leaving[k]
        scale = 0.0
        for i in range(states):
            low, high = max(0, i + 1 - REACH), min(states, i + 1 + REACH) + 1
            total = jumps[JUMPS - 1] * before[low] + jumps[0] * behind[high]
            for k in range(low, high):
                total += jumps[i - k + 2 + REACH] * leaving[k]
            posterior[j, i] = total * lexical[j, i]
            scale += posterior[j, i]
        for k in range(states + 1):
            memory[j + 1, k] = null_probability * null[j] * memory[j, k]
            scale += memory[j + 1, k]
        for i in range(states):
            posterior[j, i] /= scale
            memory[j + 1, i + 1] = memory[j + 1, i + 1] / scale + posterior[j, i]
        memory[j + 1, 0] /= scale
        scales[j] = scale


@kernel(elements=0)
def hmm(
    lexical: FloatArray,
    null: FloatArray,
    jumps: FloatArray,
    null_probability: float,
    posterior: FloatArray,
    null_posterior: FloatArray,
    jump_counts: FloatArray,
    exposures: FloatArray,
) -> float:
    """Write the posteriors of the HMM for one sentence pair (forward-backward), and return the pair's log-likelihood.

    Parameters as `ibm1`; `jumps` are the weights, shape (`JUMPS`,), and to `jump_counts` and `exposures`, of the same
    shape, the expected numbers of jumps and the values of `_count_exposures` are added.
    """
    observed, states = lexical.shape
    sums = _normalisers(jumps, states)
    rates = np.zeros(states + 1)
    for k in range(states + 1):
        if sums[k] > 0.0:
            rates[k] = (1.0 - null_probability) / sums[k]
    memory, scales = np.empty((observed + 1, states + 1)), np.empty(observed)
    _forward(lexical, null, jumps, null_probability, rates, memory, scales, posterior)

    # after[k]: probability of the words after j, divided by their scales, if k - 1 is the last state that was not null
    after, departures = np.ones(states + 1), np.zeros(states + 1)
    arriving, before, behind = np.empty(states), np.zeros(states + 1), np.zeros(states + 1)
    for j in range(observed - 1, -1, -1):
        for i in range(states):
            arriving[i] = lexical[j, i] * after[i + 1] / scales[j]
            posterior[j, i] *= after[i + 1]
            before[i + 1] = before[i] + arriving[i]
        for i in range(states - 1, -1, -1):
            behind[i] = behind[i + 1] + arriving[i]
        null_share = null_probability * null[j] / scales[j]
        null_posterior[j] = 0.0
        for k in range(states + 1):
            null_posterior[j] += null_share * memory[j, k] * after[k]
            low, high = max(0, k - 1 - REACH), min(states, k + REACH)
            leaving = rates[k] * memory[j, k]
            below, above = jumps[0] * before[low], jumps[JUMPS - 1] * behind[high]
            jump_counts[0] += leaving * below
            jump_counts[JUMPS - 1] += leaving * above
            ahead = below + above
            for i in range(low, high):
                jump = i - k + 2 + REACH
                weight = jumps[jump] * arriving[i]
                ahead += weight
                jump_counts[jump] += leaving * weight
            departures[k] += leaving * ahead
            after[k] = null_share * after[k] + rates[k] * ahead
    _count_exposures(departures, sums, states, exposures)
    return float(np.log(scales).sum())


@kernel(elements=0)
def _expect_pair(
    pairs: Pairs,
    tables: HmmTables,
    null_probability: float,
    with_jumps: bool,
    agreement: bool,
    batch: Expectations,
    pair: int,
) -> None:
    first_source, first_target = pairs.source_offsets[pair], pairs.target_offsets[pair]
    source = pairs.source[first_source : pairs.source_offsets[pair + 1]]
    target = pairs.target[first_target : pairs.target_offsets[pair + 1]]
    rows, columns, first_cell = len(source), len(target), pairs.cell_offsets[pair]
    forward, backward = np.empty((columns, rows)), np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            entry = find_entry(tables.offsets, tables.columns, source[i], target[j])
            batch.entries[first_cell + i * columns + j] = entry
            forward[j, i] = tables.forward[entry] + TINY
            backward[i, j] = tables.backward[entry] + TINY
    null_target, null_source = np.empty(columns), np.empty(rows)
    for j in range(columns):
        null_target[j] = tables.null_target[target[j]] + TINY
    for i in range(rows):
        null_source[i] = tables.null_source[source[i]] + TINY
    onto, back = np.empty((columns, rows)), np.empty((rows, columns))
    nulls_onto = batch.null_target[first_target : first_target + columns]
    nulls_back = batch.null_source[first_source : first_source + rows]
    likelihood = batch.log_likelihood[pair]
    if with_jumps:
        counts, seen = batch.jumps[pair], batch.exposures[pair]
        counts[:] = 0.0
        seen[:] = 0.0
        weights = tables.jumps
        likelihood[0] = hmm(forward, null_target, weights[0], null_probability, onto, nulls_onto, counts[0], seen[0])
        likelihood[1] = hmm(backward, null_source, weights[1], null_probability, back, nulls_back, counts[1], seen[1])
    else:
        likelihood[0] = ibm1(forward, null_target, null_probability, onto, nulls_onto)
        likelihood[1] = ibm1(backward, null_source, null_probability, back, nulls_back)
    for i in range(rows):
        for j in range(columns):
            cell = first_cell + i * columns + j
            product = onto[j, i] * back[i, j]
            batch.forward[cell] = product if agreement else onto[j, i]
            batch.backward[cell] = product if agreement else back[i, j]


@kernel(elements=0, size=count_cells, rows=("which",))
def expect(
    pairs: Pairs,
    tables: HmmTables,
    null_probability: float,
    with_jumps: bool,
    agreement: bool,
    batch: Expectations,
    which: Int64Array,
) -> None:
    """Write the expected counts from the pairs with indices `which` to `batch`, whose arrays have room for all pairs.

    With `agreement` both directions get the product of their link posteriors (Liang, Taskar and Klein 2006, section
    4.2). Null and the jumps have no counterpart in the other direction, so they keep their own posteriors.
    """
    for pair in which:
        _expect_pair(pairs, tables, null_probability, with_jumps, agreement, batch, pair)


@kernel(elements=0)
def _add(amounts: FloatArray, places: Int64Array | Int32Array, totals: RealArray) -> None:
    for index in range(len(places)):
        totals[places[index]] += amounts[index]


def collect(pairs: Pairs, batch: Expectations, totals: HmmTables) -> None:
    """Add the expected word counts of a batch to `totals`, with one thread per direction.

    Each thread adds the counts in the order of the cells.
    """

    def add(direction: int) -> None:
        if direction == 0:
            _add(batch.forward, batch.entries, totals.forward)
            _add(batch.null_target, pairs.target, totals.null_target)
        else:
            _add(batch.backward, batch.entries, totals.backward)
            _add(batch.null_source, pairs.source, totals.null_source)

    for_each_block(add, 2)


@kernel(elements=0)
def normalise(totals: HmmTables) -> None:
    """Turn expected word counts into probabilities, in place; a word whose counts are all zero keeps zeros."""
    for row in range(len(totals.offsets) - 1):
        block = totals.forward[totals.offsets[row] : totals.offsets[row + 1]]
        total = block.sum()
        if total > 0.0:
            block /= total
    sums = np.zeros(len(totals.null_target))
    for entry in range(len(totals.columns)):
        sums[totals.columns[entry]] += totals.backward[entry]
    for entry in range(len(totals.columns)):
        total = sums[totals.columns[entry]]
        if total > 0.0:
            totals.backward[entry] /= total
    totals.null_target[:] /= totals.null_target.sum()
    totals.null_source[:] /= totals.null_source.sum()
