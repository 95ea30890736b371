"""Summary of a data set in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranker.corpora.dataset import Dataset, source_language_pairs


def summarise(dataset: Dataset) -> list[dict[str, Any]]:
    """Return one row a language pair: sources, references and candidates per source, systems, judgements."""
    rows: list[dict[str, Any]] = []
    lps = source_language_pairs(dataset)
    rated = np.zeros(len(dataset), dtype=bool)
    rated[dataset.ratings["candidate"].to_numpy()] = True
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
