"""The ranker: a feature set, a standardiser and a ranking SVM, over data sets.

A ranker's scores order the candidates of one source. They are no calibrated quality: scores of different sources are
not comparable.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ranker import defaults
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, judged, resolve_kind
from ranker.defaults import Loss, PairCounting
from ranker.errors import DataError, ModelError, OptionError
from ranker.extractors.base import join_notes
from ranker.extractors.feature_sets import FeatureSet
from ranker.extractors.reference_candidates import ReferenceCandidates
from ranker.extractors.target_language import ENGLISH, other_language
from ranker.model_files import StoredModel, read_model, write_model
from ranker.ordering import rank_by
from ranker.shipped import locate, standard_features, suited
from ranker.training import GIVEN, GRADED, ONE_SOURCE, SEARCHED, Training
from ranker.training_data import TrainingTable, standardiser
from ranker.version import VERSION

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Ranker:
    """A metric learnt from human rankings.

    Parameters
    ----------
    features : str, default "auto"
        Extractors in their notation and names of declared feature sets, separated by commas; ``auto`` is the standard
        set that suits the training data (`ranker.shipped.standard_features`).
    C : float or "auto", default "auto"
        Penalty of a wrongly ordered pair; ``auto`` chooses it by cross-validation over sources. With one source it is
        1 / number of pairs.
    loss : {"hinge", "squared_hinge"}, default "squared_hinge"
    kind : str, default "auto"
        Kind of judgement to learn from; see `ranker.corpora.judgements`.
    pairs : {"judgements", "aggregated", "balanced"}, default "aggregated"
        How preferences become training pairs: one a judgement; one for two candidates, weighted by how much the judges
        agree (see `ranker.corpora.judgements.preference_pairs`); or these with weights that give every language pair
        the same say, however much of it was judged.
    seed : int, default 0
        Splits the folds of the cross-validation.
    references_as_candidates : bool, default False
        Learn from the references too, as candidates above every output of their source (Ye, Zhou and Lin 2007); see
        `ranker.extractors.reference_candidates`.

    Attributes
    ----------
    feature_set : FeatureSet
    mean, scale, weights : float array, shape (columns,)
        A score is the sum of ``weights * (column - mean) / scale``.
    fallback : float array, shape (columns,), or None
        Weights learnt without the columns that learn from what is ranked, used where that is too little to learn
        from.
    training : Training
    training_notes : tuple of str
        What a user should know about the training: what ``auto`` chose, and why.
    """

    features: str = defaults.FEATURES
    C: float | Literal["auto"] = defaults.C
    loss: Loss = defaults.LOSS
    kind: str = AUTO
    pairs: PairCounting = defaults.PAIRS
    seed: int = 0
    references_as_candidates: bool = False
    feature_set: FeatureSet = field(init=False)
    mean: FloatArray = field(init=False, repr=False)
    scale: FloatArray = field(init=False, repr=False)
    weights: FloatArray = field(init=False, repr=False)
    fallback: FloatArray | None = field(init=False, default=None, repr=False)
    training: Training | None = field(init=False, default=None, repr=False)
    _stored: StoredModel | None = field(init=False, default=None, repr=False, compare=False)
    training_notes: tuple[str, ...] = field(init=False, default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if self.C != "auto" and not (isinstance(self.C, int | float) and 0 < self.C < float("inf")):
            raise OptionError(f"C={self.C!r}: expected a positive number or 'auto'")
        self.feature_set = FeatureSet.parse(defaults.STANDARD if self.features == defaults.AUTO else self.features)

    def fit(self, dataset: Dataset) -> Ranker:
        """Learn from the candidates of `dataset` that people judged.

        Raises
        ------
        DataError
            If there are no judgements of the kind, or they order no two candidates of one source.
        """
        self.fit_table(dataset)
        return self

    def fit_table(self, dataset: Dataset) -> TrainingTable:
        """Learn as `fit` does, and return what was learnt from, for a cross-validation."""
        kind = resolve_kind(dataset, self.kind)
        kept = dataset.select_candidates(judged(dataset, kind))
        added = ReferenceCandidates.of(kept, kind) if self.references_as_candidates else None
        outputs = added.outputs if added else kept
        notes: tuple[str, ...] = ()
        if self.features == defaults.AUTO:
            features, notes = standard_features(outputs)
            self.feature_set = FeatureSet.parse(features)
        self.feature_set, table = TrainingTable.of(self.feature_set, outputs, kind, self.pairs, added)
        self.mean, self.scale = standardiser(table.columns)
        table = dataclasses.replace(table, columns=(table.columns - self.mean) / self.scale)
        lesson, kept = table.lesson, table.dataset
        C, chosen_by = self.C, SEARCHED if self.C == "auto" else GIVEN
        if C == "auto" and len(lesson.sources) < 2:
            C, chosen_by = 1.0 / lesson.pair_weight, ONE_SOURCE
            notes += ("judgements of one source: nothing can be held out to choose C, which is 1 / pairs",)
        svm = lesson.learn(table.columns, C=C, loss=self.loss, seed=self.seed)
        self.weights = svm.coef_
        kept_columns = ~self.feature_set.learns_from_ranked
        self.fallback = None
        if kept_columns.any() and not kept_columns.all():
            rest = lesson.learn(table.columns[:, kept_columns], C=C, loss=self.loss, seed=self.seed)
            self.fallback = np.zeros(len(self.weights))
            self.fallback[kept_columns] = rest.coef_
        self.training_notes = notes
        self.training = Training(
            data=dataset.name,
            data_hash=dataset.fingerprint,
            kind=kind,
            pairs=self.pairs if lesson.pairs else GRADED,
            sources=len(np.unique(kept.candidate_source)),
            candidates=len(kept) - (table.references or 0),
            preferences=len(lesson.pairs.better) if lesson.pairs else None,
            C=float(svm.C_),
            chosen_by=chosen_by,
            loss=self.loss,
            objective=float(svm.objective_),
            duality_gap=float(svm.duality_gap_),
            seed=self.seed if chosen_by == SEARCHED else None,
            targets="+".join(sorted(set(kept.target_languages) - {""})) or None,
            references=table.references,
        )
        self._stored = None
        return table

    def explain(self, dataset: Dataset) -> FloatArray:
        """Return what every column adds to the score of every candidate, shape (candidates, columns).

        The model is linear, so the rows add up to the scores exactly.

        Raises
        ------
        DataError
            If all columns learn from what is ranked, and that is too little.
        """
        weights = self._weights_for(dataset)
        return np.asarray(weights * ((self.feature_set.transform(dataset) - self.mean) / self.scale))

    def score_references(self, dataset: Dataset, others: Dataset) -> FloatArray:
        """Return the score of every reference of `dataset` as a candidate; see `FeatureSet.transform_references`."""
        weights = self._weights_for(dataset)
        columns = self.feature_set.transform_references(dataset, others)
        return np.asarray((weights * ((columns - self.mean) / self.scale)).sum(axis=1))

    def _weights_for(self, dataset: Dataset) -> FloatArray:
        self._trained()
        reason = self.feature_set.unusable(dataset)
        weights = self.weights if reason is None else self.fallback
        if weights is None:
            raise DataError(f"{reason}, and this model has no other column", file=dataset.name)
        return weights

    def note(self, dataset: Dataset) -> str | None:
        """Return what a user should know about the scores of `dataset`, in one line, or None.

        That the fallback is used, and why; and that the translations are in another language than those learnt from,
        or else the notes of the extractors.
        """
        reason = self.feature_set.unusable(dataset)
        notes = [self._language_note(dataset) or self.feature_set.note(dataset)]
        if reason is not None:
            names = [one.name for one in self.feature_set.extractors if one.fit_scope == "ranked"]
            notes.insert(0, f"{reason}; ranked without {', '.join(dict.fromkeys(names))}")
        return join_notes(notes)

    def _language_note(self, dataset: Dataset) -> str | None:
        targets = None if self.training is None else self.training.targets
        if targets is None and any(part.english_only for part in self.feature_set.members):
            targets = ENGLISH
        other = other_language(dataset, targets) if targets and "+" not in targets else None
        if other is None:
            return None
        return (
            f"this model was made for translations into {targets}, and these are in {other}: choose --model "
            f"{suited(dataset)}, or train one on such translations"
        )

    def score(self, dataset: Dataset) -> FloatArray:
        """Return the score of every candidate, shape (candidates,); comparable inside one source only."""
        return np.asarray(self.explain(dataset).sum(axis=1))

    def rank(self, dataset: Dataset) -> pd.DataFrame:
        """Rank the candidates of every source.

        Returns
        -------
        DataFrame
            `rank_by` of the scores.
        """
        return rank_by(dataset, self.score(dataset))

    def signature(self) -> str:
        """Return one line with all that changes the scores of this ranker."""
        training = self._trained()
        parts = {
            "ranker": VERSION,
            "model": self.digest[:8],
            "features": self.feature_set.signature(),
            "kind": training.kind,
            "pairs": training.pairs,
            "loss": training.loss,
            "C": f"{training.C:g}",
            "references_as_candidates": training.references,
            "data": f"{training.data}#{training.data_hash[:8]}",
            "seed": training.seed,
        }
        return "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None)

    @property
    def digest(self) -> str:
        """SHA-256 of the model: equal digests give equal scores."""
        return self._content().digest

    def save(self, path: str | Path) -> None:
        """Write the trained ranker to a model file; see `ranker.model_files`.

        Raises
        ------
        ModelError
            If it is not trained, or `path` is something else than a model file.
        """
        write_model(path, self._content(), self.card())

    @classmethod
    def load(cls, path: str | Path) -> Ranker:
        """Read a ranker from a model file, or one of those that ship, as ``full``.

        Raises
        ------
        ModelError
            If the file is no intact model of a format that this version reads, or its extractors make other columns
            here than where it was trained.
        """
        stored = read_model(locate(path))
        model = stored.model
        try:
            training = Training(**model["training"])
            columns = model["columns"]
            ranker = cls(model["features"], **training.settings())
            numbers = {
                key: np.array([column[key] for column in columns], dtype=np.float64)
                for key in ("mean", "scale", "weight")
            }
            fallback = [column.get("fallback") for column in columns]
            names = tuple(column["name"] for column in columns)
            known = [value for value in fallback if value is not None]
            sound = all(np.isfinite(values).all() for values in (*numbers.values(), np.array(known, dtype=np.float64)))
            if not (sound and (numbers["scale"] > 0).all() and isinstance(training.data_hash, str)):
                raise ValueError
        except OptionError as error:
            raise ModelError(f"{path}: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise ModelError(f"{path}: model.json lacks what a ranker needs; train it again") from None
        if names != ranker.feature_set.columns:
            differing = next(
                (pair for pair in zip_longest(names, ranker.feature_set.columns) if pair[0] != pair[1]),
                ("", ""),
            )
            raise ModelError(
                f"{path}: was trained on column {differing[0]!r} where this version makes {differing[1]!r}; "
                "train it again"
            )
        ranker.feature_set = ranker.feature_set.with_states(stored.arrays)
        ranker.mean, ranker.scale, ranker.weights = numbers["mean"], numbers["scale"], numbers["weight"]
        ranker.fallback = None if None in fallback else np.array(fallback, dtype=np.float64)
        ranker.training = training
        ranker._stored = stored
        return ranker

    def card(self) -> str:
        """Return the model card, Markdown."""
        training = self._trained()
        lines = [
            "# A ranker of machine translations",
            "",
            f"Scores candidate translations of one source with {len(self.weights)} column(s); higher is better. "
            "Scores of different sources are not comparable.",
            "",
            f"- Trained on: {training.data} ({training.sources:,} sources, {training.candidates:,} judged "
            f"candidates), judgements of kind `{training.kind}`",
            f"- Signature: `{self.signature()}`",
            f"- Made by ranker {VERSION}",
            "",
            "| column | weight | mean | scale |",
            "|---|---|---|---|",
            *(
                f"| `{name}` | {weight:+.4f} | {mean:.4f} | {scale:.4f} |"
                for name, weight, mean, scale in zip(
                    self.feature_set.columns, self.weights, self.mean, self.scale, strict=True
                )
            ),
        ]
        return "\n".join(lines) + "\n"

    def _content(self) -> StoredModel:
        """Return what a file of this model holds, made once after a fit, so that it is hashed once."""
        if self._stored is None:
            self._stored = StoredModel(self._document(), self.feature_set.states())
        return self._stored

    def _document(self) -> dict[str, Any]:
        training = self._trained()
        numbers = {"mean": self.mean, "scale": self.scale, "weight": self.weights}
        if self.fallback is not None:
            numbers["fallback"] = self.fallback
        return {
            "version": VERSION,
            "features": str(self.feature_set),
            "training": dataclasses.asdict(training),
            "columns": [
                {"name": name, **{key: float(values[index]) for key, values in numbers.items()}}
                for index, name in enumerate(self.feature_set.columns)
            ],
        }

    def _trained(self) -> Training:
        if self.training is None:
            raise ModelError("this ranker is not trained; call fit or load")
        return self.training
