"""Scores that are no numbers are an error at every level."""

from __future__ import annotations

import numpy as np
import pytest

from ranker.errors import DataError
from ranker.evaluation.systems.levels import Units
from ranker.ranking import make_scorer
from tests.datasets import dataset_of


@pytest.mark.parametrize("level", ["segment", "system"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused(level, value):
    dataset = dataset_of([(["a b"], "a"), (["c"], "c")])
    scorer = make_scorer("rouge_l", None)
    statistics = scorer.statistics(dataset)
    units = Units.of(dataset, level)
    assert np.isfinite(units.score(scorer, statistics)).all()
    statistics[1, 0] = value
    with pytest.raises(DataError, match=f"the score by rouge_l of .*system .* is {value}, expected a number"):
        units.score(scorer, statistics)
