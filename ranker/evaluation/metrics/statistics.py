"""Statistics of agreement with people as functions of sums over sources or documents.

A `StatisticSet` knows one language pair. It turns the scores of a metric into additive columns, one row per unit, and
sums of columns into values, so that the same code computes a statistic and all its resampled values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from ranker.arrays import BoolArray, FloatArray, offsets_of
from ranker.errors import DataError
from ranker.evaluation.choices import Level
from ranker.evaluation.correlation.pair_counts import (
    TauVariant,
    accuracy_with_ties,
    consistency_share,
    count_pairs,
    distinct,
    tau,
    tau_b,
    tau_c,
)
from ranker.evaluation.correlation.pearson import group_pearson, moments, pearson_of_moments
from ranker.evaluation.correlation.segment import tau_counts
from ranker.evaluation.correlation.tie_calibration import calibrate
from ranker.evaluation.metrics.candidates import CandidateScores, LanguagePairData
from ranker.evaluation.metrics.result import Statistic
from ranker.ranks import average_ranks, group_spearman, merge_ties

StatisticValues = dict[str, FloatArray]
MOST_PAIRS = 30_000_000
"""Maximum number of pairs of judged candidates, all sources together, in memory at once."""


def _declared(identity: str, title: str, definition: str, *, low: float = -1.0, shown: bool = True) -> Statistic:
    """Return a statistic that is a correlation if `low` is -1, or a proportion if it is 0.

    The highest value is 1, and the chance level is in the middle.
    """
    level = cast("Level", identity.partition(".")[0])
    return Statistic(identity, level, title, definition, low, 1.0, 0.0 if low else 0.5, shown)


STATISTICS = (
    _declared(
        "segment.tau.official",
        "tau official",
        "Kendall's tau, wmt14 variant, over all strict human preferences, including repeated judgements.",
    ),
    _declared(
        "segment.tau.primary",
        "tau primary",
        "Kendall's tau, wmt14 variant, over strict human preferences without repeated judgements.",
    ),
    _declared(
        "segment.spearman",
        "Spearman",
        "Mean over sources of Spearman's rho (tie-corrected) between the judged candidates of a source.",
    ),
    _declared(
        "segment.pearson", "Pearson", "Pearson's r between scores and human scores of all judged candidates, pooled."
    ),
    _declared(
        "segment.acc-eq",
        "acc-eq",
        "Mean over sources of pairwise accuracy with tie calibration (Deutsch et al. 2023).",
        low=0.0,
    ),
    _declared(
        "segment.consistency",
        "consistency",
        "Proportion of strict human preferences, without repeated judgements, that the scores agree with.",
        low=0.0,
        shown=False,
    ),
    _declared("segment.tau.wmt12", "tau wmt12", "As tau primary, with tied scores counted as discordant.", shown=False),
    _declared("segment.tau.wmt13", "tau wmt13", "As tau primary, ignoring pairs with tied scores.", shown=False),
    _declared(
        "segment.tau.scores",
        "tau of scores",
        "Kendall's tau, wmt14 variant, over the pairs of candidates of a source whose human scores differ.",
        shown=False,
    ),
    _declared(
        "segment.spearman-ye07",
        "Spearman ye07",
        "Mean over sources of 1 - 6 sum D^2 / (N (N^2 - 1)) on average ranks.",
        shown=False,
    ),
    _declared(
        "segment.kendall-b",
        "tau-b",
        "Mean over sources of Kendall's tau-b between scores and human scores.",
        shown=False,
    ),
    _declared(
        "segment.kendall-c",
        "tau-c",
        "Mean over sources of Kendall's tau-c (Stuart 1953) between scores and human scores.",
        shown=False,
    ),
    _declared(
        "document.spearman",
        "document Spearman",
        "Mean over documents of Spearman's rho between systems, by mean score and mean human score.",
    ),
    _declared(
        "system.accuracy",
        "system accuracy",
        "Proportion of pairs of systems that the scores order like the judges.",
        low=0.0,
    ),
    _declared(
        "system.spa",
        "soft accuracy",
        "Soft pairwise accuracy: 1 - mean over pairs of systems of the difference between human and metric p-values.",
        low=0.0,
    ),
    _declared("system.pearson", "system Pearson", "Pearson's r between metric scores and human scores of systems."),
)
"""Default statistics of a comparison, in the order of its tables."""
DEFAULT = tuple(statistic.id for statistic in STATISTICS)
"""Ids of the default statistics."""
FINER = (
    *(
        _declared(
            f"segment.tau.official.{variant}",
            f"tau official {variant}",
            f"As tau official, with tied scores {done}.",
            shown=False,
        )
        for variant, done in (("wmt12", "counted as discordant"), ("wmt13", "left out"))
    ),
    *(
        _declared(
            f"{identity}.pooled",
            f"{title} pooled",
            f"As {title}, averaged over all sources of all language pairs.",
            shown=False,
        )
        for identity, title in (("segment.spearman", "Spearman"), ("segment.spearman-ye07", "Spearman ye07"))
    ),
)
"""Statistics that are computed on request only."""
TAUS: dict[str, dict[TauVariant, str]] = {
    "official": {
        "wmt12": "segment.tau.official.wmt12",
        "wmt13": "segment.tau.official.wmt13",
        "wmt14": "segment.tau.official",
    },
    "primary": {"wmt12": "segment.tau.wmt12", "wmt13": "segment.tau.wmt13", "wmt14": "segment.tau.primary"},
}
"""Statistics that are taus over preferences, by selection of the preferences and by variant."""


@dataclass(frozen=True)
class Basis:
    """Units from which the value of one statistic is computed for a metric."""

    count: int = 0
    undefined: int = 0
    """Number of units, of the same kind as `count`, that are left out as undefined."""
    values: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Values per source that are averaged; empty for statistics that are no mean over sources."""
    detail: Mapping[str, float] = field(default_factory=dict)
    defined: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """True for the units of a mean whose value is defined; empty if each is, or the statistic is no mean."""
    left_out_alone: int = 0
    """Number of units that are undefined, but defined for another metric."""

    @classmethod
    def of_mean(cls, values: FloatArray) -> Basis:
        """Return the `Basis` of a mean: the values that are not NaN, their number, and the number of NaN values."""
        defined = ~np.isnan(values)
        return cls(int(defined.sum()), int((~defined).sum()), values[defined], defined=defined)

    @classmethod
    def together(cls, parts: Sequence[Basis]) -> Basis:
        """Combine the bases of several scopes into the basis of their mean."""
        values = np.concatenate([part.values for part in parts])
        alone = sum(part.left_out_alone for part in parts)
        return cls(
            sum(part.count for part in parts), sum(part.undefined for part in parts), values, left_out_alone=alone
        )

    @classmethod
    def compared(cls, metrics: Sequence[Basis]) -> list[Basis]:
        """Return the bases of one statistic for several metrics, with the number of units `left_out_alone`."""
        known = np.array([basis.defined for basis in metrics])
        alone = (known.any(axis=0) & ~known).sum(axis=1).tolist()
        return [replace(basis, left_out_alone=number) for basis, number in zip(metrics, alone, strict=True)]


