"""Permutation trees and packed charts as objects, for people to look at; scores come from `permutation_scores`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int64Array
from ranker.errors import DataError
from ranker.extractors.order.scores import check_permutations, permutation_fault
from ranker.extractors.order.tree_parser import (
    INVERTED,
    LEAF,
    MONOTONE,
    PRIMAL,
    new_nodes,
    new_order,
    new_parser,
    order_nodes,
    parse_permutation,
)


class Node(NamedTuple):
    """One node of a `PermutationTree`."""

    start: int
    """Position of its first word, from 0."""
    stop: int
    """Position after its last word."""
    low: int
    """Lowest of its values, from 0; they are ``low`` to ``low + stop - start - 1``."""
    operator: tuple[int, ...]
    """Ranks of its children from left to right, from 1, such as (2, 4, 1, 3); empty for a leaf."""
    children: tuple[int, ...]
    """Indices of its children from left to right."""

    @property
    def kind(self) -> int:
        """`LEAF`, `MONOTONE`, `INVERTED` or `PRIMAL`."""
        if not self.operator:
            return LEAF
        in_order = tuple(range(1, len(self.operator) + 1))
        return MONOTONE if self.operator == in_order else INVERTED if self.operator == in_order[::-1] else PRIMAL


class Span(NamedTuple):
    """One item of a packed chart: a block that some tree of the forest has as an inner node."""

    start: int
    """Position of its first word, from 0."""
    stop: int
    """Position after its last word."""
    low: int
    """Lowest of its values, from 0."""
    operator: tuple[int, ...]
    """Operator of every node over this block, (1, 2) or (2, 1) or a primal one."""
    splits: tuple[int, ...]
    """Where its children but the first begin: of a binary operator one of these, of a primal one all together."""
    trees: int
    """Number of permutation trees of this block."""


@dataclass(frozen=True)
class PermutationTree:
    """A permutation tree."""

    nodes: tuple[Node, ...]

    def canonical(self) -> PermutationTree:
        """Return the left-branching tree: runs of one binary operator as a chain of nodes with two children."""
        nodes: list[Node] = []
        place: list[int] = []
        for node in self.nodes:
            children = [place[child] for child in node.children]
            operator = node.operator
            if len(children) > 2 and node.kind != PRIMAL:
                operator = (1, 2) if node.kind == MONOTONE else (2, 1)
                left = children[0]
                for right in children[1:-1]:
                    low = min(nodes[left].low, nodes[right].low)
                    nodes.append(Node(node.start, nodes[right].stop, low, operator, (left, right)))
                    left = len(nodes) - 1
                children = [left, children[-1]]
            nodes.append(node._replace(operator=operator, children=tuple(children)))
            place.append(len(nodes) - 1)
        return PermutationTree(tuple(nodes))

    @cached_property
    def n_trees(self) -> int:
        """Number of permutation trees in the forest of this permutation; 0 for the empty one."""
        return math.prod(_binary_trees(node) for node in self.nodes) if self.nodes else 0

    @property
    def n_spans(self) -> int:
        """Number of items of the packed chart."""
        return sum(1 if node.kind == PRIMAL else math.comb(len(node.children), 2) for node in self.nodes)

    def chart(self) -> Iterator[Span]:
        """Yield the items of the packed chart, of one run of a binary operator the short ones first.

        The tree must be as `permutation_tree` returns it, with runs of one binary operator as one node.
        """
        below: list[int] = []
        for node in self.nodes:
            below.append(_binary_trees(node) * math.prod(below[child] for child in node.children))
            parts = [self.nodes[child] for child in node.children]
            if node.kind == PRIMAL:
                starts = tuple(part.start for part in parts[1:])
                yield Span(node.start, node.stop, node.low, node.operator, starts, below[-1])
            elif parts:
                operator = (1, 2) if node.kind == MONOTONE else (2, 1)
                for width in range(2, len(parts) + 1):
                    for left in range(len(parts) - width + 1):
                        window = parts[left : left + width]
                        trees = _catalan(width - 1)
                        trees *= math.prod(below[child] for child in node.children[left : left + width])
                        low = min(window[0].low, window[-1].low)
                        starts = tuple(part.start for part in window[1:])
                        yield Span(window[0].start, window[-1].stop, low, operator, starts, trees)

    def brackets(self, first: int = 0) -> str:
        """Return the tree on one line, every inner node as operator, bar and children; values count from `first`."""
        texts: list[str] = []
        pending: list[int | str] = [len(self.nodes) - 1] if self.nodes else []
        while pending:
            item = pending.pop()
            if isinstance(item, str):
                texts.append(item)
                continue
            node = self.nodes[item]
            if not node.children:
                texts.append(str(node.low + first))
                continue
            texts.append(f"({','.join(map(str, node.operator))}|")
            pending.append(")")
            for index in range(len(node.children) - 1, -1, -1):
                pending.append(node.children[index])
                if index:
                    pending.append(" ")
        return "".join(texts)

    def __str__(self) -> str:
        return self.brackets()


def _catalan(index: int) -> int:
    return math.comb(2 * index, index) // (index + 1)


def _binary_trees(node: Node) -> int:
    """Return how many ways of bracketing the children of this node stands for."""
    return _catalan(len(node.children) - 1) if node.kind in (MONOTONE, INVERTED) else 1


def permutation_tree(permutation: npt.ArrayLike) -> PermutationTree:
    """Parse one permutation into the tree that packs its forest: runs of one binary operator are one node."""
    array = np.asarray(permutation)
    check_permutations(array, np.array([0, array.size]))
    values = np.ascontiguousarray(array, dtype=np.int64)
    if not len(values):
        return PermutationTree(())
    arrays, order = new_nodes(len(values)), new_order(len(values))
    count = order_nodes(arrays, parse_permutation(values, arrays, new_parser(len(values))), order)
    nodes = []
    for place in range(count - 1, -1, -1):
        node, first = order.node[place], int(order.children[place])
        start, low = int(arrays.start[node]), int(arrays.low[node])
        below = order.node[first : first + int(arrays.arity[node])]
        ranks = np.argsort(np.argsort(arrays.low[below])) + 1
        children = tuple(count - 1 - child for child in range(first, first + len(below)))
        nodes.append(Node(start, start + int(arrays.size[node]), low, tuple(ranks.tolist()), children))
    return PermutationTree(tuple(nodes))


def read_permutation(text: str, *, file: str | None = None, line: int | None = None) -> tuple[Int64Array, int]:
    """Read a permutation as people write it: numbers between spaces or commas, perhaps in brackets."""
    words = re.split(r"[\s,;]+", text.strip(" \t\r\n()[]{}<>⟨⟩,;"))
    numbers = []
    for place, word in enumerate(words, start=1):
        if not re.fullmatch(r"[+-]?[0-9]{1,15}", word):
            actual = f"word {place} is {word[:40]!r}" if text.strip() else "the permutation is empty"
            raise DataError(f"{actual}, expected whole numbers such as 5 7 4 6 3 1 2", file=file, line=line)
        numbers.append(int(word))
    values = np.array(numbers, dtype=np.int64)
    first = 0 if 0 in numbers else 1
    if fault := permutation_fault(values, first):
        raise DataError(f"{fault} (counting from {first})", file=file, line=line)
    return values - first, first
