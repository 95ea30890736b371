"""Permutation trees and forests against trees listed by brute force, golden trees, and how they are drawn."""

from __future__ import annotations

import csv
import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import DataError
from ranker.extractors.order.charts import PermutationTree, permutation_tree, read_permutation
from ranker.extractors.order.drawing import draw_svg, draw_text
from ranker.extractors.order.scores import permutation_scores
from ranker.extractors.order.tree_scores import FOREST, make_tables

# a tree is a value or (operator, children)
Tree = Any
SVG = "{http://www.w3.org/2000/svg}"


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


def brackets(tree: Tree) -> str:
    if isinstance(tree, int):
        return str(tree)
    return f"({','.join(map(str, tree[0]))}|{' '.join(map(brackets, tree[1]))})"


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


def test_trees_are_those_that_brute_force_lists():
    for permutation in SMALL:
        trees = all_trees(permutation)
        tree = permutation_tree(permutation)
        (canonical,) = [item for item in trees if leans_left(item)]
        assert tree.n_trees == len(trees)
        assert str(tree.canonical()) == brackets(canonical)
        assert str(tree) == brackets(flattened(canonical))


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


@st.composite
def nested(draw: st.DrawFn) -> list[int]:
    """Permutations with blocks in blocks, which are rare at random."""
    values = [0]
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(values) - 1))
        pattern = draw(st.sampled_from([(0, 1), (1, 0), (1, 3, 0, 2), (2, 0, 3, 1), (0, 1, 2), (2, 4, 1, 3, 0)]))
        low, more = values[at], len(pattern) - 1
        values = [value + more if value > low else value for value in values]
        values[at : at + 1] = [low + value for value in pattern]
    return values


@settings(deadline=None)
@given(nested() | st.integers(2, 30).flatmap(lambda length: st.permutations(range(length))))
def test_the_chart_holds_all_blocks_and_adds_up(permutation):
    tree = permutation_tree(permutation)
    spans = list(tree.chart())
    windows = itertools.combinations(range(len(permutation) + 1), 2)
    blocks = {(a, b): min(permutation[a:b]) for a, b in windows if b - a > 1 and is_block(permutation[a:b])}
    assert {(item.start, item.stop): item.low for item in spans} == blocks
    assert tree.n_spans == len(spans) == len(blocks)
    trees = {(item.start, item.stop): item.trees for item in spans}

    def count(start: int, stop: int) -> int:
        return 1 if stop - start == 1 else trees[start, stop]

    for span in spans:
        if len(span.operator) == 2:
            ways = sum(count(span.start, split) * count(split, span.stop) for split in span.splits)
        else:
            ways = math.prod(count(*part) for part in itertools.pairwise((span.start, *span.splits, span.stop)))
        assert span.trees == ways
        parts = [permutation[a:b] for a, b in itertools.pairwise((span.start, *span.splits[: len(span.operator) - 1]))]
        assert ranks([*parts, permutation[span.splits[len(span.operator) - 2] : span.stop]]) == span.operator
    assert trees[0, len(permutation)] == tree.n_trees


@pytest.mark.parametrize(
    ("golden", "file"),
    [("included", "perm_beer11.tsv"), ("shared", "perm_beer11.tsv"), ("shared", "perm_meteor_beer11.tsv")],
    indirect=["golden"],
)
def test_golden_trees(golden, file):
    if file == "perm_beer11.tsv":
        result = dict(line.split("\t") for line in (golden / "permutations.tsv").read_text().splitlines())
    else:
        with (golden / "perm_null_beer11.tsv").open(encoding="utf-8") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            result = {row["id"]: row["ignore_and_normalize"] for row in rows}
    compared = 0
    with (golden / file).open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["n_pets"]:
                tree = permutation_tree([int(value) for value in result[row["id"]].split()])
                assert tree.n_trees == int(row["n_pets"])
                assert str(tree.canonical()) == row["tree"]
                assert str(tree) == flat_operators(tree, row["flat_tree"])
                compared += 1
    assert compared > 100


def flat_operators(tree: PermutationTree, text: str) -> str:
    """Write out the operators of the flat nodes, which BEER leaves binary."""
    inner: list[str] = []
    pending = [len(tree.nodes) - 1]
    while pending:
        node = tree.nodes[pending.pop()]
        inner += [",".join(map(str, node.operator))] if node.children else []
        pending += reversed(node.children)
    pieces = text.split("|")
    for place, operator in enumerate(inner):
        before, given = pieces[place].rsplit("(", 1)
        assert given in (operator, "1,2" if operator.startswith("1,") else "2,1")
        pieces[place] = f"{before}({operator}"
    return "|".join(pieces)


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
    tree = permutation_tree(ladder)
    assert tree.n_trees == 1
    assert len(tree.nodes) == 2 * length - 1
    assert str(tree).count("(") == length - 1
    # more trees than a float can count
    assert scores("pef_size", [swaps])[0] == pytest.approx(0, abs=1e-300)
    assert permutation_tree(np.arange(length)).n_trees > 10**1000


