"""Scorers: one interface for metrics and trained rankers, used by comparisons, tuning and output.

Everything else about scorers is computed by functions of this module, from the seven members of a `Scorer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray, FloatArray
from ranker.checks.faults import Votes
from ranker.corpora.dataset import Dataset, source_place, view
from ranker.corpora.own_references import only_references, scored_apart
from ranker.corpora.records import first_repeated
from ranker.errors import DataError, OptionError, counted
from ranker.extractors.base import Metric, checked, fitted_on, join_notes, mean_score, unfitted
from ranker.extractors.composed.combine import with_files as metric_with_files
from ranker.extractors.composed.external_scores import ExternalScores
from ranker.extractors.registry import make_metric
from ranker.ranking.feature_set import FeatureSet, context_for
from ranker.ranking.included import names
from ranker.ranking.ranker import Ranker
from ranker.ranking.reference_candidates import leave_one_out
from ranker.ranking.weight_sets import short_names
from ranker.signature import make_signature
from ranker.text.tokens import language_tokenizers
from ranker.version import VERSION


class Scorer(ABC):
    """A metric or ranker that computes scores from additive statistics of candidates.

    The scores of candidates are ``score(statistics)``, row by row; the score of a document, a system or a choice of
    hypotheses is ``score`` of the sum of the rows. `score` runs in several threads.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the scorer in tables."""

    @property
    @abstractmethod
    def feature_set(self) -> FeatureSet:
        """Features that scores are computed from: a ranker's features, or the metric alone."""

    @property
    def higher_is_better(self) -> bool:
        """True if higher scores are better."""
        return True

    @abstractmethod
    def statistics(self, dataset: Dataset) -> FloatArray:
        """Additive statistics of all candidates, shape (candidates, k)."""

    @abstractmethod
    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Compute scores from statistics, which are in the last axis."""

    @abstractmethod
    def signature(self, dataset: Dataset | None = None) -> str:
        """Return one line that states everything that affects the scores, or the scores of `dataset` if it is given."""

    @abstractmethod
    def note(self, dataset: Dataset) -> str | None:
        """Return notes on the scores of `dataset`, in one line, or None."""


@dataclass(frozen=True)
class MetricScorer(Scorer):
    """Scorer that computes a metric."""

    metric: Metric

    def __post_init__(self) -> None:
        if self.metric.fit_scope == "train":
            raise unfitted(self.metric)

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
        """True if higher values of the metric are better."""
        return self.metric.higher_is_better

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the metric's statistics; candidates that are references are compared with the other references."""
        self.metric.check_ready()
        dataset, chosen = context_for(self.metric, dataset)
        self.feature_set.check_inputs(dataset)
        fitted = fitted_on(self.metric, dataset)
        made = checked(fitted, "statistics", fitted.statistics(dataset), (len(dataset), fitted.width))
        statistics = made.astype(np.float64)
        apart, own = scored_apart(dataset)
        if len(apart) and self.metric.needs.references:
            statistics[apart] = fitted.reference_statistics(dataset, leave_one_out(dataset))[own]
        return statistics[chosen]

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Compute the metric's scores from its statistics, which are in the last axis."""
        return checked(self.metric, "score", self.metric.score(statistics), np.shape(statistics)[:-1])

    def signature(self, dataset: Dataset | None = None) -> str:
        """Return the signature of the metric, with the tokenizers that it uses on `dataset`."""
        if dataset is None:
            return self.metric.signature()
        signature = self.metric.resolved(dataset).signature()
        names, _ = language_tokenizers(dataset)
        return make_signature(signature, {"auto": "+".join(names)}) if "tokenizer=auto" in signature else signature

    def note(self, dataset: Dataset) -> str | None:
        """Return the metric's note on `dataset`, which for external scores states whether higher or lower is better."""
        dataset, _ = context_for(self.metric, dataset)
        return (
            self.metric.metric_note(dataset) if isinstance(self.metric, ExternalScores) else self.metric.note(dataset)
        )


