"""Statistics of agreement with people as functions of sums over sources or documents.

A *family* knows one language pair. It turns the scores of a metric into additive columns, one row a unit, and sums of
columns into figures; so a figure and all its resampled values come from the same few lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray
from ranker.evaluation.compare.result import Statistic
from ranker.evaluation.compare.scored import Scored, Slice
from ranker.evaluation.correlation.correlation import group_correlation, group_pearson, moments, pearson_of_moments
from ranker.evaluation.correlation.pair_counts import accuracy_with_ties, consistency_share, count_pairs, tau, tau_b
from ranker.evaluation.correlation.segment import tau_counts
from ranker.evaluation.correlation.tie_calibration import calibrate
from ranker.ranks import average_ranks, merge_ties

Figures = dict[str, FloatArray]

STATISTICS = (
    Statistic(
        "segment.tau.official",
        "segment",
        "tau official",
        "Kendall's tau, wmt14 variant, over all strict human preferences, repeated judgements included.",
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
        "Share of strict human preferences, without repeated judgements, that the scores agree with.",
        *(0, 1, 0.5, False),
    ),
    Statistic(
        "segment.tau.wmt12",
        "segment",
        "tau wmt12",
        "As tau primary, with ties of scores counted as discordant.",
        *(-1, 1, 0, False),
    ),
    Statistic(
        "segment.tau.wmt13",
        "segment",
        "tau wmt13",
        "As tau primary, with ties of scores left out.",
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
        "Share of pairs of systems that the scores order as people do.",
        *(0, 1, 0.5, True),
    ),
    Statistic(
        "system.spa",
        "system",
        "soft accuracy",
        "Soft pairwise accuracy: 1 - mean over pairs of systems of how far p-values by people and by scores differ.",
        *(0, 1, 0.5, True),
    ),
    Statistic(
        "system.pearson",
        "system",
        "system Pearson",
        "Pearson's r between the scores of systems by the metric and by people.",
        *(-1, 1, 0, True),
    ),
)
"""Everything that a comparison may hold, in the order of its tables."""


@dataclass(frozen=True)
class Columns:
    """Additive columns of one metric, shape (units, k), and facts that are no sums.

    `count` and `undefined` are by statistic: what it is taken over, and how much of that is left out as undefined.
    """

    columns: FloatArray
    count: Mapping[str, int]
    undefined: Mapping[str, int]
    detail: Mapping[str, Mapping[str, float]]


class Family(ABC):
    """Figures that share their columns."""

    units: int
    stream: str = ""
    """Name of the random stream of its units, besides the language pair."""
    shared: FloatArray
    """Additive columns that all metrics have in common, shape (units, h)."""

    @abstractmethod
    def measure(self, scored: Scored) -> Columns:
        """Turn scores of the slice's candidates into columns."""

    @abstractmethod
    def figures(self, shared: FloatArray, own: FloatArray, scored: Scored) -> Figures:
        """Turn summed columns, shape (..., h) and (..., k), into figures by statistic, shape (...)."""


