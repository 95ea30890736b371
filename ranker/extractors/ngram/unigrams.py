"""Metrics of matched words: precision, recall and F score."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Metric
from ranker.text.ngrams import ngram_matches
from ranker.text.ratios import Measure, measured, ratio
from ranker.text.reference_pairs import ReferencePairs, reference_pairs
from ranker.text.repeated_words import align_contexts
from ranker.text.tokens import TokenBatch, Tokenizer, token_batch

UnigramAlignment = Literal["multiset", "isozaki", "ribes"]


class BestMatch(Metric):
    """Base class of metrics based on match size: precision, recall or F score against the best-scoring reference."""

    width: ClassVar[int] = 3
    family = "words"
    measure: ClassVar[Measure]

    @abstractmethod
    def match_sizes(self, dataset: Dataset, batch: TokenBatch, pairs: ReferencePairs) -> npt.NDArray[Any]:
        """Return the match size of each candidate with each of its references, shape (pairs,)."""

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the match size, the candidate's length and the best reference's length, shape (candidates, 3)."""
        batch, pairs = token_batch(dataset, self.tokenizer, lowercase=self.lowercase), reference_pairs(dataset)
        size = self.match_sizes(dataset, batch, pairs)
        lengths = batch.candidate_lengths.astype(np.float64)
        reference_lengths = batch.reference_lengths[pairs.reference].astype(np.float64)
        rows = np.stack([size, lengths[pairs.candidate], reference_lengths], axis=1)
        # F by a single division, so that equal scores have equal bits
        f1 = ratio(2 * size, rows[:, 1] + rows[:, 2])
        best = pairs.best(f1 if self.measure == "f" else self.score(rows), rows)
        alone = np.stack([np.zeros(len(lengths)), lengths, np.zeros(len(lengths))], axis=1)
        return np.where(best[:, np.newaxis] >= 0, rows[best], alone) if len(rows) else alone

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return scores, shape (...), for statistics of shape (..., 3)."""
        rows = np.asarray(statistics, dtype=np.float64)
        return measured(self.measure, ratio(rows[..., 0], rows[..., 1]), ratio(rows[..., 0], rows[..., 2]))


@dataclass(frozen=True)
class _MatchedWords(BestMatch):
    alignment: UnigramAlignment = "multiset"
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False

    def match_sizes(self, dataset: Dataset, batch: TokenBatch, pairs: ReferencePairs) -> Int64Array:
        """Return the number of matched words of each pair, shape (pairs,)."""
        if self.alignment == "multiset":
            return ngram_matches(pairs.expand(batch), 1)[:, 0]
        return align_contexts(dataset, self.alignment, self.tokenizer, lowercase=self.lowercase).lengths


@dataclass(frozen=True)
class Precision(_MatchedWords):
    """Share of the candidate's words that match words of the reference, in [0, 1].

    With ``alignment=multiset`` a word matches as often as both texts contain it, at any position: clipped unigram
    precision (Papineni et al. 2002, section 2.1; Melamed, Green and Turian 2003). Otherwise only the words that `nkt`
    or `ribes` align match, without repeated words whose neighbours do not tell which is which: the precision P of
    Isozaki et al. (2010), section 2.3. Of several references the one counts for which precision, recall or F, whichever
    is reported, is best. For a corpus words are summed first. The score is 0 if the candidate or all references are
    empty.

    Parameters
    ----------
    alignment : {"multiset", "isozaki", "ribes"}, default "multiset"
        Which words match: all words that both texts contain, or those that the contexts of `nkt` or `ribes` align.
    tokenizer : str, default "13a"
    lowercase : bool, default False

    Notes
    -----
    Statistics: matched words, candidate length, length of the best reference.
    """

    name: ClassVar[str] = "precision"
    measure: ClassVar[Measure] = "precision"


@dataclass(frozen=True)
class Recall(_MatchedWords):
    """Share of the reference's words that match words of the candidate, in [0, 1].

    Words match, references are chosen and corpora summed as for `precision` (Melamed, Green and Turian 2003; Isozaki
    et al. 2010). An empty reference scores 0.

    Parameters
    ----------
    alignment, tokenizer, lowercase
        As for `precision`.
    """

    name: ClassVar[str] = "recall"
    measure: ClassVar[Measure] = "recall"


@dataclass(frozen=True)
class F1(_MatchedWords):
    r"""Harmonic mean of the precision and recall of matched words, in [0, 1].

    .. math:: \frac{2 P R}{P + R}

    with P and R as in `precision` and `recall` (Melamed, Green and Turian 2003; Isozaki et al. 2010). If no word
    matches, the score is 0.

    Parameters
    ----------
    alignment, tokenizer, lowercase
        As for `precision`.
    """

    name: ClassVar[str] = "f1"
    measure: ClassVar[Measure] = "f"
