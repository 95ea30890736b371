"""Segments of 100,000 words: every metric scores them or says that they are too long, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ranker.extractors.base import Metric
from ranker.extractors.registry import BUILT_IN, extractor_class
from tests.effort import thorough

WORDS = 100_000
METRICS = [
    name for name in sorted(BUILT_IN) if issubclass(extractor_class(name), Metric) and name not in ("given", "combine")
]
_RUN = """
import json, resource, sys
from bench.processes import captured
small = captured(["score", "small.json", "-m", sys.argv[1], "-f", "json"])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
code, _, messages = captured(["score", "large.json", "-m", sys.argv[1], "-f", "json"])
print(json.dumps([code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, messages[-200:]]))
"""


@pytest.mark.parametrize("name", METRICS)
@thorough
def test_long_segments_take_little_memory(name: str, tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).integers(0, WORDS, (2, WORDS))
    numbers[1, ::3] = numbers[0, ::3]
    for file, length in (("small", 10), ("large", WORDS)):
        reference, candidate = (" ".join(f"w{number}" for number in row[:length]) for row in numbers.tolist())
        record = {"source": reference, "references": [reference], "candidates": {"A": candidate, "B": "w1"}}
        (tmp_path / f"{file}.json").write_text(json.dumps([record]))
    folder = Path(__file__).parents[2]
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{_RUN}"
    ended = subprocess.run([sys.executable, "-c", code, name], cwd=tmp_path, capture_output=True, text=True, check=True)
    exit_code, more, message = json.loads(ended.stdout)
    assert exit_code == 0 or "too long" in message or "give alignments" in message, message
    assert more < (1 << 19) * (1 if sys.platform == "linux" else 1 << 10), "more than 512 MB"
