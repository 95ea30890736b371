from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.order.scores import permutation_scores
from ranker.extractors.registry import make_metric
from ranker.text.repeated_words import WordOrders, align_contexts
from tests.datasets import dataset_of
from tests.effort import examples

FLAT = ["hamming", "kendall", "kendall_sqrt", "spearman", "ulam", "fuzzy"]
TREES = ["pet", "pet_flat", "pet_viterbi", "pef"]
SHAPES = ["pet_arity", "pet_size", "pet_max_arity", "pef_size"]


def scores(notation: str, items) -> np.ndarray:
    return make_metric(notation).transform(dataset_of(items))[:, 0]


def texts_of(permutation: list[int]) -> tuple[list[str], list[str]]:
    """Return a reference, and a candidate that holds its words in the order of `permutation`."""
    return [" ".join(f"w{i}" for i in range(len(permutation)))], [" ".join(f"w{i}" for i in permutation)]


@pytest.mark.parametrize("name", FLAT + TREES + SHAPES)
def test_one_aligned_word_and_none(name):
    items = [(["a b c d"], ["x a y", "x y", ""]), ([], ["a b"])]
    assert scores(f"{name}[brevity=false]", items).tolist() == [1, 0, 0, 0]
    assert scores(name, items).tolist() == [math.exp(1 - 4 / 1), 0, 0, 0]


SWAPPED = (["a b c d e f"], ["b a c x d"])


def test_a_score_alone_is_order_times_the_penalty_of_the_aligned_words():
    assert scores("kendall[brevity=false]", [SWAPPED])[0] == pytest.approx(5 / 6)
    assert scores("kendall", [SWAPPED])[0] == pytest.approx(5 / 6 * math.exp(1 - 6 / 4))


def test_the_interpolation_with_unigram_bleu_and_f1():
    order = 5 / 6 * math.exp(1 - 6 / 4)
    bleu, f1 = 4 / 5 * math.exp(1 - 6 / 5), 2 * (4 / 5) * (4 / 6) / (4 / 5 + 4 / 6)
    assert scores("kendall[alpha=0.3]", [SWAPPED])[0] == pytest.approx(0.3 * bleu + 0.7 * order)
    assert scores("kendall[alpha=1]", [SWAPPED])[0] == pytest.approx(bleu)
    assert scores("kendall[alpha=0.5,lexical=f1]", [SWAPPED])[0] == pytest.approx(0.5 * f1 + 0.5 * order)


def test_lexical_and_order_part_take_their_best_reference_each():
    references = ["a b c d e f", "f e d c b a x y"]
    candidate = ["f e d x y"]
    f1 = 2 * 5 / (5 + 8)
    order = scores("kendall", [([references[1]], candidate)])[0]
    assert order > scores("kendall", [([references[0]], candidate)])[0]
    result = scores("kendall[alpha=0.5,lexical=f1]", [(references, candidate)])[0]
    assert result == pytest.approx(0.5 * f1 + 0.5 * order)


def test_scores_are_those_of_the_permutations():
    random = np.random.default_rng(3)
    permutations = [(random.permutation(7), random.permutation(7)) for _ in range(100)]
    items = [([texts_of(first)[1][0], texts_of(second)[1][0]], texts_of(range(7))[0]) for first, second in permutations]
    inverses = np.array([np.argsort(item) for permutation in permutations for item in permutation])
    for name in FLAT + TREES + SHAPES:
        each = permutation_scores(name, inverses.ravel(), np.arange(0, inverses.size + 1, 7))
        result = scores(f"{name}[brevity=false]", items)
        np.testing.assert_allclose(result, each.reshape(-1, 2).max(axis=1), atol=1e-12)


def plain_ranks(positions: list[int]) -> list[int]:
    """Rank stably in plain Python, the twin of the kernel."""
    order = sorted(range(len(positions)), key=lambda at: (positions[at], at))
    return [order.index(at) for at in range(len(positions))]


@settings(deadline=None, max_examples=examples(25))
@given(st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=5))
def test_ranks_equal_plain_python(rows):
    positions = np.array([position for row in rows for position in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    ranks = WordOrders(positions, offsets).permutations()
    assert [part.tolist() for part in np.split(ranks, offsets[1:-1])] == [plain_ranks(row) for row in rows]


def test_words_at_one_position_keep_their_order():
    orders = align_contexts(dataset_of([(["b a c z"], ["b a x a c z"])]), "isozaki", "none")
    assert orders.positions.tolist() == [0, 1, 1, 2, 3]
    assert orders.permutations().tolist() == [0, 1, 2, 3, 4]


def test_wider_contexts_can_be_chosen():
    items = [(["a a a"], ["a a a"])]
    assert scores("hamming", items)[0] == 0
    assert scores("hamming[alignment=ribes]", items)[0] == pytest.approx(math.exp(1 - 3 / 2))


def test_gamma_rewards_swaps_over_wider_operators():
    items = [texts_of([1, 0])]
    assert scores("pet", items)[0] == 0
    swapped = texts_of([2, 3, 0, 1])
    assert scores("pef[gamma=0.5]", [swapped])[0] != scores("pef", [swapped])[0]


def test_the_corpus_score_is_the_mean_of_the_sentences():
    metric = make_metric("spearman[alpha=0.5]")
    dataset = dataset_of([SWAPPED, texts_of([2, 0, 1]), texts_of([0, 1])])
    rows = metric.statistics(dataset)
    assert metric.score(rows.sum(axis=0)) == pytest.approx(metric.score(rows).mean())
    assert metric.score(np.zeros(2)) == 0
