"""Statistics of agreement with people as functions of sums over sources or documents.

A *family* knows one language pair. It turns the scores of a metric into additive columns, one row a unit, and sums of
columns into values; so a statistic and all its resampled values come from the same few lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from ranker.arrays import FloatArray
from ranker.errors import DataError
from ranker.evaluation.compare.candidates import CandidateScores, LanguagePairData
from ranker.evaluation.compare.result import Statistic
from ranker.evaluation.correlation.correlation import group_pearson, moments, pearson_of_moments
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
from ranker.evaluation.correlation.segment import tau_counts
from ranker.evaluation.correlation.tie_calibration import calibrate
from ranker.ranks import average_ranks, group_spearman, merge_ties

StatisticValues = dict[str, FloatArray]
MOST_PAIRS = 30_000_000
"""Pairs of judged candidates, all sources together, that are in memory at once."""

STATISTICS = (
    Statistic(
        "segment.tau.official",
        "segment",
        "tau official",
        "Kendall's tau, wmt14 variant, over all strict human preferences, including repeated judgements.",
        *(-1, 1, 0, True),
    ),
    Statistic(
        "segment.tau.primary",
        "segment",
        "tau primary",
        "Kendall's tau, wmt14 variant, over strict human preferences without repeated judgements.",
        *(-1, 1, 0, True),
    ),
    Statistic(
        "segment.spearman",
        "segment",
        "Spearman",
        "Mean over sources of Spearman's rho (tie-corrected) between the judged candidates of a source.",
        *(-1, 1, 0, True),
    ),
    Statistic(
        "segment.pearson",
        "segment",
        "Pearson",
        "Pearson's r between scores and human scores of all judged candidates, pooled.",
        *(-1, 1, 0, True),
    ),
    Statistic(
        "segment.acc-eq",
        "segment",
        "acc-eq",
        "Mean over sources of pairwise accuracy with tie calibration (Deutsch et al. 2023).",
        *(0, 1, 0.5, True),
    ),
    Statistic(
        "segment.consistency",
        "segment",
        "consistency",
        "Proportion of strict human preferences, without repeated judgements, that the scores agree with.",
        *(0, 1, 0.5, False),
    ),
    Statistic(
        "segment.tau.wmt12",
        "segment",
        "tau wmt12",
        "As tau primary, with tied scores counted as discordant.",
        *(-1, 1, 0, False),
    ),
    Statistic(
        "segment.tau.wmt13",
        "segment",
        "tau wmt13",
        "As tau primary, ignoring pairs with tied scores.",
        *(-1, 1, 0, False),
    ),
    Statistic(
        "segment.tau.scores",
        "segment",
        "tau of scores",
        "Kendall's tau, wmt14 variant, over the pairs of candidates of a source whose human scores differ.",
        *(-1, 1, 0, False),
    ),
    Statistic(
        "segment.spearman-ye07",
        "segment",
        "Spearman ye07",
        "Mean over sources of 1 - 6 sum D^2 / (N (N^2 - 1)) on average ranks.",
        *(-1, 1, 0, False),
    ),
    Statistic(
        "segment.kendall-b",
        "segment",
        "tau-b",
        "Mean over sources of Kendall's tau-b between scores and human scores.",
        *(-1, 1, 0, False),
    ),
    Statistic(
        "segment.kendall-c",
        "segment",
        "tau-c",
        "Mean over sources of Kendall's tau-c (Stuart 1953) between scores and human scores.",
        *(-1, 1, 0, False),
    ),
    Statistic(
        "document.spearman",
        "document",
        "document Spearman",
        "Mean over documents of Spearman's rho between systems, by mean score and mean human score.",
        *(-1, 1, 0, True),
    ),
    Statistic(
        "system.accuracy",
        "system",
        "system accuracy",
        "Proportion of pairs of systems that the scores order like the judges.",
        *(0, 1, 0.5, True),
    ),
    Statistic(
        "system.spa",
        "system",
        "soft accuracy",
        "Soft pairwise accuracy: 1 - mean over pairs of systems of the difference between human and metric p-values.",
        *(0, 1, 0.5, True),
    ),
    Statistic(
        "system.pearson",
        "system",
        "system Pearson",
        "Pearson's r between metric scores and human scores of systems.",
        *(-1, 1, 0, True),
    ),
)
"""Everything that a comparison holds unless it is asked for others, in the order of its tables."""
DEFAULT = tuple(statistic.id for statistic in STATISTICS)
"""Their ids."""
_FORMS = (("segment.spearman", "Spearman"), ("segment.spearman-ye07", "Spearman ye07"))
FINER = (
    *(
        Statistic(
            f"segment.tau.official.{variant}",
            "segment",
            f"tau official {variant}",
            f"As tau official, with tied scores {done}.",
            *(-1, 1, 0, False),
        )
        for variant, done in (("wmt12", "counted as discordant"), ("wmt13", "left out"))
    ),
    *(
        Statistic(
            f"{identity}.pooled",
            "segment",
            f"{title} pooled",
            f"As {title}, averaged over all sources of all language pairs.",
            *(-1, 1, 0, False),
        )
        for identity, title in _FORMS
    ),
)
"""What is made only for who asks for it."""
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
class Columns:
    """Additive columns of one metric, shape (units, k), and facts that are no sums.

    `count` and `undefined` are by statistic: what it is taken over, and how much of that is left out as undefined.
    `values` holds, by statistic, what a mean is taken over.
    """

    columns: FloatArray
    count: Mapping[str, int]
    undefined: Mapping[str, int]
    detail: Mapping[str, Mapping[str, float]]
    values: Mapping[str, FloatArray] = field(default_factory=dict)


class StatisticSet(ABC):
    """Statistics that share their columns."""

    units: int
    stream: str = ""
    """Name of the random stream of its units, besides the language pair."""
    shared: FloatArray
    """Additive columns that all metrics have in common, shape (units, h)."""

    @abstractmethod
    def measure(self, scored: CandidateScores) -> Columns:
        """Turn scores of the language pair's candidates into columns."""

    @abstractmethod
    def values(self, shared: FloatArray, own: FloatArray, scored: CandidateScores) -> StatisticValues:
        """Turn summed columns, shape (..., h) and (..., k), into values by statistic, shape (...)."""

    def pooled(self, identity: str) -> int | None:
        """Return the column of the sum that a pooled mean divides by the next column, None of other statistics."""
        return None


