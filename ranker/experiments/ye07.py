"""The experiments of Ye, Zhou and Lin (2007): seven feature sets within a year, across years and per document."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, PREFERENCES, human_scores, judged, resolve_kind
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.source_keys import same_source
from ranker.errors import DataError
from ranker.evaluation.correlation.segment import source_spearman
from ranker.evaluation.significance import bootstrap_interval, paired_permutation
from ranker.experiments import ye07_data
from ranker.experiments.plan import Plan, TableTask
from ranker.experiments.published import published_table
from ranker.experiments.tables import Table
from ranker.extractors.feature_sets import FeatureSet
from ranker.ranks import group_offsets, group_spearman, merge_ties
from ranker.settings import Loss
from ranker.training_data import TrainingTable, standardiser

SMOOTHED_BLEU = "bleu[smoothing=epsilon]"
EXTRACTORS = f"{SMOOTHED_BLEU},ds,perp"
FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "BLEU": ("bleu",),
    "DS": ("ds",),
    "PERP": ("perp",),
    "BLEU+DS": ("bleu", "ds"),
    "BLEU+PERP": ("bleu", "perp"),
    "PERP+DS": ("perp", "ds"),
    "All": ("bleu", "ds", "perp"),
}
"""Names of the extractors that are used together."""
NOTE = (
    "Equation 1, the paper's form of rho, does not correct for ties. Where one side is constant it gives 0.5 to 1 "
    'whatever the order; "all" counts those {items} too.'
)


@dataclass(frozen=True)
class YeSettings:
    """What the experiments depend on besides the data."""

    kind: str = AUTO
    C: float = 1.0
    loss: Loss = "hinge"
    folds: int = 3
    exclude_self: bool = False
    resamples: int = 1000
    permutations: int = 10_000
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Prepared:
    """A corpus with its columns extracted once."""

    dataset: Dataset
    matrix: FloatArray
    human: FloatArray
    table: TrainingTable

    @property
    def is_reference(self) -> BoolArray:
        """Which candidates are references, shape (candidates,)."""
        return self.dataset.candidates["is_reference"].to_numpy(bool)

    @property
    def human_of_outputs(self) -> FloatArray:
        """The human scores without those of references, shape (candidates,)."""
        return np.where(self.is_reference, np.nan, self.human)


@dataclass(frozen=True, eq=False)
class Correlations:
    """Spearman's rho per source or document, in both forms."""

    corrected: FloatArray
    formula: FloatArray


def plan(train: Dataset, tests: Sequence[Dataset], settings: YeSettings = YeSettings()) -> Plan:
    """Return the tables of the paper for this data, to be made one by one."""
    reason = FeatureSet.parse(EXTRACTORS).missing_requirement(_judged(train, resolve_kind(train, settings.kind)))
    if reason:
        raise DataError(reason, file=train.name)
    learnt_on = functools.cache(partial(prepare, train, settings))
    tasks = within_year(train, learnt_on, settings)
    for test in tests:
        tasks += cross_year(train, learnt_on, test, settings)
    for dataset in (train, *tests):
        judges = partial(ye07_data.judges_table, dataset, settings.kind, published=not settings.exclude_self)
        references = partial(ye07_data.reference_table, dataset, SMOOTHED_BLEU)
        tasks.append(TableTask(f"consistency of judges, {dataset.name}", judges))
        tasks.append(TableTask(f"BLEU of one reference against another, {dataset.name}", references))
    extractors = FeatureSet.parse(EXTRACTORS).extractors
    parts = {
        "features": FeatureSet(extractors).signature(),
        "train": f"{train.name}#{train.fingerprint[:8]}",
        "test": ",".join(f"{test.name}#{test.fingerprint[:8]}" for test in tests) or None,
        "kind": resolve_kind(train, settings.kind),
        "C": f"{settings.C:g}",
        "loss": settings.loss,
        "folds": settings.folds,
        "exclude_self": str(settings.exclude_self).lower(),
        "resamples": settings.resamples,
        "permutations": settings.permutations,
        "seed": settings.seed,
    }
    return Plan.of("ye07", tasks, parts)


