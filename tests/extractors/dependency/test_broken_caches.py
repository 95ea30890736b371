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
    tried = set()
    for kind, problem in broken_caches.trials(
        broken_caches.KINDS["parses"], tmp_path / "trial", 2, 2, random.Random(1)
    ):
        assert problem == "", kind
        tried.add(kind)
    # the others need a mounted disk, or files that every user may read
    kinds = ("sound", "files may not grow", "garbage", "cut off", "a flipped bit", "a lock held by another")
    assert tried >= {*kinds, *(f"after: {kind}" for kind in kinds), "four runs at once"}
