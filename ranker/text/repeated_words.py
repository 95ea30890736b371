"""Alignment of equal words of a candidate and a reference; repeated words are aligned by their contexts.

A word that both sentences contain once is aligned. A repeated word is aligned through an n-gram that starts
or ends with it, if both sentences contain that n-gram once:

``isozaki``
    bigrams only, first the one with the next word, then the one with the previous word (Isozaki et al. 2010, figure 1);
``ribes``
    n-grams of growing length, of each length first the one that ends with the word (as RIBES 1.03.1 does).

Other words are not aligned. The reference positions of the aligned words, in the order of the candidate, are the
*word order* of the candidate; different contexts can align two words with the same position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ranker.arrays import Int32Array, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset, view
from ranker.ranks import ordinal_ranks
from ranker.storage.kernels import kernel
from ranker.text.reference_pairs import reference_pairs
from ranker.text.tokens import Tokenizer, token_batch

Contexts = Literal["isozaki", "ribes"]


@dataclass(frozen=True, eq=False)
class WordOrders:
    """Word order of each candidate-reference pair: reference positions of its aligned words, in candidate order."""

    positions: Int32Array
    offsets: Int64Array

    @property
    def lengths(self) -> Int64Array:
        """Number of aligned words of each pair, shape (pairs,)."""
        return np.diff(self.offsets)

    def permutations(self) -> Int32Array:
        """Return the ranks, from 0, of the reference positions within each pair; ties keep the candidate's order."""
        return ordinal_ranks(self.positions, self.offsets)


@view
def align_contexts(
    dataset: Dataset, contexts: Contexts, tokenizer: Tokenizer, *, lowercase: bool = False
) -> WordOrders:
    """Align each candidate with each of its references, and return the word orders of these pairs."""
    pairs = reference_pairs(dataset)
    batch = pairs.expand(token_batch(dataset, tokenizer, lowercase=lowercase))
    longest = 2 if contexts == "isozaki" else np.iinfo(np.int32).max
    lengths = batch.candidate_lengths
    starts = offsets_of(lengths)
    room = np.empty(starts[-1], dtype=np.int32)
    aligned = np.zeros(len(lengths), dtype=np.int64)
    _align_pairs(
        batch.segments.values,
        batch.segments.offsets,
        batch.candidate,
        batch.reference[pairs.reference],
        len(batch.segments.vocabulary),
        longest,
        contexts == "isozaki",
        starts,
        room,
        aligned,
    )
    offsets = offsets_of(aligned)
    used = np.arange(len(room)) - np.repeat(starts[:-1], lengths) < np.repeat(aligned, lengths)
    return WordOrders(room[used], offsets)


@kernel
def _run(left: Int32Array, i: int, right: Int32Array, j: int, step: int, most: int) -> int:
    """Count equal words from ``left[i]`` and ``right[j]`` in direction `step` up to the first difference or `most`."""
    length = 0
    while length < most and 0 <= i < len(left) and 0 <= j < len(right) and left[i] == right[j]:
        length += 1
        i += step
        j += step
    return length


@kernel
def _shortest_unique(
    candidate: Int32Array,
    at: int,
    reference: Int32Array,
    first_candidate: Int32Array,
    next_candidate: Int32Array,
    first_reference: Int32Array,
    next_reference: Int32Array,
    step: int,
    longest: int,
) -> tuple[int, int]:
    """Return the length and reference position of the shortest n-gram from word `at` that is unique in both sentences.

    An n-gram is unique in the reference if it is longer than the second longest match there, and in the candidate
    if it is longer than any match of another position with this one. The length is 0 if there is no such n-gram.
    """
    word = candidate[at]
    most = min(longest, at + 1 if step < 0 else len(candidate) - at)
    best, second, position = 0, 0, -1
    j = first_reference[word]
    while j >= 0 and second < most:
        run = _run(candidate, at, reference, j, step, most)
        if run > best:
            best, second, position = run, best, j
        elif run > second:
            second = run
        j = next_reference[j]
    shared = second
    i = first_candidate[word]
    while i >= 0 and shared < best:
        if i != at:
            shared = max(shared, _run(candidate, at, candidate, i, step, best))
        i = next_candidate[i]
    return (shared + 1, position) if shared < best else (0, -1)


@kernel
def _align(
    candidate: Int32Array,
    reference: Int32Array,
    first_candidate: Int32Array,
    next_candidate: Int32Array,
    first_reference: Int32Array,
    next_reference: Int32Array,
    longest: int,
    right_first: bool,
    positions: Int32Array,
) -> int:
    """Write the reference position of each aligned word of a pair to `positions`; return the number of these words."""
    aligned = 0
    for at in range(len(candidate)):
        word = candidate[at]
        position = first_reference[word]
        if position < 0:
            continue
        if next_reference[position] >= 0 or next_candidate[first_candidate[word]] >= 0:
            left, left_position = _shortest_unique(
                candidate, at, reference, first_candidate, next_candidate, first_reference, next_reference, -1, longest
            )
            right, right_position = _shortest_unique(
                candidate, at, reference, first_candidate, next_candidate, first_reference, next_reference, 1, longest
            )
            if left == 0 and right == 0:
                continue
            use_right = left == 0 or (right > 0 and (right < left or (right == left and right_first)))
            position = right_position if use_right else left_position
        positions[aligned] = position
        aligned += 1
    return aligned


@kernel
def _index(words: Int32Array, first: Int32Array, following: Int32Array) -> None:
    """Write each word's first position to `first`, and for each position the word's next position to `following`."""
    for at in range(len(words) - 1, -1, -1):
        following[at] = first[words[at]]
        first[words[at]] = at


@kernel(elements=500_000, rows=("candidate", "reference", "aligned"), offsets=("starts",))
def _align_pairs(
    values: Int32Array,
    offsets: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    vocabulary: int,
    longest: int,
    right_first: bool,
    starts: Int64Array,
    positions: Int32Array,
    aligned: Int64Array,
) -> None:
    longest_sentence = 0
    for sentence in range(len(offsets) - 1):
        longest_sentence = max(longest_sentence, offsets[sentence + 1] - offsets[sentence])
    first_candidate = np.full(vocabulary, -1, dtype=np.int32)
    first_reference = np.full(vocabulary, -1, dtype=np.int32)
    next_candidate = np.empty(longest_sentence, dtype=np.int32)
    next_reference = np.empty(longest_sentence, dtype=np.int32)
    for pair in range(len(candidate)):
        candidate_words = values[offsets[candidate[pair]] : offsets[candidate[pair] + 1]]
        reference_words = values[offsets[reference[pair]] : offsets[reference[pair] + 1]]
        _index(candidate_words, first_candidate, next_candidate)
        _index(reference_words, first_reference, next_reference)
        aligned[pair] = _align(
            candidate_words,
            reference_words,
            first_candidate,
            next_candidate,
            first_reference,
            next_reference,
            longest,
            right_first,
            positions[starts[pair] : starts[pair + 1]],
        )
        for word in candidate_words:
            first_candidate[word] = -1
        for word in reference_words:
            first_reference[word] = -1