class SegmentStatistics(StatisticSet):
    """Agreement inside sources."""

    def __init__(self, language_pair: LanguagePairData, wanted: Collection[str] = DEFAULT) -> None:
        self.language_pair, self.units = language_pair, language_pair.sources
        judged = language_pair.judged
        self.judged, self.offsets = judged, language_pair.judged_offsets
        sizes = np.diff(self.offsets)
        if int((sizes * (sizes - 1) // 2).sum()) > MOST_PAIRS:
            what = f"up to {sizes.max():,} judged candidates per source are too many to compare all pairs: expected"
            raise DataError(
                f"{what} {MOST_PAIRS:,} pairs or fewer in total, use fewer candidates", file=language_pair.where
            )
        self.human = merge_ties(language_pair.human, language_pair.offsets)[judged]
        self.source = language_pair.source[judged]
        self.classes = distinct(self.human, self.source, self.units)
        self.ranks = average_ranks(self.human, self.offsets, tie=0.0)
        self.centre = self.human.mean() if len(self.human) else 0.0
        self.shared = np.zeros((self.units, 0))
        self.wanted = frozenset(wanted)
        self.places: dict[str, int] = {}
        """First column of every block of columns that is made."""
        start = 0
        for block, width in _BLOCKS.items():
            if block in self.wanted:
                self.places[block], start = start, start + width
        for selection in language_pair.pairs:
            if self.wanted.intersection(_TAU_OF[selection]):
                self.places[selection], start = start, start + 3

    def pooled(self, identity: str) -> int | None:
        """Return the column of the summed rho of `identity`."""
        return self.places.get(identity.removesuffix(".pooled")) if identity.endswith(".pooled") else None

    def measure(self, scored: CandidateScores) -> Columns:
        """Return rho, moments, pair counts and the accuracy with calibrated ties of every source."""
        scores = scored.scores[self.judged]
        count: dict[str, int] = {}
        undefined: dict[str, int] = {}
        detail: dict[str, dict[str, float]] = {}
        blocks: dict[str, list[FloatArray]] = {}
        # merged by `part_of`, before they were standardised
        ranks = average_ranks(scores, self.offsets, tie=0.0)
        rho = group_pearson(ranks, self.ranks, self.offsets)
        size = np.diff(self.offsets).astype(np.float64)
        distance = np.bincount(self.source, weights=(ranks - self.ranks) ** 2, minlength=self.units)
        with np.errstate(invalid="ignore", divide="ignore"):
            formula = np.where(np.isnan(rho), np.nan, 1 - 6 * distance / (size * (size**2 - 1)))
        means = {"segment.spearman": rho, "segment.spearman-ye07": formula}
        counts = count_pairs(self.human, scores, self.offsets)
        means["segment.kendall-b"] = tau_b(counts)
        means["segment.kendall-c"] = tau_c(
            counts, size, np.minimum(self.classes, distinct(scores, self.source, self.units))
        )
        for identity, values in means.items():
            blocks[identity] = _defined(values)
            count[identity], undefined[identity] = int((~np.isnan(values)).sum()), int(np.isnan(values).sum())
        if "segment.acc-eq" in self.places:
            calibration = calibrate(self.human, scores, self.offsets)
            widened = calibration.epsilon * (1 + 1e-12)
            accuracy = accuracy_with_ties(
                count_pairs(self.human, scores, self.offsets, epsilon=widened) if calibration.epsilon else counts
            )
            blocks["segment.acc-eq"] = _defined(accuracy)
            count["segment.acc-eq"], undefined["segment.acc-eq"] = calibration.groups, self.units - calibration.groups
            detail["segment.acc-eq"] = {"epsilon": float(calibration.epsilon)}
        blocks["segment.tau.scores"] = list(counts[:, :3].T.astype(np.float64))
        count["segment.tau.scores"] = int(counts[:, :3].sum())
        # any constant does, but what is swapped between metrics must be shifted alike
        mean = 0.0 if scored.standardised or not len(scores) else scores.mean()
        sums = moments(self.human - self.centre, scores - mean)
        blocks["segment.pearson"] = [
            np.bincount(self.source, weights=column, minlength=self.units).astype(np.float64) for column in sums.T
        ]
        count["segment.pearson"] = len(scores)
        for selection, pairs in self.language_pair.pairs.items():
            by_source = tau_counts(scored.scores, pairs, self.language_pair.source, self.units)
            blocks[selection] = list(by_source.T.astype(np.float64))
            count.update(dict.fromkeys(_TAU_OF[selection], len(pairs.better)))
        columns = np.stack([column for block in self.places for column in blocks[block]], axis=1)
        defined = {identity: values[~np.isnan(values)] for identity, values in means.items()}
        return Columns(columns, count, undefined, detail, defined)

    def values(self, shared: FloatArray, own: FloatArray, scored: CandidateScores) -> StatisticValues:
        """Return the statistics of the segment level."""
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
"""Columns of the statistics that need no preferences."""
_TAU_OF = {
    "official": tuple(TAUS["official"].values()),
    "primary": (*TAUS["primary"].values(), "segment.consistency"),
}


class DocumentStatistics(StatisticSet):
    """Agreement inside documents: systems by their mean scores."""

    stream = "documents"

    def __init__(self, language_pair: LanguagePairData) -> None:
        self.units = int(language_pair.document.max()) + 1 if len(language_pair.document) else 0
        known = language_pair.judged & (language_pair.document[language_pair.source] >= 0)
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
        self.human = self._means(language_pair.human)
        self.shared = np.zeros((self.units, 0))

    def _means(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.cell, weights=values[self.rows], minlength=len(self.size)) / self.size)

    def measure(self, scored: CandidateScores) -> Columns:
        """Return rho of every document."""
        rho = group_spearman(self._means(scored.system_scores), self.human, self.offsets)
        defined = int((~np.isnan(rho)).sum())
        key = "document.spearman"
        return Columns(np.stack(_defined(rho), axis=1), {key: defined}, {key: self.units - defined}, {})

    def values(self, shared: FloatArray, own: FloatArray, scored: CandidateScores) -> StatisticValues:
        """Return the statistic of the document level."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"document.spearman": own[..., 0] / own[..., 1]}


def _defined(values: FloatArray) -> list[FloatArray]:
    """Return two columns whose summed ratio is the mean of what is defined."""
    known = ~np.isnan(values)
    return [np.where(known, values, 0.0), known.astype(np.float64)]
