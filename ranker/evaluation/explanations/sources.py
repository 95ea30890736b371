"""Explanations of the candidates of sources, as JSON values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.evaluation.explanations.pairs import by_family
from ranker.ranking.ranker import Ranker


def sources_of(dataset: Dataset, seg_id: str | None) -> Int64Array:
    """Return the rows of the sources with this ``seg_id``, or of all sources if it is None."""
    if seg_id is None:
        return np.arange(len(dataset.sources))
    return np.flatnonzero((dataset.sources["seg_id"] == seg_id).fillna(False).to_numpy(bool))


def source_facts(dataset: Dataset, source: int) -> dict[str, Any]:
    """Return the known properties of a source: ``lp``, ``doc``, ``seg_id``, and its text as ``source``."""
    row = dataset.sources.iloc[source]
    known = {key: row[key] for key in ("lp", "doc", "seg_id") if isinstance(row[key], str)}
    return {**known, "source": row["text"]}


def without_unread_sources(ranker: Ranker, dataset: Dataset, contributions: FloatArray) -> tuple[Ranker, FloatArray]:
    """Leave out the extractors that compare candidates with their sources if they have no weight in the data."""
    kept = ~ranker.weight_sets.unread_in(dataset)
    part = None if kept.all() else ranker.restricted_to(kept)
    return (ranker, contributions) if part is None else (part, contributions[:, ranker.feature_set.columns_of(kept)])


def explain_candidate(ranker: Ranker, dataset: Dataset, contributions: FloatArray, row: int) -> dict[str, Any]:
    """Return a candidate as JSON values: its score, the contributions of features to the score, and its matches."""
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
