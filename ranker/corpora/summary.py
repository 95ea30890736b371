"""Summary of a data set in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import kinds, ratings_of
from ranker.corpora.marked_errors import NO_ERROR, SIDES


def summarise(dataset: Dataset) -> list[dict[str, Any]]:
    """Return one row per language pair, with numbers of sources, references, systems, candidates and judgements."""
    rows: list[dict[str, Any]] = []
    lps = dataset.source_language_pairs
    rated = np.zeros(len(dataset), dtype=bool)
    for kind in kinds(dataset):
        rated[ratings_of(dataset, kind)["candidate"].to_numpy()] = True
    preference_source = dataset.candidate_source[dataset.preferences["first"].to_numpy()]
    for lp in dataset.language_pairs:
        chosen = lps == lp
        candidates = chosen[dataset.candidate_source]
        references = np.diff(dataset.reference_offsets)[chosen]
        rows.append(
            {
                "lp": lp,
                "sources": int(chosen.sum()),
                "documents": int(dataset.sources["doc"][chosen].nunique()),
                "references": f"{references.min()}-{references.max()}",
                "systems": int(dataset.candidates["system"][candidates].nunique()),
                "candidates": int(candidates.sum()),
                "rated": int((rated & candidates).sum()),
                "preferences": int(chosen[preference_source].sum()),
            }
        )
    return rows


def summarise_errors(dataset: Dataset) -> list[dict[str, Any]]:
    """Return a summary of marked errors, one row per language pair.

    The number of ratings counts each rater of each candidate once, with or without errors.
    """
    rows: list[dict[str, Any]] = []
    errors = dataset.errors
    lps = dataset.source_language_pairs[dataset.candidate_source[errors["candidate"].to_numpy()]]
    for lp in dataset.language_pairs:
        chosen = errors[lps == lp]
        marked = chosen[chosen["severity"] != NO_ERROR]
        ratings = len(chosen[["candidate", "rater"]].drop_duplicates())
        rows.append(
            {
                "lp": lp,
                "candidates": int(chosen["candidate"].nunique()),
                "raters": int(chosen["rater"].nunique()),
                "ratings": ratings,
                "without error": (len(chosen) - len(marked)) / ratings if ratings else None,
                "errors": len(marked),
                "no place": int(marked["start"].isna().sum()),
                "in the source": int((marked["side"] == SIDES[1]).sum()),
            }
        )
    return rows


def errors_by_category(dataset: Dataset) -> list[dict[str, Any]]:
    """Return one row per category of marked errors, the most frequent first, with counts by severity."""
    marked = dataset.errors[dataset.errors["severity"] != NO_ERROR]
    severities = marked["severity"].value_counts().sort_index().sort_values(ascending=False, kind="stable")
    categories = marked["category"].value_counts().sort_index().sort_values(ascending=False, kind="stable")
    counts = marked.groupby(["category", "severity"]).size().to_dict()
    rows = [
        {
            "category": "all",
            "errors": len(marked),
            **{name or "none": int(severities[name]) for name in severities.index},
        }
    ]
    for category, number in categories.items():
        by_severity = {name or "none": int(counts.get((category, name), 0)) for name in severities.index}
        rows.append({"category": category or "none", "errors": int(number), **by_severity})
    return rows
