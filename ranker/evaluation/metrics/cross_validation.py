"""Quality of a trained ranker on sources that it did not learn from, compared with chrF and other rankers.

The sources are divided into folds, evenly for every language pair; sources with the same text are in one fold. Each
fold is scored by weights learnt from the other folds, with the features that the ranker was trained on, standardised
again, and the same product of C and total pair weight as in training. The weights of an adapted ranker stay near those
of its base, with the base's means and scales. The features are those of the training table: extractors that learn from
training data (`paraphrase`) are cross-fitted, and language models of references contain the references of all folds, as
they do when all sources are ranked together. The judgements of a held-out source influence its scores only through the
choice of C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.catalogue.candidate_rows import Candidates
from ranker.corpora.judgements import PREFERENCES, Judged
from ranker.corpora.source_keys import same_source
from ranker.errors import DataError, NotTrainedError, OptionError, RankerError, counted, log_note
from ranker.evaluation.choices import check_resampling
from ranker.evaluation.metrics.candidates import CandidateScores
from ranker.evaluation.metrics.result import Comparison
from ranker.evaluation.metrics.run import compare
from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.evaluation.table_result import TableResult
from ranker.extractors.base import Metric
from ranker.ranking.confidence import Confidence, JudgedPairs, fit_confidence
from ranker.ranking.included import default_model
from ranker.ranking.ranker import Ranker, training_data
from ranker.ranking.scorers import Scorer, candidate_scores, learnt_from, make_scorer, scorers_by_name, type_of
from ranker.ranking.settings import AUTO, FOLDS, Loss
from ranker.ranking.training import TrainingTable, standardiser, stratified_folds

THIS_MODEL, BASELINE = "this model", "chrf"
FEWEST_SOURCES = 30
"""Minimum number of sources for a verdict."""
TAU, SPEARMAN = "segment.tau.primary", "segment.spearman"
_TITLES = {TAU: "tau", SPEARMAN: "Spearman"}


@dataclass(frozen=True)
class HeldOut:
    """Held-out results of one ranker or metric: a row of the report."""

    name: str
    tau: Estimate | None
    spearman: Estimate
    note: str | None = None


@dataclass(frozen=True)
class CrossValidation:
    """Results of all scorers on held-out sources, verdicts on significance, and confidence parameters."""

    data: str
    kind: str
    folds: int
    sources: int
    resamples: int
    seed: int
    rows: tuple[HeldOut, ...]
    verdicts: tuple[str, ...]
    better: tuple[str, ...]
    """Names of scorers with a higher figure than the new model on the same sources, significant or not."""
    confidence: Confidence | None
    """Confidence parameters from the sources held out; None if these are too few."""


@dataclass(frozen=True, repr=False)
class TrainingResult(TableResult):
    """A trained ranker, and its agreement with people on sources that were not used for training."""

    ranker: Ranker
    cross_validation: CrossValidation | None

    @property
    def headline(self) -> str:
        """One-line description of the ranker and of the data that it was trained on."""
        return repr(self.ranker)[1:-1]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per ranker or metric of the cross-validation: Kendall's tau, if defined, and Spearman's rho."""
        return pd.DataFrame(
            {"name": row.name, **(row.tau.columns("tau") if row.tau else {}), **row.spearman.columns("spearman")}
            for row in (self.cross_validation.rows if self.cross_validation else ())
        )


def train(
    candidates: Candidates,
    ranker: str | Ranker = AUTO,
    *,
    compare: Sequence[str | Path | Metric | Ranker | Scorer] = (),
    folds: int = FOLDS,
    seed: int = 0,
) -> TrainingResult:
    """Train a ranker, and cross-validate it over sources, with chrF and the included ranker for comparison.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        With human judgements; see `ranker.ranking.ranker.Ranker.score` for the forms.
    ranker : str or Ranker, default "auto"
        Features in their notation, or a ranker with other settings, which is trained in place.
    compare : list of str, Path, Metric or Ranker
        Other metrics and rankers to compare with in the cross-validation.
    folds : int, default 5
        Folds of the cross-validation, 0 for none.
    seed : int, default 0

    Examples
    --------
    >>> from ranker import Ranker, train
    >>> train("sample", Ranker("bleu", C=0.01)).to_frame()["name"].tolist()
    ['this model', 'chrf', 'full']
    """
    check_resampling(0, seed)
    if folds:
        _check_folds(folds)
    ranker, rivals = ranker if isinstance(ranker, Ranker) else Ranker(ranker), scorers_by_name(compare)
    table = ranker.fit_table(training_data(candidates, ranker.settings.kind))
    if not folds or len(table.blocks) < 2:
        return TrainingResult(ranker, None)
    return TrainingResult(ranker, cross_validate(ranker, table, rivals=rivals, included=True, folds=folds, seed=seed))


