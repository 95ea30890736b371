"""What kernels are replaced by where nothing is compiled gives the same bits as they do."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import ranker
from ranker.arrays import offsets_of
from ranker.evaluation.correlation import pair_counts
from ranker.extractors.edit import alignment as edit_alignment
from ranker.extractors.edit import shift_trials
from ranker.extractors.edit.shifts import Limits
from ranker.extractors.lexical.words import word_tables
from ranker.extractors.meteor import alignment, matching
from ranker.extractors.meteor.phrases import no_paraphrases
from ranker.extractors.text import ngrams, sequences, text_pairs
from ranker.learning.svm import graded_pairs, polish
from ranker.learning.svm.loss import PairLoss
from ranker.learning.svm.pair_sums import GradedPairs
from ranker.storage import kernels

RUNS = 20


def sentences(random, count, words=6, longest=12):
    lengths = random.integers(0, longest, count)
    return random.integers(0, words, lengths.sum()).astype(np.int32), offsets_of(lengths)


def ngram_counts(random):
    values, offsets = sentences(random, 12)
    candidate, reference = random.integers(0, 12, 9), random.integers(0, 12, 7)
    return values, offsets, candidate, reference, np.array([0, 4, 4, 9]), np.array([0, 3, 5, 7]), 4


def products(random):
    factors = random.standard_normal(30) * 10.0 ** random.integers(-9, 9, 30) * (random.random(30) < 0.8)
    return random.standard_normal((30, 5)) * 10.0 ** random.integers(-9, 9, (30, 5)), factors


def grades(random):
    offsets = offsets_of(random.integers(0, 50, 4))
    return random.permutation(offsets[-1]), offsets, random.integers(0, 5, offsets[-1]).astype(float)


def graded(random):
    offsets = offsets_of(random.integers(1, 9, 6))
    target = -np.sort(
        -np.concatenate([random.integers(0, 4, size) - 10.0 * at for at, size in enumerate(np.diff(offsets))])
    )
    (groups,) = GradedPairs(offsets, target)._pairs
    blocks = np.array([0, 2, 6])
    return int(random.integers(2)), blocks, groups, random.standard_normal(offsets[-1])


def alphas(random):
    start = graded(random)
    width = float(random.choice([0.5, np.inf]))
    return *start, PairLoss(width, 2.0, 2.0 * width), np.zeros(len(start[-1])), np.zeros((2, 3))


def laplacian(random):
    start = graded(random)
    block, blocks, groups, scores = start
    size = groups.offsets[blocks[block + 1]] - groups.offsets[blocks[block]]
    rows = random.standard_normal((len(scores), 3))
    return *start, rows, float(random.choice([0.5, np.inf])), np.zeros((size, 3)), np.zeros(size, dtype=bool)


def pairs_to_count(random):
    offsets = offsets_of(random.integers(0, 60, 5))
    human, scores = (random.integers(0, 9, offsets[-1]).astype(float) for _ in range(2))
    return human, scores, offsets, float(random.choice([0.0, 1.0])), 48


def to_align(random):
    size, length = random.integers(1, 30, 2)
    words, reference = (random.integers(0, 8, one).astype(np.int32) for one in (size, length))
    return words, reference, int(random.integers(1, 9)), np.zeros((size + 1, length + 1), dtype=np.uint8)


def pairs_of_texts(random):
    values, offsets = sentences(random, 8)
    texts, bounds = random.permutation(8), np.array([0, 5, 9])
    first = np.repeat([0, 3], [5, 4]) + random.integers(0, 3, 9)
    second = np.repeat([0, 3], [5, 4]) + np.concatenate([np.sort(random.integers(0, 3, size)) for size in (5, 4)])
    return values, offsets, texts, np.array([0, 3]), np.array([3, 8]), bounds, first, second, 4


def two_sentences(random):
    return tuple(random.integers(0, 8, size).astype(np.int32) for size in random.integers(0, 30, 2))


def weighted(random):
    return *two_sentences(random), float(random.choice([1.0, 1.2, 2.0]))


def started(random):
    size, length = random.integers(1, 90, 2)
    words, reference = (random.integers(0, 20, one).astype(np.int32) for one in (size, length))
    search = shift_trials.start_search(words, reference, Limits(shift_trials.TERCOM, 20, 50, 10))
    for space in (*search.alignment, *search.columns, *search.trial):
        space[:] = 0
    return (search,)


def shifted(random):
    (search,) = started(random)
    shift_trials.realign(search)
    search.trial.words[:] = random.permutation(search.words)
    return search, 0


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


TWINS = {
    ngrams._matches: ngram_counts,
    polish.exact_product: products,
    graded_pairs.sort_by_grade: grades,
    graded_pairs.graded_alphas: alphas,
    graded_pairs.graded_laplacian: laplacian,
    pair_counts._count: pairs_to_count,
    edit_alignment.align_in_beam: to_align,
    shift_trials._exact_distance: shifted,
    shift_trials._fill_columns: started,
    sequences._lcs: two_sentences,
    text_pairs._pair_matches: pairs_of_texts,
    sequences._weighted_lcs: weighted,
    matching.list_matches: to_match,
    alignment.align: to_choose,
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


def test_all_replacements_are_tested():
    sources = Path(ranker.__file__).parent.rglob("*.py")
    declared = sum(len(re.findall(r"^@kernel\(.*\bplain=", path.read_text("utf-8"), re.MULTILINE)) for path in sources)
    assert declared == len(TWINS)