@dataclass(frozen=True)
class RankerScorer(Scorer):
    """Scorer of a trained ranker: the statistics are (score, 1), so that the score of a sum is the mean score.

    Scores of different sources are not comparable, so a mean does not measure quality; only its differences between
    choices for the same sentences are meaningful.
    """

    ranker: Ranker
    whole: Ranker | None = None
    """The complete ranker, if `ranker` lacks the features that cannot score systems; otherwise None."""

    @property
    def name(self) -> str:
        """The name of the ranker."""
        return self.ranker.name

    @property
    def feature_set(self) -> FeatureSet:
        """The features of the ranker."""
        return self.ranker.feature_set

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the score of every candidate in one column and 1 in a second column, shape (candidates, 2)."""
        scores = self.ranker.candidate_scores(dataset)
        return np.stack([scores, np.ones(len(scores))], axis=1)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the mean score, 0 if there are no sentences."""
        return mean_score(statistics)

    def signature(self, dataset: Dataset | None = None) -> str:
        """Return the ranker's signature, with the names of the features that are not used to score systems."""
        if self.whole is None:
            return self.ranker.signature()
        return f"{self.whole.signature()}|systems:without {self._left_out}"

    def note(self, dataset: Dataset) -> str | None:
        """Return the ranker's note, with the names of the features that are not used to score systems."""
        why = "comparing candidates with one another says nothing about a system"
        left_out = f"systems are scored without {self._left_out}: {why}" if self.whole else None
        return join_notes([left_out, self.ranker.note(dataset)])

    @property
    def _left_out(self) -> str:
        """Names of the features that are not used to score systems; empty if all features are used."""
        whole = self.whole.feature_set.extractors if self.whole else ()
        missing = tuple(extractor for extractor in whole if extractor.needs.other_candidates)
        return ", ".join(short_names(missing, self.ranker.feature_set.extractors))


AnyScorer = str | Path | Metric | Ranker | Scorer
Scorers = AnyScorer | Sequence[AnyScorer] | Mapping[str, AnyScorer]
"""One or several metrics or rankers, or a mapping of names to them."""


def scorer_of(what: AnyScorer) -> Scorer:
    """Return the scorer for a metric or its notation, a ranker, an included ranker's name or a model file's path."""
    if isinstance(what, Scorer):
        return what
    if isinstance(what, Metric):
        return MetricScorer(what)
    if isinstance(what, Ranker):
        return RankerScorer(what)
    if not isinstance(what, str | Path):
        raise OptionError(f"expected a metric or ranker, or the name of one, found {type(what).__name__}")
    is_model = isinstance(what, Path) or what in names()
    return RankerScorer(Ranker.load(what)) if is_model else MetricScorer(make_metric(str(what)))


def scorers_by_name(scorers: Scorers) -> dict[str, Scorer]:
    """Turn one or several metrics or rankers into scorers, by name."""
    if isinstance(scorers, Mapping):
        return {str(name): scorer_of(scorer) for name, scorer in scorers.items()}
    several = [scorers] if isinstance(scorers, AnyScorer) else scorers
    if not isinstance(several, Iterable):
        raise OptionError(f"scorers: expected a metric or ranker, or several, found {type(several).__name__}")
    named = [(scorer.name, scorer) for scorer in map(scorer_of, several)]
    if (twice := first_repeated([name for name, _ in named])) is not None:
        raise OptionError(f"{twice!r} is given twice; to compare several rankers, give a mapping of names to scorers")
    return dict(named)


def make_scorer(metric: str | None, model: str | Path | None) -> Scorer:
    """Make a scorer from a metric's notation, or from a ranker's file or name."""
    if (metric is None) == (model is None):
        raise OptionError("give either --metric NAME, such as --metric bleu, or --model FILE (see ranker train)")
    return MetricScorer(make_metric(metric)) if metric is not None else RankerScorer(Ranker.load(model or ""))


def with_files(scorer: Scorer, files: Mapping[str, str]) -> Scorer:
    """Return the scorer with external scores read from `files`, which are keyed by the names of the scores."""
    if isinstance(scorer, RankerScorer):
        return RankerScorer(scorer.ranker.with_files(files), scorer.whole and scorer.whole.with_files(files))
    return MetricScorer(metric_with_files(scorer.metric, files)) if isinstance(scorer, MetricScorer) else scorer


