"""The experiments of Ye, Zhou and Lin (2007): seven feature sets within a year, across years and per document.

Two sets are added to the paper's: word order, and perplexity without the references of the same source.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ranker.apps.experiments import ye07_data
from ranker.apps.experiments.published import published_table
from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.tables import Plan, Table, TableTask
from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, Judged, human_scores, resolve_kind
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.source_keys import same_source
from ranker.evaluation.correlation.segment import source_spearman
from ranker.evaluation.resampling.significance import bootstrap_interval, paired_permutation
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.settings import Loss
from ranker.ranking.training import TrainingTable, standardiser
from ranker.ranks import group_offsets, group_spearman, merge_ties
from ranker.text.ratios import ratio

SMOOTHED_BLEU = "bleu[smoothing=epsilon]"
EXTRACTORS = f"{SMOOTHED_BLEU},ds,perp"
_LEFT_OUT, _ORDER = "perp[leave_out=true]", ("hamming", "kendall_sqrt", "ulam")
_USED = FeatureSet.parse(",".join([EXTRACTORS, _LEFT_OUT, *_ORDER]))
_OF_ALL = (SMOOTHED_BLEU, "ds", "perp")
FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "BLEU": (SMOOTHED_BLEU,),
    "DS": ("ds",),
    "PERP": ("perp",),
    "BLEU+DS": (SMOOTHED_BLEU, "ds"),
    "BLEU+PERP": (SMOOTHED_BLEU, "perp"),
    "PERP+DS": ("perp", "ds"),
    "All": _OF_ALL,
    "PERP, leave-one-out": (_LEFT_OUT,),
    "All, leave-one-out": (SMOOTHED_BLEU, "ds", _LEFT_OUT),
    "BLEU+DS+order": (SMOOTHED_BLEU, "ds", *_ORDER),
    "All+order": (*_OF_ALL, *_ORDER),
    "All+order, leave-one-out": (SMOOTHED_BLEU, "ds", _LEFT_OUT, *_ORDER),
}
"""Feature sets by their extractors: the paper's seven, and others with word order and leave-one-out perplexity."""
LOSS: Loss = "hinge"
C, FOLDS = 1.0, 3
NOTE = (
    "Equation 1, the paper's form of rho, does not correct for ties. Where all scores or judgements are equal it "
    'gives 0.5 to 1 whatever the order; "all" counts those {items} too.'
)


SPLITS = (
    "Rho of a source is its mean over {number} random splits into folds. Of single splits: the standard deviation of "
    "their means, and the lowest and highest p ({permutations:,} permutations)."
)
NOTHING = {"mean": None, "variance": None}


@dataclass(frozen=True, eq=False)
class Prepared:
    """A corpus with its features, extracted once; features that need more references than the corpus has are 0."""

    dataset: Dataset
    missing: dict[str, str]
    matrix: FloatArray
    human: FloatArray
    table: TrainingTable

    @property
    def is_reference(self) -> BoolArray:
        """True for candidates that are references, shape (candidates,)."""
        return self.dataset.is_reference

    @property
    def human_of_outputs(self) -> FloatArray:
        """Human scores of outputs, NaN for references, shape (candidates,)."""
        return np.where(self.is_reference, np.nan, self.human)


@dataclass(frozen=True, eq=False)
class Correlations:
    """Spearman's rho per source or document: corrected for ties, and by equation 1, without correction."""

    corrected: FloatArray
    formula: FloatArray


def plan(train: Dataset, tests: Sequence[Dataset], settings: Settings) -> Plan:
    """Plan the paper's tables for this data, each as a separate task."""
    learnt_on = functools.cache(partial(prepare, train, settings))
    tasks = within_year(train, learnt_on, settings)
    for test in tests:
        tasks += cross_year(train, learnt_on, test, settings)
    for dataset in (train, *tests):
        judges = partial(ye07_data.judges_table, dataset, settings.kind, published=not settings.exclude_self)
        references = partial(ye07_data.reference_table, dataset, SMOOTHED_BLEU)
        tasks.append(TableTask(f"consistency of judges, {dataset.name}", judges))
        tasks.append(TableTask(f"BLEU of one reference against another, {dataset.name}", references))
    parts = {
        "features": _USED.signature(),
        "train": f"{train.name}#{train.fingerprint[:8]}",
        "test": ",".join(f"{test.name}#{test.fingerprint[:8]}" for test in tests) or None,
        "kind": resolve_kind(train, settings.kind),
        "C": f"{C:g}",
        "loss": LOSS,
        "folds": FOLDS,
        "repeats": settings.repeats,
        "exclude_self": str(settings.exclude_self).lower(),
        "resamples": settings.resamples,
        "permutations": settings.permutations,
        "seed": settings.seed,
    }
    return Plan.of("ye07", tasks, parts)


