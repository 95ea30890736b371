"""What kernels are replaced by where nothing is compiled gives the same bits as they do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ranker.arrays import offsets_of
from ranker.evaluation.correlation import pair_counts
from ranker.extractors.edit import distance, shifts
from ranker.extractors.edit.shifts import SACREBLEU, TERCOM, Limits
from ranker.extractors.meteor import alignment, matching
from ranker.extractors.meteor.phrases import no_paraphrases
from ranker.learning.lm import leave_out
from ranker.learning.lm.counts import TextSums, count_ngrams
from ranker.storage import kernels
from ranker.text import ngrams, pairs, sequences, tokenizers
from ranker.text.lexical.words import word_tables
from tests.effort import thorough

RUNS = 20


def sentences(random, count, words=6, longest=12):
    lengths = random.integers(0, longest, count)
    return random.integers(0, words, lengths.sum()).astype(np.int32), offsets_of(lengths)


def ngram_counts(random):
    values, offsets = sentences(random, 12)
    candidate, reference = random.integers(0, 12, 9), random.integers(0, 12, 7)
    return values, offsets, candidate, reference, np.array([0, 4, 4, 9]), np.array([0, 3, 5, 7]), 4


def pairs_of_candidates(random):
    values, offsets = sentences(random, 12)
    bounds = [0, 4, 4, 9]
    rows = [random.integers(first, last, (2, 20)) for first, last in itertools.pairwise(bounds) if first < last]
    candidate, reference = np.concatenate([own[:, own[1].argsort(kind="stable")] for own in rows], axis=1)
    firsts, lasts = np.array(bounds[:-1]), np.array(bounds[1:])
    return (
        *(values, offsets, random.integers(0, 12, 9), candidate, reference, 4),
        *(firsts, lasts, np.array([0, 20, 20, 40])),
    )


def pairs_to_count(random):
    offsets = offsets_of(random.integers(0, 60, 5))
    human, scores = (random.integers(0, 9, offsets[-1]).astype(float) for _ in range(2))
    return human, scores, offsets, float(random.choice([0.0, 1.0])), 48


def shifted(random, words):
    moved = np.roll(words, random.integers(len(words)))
    moved[random.integers(len(words), size=3)] = random.integers(0, 25, 3)
    return moved


def to_match(random):
    values, offsets = sentences(random, 2, words=8)
    stem = (lambda word: word[:1]) if random.random() < 0.7 else None
    synsets = (lambda word: [ord(word[-1])]) if random.random() < 0.3 else None
    words = word_tables(["aa", "ab", "ac", "ba", "bb", "c", "d", "e"], stem, synsets)
    tables = matching.MatchTables(words, no_paraphrases(2))
    return values[: offsets[1]], values[offsets[1] :], (0, 1), tables


def to_choose(random):
    candidate, reference, pair, tables = to_match(random)
    offsets, matches = matching.list_matches(candidate, reference, pair, tables)
    options = alignment.SearchOptions(
        np.array([1.0, 0.6, 0.8, 0.6]), int(random.integers(1, 9)), bool(random.integers(2))
    )
    return len(candidate), len(reference), offsets, matches, options


def to_align_pairs(random):
    candidate, reference, _, tables = to_match(random)
    options = to_choose(random)[-1]
    values, offsets = np.concatenate([candidate, reference]), offsets_of([len(candidate), len(reference)])
    pairs = np.array([[0, 1], [1, 1], [1, 0]])
    return values, offsets, pairs, tables, options


def to_leave_out(random):
    values, offsets = sentences(random, 12)
    order = int(random.integers(1, 5))
    counts = count_ngrams(values, offsets, order)
    groups = leave_out._members(random.integers(0, 4, 12), 5)
    words, scored = sentences(random, 6, words=8)
    discounts = np.concatenate([np.zeros((order, 1)), np.sort(random.random((order, 3)))], axis=1)
    trie, changeable = counts.trie, leave_out._changeable(counts, TextSums.of(counts))
    own = counts.longest, counts.sentence_offsets, groups
    return (
        changeable,
        discounts,
        trie.vocabulary_size,
        *own,
        trie.recode(words),
        scored,
        leave_out._members(random.integers(0, 5, 6), 5),
    )


def to_split(random):
    characters = [*"ab1'.,-!\n &\u4e00\u3042\u30a2s", "'s "]
    lines = ["".join(random.choice(characters, random.integers(0, 15))).replace("\n", " ") for _ in range(6)]
    tokenizer = str(random.choice(["none", "13a", "zh", "terp", "tercom", "tercom-asian"]))
    count = int(random.integers(0, 7))
    text = "\n".join([*lines[:count], ""])
    return tokenizers._code_points(text), tokenizers._kinds(tokenizer), count


def two_sentences(random):
    return tuple(random.integers(0, 8, size).astype(np.int32) for size in random.integers(0, 30, 2))


def long_sentences(random):
    return tuple(random.integers(0, 60, size).astype(np.int32) for size in random.integers(1, 300, 2))


TWINS = {
    tokenizers._split: to_split,
    leave_out._score_groups: to_leave_out,
    ngrams._matches: ngram_counts,
    pairs._pair_matches: pairs_of_candidates,
    pair_counts._count: pairs_to_count,
    sequences._lcs: two_sentences,
    sequences._long_lcs: long_sentences,
    sequences._weighted_lengths: lambda random: (*two_sentences(random), 1.2),
    alignment.align_pairs: to_align_pairs,
}


def bits(value):
    """Return all numbers of arrays in tuples in tuples."""
    if isinstance(value, tuple):
        return [bits(one) for one in value]
    return np.asarray(value, dtype=None if isinstance(value, np.ndarray) else np.float64).tobytes()


@pytest.mark.parametrize("compiled", TWINS, ids=lambda one: one.py_func.__name__)
def test_the_replacement_gives_the_same_bits(compiled):
    with kernels.using("plain"), np.errstate(all="ignore"):
        for seed in range(RUNS):
            results = []
            for function in (compiled.py_func, compiled.plain):
                arguments = TWINS[compiled](np.random.default_rng(seed))
                results.append([bits(function(*arguments)), bits(arguments)])
            assert results[0] == results[1], seed


@pytest.mark.parametrize(
    "limits", [Limits(TERCOM, 20, 50, 10), Limits(TERCOM, 3, 50, 10), Limits(SACREBLEU, 9, 50, 10)]
)
@thorough
def test_edit_distances_and_searches_for_shifts_are_the_same(limits):
    random = np.random.default_rng(0)
    references = [random.integers(0, 20, size).astype(np.int32) for size in random.integers(1, 90, RUNS)]
    texts = [text for reference in references for text in (shifted(random, reference), reference)]
    values, offsets = np.concatenate(texts), offsets_of(np.array([len(text) for text in texts]))
    first = 2 * np.arange(RUNS)
    results = []
    for mode in ("compiled", "plain"):
        with kernels.using(mode):
            pairs = values, offsets, first, first + 1
            results.append(
                (distance.edit_distances(*pairs).tolist(), shifts.shift_edits_of_pairs(*pairs, limits).tolist())
            )
    assert results[0] == results[1]
