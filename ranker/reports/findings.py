"""Everything that the report of a trained ranker says, as values; drawing and writing come after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, human_scores, judged, resolve_kind
from ranker.errors import DataError
from ranker.evaluation.compare.evaluation import evaluate, main_scope, named_scopes
from ranker.evaluation.compare.result import Cell, Comparison, Scope
from ranker.evaluation.correlation.segment import source_spearman
from ranker.ranking import Ranker, RankerScorer
from ranker.ranks import merge_ties
from ranker.reports.ablation import Ablation, ablate, extractor_columns, shares
from ranker.reports.calibration import MarginCalibration, calibrate, strict_pairs
from ranker.reports.examples import ShownSource, choose, show
from ranker.reports.refits import TrainingColumns, WeightIntervals, jackknife

if TYPE_CHECKING:
    from ranker.settings import Training


@dataclass(frozen=True, eq=False)
class DatasetFindings:
    """A ranker on one data set.

    Parameters
    ----------
    dataset : Dataset
        The candidates that people judged.
    kind : str
        Kind of judgement.
    evaluation : Comparison
    columns : float array, shape (candidates, columns)
        Standardised as in training.
    contributions : float array, shape (candidates, columns)
        They add up to the scores.
    human : float array, shape (candidates,)
        Scores of people, higher is better.
    rho : float array, shape (sources,)
        Spearman's correlation, tie-corrected; NaN where undefined.
    better, worse : int array, shape (pairs,)
        Candidates of every pair that people order.
    notes : tuple of str
        What a reader should know of these figures.
    """

    dataset: Dataset
    kind: str
    evaluation: Comparison
    columns: FloatArray
    contributions: FloatArray
    human: FloatArray
    rho: FloatArray
    better: Int64Array
    worse: Int64Array
    notes: tuple[str, ...]

    @property
    def headline(self) -> tuple[str, Scope]:
        """Name and scope of the figures that sum the data set up."""
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
        return {one.scope: one for one in self.evaluation.cells if one.statistic == "segment.spearman"}[scope.id]

    def undefined(self, scope: Scope) -> int:
        """Return how many sources with judged candidates have no correlation."""
        return self._rho(scope).undefined

    def variance(self, scope: Scope) -> float | None:
        """Return the variance of the correlations of the sources; None with fewer than two."""
        return self._rho(scope).detail.get("variance")

    @classmethod
    def of(cls, ranker: Ranker, dataset: Dataset, kind: str, *, resamples: int, seed: int) -> DatasetFindings:
        """Rank the judged candidates of a data set and compare with people."""
        training = ranker.training
        assert training is not None
        seen = None
        if RankerScorer(ranker).trained_on(dataset):
            seen = "the ranker was trained on this very data"
        elif dataset.name in training.data.split("+"):
            seen = f"the ranker was trained on {training.data}, so it may have seen this data"
        kind = resolve_kind(dataset, kind, learnt=[training.kind])
        kept = dataset.select_candidates(judged(dataset, kind))
        weights = ranker.weights_for(kept)
        columns = (ranker.feature_set.transform(kept) - ranker.mean) / ranker.scale
        human = human_scores(kept, kind)
        scores = (weights * columns).sum(axis=1)
        notes = [ranker.note(kept), seen]
        return cls(
            kept,
            kind,
            evaluate(kept, scores, kind=kind, resamples=resamples, seed=seed),
            columns,
            weights * columns,
            human,
            source_spearman(kept, scores, human),
            *strict_pairs(kept, kind),
            tuple(note for note in notes if note),
        )

    @property
    def scores(self) -> FloatArray:
        """Score of every candidate, shape (candidates,)."""
        return np.asarray(self.contributions.sum(axis=1))

    @property
    def pair_source(self) -> Int64Array:
        """Source of every pair that people order, shape (pairs,)."""
        return self.dataset.candidate_source[self.better]


@dataclass(frozen=True, eq=False)
class RankerFindings:
    """What the report of a ranker says.

    Parameters
    ----------
    ranker : Ranker
    training : Training
    measured : tuple of DatasetFindings
        By data set.
    calibration : MarginCalibration
        Over all data sets.
    shares : float array, shape (extractors,)
        Of the variance of the scores inside sources.
    intervals : WeightIntervals or None
        Only with the training data.
    ablations : tuple of Ablation
        Only with the training data.
    deviation : float
        How far refitted weights are from the ranker's; NaN without the training data.
    examples : dict
        ``worst``, ``best`` and ``random`` sources.
    resamples, seed : int
    """

    ranker: Ranker
    training: Training
    measured: tuple[DatasetFindings, ...]
    calibration: MarginCalibration
    shares: FloatArray
    intervals: WeightIntervals | None
    ablations: tuple[Ablation, ...]
    deviation: float
    examples: dict[str, tuple[ShownSource, ...]]
    resamples: int
    seed: int

    @property
    def rho(self) -> FloatArray:
        """Correlations of all sources of all data sets, without the undefined ones."""
        values = np.concatenate([one.rho for one in self.measured])
        return np.asarray(values[~np.isnan(values)])

    @property
    def undefined(self) -> int:
        """Number of sources with judged candidates but without a correlation."""
        return sum(one.undefined(scope) for one in self.measured for scope in one.language_pairs)

    @property
    def signature(self) -> str:
        """One line with all that changes the figures."""
        parts = [
            self.ranker.signature(),
            *(f"ranked:{one.dataset.name}#{one.dataset.fingerprint[:8]}|against:{one.kind}" for one in self.measured),
            f"resamples:{self.resamples}",
            *([f"jackknife:{self.intervals.groups}"] if self.intervals else []),
            f"seed:{self.seed}",
        ]
        return "|".join(parts)


def examine(
    ranker: Ranker,
    datasets: Sequence[Dataset],
    *,
    training_data: Dataset | None = None,
    kind: str = AUTO,
    examples: int = 10,
    resamples: int = 1000,
    seed: int = 0,
) -> RankerFindings:
    """Find everything that a report of a trained ranker says.

    Parameters
    ----------
    ranker : Ranker
    datasets : sequence of Dataset
        To rank and to compare with people, each by itself.
    training_data : Dataset, optional
        What the ranker was trained on; one of `datasets` that is just that serves too. Without it weights have no
        intervals, and nothing is said of training without an extractor.
    kind : str, default "auto"
        Kind of judgement to compare with.
    examples : int, default 10
        Sources of each sort to show.
    resamples : int, default 1000
        Bootstrap samples of sources.
    seed : int, default 0

    Returns
    -------
    RankerFindings

    Raises
    ------
    DataError
        If a data set has no such judgements, or `training_data` is not what the ranker was trained on.
    """
    if ranker.training is None or not datasets:
        raise DataError("a report needs a trained ranker and at least one data set")
    measured = tuple(DatasetFindings.of(ranker, one, kind, resamples=resamples, seed=seed) for one in datasets)
    if training_data is None:
        training_data = next((one for one in datasets if one.fingerprint == ranker.training.data_hash), None)
    owner = extractor_columns(ranker)
    kept = [one.dataset for one in measured]
    learnt = TrainingColumns.of(ranker, training_data) if training_data is not None else None
    intervals: WeightIntervals | None = None
    ablations: tuple[Ablation, ...] = ()
    deviation = float("nan")
    if learnt is not None:
        deviation = learnt.deviation()
        intervals = jackknife(learnt, seed=seed) if ranker.training.sources > 1 else None
        kinds, columns = [one.kind for one in measured], [one.columns for one in measured]
        ablations = ablate(learnt, kept, kinds, columns, resamples=resamples, seed=seed)
    return RankerFindings(
        ranker=ranker,
        training=ranker.training,
        measured=measured,
        calibration=_calibration(measured, resamples, seed),
        shares=shares([one.contributions for one in measured], [one.candidate_source for one in kept], owner),
        intervals=intervals,
        ablations=ablations,
        deviation=deviation,
        examples=_examples(ranker, measured, owner, examples, seed),
        resamples=resamples,
        seed=seed,
    )


def _calibration(measured: Sequence[DatasetFindings], resamples: int, seed: int) -> MarginCalibration:
    margins, sources, start = [], [], 0
    for one in measured:
        scores = merge_ties(one.scores, one.dataset.candidate_offsets)
        margins.append(scores[one.better] - scores[one.worse])
        sources.append(one.pair_source + start)
        start += len(one.dataset.sources)
    return calibrate(np.concatenate(margins), np.concatenate(sources), start, resamples=resamples, seed=seed)


def _examples(
    ranker: Ranker, measured: Sequence[DatasetFindings], owner: Int64Array, count: int, seed: int
) -> dict[str, tuple[ShownSource, ...]]:
    rho = np.concatenate([one.rho for one in measured])
    ordered = np.concatenate([np.bincount(one.pair_source, minlength=len(one.rho)) for one in measured])
    starts = np.cumsum([0, *(len(one.rho) for one in measured)])
    found = {}
    for sort, sources in choose(rho, ordered, count, seed).items():
        shown = []
        for source in sources:
            place = int(np.searchsorted(starts, source, side="right")) - 1
            one = measured[place]
            local = int(source - starts[place])
            shown.append(show(ranker, one.dataset, one.contributions, one.human, one.rho, owner, local))
        found[sort] = tuple(shown)
    return found
