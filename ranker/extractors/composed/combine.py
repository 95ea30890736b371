"""Weighted sums of metrics (Cer, Manning and Jurafsky 2010)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ranker import notation
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors import registry
from ranker.extractors.base import Extractor, ExtractorT, FeatureFamily, FitScope, Metric, join_notes
from ranker.extractors.composed.external_scores import ExternalScores
from ranker.extractors.needs import Needs


@dataclass(frozen=True)
class Combination(Metric):
    r"""Weighted sum of metrics, each computed as when used alone; higher is better.

    .. math:: \sum_i w_i \, m_i

    The brackets hold the sum: ``combine[bleu - 2*ter]``, ``combine[bleu[order=2] + 0.5*meteor[parameters=METR]]``. A
    term is a metric's notation, optionally with a number and ``*`` before it; it may be a ``combine`` itself. Error
    rates need a minus sign, which is not added automatically. Cer, Manning and Jurafsky (2010), table 3, tune to
    BLEU:4-TER, ``combine[bleu - ter]``, to BLEU:4-2TERp, ``combine[bleu - 2*terp]``, and to BLEU:4+2METR,
    ``combine[bleu + 2*meteor[parameters=METR]]``.

    Parameters
    ----------
    terms : str, default "bleu - ter"
        The sum, written in the brackets without the option's name. Names that contain a ``+`` or ``-`` cannot be used
        in it.

    Notes
    -----
    Statistics: those of all metrics, side by side; each metric has its own tokenizer and case. The score of a corpus is
    therefore the weighted sum of the metrics' corpus scores.
    """

    name: ClassVar[str] = "combine"
    terms: str = "bleu - ter"

    def __post_init__(self) -> None:
        """Refuse an option that is not a weighted sum of metrics, and normalise its notation."""
        parsed = notation.parse_sum(self.terms)
        metrics = []
        for term in parsed:
            try:
                metrics.append(registry.make_metric(term.text))
            except OptionError as error:
                raise OptionError(f"{self.terms!r}, character {term.place}: {error}") from None
        scopes = {metric.fit_scope for metric in metrics} - {"none"}
        if len(scopes) > 1:
            raise OptionError(
                f"{self.terms!r}: some metrics learn from training data, others from the data being ranked; "
                "combine only metrics that learn from the same data"
            )
        # kept as objects, because the notation omits the files of external scores
        self.__dict__["metrics"] = tuple(metrics)
        written = [notation.Term(term.weight, str(metric)) for term, metric in zip(parsed, metrics, strict=True)]
        notation.settle(self, "terms", notation.write_sum(written))

    @property
    def family(self) -> FeatureFamily:
        """Feature group of the metrics if all belong to the same group, else ``other``."""
        families = {metric.family for metric in self.metrics}
        return families.pop() if len(families) == 1 else "other"

    @property
    def needs(self) -> Needs:
        """Joint requirements of all metrics."""
        return Needs.union(*(metric.needs for metric in self.metrics))

    @property
    def width(self) -> int:
        """Number of statistics per candidate, summed over the metrics."""
        return sum(metric.width for metric in self.metrics)

    @property
    def is_fraction(self) -> bool:
        """True if the scores of all metrics are fractions."""
        return all(metric.is_fraction for metric in self.metrics)

    @classmethod
    def _parsed(cls, text: str) -> dict[str, str]:
        _, inner = notation.open_brackets(text)
        return {"terms": inner.removeprefix("terms=")} if inner.strip() else {}

    def __str__(self) -> str:
        """Return the notation, with the normalised sum in brackets unless the sum is the default."""
        return self.name if self.terms == type(self).terms else f"{self.name}[{self.terms}]"

    def signature(self) -> str:
        """Return the notation with the metrics of the sum replaced by their signatures."""
        terms = [
            notation.Term(weight, metric.signature())
            for weight, metric in zip(self._weights, self.metrics, strict=True)
        ]
        return f"{self.name}[{notation.write_sum(terms)}]"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, in the order of the sum."""
        metrics: tuple[Metric, ...] = self.__dict__["metrics"]
        return metrics

    @property
    def members(self) -> tuple[Extractor, ...]:
        """Metrics of the sum, in order; a metric that combines extractors is replaced by these extractors."""
        return tuple(part for metric in self.metrics for part in metric.members)

    @property
    def fit_scope(self) -> FitScope:
        """First fit scope other than ``none`` among the metrics, else ``none``."""
        return next((metric.fit_scope for metric in self.metrics if metric.fit_scope != "none"), "none")

    def fit(self, dataset: Dataset) -> Combination:
        """Return this combination with every metric fitted on `dataset`."""
        if self.fit_scope == "none":
            return self
        return self._with(tuple(metric.fit(dataset) for metric in self.metrics))

    def check_ready(self) -> None:
        """Raise an error if a resource of one of the metrics is not installed."""
        for metric in self.metrics:
            metric.check_ready()

    def note(self, dataset: Dataset) -> str | None:
        """Return the notes of the metrics in one line, or None if there are none."""
        return join_notes(metric.note(dataset) for metric in self.metrics)

    def resolved(self, dataset: Dataset) -> Self:
        """Return this combination with values for `dataset` in place of ``auto`` in each of its metrics."""
        return self._with(tuple(metric.resolved(dataset) for metric in self.metrics))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the learnt arrays of the metrics, named by the metric's place in the sum and the array's name."""
        return {
            f"{place}.{name}": array
            for place, metric in enumerate(self.metrics)
            for name, array in metric.state().items()
        }

    def with_state(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Combination:
        """Return the fitted combination whose `state` is `arrays`."""
        restored = []
        for place, metric in enumerate(self.metrics):
            prefix = f"{place}."
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            fitted = metric.with_state(own) if own else metric
            restored.extend([fitted] if isinstance(fitted, Metric) else [])
        return self._with(tuple(restored))

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the statistics of all metrics side by side, shape (candidates, sum of their widths)."""
        return np.concatenate([metric.statistics(dataset) for metric in self.metrics], axis=1)

    def reference_statistics(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return the references' statistics by all metrics, side by side, shape (references, total width)."""
        return np.concatenate([metric.reference_statistics(dataset, others) for metric in self.metrics], axis=1)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return weighted sums of the metrics' scores, shape (...), for statistics of shape (..., width)."""
        rows = np.asarray(statistics, dtype=np.float64)
        ends = np.cumsum([metric.width for metric in self.metrics])
        total = np.zeros(rows.shape[:-1])
        for weight, metric, part in zip(self._weights, self.metrics, np.split(rows, ends[:-1], axis=-1), strict=True):
            total = total + weight * metric.score(part)
        return total

    @functools.cached_property
    def _weights(self) -> list[float]:
        return [term.weight for term in notation.parse_sum(self.terms)]

    def _with(self, metrics: tuple[Metric, ...]) -> Self:
        """Return this combination with its metrics replaced by the fitted `metrics`."""
        combination = type(self)(self.terms)
        combination.__dict__["metrics"] = metrics
        return combination


def with_files(extractor: ExtractorT, files: Mapping[str, str]) -> ExtractorT:
    """Return the extractor with its external scores read from `files`, which maps names of scores to files."""
    if isinstance(extractor, Combination):
        return extractor._with(tuple(with_files(metric, files) for metric in extractor.metrics))
    if isinstance(extractor, ExternalScores) and extractor.name in files:
        file = files[extractor.name]
        # as an option, none is no file
        return dataclasses.replace(extractor, file="./none" if file == "none" else file)
    return extractor
