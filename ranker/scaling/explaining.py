"""Explanations of the scores of shards: one JSON value per source, as ``ranker explain`` prints it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from ranker.corpora.dataset import Dataset
from ranker.corpora.system_pairs import rows_of_systems
from ranker.evaluation.explanations.pairs import left_out
from ranker.evaluation.explanations.sources import explained_candidates, explained_pairs, sources_of
from ranker.ranking import RankerScorer
from ranker.scaling.plan import Run
from ranker.scaling.scoring import ScoringStage
from ranker.scaling.tasks import Finished, read_result
from ranker.storage.escapes import json_text

_KEYS = ("lp", "doc", "seg_id")


@dataclass(frozen=True)
class ExplainSources(ScoringStage):
    """The explanation of every source, or of those with a ``seg_id``.

    Parameters
    ----------
    seg_id : str or None
    pair : (str, str) or None
        Two systems whose difference is explained; by default the scores of all candidates are.
    """

    name: ClassVar[str] = "explain"
    seg_id: str | None = None
    pair: tuple[str, str] | None = None

    def signature(self) -> str:
        """Return that of the ranker, and what is explained."""
        return f"{super().signature()}\nseg_id={self.seg_id!r}\npair={self.pair!r}"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return ``lp``, ``doc``, ``seg_id`` and ``explanation``, JSON; null for a source with one system of a pair."""
        shard = self.prepared(dataset)
        if self.seg_id is not None:
            mask = [False] * len(shard.sources)
            for source in sources_of(shard, self.seg_id).tolist():
                mask[source] = True
            shard = shard.select_sources(mask)
        scorer = self.scorers.scorers()[0]
        if not len(shard) or not isinstance(scorer, RankerScorer):
            return _table([]), None
        ranker = scorer.ranker
        matrix = ranker.contributions(shard)
        if self.pair is None:
            explanations = [*explained_candidates(ranker, shard, matrix, sources_of(shard, None))]
            return _table(explanations), self.note(shard)
        rows = rows_of_systems(shard, *self.pair)
        explanations = [*explained_pairs(ranker, shard, matrix, rows)]
        return _table(explanations, left_out(rows)), self.note(shard)


@dataclass(frozen=True)
class Explanations:
    """The explanations of all shards, read again each time.

    Parameters
    ----------
    run : Run
    finished : sequence of Finished
    """

    run: Run
    finished: Sequence[Finished]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the explanation of every source."""
        for part in self._parts():
            for text in part.drop_null().to_pylist():
                yield json.loads(text)

    @property
    def left_out(self) -> int:
        """Sources with one system of a pair only."""
        return sum(part.null_count for part in self._parts())

    def _parts(self) -> Iterator[pa.ChunkedArray]:
        for shard in self.finished:
            yield read_result(self.run.folder, shard.number).column("explanation")


def _table(explanations: Sequence[dict[str, Any]], missing: int = 0) -> pa.Table:
    keys = {key: [explanation.get(key) for explanation in explanations] + [None] * missing for key in _KEYS}
    texts = [json_text(explanation) for explanation in explanations] + [None] * missing
    return pa.table({**keys, "explanation": texts}, schema=_SCHEMA)


_SCHEMA = pa.schema([(name, pa.large_string()) for name in (*_KEYS, "explanation")])