def _check_folds(folds: object) -> None:
    if not (isinstance(folds, Integral) and int(folds) >= 2):
        raise OptionError(f"folds={folds!r}: expected at least 2")


def cross_validate(
    ranker: Ranker,
    table: TrainingTable,
    *,
    rivals: Mapping[str, Scorer] | None = None,
    included: bool = False,
    folds: int = FOLDS,
    resamples: int = 1000,
    seed: int = 0,
) -> CrossValidation:
    """Cross-validate a trained ranker, and compare it with chrF, if there are references, and with `rivals`.

    If `included`, the included ranker that suits the data is compared too. Each ranker is compared on the sources that
    it did not learn from.
    """
    _check_folds(folds)
    if ranker.training is None:
        raise NotTrainedError("the ranker is not trained; call fit_table before the cross-validation")
    judged_sources = len(table.blocks)
    if judged_sources < 2:
        what = f"{counted(judged_sources, 'source')} with judgements: cross-validation requires at least 2"
        raise DataError(what, file=table.dataset.name)
    parts = min(folds, judged_sources)
    has_references = bool((np.diff(table.dataset.reference_offsets)[table.group] > 0).all())
    baseline = {BASELINE: make_scorer(BASELINE, None)} if has_references else {}
    rivals = rivals or {}
    default = {name: make_scorer(None, name) for name in [default_model(table.dataset)] if included}
    compared = {**baseline, **default, **rivals}
    held_out = held_out_scores(ranker, table, fold_of_sources(table, parts, seed))
    scored = [CandidateScores(THIS_MODEL, held_out)]
    for name, scorer in compared.items():
        try:
            scored.append(CandidateScores(name, candidate_scores(scorer, table.dataset)))
        except RankerError as error:
            if name in (*baseline, *rivals):
                raise
            log_note(f"leaving out the comparison with the included model {name}: {error}")
    whole = _compared(table, scored, resamples, seed)
    assert whole is not None
    comparisons: dict[str, Comparison | None] = {}
    judged = np.isin(np.arange(len(table.dataset.sources)), table.group)
    known = {name: learnt_from(scorer, table.dataset) & judged for name, scorer in compared.items()}
    for each in scored:
        seen = known.get(each.name, np.zeros(1, dtype=bool))
        part = [scored[0], each]
        comparisons[each.name] = _compared(table, part, resamples, seed, ~seen) if seen.any() else whole
    titles = {name: f"the model {name}" for name, scorer in compared.items() if type_of(scorer) == "ranker"}
    better, verdicts = _verdicts(comparisons, {BASELINE: "chrF", **titles})
    return CrossValidation(
        table.dataset.name,
        table.kind,
        parts,
        whole.main_scope.sources,
        resamples,
        seed,
        tuple(
            _row(comparison, name, whole, known[name][judged] if name in known else None)
            for name, comparison in comparisons.items()
        ),
        tuple(verdicts),
        tuple(better),
        _confidence(table, held_out),
    )


def _compared(
    table: TrainingTable, scored: Sequence[CandidateScores], resamples: int, seed: int, sources: BoolArray | None = None
) -> Comparison | None:
    """Compare scores with people on `sources` (default: all), or return None if these are too few."""
    dataset = table.dataset
    if sources is not None:
        if sources[table.sources].sum() < FEWEST_SOURCES:
            return None
        rows = sources[dataset.candidate_source]
        dataset, scored = dataset.select_sources(sources), [replace(each, scores=each.scores[rows]) for each in scored]
    return compare([(dataset, scored)], kind=table.kind, levels=("segment",), resamples=resamples, seed=seed)


def _confidence(table: TrainingTable, scores: FloatArray) -> Confidence | None:
    pairs = JudgedPairs.of(Judged(table.dataset, table.kind))
    return fit_confidence(scores[pairs.first] - scores[pairs.second], pairs.outcome, np.ones(len(pairs.outcome)))