def systems_scorer(scorer: Scorer) -> Scorer:
    """Return the scorer to use for systems and documents; a system's score never depends on other systems.

    A ranker scores with the weights that were learnt without features that compare candidates.
    """
    compares = np.array([extractor.needs.other_candidates for extractor in scorer.feature_set.extractors])
    if not compares.any():
        return scorer
    if not isinstance(scorer, RankerScorer):
        raise _no_evidence(scorer.name)
    part = scorer.ranker.restricted_to(~compares)
    if part is None:
        raise _no_evidence("the model")
    return RankerScorer(part, whole=scorer.ranker)


def _no_evidence(what: str) -> OptionError:
    return OptionError(
        f"{what} compares candidates with one another, which is evidence about a translation, not about a system or "
        "document: use a metric or model that compares with references, such as chrf or full, or rank systems by human "
        "judgements with ranker agreement; this one can rank the candidates of a source, and score segments"
    )


def type_of(scorer: Scorer) -> Literal["metric", "ranker"]:
    """Return the type of a scorer."""
    return "ranker" if isinstance(scorer, RankerScorer) else "metric"


def sign_of(scorer: Scorer) -> float:
    """1 if higher scores are better, else -1."""
    return 1.0 if scorer.higher_is_better else -1.0


def is_fraction(scorer: Scorer) -> bool:
    """True if tables may show the score as a percentage."""
    return isinstance(scorer, MetricScorer) and scorer.metric.is_fraction


def candidate_scores(scorer: Scorer, dataset: Dataset, statistics: FloatArray | None = None) -> FloatArray:
    """Return the score of every candidate, negated if lower is better, shape (candidates,).

    If `statistics` of the candidates are given, the scores are computed from these.
    """
    scores = sign_of(scorer) * scorer.score(scorer.statistics(dataset) if statistics is None else statistics)
    if scores.shape != (len(dataset),):
        expected = f"expected one for each of {counted(len(dataset), 'candidate')}: correct {type(scorer).__qualname__}"
        raise OptionError(f"{scorer.name}: found scores of shape {scores.shape}, {expected}")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        system = f"{dataset.candidates['system'].iloc[bad[0]]!r}"
        place = source_place(dataset, dataset.candidate_source[bad[0]])
        if only_references(dataset)[bad[0]]:
            raise DataError(
                f"{scorer.name} gives no score to {system}, the only reference of {place}: expected another reference "
                "to compare it with"
            )
        value = sign_of(scorer) * scores[bad[0]]
        raise DataError(
            f"the score by {scorer.name} is {value} for system {system} of {place}: expected a finite number"
        )
    return scores


def votes_of(scorer: Scorer) -> Votes:
    """Return the votes of candidates for one another in a scorer's scores."""
    return scorer.ranker.votes if isinstance(scorer, RankerScorer) else Votes(scorer.feature_set.members)


def reference_scores(scorer: Scorer, dataset: Dataset, *, exclude_self: bool = False) -> FloatArray:
    """Return the score of every reference as a candidate, negated if lower is better, shape (references,).

    `exclude_self` is an option of `FeatureSet.transform_references`.
    """
    if isinstance(scorer, RankerScorer):
        return np.asarray(reference_contributions(scorer.ranker, dataset, exclude_self=exclude_self).sum(axis=1))
    return sign_of(scorer) * scorer.feature_set.transform_references(dataset, exclude_self=exclude_self)[:, 0]


def reference_contributions(ranker: Ranker, dataset: Dataset, *, exclude_self: bool = False) -> FloatArray:
    """Return every column's contribution to the score of each reference as a candidate, shape (references, columns)."""
    columns = ranker.feature_set.transform_references(dataset, exclude_self=exclude_self)
    weights = ranker.weight_sets.of_sources(dataset)[dataset.references["source"].to_numpy(np.int64)]
    return np.asarray(weights * ((columns - ranker.mean) / ranker.scale))


def score_details(scorer: Scorer, statistics: npt.ArrayLike) -> dict[str, FloatArray]:
    """Return the components of scores, by name, from statistics, which are in the last axis."""
    return scorer.metric.details(statistics) if isinstance(scorer, MetricScorer) else {}


