"""Contents of the report on a trained ranker, as values; rendering is separate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.checks.faults import fault_note
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import (
    AUTO,
    Judged,
    kinds,
    use_of_errors,
)
from ranker.errors import DataError, OptionError
from ranker.evaluation.calibration import Reliability
from ranker.evaluation.correlation.segment import source_spearman
from ranker.evaluation.explanations.pairs import explain_pair
from ranker.evaluation.explanations.spans import candidate_spans
from ranker.evaluation.metrics.evaluation import agreement, main_scope, named_scopes
from ranker.evaluation.metrics.result import Cell, Comparison, Scope
from ranker.evaluation.systems.result import SystemsResult
from ranker.evaluation.systems.run import compare_systems
from ranker.extractors.composed.direction import judgements_note
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import RankerScorer, trained_on
from ranker.reports.examples import ShownSource, choose, choose_unjudged, show
from ranker.reports.sources import SourceOutputs, outputs_by_source, source_keys


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of a ranker with people, with each source's rho (NaN where undefined) and number of judged pairs."""

    kind: str
    evaluation: Comparison
    rho: FloatArray
    ordered: Int64Array
    reliability: Reliability | None = None

    @property
    def headline(self) -> tuple[str, Scope]:
        """Name and scope of the figures that sum up the agreement."""
        return main_scope(self.evaluation)

    @property
    def scopes(self) -> dict[str, Scope]:
        """Scopes by name: the language pairs, then the means."""
        return named_scopes(self.evaluation)

    @property
    def language_pairs(self) -> tuple[Scope, ...]:
        """Scopes of the single language pairs."""
        return tuple(scope for scope in self.evaluation.scopes if scope.lp)

    def spearman(self, scope: Scope) -> Cell:
        """Return the evaluation's cell for Spearman's rho in a scope."""
        cell = self.evaluation.cell("segment.spearman", scope.id, self.evaluation.metrics[0].name)
        assert cell is not None
        return cell

    @classmethod
    def of(
        cls, people: Judged, scores: FloatArray, reliability: Reliability | None, *, resamples: int, seed: int
    ) -> Agreement:
        """Measure how well the scores of the judged candidates agree with the judgements."""
        dataset = people.dataset
        return cls(
            people.kind,
            agreement(dataset, scores, kind=people.kind, resamples=resamples, seed=seed),
            source_spearman(dataset, scores, people.human),
            np.bincount(dataset.candidate_source[people.pairs.better], minlength=len(dataset.sources)),
            reliability,
        )


@dataclass(frozen=True, eq=False)
class DatasetFindings:
    """Results of a ranker on one data set."""

    dataset: Dataset
    contributions: FloatArray
    human: FloatArray
    agreement: Agreement | None
    systems: SystemsResult | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, ranker: Ranker, dataset: Dataset, kind: str, *, resamples: int, seed: int) -> DatasetFindings:
        """Rank the judged candidates of a data set, or all candidates if there are no judgements."""
        training = ranker.training
        assert training is not None
        notes = []
        people = None
        if kind == AUTO and not kinds(dataset):
            notes.append(
                f"has no human judgements{use_of_errors(dataset) or ', so this report does not measure agreement'}"
            )
        else:
            if trained := trained_on(RankerScorer(ranker), dataset):
                notes.append(f"the ranker {trained}")
            people = Judged.of(dataset, kind, [training.kind])
            if direction := judgements_note(people, kind, training.kind):
                notes.append(direction.removeprefix(f"{dataset.name}: "))
        judged_outputs, kind = (people.dataset, people.kind) if people else (dataset, kind)
        weights = ranker.weight_sets.of_candidates(judged_outputs)
        columns = (ranker.feature_set.transform(judged_outputs, partial=True) - ranker.mean) / ranker.scale
        scores = (weights * columns).sum(axis=1)
        agreement = None
        if people:
            reliability = Reliability.of(RankerScorer(ranker), people, scores)
            agreement = Agreement.of(people, scores, reliability, resamples=resamples, seed=seed)
        systems = _compared(ranker, judged_outputs, kind, resamples, seed)
        if fault := fault_note(judged_outputs):
            alone = "this report ranks by score alone, like --no-checks"
            notes.append(f"{fault} by ranker rank, without a vote in consensus; {alone}")
        note = ranker.note(judged_outputs)
        return cls(
            judged_outputs,
            weights * columns,
            people.human if people else np.full(len(dataset), np.nan),
            agreement,
            systems,
            (*([note] if note else []), *notes, *(systems.notes if systems else ())),
        )

    @property
    def scores(self) -> FloatArray:
        """Scores of the candidates, shape (candidates,)."""
        return np.asarray(self.contributions.sum(axis=1))

    @property
    def rho(self) -> FloatArray:
        """Spearman's correlation of scores and judgements within each source, NaN where undefined, shape (sources,)."""
        return self.agreement.rho if self.agreement else np.full(len(self.dataset.sources), np.nan)

    @property
    def ordered(self) -> Int64Array:
        """Number of judged pairs without a tie in each source, shape (sources,)."""
        return self.agreement.ordered if self.agreement else np.zeros(len(self.dataset.sources), dtype=np.int64)

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
    measured: tuple[DatasetFindings, ...]
    shares: FloatArray
    sources: tuple[SourceOutputs, ...]
    examples: dict[str, tuple[ShownSource, ...]]
    resamples: int
    seed: int

    @property
    def judged(self) -> tuple[tuple[Dataset, Agreement], ...]:
        """The data sets with human judgements, each with the ranker's agreement with people."""
        return tuple((findings.dataset, findings.agreement) for findings in self.measured if findings.agreement)

    @property
    def rho(self) -> FloatArray:
        """All defined Spearman correlations of the sources of all data sets."""
        values = np.concatenate([findings.rho for findings in self.measured])
        return np.asarray(values[~np.isnan(values)])

    @property
    def undefined(self) -> int:
        """Number of sources with judged candidates whose correlation is undefined."""
        return sum(
            findings.spearman(scope).undefined for _, findings in self.judged for scope in findings.language_pairs
        )

    @property
    def extractors(self) -> tuple[str, ...]:
        """Extractors with their options, in text form."""
        return tuple(map(str, self.ranker.feature_set.extractors))

    @property
    def signature(self) -> str:
        """One line with all settings that affect the results."""
        parts = [
            self.ranker.signature(),
            *(
                f"ranked:{findings.dataset.name}#{findings.dataset.fingerprint[:8]}"
                + (f"|against:{findings.agreement.kind}" if findings.agreement else "")
                for findings in self.measured
            ),
            f"resamples:{self.resamples}",
            f"seed:{self.seed}",
        ]
        return "|".join(parts)


