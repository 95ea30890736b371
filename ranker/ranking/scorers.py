"""Scorers: metrics and trained rankers with one interface, used by comparisons, tuning and output.

`MetricScorer` is the metric's side, `ranker.ranking.ranker_scorer.RankerScorer` the ranker's.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset, source_language_pairs, source_place, view
from ranker.corpora.own_references import scored_apart
from ranker.errors import DataError, OptionError
from ranker.extractors.base import Metric, checked
from ranker.extractors.composed.external_scores import ExternalScores
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.inputs import context_for
from ranker.ranking.reference_candidates import leave_one_out
from ranker.ranks import merge_ties
from ranker.signature import make_signature
from ranker.text.tokens import language_tokenizers
from ranker.version import VERSION


class Scorer(ABC):
    """Scores candidates from additive statistics.

    The score of a candidate is ``score(statistics)`` row by row; that of a document, a system or a choice of
    hypotheses is ``score`` of the sum of the rows. `score` runs in several threads.
    """

    kind: ClassVar[Literal["metric", "ranker"]]
    """Type, for readers of results."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in tables."""

    @property
    @abstractmethod
    def feature_set(self) -> FeatureSet:
        """Features that the scorer scores by: those of a ranker, or a metric as the only one."""

    @property
    def higher_is_better(self) -> bool:
        """True if higher scores are better."""
        return True

    @property
    def is_fraction(self) -> bool:
        """True if tables may show the score as a percentage."""
        return False

    @property
    def learnt(self) -> tuple[str, ...]:
        """Kinds of judgement that it was trained on."""
        return ()

    @abstractmethod
    def statistics(self, dataset: Dataset) -> FloatArray:
        """Additive statistics of all candidates, shape (candidates, k)."""

    @abstractmethod
    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the score of statistics of shape (..., k), shape (...)."""

    @abstractmethod
    def score_references(self, dataset: Dataset, *, exclude_self: bool = False) -> FloatArray:
        """Return a score for every reference, higher is better; see `FeatureSet.transform_references`."""

    @abstractmethod
    def for_systems(self) -> Scorer:
        """Return the scorer of systems and documents, whose scores never depend on the other systems."""

    @abstractmethod
    def signature(self, dataset: Dataset | None = None) -> str:
        """Return one line with everything that changes the scores (of `dataset`)."""

    @abstractmethod
    def note(self, dataset: Dataset) -> str | None:
        """Notes on the scores of `dataset`, in one line, or None."""

    def details(self, statistics: npt.ArrayLike) -> dict[str, FloatArray]:
        """Components of a score by name, of statistics of shape (..., k), each of shape (...)."""
        return {}

    def missing_requirement(self, dataset: Dataset) -> str | None:
        """Reason why `dataset` is scored by a part of the features only, or None."""
        return None

    def learnt_from(self, dataset: Dataset) -> BoolArray:
        """Return the mask of the sources of `dataset` that it learnt from."""
        return np.zeros(len(dataset.sources), dtype=bool)

    def sacrebleu(self, dataset: Dataset, levels: Sequence[str]) -> str:
        """Return sacreBLEU's signature of the same scores at `levels`; empty if sacreBLEU cannot compute them."""
        return ""

    def certainty(
        self, dataset: Dataset, source: npt.ArrayLike, margin: npt.ArrayLike
    ) -> dict[str, FloatArray | BoolArray]:
        """Confidence and likely ties of margins between two candidates, as columns of a ranking; empty if unknown.

        ``confidence``: the probability that people who prefer one of the two prefer the better one; NaN where unknown.
        ``likely_tie``: true if people would probably call them equal.
        """
        return {}

    def with_files(self, files: Mapping[str, str]) -> Scorer:
        """Return this scorer with the files of external scores set by name."""
        return self

    @property
    def sign(self) -> float:
        """1 if higher is better, else -1."""
        return 1.0 if self.higher_is_better else -1.0

    def candidate_scores(self, dataset: Dataset, statistics: FloatArray | None = None) -> FloatArray:
        """Scores of all candidates, from their `statistics` if these are known; higher is better, (candidates,)."""
        scores = self.sign * self.score(self.statistics(dataset) if statistics is None else statistics)
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            raise DataError(
                f"the score by {self.name} is {self.sign * scores[bad[0]]} for system "
                f"{dataset.candidates['system'].iloc[bad[0]]!r} of "
                f"{source_place(dataset, dataset.candidate_source[bad[0]])}"
            )
        return scores


