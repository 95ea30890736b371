"""Weighted sums of metrics (Cer, Manning and Jurafsky 2010)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from ranker import notation
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors import registry
from ranker.extractors.base import Extractor, FitScope, Metric, join_notes


@dataclass(frozen=True)
class Combination(Metric):
    r"""Weighted sum of metrics, each computed as it is alone; higher is better.

    .. math:: \sum_i w_i \, m_i

    The brackets hold the sum: ``combine[bleu - 2*ter]``, ``combine[bleu[order=2] + 0.5*meteor[parameters=METR]]``. A
    number times a name with its options, or the name alone; sums of sums by ``combine`` within. Error rates take a
    minus, which is for the user to write. Cer, Manning and Jurafsky (2010), table 3, tune to BLEU:4-TER,
    ``combine[bleu - ter]``, to BLEU:4-2TERp, ``combine[bleu - 2*terp]``, and to BLEU:4+2METR,
    ``combine[bleu + 2*meteor[parameters=METR]]``.

    Parameters
    ----------
    terms : str, default "bleu - ter"
        The sum; written in the brackets as it is, without the option's name. Names that hold a ``+`` or ``-`` cannot
        stand in it.

    Notes
    -----
    Statistics: those of the metrics side by side, each with a tokenizer and case of its own. So the score of a corpus
    is the sum of the metrics' corpus scores.
    """

    name: ClassVar[str] = "combine"
    terms: str = "bleu - ter"
    weights: tuple[float, ...] = notation.learnt()
    # as they are made from the terms, until they learn or get files of scores
    metrics: tuple[Metric, ...] = notation.learnt()

    def __post_init__(self) -> None:
        """Refuse what is no sum of metrics, and keep the sum in one way of writing."""
        parsed = notation.parse_sum(self.terms)
        if self.metrics is None:
            object.__setattr__(self, "metrics", tuple(self._metric(term) for term in parsed))
        metrics = self.metrics
        written = [notation.Term(term.weight, str(metric)) for term, metric in zip(parsed, metrics, strict=True)]
        families = {metric.family for metric in metrics}
        facts = {
            "terms": notation.write_sum(written),
            "weights": tuple(term.weight for term in parsed),
            "width": sum(metric.width for metric in metrics),
            "family": families.pop() if len(families) == 1 else "other",
            "is_fraction": all(metric.is_fraction for metric in metrics),
            "needs_references": any(metric.needs_references for metric in metrics),
            "fewest_references": max(metric.fewest_references for metric in metrics),
            "fewest_candidates": max(metric.fewest_candidates for metric in metrics),
            "by_shards": all(metric.by_shards for metric in metrics),
        }
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_notation(cls, text: str) -> Combination:
        """Make the combination that `text`, as ``combine[bleu - 2*ter]``, stands for."""
        _, inner = notation.open_brackets(text)
        return cls(inner) if inner.strip() else cls()

    def __str__(self) -> str:
        """Write the notation: the sum in one way of writing, nothing if it is the default."""
        return self.name if self.terms == type(self).terms else f"{self.name}[{self.terms}]"

    def signature(self) -> str:
        """Return the sum with the signatures of its metrics."""
        terms = [
            notation.Term(weight, metric.signature()) for weight, metric in zip(self.weights, self.metrics, strict=True)
        ]
        return f"{self.name}[{notation.write_sum(terms)}]"

    @property
    def members(self) -> tuple[Extractor, ...]:
        """What the metrics are made of."""
        return tuple(part for metric in self.metrics for part in metric.members)

    @property
    def fit_scope(self) -> FitScope:  # type: ignore[override]
        """What the metrics learn from."""
        return "ranked" if any(metric.fit_scope == "ranked" for metric in self.metrics) else "none"

    def fit(self, dataset: Dataset) -> Combination:
        """Let every metric learn from `dataset`."""
        if self.fit_scope == "none":
            return self
        return dataclasses.replace(self, metrics=tuple(metric.fit(dataset) for metric in self.metrics))

    def check_ready(self) -> None:
        """As of the metrics."""
        for metric in self.metrics:
            metric.check_ready()

    def with_files(self, files: Mapping[str, str]) -> Self:
        """Return the sum of the metrics with their files."""
        return dataclasses.replace(self, metrics=tuple(metric.with_files(files) for metric in self.metrics))

    def note(self, dataset: Dataset) -> str | None:
        """Return the notes of the metrics, or None."""
        return join_notes(metric.note(dataset) for metric in self.metrics)

    def resolved(self, dataset: Dataset) -> Self:
        """Return the sum of the metrics with the tokenizer that ``auto`` is for `dataset`."""
        return dataclasses.replace(self, metrics=tuple(metric.resolved(dataset) for metric in self.metrics))

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the statistics of the metrics side by side, shape (candidates, sum of their widths)."""
        return np.concatenate([metric.statistics(dataset) for metric in self.metrics], axis=1)

    def reference_statistics(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return the statistics of the metrics side by side."""
        return np.concatenate([metric.reference_statistics(dataset, others) for metric in self.metrics], axis=1)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the weighted sum of the scores of statistics of shape (..., width), shape (...)."""
        rows = np.asarray(statistics, dtype=np.float64)
        ends = np.cumsum([metric.width for metric in self.metrics])
        total = np.zeros(rows.shape[:-1])
        for weight, metric, part in zip(self.weights, self.metrics, np.split(rows, ends[:-1], axis=-1), strict=True):
            total = total + weight * metric.score(part)
        return total

    def _metric(self, term: notation.Term) -> Metric:
        try:
            metric = registry.make_metric(term.text)
        except OptionError as error:
            raise OptionError(f"{self.terms!r}, character {term.place}: {error}") from None
        if metric.fit_scope == "train":
            raise OptionError(f"{self.terms!r}: {metric} must be trained first; expected metrics without training")
        return metric
