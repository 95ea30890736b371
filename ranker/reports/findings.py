"""Contents of the report on a trained ranker, as values; rendering is separate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, human_scores, judged, kinds, resolve_kind
from ranker.errors import DataError, OptionError
from ranker.evaluation.explanations.pairs import explain_pair
from ranker.evaluation.systems.result import SystemsResult
from ranker.evaluation.systems.run import compare_systems
from ranker.extractors.needs import usable
from ranker.ranking import Ranker, RankerScorer
from ranker.ranks import merge_ties
from ranker.reports.ablation import Ablation, ablate, extractor_columns, shares
from ranker.reports.agreement import Agreement
from ranker.reports.breakdown import LengthBuckets, by_length, correlations
from ranker.reports.calibration import MarginCalibration, calibrate
from ranker.reports.examples import ShownSource, choose, choose_unjudged, show
from ranker.reports.learning_curve import LearningCurve, learning_curve
from ranker.reports.refits import TrainingColumns, WeightIntervals, jackknife
from ranker.reports.sources import SourceOutputs, outputs_by_source, source_keys

if TYPE_CHECKING:
    from ranker.settings import Training


@dataclass(frozen=True, eq=False)
class DatasetFindings:
    """Results of a ranker on one data set."""

    dataset: Dataset
    usable: BoolArray
    columns: FloatArray
    contributions: FloatArray
    human: FloatArray
    agreement: Agreement | None
    lengths: LengthBuckets
    systems: SystemsResult | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, ranker: Ranker, dataset: Dataset, kind: str, *, resamples: int, seed: int) -> DatasetFindings:
        """Rank the judged candidates of a data set, or all candidates if none is judged."""
        training = ranker.training
        assert training is not None
        notes = []
        compared = kind != AUTO or bool(kinds(dataset))
        judged_outputs, human, rows = dataset, np.full(len(dataset), np.nan), None
        if not compared:
            notes.append("has no human judgements, so this report does not measure agreement")
        else:
            if trained := RankerScorer(ranker).trained_on(dataset):
                notes.append(f"the ranker {trained}")
            kind = resolve_kind(dataset, kind, learnt=[training.kind])
            rows = judged(dataset, kind)
            judged_outputs = dataset.select_candidates(rows)
            human = human_scores(judged_outputs, kind)
        weights = ranker.weight_sets.of_candidates(dataset, rows)
        columns = (ranker.feature_set.transform(dataset, partial=True, rows=rows) - ranker.mean) / ranker.scale
        scores = (weights * columns).sum(axis=1)
        agreement = None
        if compared:
            agreement = Agreement.of(judged_outputs, scores, human, kind, resamples=resamples, seed=seed)
        pairs = (agreement.better, agreement.worse) if agreement else None
        systems = _compared(ranker, judged_outputs, kind, resamples, seed)
        note = ranker.note(dataset, rows)
        return cls(
            judged_outputs,
            np.asarray(usable(ranker.feature_set.extractors, dataset).any(axis=0)),
            columns,
            weights * columns,
            human,
            agreement,
            by_length(judged_outputs, scores, pairs, resamples=resamples, seed=seed),
            systems,
            (*([note] if note else []), *notes, *(systems.notes if systems else ())),
        )

    @property
    def scores(self) -> FloatArray:
        """Scores of the candidates, shape (candidates,)."""
        return np.asarray(self.contributions.sum(axis=1))

    @property
    def kind(self) -> str:
        """Kind of judgement; empty without judgements."""
        return self.agreement.kind if self.agreement else ""

    @property
    def rho(self) -> FloatArray:
        """Spearman's correlation of every source, NaN where undefined, shape (sources,)."""
        return self.agreement.rho if self.agreement else np.full(len(self.dataset.sources), np.nan)

    @property
    def ordered(self) -> Int64Array:
        """Number of judged pairs per source, shape (sources,)."""
        size = len(self.dataset.sources)
        if self.agreement is None:
            return np.zeros(size, dtype=np.int64)
        return np.bincount(self.dataset.candidate_source[self.agreement.better], minlength=size)

    @property
    def spread(self) -> FloatArray:
        """Highest minus lowest score per source, NaN without candidates, shape (sources,)."""
        spread = np.full(len(self.dataset.sources), np.nan)
        filled = np.diff(self.dataset.candidate_offsets) > 0
        if filled.any():
            starts = self.dataset.candidate_offsets[:-1][filled]
            scores = self.scores
            spread[filled] = np.maximum.reduceat(scores, starts) - np.minimum.reduceat(scores, starts)
        return spread