def test_no_word_and_one():
    assert permutation_tree([]).n_trees == 0
    assert (str(permutation_tree([])), draw_text(permutation_tree([])), list(permutation_tree([]).chart())) == (
        "",
        "",
        [],
    )
    single = permutation_tree([0])
    assert (single.n_trees, single.n_spans, str(single), draw_text(single, first=1)) == (1, 0, "0", "1")
    with pytest.raises(DataError, match=r"1 occurs more than once and 0 is missing"):
        permutation_tree([1, 1])


EXAMPLE = permutation_tree([4, 6, 3, 5, 2, 0, 1])
DRAWING = """\
       21
     ┌──┴──┐
    21     │
   ┌─┴──┐  │
 2413   │ 12
┌─┬┴┬─┐ │ ┌┴┐
5 7 4 6 3 1 2"""
FLAT_DRAWING = """\
      321
   ┌───┴┬──┐
 2413   │ 12
┌─┬┴┬─┐ │ ┌┴┐
5 7 4 6 3 1 2"""


def test_text():
    assert draw_text(EXAMPLE.canonical(), first=1) == DRAWING
    assert draw_text(EXAMPLE, first=1) == FLAT_DRAWING
    assert draw_text(EXAMPLE, width=13).endswith("\n4 6 3 5 2 0 1")
    assert draw_text(EXAMPLE, width=12) == "(3,2,1|(2,4,1,3|4 6 3 5) 2 (1,2|0 1))"


@settings(deadline=None)
@given(nested(), st.integers(0, 1))
def test_text_ends_with_the_permutation_and_shows_every_node(permutation, first):
    tree = permutation_tree(permutation).canonical()
    lines = draw_text(tree, first=first).splitlines()
    assert [int(word) - first for word in lines[-1].split()] == permutation
    operators = ["".join(map(str, node.operator)) for node in tree.nodes if node.children]
    assert sorted(" ".join(lines[:-1:2]).replace("│", " ").split()) == sorted(operators)
    assert sum(line.count("┌") + line.count("├") for line in lines) == len(operators)


@settings(deadline=None)
@given(nested())
def test_svg_places_every_node_over_its_words(permutation):
    tree = permutation_tree(permutation)
    root = ElementTree.fromstring(draw_svg(tree, first=1))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = [[item.find(SVG + part) for part in ("title", "rect", "text")] for item in root.findall(SVG + "g")]
    assert len(boxes) == len(tree.nodes)
    leaves = []
    for (title, box, text), node in zip(boxes, tree.nodes, strict=True):
        left, top = float(box.attrib["x"]), float(box.attrib["y"])
        assert 0 < left < left + float(box.attrib["width"]) < width
        assert 0 < top < top + float(box.attrib["height"]) < height
        if node.children:
            assert f"positions {node.start + 1} to {node.stop}" in title.text
            assert text.text.replace(",", "") == "".join(map(str, node.operator))
        else:
            leaves.append((float(text.attrib["x"]), int(text.text) - 1))
    assert [value for _, value in sorted(leaves)] == permutation
    assert root.find(SVG + "path").attrib["d"].count("M") == len(tree.nodes) - 1


def test_reading_what_people_write():
    for text in ("5 7 4 6 3 1 2", "(5,7,4,6,3,1,2)", "[5, 7, 4,\t6, 3, 1, 2]\n", "<5 7 4 6 3 1 2>"):
        values, first = read_permutation(text)
        assert (values.tolist(), first) == ([4, 6, 3, 5, 2, 0, 1], 1)
    values, first = read_permutation("1 0 2")
    assert (values.tolist(), first) == ([1, 0, 2], 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"^the permutation is empty, expected whole numbers such as 5 7 4 6 3 1 2$"),
        ("1 two 3", r"^word 2 is 'two', expected whole numbers"),
        ("1 2.0", r"^word 2 is '2.0'"),
        ("9999999999999999", r"^word 1 is '9999999999999999'"),
        (
            "1 3",
            r"^3 is out of range and 2 is missing; expected each of 1 to 2 once, in any order \(counting from 1\)$",
        ),
        (
            "0 2",
            r"^2 is out of range and 1 is missing; expected each of 0 to 1 once, in any order \(counting from 0\)$",
        ),
        ("1 1", r"^1 occurs more than once and 2 is missing"),
        ("-1 1", r"^-1 is out of range and 2 is missing"),
    ],
)
def test_what_is_no_permutation_is_refused(text, says):
    with pytest.raises(DataError, match=says):
        read_permutation(text)
    with pytest.raises(DataError, match=r"^notes:7: "):
        read_permutation(text, file="notes", line=7)
