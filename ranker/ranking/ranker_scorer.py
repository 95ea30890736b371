"""Trained rankers with the interface of scorers, and constructors of scorers by name."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray
from ranker.checks.faults import faults
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.in_memory import by_translation, from_texts
from ranker.corpora.records import joined_texts, shown
from ranker.errors import DataError, OptionError
from ranker.extractors.base import Metric, join_notes, mean_score
from ranker.extractors.registry import make_metric
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.included import names
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import MetricScorer, Scorer, no_evidence
from ranker.ranking.weight_sets import short_names

_FAULTY = 10.0
"""Distance of the reward of a faulty output from its score, for unbounded scores."""


@dataclass(frozen=True)
class RankerScorer(Scorer):
    """A trained ranker as it scores data: statistics (score, 1), whose sums score their mean.

    Scores of different sources are not comparable, so a mean is no quality; its differences between two choices for
    the same sentences are what counts.
    """

    ranker: Ranker
    whole: Ranker | None = None
    kind: ClassVar[Literal["ranker"]] = "ranker"

    @property
    def name(self) -> str:
        """The name of the ranker."""
        return self.ranker.name

    def for_systems(self) -> RankerScorer:
        """Return the scorer by the weights that were learnt without features that compare candidates."""
        ranker = self.ranker
        apart = np.array([not extractor.needs.other_candidates for extractor in ranker.feature_set.extractors])
        if apart.all():
            return self
        sets = ranker.weight_sets.restricted_to(apart)
        if sets is None:
            raise no_evidence("the model")
        columns, part = ranker.feature_set.columns_of(apart), copy.copy(ranker)
        part.feature_set = FeatureSet(tuple(itertools.compress(ranker.feature_set.extractors, apart)))
        part.mean, part.scale, part.weight_sets = ranker.mean[columns], ranker.scale[columns], sets
        return RankerScorer(part, whole=ranker)

    @property
    def _left_out(self) -> str:
        """Names of the features that are left out for systems; empty if there are none."""
        whole = self.whole.feature_set.extractors if self.whole else ()
        missing = tuple(extractor for extractor in whole if extractor.needs.other_candidates)
        return ", ".join(short_names(missing, self.ranker.feature_set.extractors))

    @property
    def feature_set(self) -> FeatureSet:
        """The features of the ranker."""
        return self.ranker.feature_set

    @property
    def learnt(self) -> tuple[str, ...]:
        """The kind of judgement that the ranker learnt from."""
        return (self.ranker.training.kind,) if self.ranker.training else ()

    def with_files(self, files: Mapping[str, str]) -> RankerScorer:
        """Return the scorer of the ranker with these files."""
        return RankerScorer(self.ranker.with_files(files), self.whole.with_files(files) if self.whole else None)

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return score and 1 of every candidate."""
        scores = self.ranker.candidate_scores(dataset)
        return np.stack([scores, np.ones(len(scores))], axis=1)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the mean score; 0 of no sentence."""
        return mean_score(statistics)

    def score_references(self, dataset: Dataset, *, exclude_self: bool = False) -> FloatArray:
        """Return the ranker's scores."""
        return self.ranker.score_references(dataset, exclude_self=exclude_self)

    def signature(self, dataset: Dataset | None = None) -> str:
        """Return the signature of the ranker, with the features left out for systems."""
        if self.whole is None:
            return self.ranker.signature()
        return f"{self.whole.signature()}|systems:without {self._left_out}"

    def note(self, dataset: Dataset) -> str | None:
        """Return the note of the ranker, with the features left out for systems."""
        why = "comparing candidates with one another says nothing about a system"
        left_out = f"systems are scored without {self._left_out}: {why}" if self.whole else None
        return join_notes([left_out, self.ranker.note(dataset)])

    def missing_requirement(self, dataset: Dataset) -> str | None:
        """Note on the sources that are not scored by all features, with the reason, or None."""
        return self.ranker.weight_sets.note(dataset)

    def learnt_from(self, dataset: Dataset) -> BoolArray:
        """Return the mask of the sources that the ranker learnt from."""
        return self.ranker.learnt_from(dataset)

    def certainty(
        self, dataset: Dataset, source: npt.ArrayLike, margin: npt.ArrayLike
    ) -> dict[str, FloatArray | BoolArray]:
        """Confidence and likely ties of margins, by the ranker's confidence parameters."""
        return self.ranker.certainty(dataset, source, margin)


