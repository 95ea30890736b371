"""Scores and ranks of shards: one table per shard, and sums over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.evaluation.choices import Level
from ranker.evaluation.systems.levels import Units, documents
from ranker.extractors.base import join_notes
from ranker.extractors.scorers import rank_by
from ranker.scaling.plan import Run
from ranker.scaling.references import AllReferences
from ranker.scaling.scorers import NamedScorers
from ranker.scaling.tasks import Stage, read_result


@dataclass(frozen=True)
class ScoringStage(Stage):
    """A stage that scores candidates.

    Parameters
    ----------
    scorers : NamedScorers
    whole : AllReferences or None
        Where scores depend on them.
    references : bool
        Whether references are used.
    """

    scorers: NamedScorers
    whole: AllReferences | None = None
    references: bool = True

    def signature(self) -> str:
        """Return the signatures of the scorers and of what they learn from."""
        whole = None if self.whole is None else self.whole.digest
        return f"{self.scorers.signature()}\nwhole={whole}\nreferences={self.references}"

    def prepared(self, dataset: Dataset) -> Dataset:
        """Return a shard as a part of the whole."""
        if not self.references:
            dataset = dataset.without_references()
        return dataset if self.whole is None else dataset.within(self.whole.sums)

    def note(self, dataset: Dataset) -> str | None:
        """Return what a user should know about the scores of a shard; with a whole, that is said of the whole."""
        if self.whole is not None:
            return None
        return join_notes(scorer.note(dataset) for scorer in self.scorers.scorers())


@dataclass(frozen=True)
class ScoreSegments(ScoringStage):
    """The score of every candidate by every scorer, as columns by their names."""

    name: ClassVar[str] = "score"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return ``lp``, ``seg_id``, ``system`` and the scores."""
        shard = self.prepared(dataset)
        units = Units.of(shard, "segment")
        scores = {
            scorer.name: pa.array(units.score(scorer, scorer.statistics(shard))) for scorer in self.scorers.scorers()
        }
        return pa.table({**_keys(shard, "lp", "seg_id"), **scores}), self.note(shard)


@dataclass(frozen=True)
class SumStatistics(ScoringStage):
    """The statistics of every candidate, of which `totals` makes scores of documents and systems.

    Sums of fractions depend on their order. So every candidate's are kept, and added up as in one data set.
    """

    name: ClassVar[str] = "statistics"
    level: Level = "system"

    def signature(self) -> str:
        """Return that of the scorers, and the level."""
        return f"{super().signature()}\nlevel={self.level}"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return ``lp``, ``doc`` at document level, ``system``, and statistics as lists."""
        shard = self.prepared(dataset)
        if self.level == "document":
            documents(shard)
        statistics = {scorer.name: _matrix(scorer.statistics(shard)) for scorer in self.scorers.scorers()}
        return pa.table({**_keys(shard, "lp", *_document(self.level)), **statistics}), self.note(shard)


@dataclass(frozen=True)
class RankCandidates(ScoringStage):
    """The ranking of the candidates of every source, as ``ranker rank`` prints it, without texts."""

    name: ClassVar[str] = "rank"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return ``lp``, ``doc``, ``seg_id``, ``system``, ``rank``, ``tied``, ``score`` and ``margin``."""
        shard = self.prepared(dataset)
        scorer = self.scorers.scorers()[0]
        ranking = rank_by(shard, scorer.candidate_scores(shard))
        keys = pa.table(_keys(shard, "lp", "doc", "seg_id")).take(pa.array(ranking["candidate"].to_numpy()))
        for column in ("rank", "tied", "score", "margin"):
            keys = keys.append_column(column, pa.array(ranking[column].to_numpy()))
        return keys, self.note(shard)


def totals(run: Run, names: list[str], level: Level) -> tuple[Units, dict[str, FloatArray]]:
    """Add up the statistics that `SumStatistics` wrote, in the order of the shards.

    Returns
    -------
    units : Units
        Documents or systems, each of which is a row of the sums.
    sums : dict of str to float array, shape (units, width)
    """
    codes: dict[tuple[str, ...], int] = {}
    document_order: dict[tuple[str, ...], int] = {}
    sums: dict[str, FloatArray] = {}
    sizes = np.zeros(0, dtype=np.int64)
    for number in range(len(run.shards)):
        part = read_result(run.folder, number)
        keys = [part.column(unit_key).fill_null("?").to_numpy(zero_copy_only=False) for unit_key in _unit_keys(level)]
        code, different = pd.factorize(pd.MultiIndex.from_arrays(keys))
        for unit in different:
            codes.setdefault(unit, len(codes))
            document_order.setdefault(unit[:-1], len(document_order))
        place = np.array([codes[item] for item in different], dtype=np.int64)[code]
        sizes = _grown(sizes, len(codes))
        np.add.at(sizes, place, 1)
        for name in names:
            rows = _rows(part.column(name))
            sums[name] = _grown(sums.get(name, np.zeros((0, rows.shape[1]))), len(codes))
            np.add.at(sums[name], place, rows)
    order = sorted(codes, key=lambda key: (key[0], document_order[key[:-1]], key[-1]))
    rows_of = np.array([codes[key] for key in order], dtype=np.int64)
    columns: dict[str, Any] = {
        column: [None if column == "lp" and key[at] == "?" else key[at] for key in order]
        for at, column in enumerate(_unit_keys(level))
    }
    units = Units(level, pd.DataFrame({**columns, "segments": sizes[rows_of]}), np.arange(len(order)))
    return units, {name: values[rows_of] for name, values in sums.items()}


def _unit_keys(level: Level) -> tuple[str, ...]:
    return ("lp", *_document(level), "system")


def _document(level: Level) -> tuple[str, ...]:
    return ("doc",) if level == "document" else ()


def _keys(dataset: Dataset, *columns: str) -> dict[str, pa.Array]:
    """Return columns of the source of every candidate, and the systems."""
    source = pa.array(dataset.candidate_source)
    arrays = {column: pa.array(dataset.sources[column].array).take(source) for column in columns}
    return {**arrays, "system": pa.array(dataset.candidates["system"].array)}


def _matrix(statistics: FloatArray) -> pa.Array:
    rows = np.ascontiguousarray(statistics, dtype=np.float64)
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


def _rows(column: pa.ChunkedArray) -> FloatArray:
    lists = column.combine_chunks()
    return np.asarray(lists.flatten()).reshape(len(lists), -1)


def _grown(values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Return `values` with rows of zeros up to `size`."""
    added = np.zeros((size - len(values), *values.shape[1:]), dtype=values.dtype)
    return np.concatenate([values, added])
