"""Permutation trees: the factorisation of a permutation into primal operators, by a shift-reduce parse.

A *block* is a window of positions whose values are an interval of integers, in any order. The blocks that overlap no
other block only in part form a tree, which packs the whole forest of permutation trees (Stanojević and Sima'an 2014):
its inner nodes are

- *monotone* or *inverted*: two or more children in increasing or decreasing order. Any binary bracketing of the k
  children is a permutation tree, so the node stands for Catalan(k - 1) trees;
- *primal*: four or more children none of whose groups is a block, as in 2413. There is one way to write it.

`parse_permutation` builds that tree from left to right. A word is shifted, then reduced with what lies on the stack as
long as some block ends here and begins further left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranker.arrays import Int64Array
from ranker.storage.kernels import kernel

LEAF, MONOTONE, INVERTED, PRIMAL = 0, 1, 2, 3
"""Kinds of nodes."""


class Nodes(NamedTuple):
    """Arrays for the nodes of one tree: node i < n is the leaf at position i; children are linked left to right."""

    kind: Int64Array
    start: Int64Array
    size: Int64Array
    low: Int64Array
    arity: Int64Array
    first_child: Int64Array
    last_child: Int64Array
    next_sibling: Int64Array
    finished: Int64Array
    """All nodes, children before their parents."""
    stack: Int64Array


@kernel
def new_nodes(length: int) -> Nodes:
    """Allocate the node arrays for trees of up to `length` words."""
    room = np.empty((10, 2 * length), dtype=np.int64)
    return Nodes(room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7], room[8], room[9])


@kernel
def _leftmost_block(permutation: Int64Array, last: int) -> int:
    """Return the first position of the longest block that ends at `last`."""
    leftmost = last
    lowest = highest = permutation[last]
    for begin in range(last - 1, -1, -1):
        lowest, highest = min(lowest, permutation[begin]), max(highest, permutation[begin])
        if highest - lowest == last - begin:
            leftmost = begin
    return leftmost


@kernel
def parse_permutation(permutation: Int64Array, nodes: Nodes) -> int:
    """Parse a non-empty permutation of 0..n-1 into `nodes`, finishing the root last; return the number of nodes."""
    stack, finished = nodes.stack, nodes.finished
    depth = done = 0
    count = len(permutation)
    for at in range(len(permutation)):
        current = at
        nodes.kind[at] = LEAF
        nodes.start[at] = at
        nodes.size[at] = 1
        nodes.low[at] = permutation[at]
        nodes.arity[at] = 0
        leftmost = _leftmost_block(permutation, at)
        while depth > 0 and nodes.start[stack[depth - 1]] >= leftmost:
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
                finished[done] = top
                done += 1
            finished[done] = current
            done += 1
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
                finished[done] = top
                done += 1
                low = min(low, nodes.low[top])
                high = max(high, nodes.low[top] + nodes.size[top])
                start = nodes.start[top]
            nodes.start[new_node] = start
            nodes.size[new_node] = high - low
            nodes.low[new_node] = low
            current = new_node
        stack[depth] = current
        depth += 1
    finished[done] = stack[0]
    return done + 1
