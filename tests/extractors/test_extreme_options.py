"""Options of any size are refused in one line, or give finite scores."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ranker import from_records
from ranker.errors import RankerError
from ranker.extractors.base import Metric
from ranker.extractors.registry import BUILT_IN, make_metric
from ranker.notation import field_types, options_of
from ranker.ranking.scorers import MetricScorer

EXTREME = [
    "1e200",
    "1e308",
    "-1e200",
    "1e-200",
    "5e-324",
    "0",
    "-1",
    "1000000000",
    "9" * 20,
    "nan",
    "inf",
    "1e15",
    "1e-15",
]
DATA = from_records(
    [
        {
            "lp": "de-en",
            "source": f"das Haus {number}",
            "references": [f"the house {number} is here", f"a house , {number} , is here now"],
            "candidates": {"A": f"the house {number} here", "B": f"a house is is {number} not", "C": "x"},
        }
        for number in range(3)
    ]
)


def numeric_options() -> list[tuple[str, str]]:
    metrics = []
    for name in sorted(BUILT_IN):
        try:
            metric = make_metric(name)
        except RankerError:
            continue
        if isinstance(metric, Metric):
            hints = field_types(type(metric))
            options = [
                option
                for option in options_of(type(metric))
                if {"int", "float"} & {*str(hints[option]).replace("'", " ").split()}
            ]
            metrics += [(name, option) for option in options]
    return metrics


@pytest.mark.parametrize(("name", "option"), numeric_options())
def test_extreme_options_are_refused_or_give_finite_scores(name, option):
    for value in EXTREME:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                scorer = MetricScorer(make_metric(f"{name}[{option}={value}]"))
                statistics = scorer.statistics(DATA)
                scores = np.append(scorer.score(statistics), scorer.score(statistics.sum(axis=0)))
        except RankerError as error:
            refusal = str(error)
        else:
            refusal = ""
            assert np.isfinite(scores).all(), value
        assert "\n" not in refusal
