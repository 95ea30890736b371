"""General Text Matcher (Melamed, Green and Turian 2003; Turian, Shen and Melamed 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import Metric
from ranker.extractors.text.ratios import Measure, measured, ratio
from ranker.extractors.text.reference_pairs import reference_pairs
from ranker.extractors.text.sequences import run_sums
from ranker.extractors.text.tokens import Tokenizer, token_batch

MOST_TOKENS = 2_000
_LARGEST_EXPONENT = 50
"""With more, the powers of run lengths could overflow."""
"""Maximum length of candidate and reference; doubling it takes at least eight times as long."""


@dataclass(frozen=True)
class Gtm(Metric):
    r"""Size of the match over the length of candidate (precision) and reference (recall), in [0, 1].

    .. math:: \text{size} = \Bigl(\sum_{\text{runs}} \text{length}^e\Bigr)^{1/e}

    over common runs of words, the longest taken first and no word twice (Turian, Shen and Melamed 2003, section 3).
    With e = 1 it is the number of matched words, and P, R and F are those of a bag of words; larger e rewards long
    runs. With several references the one with the best F counts. An empty side scores 0.

    Parameters
    ----------
    exponent : float, default 1.0
        e, at least 1.
    measure : {"f", "precision", "recall"}, default "f"
    tokenizer : str, default "13a"
    lowercase : bool, default False

    Notes
    -----
    Statistics: match size, candidate length and reference length of the best reference.
    """

    name: ClassVar[str] = "gtm"
    family = "words"
    width: ClassVar[int] = 3
    exponent: float = 1.0
    measure: Measure = "f"
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 1 <= self.exponent <= _LARGEST_EXPONENT:
            raise OptionError(f"gtm[exponent={self.exponent:g}]: expected a number from 1 to {_LARGEST_EXPONENT}, as 2")

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return match size, candidate length and reference length, shape (candidates, 3)."""
        batch, pairs = token_batch(dataset, self.tokenizer, lowercase=self.lowercase), reference_pairs(dataset)
        pairs.refuse_long(batch, dataset, self.name, MOST_TOKENS)
        sums = run_sums(
            batch.segments.values,
            batch.segments.offsets,
            batch.candidate[pairs.candidate],
            batch.reference[pairs.reference],
            self.exponent,
        )
        size = sums ** (1 / self.exponent)
        reference_lengths = batch.reference_lengths[pairs.reference].astype(np.float64)
        candidate_lengths = batch.candidate_lengths.astype(np.float64)
        # F by a single division, so that equal ones are equal
        best = pairs.best(ratio(2 * size, candidate_lengths[pairs.candidate] + reference_lengths))
        matched = best >= 0
        return np.stack(
            [np.where(matched, size[best], 0.0), candidate_lengths, np.where(matched, reference_lengths[best], 0.0)],
            axis=1,
        )

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return the score of statistics of shape (..., 3), shape (...)."""
        rows = np.asarray(statistics, dtype=np.float64)
        return measured(self.measure, ratio(rows[..., 0], rows[..., 1]), ratio(rows[..., 0], rows[..., 2]))
