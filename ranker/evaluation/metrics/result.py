"""Results of a comparison of several metrics with people, and their JSON form.

``Comparison.to_json`` writes one object. `FORMAT` identifies its keys; its number grows if the meaning of one changes.

=============  ======================================================================================================
key            holds
=============  ======================================================================================================
format         `FORMAT`
signature      one line with everything that affects the figures; the signatures of the metrics are in ``metrics``
settings       `ComparisonSettings`: the settings of the comparison
notes          list of notes on intervals and p-values; derived from the other keys, and not read back
metrics        list of `ComparedMetric`, in the order given
statistics     list of `Statistic`, in the order of the tables; ``id`` is the key
scopes         list of `Scope`: every language pair of every data set, then the means; ``id`` is the key
cells          list of `Cell`: one figure of one metric; ``statistic``, ``scope`` and ``metric`` are keys
contests       list of `PairwiseTests`: the p-values of all pairs of metrics for one statistic in one scope
=============  ======================================================================================================

Objects have the fields of their class, in its order. Undefined numbers are null. Matrices are lists of rows; their rows
and columns are in the order of ``metrics``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ranker.arrays import FloatArray
from ranker.errors import DataError, OptionError, counted
from ranker.evaluation.choices import Correction, Level, Test, check_resampling
from ranker.evaluation.resampling.bootstrap import UNKNOWN, Estimate
from ranker.evaluation.resampling.significance import few_sources, smallest_p, too_few_resamples
from ranker.evaluation.table_result import TableResult
from ranker.files import read_text
from ranker.storage.escapes import json_text, to_json_value
from ranker.storage.plain_data import parse_json, record, with_nan

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "ranker-comparison/1"
LEFT_OUT = 0.05
"""Smallest share of the sources that a statistic leaves out for one metric alone of which a note tells."""
MOST_NAMED = 4
"""Number of metrics that such a note names, those that leave out most first."""
ScopeType = Literal["language-pair", "mean"]


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings of a comparison of metrics; a setting that is out of range raises an `OptionError`."""

    kind: str
    """Requested kind of judgement; with ``auto`` the first kind of each data set, named in its scopes."""
    resamples: int
    """Bootstrap samples of sources, or permutations of the test."""
    seed: int
    level: float
    """Confidence level of the intervals."""
    test: Test
    correction: Correction
    """Multiple-testing correction for the p-values of all pairs of metrics."""
    alpha: float
    """Significance level: a difference with a corrected p-value below it is significant."""

    def __post_init__(self) -> None:
        for what, value, known in (
            ("test", self.test, get_args(Test)),
            ("correction", self.correction, get_args(Correction)),
        ):
            if value not in known:
                raise OptionError(f"{what}: expected one of {', '.join(known)}, found {value!r}")
        if self.test == "williams" and self.correction == "westfall-young":
            what = (
                "does not resample, but the Westfall-Young correction requires resamples: use --correction holm or none"
            )
            raise OptionError(f"--test williams {what}")
        check_resampling(self.resamples, self.seed)
        if not 0 < self.alpha < 1:
            raise OptionError(f"alpha: expected a number between 0 and 1, found {self.alpha}")

    @property
    def correction_title(self) -> str:
        """Name of the multiple-testing correction, for display."""
        return "no correction" if self.correction == "none" else f"{self.correction.title()} correction"


@dataclass(frozen=True)
class ComparedMetric:
    """A metric, ranker or column of scores in a comparison."""

    name: str
    type: str
    """``metric``, ``ranker`` or ``scores``."""
    signature: str
    notes: tuple[str, ...] = ()
    """Notes for the reader, for instance that a ranker was trained on data of the comparison."""


@dataclass(frozen=True)
class Statistic:
    """A statistic of a metric's agreement with people; higher is better."""

    id: str
    """``LEVEL.NAME``, such as ``segment.tau.official``."""
    level: Level
    title: str
    definition: str
    low: float
    high: float
    chance: float
    """Value expected by chance, between `low` and `high`."""
    shown: bool
    """True if the command's table contains it by default."""


