"""Reading the files of the fixture ``golden``."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from ranker.arrays import FloatArray
from tests.datasets import Item

INCLUDED = Path(__file__).parent / "golden"
"""Directory with the values that are part of this repository."""
SHARED_ONLY = pytest.mark.parametrize("golden", ["shared"], indirect=True)
"""For what ``tests/golden`` lacks: values of corpora, and of programs that need real texts."""


def inputs(golden: Path) -> list[dict]:
    """Read the items that the values belong to."""
    return [json.loads(line) for line in (golden / "inputs.jsonl").read_text(encoding="utf-8").splitlines()]


def items_of(golden: Path, references: int | None = None, group: str = "all") -> list[Item]:
    """Return (references, candidate) of the items of a group, with only the first of the references if asked."""
    return [
        (item["refs"][:references], item["hyp"]) for item in inputs(golden) if group == "all" or item["group"] == group
    ]


def wordnet_of(golden: Path) -> str:
    """Return the option for the WordNet that the values need: their own if they come with one, or the installed."""
    return str(golden / "wordnet") if (golden / "wordnet").is_dir() else "auto"


def rows_of(golden: Path, name: str) -> dict[str, dict[str, str]]:
    """Read a table by the ids of its rows."""
    opened = gzip.open if name.endswith(".gz") else open
    with opened(golden / name, "rt", encoding="utf-8", newline="") as stream:
        return {row["id"]: row for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)}


def expected(golden: Path, name: str, *columns: str) -> FloatArray:
    """Read columns of a table in the order of the items, shape (items, columns)."""
    rows = rows_of(golden, name)
    return np.array([[float(rows[item["id"]][column]) for column in columns] for item in inputs(golden)])
