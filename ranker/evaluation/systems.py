"""Scores of whole systems from the statistics of their segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ranker.extractors.base import Metric
from ranker.extractors.feature_sets import FeatureSet
from ranker.ranking import Ranker

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset


def system_scores(
    scorer: Metric | Ranker, dataset: Dataset, system: npt.NDArray[np.int64], systems: int
) -> npt.NDArray[np.float64]:
    """Score systems: a metric by its summed statistics, a ranker by the mean of its segment scores.

    Parameters
    ----------
    scorer : Metric or Ranker
    dataset : Dataset
    system : int array, shape (candidates,)
        System of every candidate, ``0 .. systems - 1``.
    systems : int

    Returns
    -------
    float array, shape (systems,)

    Raises
    ------
    DataError
        If a reference is missing where the metric needs one.
    """
    if isinstance(scorer, Ranker):
        sums = np.bincount(system, weights=scorer.score(dataset), minlength=systems)
        return np.asarray(sums / np.bincount(system, minlength=systems))
    FeatureSet((scorer,)).check_references(dataset)
    rows = scorer.statistics(scorer.batch(dataset))
    totals = np.stack([np.bincount(system, weights=column, minlength=systems) for column in rows.T], axis=1)
    return scorer.score(totals)
