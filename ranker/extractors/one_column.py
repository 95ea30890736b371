"""A column of an extractor as a metric: the corpus score is the mean of the segments' values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import DataError, OptionError, nearest
from ranker.extractors.base import (
    Extractor,
    FeatureFamily,
    FitScope,
    FittedExtractor,
    SentenceMean,
    checked,
    fitted_form,
)
from ranker.extractors.needs import Needs


@dataclass(frozen=True)
class ColumnMetric(SentenceMean):
    """A column of an extractor, such as ``perp`` or ``semantic.f``, used as a metric."""

    extractor: Extractor
    column: str
    is_fraction: ClassVar[bool] = False

    @classmethod
    def of(cls, extractor: Extractor, part: str = "") -> ColumnMetric:
        """Make a metric from the column with the suffix `part`, such as ``f``, or from the extractor's only column."""
        known = {name.removeprefix(str(extractor)).removeprefix("."): name for name in extractor.columns}
        if not part and len(known) == 1:
            part = next(iter(known))
        part = next((known_name for known_name in known if known_name.lower() == part.lower()), part)
        if part in known:
            return cls(extractor, known[part])
        names = ", ".join(known.values())
        if not part:
            raise OptionError(f"{str(extractor)!r} has {len(known)} columns; choose one of them as the metric: {names}")
        hint = nearest(f"{extractor}.{part}", known.values())
        raise OptionError(f"{str(extractor)!r} has no column {part!r}{hint}; its columns are: {names}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the column without the options of its extractor."""
        return self.extractor.name + self.column.removeprefix(str(self.extractor))

    def __str__(self) -> str:
        """Return the name of the column."""
        return self.column

    def signature(self) -> str:
        """Return the signature of the extractor, followed by the part of the column's name after the full stop."""
        return self.extractor.signature() + self.column.removeprefix(str(self.extractor))

    @property
    def family(self) -> FeatureFamily:
        """Feature group of the extractor."""
        return self.extractor.family

    @property
    def needs(self) -> Needs:
        """Requirements of the extractor."""
        return self.extractor.needs

    @property
    def higher_is_better(self) -> bool:
        """True if higher values of the column are better."""
        return self.column not in self.extractor.lower_is_better

    @property
    def fit_scope(self) -> FitScope:
        """Fit scope of the extractor, but ``none`` if the scope is ``train`` and the extractor is fitted."""
        scope = self.extractor.fit_scope
        return "none" if scope == "train" and isinstance(self.extractor, FittedExtractor) else scope

    def resolved(self, dataset: Dataset) -> Self:
        """Return this metric with the extractor's options for `dataset` in place of ``auto``."""
        extractor = self.extractor.resolved(dataset)
        column = str(extractor) + self.column.removeprefix(str(self.extractor))
        return dataclasses.replace(self, extractor=extractor, column=column)

    def check_ready(self) -> None:
        """Raise an error if a resource of the extractor is not installed."""
        self.extractor.check_ready()

    def fit(self, dataset: Dataset) -> ColumnMetric:
        """Return this metric with its extractor fitted on `dataset`."""
        few = ~self.needs.enough_references(dataset)
        reason = self.needs.missing(dataset, few) if self.fit_scope == "ranked" and few.any() else None
        if reason is not None:
            raise DataError(f"{reason}: use a metric other than {self}", file=dataset.name)
        return dataclasses.replace(self, extractor=self.extractor.fit(dataset))

    def sentence_scores(self, dataset: Dataset) -> FloatArray:
        """Return the values of the column, shape (candidates,)."""
        columns = fitted_form(self.extractor).transform(dataset)
        return self._taken(checked(self.extractor, "transform", columns, (len(dataset), len(self.extractor.columns))))

    def swapped_statistics(self, pair_statistics: FloatArray) -> FloatArray | None:
        """Return the statistics unchanged if the column is symmetric, else None."""
        return pair_statistics if self.column in self.extractor.symmetric else None

    def reference_statistics(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return the column's value for each reference as a candidate, and a count of 1, shape (references, 2)."""
        scores = self._taken(fitted_form(self.extractor).transform_references(dataset, others))
        return np.stack([scores, np.ones(len(scores))], axis=1)

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return lists of one candidate's matches by the extractor, keyed by titles such as ``reference 1``."""
        return self.extractor.evidence(dataset, candidate)

    @property
    def members(self) -> tuple[Extractor, ...]:
        """Extractors that the extractor of the column combines, or that extractor alone if it combines none."""
        return self.extractor.members

    def note(self, dataset: Dataset) -> str | None:
        """Return the note of the extractor, or None."""
        return self.extractor.note(dataset)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the learnt arrays of the extractor."""
        return self.extractor.state()

    def with_state(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ColumnMetric:
        """Return this metric with the fitted extractor whose `state` is `arrays`."""
        return dataclasses.replace(self, extractor=self.extractor.with_state(arrays))

    def _taken(self, columns: FloatArray) -> FloatArray:
        return columns[:, self.extractor.columns.index(self.column)]
