"""Trained models, the content of model files: features, their means and scales, and weights."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.own_references import only_references
from ranker.corpora.source_keys import UInt32Array
from ranker.errors import ModelError, OptionError, counted
from ranker.ranking.confidence import Confidence, probability
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.settings import Settings, Training
from ranker.ranking.training import ParentModel, read_weights
from ranker.ranking.weight_sets import LARGEST, WeightSets
from ranker.signature import make_signature
from ranker.storage.escapes import markdown_text
from ranker.storage.model_files import StoredModel, content_digest
from ranker.storage.plain_data import record
from ranker.version import VERSION

_SOURCES = "sources"


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A trained model: a score is the sum of ``weights * (column - mean) / scale`` over the columns of its features.

    The weights depend on the references and candidates of a source; see `ranker.ranking.weight_sets`.
    """

    settings: Settings
    """Parameters of the training."""
    feature_set: FeatureSet
    mean: FloatArray
    """Mean of each column in the training data, shape (columns,)."""
    scale: FloatArray
    """Standard deviation of each column in the training data, shape (columns,)."""
    weight_sets: WeightSets
    training: Training
    sources: UInt32Array
    """Hashes (see `ranker.corpora.source_keys.short_keys`) of the sources that the model was trained on."""
    parent: ParentModel | None = None
    """The model that this model was adapted from, if any."""
    confidence: tuple[Confidence | None, ...] = ()
    """Parameters of the probability of human preferences, for every weight set; empty if they were not learnt."""
    stored: StoredModel | None = None
    """Content of the model file that it was read from, or of the model that it is a part of."""

    def changed(self, **fields: Any) -> TrainedModel:
        """Return a new model like this one, with other values of `fields`."""
        return dataclasses.replace(self, **fields, stored=None)

    def part(self, **fields: Any) -> TrainedModel:
        """Return this model with other values of `fields`, such as fewer features, but with the same digest."""
        return dataclasses.replace(self, **fields, stored=self.content)

    def standardised(self, columns: FloatArray) -> FloatArray:
        """Standardise feature columns (last axis) by the means and scales of the training data."""
        return np.asarray((columns - self.mean) / self.scale)

    def contributions(self, dataset: Dataset) -> FloatArray:
        """Every column's contribution to every candidate's score, shape (candidates, columns).

        Rows are NaN for a candidate that is the only reference of its source.
        """
        weights, weighted = self.weight_sets.of_candidates(dataset), self.weight_sets.weighted_by(dataset)
        some = np.asarray(weighted.any(axis=0))
        few = some & ~weighted.all(axis=0) & [extractor.needs.source for extractor in self.feature_set.extractors]
        columns = self.feature_set.transform(dataset, partial=True, used=some & ~few)
        # sources are read only where nothing else says how good a candidate is, so mostly in few sources
        for used in np.eye(len(few), dtype=bool)[few]:
            sources = np.asarray(weighted[:, used].any(axis=1))
            rows = sources[dataset.candidate_source]
            columns[rows] += self.feature_set.transform(dataset.select_sources(sources), partial=True, used=used)
        parts = weights * self.standardised(columns) + 0.0
        parts[only_references(dataset)] = np.nan
        return np.asarray(parts)

    def certainty(
        self, dataset: Dataset, source: npt.ArrayLike, margin: npt.ArrayLike
    ) -> dict[str, FloatArray | BoolArray]:
        """Return confidence and likely ties for margins between two candidates; see `scorers.certainty_of`."""
        if not any(self.confidence):
            return {}
        # the last is for sources that no weight set can score
        sets = [(each.slope, each.lapse, each.tie) if each else (np.nan,) * 3 for each in (*self.confidence, None)]
        slope, lapse, tie = np.array(sets)[self.weight_sets.choose(dataset)[np.asarray(source)]].T
        return {"confidence": probability(margin, slope, lapse), "likely_tie": np.asarray(margin) <= tie}

    def signature(self) -> str:
        """Return one line that states everything that affects the scores."""
        training = self.training
        parts = {
            "ranker": VERSION,
            "model": self.digest[:8],
            "features": self.feature_set.signature(),
            "kind": training.kind,
            "pairs": training.pairs,
            "loss": training.loss,
            "C": f"{training.C:g}",
            "references_as_candidates": training.references,
            "exclude_self": "true" if self.settings.exclude_self else None,
            "nonnegative": "true" if self.settings.nonnegative else None,
            "base": training.base,
            "data": f"{training.data}#{training.data_hash[:8]}",
            "seed": training.seed,
        }
        return make_signature(parts)

    @property
    def digest(self) -> str:
        """SHA-256 of everything that scores depend on: features and their learnt state, means, scales and weights.

        The rest of a model file, such as the record of training and the confidence parameters, does not count.
        """
        content = self.content
        return content_digest(
            {
                **{key: content.model[key] for key in ("features", "columns", "weights")},
                "by_language": self.weight_sets.by_language,
                "arrays": {name: each for name, each in content.array_digests.items() if name != f"{_SOURCES}.npz"},
            }
        )

    def card(self) -> str:
        """Return the model card in Markdown."""
        training, weights = self.training, self.weight_sets.weights
        lines = [
            "# A ranker for machine translations",
            "",
            f"Scores candidate translations of a source with {counted(weights.shape[1], 'feature')}; higher is "
            "better. Scores of different sources are not comparable.",
            "",
            f"- Trained on: {markdown_text(training.data)} ({counted(training.sources, 'source')}, "
            f"{counted(training.candidates, 'judged candidate')}), judgements of kind {markdown_text(training.kind)}",
            *([f"- Adapted from: {markdown_text(training.base)}, C = {training.C:g}"] if training.base else []),
            f"- Signature: `{self.signature()}`",
            f"- Created by ranker {VERSION}",
            "",
            f"| column | {' | '.join(['weight', *self.weight_sets.titles])} | mean | scale |",
            "|---" * (len(weights) + 3) + "|",
            *(
                f"| `{name}` | {' | '.join(f'{weight:+.4f}' for weight in column)} | {mean:.4f} | {scale:.4f} |"
                for name, column, mean, scale in zip(
                    self.feature_set.columns, weights.T, self.mean, self.scale, strict=True
                )
            ),
        ]
        return "\n".join(lines) + "\n"

    @functools.cached_property
    def content(self) -> StoredModel:
        """Content of the model file."""
        if self.stored:
            return self.stored
        return StoredModel(self._document(), {**self.feature_set.states(), _SOURCES: {_SOURCES: self.sources}})

    def _document(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            # equal models are equal files: a seed without effect is left out
            "settings": dataclasses.replace(self.settings, seed=self.training.seed or 0).document(),
            "features": str(self.feature_set),
            "signatures": [extractor.signature() for extractor in self.feature_set.extractors],
            "training": dataclasses.asdict(self.training),
            "columns": [
                {"name": name, "mean": float(mean), "scale": float(scale)}
                for name, mean, scale in zip(self.feature_set.columns, self.mean, self.scale, strict=True)
            ],
            "weights": self.weight_sets.document(),
            **(
                {"confidence": [each and dataclasses.asdict(each) for each in self.confidence]}
                if any(self.confidence)
                else {}
            ),
            **({"base": self.parent.document()} if self.parent else {}),
        }

    @classmethod
    def read(cls, stored: StoredModel, path: str | Path) -> TrainedModel:
        """Make a model from the content of the model file at `path`; refuse content that is unsound or incomplete."""
        document: Mapping[str, Any] = stored.model
        try:
            training = record(Training, document["training"])
            if not isinstance(document["features"], str):
                raise TypeError
            columns = document["columns"]
            # the listed extractors, because feature sets may have changed their names or members since
            features, settings = FeatureSet.parse(document["features"]), Settings.read(document["settings"])
            if "signatures" in document:
                signatures = document["signatures"]
                recorded = dict(zip(map(str, features.extractors), signatures, strict=True))
                if not all(isinstance(signature, str) for signature in signatures):
                    raise TypeError
                features = dataclasses.replace(features, recorded=recorded)
            mean, scale = (np.array([column[key] for column in columns], dtype=np.float64) for key in ("mean", "scale"))
            names = tuple(column["name"] for column in columns)
            same = names == features.columns
            sets, base = read_weights(features, document, training, mean, scale) if same else (None, None)
            # larger numbers could overflow to infinite scores
            sound = bool((np.abs([mean, scale]) <= LARGEST).all() and (scale >= 1 / LARGEST).all())
            known = stored.arrays[_SOURCES][_SOURCES]
            confidence = tuple(
                None if each is None else record(Confidence, each) for each in document.get("confidence", ())
            )
            sound = sound and len(confidence) in (0, len(document.get("weights", ())))
            if not sound or known.dtype != np.uint32 or known.ndim != 1:
                raise ValueError
        except OptionError as error:
            what = f"{path}: the model cannot be used here: {error}"
            raise ModelError(f"{what}; install its plug-in, or train the model again") from None
        except (KeyError, TypeError, ValueError):
            raise ModelError(
                f"{path}: model.json is incomplete or contradicts itself: copy it again, or train the model again"
            ) from None
        if features.names_files:
            what = "refers to a file with scores, which is not allowed in a model"
            raise ModelError(f"{path}: {what}: train it again on data with the scores in a column")
        if sets is None:
            pairs = itertools.zip_longest(names, features.columns)
            then, now = next(pair for pair in pairs if pair[0] != pair[1])
            what = f"was trained on column {then!r}, but this version has {now!r} instead"
            raise ModelError(f"{path}: {what}; train it again")
        try:
            features = features.with_states(stored.arrays)
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None
        return cls(settings, features, mean, scale, sets, training, known, base, confidence, stored)