def prepare(dataset: Dataset, settings: YeSettings) -> Prepared:
    """Extract the columns of the judged candidates, and of the references as candidates where that makes sense."""
    kind = resolve_kind(dataset, settings.kind)
    outputs = _judged(dataset, kind)
    features = FeatureSet.parse(EXTRACTORS)
    reason = features.missing_requirement(outputs)
    if reason:
        raise DataError(reason, file=dataset.name)
    if not _with_references(dataset, kind):
        table = TrainingTable.of(outputs, kind)
        return Prepared(outputs, features.transform(outputs), human_scores(outputs, kind), table)
    together = with_references_as_candidates(outputs)
    matrix = np.empty((len(together), len(features.columns)))
    human = human_scores(together, kind)
    is_reference = together.candidates["is_reference"].to_numpy(bool)
    matrix[~is_reference] = features.transform(outputs)
    matrix[is_reference] = features.transform_references(outputs, exclude_self=settings.exclude_self)
    human[is_reference] = np.nanmax(human) + 1
    return Prepared(
        together,
        matrix,
        human,
        TrainingTable(together, np.ones(len(together), bool), kind, merge_ties(human, together.candidate_offsets)),
    )


def within_year(dataset: Dataset, prepared: Callable[[], Prepared], settings: YeSettings) -> list[TableTask]:
    """Cross-validate over sources, and test on outputs and references together and on outputs alone."""

    def cross_validate() -> dict[str, FloatArray]:
        data = prepared()
        text = np.unique(same_source(data.dataset), return_inverse=True)[1].reshape(-1)
        fold = (np.random.default_rng(settings.seed).permutation(text.max() + 1) % settings.folds)[text]
        row_fold = fold[data.dataset.candidate_source]
        scores = {name: np.empty(len(data.human)) for name in FEATURE_SETS}
        for number in range(settings.folds):
            test = row_fold == number
            for name, values in _learn_and_score(data, ~test, data.matrix[test], settings).items():
                scores[name][test] = values
        return scores

    scores = functools.cache(cross_validate)

    def make(title: str, protocol: str, *, references: bool) -> list[Table]:
        data = prepared()
        human = data.human if references else data.human_of_outputs
        correlations = _per_source(data.dataset, scores(), human)
        return [_table(protocol, title, correlations, settings, published=published)]

    kind = resolve_kind(dataset, settings.kind)
    published = (dataset.name, kind) == (ye07_data.NAMES[0], ye07_data.KIND) and not settings.exclude_self
    start = f"within-year, {settings.folds} folds of {dataset.name}"
    title, alone = f"{start}: outputs and references", f"{start}: outputs"
    tasks = [TableTask(alone, partial(make, alone, "within-year, MT", references=False))]
    if _with_references(dataset, kind):
        tasks.insert(0, TableTask(title, partial(make, title, "within-year, MT and human", references=True)))
    return tasks


def cross_year(
    train: Dataset, learnt_on: Callable[[], Prepared], test: Dataset, settings: YeSettings
) -> list[TableTask]:
    """Train on one year and test on another, per source and per document."""
    names = train.name, test.name
    prepared = functools.cache(partial(prepare, test, settings))

    def learn() -> dict[str, FloatArray]:
        everything = np.ones(len(learnt_on().human), dtype=bool)
        return _learn_and_score(learnt_on(), everything, prepared().matrix, settings)

    scores = functools.cache(learn)

    def published() -> bool:
        kinds = {resolve_kind(dataset, settings.kind) for dataset in (train, test)}
        return names == ye07_data.NAMES and kinds == {ye07_data.KIND} and not settings.exclude_self

    def per_source() -> list[Table]:
        data = prepared()
        human = data.human.copy()
        human[data.is_reference & ~_one_reference_each(data, settings.seed)] = np.nan
        what = "outputs and one reference drawn at random" if data.is_reference.any() else "outputs"
        correlations = _per_source(data.dataset, scores(), human)
        return [_table("cross-year", f"{title}: {what}", correlations, settings, published=published())]

    def per_document() -> list[Table]:
        data = prepared()
        correlations = {
            name: _document_correlations(data.dataset, values, data.human_of_outputs)
            for name, values in scores().items()
        }
        return [_table("document level", by_document, correlations, settings, published=published(), items="documents")]

    title = f"cross-year, trained on {names[0]}, tested on {names[1]}"
    by_document = f"document level, trained on {names[0]}, tested on {names[1]}: systems by mean score"
    documents = [TableTask(by_document, per_document)] if test.sources["doc"].notna().all() else []
    return [TableTask(title, per_source), *documents]