@dataclass(frozen=True, eq=False)
class RankerFindings:
    """Contents of the report on a ranker."""

    ranker: Ranker
    training: Training
    measured: tuple[DatasetFindings, ...]
    calibration: MarginCalibration
    shares: FloatArray
    correlations: FloatArray
    intervals: WeightIntervals | None
    ablations: tuple[Ablation, ...]
    curve: LearningCurve | None
    deviation: float
    sources: tuple[SourceOutputs, ...]
    examples: dict[str, tuple[ShownSource, ...]]
    resamples: int
    seed: int

    @property
    def judged(self) -> tuple[tuple[Dataset, Agreement], ...]:
        """The data sets with human judgements."""
        return tuple((findings.dataset, findings.agreement) for findings in self.measured if findings.agreement)

    @property
    def rho(self) -> FloatArray:
        """Correlations of all sources of all data sets, without the undefined ones."""
        values = np.concatenate([findings.rho for findings in self.measured])
        return np.asarray(values[~np.isnan(values)])

    @property
    def undefined(self) -> int:
        """Number of sources with judged candidates but without a correlation."""
        return sum(findings.undefined(scope) for _, findings in self.judged for scope in findings.language_pairs)

    @property
    def extractors(self) -> tuple[str, ...]:
        """Notations of the extractors."""
        return tuple(map(str, self.ranker.feature_set.extractors))

    @property
    def signature(self) -> str:
        """One line with all settings that affect the results."""
        parts = [
            self.ranker.signature(),
            *(
                f"ranked:{findings.dataset.name}#{findings.dataset.fingerprint[:8]}"
                + (f"|against:{findings.kind}" * bool(findings.kind))
                for findings in self.measured
            ),
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
    """Compute the contents of a report on a trained ranker."""
    if ranker.training is None or not datasets:
        raise DataError("a report requires a trained ranker and at least one data set")
    measured = tuple(DatasetFindings.of(ranker, dataset, kind, resamples=resamples, seed=seed) for dataset in datasets)
    if training_data is None:
        training_data = next(
            (dataset for dataset in datasets if dataset.fingerprint == ranker.training.data_hash), None
        )
    owner = extractor_columns(ranker)
    measured_datasets = [findings.dataset for findings in measured]
    judged_ones = [findings for findings in measured if findings.agreement]
    learnt = TrainingColumns.of(ranker, training_data) if training_data is not None else None
    intervals: WeightIntervals | None = None
    ablations: tuple[Ablation, ...] = ()
    curve: LearningCurve | None = None
    deviation = float("nan")
    if learnt is not None:
        deviation = learnt.deviation()
        intervals = jackknife(learnt, seed=seed) if ranker.training.sources > 1 else None
        curve = learning_curve(learnt, seed=seed)
        if judged_ones:
            ablations = ablate(
                learnt,
                [findings.dataset for findings in judged_ones],
                [findings.kind for findings in judged_ones],
                [findings.columns for findings in judged_ones],
                [findings.usable for findings in judged_ones],
                resamples=resamples,
                seed=seed,
            )
    by_extractor = np.equal.outer(owner, np.arange(len(ranker.feature_set.extractors))).astype(np.float64)
    parts = [findings.contributions @ by_extractor for findings in measured]
    sources = [
        outputs_by_source(findings.dataset, keys, findings.scores, part, findings.human, findings.rho)
        for findings, keys, part in zip(measured, source_keys(measured_datasets), parts, strict=True)
    ]
    return RankerFindings(
        ranker=ranker,
        training=ranker.training,
        measured=measured,
        calibration=_calibration(measured, resamples, seed),
        shares=shares(
            [findings.contributions for findings in measured],
            [dataset.candidate_source for dataset in measured_datasets],
            owner,
        ),
        correlations=correlations(
            [findings.columns for findings in measured],
            owner,
            [findings.scores for findings in measured],
            [findings.human for findings in measured],
            [dataset.candidate_source for dataset in measured_datasets],
        ),
        intervals=intervals,
        ablations=ablations,
        curve=curve,
        deviation=deviation,
        sources=tuple(source for each in sources for source in each),
        examples=_examples(ranker, measured, sources, examples, seed),
        resamples=resamples,
        seed=seed,
    )


def _compared(ranker: Ranker, dataset: Dataset, kind: str, resamples: int, seed: int) -> SystemsResult | None:
    """Compare systems; None without resamples, if they have not the same sources, or the ranker cannot score them."""
    if not resamples:
        return None
    scorer = RankerScorer(ranker)
    try:
        return compare_systems(dataset, {scorer.name: scorer}, kind=kind, resamples=resamples, seed=seed)
    except (DataError, OptionError):
        return None


def _calibration(measured: Sequence[DatasetFindings], resamples: int, seed: int) -> MarginCalibration:
    margins, sources, start = [np.zeros(0)], [np.zeros(0, dtype=np.int64)], 0
    for findings in measured:
        if findings.agreement is None:
            continue
        scores = merge_ties(findings.scores, findings.dataset.candidate_offsets)
        better, worse = findings.agreement.better, findings.agreement.worse
        margins.append(scores[better] - scores[worse])
        sources.append(findings.dataset.candidate_source[better] + start)
        start += len(findings.dataset.sources)
    return calibrate(np.concatenate(margins), np.concatenate(sources), start, resamples=resamples, seed=seed)


def _examples(
    ranker: Ranker,
    measured: Sequence[DatasetFindings],
    sources: Sequence[Sequence[SourceOutputs]],
    count: int,
    seed: int,
) -> dict[str, tuple[ShownSource, ...]]:
    """Choose sources, and mark what matched in them."""
    if any(findings.agreement for findings in measured):
        rho, ordered = (
            np.concatenate([getattr(findings, name) for findings in measured]) for name in ("rho", "ordered")
        )
        chosen = choose(rho, ordered, count, seed)
    else:
        chosen = choose_unjudged(np.concatenate([findings.spread for findings in measured]), count, seed)
    starts = np.cumsum([0, *(len(findings.dataset.sources) for findings in measured)])
    # sources without a candidate are not among the sources shown
    places = [
        {int(findings.dataset.candidate_source[source.outputs[0].row]): source for source in each}
        for findings, each in zip(measured, sources, strict=True)
    ]
    examples = {}
    for sort, rows in chosen.items():
        shown = []
        for row in rows.tolist():
            place = int(np.searchsorted(starts, row, side="right")) - 1
            findings, source = measured[place], places[place][row - int(starts[place])]
            best, worst = source.outputs[0].row, source.outputs[-1].row
            why = explain_pair(ranker, findings.dataset, findings.contributions, best, worst) if best != worst else None
            shown.append(show(ranker.feature_set.extractors, findings.dataset, source, why))
        examples[sort] = tuple(shown)
    return examples