def fold_of_sources(table: TrainingTable, folds: int, seed: int) -> Int64Array:
    """Assign each source to a fold, balancing language pairs and the sources used for training, shape (sources,).

    Sources with the same text are in one fold.
    """
    codes = np.unique(table.dataset.source_language_pairs.astype(str), return_inverse=True)[1].reshape(-1)
    block = same_source(table.dataset)
    return stratified_folds(np.where(np.isin(block, table.blocks), codes, len(codes) + codes), folds, seed, block)


def held_out_scores(ranker: Ranker, table: TrainingTable, fold: Int64Array) -> FloatArray:
    """Score each candidate with weights learnt from the folds that do not contain its source."""
    training = ranker.training
    assert training is not None
    features, origin = table.columns, None
    if ranker.base:
        used = ranker.base.weight_sets.columns[table.main_weight_set]
        features, origin = features[:, used], ranker.base.weights[table.main_weight_set, used]
    signs = ranker.feature_set.signs if ranker.settings.nonnegative else None
    fold = fold[table.group]
    scores = np.zeros(len(fold))
    for number in np.unique(fold):
        rows = fold != number
        part = table.take(rows)
        if part.pair_weight == 0.0:
            continue
        columns = features
        if origin is None:
            mean, scale = standardiser(features[rows])
            columns = (features - mean) / scale
        penalty = training.C * table.pair_weight / part.pair_weight
        learnt = part.learn(columns[rows], C=penalty, loss=cast(Loss, training.loss), origin=origin, signs=signs)
        scores[~rows] = columns[~rows] @ learnt.coef
    return scores


def _row(comparison: Comparison | None, name: str, whole: Comparison, known: BoolArray | None) -> HeldOut:
    if comparison is None:
        unknown = Estimate(np.nan, np.nan, np.nan)
        tau = unknown if _estimate(whole, TAU, THIS_MODEL) else None
        assert known is not None
        few = f"was trained on {int(known.sum()):,} of these sources: too few others to compare"
        return HeldOut(name, tau, unknown, "was trained on all of these sources" if known.all() else few)
    note = None
    if comparison is not whole:
        statistic, own = _main_figure(comparison)
        unseen = f"on the {counted(comparison.main_scope.sources, 'source')} that it was not trained on"
        note = f"{unseen}, where this model has {_TITLES[statistic]} {_short(own.value)}"
    return HeldOut(name, _estimate(comparison, TAU, name), comparison.estimate(SPEARMAN, metric=name), note)


def _estimate(comparison: Comparison, statistic: str, name: str) -> Estimate | None:
    cell = comparison.cell(statistic, comparison.main_scope.id, name)
    return Estimate(cell.value, cell.low, cell.high) if cell else None


def _main_figure(comparison: Comparison) -> tuple[str, Estimate]:
    """Return the deciding statistic (tau of preferences, else Spearman's rho), and its value for the new model."""
    tau = _estimate(comparison, TAU, THIS_MODEL) if comparison.main_scope.kind == PREFERENCES else None
    return (TAU, tau) if tau else (SPEARMAN, comparison.estimate(SPEARMAN, metric=THIS_MODEL))


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _verdicts(comparisons: Mapping[str, Comparison | None], titles: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the names of scorers that rank held-out sources better than the model, and sentences on significance."""
    better, verdicts, few = [], [], []
    for name, comparison in comparisons.items():
        if comparison is None:
            continue
        sources = comparison.main_scope.sources
        if sources < FEWEST_SOURCES:
            are = "is" if sources == 1 else "are"
            few.append(f"{counted(sources, 'source')} {are} too few to evaluate a model: do not rely on these values")
        if name == THIS_MODEL:
            continue
        statistic, own = _main_figure(comparison)
        rival = _estimate(comparison, statistic, name)
        if rival is None or not rival.value > own.value:
            continue
        better.append(name)
        if sources < FEWEST_SOURCES:
            continue
        title = titles.get(name, name)
        figures = f"{_TITLES[statistic]} {_short(rival.value)} against {_short(own.value)}"
        tests, names = (
            comparison.tests_of(statistic, comparison.main_scope.id),
            [each.name for each in comparison.metrics],
        )
        if tests is not None and tests.ahead[names.index(name)][names.index(THIS_MODEL)]:
            verdicts.append(f"{title} ranks these held-out sources significantly better than the new model ({figures})")
        else:
            verdicts.append(f"the new model is not significantly different from {title} ({figures})")
    return better, [*dict.fromkeys(few), *verdicts]