def prepare(dataset: Dataset, settings: Settings) -> Prepared:
    """Extract the features of judged candidates and, where possible, of references as candidates."""
    people = Judged.of(dataset, settings.kind)
    outputs, kind = people.dataset, people.kind
    reasons = {str(extractor): extractor.needs.missing(outputs) for extractor in _USED.extractors}
    missing = {name: f"{dataset.name}: {reason}" for name, reason in reasons.items() if reason}
    if not _with_references(dataset, kind):
        return Prepared(outputs, missing, _USED.transform(outputs), people.human, TrainingTable.of(people))
    together = with_references_as_candidates(outputs)
    matrix = np.empty((len(together), len(_USED.columns)))
    human = human_scores(together, kind)
    is_reference = together.is_reference
    matrix[~is_reference] = _USED.transform(outputs)
    matrix[is_reference] = _USED.transform_references(outputs, exclude_self=settings.exclude_self)
    human[is_reference] = np.nanmax(human) + 1
    return Prepared(
        together,
        missing,
        matrix,
        human,
        TrainingTable(together, kind, merge_ties(human, together.candidate_offsets)),
    )


def within_year(dataset: Dataset, prepared: Callable[[], Prepared], settings: Settings) -> list[TableTask]:
    """Return tasks that cross-validate over sources, testing on outputs and references together, and on outputs alone.

    The sources are split at random, `repeats` times; rho of a source is its mean over these splits.
    """

    def cross_validate(seed: int) -> dict[str, FloatArray]:
        data = prepared()
        text = np.unique(same_source(data.dataset), return_inverse=True)[1].reshape(-1)
        fold = (np.random.default_rng(seed).permutation(text.max() + 1) % FOLDS)[text]
        row_fold = fold[data.dataset.candidate_source]
        scores = {name: np.empty(len(data.human)) for name in _feature_sets(data.missing)}
        for number in range(FOLDS):
            test = row_fold == number
            for name, values in _learn_and_score(data, ~test, data.matrix[test], settings, data.missing).items():
                scores[name][test] = values
        return scores

    scores = functools.cache(lambda: [cross_validate(settings.seed + split) for split in range(settings.repeats)])

    def make(title: str, protocol: str, *, references: bool) -> list[Table]:
        data = prepared()
        human = data.human if references else data.human_of_outputs
        splits = [_per_source(data.dataset, values, human) for values in scores()]
        correlations = {name: _mean_of_splits([split[name] for split in splits]) for name in splits[0]}
        return [_table(protocol, title, correlations, settings, data.missing, published=published, splits=splits)]

    kind = resolve_kind(dataset, settings.kind)
    published = (dataset.name, kind) == (ye07_data.NAMES[0], ye07_data.KIND) and not settings.exclude_self
    start = f"within-year, {FOLDS} folds of {dataset.name}"
    title, alone = f"{start}: outputs and references", f"{start}: outputs"
    tasks = [TableTask(alone, partial(make, alone, "within-year, MT", references=False))]
    if _with_references(dataset, kind):
        tasks.insert(0, TableTask(title, partial(make, title, "within-year, MT and human", references=True)))
    return tasks


def cross_year(train: Dataset, learnt_on: Callable[[], Prepared], test: Dataset, settings: Settings) -> list[TableTask]:
    """Return tasks that train on one year and test on another, per source and per document."""
    names = train.name, test.name
    prepared = functools.cache(partial(prepare, test, settings))

    def missing() -> dict[str, str]:
        return learnt_on().missing | prepared().missing

    def learn() -> dict[str, FloatArray]:
        everything = np.ones(len(learnt_on().human), dtype=bool)
        return _learn_and_score(learnt_on(), everything, prepared().matrix, settings, missing())

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
        return [_table("cross-year", f"{title}: {what}", correlations, settings, missing(), published=published())]

    def per_document() -> list[Table]:
        data = prepared()
        correlations = {
            name: _document_correlations(data.dataset, values, data.human_of_outputs)
            for name, values in scores().items()
        }
        return [
            _table(
                "document level",
                by_document,
                correlations,
                settings,
                missing(),
                published=published(),
                items="documents",
            )
        ]

    title = f"cross-year, trained on {names[0]}, tested on {names[1]}"
    by_document = f"document level, trained on {names[0]}, tested on {names[1]}: systems by mean score"
    documents = [TableTask(by_document, per_document)] if test.sources["doc"].notna().all() else []
    return [TableTask(title, per_source), *documents]


