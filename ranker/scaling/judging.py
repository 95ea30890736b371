"""The candidates that people judged, with the judgements and without texts: their scores, and their features.

People judge few candidates. So their judgements, scores and features of all shards fit into memory, and are evaluated
and learnt from as in one data set: the figures per source, the bootstrap over sources and the optimum are the same.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset, concatenate
from ranker.corpora.judgements import judged, resolve_kind
from ranker.corpora.schema import SCHEMA, TEXT, table
from ranker.errors import OptionError
from ranker.extractors.feature_sets import FeatureSet
from ranker.extractors.needs import usable
from ranker.extractors.target_language import english_note
from ranker.ranking import Ranker
from ranker.scaling.plan import Run
from ranker.scaling.references import AllReferences
from ranker.scaling.scorers import check_by_shards
from ranker.scaling.scoring import ScoringStage
from ranker.scaling.tasks import Stage, read_result
from ranker.settings import AUTO
from ranker.shipped import standard_features
from ranker.storage.mapped import mapped
from ranker.training_data import TrainingTable

_LEFT_OUT = {"text"}
_TABLES = ("sources", "candidates", "ratings", "preferences")


@dataclass(frozen=True)
class ScoreJudged(ScoringStage):
    """The tables of a shard without texts, with the candidates that have any judgement, and their scores."""

    name: ClassVar[str] = "evaluate"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return one row; each column of each table is a list."""
        judged_outputs = _any_judged(self.prepared(dataset))
        scores = self.scorers.scorers()[0].candidate_scores(judged_outputs) if len(judged_outputs) else np.zeros(0)
        return _stored(judged_outputs, scores=scores), self.note(judged_outputs) if len(judged_outputs) else None


@dataclass(frozen=True)
class MakeFeatures(Stage):
    """The tables of a shard without texts, with the candidates that have any judgement, and their features.

    Parameters
    ----------
    features : str
        Notation of the extractors.
    whole : AllReferences
    references : bool
        Whether references are used.
    """

    name: ClassVar[str] = "features"
    features: str
    whole: AllReferences
    references: bool = True

    def signature(self) -> str:
        """Return the signature of the features, and of what they learn from."""
        features = FeatureSet.parse(self.features).signature()
        return f"{features}\nwhole={self.whole.digest}\nreferences={self.references}"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return one row; each column of each table is a list."""
        features = FeatureSet.parse(self.features)
        shard = (dataset if self.references else dataset.without_references()).within(self.whole.sums)
        judged_outputs = _any_judged(shard)
        columns = features.transform(judged_outputs) if len(judged_outputs) else np.zeros((0, len(features.columns)))
        known = usable(features.extractors, judged_outputs)
        return _stored(judged_outputs, columns=columns.ravel(), known=known.ravel()), None


def judged_candidates(run: Run) -> tuple[Dataset, FloatArray]:
    """Return all judged candidates without texts, and the score of every one, shape (candidates,)."""
    return _judgements(run), _all(run, "scores").astype(np.float64)


def train(run: Run, ranker: Ranker, *, references: bool = True) -> None:
    """Train a ranker that is not adapted from another on shards.

    Parameters
    ----------
    run : Run
        Its folder keeps the features.
    ranker : Ranker
        With the settings.
    references : bool
        Whether references are used.

    Raises
    ------
    OptionError
        If a feature cannot be made shard by shard.
    DataError
        If a shard cannot be read, or there is nothing to learn.
    """
    all_references = run.collect_references(references=references)
    features = ranker.feature_set
    notes: tuple[str, ...] = ()
    if ranker.settings.features == AUTO:
        chosen, notes = standard_features(all_references.dataset())
        features = FeatureSet.parse(chosen)
    check_by_shards(features.members, "the features")
    learning = [member for member in features.members if member.fit_scope == "train"]
    if learning:
        raise OptionError(f"{learning[0]} learns from the texts of all training data: remove it, or train on one file")
    whole = run.count_references(all_references, features.members, references=references)
    finished = run.map(MakeFeatures(str(features), whole, references), run.folder)
    run.check(finished)
    dataset = _judgements(run)
    kind = resolve_kind(dataset, ranker.settings.kind)
    rows = judged(dataset, kind)
    known: BoolArray = _all(run, "known").astype(bool).reshape(len(dataset.sources), -1)
    judged_outputs = dataset.select_candidates(rows)
    table = TrainingTable.of_columns(
        features, judged_outputs, kind, ranker.settings.pairs, _features(run, rows, len(features.columns)), known
    )
    language_note = english_note(features.members, whole.dataset()) or features.note(whole.dataset())
    ranker.fit_columns(features, table, run.digest(finished), (*notes, *filter(None, [language_note])))


def _features(run: Run, rows: BoolArray, columns: int) -> FloatArray:
    """Return the features of the candidates where the mask `rows` is true, as a file in the run's folder."""
    matrix = mapped((int(rows.sum()), columns), run.folder)
    done = filled = 0
    for number in range(len(run.shards)):
        values = _values(read_result(run.folder, number), "columns").to_numpy(zero_copy_only=False)
        part = values.reshape(-1, columns)
        block = part[rows[done : done + len(part)]]
        matrix[filled : filled + len(block)] = block
        done, filled = done + len(part), filled + len(block)
    return matrix


def _any_judged(shard: Dataset) -> Dataset:
    """Return a shard with the candidates that have any judgement."""
    mask = np.zeros(len(shard), dtype=bool)
    mask[shard.ratings["candidate"].to_numpy()] = True
    for side in ("first", "second"):
        mask[shard.preferences[side].to_numpy()] = True
    return shard.select_candidates(mask, peers=True)


def _stored(dataset: Dataset, **arrays: npt.NDArray[Any]) -> pa.Table:
    columns = {name: _one_list(pa.array(values)) for name, values in arrays.items()}
    for name in _TABLES:
        rows = getattr(dataset, name)
        columns |= {
            f"{name}.{column}": _one_list(pa.array(rows[column].array))
            for column in SCHEMA[name]
            if column not in _LEFT_OUT
        }
    return pa.table(columns)


def _judgements(run: Run) -> Dataset:
    parts = []
    for number in range(len(run.shards)):
        stored = read_result(run.folder, number)
        tables = {name: _table(stored, name) for name in _TABLES}
        parts.append(Dataset(run.shards.name, references=table("references"), **tables))
    return dataclasses.replace(concatenate(parts), name=run.shards.name)


def _all(run: Run, name: str) -> npt.NDArray[Any]:
    """Return the values that all shards have stored under a name, one after the other."""
    parts = (_values(read_result(run.folder, number), name) for number in range(len(run.shards)))
    return np.concatenate([part.to_numpy(zero_copy_only=False) for part in parts])


def _table(part: pa.Table, name: str) -> pd.DataFrame:
    series: dict[str, Any] = {}
    for column, kind in SCHEMA[name].items():
        if column in _LEFT_OUT:
            continue
        values = _values(part, f"{name}.{column}")
        series[column] = pd.arrays.ArrowStringArray(values) if kind == TEXT else values.to_numpy(zero_copy_only=False)
    size = len(next(iter(series.values())))
    texts = {column: np.full(size, "", dtype=object) for column in _LEFT_OUT & SCHEMA[name].keys()}
    return table(name, {**series, **texts})


def _one_list(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pa.LargeListArray.from_arrays(pa.array([0, len(flat)]), flat)


def _values(part: pa.Table, column: str) -> pa.Array:
    return part.column(column).combine_chunks().flatten()
