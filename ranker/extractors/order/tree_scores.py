r"""Scores of permutation trees and forests (Stanojević and Sima'an 2014), computed on one tree that packs the forest.

A tree's score is :math:`\phi(\mathrm{leaf}) = 1` and

.. math:: \phi(v) = \beta\, o(v) + (1 - \beta) \sum_{c\ \mathrm{child\ of}\ v} \frac{|c|}{|v|} \phi(c)

with o = 1 for a monotone operator, gamma for 21 and 0 for any other; a run of 21 flattened to one node keeps gamma.
Write :math:`\Phi(v) = |v| \phi(v)` and take a run of one binary operator with the parts c_1 .. c_k, under any tree of
that operator. Then

.. math:: \Phi(v) = o |v| + \sum_i (1 - \beta)^{d_i} (\Phi(c_i) - o |c_i|)

with d_i the depth of c_i in that tree. So of a tree only the depths matter: of the left-branching tree they are known,
of the flat one they are 1, the best tree is a dynamic programme over k parts, and the mean over all trees of the
forest, each with the same weight, needs only the mean of :math:`(1 - \beta)^{d_i}` over the Catalan(k - 1) binary
trees, a constant of i and k. Trees are never listed, and no chart over spans is filled.

That constant comes from the path from the root to leaf i, which leaves a left subtree behind whenever it turns right:
l left subtrees with i leaves in all, r right ones with k - 1 - i. The number of rows of l binary trees with a leaves in
all is F(l, a) = l / (2a - l) * binomial(2a - l, a), so it is

.. math:: \frac{1}{\mathrm{Catalan}(k - 1)} \sum_{l, r} \binom{l + r}{l} (1 - \beta)^{l + r} F(l, i) F(r, k - 1 - i),

all terms positive. Counts are kept divided by powers of 2, so that no length overflows; terms that cannot change the
sixteenth digit are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import FloatArray
from ranker.extractors.order.tree_parser import INVERTED, LEAF, MONOTONE, PRIMAL, Nodes
from ranker.storage.kernels import kernel

CANONICAL, FLAT, VITERBI, FOREST = 0, 1, 2, 3
"""Kinds of trees that are scored."""

_NEGLIGIBLE = 1e-18


class TreeTables(NamedTuple):
    """Constants for one beta and up to n parts under an operator; arrays that a kind of tree does not use are empty."""

    paths: FloatArray
    """F(l, a) 2**l / 4**a at [a, l], shape (n, terms)."""
    weighted: FloatArray
    """Sum over r of binomial(l + r, l) ((1 - beta) / 2)**(l + r) F(r, b) 2**r / 4**b at [b, l], shape (n, terms)."""
    trees: FloatArray
    """Catalan(k - 1) / 4**(k - 1), shape (n + 1,)."""
    best: FloatArray
    """Highest sum of (1 - beta)**depth over the leaves of a binary tree with k leaves, shape (n + 1,)."""


@kernel(elements=0)
def _path_tables(length: int, shrink: float) -> TreeTables:
    terms = 2
    # of l subtrees on a side, a path has at most l * exp(-(l - 2)**2 / (4 * length)) times what it has of one
    while terms < length and terms**3 * shrink**terms * np.exp(-((terms - 2) ** 2) / (4 * length)) > _NEGLIGIBLE:
        terms += 1
    paths = np.zeros((length, terms))
    weighted = np.zeros((length, terms))
    trees = np.ones(length + 1)
    for leaves in range(2, length + 1):
        trees[leaves] = trees[leaves - 1] * (2 * leaves - 3) / (2 * leaves)
    paths[0, 0] = 1.0
    for leaves in range(1, length):
        paths[leaves, 1] = trees[leaves] / 2
        for rows in range(1, min(leaves, terms - 1)):
            ratio = 2 * (rows + 1) / rows * (leaves - rows) / (2 * leaves - rows - 1)
            paths[leaves, rows + 1] = paths[leaves, rows] * ratio
    # binomial(l + r, l) * (shrink / 2)**(l + r), by Pascal's rule
    turns = np.empty((terms, terms))
    turns[0] = (shrink / 2) ** np.arange(terms)
    for left in range(1, terms):
        turns[left, 0] = turns[0, left]
        for right in range(1, terms):
            turns[left, right] = shrink / 2 * (turns[left - 1, right] + turns[left, right - 1])
    for leaves in range(length):
        for right in range(min(leaves + 1, terms)):
            weighted[leaves] += paths[leaves, right] * turns[right]
    return TreeTables(paths, weighted, trees, np.empty(0))


@kernel(elements=0)
def _best_tables(length: int, shrink: float) -> TreeTables:
    best = np.ones(length + 1)
    for leaves in range(2, length + 1):
        highest = 0.0
        for left in range(1, leaves // 2 + 1):
            highest = max(highest, best[left] + best[leaves - left])
        best[leaves] = shrink * highest
    return TreeTables(np.empty((0, 0)), np.empty((0, 0)), np.empty(0), best)


def make_tables(trees: int, length: int, beta: float) -> TreeTables:
    """Compute the constants for scoring permutations of up to `length` words."""
    if trees == FOREST:
        return _path_tables(max(length, 2), 1 - beta)
    return _best_tables(length if trees == VITERBI else 0, 1 - beta)


@kernel(elements=0)
def _mean_over_trees(gains: FloatArray, tables: TreeTables) -> float:
    parts = len(gains)
    total = 0.0
    for part in range(parts):
        if gains[part] != 0.0:
            near = min(part, parts - 1 - part)
            mean = 0.0
            for rows in range(min(near + 1, tables.paths.shape[1])):
                mean += tables.paths[near, rows] * tables.weighted[parts - 1 - near, rows]
            total += gains[part] * mean
    return float(total / tables.trees[parts])


@kernel(elements=0)
def _best_tree(gains: FloatArray, shrink: float, tables: TreeTables) -> float:
    parts = len(gains)
    alike = gains[0] >= 0
    for part in range(1, parts):
        alike = alike and gains[part] == gains[0]
    if alike:
        return float(gains[0] * tables.best[parts])
    best = np.empty((parts, parts))
    for first in range(parts - 1, -1, -1):
        best[first, first] = gains[first]
        for last in range(first + 1, parts):
            highest = -np.inf
            for split in range(first, last):
                highest = max(highest, best[first, split] + best[split + 1, last])
            best[first, last] = shrink * highest
    return float(best[0, parts - 1])


@kernel(elements=0)
def _over_run(gains: FloatArray, trees: int, shrink: float, tables: TreeTables) -> float:
    """Return the sum of ``shrink**depth * gain`` over the parts under one operator, for trees of the kind `trees`."""
    if trees == FOREST:
        return _mean_over_trees(gains, tables)
    if trees == VITERBI:
        return _best_tree(gains, shrink, tables)
    if trees == CANONICAL:
        total = gains[0]
        for part in range(1, len(gains)):
            total = shrink * (total + gains[part])
        return float(total)
    return float(shrink * gains.sum())


@kernel(elements=0)
def inverted_value(length: int, trees: int, beta: float, gamma: float, tables: TreeTables) -> float:
    """Return phi, before it is rescaled, of the completely reversed order of `length` words."""
    if length < 2:
        return 1.0
    return (gamma * length + _over_run(np.full(length, 1 - gamma), trees, 1 - beta, tables)) / length


@kernel(elements=0)
def raw_value(nodes: Nodes, count: int, trees: int, beta: float, gamma: float, tables: TreeTables) -> float:
    """Return phi, before it is rescaled, of a parsed permutation whose tree has `count` nodes."""
    values, room = np.empty(count), np.empty(count)
    for node in nodes.finished[:count]:
        kind = nodes.kind[node]
        if kind == LEAF:
            values[node] = 1.0
            continue
        score = 1.0 if kind == MONOTONE else gamma if kind == INVERTED else 0.0
        gains = room[: nodes.arity[node]]
        child = nodes.first_child[node]
        for part in range(len(gains)):
            gains[part] = values[child] - score * nodes.size[child]
            child = nodes.next_sibling[child]
        over = (1 - beta) * gains.sum() if kind == PRIMAL else _over_run(gains, trees, 1 - beta, tables)
        values[node] = score * nodes.size[node] + over
    root = nodes.finished[count - 1]
    return float(values[root] / nodes.size[root])


class Shape(NamedTuple):
    """Properties that are equal for all trees of a forest, and the number of trees."""

    n_inner: int
    """Number of inner nodes of each tree; a run of k parts under one operator has k - 1 binary nodes."""
    arities: int
    """Sum of the inner nodes' numbers of children."""
    widest: int
    """Largest number of children of a node."""
    log_trees: float
    """Natural logarithm of the number of trees."""


@kernel(elements=0)
def forest_shape(nodes: Nodes, count: int, log_catalan: FloatArray) -> Shape:
    """Return the shape of a parsed forest of `count` nodes; ``log_catalan[k]`` is the logarithm of Catalan(k - 1)."""
    n_inner, arities, widest = 0, 0, 0
    log_trees = 0.0
    for node in nodes.finished[:count]:
        arity = nodes.arity[node]
        if nodes.kind[node] == PRIMAL:
            n_inner += 1
            arities += arity
            widest = max(widest, arity)
        elif nodes.kind[node] != LEAF:
            n_inner += arity - 1
            arities += 2 * (arity - 1)
            widest = max(widest, 2)
            log_trees += log_catalan[arity]
    return Shape(n_inner, arities, widest, log_trees)


def log_catalan(length: int) -> FloatArray:
    """Return the logarithms of the numbers of binary trees with 0 to `length` leaves; 0 for fewer than two leaves."""
    leaves = np.arange(2, length + 1)
    return np.concatenate([[0.0, 0.0], np.cumsum(np.log((4 * leaves - 6) / leaves))])[: length + 1]
