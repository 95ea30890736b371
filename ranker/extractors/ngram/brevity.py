"""Brevity penalty (Papineni et al. 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Metric
from ranker.text.brevity_penalty import brevity_penalty
from ranker.text.ngrams import closest_reference_lengths
from ranker.text.tokens import Tokenizer, token_batch


@dataclass(frozen=True)
class BrevityPenalty(Metric):
    r"""BLEU's brevity penalty BP alone, for candidates shorter than the reference; in [0, 1], where 1 is no penalty.

    .. math:: \exp(\min(0, 1 - r / c))

    of the length c of the candidate and the length r of the reference closest to it in length, or the shorter of two
    equally close ones (Papineni et al. 2002, section 2.2). For a corpus both lengths are summed first. An empty
    candidate scores 0.

    Parameters
    ----------
    tokenizer : str, default "13a"
    lowercase : bool, default False

    Notes
    -----
    Statistics: candidate length, closest reference length.
    """

    name: ClassVar[str] = "bp"
    family = "length"
    width: ClassVar[int] = 2
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return each candidate's length and closest reference length, shape (candidates, 2)."""
        batch = token_batch(dataset, self.tokenizer, lowercase=self.lowercase)
        return np.stack([batch.candidate_lengths, closest_reference_lengths(batch)], axis=1).astype(np.float64)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return brevity penalties, shape (...), for statistics of shape (..., 2)."""
        rows = np.asarray(statistics, dtype=np.float64)
        return brevity_penalty(rows[..., 0], rows[..., 1])
