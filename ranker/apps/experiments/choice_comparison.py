"""Tables that compare choices among outputs: scores by metrics, and preferences of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranker.apps.experiments.tables import Marked
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, human_scores, kinds, preference_pairs, resolve_kind
from ranker.errors import DataError, log_note
from ranker.evaluation.resampling.significance import sign_test
from ranker.extractors.base import Metric
from ranker.ranking.scorers import Scorer
from ranker.ranks import merge_ties

PREFERENCES_NOTE = (
    "first run: sources for which the choices differ, sources among these for which people preferred one choice, the "
    "share for which they preferred the first, and an exact two-sided sign test."
)


def matrix(trained: Sequence[str], scored: Mapping[str, Metric | Scorer], values: FloatArray) -> list[dict[str, Any]]:
    """Make a row of scores for each tuning metric, each score marked as better or worse than its column's average."""
    # scores equal to the average but for rounding are neither better nor worse
    z = standardised(scored, values).round(9)
    rows: list[dict[str, Any]] = []
    for row, name in enumerate(trained):
        cells = {}
        for column, metric in enumerate(scored):
            mark = "+" if z[row, column] > 0 else "-" if z[row, column] < 0 else ""
            best = "*" if z[row, column] == z[:, column].max() > 0 else ""
            cells[metric] = Marked(values[row, column], mark + best)
        rows.append({"tuned to": name, **cells})
    return rows


def standardised(scored: Mapping[str, Metric | Scorer], values: FloatArray) -> FloatArray:
    """Standardise every column to mean 0 and standard deviation 1, higher is better; 0 in a column of equal scores."""
    signs = np.array([1.0 if metric.higher_is_better else -1.0 for metric in scored.values()])
    deviation = signs * (values - values.mean(axis=0))
    spread = values.std(axis=0)
    # rounding leaves a spread where there is none
    some = spread > 1e-12 * np.maximum(1.0, np.abs(values).max(axis=0))
    divisor = np.where(some, spread, 1.0)
    return np.asarray(np.where(some, deviation / divisor, 0.0))


@dataclass(frozen=True)
class Preference:
    """Numbers of sources: with two different choices, with a judgement of both, and with the first choice preferred."""

    different: int = 0
    judged: int = 0
    first: int = 0

    def __add__(self, other: Preference) -> Preference:
        """Add the counts for other sources."""
        return Preference(self.different + other.different, self.judged + other.judged, self.first + other.first)

    def row(self, first: str, second: str) -> dict[str, Any]:
        """Return a row of a table of preferences between choices tuned to `first` and `second`."""
        figures = {"different": self.different, "judged": self.judged, "first preferred": self.share, "p": self.p}
        return {"tuned to": first, "against": second, **figures}

    @property
    def share(self) -> float:
        """Proportion of judged sources for which the first choice was preferred; NaN if no source was judged."""
        return self.first / self.judged if self.judged else float("nan")

    @property
    def p(self) -> float:
        """P-value of the exact two-sided sign test."""
        return sign_test(self.first, self.judged)


def people_judged(dataset: Dataset) -> bool:
    """True if a data set has judgements of a usable kind; log a note if it has only other kinds."""
    try:
        resolve_kind(dataset)
    except DataError as error:
        if kinds(dataset):
            log_note(f"leaving out the table of human preferences: {error}")
        return False
    return True


class People:
    """Human judgements of the outputs of a data set: preferences if there are any, else human scores."""

    def __init__(self, dataset: Dataset) -> None:
        self.scores = merge_ties(human_scores(dataset), dataset.candidate_offsets)
        texts = pd.factorize(dataset.candidates["text"].to_numpy(object))[0].astype(np.int64)
        width = int(texts.max(initial=0)) + 1
        self._text = np.unique(dataset.candidate_source * width + texts, return_inverse=True)[1].astype(np.int64)
        self._size = int(self._text.max(initial=0)) + 1
        self._compared = resolve_kind(dataset) == PREFERENCES
        if self._compared:
            pairs = preference_pairs(dataset)
            better, worse = self._text[pairs.better], self._text[pairs.worse]
            self._keys, which = np.unique(self._key(better, worse), return_inverse=True)
            self._net = np.bincount(which, np.where(better < worse, 1.0, -1.0), minlength=len(self._keys))

    def _key(self, first: Int64Array, second: Int64Array) -> Int64Array:
        return np.minimum(first, second) * self._size + np.maximum(first, second)

    def compare(self, first: Int64Array, second: Int64Array) -> Preference:
        """Count people's preferences between two choices, each an array of one candidate per source."""
        first_text, second_text = self._text[first], self._text[second]
        different = first_text != second_text
        if self._compared:
            sign = np.zeros(len(first_text))
            key = self._key(first_text, second_text)
            place = np.minimum(np.searchsorted(self._keys, key), max(len(self._keys) - 1, 0))
            if len(self._keys):
                known = self._keys[place] == key
                sign = np.where(known, np.sign(self._net[place]) * np.where(first_text < second_text, 1.0, -1.0), 0.0)
        else:
            with np.errstate(invalid="ignore"):
                sign = np.nan_to_num(np.sign(self.scores[first] - self.scores[second]))
        sign = np.where(different, sign, 0.0)
        return Preference(int(different.sum()), int(np.count_nonzero(sign)), int((sign > 0).sum()))

    def mean_score(self, chosen: Int64Array) -> float:
        """Return the mean human score of the chosen outputs that have a score; NaN if no chosen output has a score."""
        known = self.scores[chosen][~np.isnan(self.scores[chosen])]
        return float(known.mean()) if len(known) else float("nan")


def compare_all(
    people: Sequence[People], choices: Sequence[Sequence[Int64Array]], first: int, second: int
) -> Preference:
    """Compare two choices over all language pairs: ``choices[pair][first]`` and ``choices[pair][second]``."""
    total = Preference()
    for judge, chosen in zip(people, choices, strict=True):
        total += judge.compare(chosen[first], chosen[second])
    return total