def examine(
    ranker: Ranker,
    datasets: Sequence[Dataset],
    *,
    kind: str = AUTO,
    examples: int = 10,
    resamples: int = 1000,
    seed: int = 0,
) -> RankerFindings:
    """Compute the contents of a report on a trained ranker."""
    if ranker.training is None or not datasets:
        raise DataError("a report requires a trained ranker and at least one data set")
    measured = tuple(DatasetFindings.of(ranker, dataset, kind, resamples=resamples, seed=seed) for dataset in datasets)
    owner = extractor_columns(ranker)
    measured_datasets = [findings.dataset for findings in measured]
    by_extractor = np.equal.outer(owner, np.arange(len(ranker.feature_set.extractors))).astype(np.float64)
    parts = [findings.contributions @ by_extractor for findings in measured]
    sources = [
        outputs_by_source(findings.dataset, keys, findings.scores, part, findings.human, findings.rho)
        for findings, keys, part in zip(measured, source_keys(measured_datasets), parts, strict=True)
    ]
    return RankerFindings(
        ranker=ranker,
        measured=measured,
        shares=shares(
            [findings.contributions for findings in measured],
            [dataset.candidate_source for dataset in measured_datasets],
            owner,
        ),
        sources=tuple(source for each in sources for source in each),
        examples=_examples(ranker, measured, sources, examples, seed),
        resamples=resamples,
        seed=seed,
    )


def _compared(ranker: Ranker, dataset: Dataset, kind: str, resamples: int, seed: int) -> SystemsResult | None:
    """Return the comparison of systems; None if there are no resamples or the systems cannot be compared."""
    if not resamples:
        return None
    scorer = RankerScorer(ranker)
    try:
        return compare_systems(dataset, {scorer.name: scorer}, kind=kind, resamples=resamples, seed=seed)
    except (DataError, OptionError):
        return None


def _examples(
    ranker: Ranker,
    measured: Sequence[DatasetFindings],
    sources: Sequence[Sequence[SourceOutputs]],
    count: int,
    seed: int,
) -> dict[str, tuple[ShownSource, ...]]:
    """Choose example sources, such as the worst, best and random ones, and mark the matches in them."""
    if any(findings.agreement for findings in measured):
        rho, ordered = (
            np.concatenate([getattr(findings, name) for findings in measured]) for name in ("rho", "ordered")
        )
        chosen = choose(rho, ordered, count, seed)
    else:
        chosen = choose_unjudged(np.concatenate([findings.spread for findings in measured]), count, seed)
    # sources without a candidate are not shown
    in_a_row = {}
    start = 0
    everywhere = np.concatenate([*chosen.values()])
    for findings, each in zip(measured, sources, strict=True):
        wanted = np.isin(findings.dataset.candidate_source, everywhere - start)
        marked = candidate_spans(ranker, findings.dataset, findings.contributions, wanted)
        spans = {candidate.row: candidate for candidate in marked}
        for source in each:
            in_a_row[start + int(findings.dataset.candidate_source[source.outputs[0].row])] = findings, source, spans
        start += len(findings.dataset.sources)
    examples = {}
    for sort, rows in chosen.items():
        shown = []
        for row in rows.tolist():
            findings, source, spans = in_a_row[row]
            best, worst = source.outputs[0].row, source.outputs[-1].row
            why = explain_pair(ranker, findings.dataset, findings.contributions, best, worst) if best != worst else None
            shown.append(show(ranker.feature_set.extractors, findings.dataset, source, why, spans))
        examples[sort] = tuple(shown)
    return examples


def extractor_columns(ranker: Ranker) -> Int64Array:
    """Index of the extractor that computes each feature column, shape (columns,)."""
    return np.repeat(
        np.arange(len(ranker.feature_set.extractors)),
        [len(extractor.columns) for extractor in ranker.feature_set.extractors],
    ).astype(np.int64)


def shares(contributions: Sequence[FloatArray], sources: Sequence[Int64Array], owner: Int64Array) -> FloatArray:
    """Extractors' shares of score variance: ``sum(contribution * score) / sum(score^2)``, both centred by source."""
    products = np.zeros(len(owner))
    for matrix, source in zip(contributions, sources, strict=True):
        centred = within_sources(matrix, source)
        products += centred.T @ centred.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(owner, weights=products) / products.sum())


def within_sources(values: FloatArray, source: Int64Array) -> FloatArray:
    """Subtract each source's mean from the values of the source's candidates, shape (candidates, k)."""
    counts = np.maximum(np.bincount(source), 1)
    means = np.stack([np.bincount(source, weights=column) for column in values.T], axis=1) / counts[:, np.newaxis]
    return np.asarray(values - means[source])