@dataclass(frozen=True)
class Scope:
    """Data that figures are computed on: a language pair, or several scopes whose figures are averaged."""

    id: str
    """``DATA/LP``, ``DATA/mean``, ``DATA/mean into English``, or ``mean`` over the means of several data sets."""
    type: ScopeType
    title: str
    data: str
    """Name of the data set; empty for the mean over several, as is the kind of judgement."""
    lp: str
    """Language pair; empty for means."""
    members: tuple[str, ...]
    """Scopes that a mean is taken over; empty for a language pair."""
    kind: str
    sources: int
    """Number of sources with human judgements; `documents` and `systems` are 0 if their level was not evaluated."""
    documents: int
    systems: int
    candidates: int
    pairs: Mapping[str, int] = field(default_factory=dict)
    """Numbers of strict human preferences: ``official`` (all rows) and ``primary``."""


@dataclass(frozen=True)
class Cell:
    """Value of one statistic for one metric in one scope."""

    statistic: str
    scope: str
    metric: str
    value: float
    low: float
    """Bootstrap percentiles, shifted at system level so that the mean of the resampled values is the figure, because
    resampling lowers it; NaN where undefined."""
    high: float
    rank: int
    """Rank from 1 for the best; equal values share the better rank; 0 if undefined."""
    cluster: int
    """Cluster from 1 for the best; a metric significantly behind a member starts a new cluster; 0 if undefined."""
    count: int
    """Number of sources, documents, pairs of candidates or pairs of systems that the value is computed from."""
    undefined: int
    """Number of sources or other units that are left out because their value is undefined."""
    detail: Mapping[str, float] = field(default_factory=dict)
    """Further values: ``epsilon`` of tie calibration, ``variance`` over sources of a mean, and ``left_out_alone``, the
    number of units that are undefined, but defined for another metric; absent if it is 0."""


@dataclass(frozen=True)
class PairwiseTests:
    """Significance of the differences between metrics, for one statistic in one scope."""

    statistic: str
    scope: str
    test: str
    """`ComparisonSettings.test`, or ``bootstrap`` if it does not apply to the statistic; with few units,
    ``randomisation`` replaces the bootstrap if it applies."""
    p: tuple[tuple[float, ...], ...]
    """Two-sided p-values, symmetric, 1 on the diagonal; NaN where one of the two metrics is undefined."""
    adjusted: tuple[tuple[float, ...], ...]
    """The p-values corrected for the number of pairs."""
    ahead: tuple[tuple[bool, ...], ...]
    """True where the metric of the row is significantly ahead of the metric of the column: the win matrix."""


