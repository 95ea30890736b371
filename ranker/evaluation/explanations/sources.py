"""Explanations of sources as JSON values: contributions to the score of every candidate, or why one is above another.

A value holds all that is printed about its source, so that the data set is not needed any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.evaluation.explanations.pairs import by_family, explain_pairs
from ranker.ranking import Ranker


def sources_of(dataset: Dataset, seg_id: str | None) -> Int64Array:
    """Return the rows of the sources with a ``seg_id``, by default of all."""
    if seg_id is None:
        return np.arange(len(dataset.sources))
    return np.flatnonzero((dataset.sources["seg_id"] == seg_id).fillna(False).to_numpy(bool))


def explained_candidates(
    ranker: Ranker, dataset: Dataset, contributions: FloatArray, sources: Int64Array
) -> Iterator[dict[str, Any]]:
    """Yield for every source its candidates, with contributions and what matched."""
    for source in sources.tolist():
        rows = range(*dataset.candidate_offsets[source : source + 2])
        candidates = [_candidate(ranker, dataset, contributions[row], row) for row in rows]
        yield {**_facts(dataset, source), "candidates": candidates}


def explained_pairs(
    ranker: Ranker, dataset: Dataset, contributions: FloatArray, rows: Int64Array
) -> Iterator[dict[str, Any]]:
    """Yield for every source with both of two candidates the fields of its `PairExplanation`.

    The parameters are those of `explain_pairs`.
    """
    for explanation in explain_pairs(ranker, dataset, contributions, rows):
        yield {**asdict(explanation), **_facts(dataset, explanation.source)}


def _candidate(ranker: Ranker, dataset: Dataset, contributions: FloatArray, row: int) -> dict[str, Any]:
    features = ranker.feature_set
    matches = {
        str(extractor): result for extractor in features.extractors if (result := extractor.evidence(dataset, row))
    }
    families = by_family(contributions, features.families)
    return {
        "system": dataset.candidates["system"].iloc[row],
        "text": dataset.candidates["text"].iloc[row],
        "score": float(contributions.sum()),
        "families": {name: float(value) for name, value in families.items()},
        "contributions": dict(zip(features.columns, contributions.tolist(), strict=True)),
        **({"matches": matches} if matches else {}),
    }


def _facts(dataset: Dataset, source: int) -> dict[str, Any]:
    row = dataset.sources.iloc[source]
    known = {key: row[key] for key in ("lp", "doc", "seg_id") if isinstance(row[key], str)}
    return {**known, "source": row["text"]}
