"""The ranker: a feature set, the means and scales that standardise its columns, and a ranking SVM.

A ranker's scores order the candidates of one source. They do not measure quality: scores of different sources are not
comparable.
"""

from __future__ import annotations

import copy
import dataclasses
import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray, FloatArray
from ranker.checks.faults import Votes, faults
from ranker.corpora.catalogue.candidate_rows import (
    CandidateRows,
    Candidates,
    candidate_rows,
    labelled,
)
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import Judged
from ranker.corpora.languages import ENGLISH
from ranker.corpora.own_references import drop_sole_references, only_references
from ranker.corpora.sanity import tied_scores
from ranker.corpora.source_keys import among, short_keys
from ranker.errors import DataError, NotTrainedError, OptionError, counted, log_note
from ranker.extractors.base import join_notes
from ranker.extractors.composed.direction import judgements_note
from ranker.extractors.composed.external_scores import ExternalScores, with_given_scores
from ranker.ranking.by_score import rank_by
from ranker.ranking.confidence import Confidence, JudgedPairs, fit_confidence
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.included import UNREFERENCED, default_model, locate, standard_features
from ranker.ranking.reference_candidates import ReferenceCandidates
from ranker.ranking.settings import AUTO, DEFAULTS, STANDARD, Loss, PairCounting, Settings, Training
from ranker.ranking.trained_model import TrainedModel
from ranker.ranking.training import ParentModel, TrainingTable, learn_weights, standardiser
from ranker.ranking.weight_sets import WeightSets
from ranker.storage.model_files import read_model, write_model
from ranker.text.target_languages import other_language

_FAR = 3.0
"""Number of standard deviations from the training mean beyond which the median of external scores causes a note."""