def certainty_of(
    scorer: Scorer, dataset: Dataset, source: npt.ArrayLike, margin: npt.ArrayLike
) -> dict[str, FloatArray | BoolArray]:
    """Return columns of confidence and likely ties for score margins between two candidates; empty if unknown.

    ``confidence``: the probability that people who prefer one of the two prefer the one with the higher score; NaN
    where unknown. ``likely_tie``: True if people would probably call the two equal.
    """
    return scorer.ranker.certainty(dataset, source, margin) if isinstance(scorer, RankerScorer) else {}


def learnt_kinds(scorer: Scorer) -> tuple[str, ...]:
    """Return the kinds of human judgement that a scorer was trained on; empty for metrics."""
    training = scorer.ranker.training if isinstance(scorer, RankerScorer) else None
    return (training.kind,) if training else ()


def learnt_from(scorer: Scorer, dataset: Dataset) -> BoolArray:
    """Return the mask of the sources of `dataset` that a scorer was trained on."""
    if isinstance(scorer, RankerScorer):
        return scorer.ranker.learnt_from(dataset)
    return np.zeros(len(dataset.sources), dtype=bool)


def trained_on(scorer: Scorer, dataset: Dataset) -> str | None:
    """Return a phrase for notes, such as "was trained on all sources of NAME"; None if trained on no source."""
    return trained_on_sources(learnt_from(scorer, dataset), dataset)


def trained_on_sources(known: BoolArray, dataset: Dataset) -> str | None:
    """Return the phrase of `trained_on` for a mask of the sources of `dataset` that training has seen."""
    known = known[np.unique(dataset.candidate_source)]
    if not known.any():
        return None
    # 99.6 % are not all
    part = "all" if known.all() else f"{max(min(known.mean(), 0.99), 0.01):.0%} of the"
    return f"was trained on {part} sources of {dataset.name}"


def result_head(scorer: Scorer, dataset: Dataset | None = None) -> str:
    """Return the beginning of a result's signature: the package's version and the scorer's signature."""
    signature = scorer.signature(dataset)
    return signature if type_of(scorer) == "ranker" else make_signature({"ranker": VERSION}, f"metric:{signature}")


def fallback(scorer: Scorer, dataset: Dataset) -> tuple[str, ...]:
    """Return the signature part "fallback" if a ranker scores any source without all features; else an empty tuple."""
    partial = isinstance(scorer, RankerScorer) and scorer.ranker.weight_sets.note(dataset)
    return ("fallback",) if partial else ()


def sacrebleu_part(scorer: Scorer, dataset: Dataset, levels: Sequence[str]) -> str:
    """Return the signature part that contains sacreBLEU's signature, or an empty string if there is none.

    If the levels have different signatures, all are listed.

    A document or system that consists of one segment is scored like a segment.
    """
    if not isinstance(scorer, MetricScorer):
        return ""
    signatures = {}
    for level in levels:
        single = {True} if level == "segment" else _of_one_segment(dataset, documents=level == "document")
        for segments in sorted(single):
            name = f"{level} of one segment" if segments and len(single) > 1 else level
            signatures[name] = scorer.metric.sacrebleu(dataset, segments=segments)
    if len(set(signatures.values())) > 1:
        return "".join(f"|sacrebleu[{level}]:{signature}" for level, signature in signatures.items())
    return "".join(f"|sacrebleu:{signature}" for signature in set(signatures.values()) - {None})


@view
def _of_one_segment(dataset: Dataset, *, documents: bool) -> set[bool]:
    """Return {True} if every system (or document) has one segment, {False} if none has, otherwise {True, False}."""
    columns = {
        "lp": dataset.source_language_pairs,
        "doc": dataset.sources["doc"].to_numpy(object) if documents else "",
    }
    units = pd.DataFrame(columns).iloc[dataset.candidate_source].assign(system=dataset.candidates["system"].to_numpy())
    sizes = units.groupby([*units], dropna=False).size()
    return {*(sizes == 1).tolist()} or {False}
