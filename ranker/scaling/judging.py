"""Scores of the candidates that people judged, with the judgements and without texts.

People judge few candidates. So their scores and judgements of all shards fit into memory, and are evaluated as one data
set: the figures per source, and the bootstrap over sources, are the same.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from ranker.arrays import FloatArray
from ranker.corpora.dataset import SCHEMA, TEXT, Dataset, concatenate, table
from ranker.scaling.plan import Run
from ranker.scaling.scoring import ScoringStage
from ranker.scaling.tasks import read_result

_LEFT_OUT = {"text"}
_TABLES = ("sources", "candidates", "ratings", "preferences")


@dataclass(frozen=True)
class ScoreJudged(ScoringStage):
    """The tables of a shard without texts, with the candidates that have any judgement, and their scores."""

    name: ClassVar[str] = "evaluate"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return one row; each column of each table is a list."""
        shard = self.prepared(dataset, number)
        mask = np.zeros(len(shard), dtype=bool)
        mask[shard.ratings["candidate"].to_numpy()] = True
        for side in ("first", "second"):
            mask[shard.preferences[side].to_numpy()] = True
        kept = shard.select_candidates(mask, peers=True)
        scores = self.scorers.scorers()[0].candidate_scores(kept) if len(kept) else np.zeros(0)
        columns: dict[str, pa.Array] = {"scores": _one_list(pa.array(scores))}
        for name in _TABLES:
            rows = getattr(kept, name)
            columns |= {
                f"{name}.{column}": _one_list(pa.array(rows[column].array))
                for column in SCHEMA[name]
                if column not in _LEFT_OUT
            }
        return pa.table(columns), self.note(kept) if len(kept) else None


def judged_candidates(run: Run) -> tuple[Dataset, FloatArray]:
    """Return all judged candidates without texts, and the score of every one, shape (candidates,)."""
    parts: list[Dataset] = []
    scores: list[FloatArray] = []
    for number in range(len(run.shards)):
        part = read_result(run.folder, number)
        scores.append(_values(part, "scores").to_numpy(zero_copy_only=False).astype(np.float64))
        tables = {name: _table(part, name) for name in _TABLES}
        parts.append(Dataset(run.shards.name, references=table("references"), **tables))
    return dataclasses.replace(concatenate(parts), name=run.shards.name), np.concatenate(scores)


def _table(part: pa.Table, name: str) -> pd.DataFrame:
    made: dict[str, Any] = {}
    for column, kind in SCHEMA[name].items():
        if column in _LEFT_OUT:
            continue
        values = _values(part, f"{name}.{column}")
        made[column] = pd.arrays.ArrowStringArray(values) if kind == TEXT else values.to_numpy(zero_copy_only=False)
    size = len(next(iter(made.values())))
    texts = {column: np.full(size, "", dtype=object) for column in _LEFT_OUT & SCHEMA[name].keys()}
    return table(name, {**made, **texts})


def _one_list(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pa.LargeListArray.from_arrays(pa.array([0, len(flat)]), flat)


def _values(part: pa.Table, column: str) -> pa.Array:
    return part.column(column).combine_chunks().flatten()
