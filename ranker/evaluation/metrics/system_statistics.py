"""Agreement about whole systems, from sums over sources."""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.judgements import PREFERENCES, WITHIN_SOURCES, Kind
from ranker.errors import DataError, counted
from ranker.evaluation.correlation.pairwise_accuracy import limit_p_values, pairwise_accuracy, soft_accuracy
from ranker.evaluation.correlation.pearson import pearson_rows
from ranker.evaluation.metrics.candidates import CandidateScores, LanguagePairData
from ranker.evaluation.metrics.statistics import Basis, Measured, StatisticSet, StatisticValues
from ranker.evaluation.systems.human_ranking import expected_wins, uneven_sources
from ranker.ranks import merge_ties

MOST_VALUES = 50_000_000
"""Maximum number of differences of two systems, by sources or resamples, in memory at once."""


class SystemStatistics(StatisticSet):
    """Statistics of how well a metric agrees with people on the order of systems.

    A system's human score is the mean of its outputs' human scores or, for preferences, its expected wins (Bojar et al.
    2013): the mean over opponents of wins / (wins + losses), with repeated judgements, because a judgement of an output
    is one of every system that gave it. Its metric score is the score of the summed statistics of its judged outputs,
    or the mean of their scores. If people compared the outputs of a source, it is that of all its outputs of judged
    sources: people's scores do not depend on how difficult the sources are, but the metric's do. The p-values of soft
    pairwise accuracy are those of random swaps in the limit of many sources; pairs of systems that people never
    compared are left out.
    """

    test_stream = "SystemFigures"

    def __init__(self, language_pair: LanguagePairData, resamples: int = 0, *, kind: str = PREFERENCES) -> None:
        self.language_pair, self.units = language_pair, language_pair.sources
        self.size = len(language_pair.systems)
        if self.size * (self.size - 1) * max(self.units, resamples) > MOST_VALUES:
            of = f"{counted(self.units, 'source')} and {counted(resamples, 'resample')}"
            what = f"{self.size:,} systems are too many to compare all pairs, with {of}: use --level segment"
            raise DataError(f"{what}, fewer --resamples or fewer systems", file=language_pair.where)
        self.first, self.second = np.triu_indices(self.size, 1)
        relative = Kind.parse(kind).name in WITHIN_SOURCES
        scored = (language_pair.system >= 0) & (relative | ~np.isnan(language_pair.system_human))
        self.rows = np.flatnonzero(scored)
        self.cell = language_pair.source[self.rows] * self.size + language_pair.system[self.rows]
        self.preferences = language_pair.pairs.get("official") if kind == PREFERENCES else None
        scores = merge_ties(language_pair.system_human, language_pair.offsets)
        self.shared = self._by_preferences() if self.preferences else self._by_scores(scores, means=True)
        self.compared = self._meetings()[self.first, self.second] > 0
        """True for pairs of systems that people compared."""
        by_people = merge_ties(self.human(self.shared.sum(axis=0)))
        judged = ~np.isnan(by_people)
        pairs, systems = (
            Basis(int(known.sum()), int((~known).sum())) for known in (judged[self.first] & judged[self.second], judged)
        )
        spa = Basis(int(self.compared.sum()), int((~self.compared).sum()))
        self.basis = {"system.accuracy": pairs, "system.spa": spa, "system.pearson": systems}
        self.ordered = bool(np.fmin.reduce(by_people, initial=np.inf) < np.fmax.reduce(by_people, initial=-np.inf))
        """True if people prefer any system to another."""
        present = np.bincount(self.cell, minlength=self.units * self.size).reshape(self.units, self.size) > 0
        self.note = uneven_sources(present, language_pair.systems, judged=not relative)
        """Note on systems whose scores are of too different sources; None if there are none."""

    def _by_scores(self, scores: FloatArray, *, means: bool) -> FloatArray:
        """Return the differences and squared differences between all pairs of systems in each source.

        If `means`, each system's scores and counts come first.
        """
        known = ~np.isnan(scores[self.rows])
        values, present = np.zeros((2, self.units, self.size))
        values.flat[self.cell[known]] = scores[self.rows][known]
        present.flat[self.cell[known]] = 1.0
        both_present = present[:, self.first] * present[:, self.second]
        apart = (values[:, self.first] - values[:, self.second]) * both_present
        return np.concatenate([*([values, present] if means else []), apart, apart * apart], axis=1)

    def _meetings(self) -> FloatArray:
        """Number of times that people compared each system with each other system, shape (systems, systems)."""
        size = self.size
        if self.preferences is None:
            present = self.shared[:, size : 2 * size]
            return np.asarray(present.T @ present)
        wins = self.shared[:, : size * size].sum(axis=0).reshape(size, size)
        return np.asarray(wins + wins.T)

    def _by_preferences(self) -> FloatArray:
        """Return, per source, the wins of each system over each other system, net wins, and squared net wins."""
        assert self.preferences is not None
        language_pair = self.language_pair
        winner, loser = language_pair.system[self.preferences.better], language_pair.system[self.preferences.worse]
        code = (language_pair.source[self.preferences.better] * self.size + winner) * self.size + loser
        wins = np.bincount(code, minlength=self.units * self.size**2).reshape(self.units, self.size, self.size)
        net = (wins[:, self.first, self.second] - wins[:, self.second, self.first]).astype(np.float64)
        return np.concatenate([wins.reshape(self.units, -1).astype(np.float64), net, net * net], axis=1)

    def measure(self, scored: CandidateScores) -> Measured:
        """Return columns with each system's scores or statistics, and score differences of all pairs of systems."""
        columns = [self._by_scores(scored.system_scores, means=scored.statistics is None)]
        if scored.statistics is not None:
            width = scored.statistics.shape[1]
            values = np.zeros((self.units * self.size, width))
            values[self.cell] = scored.statistics[self.rows]
            columns.append(values.reshape(self.units, self.size * width))
        return np.concatenate(columns, axis=1), self.basis

    def human(self, shared: FloatArray) -> FloatArray:
        """Compute the systems' human scores from summed columns, shape (..., systems)."""
        size = self.size
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.preferences is None:
                return np.asarray(shared[..., :size] / shared[..., size : 2 * size])
        return expected_wins(shared[..., : size * size].reshape(*shared.shape[:-1], size, size))

    def metric(self, own: FloatArray, scored: CandidateScores) -> FloatArray:
        """Compute the systems' scores by the metric from summed columns, shape (..., systems)."""
        if scored.statistics is None or scored.system_score is None:
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray(own[..., : self.size] / own[..., self.size : 2 * self.size])
        totals = own[..., 2 * len(self.first) :]
        return scored.system_score(totals.reshape(*own.shape[:-1], self.size, scored.statistics.shape[1]))

    def values(self, shared: FloatArray, own: FloatArray, scored: CandidateScores) -> StatisticValues:
        """Compute the system-level statistics from summed `shared` columns and the metric's `own` columns."""
        human, metric = self.human(shared), self.metric(own, scored)
        by_people = self._differences(shared, self.size**2 if self.preferences else 2 * self.size)
        by_metric = self._differences(own, 2 * self.size if scored.statistics is None else 0)
        apart = (by_people[1] > 0).any(axis=-1, keepdims=True)
        compared = np.where(self.compared & apart, limit_p_values(*by_people), np.nan)
        return {
            "system.accuracy": pairwise_accuracy(human, metric) if self.ordered else np.full(metric.shape[:-1], np.nan),
            "system.spa": soft_accuracy(compared, limit_p_values(*by_metric)),
            "system.pearson": pearson_rows(human, metric),
        }

    def _differences(self, columns: FloatArray, start: int) -> tuple[FloatArray, FloatArray]:
        pairs = len(self.first)
        return columns[..., start : start + pairs], columns[..., start + pairs : start + 2 * pairs]
