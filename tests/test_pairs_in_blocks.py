"""Pairs of rows in blocks, of which there may be far too many."""

from __future__ import annotations

import numpy as np
import pytest

from ranker import arrays
from ranker.errors import DataError


def test_far_too_many_pairs_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [side.tolist() for side in arrays.pairs_in_blocks([0, 3, 3, 5])] == [[3, 0, 0, 1], [4, 1, 2, 2]]
    monkeypatch.setattr(np, "triu_indices", lambda *_: pytest.fail("pairs were made"))
    with pytest.raises(DataError, match="groups of up to 20,000 candidates or judgements have 199,990,007 pairs"):
        arrays.pairs_in_blocks([0, 20_000, 20_002, 20_006])
