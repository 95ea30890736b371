"""What a ranker is trained on, and the weights it learns: from nothing, or from those of another ranker.

A ranker has several sets of weights, for the columns that there can be (`ranker.extractors.weight_sets`). Those of an
adapted ranker minimise

    1/2 |w - o|^2 + C * sum over pairs of weight * loss,       o: weights of the base, of the same set

so columns that the judgements say nothing about keep their weights, and C = 0 keeps all of them. Chosen by
cross-validation, C stays 0 unless another value is better by two standard errors (`ranker.learning.svm.ranksvm`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, PreferencePairs, balanced, human_scores, preference_pairs
from ranker.corpora.source_keys import same_source
from ranker.errors import DataError, counted
from ranker.extractors.feature_sets import FeatureSet
from ranker.extractors.needs import usable
from ranker.extractors.reference_candidates import ReferenceCandidates
from ranker.extractors.target_language import ENGLISH
from ranker.extractors.weight_sets import WeightSets
from ranker.included_models import fewer_features
from ranker.ranks import merge_ties
from ranker.settings import AUTO, GIVEN, GRADED, ONE_SOURCE, SEARCHED, Loss, PairCounting, Settings, Training

if TYPE_CHECKING:
    from ranker.learning.svm.fitting import FittedWeights

SOURCES_PER_FEATURE = 10
"""With fewer sources than this for each feature, the smallest C is a sign of too many features."""
FOLDS_TO_CHOOSE, FOLDS_TO_ADAPT = 5, 10
"""Folds of the choice of C: more near a base, where the standard error of few folds too often allows a harmful move."""


@dataclass(frozen=True)
class TrainingTargets:
    """What there is to learn about the candidates of a data set: graded scores, or strict preferences."""

    group: Int64Array
    target: FloatArray | None = None
    pairs: PreferencePairs | None = None
    block: Int64Array | None = None

    @classmethod
    def of(cls, dataset: Dataset, kind: str, pairs: PairCounting = "judgements") -> TrainingTargets:
        """Take the judgements of `kind` from a data set whose candidates all have one."""
        group = dataset.candidate_source
        block = same_source(dataset)[group]
        if kind == PREFERENCES:
            preferences = preference_pairs(dataset, aggregated=pairs != "judgements")
            if pairs == "balanced":
                preferences = balanced(preferences, dataset.source_language_pairs[group[preferences.better]])
            targets = cls(group, pairs=preferences, block=block)
            orders = len(preferences.better) > 0
        else:
            target = merge_ties(human_scores(dataset, kind), dataset.candidate_offsets)
            targets = cls(group, target, block=block)
            orders = bool(((group[1:] == group[:-1]) & (target[1:] != target[:-1])).any())
        if not orders:
            raise DataError(
                f"judgements of kind {kind!r} do not order any two candidates of a source; nothing can be learnt",
                file=dataset.name,
            )
        return targets

    @property
    def pair_weight(self) -> float:
        """Summed weight of the pairs that there are to learn from."""
        if self.pairs is not None:
            return float(self.pairs.weight.sum())
        assert self.target is not None
        sizes = np.unique(self.group, return_counts=True)[1]
        equal = np.unique(np.stack([self.group, self.target], axis=1), axis=0, return_counts=True)[1]
        return float((sizes * (sizes - 1) // 2).sum() - (equal * (equal - 1) // 2).sum())

    @property
    def sources(self) -> Int64Array:
        """Sources that hold a pair, sorted."""
        if self.pairs is not None:
            return np.unique(self.group[self.pairs.better])
        assert self.target is not None
        graded = np.unique(np.stack([self.group, self.target], axis=1), axis=0)[:, 0]
        sources, grades = np.unique(graded.astype(np.int64), return_counts=True)
        return sources[grades > 1]

    @property
    def blocks(self) -> Int64Array:
        """Blocks with a pair, sorted: texts, of which each may be that of several sources."""
        return np.unique(self.block_of(np.isin(self.group, self.sources)))

    def block_of(self, rows: BoolArray | Int64Array) -> Int64Array:
        """Return the blocks of some candidates."""
        return (self.group if self.block is None else self.block)[rows]

    def take(self, rows: BoolArray) -> TrainingTargets:
        """Return what there is to learn about the candidates where the mask `rows` is true, whole sources of them."""
        code = np.cumsum(rows) - 1
        pairs = self.pairs
        if pairs is not None:
            mask = rows[pairs.better] & rows[pairs.worse]
            pairs = PreferencePairs(code[pairs.better[mask]], code[pairs.worse[mask]], pairs.weight[mask])
        target = None if self.target is None else self.target[rows]
        return TrainingTargets(self.group[rows], target, pairs, self.block_of(rows))

    def learn(
        self,
        columns: FloatArray,
        *,
        C: float | Literal["auto"],
        loss: Loss,
        seed: int,
        origin: FloatArray | None = None,
    ) -> FittedWeights:
        """Fit the ranking SVM to standardised columns, shape (candidates, columns), near the weights `origin`."""
        from ranker.learning.svm.fitting import Fitting
        from ranker.learning.svm.judgements import Grades, checked_preferences, group_codes

        fitting = Fitting(C, loss, cv=FOLDS_TO_CHOOSE if origin is None else FOLDS_TO_ADAPT)
        random_state = np.random.RandomState(seed)
        if self.pairs is None:
            assert self.target is not None
            grades = Grades(columns, self.target, group_codes(self.group, len(columns)), self.block)
            return fitting.fit(grades, origin, random_state)
        rows = np.stack([self.pairs.better, self.pairs.worse], axis=1)
        preferences = checked_preferences(columns, rows, self.pairs.weight, self.group, self.block)
        return fitting.fit(preferences, origin, random_state)


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """What a ranker learnt from."""

    whole: Dataset
    rows: BoolArray | None
    kind: str
    targets: TrainingTargets
    columns: FloatArray
    references: int | None = None
    place: int = 0

    @property
    def dataset(self) -> Dataset:
        """The candidates that are learnt from."""
        return self.whole if self.rows is None else self.whole.select_candidates(self.rows)

    @classmethod
    def of(
        cls,
        features: FeatureSet,
        dataset: Dataset,
        rows: BoolArray,
        kind: str,
        pairs: PairCounting,
        added: ReferenceCandidates | None = None,
        start: WeightSets | None = None,
    ) -> tuple[FeatureSet, TrainingTable]:
        """Fit `features` to the judged candidates of a data set; return them and what is to be learnt."""
        if added:
            dataset, rows = added.whole, added.rows
        outputs = dataset.select_candidates(rows)
        if added:
            human = merge_ties(added.human(human_scores(outputs, kind)), added.together.candidate_offsets)
            group = added.together.candidate_source
            targets = TrainingTargets(group, human, block=same_source(added.together)[group])
        else:
            targets = TrainingTargets.of(outputs, kind, pairs)
        if start is None:
            features.check_references(outputs)
            reason = features.unusable(outputs)
            if reason:
                raise DataError(f"nothing can be learnt: {reason}", file=outputs.name)
            features, matrix = features.fit_transform(dataset, rows)
            known, place = usable(features.extractors, dataset), 0
        else:
            known, place = start.used_by(dataset, rows), start.commonest(dataset, targets.sources, rows)
            matrix = features.transform(dataset, partial=True, used=start.used_in(dataset, rows), rows=rows)
        if added:
            matrix = added.merge(matrix, features.transform_references(dataset, exclude_self=added.exclude_self))
        matrix = _filled(matrix, features.columns_of(known)[targets.group])
        if added:
            return features, cls(added.together, None, kind, targets, matrix, int(added.is_reference.sum()), place)
        return features, cls(dataset, rows, kind, targets, matrix, place=place)


def _filled(matrix: FloatArray, known: BoolArray) -> FloatArray:
    """Return the columns with their mean where they are not known, so that they tell nothing apart there."""
    if known.all():
        return matrix
    mean = np.where(known, matrix, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, matrix, mean)


@dataclass(frozen=True, eq=False)
class ParentModel:
    """What an adapted ranker keeps of the one that it comes from, besides features, means and scales."""

    name: str
    weight_sets: WeightSets

    @property
    def weights(self) -> FloatArray:
        """The weights of every set, shape (sets, columns)."""
        return self.weight_sets.weights

    def document(self) -> dict[str, Any]:
        """Return JSON values of which `read` makes the base again."""
        sets = self.weight_sets
        return {"name": self.name, "by_language": sets.by_language, "weights": sets.document()}

    @classmethod
    def read(cls, features: FeatureSet, document: Mapping[str, Any]) -> ParentModel:
        """Take the base from the model of a file."""
        name, by_language = document["name"], document["by_language"]
        if not (isinstance(name, str) and isinstance(by_language, bool)):
            raise ValueError("base")
        return cls(name, WeightSets.read(features, {"weights": document["weights"]}, by_language=by_language))


def read_weights(
    features: FeatureSet, model: Mapping[str, Any], training: Training
) -> tuple[WeightSets, ParentModel | None]:
    """Take the weights of a ranker and its base from the model of a file."""
    if training.base is None:
        return WeightSets.read(features, model, by_language=training.targets == ENGLISH), None
    base = ParentModel.read(features, model["base"])
    sets = WeightSets.read(features, model, by_language=base.weight_sets.by_language)
    if base.name != training.base or not np.array_equal(sets.used, base.weight_sets.used):
        raise ValueError("base")
    return sets, base


@dataclass(frozen=True, eq=False)
class LearntWeights:
    """The weights of a ranker, and how they were learnt."""

    weight_sets: WeightSets
    fitted: FittedWeights
    chosen_by: str
    gain: float | None
    note: str | None

    def training(
        self, table: TrainingTable, settings: Settings, *, data_hash: str, targets: str | None, base: str | None
    ) -> Training:
        """Return the record of a training, for the model."""
        pairs = table.targets.pairs
        return Training(
            data=table.dataset.name,
            data_hash=data_hash,
            kind=table.kind,
            pairs=settings.pairs if pairs else GRADED,
            sources=len(np.unique(table.dataset.candidate_source)),
            candidates=len(table.dataset) - (table.references or 0),
            preferences=len(pairs.better) if pairs else None,
            C=self.fitted.C,
            chosen_by=self.chosen_by,
            loss=settings.loss,
            objective=self.fitted.objective,
            duality_gap=self.fitted.duality_gap,
            seed=settings.seed if self.chosen_by == SEARCHED else None,
            targets=targets,
            references=table.references,
            base=base,
            gain=self.gain,
        )


def learn_weights(
    table: TrainingTable, sets: WeightSets, settings: Settings, *, base: str | None = None
) -> LearntWeights:
    """Learn the weights of every set."""
    targets = table.targets
    C, chosen_by, gain, note = settings.C, SEARCHED if settings.C == AUTO else GIVEN, None, None
    if C == AUTO and len(targets.blocks) < 2:
        C, chosen_by = (0.0 if base else 1.0 / targets.pair_weight), ONE_SOURCE
        consequence = f"so the weights of {base} are kept" if base else "which is 1 / pairs"
        note = f"judgements of a single source: C cannot be chosen by cross-validation, {consequence}"

    def learn(place: int, C: float | Literal["auto"]) -> FittedWeights:
        used = sets.columns[place]
        columns = table.columns if used.all() else table.columns[:, used]
        origin = sets.weights[place, used] if base else None
        return targets.learn(columns, C=C, loss=settings.loss, seed=settings.seed, origin=origin)

    fitted = learn(table.place, C)
    learnt = sets.learn(lambda place: (fitted if place == table.place else learn(place, fitted.C if base else C)).coef)
    if chosen_by == SEARCHED:
        gain, note = _chosen(targets, fitted, base) if base else (None, _few_sources(table, fitted))
    return LearntWeights(learnt, fitted, chosen_by, gain, note)


def _few_sources(table: TrainingTable, fitted: FittedWeights) -> str | None:
    """Say that there are many features for few sources, if cross-validation chose the smallest C for that reason."""
    sources, features = len(table.targets.blocks), len(fitted.coef)
    if fitted.cv_results["C"][0] < fitted.C or sources >= SOURCES_PER_FEATURE * features:
        return None
    smaller = " or ".join(f"--features {name}" for name in fewer_features(table.dataset, features))
    return (
        f"{counted(sources, 'source')}: too few to weight {counted(features, 'feature')} against each other, so each "
        f"weight depends on little but its own feature (C = {fitted.C:.2g}, the smallest value tried)"
        f"{f'; compare with fewer features: {smaller}' if smaller else ''}"
    )


def _chosen(targets: TrainingTargets, fitted: FittedWeights, base: str) -> tuple[float, str]:
    """Return what the chosen C gained in cross-validation, and a note that says so."""
    agreement = fitted.cv_results["mean_test_score"]
    before, after = float(agreement[0]), float(agreement[np.argmax(fitted.cv_results["C"] == fitted.C)])
    held_out = f"the held-out judgements of {counted(len(targets.sources), 'source')}"
    if not fitted.C:
        note = (
            f"the weights of {base} are kept: no change improves the agreement with {held_out} by two standard errors"
        )
    else:
        of = "tau of preferences" if targets.pairs else "mean Spearman"
        note = (
            f"adapted from {base} with C = {fitted.C:g}, which increased the agreement with {held_out} "
            f"from {before:.3f} to {after:.3f} ({of})"
        )
    return after - before, note


def standardiser(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of every column; the deviation of a constant column is 1."""
    mean = matrix.sum(axis=0) / len(matrix)
    spread = np.sqrt(((matrix - mean) ** 2).sum(axis=0) / len(matrix))
    return mean, np.where(spread > 0, spread, 1.0)


def standardised(matrix: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the columns less their `mean`, divided by their `scale`."""
    return np.asarray((matrix - mean) / scale)


def stratified_folds(strata: npt.ArrayLike, parts: int, seed: int, together: Int64Array | None = None) -> Int64Array:
    """Deal units to parts at random, as evenly as can be, and those of every stratum too."""
    labels = np.asarray(strata)
    if together is not None:
        _, first, place = np.unique(together, return_index=True, return_inverse=True)
        return stratified_folds(labels[first], parts, seed)[place.reshape(-1)]
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    part = np.empty(len(labels), dtype=np.int64)
    part[shuffled[np.argsort(labels[shuffled], kind="stable")]] = np.arange(len(labels)) % parts
    return part
