"""Word error rates against the best of several references: WER (Nießen et al. 2000), PER (Tillmann et al. 1997)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Metric
from ranker.extractors.edit.distance import edit_distances
from ranker.text.reference_pairs import ReferencePairs, reference_pairs
from ranker.text.tokens import TokenBatch, Tokenizer, token_batch


def error_rate(statistics: npt.ArrayLike) -> FloatArray:
    """Return error rates, shape (...), for statistics of shape (..., 2), which are errors and lengths.

    At length 0, the rate is 1 if there are errors, else 0.
    """
    rows = np.asarray(statistics, dtype=np.float64)
    errors, length = rows[..., 0], rows[..., 1]
    return np.asarray(np.divide(errors, length, out=np.asarray(np.where(errors > 0, 1.0, 0.0)), where=length > 0))


MOST_TOKENS = 100_000


@dataclass(frozen=True)
class ReferenceErrorRate(Metric):
    """Base class of WER and PER: errors divided by reference length, for the reference with the lowest rate."""

    family = "words"
    higher_is_better: ClassVar[bool] = False
    width: ClassVar[int] = 2
    tokenizer: Tokenizer = "13a"
    lowercase: bool = True

    @abstractmethod
    def _errors(self, dataset: Dataset, batch: TokenBatch, pairs: ReferencePairs) -> Int64Array:
        """Return the number of errors of each pair, shape (pairs,)."""

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return each candidate's errors against its best reference and that reference's length, (candidates, 2)."""
        batch, pairs = token_batch(dataset, self.tokenizer, lowercase=self.lowercase), reference_pairs(dataset)
        errors = self._errors(dataset, batch, pairs)
        rows = np.stack([errors, batch.reference_lengths[pairs.reference]], axis=1).astype(np.float64)
        alone = np.stack([batch.candidate_lengths, np.zeros(len(batch.candidate))], axis=1)
        if not len(rows):
            return alone.astype(np.float64)
        best = pairs.best(-error_rate(rows), -rows)
        return np.where(best[:, np.newaxis] >= 0, rows[best], alone)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return error rates, shape (...), for statistics of shape (..., 2)."""
        return error_rate(statistics)


@dataclass(frozen=True)
class WordErrorRate(ReferenceErrorRate):
    r"""WER: word edit distance over the length of the reference; 0 is best, and there is no upper bound.

    .. math:: \min_r \frac{\mathrm{insertions} + \mathrm{deletions} + \mathrm{substitutions}}{|r|}

    (Nießen et al. 2000); the reference r with the lowest rate counts, with its own length (Cer et al. 2010, footnote
    8), and of those with equal rates the shortest. An empty candidate scores 1; against an empty reference, it scores 0
    and a candidate with words 1.

    Parameters
    ----------
    tokenizer : {"13a", "none"}, default "13a"
    lowercase : bool, default True

    Notes
    -----
    Statistics: edits against the best reference, length of that reference.
    """

    name: ClassVar[str] = "wer"

    def _errors(self, dataset: Dataset, batch: TokenBatch, pairs: ReferencePairs) -> Int64Array:
        pairs.refuse_long(batch, dataset, self.name, MOST_TOKENS)
        return edit_distances(
            batch.segments.values,
            batch.segments.offsets,
            batch.candidate[pairs.candidate],
            batch.reference[pairs.reference],
        )