class SegmentFigures(Family):
    """Agreement inside sources."""

    def __init__(self, piece: Slice) -> None:
        self.piece, self.units = piece, piece.sources
        judged = piece.judged
        self.judged, self.offsets = judged, piece.judged_offsets
        self.human = merge_ties(piece.human, piece.offsets)[judged]
        self.source = piece.source[judged]
        self.ranks = average_ranks(self.human, self.offsets, tie=0.0)
        self.centre = self.human.mean() if len(self.human) else 0.0
        self.shared = np.zeros((self.units, 0))

    def measure(self, scored: Scored) -> Columns:
        """Return rho, moments, pair counts and the accuracy with calibrated ties of every source."""
        scores = scored.scores[self.judged]
        count: dict[str, int] = {}
        undefined: dict[str, int] = {}
        columns: list[FloatArray] = []
        # merged by `part_of`, before they were standardised
        ranks = average_ranks(scores, self.offsets, tie=0.0)
        rho = group_pearson(ranks, self.ranks, self.offsets)
        size = np.diff(self.offsets).astype(np.float64)
        distance = np.bincount(self.source, weights=(ranks - self.ranks) ** 2, minlength=self.units)
        with np.errstate(invalid="ignore", divide="ignore"):
            formula = np.where(np.isnan(rho), np.nan, 1 - 6 * distance / (size * (size**2 - 1)))
        for values, identity in ((rho, "segment.spearman"), (formula, "segment.spearman-ye07")):
            columns += _defined(values)
            count[identity], undefined[identity] = int((~np.isnan(rho)).sum()), int(np.isnan(rho).sum())
        counts = count_pairs(self.human, scores, self.offsets)
        rank = tau_b(counts)
        columns += _defined(rank)
        count["segment.kendall-b"] = int((~np.isnan(rank)).sum())
        undefined["segment.kendall-b"] = int(np.isnan(rank).sum())
        found = calibrate(self.human, scores, self.offsets)
        accuracy = accuracy_with_ties(
            count_pairs(self.human, scores, self.offsets, epsilon=found.epsilon * (1 + 1e-12))
            if found.epsilon
            else counts
        )
        columns += _defined(accuracy)
        count["segment.acc-eq"], undefined["segment.acc-eq"] = found.groups, self.units - found.groups
        columns += list(counts[:, :3].T.astype(np.float64))
        count["segment.tau.scores"] = int(counts[:, :3].sum())
        # any constant does, but what is swapped between metrics must be shifted alike
        mean = 0.0 if scored.standardised or not len(scores) else scores.mean()
        sums = moments(self.human - self.centre, scores - mean)
        columns += [np.bincount(self.source, weights=one, minlength=self.units).astype(np.float64) for one in sums.T]
        count["segment.pearson"] = len(scores)
        for selection, pairs in self.piece.pairs.items():
            by_source = tau_counts(scored.scores, pairs, self.piece.source, self.units)
            columns += list(by_source.T.astype(np.float64))
            for identity in _TAU_OF.get(selection, ()):
                count[identity] = len(pairs.better)
        return Columns(
            np.stack(columns, axis=1), count, undefined, {"segment.acc-eq": {"epsilon": float(found.epsilon)}}
        )

    def figures(self, shared: FloatArray, own: FloatArray, scored: Scored) -> Figures:
        """Return the figures of the segment level."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = {
                identity: own[..., place] / own[..., place + 1]
                for identity, place in (
                    ("segment.spearman", 0),
                    ("segment.spearman-ye07", 2),
                    ("segment.kendall-b", 4),
                    ("segment.acc-eq", 6),
                )
            }
        found["segment.tau.scores"] = tau(own[..., 8:11])
        found["segment.pearson"] = pearson_of_moments(own[..., 11:17])
        for index, selection in enumerate(self.piece.pairs):
            counts = own[..., 17 + 3 * index : 20 + 3 * index]
            found[f"segment.tau.{selection}"] = tau(counts)
            if selection == "primary":
                found["segment.tau.wmt12"] = tau(counts, "wmt12")
                found["segment.tau.wmt13"] = tau(counts, "wmt13")
                found["segment.consistency"] = consistency_share(counts)
        return found


_TAU_OF = {
    "official": ("segment.tau.official",),
    "primary": ("segment.tau.primary", "segment.tau.wmt12", "segment.tau.wmt13", "segment.consistency"),
}


class DocumentFigures(Family):
    """Agreement inside documents: systems by their mean scores."""

    stream = "documents"

    def __init__(self, piece: Slice) -> None:
        self.units = int(piece.document.max()) + 1 if len(piece.document) else 0
        known = piece.judged & (piece.document[piece.source] >= 0)
        self.rows = np.flatnonzero(known)
        cell = piece.document[piece.source[known]] * len(piece.systems) + piece.system[known]
        cells, self.cell = np.unique(cell, return_inverse=True)
        self.size = np.bincount(self.cell, minlength=len(cells))
        self.offsets = np.searchsorted(cells // max(len(piece.systems), 1), np.arange(self.units + 1)).astype(np.int64)
        self.human = self._means(piece.human)
        self.shared = np.zeros((self.units, 0))

    def _means(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.cell, weights=values[self.rows], minlength=len(self.size)) / self.size)

    def measure(self, scored: Scored) -> Columns:
        """Return rho of every document."""
        rho = group_correlation(self.human, self._means(scored.scores), self.offsets, "spearman")
        defined = int((~np.isnan(rho)).sum())
        key = "document.spearman"
        return Columns(np.stack(_defined(rho), axis=1), {key: defined}, {key: self.units - defined}, {})

    def figures(self, shared: FloatArray, own: FloatArray, scored: Scored) -> Figures:
        """Return the figure of the document level."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"document.spearman": own[..., 0] / own[..., 1]}


def _defined(values: FloatArray) -> list[FloatArray]:
    """Return two columns whose summed ratio is the mean of what is defined."""
    known = ~np.isnan(values)
    return [np.where(known, values, 0.0), known.astype(np.float64)]