def scorer_of(what: str | Path | Metric | Ranker | Scorer) -> Scorer:
    """Return the scorer for a metric or its notation, or a ranker, the name of an included one or a model file."""
    if isinstance(what, Scorer):
        return what
    if isinstance(what, Metric):
        return MetricScorer(what)
    if isinstance(what, Ranker):
        return RankerScorer(what)
    is_model = isinstance(what, Path) or what in names()
    return RankerScorer(Ranker.load(what)) if is_model else MetricScorer(make_metric(str(what)))


def make_scorer(metric: str | None, model: str | Path | None) -> Scorer:
    """Make a scorer from a metric's notation, or from a ranker's file or name."""
    if (metric is None) == (model is None):
        raise OptionError("give either --metric NAME, such as --metric bleu, or --model FILE (see ranker train)")
    return MetricScorer(make_metric(metric)) if metric is not None else RankerScorer(Ranker.load(model or ""))


def reward(
    scorer: str | Path | Metric | Ranker | Scorer,
    *,
    references: str = "references",
    lp: str | None = None,
    checks: bool = True,
) -> Callable[..., list[float]]:
    """Return a reward function for trainers of language models, such as TRL's ``GRPOTrainer``.

    It is called with keyword arguments, of which it reads ``completions``, ``sources`` and the references: lists with
    one entry per completion. Of a completion that is a list of messages it scores the last.

    Parameters
    ----------
    scorer : str, Path, Metric or Ranker
        A metric or its notation, the name of an included ranker, or a model file.
    references : str, default "references"
        Name of the column with one reference, or a list of them, for each completion.
    lp : str, optional
        Language pair, as ``en-ja``, for the tokenizer and the checks.
    checks : bool, default True
        Give completions that are no translation (empty, a copy of the source or a part of it, in another language, a
        refusal, repeated words) less than any translation: 0, or 10 below the score and 0 where it has no bounds.

    Returns
    -------
    function
        Returns a list of float, higher is better: of a metric that is a fraction from 0 to 1, with 1 minus the score
        for error rates; of a ranker its score without features that compare candidates, which has no bounds.

    Examples
    --------
    >>> import ranker
    >>> reward = ranker.reward("ter", references="target")
    >>> reward(prompts=["Translate: ...", "Translate: ..."], completions=["a b", "b c d"], target=["a b", "b"])
    [1.0, 0.0]
    """
    return _Reward(scorer_of(scorer).for_systems(), references, lp, checks)


@dataclass(frozen=True)
class _Reward:
    """The function that `reward` returns, in a form that can be pickled."""

    scorer: Scorer
    references: str
    lp: str | None
    checks: bool

    @property
    def __name__(self) -> str:
        return f"ranker_{self.scorer.name}"

    def __call__(
        self,
        completions: Sequence[str | Sequence[Mapping[str, str]]],
        *,
        sources: Sequence[str] | None = None,
        **columns: Any,
    ) -> list[float]:
        """Return the reward of each completion."""
        scorer, references = self.scorer, columns.get(self.references)
        for name, values in (("completions", completions), (self.references, references or [])):
            if isinstance(values, str) or not isinstance(values, Iterable):
                what = f"{name}: expected a list, one entry per completion, found {shown(values)}"
                raise DataError(what, file="reward")
        texts = [_text_of(completion) for completion in completions]
        if None in texts:
            at = texts.index(None)
            what = f"expected a text, or messages with the text in the last, found {shown(completions[at])}"
            raise DataError(f"completions[{at}]: {what}", file="reward")
        if references is not None and None in (listed := [*references]):
            what = f"{self.references}[{listed.index(None)}]: expected a reference, or a list of them, found null"
            raise DataError(what, file="reward")
        dataset = from_texts([text or "" for text in texts], by_translation(references), sources, lp=self.lp)
        if scorer.feature_set.needs.references and not len(dataset.references):
            what = f"no references: {scorer.name} requires a list of them in {self.references!r}"
            raise DataError(what, file="reward")
        scores = scorer.score(scorer.statistics(dataset))
        faulty = faults(dataset) != "" if self.checks else np.zeros(len(dataset), dtype=bool)
        if scorer.is_fraction:
            scores = np.where(faulty, 0.0, np.clip(scores if scorer.higher_is_better else 1 - scores, 0, 1))
        else:
            scores = np.where(faulty, np.minimum(scorer.sign * scores, 0) - _FAULTY, scorer.sign * scores)
        return [*map(float, scores)]


def _text_of(completion: Any) -> str | None:
    """Return a text, or the text of the last of some messages; None for other types."""
    if isinstance(completion, list | tuple) and completion and isinstance(completion[-1], Mapping):
        return joined_texts(completion[-1].get("content"))
    return completion if isinstance(completion, str) else None