@dataclass(frozen=True)
class MetricScorer(Scorer):
    """A metric as it scores data."""

    metric: Metric
    kind: ClassVar[Literal["metric"]] = "metric"

    def __post_init__(self) -> None:
        if self.metric.fit_scope == "train":
            raise self.metric.unfitted()

    @property
    def name(self) -> str:
        """The notation of the metric."""
        return str(self.metric)

    @property
    def feature_set(self) -> FeatureSet:
        """The metric as the only feature."""
        return FeatureSet((self.metric,))

    @property
    def higher_is_better(self) -> bool:
        """As of the metric."""
        return self.metric.higher_is_better

    @property
    def is_fraction(self) -> bool:
        """As of the metric."""
        return self.metric.is_fraction

    def with_files(self, files: Mapping[str, str]) -> MetricScorer:
        """Return the scorer of the metric with these files."""
        return dataclasses.replace(self, metric=self.metric.with_files(files))

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Statistics of the metric; candidates that are references are scored against the other references."""
        self.metric.check_ready()
        dataset, chosen = context_for(self.metric, dataset)
        self.feature_set.check_references(dataset)
        fitted = self.metric.fit_ranked(dataset)
        made = checked(fitted, "statistics", fitted.statistics(dataset), (len(dataset), fitted.width))
        statistics = made.astype(np.float64)
        apart, own = scored_apart(dataset)
        if len(apart) and self.metric.needs.references:
            statistics[apart] = fitted.reference_statistics(dataset, leave_one_out(dataset))[own]
        return statistics[chosen]

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the metric's score of statistics."""
        return checked(self.metric, "score", self.metric.score(statistics), np.shape(statistics)[:-1])

    def details(self, statistics: npt.ArrayLike) -> dict[str, FloatArray]:
        """Return the details of the metric."""
        return self.metric.details(statistics)

    def score_references(self, dataset: Dataset, *, exclude_self: bool = False) -> FloatArray:
        """Return the metric's scores, negated where lower is better."""
        return self.sign * self.feature_set.transform_references(dataset, exclude_self=exclude_self)[:, 0]

    def for_systems(self) -> MetricScorer:
        """Return this scorer, unless the metric compares candidates."""
        if self.metric.needs.other_candidates:
            raise no_evidence(self.name)
        return self

    def signature(self, dataset: Dataset | None = None) -> str:
        """Return the signature of the metric, with the tokenizers that it uses on `dataset`."""
        if dataset is None:
            return self.metric.signature()
        signature = self.metric.resolved(dataset).signature()
        names, _ = language_tokenizers(dataset)
        return make_signature(signature, {"auto": "+".join(names)}) if "tokenizer=auto" in signature else signature

    def note(self, dataset: Dataset) -> str | None:
        """Return the note of the metric; for external scores it gives their direction."""
        dataset, _ = context_for(self.metric, dataset)
        return (
            self.metric.metric_note(dataset) if isinstance(self.metric, ExternalScores) else self.metric.note(dataset)
        )

    def sacrebleu(self, dataset: Dataset, levels: Sequence[str]) -> str:
        """Return sacreBLEU's signature, one for each level where they differ.

        A document or a system of one segment is scored as that segment.
        """
        signatures = {}
        for level in levels:
            single = {True} if level == "segment" else _of_one_segment(dataset, documents=level == "document")
            for segments in sorted(single):
                name = f"{level} of one segment" if segments and len(single) > 1 else level
                signatures[name] = self.metric.sacrebleu(dataset, segments=segments)
        if len(set(signatures.values())) > 1:
            return "".join(f"|sacrebleu[{level}]:{signature}" for level, signature in signatures.items())
        return "".join(f"|sacrebleu:{signature}" for signature in set(signatures.values()) - {None})


@view
def _of_one_segment(dataset: Dataset, *, documents: bool) -> set[bool]:
    """Return {True} if all systems, or their documents, have one segment, {False} if none has; both if mixed."""
    columns = {
        "lp": source_language_pairs(dataset),
        "doc": dataset.sources["doc"].to_numpy(object) if documents else "",
    }
    units = pd.DataFrame(columns).iloc[dataset.candidate_source].assign(system=dataset.candidates["system"].to_numpy())
    sizes = units.groupby([*units], dropna=False).size()
    return {*(sizes == 1).tolist()} or {False}


def trained_on(scorer: Scorer, dataset: Dataset) -> str | None:
    """Phrase for the share of sources of `dataset` in the training data, to follow the scorer's name, or None."""
    known = scorer.learnt_from(dataset)[np.unique(dataset.candidate_source)]
    if not known.any():
        return None
    # 99.6 % are not all
    part = "all" if known.all() else f"{max(min(known.mean(), 0.99), 0.01):.0%} of the"
    return f"was trained on {part} sources of {dataset.name}"


def result_head(scorer: Scorer, dataset: Dataset | None = None) -> str:
    """Beginning of a result's signature: the version and the scorer; the signature of a ranker has both."""
    signature = scorer.signature(dataset)
    return signature if scorer.kind == "ranker" else make_signature({"ranker": VERSION}, f"metric:{signature}")


def no_evidence(what: str) -> OptionError:
    """Make the error for scoring systems with `what`, a metric or model that compares candidates with one another."""
    return OptionError(
        f"{what} compares candidates with one another, which is evidence about a translation, not about a system or "
        "document: use a metric or model that compares with references, such as chrf or full; for segments, use ranker "
        "rank, or ranker score --level segment"
    )


def rank_by(dataset: Dataset, scores: npt.ArrayLike, faults: npt.NDArray[np.object_] | None = None) -> pd.DataFrame:
    """Rank the candidates of every source by score; candidates with one of the `faults` come last.

    Between the two there is no margin. The faults are a column ``fault``, if there are any.
    """
    values = np.asarray(scores, dtype=np.float64)
    merged = merge_ties(values, dataset.candidate_offsets)
    source = dataset.candidate_source
    faulty = np.zeros(len(values), dtype=bool) if faults is None else faults != ""
    order = np.lexsort((np.arange(len(values)), -merged, faulty, source))
    frame = pd.DataFrame(
        {
            "source": source[order],
            "candidate": order,
            "system": dataset.candidates["system"].to_numpy(object)[order],
            "score": values[order],
        }
    )
    key, behind = pd.Series(merged[order]), pd.Series(faulty[order])
    groups = key.groupby([frame["source"], behind])
    sound = frame["source"].map(frame["source"][~behind].value_counts()).fillna(0)
    frame["rank"] = (groups.rank(method="min", ascending=False) + sound.where(behind, 0)).astype(np.int64)
    frame["tied"] = key.groupby([frame["source"], frame["rank"]]).transform("size") > 1
    frame["margin"] = key - groups.shift(-1)
    columns = ["source", "candidate", "system", "rank", "tied", "score", "margin"]
    if faults is not None and faulty.any():
        frame["fault"] = pd.Series([fault or None for fault in faults[order].tolist()], dtype=object)
        columns.append("fault")
    return frame[columns]
