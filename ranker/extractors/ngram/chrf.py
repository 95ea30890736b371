"""chrF (Popović 2015) and chrF++ (Popović 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import Metric
from ranker.extractors.sacrebleu_signature import sacrebleu_signature
from ranker.text.ngrams import ngram_matches
from ranker.text.pairs import TextPairs, pair_ngram_matches
from ranker.text.reference_pairs import ReferencePairs, reference_pairs
from ranker.text.tokens import TokenBatch, Tokenizer, token_batch

_EPSILON = 1e-16


@dataclass(frozen=True)
class Chrf(Metric):
    r"""F score of matched character n-grams, and also word n-grams for chrF++, in [0, 1].

    .. math:: \frac{(1 + \beta^2) P R}{\beta^2 P + R}

    with P and R the means of the precisions and recalls of the orders that both sides are long enough for (Popović
    2015; word n-grams: Popović 2017). Of several references the best one counts, of equal ones the first, as in
    sacreBLEU. A candidate or reference without characters scores 0.

    Parameters
    ----------
    order : int, default 6
        Longest character n-gram, 1 to 9.
    word_order : int, default 0
        Longest word n-gram, 0 to 9; 2 makes chrF++.
    beta : float, default 2.0
        How many times as much recall counts as precision; chrF2.
    whitespace : bool, default False
        Count white space as characters.
    epsilon : bool, default False
        Average the F scores of all orders instead; for an order without n-grams, P and R are taken to be 1e-16.
    lowercase : bool, default False

    Notes
    -----
    Statistics: n-grams of the candidate, of the reference, and matched, for every order, of the best reference. Scores
    equal sacreBLEU's divided by 100.
    """

    name: ClassVar[str] = "chrf"
    family = "words"
    order: int = 6
    word_order: int = 0
    beta: float = 2.0
    whitespace: bool = False
    epsilon: bool = False
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for option, lowest in (("order", 1), ("word_order", 0)):
            if not lowest <= getattr(self, option) <= 9:
                raise OptionError(f"chrf[{option}={getattr(self, option)}]: expected {lowest} to 9")
        if not 0 < self.beta <= 1e6:
            raise OptionError(f"chrf[beta={self.beta:g}]: expected a positive number of at most 1,000,000")

    @property
    def tokenizer(self) -> Tokenizer:  # type: ignore[override]
        """Tokenizer that splits texts into characters, with or without white space."""
        return "spaced-characters" if self.whitespace else "char"

    def sacrebleu(self, dataset: Dataset, *, segments: bool) -> str:
        """Return sacreBLEU's signature for the same score."""
        return sacrebleu_signature(
            f"chrF{self.beta:g}" + "+" * self.word_order,
            dataset,
            case="lc" if self.lowercase else "mixed",
            eff=not self.epsilon,
            nc=self.order,
            nw=self.word_order,
            space=self.whitespace,
        )

    @property
    def width(self) -> int:
        """Number of columns of the statistics: three counts for each n-gram order."""
        return 3 * (self.order + self.word_order)

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return the numbers of candidate n-grams, reference n-grams and matches, shape (candidates, 3 x orders)."""
        pairs = reference_pairs(dataset)
        rows = np.concatenate([_counts(pairs, part, order) for part, order in self._parts(dataset)], axis=1)
        if (np.diff(dataset.reference_offsets) == 1).all():
            return rows[np.argsort(pairs.candidate)]
        best = pairs.best(self.score(rows))
        return np.where(best[:, np.newaxis] >= 0, rows[best], 0.0)

    def pair_statistics(self, pairs: TextPairs) -> FloatArray:
        """Return the statistics of text pairs; the n-grams of each text are counted only once."""
        rows = []
        for part, order in self._parts(pairs.texts):
            candidate_totals, reference_totals = (
                part.candidate_lengths[side] for side in (pairs.candidate, pairs.reference)
            )
            rows.append(_stacked(candidate_totals, reference_totals, pair_ngram_matches(part, pairs, order)))
        return np.concatenate(rows, axis=1)

    def swapped_statistics(self, pair_statistics: FloatArray) -> FloatArray | None:
        """Return the statistics with both texts' n-grams exchanged, or None if ``epsilon`` makes scores asymmetric."""
        if self.epsilon:
            return None
        exchanged = pair_statistics.copy()
        exchanged[:, 0::3], exchanged[:, 1::3] = pair_statistics[:, 1::3], pair_statistics[:, 0::3]
        return exchanged

    def _parts(self, dataset: Dataset) -> list[tuple[TokenBatch, int]]:
        """Return the batches of characters and, for chrF++, of words, each with its largest n-gram order."""
        parts = [(token_batch(dataset, self.tokenizer, lowercase=self.lowercase), self.order)]
        if self.word_order:
            parts.append((token_batch(dataset, "chrf-words", lowercase=self.lowercase), self.word_order))
        return parts

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return chrF scores, shape (...), for statistics of shape (..., 3 x orders)."""
        rows = np.asarray(statistics, dtype=np.float64)
        candidate_totals, reference_totals, matched = (rows[..., start::3] for start in range(3))
        factor = self.beta**2
        precision = np.divide(
            matched, candidate_totals, out=np.full(candidate_totals.shape, _EPSILON), where=candidate_totals > 0
        )
        recall = np.divide(
            matched, reference_totals, out=np.full(candidate_totals.shape, _EPSILON), where=reference_totals > 0
        )
        if self.epsilon:
            return np.asarray(_f_score(precision, recall, factor, _EPSILON).mean(axis=-1))
        used = (candidate_totals > 0) & (reference_totals > 0)
        number = np.maximum(used.sum(axis=-1), 1)
        mean_precision, mean_recall = ((part * used).sum(axis=-1) / number for part in (precision, recall))
        return _f_score(mean_precision, mean_recall, factor, 0.0)


def _counts(pairs: ReferencePairs, batch: TokenBatch, order: int) -> FloatArray:
    """Return the numbers of candidate n-grams, reference n-grams and matches, shape (pairs, 3 x order)."""
    expanded = pairs.expand(batch)
    return _stacked(
        expanded.candidate_lengths, batch.reference_lengths[pairs.reference], ngram_matches(expanded, order)
    )


def _stacked(candidate_lengths: Int64Array, reference_lengths: Int64Array, matches: Int64Array) -> FloatArray:
    """Return the statistics of pairs, given the lengths of both texts and the matches of each order."""
    shorter = np.arange(matches.shape[1])
    candidate_totals, reference_totals = (
        np.maximum(lengths[:, np.newaxis] - shorter, 0) for lengths in (candidate_lengths, reference_lengths)
    )
    # an order that the reference is too short for counts on neither side
    counts = np.stack([np.where(reference_totals > 0, candidate_totals, 0), reference_totals, matches], axis=2)
    return counts.reshape(len(matches), 3 * matches.shape[1]).astype(np.float64)


def _f_score(precision: FloatArray, recall: FloatArray, factor: float, nothing: float) -> FloatArray:
    denominator = factor * precision + recall
    filled = np.full(denominator.shape, nothing)
    return np.asarray(np.divide((1 + factor) * precision * recall, denominator, out=filled, where=denominator > 0))
