"""The cache of parses broken in every way that `bench/broken_caches.py` tries, a few times each."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from bench import broken_caches

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def test_a_broken_cache_costs_time_and_one_line_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKER_CACHE", str(tmp_path / "none"))
    kinds = set()
    for kind, problem in broken_caches.trials(
        broken_caches.KINDS["parses"], tmp_path / "trial", 2, 2, random.Random(1)
    ):
        assert problem == "", kind
        kinds.add(kind)
    assert len(kinds) > 15
