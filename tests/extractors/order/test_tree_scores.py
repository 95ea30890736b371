"""Scores of permutation trees and forests against trees listed by brute force."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ranker.extractors.order.scores import permutation_scores
from ranker.extractors.order.tree_scores import FOREST, make_tables
from tests.effort import thorough

# a tree is a value or (operator, children)
Tree = Any


def is_block(values: Sequence[int]) -> bool:
    return max(values) - min(values) + 1 == len(values)


def ranks(parts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    lows = sorted(min(part) for part in parts)
    return tuple(lows.index(min(part)) + 1 for part in parts)


@functools.cache
def all_trees(permutation: tuple[int, ...]) -> list[Tree]:
    """List the trees whose every node has as few children as can be (Stanojević and Sima'an 2014, section 2)."""
    length = len(permutation)
    if length == 1:
        return [permutation[0]]
    for arity in range(2, length + 1):
        result = []
        for cuts in itertools.combinations(range(1, length), arity - 1):
            parts = [permutation[start:stop] for start, stop in itertools.pairwise((0, *cuts, length))]
            if all(map(is_block, parts)):
                result += [(ranks(parts), below) for below in itertools.product(*map(all_trees, parts))]
        if result:
            return result
    raise AssertionError


def fringe(tree: Tree) -> list[int]:
    return [tree] if isinstance(tree, int) else [value for child in tree[1] for value in fringe(child)]


def phi(tree: Tree, beta: float, gamma: float) -> float:
    if isinstance(tree, int):
        return 1.0
    operator, children = tree
    good = 1.0 if operator == tuple(range(1, len(operator) + 1)) else gamma if operator == (2, 1) else 0.0
    sizes = [len(fringe(child)) for child in children]
    below = sum(size * phi(child, beta, gamma) for size, child in zip(sizes, children, strict=True))
    return beta * good + (1 - beta) * below / sum(sizes)


def direction(tree: Tree) -> int:
    """1 for a run in order, -1 for an inverted one, 0 for a leaf or a primal operator."""
    if isinstance(tree, int):
        return 0
    count = tuple(range(1, len(tree[0]) + 1))
    return 1 if tree[0] == count else -1 if tree[0] == count[::-1] else 0


def flattened(tree: Tree) -> Tree:
    """Lift the children of a child that has the same binary operator."""
    if isinstance(tree, int):
        return tree
    if not direction(tree):
        return tree[0], tuple(map(flattened, tree[1]))
    children: list[Tree] = []
    for child in map(flattened, tree[1]):
        children += child[1] if direction(child) == direction(tree) else [child]
    return tuple(range(1, len(children) + 1))[:: direction(tree)], tuple(children)


def flat_phi(tree: Tree, beta: float, gamma: float) -> float:
    if isinstance(tree, int):
        return 1.0
    sizes = [len(fringe(child)) for child in tree[1]]
    below = sum(size * flat_phi(child, beta, gamma) for size, child in zip(sizes, tree[1], strict=True))
    return beta * {1: 1.0, -1: gamma, 0: 0.0}[direction(tree)] + (1 - beta) * below / sum(sizes)


def leans_left(tree: Tree) -> bool:
    if isinstance(tree, int):
        return True
    operator, children = tree
    right = children[-1]
    turns = len(operator) == 2 and not isinstance(right, int) and right[0] == operator
    return not turns and all(map(leans_left, children))


@functools.cache
def raw_by_listing(permutation: tuple[int, ...], beta: float, gamma: float) -> dict[str, float]:
    trees = all_trees(permutation)
    (canonical,) = [tree for tree in trees if leans_left(tree)]
    values = [phi(tree, beta, gamma) for tree in trees]
    return {
        "pet": phi(canonical, beta, gamma),
        "pet_flat": flat_phi(flattened(canonical), beta, gamma),
        "pet_viterbi": max(values),
        "pef": sum(values) / len(values),
    }


def by_listing(permutation: tuple[int, ...], beta: float, gamma: float) -> dict[str, float]:
    inverted = raw_by_listing(tuple(range(len(permutation)))[::-1], beta, gamma)
    raw = raw_by_listing(permutation, beta, gamma)
    return {name: (raw[name] - low) / (1 - low) for name, low in inverted.items()}


def scores(name: str, items: Sequence[Sequence[int]], **options: float) -> list[float]:
    offsets = np.concatenate([[0], np.cumsum([len(item) for item in items])])
    return permutation_scores(name, np.concatenate(items), offsets, **options).tolist()


SMALL = [permutation for length in range(2, 7) for permutation in itertools.permutations(range(length))]
SMALL += list(itertools.permutations(range(7)))[::23]
# runs of four and five parts that are alike, with or without gain
SMALL += [(1, 0, 3, 2, 5, 4, 7, 6), (6, 7, 4, 5, 2, 3, 0, 1), (1, 0, 3, 2, 4, 6, 5, 8, 7)]


@pytest.mark.parametrize(("beta", "gamma"), [(0.6, 0.0), (0.15, 0.0), (0.5, 0.7), (0.95, 0.25)])
def test_scores_are_those_of_listed_trees(beta, gamma):
    expected = [by_listing(item, beta, gamma) for item in SMALL]
    for name in ("pet", "pet_flat", "pet_viterbi", "pef"):
        result = scores(name, SMALL, beta=beta, gamma=gamma)
        np.testing.assert_allclose(result, [item[name] for item in expected], rtol=0, atol=1e-12)


def test_shapes_are_those_of_listed_trees():
    def arities(tree: Tree) -> list[int]:
        return [] if isinstance(tree, int) else [len(tree[1]), *itertools.chain(*map(arities, tree[1]))]

    items = [item for item in SMALL if len(item) > 2]
    result = {name: scores(name, items) for name in ("pet_arity", "pet_size", "pet_max_arity", "pef_size")}
    for index, permutation in enumerate(items):
        length, trees = len(permutation), all_trees(permutation)
        widths = arities(trees[0])
        most = len(all_trees(tuple(range(length))))
        assert result["pet_arity"][index] == pytest.approx((length - sum(widths) / len(widths)) / (length - 2))
        assert result["pet_size"][index] == pytest.approx((len(widths) - 1) / (length - 2))
        assert result["pet_max_arity"][index] == pytest.approx((length - max(widths)) / (length - 2))
        assert result["pef_size"][index] == pytest.approx((len(trees) - 1) / (most - 1), abs=1e-15)


@pytest.mark.parametrize("beta", [0.01, 0.4, 0.6, 0.95, 1.0])
def test_mean_depth_weights_follow_the_recursion_over_splits(beta):
    """Mean of (1 - beta) ** depth of leaf i over all binary trees, by exact fractions."""
    parts, shrink = 40, Fraction(1) - Fraction(str(beta))
    trees = [0] + [math.comb(2 * k, k) // (k + 1) for k in range(parts)]
    mean = {1: [Fraction(1)]}
    for k in range(2, parts + 1):
        mean[k] = [
            shrink
            * sum(
                trees[left] * trees[k - left] * (mean[left][leaf] if leaf < left else mean[k - left][leaf - left])
                for left in range(1, k)
            )
            / trees[k]
            for leaf in range(k)
        ]
    tables = make_tables(FOREST, parts, beta)
    for k in range(2, parts + 1):
        for leaf in range(k):
            near = min(leaf, k - 1 - leaf)
            result = tables.paths[near] @ tables.weighted[k - 1 - near] / tables.trees[k]
            assert result == pytest.approx(float(mean[k][leaf]), rel=1e-13)


@thorough
def test_long_permutations():
    length = 3000
    swaps = np.arange(length).reshape(-1, 2)[:, ::-1].ravel()
    ladder = np.empty(length, dtype=np.int64)  # inverted, in order, inverted, ... n nodes deep
    ladder[0] = length // 2
    low = high = length // 2
    for at in range(1, length):
        if at % 2:
            low -= 1
        else:
            high += 1
        ladder[at] = low if at % 2 else high
    for name in ("pef", "pet", "pet_size"):
        items = [np.arange(length), np.arange(length)[::-1], swaps, ladder]
        in_order, inverted, swapped, laddered = scores(name, items)
        assert in_order == 1
        assert inverted == (1 if name == "pet_size" else 0)
        assert 0 < swapped <= 1
        assert 0 < laddered <= 1
    # more trees than a float can count
    assert scores("pef_size", [swaps])[0] == pytest.approx(0, abs=1e-300)