def _feature_sets(missing: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the feature sets that do not contain any of the `missing` extractors."""
    return {name: members for name, members in FEATURE_SETS.items() if not any(member in missing for member in members)}


def _learn_and_score(
    train: Prepared, rows: BoolArray, matrix: FloatArray, settings: Settings, missing: Mapping[str, str]
) -> dict[str, FloatArray]:
    table = train.table.take(rows)
    mean, scale = standardiser(train.matrix[rows])
    learnt, ranked = (train.matrix[rows] - mean) / scale, (matrix - mean) / scale
    names = np.array([str(extractor) for extractor in _USED.extractors for _ in extractor.columns])
    scores = {}
    for name, members in _feature_sets(missing).items():
        columns = np.isin(names, members)
        fitted = table.learn(learnt[:, columns], C=C, loss=LOSS, seed=settings.seed)
        scores[name] = (ranked[:, columns] * fitted.coef).sum(axis=1)
    return scores


def _table(
    protocol: str,
    title: str,
    correlations: dict[str, Correlations],
    settings: Settings,
    missing: Mapping[str, str],
    *,
    published: bool,
    items: str = "sources",
    splits: Sequence[dict[str, Correlations]] = (),
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
            **(_spread(name, splits, settings) if splits else {}),
            items: int(defined.sum()),
            "undefined": int((~defined).sum()),
            "eq. 1 mean": _mean(correlation.formula[defined]),
            "eq. 1 variance": _variance(correlation.formula[defined]),
            "constant": int((~defined & ~np.isnan(correlation.formula)).sum()),
            "eq. 1 mean, all": _mean(correlation.formula),
            "eq. 1 variance, all": _variance(correlation.formula),
        }
        if published:
            row.update({f"published {what}": value for what, value in figures.get((protocol, name), NOTHING).items()})
        rows.append(row)
    notes = [NOTE.format(items=items)]
    if splits:
        notes.append(SPLITS.format(number=len(splits), permutations=_permutations_of_splits(settings)))
    left_out = [name for name in FEATURE_SETS if name not in correlations]
    if left_out:
        reasons = "; ".join(dict.fromkeys(missing.values()))
        notes.append(f"Left out: {'; '.join(left_out)} ({reasons}).")
    return Table(title, tuple(rows), " ".join(notes))


def _mean_of_splits(splits: Sequence[Correlations]) -> Correlations:
    """Return each source's rho, averaged over the splits in which it is defined."""
    return Correlations(*(_means([getattr(split, form) for split in splits]) for form in ("corrected", "formula")))


def _means(values: Sequence[FloatArray]) -> FloatArray:
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)) + np.where(known.any(axis=0), 0.0, np.nan)


def _spread(name: str, splits: Sequence[dict[str, Correlations]], settings: Settings) -> dict[str, float | None]:
    """Return the standard deviation of the mean rho across splits, and the lowest and highest p-value against BLEU."""
    permutations = _permutations_of_splits(settings)
    p = [
        paired_permutation(
            split[name].corrected, split["BLEU"].corrected, permutations=permutations, seed=settings.seed
        )
        for split in splits
    ]
    means = [_mean(split[name].corrected) for split in splits]
    # rounding leaves a deviation even between equal means
    deviation = _variance(np.array(means)) ** 0.5 if np.ptp(means) > 1e-12 or len(means) < 2 else 0.0
    return {
        "sd of splits": deviation,
        "lowest p": None if name == "BLEU" else min(p),
        "highest p": None if name == "BLEU" else max(p),
    }


def _permutations_of_splits(settings: Settings) -> int:
    return max(settings.permutations // 10, 1)


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _variance(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.var(ddof=1)) if len(known) > 1 else np.nan


def _with_references(dataset: Dataset, kind: str) -> bool:
    """True if references can be candidates too: judgements are scores, and every source has at least two references."""
    return kind != PREFERENCES and bool((np.diff(dataset.reference_offsets) >= 2).all())


def _one_reference_each(data: Prepared, seed: int) -> BoolArray:
    """Return a mask of one random reference for every source that has references as candidates."""
    rows = np.flatnonzero(data.is_reference)
    shuffled = np.random.default_rng(seed).permutation(rows)
    _, first = np.unique(data.dataset.candidate_source[shuffled], return_index=True)
    mask = np.zeros(len(data.human), dtype=bool)
    mask[shuffled[first]] = True
    return mask


def _per_source(dataset: Dataset, scores: dict[str, FloatArray], human: FloatArray) -> dict[str, Correlations]:
    """Correlate scores with the human scores `human` in every source that has a judged candidate."""
    judged_sources = np.unique(dataset.candidate_source[~np.isnan(human)])
    return {
        name: Correlations(
            source_spearman(dataset, values, human)[judged_sources],
            source_spearman(dataset, values, human, tie_corrected=False, constant=True)[judged_sources],
        )
        for name, values in scores.items()
    }


def _document_correlations(dataset: Dataset, scores: FloatArray, human: FloatArray) -> Correlations:
    """Correlate systems' mean scores with their mean human scores in every document (Spearman's rho)."""
    source = dataset.candidate_source
    frame = pd.DataFrame(
        {
            "lp": dataset.source_language_pairs[source],
            "doc": dataset.sources["doc"].to_numpy(object)[source],
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
