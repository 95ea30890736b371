"""What tuning and re-ranking optimise: a metric's corpus score, or a trained ranker's mean score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import Metric
from ranker.extractors.feature_sets import FeatureSet
from ranker.extractors.registry import make_metric
from ranker.ranking import Ranker


class Objective(ABC):
    """Scores a choice of one hypothesis a sentence, from additive statistics; `score` runs in several threads."""

    name: str
    """What tables call it."""
    sign: float = 1.0
    """-1 where lower scores are better."""

    @abstractmethod
    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the additive statistics of every candidate, shape (candidates, k).

        Raises
        ------
        DataError
            If a reference is missing, or a statistic is not finite.
        """

    @abstractmethod
    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the score of summed statistics of shape (..., k), shape (...)."""

    @abstractmethod
    def signature(self) -> str:
        """Return all that changes the score, in one line."""

    @abstractmethod
    def note(self, dataset: Dataset) -> str | None:
        """Return what a user should know about scores against the references of `dataset`, or None."""

    def gain(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the score, negated where lower is better; what is not a number counts as the worst."""
        scores = self.sign * self.score(statistics)
        return np.where(np.isnan(scores), -np.inf, scores)


@dataclass(frozen=True)
class MetricObjective(Objective):
    """The corpus score of a metric.

    Parameters
    ----------
    metric : Metric
    """

    metric: Metric

    def __post_init__(self) -> None:
        """Refuse metrics that learn from training data first."""
        if self.metric.fit_scope == "train":
            raise OptionError(f"{self.metric} learns from training data first; expected a metric that does not")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The notation of the metric."""
        return str(self.metric)

    @property
    def sign(self) -> float:  # type: ignore[override]
        """1 if higher is better, else -1."""
        return 1.0 if self.metric.higher_is_better else -1.0

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the statistics of the metric."""
        FeatureSet((self.metric,)).check_references(dataset)
        return np.asarray(self.metric.fit_ranked(dataset).statistics(dataset), dtype=np.float64)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the metric's score of statistics."""
        return self.metric.score(statistics)

    def signature(self) -> str:
        """Return the signature of the metric."""
        return f"metric:{self.metric.signature()}"

    def note(self, dataset: Dataset) -> str | None:
        """Return the note of the metric."""
        return self.metric.note(dataset)


@dataclass(frozen=True)
class RankerObjective(Objective):
    """The mean score of a trained ranker: statistics (score, 1).

    Scores of different sources are not comparable, so the mean is no quality; its differences between two choices for
    the same sentences are what counts here.

    Parameters
    ----------
    ranker : Ranker
    """

    ranker: Ranker
    name = "ranker"

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return score and 1 of every candidate."""
        self.ranker.feature_set.check_references(dataset)
        scores = self.ranker.score(dataset)
        return np.stack([scores, np.ones(len(scores))], axis=1)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the mean score; 0 of no sentence."""
        rows = np.asarray(statistics, dtype=np.float64)
        total, number = rows[..., 0], rows[..., 1]
        return np.divide(total, number, out=np.zeros(number.shape), where=number > 0)

    def signature(self) -> str:
        """Return the signature of the ranker."""
        return self.ranker.signature()

    def note(self, dataset: Dataset) -> str | None:
        """Return the note of the ranker."""
        return self.ranker.note(dataset)


def objective_of(metric: str | None, model: str | Path | None) -> Objective:
    """Return the objective that a metric's notation or a ranker's file stands for.

    Raises
    ------
    OptionError
        If both or neither is given, or the metric is not known.
    """
    if (metric is None) == (model is None):
        raise OptionError("give either --metric NAME, as --metric bleu, or --model FILE (see ranker train)")
    if metric is not None:
        return MetricObjective(make_metric(metric))
    assert model is not None
    return RankerObjective(Ranker.load(model))
