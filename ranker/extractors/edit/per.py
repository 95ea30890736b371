"""Position-independent word error rate (Tillmann et al. 1997)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.extractors.edit.wer import ReferenceErrorRate
from ranker.text.ngrams import ngram_matches
from ranker.text.reference_pairs import ReferencePairs
from ranker.text.tokens import TokenBatch


@dataclass(frozen=True)
class PositionIndependentErrorRate(ReferenceErrorRate):
    r"""PER: number of unmatched words, regardless of word order, over the length of the reference; 0 is best.

    .. math:: \min_r \frac{\max(|c|, |r|) - \mathrm{matches}(c, r)}{|r|}

    of candidate c and reference r as bags of words (Tillmann et al. 1997); there is no upper bound. The reference with
    the lowest rate counts, with its own length, and of those with equal rates the shortest. An empty candidate scores
    1. Against an empty reference, a candidate with words scores 1 and an empty candidate 0.

    Parameters
    ----------
    tokenizer : {"13a", "none"}, default "13a"
    lowercase : bool, default True

    Notes
    -----
    Statistics: errors against the best reference, length of that reference.
    """

    name: ClassVar[str] = "per"

    def _errors(self, dataset: Dataset, batch: TokenBatch, pairs: ReferencePairs) -> Int64Array:
        lengths = np.maximum(batch.candidate_lengths[pairs.candidate], batch.reference_lengths[pairs.reference])
        return np.asarray(lengths - ngram_matches(pairs.expand(batch), 1)[:, 0])
