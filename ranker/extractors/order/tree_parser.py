"""Permutation trees: the factorisation of a permutation into primal operators, by a shift-reduce parse.

A *block* is a window of positions whose values are an interval of integers, in any order. The blocks that overlap no
other block only in part form a tree, which packs the whole forest of permutation trees (Stanojević and Sima'an 2014):
its inner nodes are

- *monotone* or *inverted*: two or more children in increasing or decreasing order. Any binary bracketing of the k
  children is a permutation tree, so the node stands for Catalan(k - 1) trees;
- *primal*: four or more children none of whose groups is a block, as in 2413. There is one way to write it.

`parse_permutation` builds that tree from left to right. A word is shifted, then reduced with what lies on the stack as
long as some block ends here and begins further left; the leftmost such begin is kept in a segment tree over the windows
that end here, so parsing n words takes O(n log n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import Int64Array
from ranker.storage.kernels import kernel

LEAF, MONOTONE, INVERTED, PRIMAL = 0, 1, 2, 3
"""Kinds of nodes."""


class Nodes(NamedTuple):
    """Room for the nodes of one tree: node i < n is the leaf at position i, children are lists from left to right."""

    kind: Int64Array
    start: Int64Array
    size: Int64Array
    low: Int64Array
    arity: Int64Array
    first_child: Int64Array
    last_child: Int64Array
    next_sibling: Int64Array


class Parser(NamedTuple):
    """Room for one parse of at most n words; contents mean nothing between parses."""

    leftmost: Int64Array
    stack: Int64Array
    maxima: Int64Array
    minima: Int64Array
    lowest: Int64Array
    added: Int64Array


class Order(NamedTuple):
    """The nodes of a parsed tree from the root down, those of one parent side by side from left to right."""

    node: Int64Array
    children: Int64Array
    """Place at which the children of each node begin."""


@kernel
def new_nodes(length: int) -> Nodes:
    """Make room for the trees of permutations of up to `length` words."""
    room = np.empty((8, max(2 * length, 1)), dtype=np.int64)
    return Nodes(room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7])


@kernel
def new_parser(length: int) -> Parser:
    """Make room for parsing permutations of up to `length` words."""
    leaves = 1
    while leaves < length:
        leaves *= 2
    room = np.empty((4, max(length, 1)), dtype=np.int64)
    segments = np.empty((2, 2 * leaves), dtype=np.int64)
    return Parser(room[0], room[1], room[2], room[3], segments[0], segments[1])


@kernel
def new_order(length: int) -> Order:
    """Make room for the order of trees of up to `length` words."""
    room = np.empty((2, max(2 * length, 1)), dtype=np.int64)
    return Order(room[0], room[1])


@kernel
def _raise_range(lowest: Int64Array, added: Int64Array, leaves: int, start: int, stop: int, value: int) -> None:
    """Add `value` to the windows that begin at `start` up to before `stop`."""
    left, right = start + leaves, stop + leaves
    first, last = left, right - 1
    while left < right:
        if left & 1:
            lowest[left] += value
            added[left] += value
            left += 1
        if right & 1:
            right -= 1
            lowest[right] += value
            added[right] += value
        left >>= 1
        right >>= 1
    first >>= 1
    last >>= 1
    while first >= 1:
        lowest[first] = min(lowest[2 * first], lowest[2 * first + 1]) + added[first]
        if last != first:
            lowest[last] = min(lowest[2 * last], lowest[2 * last + 1]) + added[last]
        first >>= 1
        last >>= 1


@kernel
def _find_leftmost_blocks(permutation: Int64Array, parser: Parser) -> None:
    """Write for every position where the longest block that ends there begins.

    The segment tree holds ``highest - lowest value + begin`` of every window that ends here; that is at least the
    current position, and equal to it just if the window is a block. Windows yet to come stand at their begin.
    """
    length = len(permutation)
    leaves = 1
    while leaves < length:
        leaves *= 2
    lowest, added, maxima, minima = parser.lowest, parser.added, parser.maxima, parser.minima
    for begin in range(leaves):
        lowest[leaves + begin] = begin
        added[leaves + begin] = 0
    for segment in range(leaves - 1, 0, -1):
        lowest[segment] = lowest[2 * segment]
        added[segment] = 0
    n_maxima, n_minima = 0, 0
    for at in range(length):
        value = permutation[at]
        while n_maxima > 0 and permutation[maxima[n_maxima - 1]] < value:
            n_maxima -= 1
            start = maxima[n_maxima - 1] + 1 if n_maxima > 0 else 0
            rise = value - permutation[maxima[n_maxima]]
            _raise_range(lowest, added, leaves, start, maxima[n_maxima] + 1, rise)
        while n_minima > 0 and permutation[minima[n_minima - 1]] > value:
            n_minima -= 1
            start = minima[n_minima - 1] + 1 if n_minima > 0 else 0
            rise = permutation[minima[n_minima]] - value
            _raise_range(lowest, added, leaves, start, minima[n_minima] + 1, rise)
        maxima[n_maxima] = at
        minima[n_minima] = at
        n_maxima += 1
        n_minima += 1
        segment = 1
        while segment < leaves:
            segment *= 2
            if lowest[segment] > lowest[segment + 1]:
                segment += 1
        parser.leftmost[at] = segment - leaves


@kernel
def parse_permutation(permutation: Int64Array, nodes: Nodes, parser: Parser) -> int:
    """Parse a permutation of 0..n-1, n > 0, into `nodes` and return the root."""
    _find_leftmost_blocks(permutation, parser)
    stack = parser.stack
    depth = 0
    count = len(permutation)
    for at in range(len(permutation)):
        current = at
        nodes.kind[at] = LEAF
        nodes.start[at] = at
        nodes.size[at] = 1
        nodes.low[at] = permutation[at]
        nodes.arity[at] = 0
        while depth > 0 and nodes.start[stack[depth - 1]] >= parser.leftmost[at]:
            depth -= 1
            top = stack[depth]
            above = nodes.low[current] == nodes.low[top] + nodes.size[top]
            below = nodes.low[top] == nodes.low[current] + nodes.size[current]
            kind = MONOTONE if above else INVERTED if below else PRIMAL
            if kind != PRIMAL and nodes.kind[top] == kind:
                nodes.next_sibling[nodes.last_child[top]] = current
                nodes.arity[top] += 1
                new_node = top
            else:
                new_node = count
                count += 1
                nodes.kind[new_node] = kind
                nodes.first_child[new_node] = top
                nodes.next_sibling[top] = current
                nodes.arity[new_node] = 2
            nodes.last_child[new_node] = current
            low = min(nodes.low[top], nodes.low[current])
            high = max(nodes.low[top] + nodes.size[top], nodes.low[current] + nodes.size[current])
            start = nodes.start[top]
            while high - low != at + 1 - start:
                depth -= 1
                top = stack[depth]
                nodes.next_sibling[top] = nodes.first_child[new_node]
                nodes.first_child[new_node] = top
                nodes.arity[new_node] += 1
                low = min(low, nodes.low[top])
                high = max(high, nodes.low[top] + nodes.size[top])
                start = nodes.start[top]
            nodes.start[new_node] = start
            nodes.size[new_node] = high - low
            nodes.low[new_node] = low
            current = new_node
        stack[depth] = current
        depth += 1
    return int(stack[0])


@kernel
def order_nodes(nodes: Nodes, root: int, order: Order) -> int:
    """Write the nodes below `root` breadth first into `order` and return how many there are."""
    order.node[0] = root
    count = 1
    place = 0
    while place < count:
        node = order.node[place]
        order.children[place] = count
        child = nodes.first_child[node]
        for _ in range(nodes.arity[node]):
            order.node[count] = child
            count += 1
            child = nodes.next_sibling[child]
        place += 1
    return count
