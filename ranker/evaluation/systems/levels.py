"""Scores of segments, documents and systems from the statistics of the segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.languages import LanguagePair
from ranker.errors import DataError, counted
from ranker.evaluation.choices import Level
from ranker.files import printable
from ranker.ranking.scorers import Scorer, systems_scorer


@dataclass(frozen=True, eq=False)
class Units:
    """Scored units of one level: the outputs of a system for a segment, for a document, or for all sources."""

    level: Level
    keys: pd.DataFrame
    group: Int64Array

    @classmethod
    def of(cls, dataset: Dataset, level: Level) -> Units:
        """Group the outputs of `dataset` into units of `level`."""
        source = dataset.candidate_source
        pairs = dataset.source_language_pairs
        systems = dataset.candidates["system"].to_numpy(object)
        if level == "segment":
            keys = pd.DataFrame(
                {
                    "lp": _known(pairs[source]),
                    "seg_id": dataset.sources["seg_id"].to_numpy(object)[source],
                    "system": systems,
                }
            )
            return cls(level, keys, np.arange(len(dataset)))
        columns = [pairs[source], systems]
        document, names = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object)
        if level == "document":
            document, names = documents(dataset)
            columns.insert(1, document[source])
        code, table = pd.factorize(pd.MultiIndex.from_arrays(columns), sort=True)
        values = {"lp": _known(np.asarray(table.get_level_values(0), dtype=object))}
        if level == "document":
            values["doc"] = names[np.asarray(table.get_level_values(1), dtype=np.int64)]
        values["system"] = np.asarray(table.get_level_values(-1), dtype=object)
        keys = pd.DataFrame({**values, "segments": np.bincount(code, minlength=len(table))})
        return cls(level, keys, code.astype(np.int64))

    def scorer(self, scorer: Scorer) -> Scorer:
        """Return the scorer to use at this level: the scorer itself for segments, otherwise its `systems_scorer`."""
        return scorer if self.level == "segment" else systems_scorer(scorer)

    def means(self, values: npt.ArrayLike) -> FloatArray:
        """Mean of `values`, one per candidate, over the candidates of each unit, shape (units,)."""
        return np.bincount(self.group, weights=np.asarray(values)) / np.bincount(self.group)

    def score(self, scorer: Scorer, statistics: FloatArray) -> FloatArray:
        """Score each unit from the statistics of its candidates, shape (units,)."""
        if self.level == "segment":
            scores = scorer.score(statistics)
        else:
            totals = [np.bincount(self.group, weights=column, minlength=len(self.keys)) for column in statistics.T]
            scores = scorer.score(np.stack(totals, axis=1))
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            unit = ", ".join(f"{name} {value}" for name, value in self.keys.iloc[bad[0]].items() if value is not None)
            raise DataError(f"the score by {scorer.name} of {printable(unit)} is {scores[bad[0]]}, expected a number")
        return scores


def documents(dataset: Dataset) -> tuple[Int64Array, npt.NDArray[np.object_]]:
    """Return the document number of each source, shape (sources,), and the names of the documents.

    Documents are numbered in order of appearance; those of different language pairs are distinct.
    """
    doc = dataset.sources["doc"]
    lacking = doc.isna().to_numpy(bool)
    if lacking.any():
        source = int(np.argmax(lacking))
        raise DataError(
            f"{source_place(dataset, source)} has no document, which document level requires (missing in "
            f"{int(lacking.sum()):,} of {counted(len(doc), 'source')}): add doc to every source, or score segments or "
            "systems"
        )
    code, table = pd.factorize(
        pd.MultiIndex.from_arrays([dataset.source_language_pairs, doc.to_numpy(object)]), sort=False
    )
    return code.astype(np.int64), np.asarray(table.get_level_values(1), dtype=object)


def _known(pairs: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Replace unknown language pairs by None."""
    return np.array([LanguagePair(pair).known for pair in pairs], dtype=object)
