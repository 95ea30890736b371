"""The experiments of Ye, Zhou and Lin (2007): seven feature sets within a year, across years and per document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, PREFERENCES, human_scores, judged, resolve_kind
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from ranker.evaluation.judges import cohen_kappa, consistency
from ranker.evaluation.segment import source_spearman
from ranker.evaluation.significance import bootstrap_interval, paired_permutation
from ranker.experiments.tables import Experiment, Table
from ranker.extractors.feature_sets import FeatureSet
from ranker.extractors.registry import make
from ranker.learning.grouped import group_offsets, group_spearman, snap
from ranker.training_data import Lesson, Loss, standardiser
from ranker.version import VERSION

FloatArray = npt.NDArray[np.float64]
EXTRACTORS = "bleu,ds,perp"
FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "BLEU": ("bleu",),
    "DS": ("ds",),
    "PERP": ("perp",),
    "BLEU+DS": ("bleu", "ds"),
    "BLEU+PERP": ("bleu", "perp"),
    "PERP+DS": ("perp", "ds"),
    "All": ("bleu", "ds", "perp"),
}
Protocol = Literal["within-year, MT and human", "within-year, MT", "cross-year", "document level"]
PUBLISHED: dict[Protocol, dict[str, tuple[float, float]]] = {
    "within-year, MT and human": {
        "BLEU": (0.3590644, 0.0076498),
        "DS": (0.4002753, 0.0061299),
        "PERP": (0.4273000, 0.0014043),
        "BLEU+DS": (0.4128991, 0.0027576),
        "BLEU+PERP": (0.4288112, 0.0013783),
        "PERP+DS": (0.4313611, 0.0014594),
        "All": (0.4310457, 0.0014494),
    },
    "within-year, MT": {
        "BLEU": (0.2913541, 0.0324386),
        "DS": (0.3058766, 0.0226442),
        "PERP": (0.2921684, 0.0210605),
        "BLEU+DS": (0.315106, 0.0206144),
        "BLEU+PERP": (0.2954833, 0.0211094),
        "PERP+DS": (0.3067157, 0.0217037),
        "All": (0.305248, 0.0218777),
    },
    "cross-year": {
        "BLEU": (0.3133257, 0.1957059),
        "DS": (0.4896355, 0.0727430),
        "PERP": (0.4582005, 0.0542485),
        "BLEU+DS": (0.4907745, 0.0678395),
        "BLEU+PERP": (0.4577449, 0.0563994),
        "PERP+DS": (0.4709567, 0.0549708),
        "All": (0.4707289, 0.0565538),
    },
    "document level": {
        "BLEU": (0.543, 0.0853),
        "DS": (0.685, 0.0723),
        "PERP": (0.575, 0.0778),
        "BLEU+DS": (0.639, 0.0773),
        "BLEU+PERP": (0.567, 0.0785),
        "PERP+DS": (0.597, 0.0861),
        "All": (0.599, 0.0849),
    },
}
PUBLISHED_CONSISTENCY = {2: (0.453, 0.926), 3: (0.234, 0.870)}
PUBLISHED_REFERENCE_BLEU = (0.1456398, 0.1522381)
NAMES = ("acl05", "mtc03")


@dataclass(frozen=True)
class Settings:
    """What the experiments depend on besides the data.

    Parameters
    ----------
    kind : str, default "auto"
        Kind of judgement; see `ranker.corpora.judgements`.
    C : float, default 1.0
    loss : {"hinge", "squared_hinge"}, default "hinge"
    folds : int, default 3
        Of the within-year experiment.
    exclude_self : bool, default False
        Score a reference that stands as a candidate against the other references only; as published it is among its
        own.
    resamples : int, default 1000
        For the intervals.
    permutations : int, default 10000
        For the p-values.
    seed : int, default 0
    """

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
    """A corpus with its columns extracted once.

    Parameters
    ----------
    dataset : Dataset
        Judged outputs; references as candidates too where every source has two or more and judgements are scores.
    matrix : float array, shape (candidates, 17)
    human : float array, shape (candidates,)
        Human scores; references stand above everything.
    lesson : Lesson
    """

    dataset: Dataset
    matrix: FloatArray
    human: FloatArray
    lesson: Lesson

    @property
    def is_reference(self) -> npt.NDArray[np.bool_]:
        """Which candidates are references, shape (candidates,)."""
        return self.dataset.candidates["is_reference"].to_numpy(bool)


def run(train: Dataset, tests: Sequence[Dataset], settings: Settings = Settings()) -> Experiment:
    """Run all of the paper's experiments that the data allow.

    Parameters
    ----------
    train : Dataset
        Trained on, and tested on by cross-validation over its sources.
    tests : sequence of Dataset
        Other years; only the reference language model is fitted to them.
    settings : Settings

    Returns
    -------
    Experiment
        Tables within the year (with references as candidates where sources have two or more), across years, per
        document where documents are known, of the judges where they are known, and of reference against reference.
    """
    prepared = prepare(train, settings)
    tables = within_year(prepared, settings)
    for test in tests:
        tables += cross_year(prepared, prepare(test, settings), settings)
    for dataset in (train, *tests):
        tables += [*judges_table(dataset, settings), *reference_table(dataset)]
    extractors = FeatureSet.parse(EXTRACTORS).extractors
    parts = {
        "ranker": VERSION,
        "experiment": "ye07",
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
    signature = "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None)
    return Experiment("ye07", tuple(tables), signature)


def prepare(dataset: Dataset, settings: Settings) -> Prepared:
    """Extract the columns of the judged candidates, and of the references as candidates where that makes sense."""
    kind = resolve_kind(dataset, settings.kind)
    kept = dataset.select_candidates(judged(dataset, kind))
    features = FeatureSet.parse(EXTRACTORS)
    reason = features.unusable(kept)
    if reason:
        raise DataError(reason, file=dataset.name)
    if kind == PREFERENCES or np.diff(kept.reference_offsets).min() < 2:
        lesson = Lesson.of(kept, kind)
        return Prepared(kept, features.transform(kept), human_scores(kept, kind), lesson)
    kept = kept.with_references_as_candidates()
    matrix = features.transform(kept)
    human = human_scores(kept, kind)
    is_reference = kept.candidates["is_reference"].to_numpy(bool)
    if settings.exclude_self:
        excluding = ~features.learns_from_ranked
        others = FeatureSet(tuple(one for one in features.extractors if one.fit_scope != "ranked"))
        matrix[np.ix_(np.flatnonzero(is_reference), np.flatnonzero(excluding))] = others.transform(_without_self(kept))
    human[is_reference] = np.nanmax(human) + 1
    return Prepared(kept, matrix, human, Lesson(kept.candidate_source, human))


def within_year(data: Prepared, settings: Settings) -> list[Table]:
    """Cross-validate over sources, and test on outputs and references together and on outputs alone."""
    sources = len(data.dataset.sources)
    fold = np.random.default_rng(settings.seed).permutation(sources) % settings.folds
    row_fold = fold[data.dataset.candidate_source]
    scores = {name: np.empty(len(data.human)) for name in FEATURE_SETS}
    for number in range(settings.folds):
        test = row_fold == number
        for name, found in _learn_and_score(data, ~test, data.matrix[test], settings).items():
            scores[name][test] = found
    return _tables(data, scores, settings, data.dataset.name, bool(data.is_reference.any()))


def cross_year(train: Prepared, test: Prepared, settings: Settings) -> list[Table]:
    """Train on one year and test on another, per source and per document."""
    everything = np.ones(len(train.human), dtype=bool)
    scores = _learn_and_score(train, everything, test.matrix, settings)
    names = train.dataset.name, test.dataset.name
    human = test.human.copy()
    drawn = _one_reference_each(test, settings.seed)
    human[test.is_reference & ~drawn] = np.nan
    what = "outputs and one reference drawn at random" if test.is_reference.any() else "outputs"
    tables = [
        _table(
            "cross-year",
            f"cross-year, trained on {names[0]}, tested on {names[1]}: {what}",
            {name: _judged_spearman(test.dataset, found, human) for name, found in scores.items()},
            settings,
            names == NAMES,
        )
    ]
    if test.dataset.sources["doc"].notna().all():
        outputs = np.where(test.is_reference, np.nan, test.human)
        tables.append(
            _table(
                "document level",
                f"document level, trained on {names[0]}, tested on {names[1]}: systems by mean score",
                {name: _document_spearman(test.dataset, found, outputs) for name, found in scores.items()},
                settings,
                names == NAMES,
                items="documents",
            )
        )
    return tables


def judges_table(dataset: Dataset, settings: Settings) -> list[Table]:
    """Return how consistent the judges are, if there are scores of single judges."""
    kind = resolve_kind(dataset, settings.kind)
    rows: list[dict[str, Any]] = []
    for number, (agreeing, tolerated) in PUBLISHED_CONSISTENCY.items():
        try:
            found = consistency(dataset, kind, number)
        except DataError:
            return []
        rows.append(
            {
                "judges": number,
                "comparisons": found.pairs,
                "consistent": found.agreeing,
                "consistent with ties": found.with_ties,
                **({"published": agreeing, "published with ties": tolerated} if dataset.name == "mtc03" else {}),
            }
        )
    note = f"Cohen's kappa on the scores themselves: {cohen_kappa(dataset, kind):.3f}"
    published = " (published: negative)" if dataset.name in NAMES else ""
    return [Table(f"consistency of judges of {kind}, {dataset.name}", tuple(rows), note + published)]


def reference_table(dataset: Dataset) -> list[Table]:
    """Return the BLEU of references against each single other reference, if there are several."""
    records = []
    for source, (start, stop) in enumerate(_blocks(dataset.reference_offsets)):
        texts = dataset.references["text"].iloc[start:stop].tolist()
        for index, text in enumerate(texts):
            others = [one for place, one in enumerate(texts) if place != index]
            candidates = [Candidate(str(place), one) for place, one in enumerate(others)]
            if candidates:
                records.append(Record("", [text], candidates, seg_id=f"{source}.{index}"))
    if not records:
        return []
    scores = make("bleu").transform(assemble(records, dataset.name))
    row = {"comparisons": len(scores), "mean BLEU": scores.mean(), "standard deviation": scores.std(ddof=1)}
    if dataset.name == "mtc03":
        row.update(zip(("published mean", "published deviation"), PUBLISHED_REFERENCE_BLEU, strict=True))
    return [Table(f"BLEU of one reference against another, {dataset.name}", (row,))]


def _learn_and_score(
    train: Prepared, rows: npt.NDArray[np.bool_], matrix: FloatArray, settings: Settings
) -> dict[str, FloatArray]:
    lesson = train.lesson.take(rows)
    mean, scale = standardiser(train.matrix[rows])
    learnt, ranked = (train.matrix[rows] - mean) / scale, (matrix - mean) / scale
    extractors = FeatureSet.parse(EXTRACTORS).extractors
    names = np.array([one.name for one in extractors for _ in one.columns])
    scores = {}
    for name, members in FEATURE_SETS.items():
        columns = np.isin(names, members)
        svm = lesson.learn(learnt[:, columns], C=settings.C, loss=settings.loss, seed=settings.seed)
        scores[name] = (ranked[:, columns] * svm.coef_).sum(axis=1)
    return scores


def _tables(
    data: Prepared, scores: dict[str, FloatArray], settings: Settings, name: str, with_references: bool
) -> list[Table]:
    humans: list[tuple[Protocol, str, FloatArray]] = []
    if with_references:
        humans.append(("within-year, MT and human", "outputs and references", data.human))
    humans.append(("within-year, MT", "outputs", np.where(data.is_reference, np.nan, data.human)))
    return [
        _table(
            protocol,
            f"within-year, {settings.folds} folds of {name}: {what}",
            {features: _judged_spearman(data.dataset, found, human) for features, found in scores.items()},
            settings,
            name == NAMES[0],
        )
        for protocol, what, human in humans
    ]


def _table(
    protocol: Protocol,
    title: str,
    rho: dict[str, FloatArray],
    settings: Settings,
    published: bool,
    items: str = "sources",
) -> Table:
    rows = []
    for name, values in rho.items():
        known = values[~np.isnan(values)]
        low, high = bootstrap_interval(values, resamples=settings.resamples, seed=settings.seed)
        p = paired_permutation(values, rho["BLEU"], permutations=settings.permutations, seed=settings.seed)
        row: dict[str, Any] = {
            "features": name,
            "mean": known.mean() if len(known) else np.nan,
            "low": low,
            "high": high,
            "variance": known.var(ddof=1) if len(known) > 1 else np.nan,
            "p against BLEU": None if name == "BLEU" else p,
            items: len(known),
            "undefined": len(values) - len(known),
        }
        if published:
            mean, variance = PUBLISHED[protocol][name]
            row.update({"published mean": mean, "published variance": variance})
        rows.append(row)
    return Table(title, tuple(rows))


def _without_self(dataset: Dataset) -> Dataset:
    """Return the references as candidates of sources of their own, each with the other references of its source."""
    records = []
    for source, (start, stop) in enumerate(_blocks(dataset.reference_offsets)):
        texts = dataset.references["text"].iloc[start:stop].tolist()
        records += [
            Record("", texts[:index] + texts[index + 1 :], [Candidate("self", text)], seg_id=f"{source}.{index}")
            for index, text in enumerate(texts)
        ]
    return assemble(records, dataset.name)


def _one_reference_each(data: Prepared, seed: int) -> npt.NDArray[np.bool_]:
    """Mask of one reference drawn at random from every source that has references as candidates."""
    rows = np.flatnonzero(data.is_reference)
    shuffled = np.random.default_rng(seed).permutation(rows)
    _, first = np.unique(data.dataset.candidate_source[shuffled], return_index=True)
    mask = np.zeros(len(data.human), dtype=bool)
    mask[shuffled[first]] = True
    return mask


def _judged_spearman(dataset: Dataset, scores: FloatArray, human: FloatArray) -> FloatArray:
    """Spearman's rho of every source that has a judged candidate."""
    judged_sources = np.unique(dataset.candidate_source[~np.isnan(human)])
    return source_spearman(dataset, scores, human)[judged_sources]


def _document_spearman(dataset: Dataset, scores: FloatArray, human: FloatArray) -> FloatArray:
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
    return group_spearman(snap(systems["score"]), snap(systems["human"]), offsets)


def _blocks(offsets: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
