"""Matching of contextual vectors as a similarity of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.extractors.semantic.features import COLUMNS, Semantic
from ranker.extractors.text.text_pairs import TextPairs


@dataclass(frozen=True)
class SemanticSimilarity:
    """The F score of `Semantic`, the same in both directions; each different text is embedded once."""

    semantic: Semantic
    compares_both: ClassVar[bool] = True

    def fit(self, texts: Dataset, rows: Int64Array) -> SemanticSimilarity:
        """Return this similarity: there is nothing to learn."""
        return self

    def compare(self, pairs: TextPairs) -> FloatArray:
        """Return the F scores."""
        rows, places = np.unique(np.stack([pairs.candidate, pairs.reference], axis=1), return_inverse=True)
        codes, texts = pd.factorize(pairs.texts.candidates["text"].iloc[rows])
        pair_codes = codes[places.reshape(-1, 2)].astype(np.int64)
        return self.semantic.compare(texts.to_numpy(object).tolist(), pair_codes)[:, COLUMNS.index("f")]

    def compare_both(self, pairs: TextPairs) -> tuple[FloatArray, FloatArray]:
        """Return the F scores twice."""
        scores = self.compare(pairs)
        return scores, scores
