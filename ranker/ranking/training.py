"""A ranker's training data, and learning its weights, from zero or from the weights of another ranker.

A ranker has several sets of weights, for different sets of columns (`ranker.ranking.weight_sets`). Those of an
adapted ranker minimise

    1/2 |w - o|^2 + C * sum over pairs of weight * loss,       o: weights of the base, of the same set

so columns that the judgements say nothing about keep their weights, and C = 0 keeps all weights. If chosen by
cross-validation, C stays 0 unless another value is better by two standard errors (`ranker.learning.svm.ranksvm`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray, Int64Array, rounded
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, Judged, PreferencePairs, balanced, preference_pairs
from ranker.corpora.languages import ENGLISH
from ranker.corpora.source_keys import same_source
from ranker.errors import DataError, counted
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.included import fewer_features
from ranker.ranking.reference_candidates import ReferenceCandidates
from ranker.ranking.settings import (
    AUTO,
    GIVEN,
    GRADED,
    ONE_SOURCE,
    SEARCHED,
    SOURCES_PER_FEATURE,
    Loss,
    PairCounting,
    Settings,
    Training,
)
from ranker.ranking.weight_sets import WeightSets, usable
from ranker.ranks import merge_ties

if TYPE_CHECKING:
    from ranker.learning.svm.fitting import FittedWeights

FOLDS_TO_CHOOSE, FOLDS_TO_ADAPT = 5, 10
"""Folds to choose C; more to adapt a ranker, because with few folds harmful changes too often seem significant."""

_LEAST, _NOISE = 1e-280, 1e-12
"""Standard deviation from which a column counts as varying: absolute, and relative to its largest value."""


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Features of judged candidates and their judgements: graded scores or strict preferences."""

    dataset: Dataset
    """The candidates that are learnt from; all candidates are in its `Dataset.context`."""
    kind: str
    target: FloatArray | None
    """Graded scores, shape (candidates,); None for preferences."""
    pairs: PreferencePairs | None = None
    counting: PairCounting = "judgements"
    columns: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Feature columns, shape (candidates, columns)."""
    added: ReferenceCandidates | None = None
    """The references that are learnt from as candidates; None if references are not."""
    main_weight_set: int = 0
    """The set of weights that most sources are scored by."""

    @classmethod
    def of(
        cls,
        people: Judged,
        counting: PairCounting = "judgements",
        added: ReferenceCandidates | None = None,
    ) -> TrainingTable:
        """Make a table of judgements without features, and with references as candidates if `added` is given."""
        outputs, kind = people.dataset, people.kind
        if added:
            return cls(added.together, kind, merge_ties(added.human, added.together.candidate_offsets), added=added)
        if kind == PREFERENCES:
            preferences = preference_pairs(outputs, aggregated=counting != "judgements")
            table = cls(outputs, kind, None, preferences, counting)._balanced()
            orders = len(preferences.better) > 0
        else:
            group, target = outputs.candidate_source, people.grades
            table = cls(outputs, kind, target)
            orders = bool(((group[1:] == group[:-1]) & (target[1:] != target[:-1])).any())
        if not orders:
            raise DataError(
                f"judgements of kind {kind!r} do not order any two candidates of a source: give other judgements",
                file=outputs.name,
            )
        return table

    def with_features(
        self, features: FeatureSet, parent: ParentModel | None = None
    ) -> tuple[FeatureSet, TrainingTable]:
        """Return `features` after fitting, and the table with the columns of `features`.

        With a `parent`, `features` must be fitted already and are returned unchanged.
        """
        added = self.added
        dataset = added.outputs if added else self.dataset
        main_weight_set = 0
        if parent is None:
            features.check_inputs(dataset)
            reason = features.missing_requirement(dataset)
            if reason:
                lacking = [str(each) for each in features.extractors if each.needs.missing(dataset)]
                if len(lacking) < len(features.extractors):
                    raise DataError(f"{reason}: add references or leave out {', '.join(lacking)}", file=dataset.name)
                raise DataError(f"nothing can be learnt: {reason}; add references", file=dataset.name)
            features, matrix = features.fit_transform(dataset)
            known = usable(features.extractors, dataset)
        else:
            start = parent.weight_sets
            known, main_weight_set = start.used_by(dataset), start.commonest(dataset, self.sources)
            used = start.used_in(dataset) & ~start.unread_in(dataset)
            matrix = features.transform(dataset, partial=True, used=used)
        if added:
            matrix = added.merge(matrix, features.transform_references(dataset, exclude_self=added.exclude_self))
        matrix = _filled(matrix, features.columns_of(known)[self.group])
        return features, replace(self, columns=matrix, main_weight_set=main_weight_set)

    @property
    def group(self) -> Int64Array:
        """Index of each candidate's source."""
        return self.dataset.candidate_source

    @functools.cached_property
    def block(self) -> Int64Array:
        """Index of the first source with the text of each candidate's source; such sources are held out together."""
        return same_source(self.dataset)[self.group]

    @property
    def references(self) -> int | None:
        """Number of candidates that are references; None if references were not added as candidates."""
        return int(self.dataset.is_reference.sum()) if self.added else None

    @property
    def pair_weight(self) -> float:
        """Total weight of the pairs to learn from."""
        if self.pairs is not None:
            return float(self.pairs.weight.sum())
        assert self.target is not None
        sizes = np.unique(self.group, return_counts=True)[1]
        equal = np.unique(np.stack([self.group, self.target], axis=1), axis=0, return_counts=True)[1]
        return float((sizes * (sizes - 1) // 2).sum() - (equal * (equal - 1) // 2).sum())

    @property
    def sources(self) -> Int64Array:
        """Sorted indices of the sources that have a pair to learn from."""
        if self.pairs is not None:
            return np.unique(self.group[self.pairs.better])
        assert self.target is not None
        graded = np.unique(np.stack([self.group, self.target], axis=1), axis=0)[:, 0]
        sources, grades = np.unique(graded.astype(np.int64), return_counts=True)
        return sources[grades > 1]

    @property
    def blocks(self) -> Int64Array:
        """Sorted values of `block`, one for all sources with the same text, that have a pair to learn from."""
        return np.unique(self.block[np.isin(self.group, self.sources)])

    def take(self, rows: BoolArray) -> TrainingTable:
        """Return the table of the candidates that the mask `rows` selects; the mask must select whole sources."""
        pairs = self.pairs
        if pairs is not None:
            code, mask = np.cumsum(rows) - 1, rows[pairs.better] & rows[pairs.worse]
            pairs = PreferencePairs(code[pairs.better[mask]], code[pairs.worse[mask]], pairs.weight[mask])
        target = None if self.target is None else self.target[rows]
        columns = self.columns[rows] if len(self.columns) else self.columns
        part = replace(self, dataset=self.dataset.in_context(rows), target=target, pairs=pairs, columns=columns)
        return part._balanced()

    def _balanced(self) -> TrainingTable:
        """Return the table with the same total weight for each language pair, if `counting` is ``balanced``."""
        if self.counting != "balanced" or self.pairs is None:
            return self
        language_pair = self.dataset.source_language_pairs[self.group[self.pairs.better]]
        return replace(self, pairs=balanced(self.pairs, language_pair))

    def learn(
        self,
        columns: FloatArray | None = None,
        *,
        C: float | Literal["auto"],
        loss: Loss,
        seed: int = 0,
        origin: FloatArray | None = None,
        signs: FloatArray | None = None,
    ) -> FittedWeights:
        """Fit the ranking SVM to `columns` or, by default, to the columns of the table.

        If given, `origin` are weights to stay near, and `signs` are the signs that the learnt weights must have.
        """
        from ranker.learning.svm.fitting import Fitting
        from ranker.learning.svm.judgements import Grades, checked_preferences, group_codes

        matrix = self.columns if columns is None else columns
        fitting = Fitting(C, loss, cv=FOLDS_TO_CHOOSE if origin is None else FOLDS_TO_ADAPT, signs=signs)
        random_state = np.random.RandomState(seed)
        if self.pairs is None:
            assert self.target is not None
            grades = Grades(matrix, self.target, group_codes(self.group, len(matrix)), self.block)
            return fitting.fit(grades, origin, random_state)
        rows = np.stack([self.pairs.better, self.pairs.worse], axis=1)
        preferences = checked_preferences(matrix, rows, self.pairs.weight, self.group, self.block)
        return fitting.fit(preferences, origin, random_state)


def _filled(matrix: FloatArray, known: BoolArray) -> FloatArray:
    """Replace unknown values by the mean of the column's known values, so that they do not distinguish candidates."""
    if known.all():
        return matrix
    mean = np.where(known, matrix, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, matrix, mean)


@dataclass(frozen=True, eq=False)
class ParentModel:
    """Name, weights, and means and scales of columns of the ranker that an adapted ranker starts from."""

    name: str
    weight_sets: WeightSets
    mean: FloatArray
    scale: FloatArray

    @property
    def weights(self) -> FloatArray:
        """Weights of every weight set, shape (sets, columns)."""
        return self.weight_sets.weights

    def document(self) -> dict[str, Any]:
        """Return the name and weights of the parent model as JSON values; `read` is the inverse."""
        sets = self.weight_sets
        return {"name": self.name, "by_language": sets.by_language, "weights": sets.document()}

    @classmethod
    def read(
        cls, features: FeatureSet, document: Mapping[str, Any], mean: FloatArray, scale: FloatArray
    ) -> ParentModel:
        """Read the parent model from the JSON document of a model file, which has its `mean` and `scale`."""
        name, by_language = document["name"], document["by_language"]
        if not (isinstance(name, str) and isinstance(by_language, bool)):
            raise ValueError("base")
        return cls(name, WeightSets.read(features, document["weights"], by_language=by_language), mean, scale)


def read_weights(
    features: FeatureSet, model: Mapping[str, Any], training: Training, mean: FloatArray, scale: FloatArray
) -> tuple[WeightSets, ParentModel | None]:
    """Read the weights of a ranker, and its parent model if it has one, from the JSON document of a model file."""
    if training.base is None:
        return WeightSets.read(features, model["weights"], by_language=training.targets == ENGLISH), None
    base = ParentModel.read(features, model["base"], mean, scale)
    sets = WeightSets.read(features, model["weights"], by_language=base.weight_sets.by_language)
    if base.name != training.base or not np.array_equal(sets.used, base.weight_sets.used):
        raise ValueError("base")
    return sets, base


def learn_weights(
    table: TrainingTable, features: FeatureSet, settings: Settings, parent: ParentModel | None = None, *, data_hash: str
) -> tuple[WeightSets, Training, str | None]:
    """Learn the weights of every weight set; return the sets, a record of the training, and a note or None.

    If a `parent` is given, the new weights stay near the parent's weights.
    """
    languages = "+".join(sorted(set(table.dataset.target_languages) - {""})) or None
    sets = parent.weight_sets if parent else WeightSets.of(features, by_language=languages == ENGLISH)
    base = parent.name if parent else None
    C, chosen_by, gain, note = settings.C, SEARCHED if settings.C == AUTO else GIVEN, None, None
    if C == AUTO and len(table.blocks) < 2:
        C, chosen_by = (0.0 if base else 1.0 / table.pair_weight), ONE_SOURCE
        consequence = f"so the weights of {base} are kept" if base else "so C is 1 / number of pairs"
        note = f"judgements of a single source: C cannot be chosen by cross-validation, {consequence}"

    def learn(place: int, C: float | Literal["auto"]) -> FittedWeights:
        used = sets.columns[place]
        columns = table.columns if used.all() else table.columns[:, used]
        origin = sets.weights[place, used] if base else None
        signs = features.signs[used] if settings.nonnegative else None
        return table.learn(columns, C=C, loss=settings.loss, seed=settings.seed, origin=origin, signs=signs)

    fitted = learn(table.main_weight_set, C)
    learnt = sets.learn(
        lambda place: (fitted if place == table.main_weight_set else learn(place, fitted.C if base else C)).coef
    )
    if chosen_by == SEARCHED:
        gain, note = _chosen(table, fitted, base) if base else (None, _few_sources(table, fitted))
    if not base and not fitted.coef.any():
        note = (
            "all weights are 0: no feature orders the judged candidates as people do, so the model ties all candidates"
        )
    # rounded to the digits that are the same on all processors
    objective, gap = rounded([fitted.objective, fitted.duality_gap], fitted.objective or 1.0).tolist()
    training = Training(
        data=table.dataset.name,
        data_hash=data_hash,
        kind=table.kind,
        pairs=settings.pairs if table.pairs else GRADED,
        sources=len(np.unique(table.group)),
        candidates=len(table.dataset) - (table.references or 0),
        preferences=len(table.pairs.better) if table.pairs else None,
        C=fitted.C,
        chosen_by=chosen_by,
        loss=settings.loss,
        objective=objective,
        duality_gap=gap,
        seed=settings.seed if chosen_by == SEARCHED else None,
        targets=languages,
        references=table.references,
        base=base,
        gain=gain,
    )
    return learnt, training, note


def _few_sources(table: TrainingTable, fitted: FittedWeights) -> str | None:
    """Return a note if cross-validation chose the smallest C and there are few sources for the number of features."""
    sources, features = len(table.blocks), len(fitted.coef)
    if fitted.cv_results["C"][0] < fitted.C or sources >= SOURCES_PER_FEATURE * features:
        return None
    smaller = " or ".join(f"--features {name}" for name in fewer_features(table.dataset, features))
    return (
        f"{counted(sources, 'source')}: too few to weight {counted(features, 'feature')} against each other, so each "
        f"weight depends on little but its own feature (C = {fitted.C:.2g}, the smallest value tried)"
        f"{f'; compare with fewer features: {smaller}' if smaller else ''}"
    )


def _chosen(table: TrainingTable, fitted: FittedWeights, base: str) -> tuple[float, str]:
    """Return the gain in cross-validated agreement over the weights of the parent `base`, and a note on the result."""
    agreement = fitted.cv_results["mean_test_score"]
    before, after = float(agreement[0]), float(agreement[np.argmax(fitted.cv_results["C"] == fitted.C)])
    held_out = f"the held-out judgements of {counted(len(table.sources), 'source')}"
    if not fitted.C:
        note = (
            f"the weights of {base} are kept: no change improves the agreement with {held_out} by two standard errors"
        )
    else:
        of = "tau of preferences" if table.pairs else "mean Spearman"
        note = (
            f"adapted from {base} with C = {fitted.C:g}, which increased the agreement with {held_out} "
            f"from {before:.3f} to {after:.3f} ({of})"
        )
    return after - before, note


def standardiser(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each column's mean and standard deviation (1 if the column is constant), rounded like weights."""
    mean = matrix.sum(axis=0) / len(matrix)
    spread = np.sqrt(((matrix - mean) ** 2).sum(axis=0) / len(matrix))
    varies = (matrix.max(axis=0) > matrix.min(axis=0)) & (spread > _LEAST + _NOISE * np.abs(matrix).max(axis=0))
    spread = np.where(varies, spread, 1.0)
    return rounded(mean, spread), rounded(spread, spread)


def stratified_folds(strata: npt.ArrayLike, parts: int, seed: int, together: Int64Array | None = None) -> Int64Array:
    """Return the index of a random part for each unit; units are spread evenly overall and in every stratum.

    Units with the same value in `together` are in the same part.
    """
    labels = np.asarray(strata)
    if together is not None:
        _, first, place = np.unique(together, return_index=True, return_inverse=True)
        return stratified_folds(labels[first], parts, seed)[place.reshape(-1)]
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    part = np.empty(len(labels), dtype=np.int64)
    part[shuffled[np.argsort(labels[shuffled], kind="stable")]] = np.arange(len(labels)) % parts
    return part