Measured = tuple[FloatArray, dict[str, Basis]]
"""Additive columns of one metric, shape (units, k), and the basis of each statistic by name."""


class StatisticSet(ABC):
    """Statistics computed from sums of the same columns, which have a row for each resampled unit."""

    units: int
    stream: str = ""
    """Name of the random stream that resamples the units, used together with the language pair."""
    test_stream: str
    """Name of the random stream of tests."""
    shared: FloatArray
    """Additive columns that all metrics have in common, shape (units, h)."""

    @abstractmethod
    def measure(self, scored: CandidateScores) -> Measured:
        """Turn a metric's scores of the language pair's candidates into additive columns."""

    @abstractmethod
    def values(self, shared: FloatArray, own: FloatArray, scored: CandidateScores) -> StatisticValues:
        """Compute statistics from the sums of `shared` columns and of the metric's `own` columns (last axes)."""

    def pooled(self, identity: str) -> int | None:
        """Return the column index of a pooled mean's sum (its count is next), or None for other statistics."""
        return None


class SegmentStatistics(StatisticSet):
    """Statistics of how well a metric agrees with people within each source."""

    test_stream = "SegmentFigures"

    def __init__(self, language_pair: LanguagePairData, wanted: Collection[str] = DEFAULT) -> None:
        self.language_pair, self.units = language_pair, language_pair.sources
        judged = language_pair.judged
        self.judged = judged
        self.offsets = offsets_of(np.bincount(language_pair.source[judged], minlength=self.units))
        sizes = np.diff(self.offsets)
        pairs = int((sizes * (sizes - 1) // 2).sum())
        if pairs > MOST_PAIRS:
            what = f"has {pairs:,} pairs of judged candidates of a source, expected {MOST_PAIRS:,} or fewer"
            raise DataError(f"{what}: leave out systems or sources", file=language_pair.where)
        self.human = merge_ties(language_pair.human, language_pair.offsets)[judged]
        self.source = language_pair.source[judged]
        self.classes = distinct(self.human, self.source, self.units)
        self.ranks = average_ranks(self.human, self.offsets, tie=0.0)
        self.centre = self.human.mean() if len(self.human) else 0.0
        self.shared = np.zeros((self.units, 0))
        self.wanted = frozenset(wanted)
        self.places: dict[str, int] = {}
        """Index of the first column of each block of columns."""
        start = 0
        for block, width in _BLOCKS.items():
            if block in self.wanted:
                self.places[block], start = start, start + width
        for selection in language_pair.pairs:
            if self.wanted.intersection(_TAU_OF[selection]):
                self.places[selection], start = start, start + 3

    def pooled(self, identity: str) -> int | None:
        """Return the index of the column of summed rho if the statistic `identity` is pooled, else None."""
        return self.places.get(identity.removesuffix(".pooled")) if identity.endswith(".pooled") else None

    def measure(self, scored: CandidateScores) -> Measured:
        """Return rho, moments, pair counts and accuracy with calibrated ties of each source, as columns."""
        scores = scored.scores[self.judged]
        blocks: dict[str, FloatArray] = {}
        # `part_of` merged ties before the scores were standardised
        ranks = average_ranks(scores, self.offsets, tie=0.0)
        rho = group_pearson(ranks, self.ranks, self.offsets)
        size = np.diff(self.offsets).astype(np.float64)
        distance = np.bincount(self.source, weights=(ranks - self.ranks) ** 2, minlength=self.units)
        with np.errstate(invalid="ignore", divide="ignore"):
            formula = np.where(np.isnan(rho), np.nan, 1 - 6 * distance / (size * (size**2 - 1)))
        counts = count_pairs(self.human, scores, self.offsets)
        classes = np.minimum(self.classes, distinct(scores, self.source, self.units))
        means = {
            "segment.spearman": rho,
            "segment.spearman-ye07": formula,
            "segment.kendall-b": tau_b(counts),
            "segment.kendall-c": tau_c(counts, size, classes),
        }
        blocks |= {identity: _defined(values) for identity, values in means.items()}
        basis = {identity: Basis.of_mean(values) for identity, values in means.items()}
        basis |= {f"{identity}.pooled": of_mean for identity, of_mean in basis.items()}
        if "segment.acc-eq" in self.places:
            calibration = calibrate(self.human, scores, self.offsets)
            epsilon = calibration.epsilon
            tied = count_pairs(self.human, scores, self.offsets, epsilon=epsilon) if epsilon else counts
            # where people order no candidates, calibration ties all
            ordered = self.classes.max(initial=0) > 1
            accuracy = accuracy_with_ties(tied) if ordered else np.full(self.units, np.nan)
            groups = calibration.groups if ordered else 0
            blocks["segment.acc-eq"] = _defined(accuracy)
            basis["segment.acc-eq"] = Basis(groups, self.units - groups, detail={"epsilon": epsilon})
        blocks["segment.tau.scores"] = counts[:, :3].astype(np.float64)
        basis["segment.tau.scores"] = Basis(int(counts[:, :3].sum()))
        # any constant would do, but scores that are swapped between metrics must be shifted by the same one
        mean = 0.0 if scored.standardised or not len(scores) else scores.mean()
        sums = moments(self.human - self.centre, scores - mean)
        by_source = [np.bincount(self.source, weights=column, minlength=self.units) for column in sums.T]
        blocks["segment.pearson"] = np.stack(by_source, axis=1)
        basis["segment.pearson"] = Basis(len(scores))
        for selection, pairs in self.language_pair.pairs.items():
            blocks[selection] = tau_counts(scored.scores, pairs, self.language_pair.source, self.units).astype(float)
            basis |= dict.fromkeys(_TAU_OF[selection], Basis(len(pairs.better)))
        return np.concatenate([blocks[block] for block in self.places], axis=1), basis

    def values(self, shared: FloatArray, own: FloatArray, scored: CandidateScores) -> StatisticValues:
        """Compute the segment-level statistics from summed `shared` columns and the metric's `own` columns."""
        values: StatisticValues = {}
        for block, place in self.places.items():
            if block == "segment.tau.scores":
                values[block] = tau(own[..., place : place + 3])
            elif block == "segment.pearson":
                values[block] = pearson_of_moments(own[..., place : place + 6])
            elif block in TAUS:
                counts = own[..., place : place + 3]
                values |= {identity: tau(counts, variant) for variant, identity in TAUS[block].items()}
                if block == "primary":
                    values["segment.consistency"] = consistency_share(counts)
            else:
                with np.errstate(invalid="ignore", divide="ignore"):
                    values[block] = values[f"{block}.pooled"] = own[..., place] / own[..., place + 1]
        return {identity: value for identity, value in values.items() if identity in self.wanted}


_BLOCKS = {
    "segment.spearman": 2,
    "segment.spearman-ye07": 2,
    "segment.kendall-b": 2,
    "segment.kendall-c": 2,
    "segment.acc-eq": 2,
    "segment.tau.scores": 3,
    "segment.pearson": 6,
}
"""Number of columns of each statistic that needs no preferences."""
_TAU_OF = {"official": tuple(TAUS["official"].values()), "primary": (*TAUS["primary"].values(), "segment.consistency")}


class DocumentStatistics(StatisticSet):
    """Statistics of how well a metric's mean scores agree with people on the order of systems in each document."""

    stream = "documents"
    test_stream = "DocumentFigures"

    def __init__(self, language_pair: LanguagePairData) -> None:
        self.units = int(language_pair.document.max()) + 1 if len(language_pair.document) else 0
        judged = ~np.isnan(language_pair.system_human)
        known = judged & (language_pair.document[language_pair.source] >= 0)
        self.rows = np.flatnonzero(known)
        cell = (
            language_pair.document[language_pair.source[known]] * len(language_pair.systems)
            + language_pair.system[known]
        )
        cells, self.cell = np.unique(cell, return_inverse=True)
        self.size = np.bincount(self.cell, minlength=len(cells))
        self.offsets = np.searchsorted(cells // max(len(language_pair.systems), 1), np.arange(self.units + 1)).astype(
            np.int64
        )
        self.human = self._means(language_pair.system_human)
        self.shared = np.zeros((self.units, 0))

    def _means(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.cell, weights=values[self.rows], minlength=len(self.size)) / self.size)

    def measure(self, scored: CandidateScores) -> Measured:
        """Return Spearman's rho of each document, as columns."""
        rho = group_spearman(self._means(scored.system_scores), self.human, self.offsets)
        defined = ~np.isnan(rho)
        number = int(defined.sum())
        return _defined(rho), {"document.spearman": Basis(number, self.units - number, defined=defined)}

    def values(self, shared: FloatArray, own: FloatArray, scored: CandidateScores) -> StatisticValues:
        """Compute the document-level statistic from the metric's summed `own` columns."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"document.spearman": own[..., 0] / own[..., 1]}


def _defined(values: FloatArray) -> FloatArray:
    """Return two columns whose sums give the mean without NaN: values (0 for NaN), and 1 for each defined value."""
    known = ~np.isnan(values)
    return np.stack([np.where(known, values, 0.0), known], axis=1)
