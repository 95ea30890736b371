"""Agreement of a ranker's scores with human judgements on one data set."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.evaluation.compare.evaluation import evaluate, main_scope, named_scopes
from ranker.evaluation.compare.result import Cell, Comparison, Scope
from ranker.evaluation.correlation.segment import source_spearman
from ranker.reports.breakdown import SystemWins, by_system
from ranker.reports.calibration import strict_pairs


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of a ranker with human judgements on one data set."""

    kind: str
    evaluation: Comparison
    rho: FloatArray
    better: Int64Array
    worse: Int64Array
    systems: tuple[SystemWins, ...]

    @property
    def headline(self) -> tuple[str, Scope]:
        """Name and scope of the summary figures."""
        return main_scope(self.evaluation)

    @property
    def scopes(self) -> dict[str, Scope]:
        """The language pairs, then the means."""
        return named_scopes(self.evaluation)

    @property
    def language_pairs(self) -> tuple[Scope, ...]:
        """The single language pairs."""
        return tuple(scope for scope in self.evaluation.scopes if scope.lp)

    def _rho(self, scope: Scope) -> Cell:
        return {cell.scope: cell for cell in self.evaluation.cells if cell.statistic == "segment.spearman"}[scope.id]

    def undefined(self, scope: Scope) -> int:
        """Return how many sources with judged candidates have no correlation."""
        return self._rho(scope).undefined

    def variance(self, scope: Scope) -> float | None:
        """Return the variance of the correlations of the sources; None with fewer than two."""
        return self._rho(scope).detail.get("variance")

    @classmethod
    def of(
        cls, dataset: Dataset, scores: FloatArray, human: FloatArray, kind: str, *, resamples: int, seed: int
    ) -> Agreement:
        """Compare the scores of judged candidates with the judgements."""
        better, worse = strict_pairs(dataset, kind)
        return cls(
            kind,
            evaluate(dataset, scores, kind=kind, resamples=resamples, seed=seed),
            source_spearman(dataset, scores, human),
            better,
            worse,
            by_system(dataset, scores, better, worse),
        )
