"""Golden values of meta-evaluation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def cases(shared_golden: Path) -> list[dict]:
    """Tables of human scores and of two metrics, shape (systems, items), with what other programs say of them."""
    with gzip.open(shared_golden / "meta_stats.jsonl.gz", "rt", encoding="utf-8") as stream:
        result = [json.loads(line) for line in stream]
    for case in result:
        for key in ("human", "metric_a", "metric_b"):
            case[key] = np.array(case[key], dtype=float)
    return result
