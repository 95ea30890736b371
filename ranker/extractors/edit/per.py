"""Position-independent word error rate (Tillmann et al. 1997)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Metric
from ranker.extractors.edit.wer import error_rate, lowest_rate
from ranker.extractors.text.ngrams import ngram_matches
from ranker.extractors.text.reference_pairs import reference_pairs
from ranker.extractors.text.tokens import Tokenizer, token_batch


@dataclass(frozen=True)
class PositionIndependentErrorRate(Metric):
    r"""PER: words without a counterpart, whatever their order, over the length of the reference; 0 is best.

    .. math:: \min_r \frac{\max(|c|, |r|) - \mathrm{matches}(c, r)}{|r|}

    of candidate c and reference r as bags of words (Tillmann et al. 1997); there is no upper bound. The reference with
    the lowest rate counts, with its own length. An empty candidate scores 1. Against an empty reference a candidate
    with words scores 1, an empty one 0.

    Parameters
    ----------
    tokenizer : {"13a", "none"}, default "13a"
    lowercase : bool, default True

    Notes
    -----
    Statistics: errors against the best reference, length of that reference.
    """

    name: ClassVar[str] = "per"
    family = "words"
    higher_is_better: ClassVar[bool] = False
    width: ClassVar[int] = 2
    tokenizer: Tokenizer = "13a"
    lowercase: bool = True

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return errors and length of the best reference, shape (candidates, 2)."""
        batch, pairs = token_batch(dataset, self.tokenizer, lowercase=self.lowercase), reference_pairs(dataset)
        lengths = np.maximum(batch.candidate_lengths[pairs.candidate], batch.reference_lengths[pairs.reference])
        return lowest_rate(batch, pairs, lengths - ngram_matches(pairs.expand(batch), 1)[:, 0])

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the error rate of statistics of shape (..., 2), shape (...)."""
        return error_rate(statistics)
