"""From alignments to permutations: the golden values of Moses' code, a plain-Python twin, the paper's table."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.order.birch_osborne import relative_orders, source_orders
from ranker.extractors.order.scores import permutation_scores
from tests.effort import examples
from tests.made_links import make_links


def parsed(text: str) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in (link.split("-") for link in text.split())]


def blocks(values: np.ndarray, offsets: np.ndarray) -> list[list[int]]:
    return [values[first:last].tolist() for first, last in itertools.pairwise(offsets)]


@pytest.fixture(scope="module")
def cases(golden: Path) -> list[dict[str, str]]:
    with (golden / "lrscore_alignments.tsv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize(("rule", "ending"), [("same-key", ""), ("plus-one", "_plus1rule")])
@pytest.mark.parametrize("side", ["hyp", "ref"])
def test_orders_are_those_of_moses(cases: list[dict[str, str]], rule, ending: str, side: str) -> None:
    links = make_links([parsed(case[f"{side}_align"]) for case in cases])
    result = blocks(*source_orders(links, [int(case["n"]) for case in cases], rule=rule))
    assert result == [[int(rank) for rank in case[f"perm_{side}{ending}"].split()] for case in cases]
    assert len(cases) > 50


def test_birch_and_osborne_table_1() -> None:
    monotone = [(i, i) for i in range(10)]
    swapped = [*monotone[:4], (4, 5), (5, 4), *monotone[6:]]
    halves = [(i, (i + 5) % 10) for i in range(10)]
    values, offsets = source_orders(make_links([monotone, swapped, halves]), [10] * 3)
    orders = relative_orders(values, offsets, [0, 1, 2], [0, 0, 0])
    assert [round(100 * score, 1) for score in permutation_scores("hamming", *orders)] == [100.0, 80.0, 0.0]
    assert [round(100 * score, 1) for score in permutation_scores("kendall_sqrt", *orders)] == [100.0, 85.1, 25.5]


def plain_order(links: list[tuple[int, int]], length: int, step: int) -> list[int]:
    keys: list[int] = []
    for word in range(length):
        targets = [j for i, j in links if i == word]
        keys.append(min(targets) if targets else keys[-1] + step if keys else 0)
    order = sorted(range(length), key=lambda word: (keys[word], word))
    return [order.index(word) for word in range(length)]


PAIRS = st.lists(
    st.integers(0, 9).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.tuples(st.integers(0, max(0, n - 1)), st.integers(0, 12)), max_size=12 if n else 0)
        )
    ),
    max_size=6,
)


@settings(max_examples=examples(60), deadline=None)
@given(PAIRS, st.sampled_from(["same-key", "plus-one"]))
def test_orders_are_their_definition(pairs, rule) -> None:
    links = make_links([pair for _, pair in pairs])
    result = blocks(*source_orders(links, [length for length, _ in pairs], rule=rule))
    assert result == [plain_order(pair, length, int(rule == "plus-one")) for length, pair in pairs]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))))
def test_relative_orders_keep_matches_and_inversions(pair) -> None:
    first, second = pair
    size = len(first)
    values, offsets = np.array([*first, *second], dtype=np.int32), np.array([0, size, 2 * size])
    order = blocks(*relative_orders(values, offsets, [0], [1]))[0]
    assert sorted(order) == list(range(size))
    assert sum(map(int.__eq__, order, range(size))) == sum(map(int.__eq__, first, second))
    opposite = sum((first[i] - first[j]) * (second[i] - second[j]) < 0 for i in range(size) for j in range(i))
    assert sum(order[i] > order[j] for j in range(size) for i in range(j)) == opposite
    assert blocks(*relative_orders(values, offsets, [1], [1]))[0] == list(range(size))


def test_empty_and_unlinked_sentences() -> None:
    values, offsets = source_orders(make_links([[], [], [(1, 3)]]), [0, 3, 2])
    assert blocks(values, offsets) == [[], [0, 1, 2], [0, 1]]
    assert blocks(*relative_orders(values, offsets, [], [])) == []