class Ranker:
    """A metric learnt from human rankings.

    Parameters
    ----------
    features : str, default "auto"
        Extractors in their notation and names of feature sets, separated by commas; ``auto`` is the standard set for
        the language of the training data.
    C : float or "auto", default "auto"
        Penalty of a misordered pair; ``auto`` is chosen by cross-validation over sources.
    loss : {"squared_hinge", "hinge"}
        Loss per pair.
    kind : str, default "auto"
        Kind of judgement to learn from: ``preferences``, ``fluency``, ``mqm``, ..., or a rating of the data;
        ``NAME:lower`` or ``NAME:higher`` sets which values are better.
    pairs : {"aggregated", "judgements", "balanced"}
        How preferences become training pairs: one per pair of candidates, one per judgement, or aggregated with the
        same total weight per language pair.
    seed : int, default 0
    references_as_candidates : bool, default False
        Learn from references as candidates that are better than every output.
    exclude_self : bool, default False
        Score references that are candidates without themselves.
    base : str, optional
        Model file or included ranker to adapt: its features are kept, its weights change only as far as the judgements
        require.
    nonnegative : bool, default False
        Let no feature count against its direction: weights are at least 0, or at most 0 where lower is better.

    Attributes
    ----------
    settings : Settings
        The parameters.
    base : ParentModel or None
        The model that the ranker is adapted from.
    model : TrainedModel or None
        The trained model; None before training. Training that fails or is interrupted leaves it unchanged.
    training_notes : tuple of str
        Notes on the training for the user, such as what ``auto`` chose, and why.
    """

    name = "ranker"
    """Name in tables: the name of the model file or of the included ranker."""

    def __init__(
        self,
        features: str = AUTO,
        *,
        C: float | Literal["auto"] = "auto",
        loss: Loss = DEFAULTS.loss,
        kind: str = DEFAULTS.kind,
        pairs: PairCounting = DEFAULTS.pairs,
        seed: int = DEFAULTS.seed,
        references_as_candidates: bool = False,
        exclude_self: bool = False,
        base: str | None = None,
        nonnegative: bool = False,
    ) -> None:
        parent_name = None if base is None else str(base)
        self.settings = Settings(
            features, C, loss, kind, pairs, seed, references_as_candidates, exclude_self, parent_name, nonnegative
        )
        self._features = FeatureSet.parse(STANDARD if features == AUTO else features)
        if self._features.names_files:
            self.settings = dataclasses.replace(self.settings, features=str(self._features))
        self.base: ParentModel | None = None
        self.model: TrainedModel | None = None
        self.training_notes: tuple[str, ...] = ()
        if parent_name is not None:
            parent, name = Ranker.load(parent_name)._trained(), Path(parent_name).name
            self.settings = dataclasses.replace(self.settings, base=name)
            self._features = parent.feature_set
            self.base = ParentModel(f"{name}#{parent.digest[:8]}", parent.weight_sets, parent.mean, parent.scale)

    def __repr__(self) -> str:
        """Return a one-line description of the features and the training data."""
        features = self.settings.features
        name = features if len(features) <= 60 else f"{features[:57]}..."
        if self.training is None:
            return f"<Ranker {name}: not trained>"
        training = self.training
        return (
            f"<Ranker {name}: {counted(len(self.weights), 'feature')}, trained on {training.kind} of {training.data} "
            f"({counted(training.sources, 'source')}, {counted(training.candidates, 'candidate')})>"
        )

    def _repr_html_(self) -> str:
        """Return a summary in HTML for notebooks, with the features that have the largest weights."""
        summary = f"<p>{html.escape(repr(self))}</p>"
        if self.training is None:
            return summary
        columns = {"family": self.feature_set.families, "weight": self.weights}
        table = pd.DataFrame(columns, index=[*self.feature_set.columns])
        return summary + str(table.sort_values("weight", key=abs, ascending=False).head(10).to_html(notebook=True))

    @property
    def feature_set(self) -> FeatureSet:
        """The features, with what they learnt in training."""
        return self.model.feature_set if self.model else self._features

    @property
    def mean(self) -> FloatArray:
        """Mean of each column in the training data, shape (columns,)."""
        return self._trained().mean

    @property
    def scale(self) -> FloatArray:
        """Standard deviation of each column in the training data, shape (columns,)."""
        return self._trained().scale

    @property
    def weight_sets(self) -> WeightSets:
        """Sets of weights of the standardised columns; a source's references and candidates decide between them."""
        return self._trained().weight_sets

    @property
    def votes(self) -> Votes:
        """Votes of candidates for one another in the scores."""
        return Votes(self.feature_set.extractors, self.weight_sets.by_language)

    @property
    def training(self) -> Training | None:
        """Record of the training; None before training."""
        return self.model.training if self.model else None

    @property
    def confidence(self) -> tuple[Confidence | None, ...]:
        """Parameters of the probability of human preferences, for every weight set; empty before `calibrate`."""
        return self.model.confidence if self.model else ()

    def fit(self, candidates: Candidates) -> Ranker:
        """Learn from the judged candidates among `candidates`, in any form that `score` accepts.

        Raises
        ------
        DataError
            If there are no judgements of the kind, they order no two candidates of a source, or they seem to be read
            in the wrong direction and `kind` does not state the direction.
        """
        self.fit_table(training_data(candidates, self.settings.kind))
        return self

    def fit_table(self, dataset: Dataset) -> TrainingTable:
        """Learn as `fit` does, and return the standardised training table, for cross-validation."""
        settings, features, added, notes = self.settings, self.feature_set, None, list[str]()
        if settings.features == AUTO and self.base is None:
            features, about = standard_features(Judged.of(dataset, settings.kind))
            notes.extend(about)
        known = among(dataset, features.pretraining_sources)
        if known.any():
            # features of data that an encoder learnt from look better than features of new data
            what = f"{int(known.sum()):,} of {counted(len(known), 'source')}"
            if known[Judged.of(dataset, settings.kind).dataset.candidate_source].all():
                raise DataError(f"the encoder was trained on {what}: give other data to learn from", file=dataset.name)
            notes.append(f"{what} left out: the encoder was trained on them")
            dataset = dataset.select_sources(~known)
        scored = with_given_scores(dataset, features.members)
        people = Judged.of(scored, settings.kind)
        if settings.references_as_candidates:
            added = ReferenceCandidates.of(scored, people.kind, exclude_self=settings.exclude_self)
        return self.learn(TrainingTable.of(people, settings.pairs, added), dataset.fingerprint, features, notes)

    def learn(
        self, table: TrainingTable, data_hash: str, features: FeatureSet | None = None, notes: Sequence[str] = ()
    ) -> TrainingTable:
        """Learn from a table of judgements without features, and return it with standardised feature columns."""
        settings, base, notes = self.settings, self.base, [*notes]
        features, table = table.with_features(features or self.feature_set, base)
        mean, scale = (base.mean, base.scale) if base else standardiser(table.columns)
        if settings.nonnegative:
            given = (part for part in features.members if isinstance(part, ExternalScores))
            notes.extend(note for part in given if (note := part.metric_note(table.dataset)))
        table = dataclasses.replace(table, columns=(table.columns - mean) / scale)
        weight_sets, training, note = learn_weights(table, features, settings, base, data_hash=data_hash)
        sources = np.union1d(short_keys(table.dataset), features.pretraining_sources)
        self.model = TrainedModel(settings, features, mean, scale, weight_sets, training, sources, base)
        self.training_notes = (*notes, *filter(None, [note]))
        self.name = type(self).name
        return table

    def with_confidence(self, confidence: Sequence[Confidence | None]) -> Ranker:
        """Set the confidence parameters, one for each weight set, and return this ranker."""
        self.model = self._trained().changed(confidence=tuple(confidence))
        return self

    def calibrate(self, *judged_data: Candidates) -> Ranker:
        """Learn the probability of human preferences by score margin, from judgements of sources not used in training.

        Afterwards, rankings have the columns ``confidence`` and ``likely_tie``, if people ordered at least 100 pairs.
        Scores do not change.

        Parameters
        ----------
        *judged_data : Dataset, DataFrame, list of dict, str or Path
            Judged candidates, in any form that `score` takes. Each data set has the same total weight. Sources that the
            ranker was trained on are left out.

        Returns
        -------
        Ranker
            This ranker.

        Raises
        ------
        DataError
            If there are no judgements, or the ranker was trained on all sources.
        OptionError
            Without `judged_data`.
        """
        if not judged_data:
            raise OptionError("nothing to calibrate on: expected judged data")
        parts = [self.judged_margins(candidate_rows(each).dataset) for each in judged_data]
        return self.with_confidence(
            [fit_confidence(*np.concatenate(part, axis=1)) for part in zip(*parts, strict=True)]
        )

    def judged_margins(self, dataset: Dataset) -> list[FloatArray]:
        """Return, for each weight set, margins, outcomes and weights of judged pairs of sources not used in training.

        Each array has the shape (3, pairs); its weights add up to 1.
        """
        model = self._trained()
        known = among(dataset, model.sources)
        if known[Judged.of(dataset, learnt=[model.training.kind]).dataset.candidate_source].all():
            what = "the ranker was trained on all judged sources of this data set"
            raise DataError(f"{what}: calibrate the ranker on other judged data", file=dataset.name)
        dataset = drop_sole_references(dataset.select_sources(~known))
        people = Judged.of(dataset, learnt=[model.training.kind])
        outputs = people.dataset
        used = model.weight_sets.used_by(outputs)
        columns = model.standardised(model.feature_set.transform(outputs, partial=True))
        scores, pairs = columns @ model.weight_sets.weights.T, JudgedPairs.of(people)
        margins = []
        for place, needed in enumerate(model.weight_sets.used):
            scored = ~(needed & ~used[outputs.candidate_source[pairs.first]]).any(axis=1)
            margin = (scores[pairs.first, place] - scores[pairs.second, place])[scored]
            margins.append(np.stack([margin, pairs.outcome[scored], np.full(len(margin), 1 / max(len(margin), 1))]))
        return margins

    def certainty(
        self, dataset: Dataset, source: npt.ArrayLike, margin: npt.ArrayLike
    ) -> dict[str, FloatArray | BoolArray]:
        """Return confidence and likely ties for margins between two candidates; see `scorers.certainty_of`."""
        return self._trained().certainty(dataset, source, margin)

    def restricted_to(self, chosen: BoolArray) -> Ranker | None:
        """Return a ranker with the `chosen` extractors and the sets that need no others, or None if no set is left.

        Comparisons with the source are left out where they have no weight without the other extractors.

        Its digest is that of this ranker.
        """
        model = self._trained()
        found = model.weight_sets.restricted_to(chosen)
        if found is None:
            return None
        sets, chosen = found
        columns, part = model.feature_set.columns_of(chosen), copy.copy(self)
        part.model = model.part(
            feature_set=model.feature_set.only(chosen),
            mean=model.mean[columns],
            scale=model.scale[columns],
            weight_sets=sets,
        )
        return part

    def candidate_scores(self, candidates: Candidates) -> FloatArray:
        """Return scores as an array, with a value for each row of a frame or, for other data, for each candidate."""
        return np.asarray(self.contributions(candidates).sum(axis=1))

    def score(self, candidates: Candidates) -> pd.DataFrame:
        """Score candidate translations.

        Parameters
        ----------
        candidates : Dataset, DataFrame, list of dict, str or Path
            A data set; a frame or records, as `ranker.from_frame` and `ranker.from_records` take them; or the name
            or path of a corpus.

        Returns
        -------
        DataFrame
            For a frame its rows, in its order and with its index, otherwise one row per candidate: ``lp``, ``doc`` and
            ``seg_id`` if known, ``source``, ``system``, ``text``, and ``score``: a real number, higher is better,
            comparable only within a source, NaN for a candidate that is the only reference of its source.

        Raises
        ------
        DataError
            If the candidates are malformed, or a feature needs a reference that is missing.
        MissingError
            If there is no corpus of that name or path.

        Examples
        --------
        >>> from ranker import Ranker, from_records
        >>> learnt = Ranker("bleu", C=0.01).fit(from_records([{"source": "eins", "references": ["number one"],
        ...     "candidates": [{"system": "A", "text": "number one", "human": {"adequacy": 5}},
        ...                    {"system": "B", "text": "a number", "human": {"adequacy": 3}}]}]))
        >>> new = {"source": "zwei", "references": ["number two"], "candidates": ["two two", "number two"]}
        >>> learnt.score([new]).columns.tolist()
        ['seg_id', 'source', 'system', 'text', 'score']
        >>> learnt.rank([new])["text"].tolist()
        ['number two', 'two two']
        >>> learnt.explain([new]).columns.tolist()
        ['seg_id', 'source', 'system', 'text', 'score', 'bleu']
        """
        rows = self._read(candidates)
        scores = self.candidate_scores(rows.dataset)
        return rows.frame_by_row(labelled(rows.dataset).assign(score=scores))

    def rank(self, candidates: Candidates, *, checks: bool = True) -> pd.DataFrame:
        """Rank the candidate translations of every source; accepts and refuses the same candidates as `score`.

        Parameters
        ----------
        candidates : Dataset, DataFrame, list of dict, str or Path
        checks : bool, default True
            Rank candidates that are no translation (empty, a copy of the source or a part of it, in another language,
            a refusal, or repeated words) below all other candidates of their source, and give them no vote in
            consensus. If there are any, a column ``fault`` names what is wrong.

        Returns
        -------
        DataFrame
            Sources in their order, candidates best first: the columns of `score`, and ``rank`` (1 is best, ties share
            the better rank), ``tied`` and ``margin`` (to the score in the next row of the source, hence 0 for tied
            candidates except the last; NaN for the last candidate and the last one without a fault). A calibrated
            ranker adds ``confidence``, the probability that people who prefer one of two candidates prefer this one to
            the next, and ``likely_tie``, True if people would probably call these two equal. A candidate of a frame
            has the index of its first row. Candidates without a score are left out.
        """
        rows = self._read(candidates, checks=checks)
        ranked = ~only_references(rows.dataset)
        scores = self._checked(rows.dataset, self.candidate_scores, checks=checks)
        wrong = faults(rows.dataset)[ranked] if checks else None
        # a note says where nothing tells candidates apart
        voters = self.votes.voters(rows.dataset) if checks else rows.dataset
        scored = np.asarray(self.weight_sets.used_by(voters).any(axis=1))[rows.dataset.candidate_source]
        for tied in tied_scores(rows.dataset, np.where(scored, scores, np.nan), "score by the model"):
            log_note(str(tied))
        ranking = rank_by(rows.dataset.select_candidates(ranked), scores[ranked], wrong)
        ranking = ranking.assign(**self.certainty(voters, ranking["source"], ranking["margin"]))
        labels = rows.index[rows.first]
        frame = labelled(rows.dataset).set_axis(labels)[ranked].iloc[ranking["candidate"]]
        figures = ranking.columns.drop(["source", "candidate", "system"])
        return frame.assign(**{name: ranking[name].to_numpy() for name in figures})

    def _checked(self, dataset: Dataset, compute: Callable[[Dataset], FloatArray], *, checks: bool) -> FloatArray:
        """Compute values of candidates; with `checks`, log faulty outputs and exclude their votes from consensus."""
        if not checks:
            return compute(dataset)
        if note := self.votes.note(dataset):
            log_note(f"{note}; rank them by score with checks=False")
        return self.votes.values(dataset, compute)

    def explain(self, candidates: Candidates, *, checks: bool = True) -> pd.DataFrame:
        """Return the contributions of features to the scores by which `rank` ranks; each score is exactly their sum.

        Accepts and refuses the same candidates as `score`.

        Parameters
        ----------
        candidates : Dataset, DataFrame, list of dict, str or Path
        checks : bool, default True
            As in `rank`.

        Returns
        -------
        DataFrame
            The columns of `score`, ``fault`` if `rank` adds it, then one column per feature, in the unit of the score.
        """
        rows = self._read(candidates, checks=checks)
        parts = self._checked(rows.dataset, self.contributions, checks=checks)
        frame = labelled(rows.dataset).assign(score=parts.sum(axis=1))
        if checks and (wrong := faults(rows.dataset)).any():
            frame["fault"] = pd.Series([fault or None for fault in wrong], frame.index, dtype=object)
        features = pd.DataFrame(parts, columns=[*self.feature_set.columns])
        return rows.frame_by_row(pd.concat([frame, features], axis=1))

    def _read(self, candidates: Candidates, *, checks: bool = False) -> CandidateRows:
        """Read candidates with `candidate_rows`, and log the ranker's note on the scores, if there is a note."""
        rows = candidate_rows(candidates)
        dataset = drop_sole_references(rows.dataset)
        note = self.note(self.votes.voters(dataset) if checks else dataset)
        if note:
            log_note(note)
        return rows

    def learnt_from(self, dataset: Dataset) -> BoolArray:
        """Return the mask of the sources of `dataset` that were used in training."""
        return among(dataset, self._trained().sources)

    def contributions(self, candidates: Candidates) -> FloatArray:
        """Return every column's contribution to the score of every row of a frame or, for other data, every candidate.

        The shape is (rows, columns). The model is linear, so each row adds up to the score exactly. Rows are NaN for a
        candidate that is the only reference of its source.
        """
        model, read = self._trained(), candidate_rows(candidates)
        return read.by_row(model.contributions(read.dataset))

    @property
    def weights(self) -> FloatArray:
        """Weights of the first weight set, which uses all extractors, shape (columns,)."""
        return np.asarray(self.weight_sets.weights[0])

    def note(self, dataset: Dataset) -> str | None:
        """Return notes on the scores of `dataset`, in one line, or None.

        They name sources not ranked by all features, with the reasons, and translations in another language than in
        training, or else the notes of the extractors.
        """
        self._trained()
        notes = [self.weight_sets.note(dataset), self._language_note(dataset.context) or self._feature_notes(dataset)]
        return join_notes([*notes, *self._given_notes(dataset)])

    def _feature_notes(self, dataset: Dataset) -> str | None:
        """Return the notes of the extractors, each on the sources that it concerns."""
        scored, group = np.unique(self.weight_sets.noted_in(dataset), axis=1, return_inverse=True)
        return join_notes(
            self.feature_set.only(group.reshape(-1) == number).note(dataset.select_sources(sources))
            for number, sources in enumerate(scored.T)
            if sources.any()
        )

    def _given_notes(self, dataset: Dataset) -> list[str]:
        """Return notes on external scores whose median is far from their mean in the training data."""
        notes = []
        places = {column: place for place, column in enumerate(self.feature_set.columns)}
        for extractor in self.feature_set.extractors if len(dataset) else ():
            if not isinstance(extractor, ExternalScores):
                continue
            (place,) = (places[column] for column in extractor.columns)
            mean, scale = float(self.mean[place]), float(self.scale[place])
            median = float(np.median(extractor.sentence_scores(dataset)))
            if abs(median - mean) > _FAR * scale:
                trained = f"{mean:.3g} on average in training (standard deviation {scale:.2g})"
                what = f"{extractor}: the median is {median:.3g} here, but {trained}"
                notes.append(f"{what}; check that the scores have the same scale")
        return notes

    def _language_note(self, dataset: Dataset) -> str | None:
        targets = None if self.training is None else self.training.targets
        if targets is None and self.feature_set.needs.language:
            targets = ENGLISH
        language = other_language(dataset, targets) if targets and "+" not in targets else None
        if language is None:
            return None
        better = default_model(dataset)
        # the included ranker that needs no references is for all languages
        advice = f"choose --model {better}, or " if better != UNREFERENCED or self.weight_sets.need_references else ""
        where = f"this model is for translations into {targets}, but these are in {language}"
        return f"{where}: {advice}train one on translations in that language"

    def signature(self) -> str:
        """Return one line that states everything that affects the scores of this ranker."""
        return self._trained().signature()

    @property
    def digest(self) -> str:
        """SHA-256 of everything that scores depend on; see `ranker.ranking.trained_model.TrainedModel.digest`."""
        return self._trained().digest

    def save(self, path: str | Path) -> None:
        """Write the trained ranker to a model file; see `ranker.storage.model_files`.

        Raises
        ------
        ModelError
            If the ranker is not trained, or `path` exists and is not a model file.
        """
        model = self._trained()
        write_model(path, model.content, model.card())

    @classmethod
    def load(cls, path: str | Path) -> Ranker:
        """Read a ranker from a model file, or an included ranker by its name, such as ``full``.

        Raises
        ------
        ModelError
            If the file is damaged or of a format that this version does not read, or if its extractors compute other
            columns here than in training.
        """
        located = locate(path)
        model, ranker = TrainedModel.read(read_model(located), path), cls()
        ranker.settings, ranker.base, ranker.model = model.settings, model.parent, model
        ranker.name = located.name or cls.name
        return ranker

    def with_feature_set(self, features: FeatureSet) -> Ranker:
        """Return this ranker with `features` in place of its own, which must have the same columns."""
        ranker = copy.copy(self)
        ranker._features, ranker.model = features, self.model and self.model.part(feature_set=features)
        return ranker

    def with_files(self, files: Mapping[str, str]) -> Ranker:
        """Return this ranker with external scores read from `files`, which are keyed by the names of the scores."""
        return self.with_feature_set(self.feature_set.with_files(files))

    def card(self) -> str:
        """Return the model card in Markdown."""
        return self._trained().card()

    def _trained(self) -> TrainedModel:
        if self.model is None:
            raise NotTrainedError("the ranker is not trained; call fit or load")
        return self.model


def training_data(candidates: Candidates, kind: str) -> Dataset:
    """Return the candidates to learn from; if judgements run counter to chrF, log a note or refuse the judgements."""
    dataset = drop_sole_references(candidate_rows(candidates).dataset)
    if note := judgements_note(Judged.of(dataset, kind), kind):
        log_note(note)
    return dataset
