"""General Text Matcher (Melamed, Green and Turian 2003; Turian, Shen and Melamed 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.ngram.unigrams import BestMatch
from ranker.text.ratios import Measure
from ranker.text.reference_pairs import ReferencePairs
from ranker.text.sequences import run_sums
from ranker.text.tokens import TokenBatch, Tokenizer

MOST_TOKENS = 2_000
"""Maximum length of candidate and reference; doubling it takes at least eight times as long."""
_LARGEST_EXPONENT = 50
"""Largest exponent for which powers of run lengths cannot overflow."""


@dataclass(frozen=True)
class Gtm(BestMatch):
    r"""Size of the matched runs of words over the length of candidate (precision) or reference (recall), in [0, 1].

    .. math:: \text{size} = \Bigl(\sum_{\text{runs}} \text{length}^e\Bigr)^{1/e}

    over common runs of words, the longest taken first and no word twice (Turian, Shen and Melamed 2003, section 3).
    With e = 1 it is the number of matched words, and P, R and F are those of a bag of words; larger e rewards long
    runs. Of several references the one with the best `measure` counts. An empty side scores 0.

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
    exponent: float = 1.0
    measure: Measure = "f"  # type: ignore[misc]
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 1 <= self.exponent <= _LARGEST_EXPONENT:
            raise OptionError(f"gtm[exponent={self.exponent:g}]: expected a number from 1 to {_LARGEST_EXPONENT}")

    def match_sizes(self, dataset: Dataset, batch: TokenBatch, pairs: ReferencePairs) -> FloatArray:
        """Return the match size of each pair, shape (pairs,)."""
        pairs.refuse_long(batch, dataset, self.name, MOST_TOKENS)
        candidate, reference = batch.candidate[pairs.candidate], batch.reference[pairs.reference]
        sums = run_sums(batch.segments.values, batch.segments.offsets, candidate, reference, self.exponent)
        return np.asarray(sums ** (1 / self.exponent))
