"""What a ranker is trained on: judged candidates, what people said about them, and their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, PreferencePairs, balanced, human_scores, preference_pairs
from ranker.errors import DataError
from ranker.extractors.feature_sets import FeatureSet
from ranker.extractors.needs import usable
from ranker.extractors.reference_candidates import ReferenceCandidates
from ranker.ranks import merge_ties
from ranker.settings import Loss, PairCounting

if TYPE_CHECKING:
    from ranker.learning.svm.ranksvm import RankSVM


@dataclass(frozen=True)
class Lesson:
    """What there is to learn about the candidates of a data set: graded scores, or strict preferences.

    Parameters
    ----------
    group : int array, shape (candidates,)
        Source of every candidate.
    target : float array, shape (candidates,), or None
        Human scores, higher is better.
    pairs : PreferencePairs or None
    """

    group: Int64Array
    target: FloatArray | None = None
    pairs: PreferencePairs | None = None

    @classmethod
    def of(cls, dataset: Dataset, kind: str, pairs: PairCounting = "judgements") -> Lesson:
        """Take the judgements of `kind` from a data set whose candidates all have one.

        Raises
        ------
        DataError
            If they order no two candidates of one source.
        """
        group = dataset.candidate_source
        if kind == PREFERENCES:
            found = preference_pairs(dataset, aggregated=pairs != "judgements")
            if pairs == "balanced":
                found = balanced(found, dataset.source_language_pairs[group[found.better]])
            lesson = cls(group, pairs=found)
            orders = len(found.better) > 0
        else:
            target = merge_ties(human_scores(dataset, kind), dataset.candidate_offsets)
            lesson = cls(group, target)
            orders = bool(((group[1:] == group[:-1]) & (target[1:] != target[:-1])).any())
        if not orders:
            raise DataError(
                f"judgements of kind {kind!r} order no two candidates of one source; nothing can be learnt",
                file=dataset.name,
            )
        return lesson

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

    def take(self, rows: BoolArray) -> Lesson:
        """Return what there is to learn about the candidates where the mask `rows` is true, whole sources of them."""
        code = np.cumsum(rows) - 1
        pairs = self.pairs
        if pairs is not None:
            kept = rows[pairs.better] & rows[pairs.worse]
            pairs = PreferencePairs(code[pairs.better[kept]], code[pairs.worse[kept]], pairs.weight[kept])
        return Lesson(self.group[rows], None if self.target is None else self.target[rows], pairs)

    def learn(self, columns: FloatArray, *, C: float | Literal["auto"], loss: Loss, seed: int) -> RankSVM:
        """Fit the ranking SVM to standardised columns, shape (candidates, columns)."""
        from ranker.learning.svm.ranksvm import RankSVM

        svm = RankSVM(C=C, loss=loss, random_state=seed)
        if self.pairs is None:
            return svm.fit(columns, self.target, self.group)
        rows = np.stack([self.pairs.better, self.pairs.worse], axis=1)
        return svm.fit(columns, groups=self.group, pairs=rows, pair_weight=self.pairs.weight)


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """What a ranker learnt from.

    Parameters
    ----------
    dataset : Dataset
        Its candidates are the rows of the table.
    kind : str
        Kind of judgement.
    lesson : Lesson
    columns : float array, shape (candidates, columns)
        As the extractors made them, or standardised.
    references : int or None, default None
        Number of references among the candidates, None if they were not added.
    """

    dataset: Dataset
    kind: str
    lesson: Lesson
    columns: FloatArray
    references: int | None = None

    @classmethod
    def of(
        cls,
        features: FeatureSet,
        outputs: Dataset,
        kind: str,
        pairs: PairCounting,
        added: ReferenceCandidates | None = None,
    ) -> tuple[FeatureSet, TrainingTable]:
        """Fit `features` to outputs that are all judged; return them and what is to be learnt.

        Parameters
        ----------
        features : FeatureSet
        outputs : Dataset
        kind : str
            Kind of judgement.
        pairs : {"judgements", "aggregated", "balanced"}
            How preferences are counted.
        added : ReferenceCandidates, optional
            Learn from the references of `outputs` as candidates too.

        Raises
        ------
        DataError
            If the judgements order nothing, or an extractor can say nothing about the data set.
        """
        if added:
            human = merge_ties(added.human(human_scores(outputs, kind)), added.together.candidate_offsets)
            lesson = Lesson(added.together.candidate_source, human)
        else:
            lesson = Lesson.of(outputs, kind, pairs)
        features.check_references(outputs)
        reason = features.unusable(outputs)
        if reason:
            raise DataError(f"nothing can be learnt: {reason}", file=outputs.name)
        features, matrix = features.fit_transform(outputs)
        matrix = _filled(features, outputs, matrix)
        if added is None:
            return features, cls(outputs, kind, lesson, matrix)
        matrix = added.merge(matrix, features.transform_references(outputs, added.others))
        return features, cls(added.together, kind, lesson, matrix, len(added.others))


def _filled(features: FeatureSet, outputs: Dataset, matrix: FloatArray) -> FloatArray:
    """Return the columns with their mean in the sources that lack what they need, so that it tells nothing apart."""
    known = features.columns_of(usable(features.extractors, outputs))[outputs.candidate_source]
    if known.all():
        return matrix
    mean = np.where(known, matrix, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, matrix, mean)


def standardiser(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of every column; the deviation of a constant column is 1."""
    spread = matrix.std(axis=0)
    return matrix.mean(axis=0), np.where(spread > 0, spread, 1.0)


def deal(strata: npt.ArrayLike, parts: int, seed: int) -> Int64Array:
    """Deal units to parts at random, as evenly as can be, and those of every stratum too.

    Parameters
    ----------
    strata : array-like of int, shape (units,)
    parts : int
    seed : int

    Returns
    -------
    int array, shape (units,)
        Part of every unit, from 0.
    """
    labels = np.asarray(strata)
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    part = np.empty(len(labels), dtype=np.int64)
    part[shuffled[np.argsort(labels[shuffled], kind="stable")]] = np.arange(len(labels)) % parts
    return part