def _learn_and_score(
    train: Prepared, rows: BoolArray, matrix: FloatArray, settings: YeSettings
) -> dict[str, FloatArray]:
    table = train.table.take(rows)
    mean, scale = standardiser(train.matrix[rows])
    learnt, ranked = (train.matrix[rows] - mean) / scale, (matrix - mean) / scale
    extractors = FeatureSet.parse(EXTRACTORS).extractors
    names = np.array([extractor.name for extractor in extractors for _ in extractor.columns])
    scores = {}
    for name, members in FEATURE_SETS.items():
        columns = np.isin(names, members)
        fitted = table.learn(learnt[:, columns], C=settings.C, loss=settings.loss, seed=settings.seed)
        scores[name] = (ranked[:, columns] * fitted.coef).sum(axis=1)
    return scores


def _table(
    protocol: str,
    title: str,
    correlations: dict[str, Correlations],
    settings: YeSettings,
    *,
    published: bool,
    items: str = "sources",
) -> Table:
    rows = []
    baseline = correlations["BLEU"].corrected
    figures = published_table("ye07", 2).to_dict("index")
    for name, correlation in correlations.items():
        defined = ~np.isnan(correlation.corrected)
        low, high = bootstrap_interval(correlation.corrected, resamples=settings.resamples, seed=settings.seed)
        p = paired_permutation(correlation.corrected, baseline, permutations=settings.permutations, seed=settings.seed)
        row: dict[str, Any] = {
            "features": name,
            "tie-corrected mean": _mean(correlation.corrected[defined]),
            "low": low,
            "high": high,
            "tie-corrected variance": _variance(correlation.corrected[defined]),
            "p against BLEU": None if name == "BLEU" else p,
            items: int(defined.sum()),
            "undefined": int((~defined).sum()),
            "eq. 1 mean": _mean(correlation.formula[defined]),
            "eq. 1 variance": _variance(correlation.formula[defined]),
            "constant": int((~defined & ~np.isnan(correlation.formula)).sum()),
            "eq. 1 mean, all": _mean(correlation.formula),
            "eq. 1 variance, all": _variance(correlation.formula),
        }
        if published:
            row.update({f"published {what}": value for what, value in figures[protocol, name].items()})
        rows.append(row)
    return Table(title, tuple(rows), NOTE.format(items=items))


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _variance(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.var(ddof=1)) if len(known) > 1 else np.nan


def _judged(dataset: Dataset, kind: str) -> Dataset:
    return dataset.select_candidates(judged(dataset, kind))


def _with_references(dataset: Dataset, kind: str) -> bool:
    """Return whether references are candidates too: judgements are scores, and every source has two references."""
    return kind != PREFERENCES and bool((np.diff(dataset.reference_offsets) >= 2).all())


def _one_reference_each(data: Prepared, seed: int) -> BoolArray:
    """Mask of one reference drawn at random from every source that has references as candidates."""
    rows = np.flatnonzero(data.is_reference)
    shuffled = np.random.default_rng(seed).permutation(rows)
    _, first = np.unique(data.dataset.candidate_source[shuffled], return_index=True)
    mask = np.zeros(len(data.human), dtype=bool)
    mask[shuffled[first]] = True
    return mask


def _per_source(dataset: Dataset, scores: dict[str, FloatArray], human: FloatArray) -> dict[str, Correlations]:
    """Correlate scores with `human` in every source that has a judged candidate."""
    judged_sources = np.unique(dataset.candidate_source[~np.isnan(human)])
    return {
        name: Correlations(
            source_spearman(dataset, values, human)[judged_sources],
            source_spearman(dataset, values, human, tie_corrected=False, constant=True)[judged_sources],
        )
        for name, values in scores.items()
    }


def _document_correlations(dataset: Dataset, scores: FloatArray, human: FloatArray) -> Correlations:
    """Spearman's rho of systems by mean score and by mean human score, for every document."""
    sources = dataset.sources.iloc[dataset.candidate_source]
    frame = pd.DataFrame(
        {
            "lp": sources["lp"].fillna("?").to_numpy(object),
            "doc": sources["doc"].to_numpy(object),
            "system": dataset.candidates["system"].to_numpy(object),
            "score": scores,
            "human": human,
        }
    ).dropna()
    systems = frame.groupby(["lp", "doc", "system"], sort=True)[["score", "human"]].mean().reset_index()
    codes = systems.groupby(["lp", "doc"], sort=True).ngroup().to_numpy()
    _, offsets = group_offsets(codes)
    sides = systems["score"], systems["human"]
    return Correlations(
        group_spearman(*sides, offsets), group_spearman(*sides, offsets, tie_corrected=False, constant=True)
    )
