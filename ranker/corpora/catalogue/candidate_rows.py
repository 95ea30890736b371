"""Candidates in any form, with the order and index of the data frames in which results about them are returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import Int64Array
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.in_memory import dataset_and_rows, from_records, is_frame
from ranker.errors import DataError

Candidates = Dataset | pd.DataFrame | Iterable[Mapping[str, Any]] | str | Path
"""Candidate translations: a data set, a frame or records as `ranker.from_frame` and `ranker.from_records` take them,
or the name or path of a corpus."""
NUMBER = "candidate"
"""Name of an index of candidates' numbers in a data set."""


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """A data set of candidates, the index of the frame that it was made from, and the candidate of each row.

    If rows do not hold one candidate each, `candidate` is None, and the index has one entry per candidate.
    """

    dataset: Dataset
    index: pd.Index
    candidate: Int64Array | None = None
    """Row number, in the table of candidates, of the candidate of each row of the frame, shape (rows,)."""

    @property
    def first(self) -> Int64Array:
        """Index of the first row of each candidate."""
        if self.candidate is None:
            return np.arange(len(self.dataset))
        return np.unique(self.candidate, return_index=True)[1].astype(np.int64)

    def by_row(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the value of each row's candidate, shape (rows, ...), from `values`, shape (candidates, ...)."""
        return values if self.candidate is None else values[self.candidate]

    def frame_by_row(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Expand a frame of one row per candidate to the rows and index of the original frame."""
        rows = frame if self.candidate is None else frame.iloc[self.candidate]
        return rows.set_axis(self.index)

    def with_rows(self, found: pd.DataFrame) -> pd.DataFrame:
        """Return a copy of a frame with the column ``candidate``, in which it is the first row of each candidate."""
        return found.assign(candidate=self.first[found["candidate"]])


def candidate_rows(candidates: Candidates) -> CandidateRows:
    """Convert candidates in any form to a data set, keeping the rows and index of a data frame."""
    if isinstance(candidates, pd.DataFrame) or is_frame(candidates):
        dataset, of_row = dataset_and_rows(candidates)
        if of_row is not None:
            index = candidates.index if isinstance(candidates, pd.DataFrame) else pd.RangeIndex(len(of_row))
            return CandidateRows(dataset, index, of_row)
        return CandidateRows(dataset, pd.RangeIndex(len(dataset), name=NUMBER))
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
    return CandidateRows(dataset, pd.RangeIndex(len(dataset), name=NUMBER))


def labelled(dataset: Dataset) -> pd.DataFrame:
    """Return a frame with one row per candidate: source, system, text and, if known, ``lp``, ``doc`` and ``seg_id``."""
    sources = dataset.sources.iloc[dataset.candidate_source]
    known = [key for key in ("lp", "doc", "seg_id") if dataset.sources[key].notna().any()]
    frame = sources[[*known, "text"]].rename(columns={"text": "source"}).reset_index(drop=True)
    return frame.assign(**{key: dataset.candidates[key].array for key in ("system", "text")})
