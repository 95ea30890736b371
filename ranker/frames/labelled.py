"""Scores, ranks and explanations as data frames with the texts, of whatever form candidates come in."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.in_memory import from_frame
from ranker.errors import DataError, note_logger
from ranker.extractors.scorers import rank_by

if TYPE_CHECKING:
    from ranker.extractors.feature_sets import FeatureSet

Candidates = Dataset | pd.DataFrame | Iterable[Mapping[str, Any]] | str | Path
"""Candidate translations: a data set, a frame or records as `Dataset.from_frame` and `Dataset.from_records` take them,
or the name or path of a corpus."""

_LOG = note_logger(__name__)


def dataset_of(candidates: Candidates) -> tuple[Dataset, pd.Index]:
    """Return candidates as a data set, and what the rows of results are called.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path

    Returns
    -------
    dataset : Dataset
    labels : Index, shape (candidates,)
        Of a frame the index of the first row of every candidate, else their row numbers.

    Raises
    ------
    DataError
        If they are not what a reader of that form takes.
    MissingError
        If there is no corpus of that name or path.
    """
    if isinstance(candidates, pd.DataFrame):
        dataset, of_row = from_frame(candidates)
        first = np.unique(of_row, return_index=True)[1]
        return dataset, candidates.index[first]
    if isinstance(candidates, str | Path):
        dataset = catalogue.load(candidates)
    elif isinstance(candidates, Dataset):
        dataset = candidates
    else:
        listed = isinstance(candidates, Iterable) and not isinstance(candidates, Mapping)
        records = [*candidates] if listed else candidates
        if listed and records and all(isinstance(record, str) for record in records):
            what = "a list of strings has no sources: create a data set with Dataset.from_texts"
            raise DataError(what, file="candidates")
        dataset = Dataset.from_records(records)
    return dataset, pd.RangeIndex(len(dataset), name="candidate")


def labelled(dataset: Dataset, labels: pd.Index) -> pd.DataFrame:
    """Return one row per candidate: what is known of ``lp``, ``doc``, ``seg_id``, then source, system and text."""
    sources = dataset.sources.iloc[dataset.candidate_source]
    known = [key for key in ("lp", "doc", "seg_id") if dataset.sources[key].notna().any()]
    frame = sources[[*known, "text"]].rename(columns={"text": "source"}).set_axis(labels)
    return frame.assign(**{key: dataset.candidates[key].array for key in ("system", "text")})


class LabelledScores(ABC):
    """What a ranker answers in data frames, from the contributions of its features."""

    feature_set: FeatureSet

    @abstractmethod
    def contributions(self, dataset: Dataset) -> FloatArray:
        """Return what every column adds to the score of every candidate, shape (candidates, columns)."""

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

    def candidate_scores(self, dataset: Dataset) -> FloatArray:
        """Return the score of every candidate, shape (candidates,); comparable inside one source only.

        Raises
        ------
        DataError
            As `contributions`.
        """
        scores: FloatArray = self.contributions(dataset).sum(axis=1)
        return scores

    def score(self, candidates: Candidates) -> pd.DataFrame:
        """Score candidate translations.

        Parameters
        ----------
        candidates : Dataset, DataFrame, list of dict, str or Path
            A data set; a frame or records, as `Dataset.from_frame` and `Dataset.from_records` take them; or the name
            or path of a corpus.

        Returns
        -------
        DataFrame
            One row per candidate: ``lp``, ``doc`` and ``seg_id`` as far as they are known, ``source``, ``system``,
            ``text``, and ``score``: a real number, higher is better, comparable inside one source only. The index is
            that of a given frame, else the row number of the candidate.

        Raises
        ------
        DataError
            If the candidates are not of the form they should be, or a feature needs a reference that is missing.
        MissingError
            If there is no corpus of that name or path.

        Examples
        --------
        >>> from ranker import Dataset, Ranker
        >>> learnt = Ranker("bleu", C=0.01).fit(Dataset.from_records([{"source": "eins", "references": ["number one"],
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
        dataset, labels = self._read(candidates)
        return labelled(dataset, labels).assign(score=self.candidate_scores(dataset))

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
            share the better rank), ``tied`` and ``margin`` (to the next score below; NaN where there is none).

        Raises
        ------
        DataError, MissingError
            As `score`.
        """
        dataset, labels = self._read(candidates)
        ranking = rank_by(dataset, self.candidate_scores(dataset))
        frame = labelled(dataset, labels).iloc[ranking["candidate"]]
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
        dataset, labels = self._read(candidates)
        parts = self.contributions(dataset)
        frame = labelled(dataset, labels).assign(score=parts.sum(axis=1))
        return pd.concat([frame, pd.DataFrame(parts, index=labels, columns=[*self.feature_set.columns])], axis=1)

    def _read(self, candidates: Candidates) -> tuple[Dataset, pd.Index]:
        """Return candidates as `dataset_of` does, and log what a user should know of their scores."""
        dataset, labels = dataset_of(candidates)
        note = self.note(dataset)
        if note:
            _LOG.warning("ranker: note: %s", note)
        return dataset, labels
