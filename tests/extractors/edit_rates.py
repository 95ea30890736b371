"""Golden values and data sets for the tests of the edit rates."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.extractors.base import Metric

Item = tuple[list[str], str]


def dataset_of(items: list[Item]) -> Dataset:
    """Make a data set of one candidate a source, of (references, candidate)."""
    return assemble([Record("", references, [Candidate("s", text)]) for references, text in items], "test")


def inputs(golden: Path) -> list[dict]:
    """Read the items of the golden files."""
    return [json.loads(line) for line in (golden / "inputs.jsonl").read_text(encoding="utf-8").splitlines()]


def items_of(golden: Path, references: int | None = None, group: str = "all") -> list[Item]:
    """Return (references, candidate) of the items of a group, with only the first of the references if asked."""
    return [
        (item["refs"][:references], item["hyp"]) for item in inputs(golden) if group == "all" or item["group"] == group
    ]


def expected(golden: Path, name: str, *columns: str) -> np.ndarray:
    """Read columns of a golden file in the order of the items, shape (items, columns)."""
    with (golden / name).open(encoding="utf-8", newline="") as stream:
        rows = {row["id"]: row for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)}
    return np.array([[float(rows[item["id"]][column]) for column in columns] for item in inputs(golden)])


def statistics(metric: Metric, items: list[Item]) -> np.ndarray:
    return metric.statistics(dataset_of(items))


def score(metric: Metric, references: list[str], candidate: str) -> float:
    return float(metric.transform(dataset_of([(references, candidate)]))[0, 0])
