"""Features from the components of METEOR's score."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import ENGLISH
from ranker.extractors.base import FittedExtractor
from ranker.extractors.meteor.alignment import STATISTICS
from ranker.extractors.meteor.matching import MODULES, SYNONYM
from ranker.extractors.meteor.metric import AUTO, Matchers, Meteor
from ranker.extractors.meteor.parameters import LANGUAGES, ParameterSet
from ranker.extractors.needs import Needs
from ranker.text.lexical.wordnet import find_wordnet
from ranker.text.ratios import ratio


@dataclass(frozen=True)
class MeteorParts(FittedExtractor):
    """METEOR's score and its components, 5 columns, and the share of words that each module matched, one column each.

    Score, weighted precision and recall, their weighted harmonic mean and the fragmentation penalty as for `meteor`
    (Denkowski and Lavie 2014), against the reference with the best score. The share of a module is the number of words
    that it matched over the number of all words, in candidate and reference together. If nothing matches, the penalty
    has its highest value, gamma.

    Parameters
    ----------
    parameters : {"rank", "adq", "li", "METR", "METR-r", "METR:0.5", "METR-r:0.5"}, default "rank"
    modules : {"exact", "exact+stem", "exact+synonym", "exact+stem+synonym"}, default "exact+stem"
        Modules that match words. For synonyms, WordNet must be installed both in training and in ranking, because
        columns with another meaning would mislead the ranker.
    language, stemmer, wordnet, function_words
        As for `meteor`.

    Notes
    -----
    Columns: ``meteor_parts.score``, ``.precision``, ``.recall``, ``.mean``, ``.penalty``, then ``.exact``, ``.stem``,
    ``.synonym`` for the modules in use.
    """

    name: ClassVar[str] = "meteor_parts"
    family = "words"
    parameters: ParameterSet = "rank"
    modules: Matchers = "exact+stem"
    language: str = AUTO
    stemmer: str = AUTO
    wordnet: str = "auto"
    function_words: str = AUTO

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``meteor_parts.PART`` for every component and module."""
        parts = ("score", "precision", "recall", "mean", "penalty", *self._used)
        return tuple(f"{self}.{part}" for part in parts)

    @property
    def lower_is_better(self) -> tuple[str, ...]:
        """Name of the penalty column."""
        return (f"{self}.penalty",)

    def signature(self) -> str:
        """Return the notation with all options in force, as for `meteor`, and synonyms if the language has none."""
        metric = self._metric
        signature = metric.signature().replace(Meteor.name, self.name, 1)
        only_zeros = MODULES[SYNONYM] in self._used and metric.fixed_language != ENGLISH
        return f"{signature[:-1]},unmatched={MODULES[SYNONYM]}]" if only_zeros else signature

    def resolved(self, dataset: Dataset) -> Self:
        """Return this extractor with the language of `dataset` in place of ``auto``, if there is only one."""
        return dataclasses.replace(self, language=self._metric.resolved(dataset).language)

    @property
    def needs(self) -> Needs:
        """Requirements of `meteor` with these options."""
        return self._metric.needs

    def note(self, dataset: Dataset) -> str | None:
        """Return the note of `meteor` with these options."""
        return self._metric.note(dataset)

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, 5 + modules)."""
        metric = self._metric
        if MODULES[SYNONYM] in self._used:
            find_wordnet(self.wordnet)
        pairs, rows = metric.pair_rows(dataset)
        rows = rows[pairs.best(metric.score(rows), rows)]
        parts = metric.parts(rows)
        matched = rows[:, 5:STATISTICS].reshape(len(rows), len(MODULES), -1).sum(axis=2)
        gamma = np.array([metric.values(language).gamma for language in LANGUAGES])[metric.parameter_numbers(rows)]
        penalty = np.where(matched.sum(axis=1) > 0, parts.penalty, gamma)
        shares = ratio(matched, np.broadcast_to(rows[:, :2].sum(axis=1, keepdims=True), matched.shape))
        used = [MODULES.index(module) for module in self._used]
        columns = [metric.score(rows), parts.precision, parts.recall, parts.mean, penalty, *shares[:, used].T]
        return np.stack(columns, axis=1)

    @property
    def _used(self) -> list[str]:
        return self.modules.split("+")

    @property
    def _metric(self) -> Meteor:
        return Meteor(
            parameters=self.parameters,
            modules=self.modules,
            language=self.language,
            stemmer=self.stemmer,
            wordnet=self.wordnet,
            function_words=self.function_words,
        )
