"""Rows in blocks."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ranker.arrays import offsets_of, pairs_in_blocks


@given(st.lists(st.integers(0, 5), max_size=8))
def test_pairs_in_blocks_are_all_pairs_of_every_block(sizes: list[int]) -> None:
    offsets = offsets_of(sizes)
    first, second = pairs_in_blocks(offsets)
    expected = [
        pair for start, stop in itertools.pairwise(offsets) for pair in itertools.combinations(range(start, stop), 2)
    ]
    assert sorted(zip(first.tolist(), second.tolist(), strict=True)) == sorted(expected)
