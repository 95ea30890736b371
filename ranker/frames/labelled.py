"""Scores, ranks and explanations as data frames with the texts, of whatever form candidates come in."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.in_memory import dataset_and_rows, from_records
from ranker.corpora.own_references import only_references, without_only_references
from ranker.errors import DataError, note_logger
from ranker.extractors.scorers import rank_by

if TYPE_CHECKING:
    from ranker.extractors.feature_sets import FeatureSet

Candidates = Dataset | pd.DataFrame | Iterable[Mapping[str, Any]] | str | Path
"""Candidate translations: a data set, a frame or records as `ranker.from_frame` and `ranker.from_records` take them,
or the name or path of a corpus."""

_LOG = note_logger(__name__)


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """Candidates as a data set, and the rows that results have: those of a given frame, else one per candidate."""

    dataset: Dataset
    index: pd.Index
    candidate: Int64Array | None = None
    """Candidate of every row of a frame."""

    @property
    def first(self) -> Int64Array:
        """The first row of every candidate."""
        if self.candidate is None:
            return np.arange(len(self.dataset))
        return np.unique(self.candidate, return_index=True)[1].astype(np.int64)

    def by_row(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of candidates (candidates, ...) for every row."""
        return values if self.candidate is None else values[self.candidate]

    def frame_by_row(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame of candidates with the rows, their order and their index."""
        rows = frame if self.candidate is None else frame.iloc[self.candidate]
        return rows.set_axis(self.index)


def candidate_rows(candidates: Candidates) -> CandidateRows:
    """Return candidates of any form as a data set with the rows of results."""
    if isinstance(candidates, pd.DataFrame):
        dataset, of_row = dataset_and_rows(candidates)
        return CandidateRows(dataset, candidates.index, of_row)
    if isinstance(candidates, str | Path):
        dataset = catalogue.load(candidates)
    elif isinstance(candidates, Dataset):
        dataset = candidates
    else:
        listed = isinstance(candidates, Iterable) and not isinstance(candidates, Mapping)
        records = [*candidates] if listed else candidates
        if listed and records and all(isinstance(record, str) for record in records):
            what = "a list of strings has no sources: create a data set with ranker.from_texts"
            raise DataError(what, file="candidates")
        dataset = from_records(records)
    return CandidateRows(dataset, pd.RangeIndex(len(dataset), name="candidate"))


def scored_apart_from_itself(dataset: Dataset) -> Dataset:
    """Return a data set without candidates that are the only reference of their source; a note in the log says so."""
    dataset, note = without_only_references(dataset)
    if note:
        _LOG.warning("ranker: note: %s", note)
    return dataset


def labelled(dataset: Dataset) -> pd.DataFrame:
    """Return one row per candidate: what is known of ``lp``, ``doc``, ``seg_id``, then source, system and text."""
    sources = dataset.sources.iloc[dataset.candidate_source]
    known = [key for key in ("lp", "doc", "seg_id") if dataset.sources[key].notna().any()]
    frame = sources[[*known, "text"]].rename(columns={"text": "source"}).reset_index(drop=True)
    return frame.assign(**{key: dataset.candidates[key].array for key in ("system", "text")})


class LabelledScores(ABC):
    """What a ranker answers in data frames, from the contributions of its features."""

    feature_set: FeatureSet

    @abstractmethod
    def contributions(self, candidates: Candidates, rows: BoolArray | None = None) -> FloatArray:
        """Return what every column adds to the score of every row, shape (rows, columns); see `candidate_scores`."""

    @abstractmethod
    def note(self, dataset: Dataset) -> str | None:
        """Return what a user should know about the scores of `dataset`, in one line, or None."""

    @abstractmethod
    def weights_by_feature(self) -> dict[str, float]:
        """Return the weight of every feature by name; nothing before it is trained."""

    def _repr_html_(self) -> str:
        """Return what it is, and the features with the largest weights, for a notebook."""
        summary = f"<p>{html.escape(repr(self))}</p>"
        weights = self.weights_by_feature()
        if not weights:
            return summary
        table = pd.DataFrame({"family": self.feature_set.families, "weight": weights}, index=[*weights])
        return summary + str(table.sort_values("weight", key=abs, ascending=False).head(10).to_html(notebook=True))

    def candidate_scores(self, candidates: Candidates, rows: BoolArray | None = None) -> FloatArray:
        """Return what `score` does as an array: one score per row of a frame, else per candidate.

        With a mask `rows` of the candidates of a data set, only they are scored; all are there to be compared with.

        Raises
        ------
        DataError, MissingError
            As `score`.
        """
        scores: FloatArray = self.contributions(candidates, rows).sum(axis=1)
        return scores

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
            Of a frame its rows, in its order and with its index, else one row per candidate: ``lp``, ``doc`` and
            ``seg_id`` as far as they are known, ``source``, ``system``, ``text``, and ``score``: a real number, higher
            is better, comparable inside one source only; NaN of a candidate that is the only reference of its source.

        Raises
        ------
        DataError
            If the candidates are not of the form they should be, or a feature needs a reference that is missing.
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

    def rank(self, candidates: Candidates) -> pd.DataFrame:
        """Rank the candidate translations of every source.

        Parameters
        ----------
        candidates : Dataset, DataFrame, list of dict, str or Path
            As of `score`.

        Returns
        -------
        DataFrame
            Sources in their order, candidates best first: the columns of `score`, and with it ``rank`` (1 best, ties
            share the better rank), ``tied`` and ``margin`` (to the next score below; NaN where there is none). A
            candidate of a frame has the index of its first row. Candidates without a score are left out.

        Raises
        ------
        DataError, MissingError
            As `score`.
        """
        rows = self._read(candidates)
        ranked = ~only_references(rows.dataset)
        ranking = rank_by(rows.dataset.select_candidates(ranked), self.candidate_scores(rows.dataset)[ranked])
        labels = rows.index[rows.first]
        frame = labelled(rows.dataset).set_axis(labels)[ranked].iloc[ranking["candidate"]]
        figures = ("rank", "tied", "score", "margin")
        return frame.assign(**{name: ranking[name].to_numpy() for name in figures})

    def explain(self, candidates: Candidates) -> pd.DataFrame:
        """Say what every feature adds to the scores, which are exactly the sums of these contributions.

        Parameters
        ----------
        candidates : Dataset, DataFrame, list of dict, str or Path
            As of `score`.

        Returns
        -------
        DataFrame
            The columns of `score`, then one for every feature, in the unit of the score.

        Raises
        ------
        DataError, MissingError
            As `score`.
        """
        rows = self._read(candidates)
        parts = self.contributions(rows.dataset)
        frame = labelled(rows.dataset).assign(score=parts.sum(axis=1))
        features = pd.DataFrame(parts, columns=[*self.feature_set.columns])
        return rows.frame_by_row(pd.concat([frame, features], axis=1))

    def _read(self, candidates: Candidates) -> CandidateRows:
        """Return candidates as `candidate_rows` does, and log what a user should know of their scores."""
        rows = candidate_rows(candidates)
        note = self.note(scored_apart_from_itself(rows.dataset))
        if note:
            _LOG.warning("ranker: note: %s", note)
        return rows