@dataclass(frozen=True, repr=False)
class Comparison(TableResult):
    """Comparison of several metrics with human judgements; see the module for its JSON form."""

    signature: str
    settings: ComparisonSettings
    metrics: tuple[ComparedMetric, ...]
    statistics: tuple[Statistic, ...]
    scopes: tuple[Scope, ...]
    cells: tuple[Cell, ...]
    pairwise_tests: tuple[PairwiseTests, ...]

    @property
    def headline(self) -> str:
        """One-line description: the metrics and the main scope."""
        scope, names = self.main_scope, ", ".join(metric.name for metric in self.metrics)
        return f"{names} on {scope.title}, {counted(scope.sources, 'source')}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per figure: ``scope``, and the fields of `Cell` except ``detail``."""
        import pandas as pd

        rows = [{"scope": cell.scope, **asdict(cell)} for cell in self.cells]
        return pd.DataFrame(rows).drop(columns="detail")

    def _brief(self) -> pd.DataFrame:
        shown = [statistic.id for statistic in self.statistics if statistic.shown]
        frame = self.to_frame()
        chosen = (frame["scope"] == self.main_scope.id) & frame["statistic"].isin(shown)
        return frame.loc[chosen, ["statistic", "metric", "value", "low", "high", "rank", "cluster", "count"]]

    def cell(self, statistic: str, scope: str, metric: str) -> Cell | None:
        """Return the cell of a statistic, scope and metric, or None if the comparison does not contain it."""
        return self._index.get((statistic, scope, metric))

    def estimate(self, statistic: str, scope: str | None = None, metric: str | None = None) -> Estimate:
        """Return a figure with its interval, NaN if missing; by default for the main scope and the first metric."""
        cell = self.cell(statistic, scope or self.main_scope.id, metric or self.metrics[0].name)
        return Estimate(cell.value, cell.low, cell.high) if cell else UNKNOWN

    def tests_of(self, statistic: str, scope: str) -> PairwiseTests | None:
        """Return the p-values for one statistic in one scope, or None if the statistic was not tested."""
        return next((item for item in self.pairwise_tests if (item.statistic, item.scope) == (statistic, scope)), None)

    def in_order(self, statistic: str, scope: str) -> list[str]:
        """Return the names of the metrics, best first; metrics without a figure come last, in their original order."""
        names = [metric.name for metric in self.metrics]
        ranks = {name: cell.rank for name in names if (cell := self.cell(statistic, scope, name)) and cell.rank}
        return sorted(names, key=lambda name: ranks.get(name, len(names) + 1))

    def ahead(self, tests: PairwiseTests) -> set[tuple[str, str]]:
        """Return the pairs of metrics, by name, in which the first is significantly better than the second."""
        names = [metric.name for metric in self.metrics]
        return {(names[row], names[column]) for row, column in np.argwhere(tests.ahead)}

    def statistic(self, identity: str) -> Statistic:
        """Return the statistic with this id."""
        return {statistic.id: statistic for statistic in self.statistics}[identity]

    @property
    def main_scope(self) -> Scope:
        """The scope that sums up the comparison: the most general mean, or the only language pair."""
        return self.scopes[-1]

    @cached_property
    def _index(self) -> dict[tuple[str, str, str], Cell]:
        return {(cell.statistic, cell.scope, cell.metric): cell for cell in self.cells}

    def values(self, statistic: str, scope: str) -> FloatArray:
        """Return the values of one statistic in one scope for all metrics, shape (metrics,), NaN where missing."""
        return np.array([self.estimate(statistic, scope, metric.name).value for metric in self.metrics])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on p-values from too few resamples, intervals from few sources, and means over different sources."""
        settings = self.settings
        pairs = [_defined_pairs(tests) for tests in self.pairwise_tests if tests.test != "williams"]
        tested = [count for count in pairs if count]
        alpha, correction = settings.alpha, settings.correction
        short = [count for count in tested if smallest_p(settings.resamples, count, correction) >= alpha]
        where = f" for {len(short)} of {len(tested)} combinations of statistic and data"
        if len(short) == len(tested):
            where = ""
        note = too_few_resamples(settings.resamples, max(short), correction, alpha, where) if short else None
        sizes = self._few_units() if settings.resamples else []
        return tuple(filter(None, [note, *sizes, *self._means_of_different_sources()]))

    def _few_units(self) -> list[str | None]:
        """Return a note for each language pair with few resampled sources, and for each with few documents."""
        levels = {(cell.scope, cell.statistic.partition(".")[0] == "document") for cell in self.cells}
        notes = []
        for scope in self.scopes:
            if scope.lp and (scope.id, False) in levels:
                notes.append(few_sources(scope.sources, scope.title))
            if scope.lp and (scope.id, True) in levels:
                notes.append(few_sources(scope.documents, f"{scope.title}, document level", "document"))
        return notes

    def _means_of_different_sources(self) -> list[str]:
        """Return a note for each statistic in the table whose mean leaves out many sources for some metrics only."""
        titles = {scope.id: scope.title for scope in self.scopes if scope.type == "language-pair"}
        whole = "; acc-eq counts all sources" if any(each.id == "segment.acc-eq" for each in self.statistics) else ""
        notes = []
        for statistic in self.statistics:
            shares: dict[str, tuple[float, str]] = {}
            for cell in self.cells:
                alone = int(cell.detail.get("left_out_alone", 0))
                units = cell.count + alone
                # without any count, no figure is shown
                if cell.statistic == statistic.id and cell.scope in titles and alone and cell.count:
                    text = f"{cell.metric} leaves out {alone:,} of {units:,} ({titles[cell.scope]})"
                    shares[cell.metric] = max(shares.get(cell.metric, (0.0, "")), (alone / units, text))
            many = [text for share, text in sorted(shares.values(), reverse=True) if share >= LEFT_OUT]
            if not many or not statistic.shown:
                continue
            unit, more = "source" if statistic.level == "segment" else statistic.level, len(many) - MOST_NAMED
            named = ", ".join(many[:MOST_NAMED]) + (f", and {counted(more, 'more metric')}" if more > 0 else "")
            what = (
                f"{statistic.title} is averaged over the {unit}s whose outputs a metric does not score alike: {named}"
            )
            tests = f"such means, and tests of their differences, are over different {unit}s"
            notes.append(f"{what}; {tests}{whole if unit == 'source' else ''}")
        return notes

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        fields = asdict(self)
        head = {key: fields.pop(key) for key in ("signature", "settings")}
        fields["contests"] = fields.pop("pairwise_tests")
        return {"format": FORMAT, **head, "notes": self.notes, **fields}

    def to_json(self) -> str:
        """Return the comparison as JSON text; equal comparisons give equal text."""
        return json_text(to_json_value(self.document()), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, *, file: str | None = None) -> Comparison:
        """Read a comparison from the JSON text of `to_json`."""
        value = parse_json(text, file or "comparison")
        version = value.get("format") if isinstance(value, dict) else None
        if version != FORMAT:
            raise DataError(
                f"expected a comparison of format {FORMAT!r}, found {version!r}: create it with "
                "ranker evaluate -m A,B -f json",
                file=file,
            )
        try:
            read = cls(
                signature=str(value["signature"]),
                settings=record(ComparisonSettings, value["settings"]),
                metrics=tuple(record(ComparedMetric, item) for item in value["metrics"]),
                statistics=tuple(record(Statistic, item) for item in value["statistics"]),
                scopes=tuple(record(Scope, item) for item in value["scopes"]),
                cells=tuple(record(Cell, with_nan(item)) for item in value["cells"]),
                pairwise_tests=tuple(record(PairwiseTests, with_nan(item)) for item in value["contests"]),
            )
            read._check()
        except (KeyError, TypeError, ValueError) as error:
            what = f"not a complete comparison ({str(error)[:100]}): create it again with ranker evaluate"
            raise DataError(what, file=file) from None
        return read

    def _check(self) -> None:
        """Raise a ValueError if the parts are inconsistent, which can happen when they are read from a file."""
        parts = ((self.metrics, "name"), (self.statistics, "id"), (self.scopes, "id"))
        names, statistics, scopes = ({getattr(item, key) for item in part} for part, key in parts)
        unique = [len(names), len(statistics), len(scopes)] == [len(part) for part, _ in parts]
        if not (unique and statistics and scopes):
            raise ValueError("metrics, statistics or scopes are missing or duplicated, expected each once")
        figures: list[Cell | PairwiseTests] = [*self.cells, *self.pairwise_tests]
        for key, part, listed in (
            ("metric", self.cells, names),
            ("statistic", figures, statistics),
            ("scope", figures, scopes),
        ):
            for figure in part:
                if (name := getattr(figure, key)) not in listed:
                    raise ValueError(f"found a figure of a {key} that is not listed under {key}s: {name!r}")
        for tests in self.pairwise_tests:
            for matrix in (tests.p, tests.adjusted, tests.ahead):
                if [len(row) for row in matrix] != [len(names)] * len(names):
                    raise ValueError("found a matrix of another size, expected a row and a column for each metric")

    @classmethod
    def read(cls, path: str | Path) -> Comparison:
        """Read a comparison from a file with the JSON text of `to_json`."""
        return cls.from_json(read_text(path), file=str(path))


def _defined_pairs(tests: PairwiseTests) -> int:
    return sum(not math.isnan(p) for place, row in enumerate(tests.p) for p in row[place + 1 :])
