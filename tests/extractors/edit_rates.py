"""Statistics and scores for the tests of the edit rates."""

from __future__ import annotations

import numpy as np

from ranker.extractors.base import Metric
from tests.datasets import Item, dataset_of


def statistics(metric: Metric, items: list[Item]) -> np.ndarray:
    return metric.statistics(dataset_of(items))


def score(metric: Metric, references: list[str], candidate: str) -> float:
    return float(metric.transform(dataset_of([(references, candidate)]))[0, 0])
