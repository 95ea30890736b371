"""Rank correlation of word orders: NKT and NSR (Isozaki et al. 2010) and RIBES."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ranker.arrays import FloatArray, Int32Array, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import SentenceMean
from ranker.ranks import group_spearman, sort_counting
from ranker.storage.kernels import kernel
from ranker.text.brevity_penalty import brevity_penalty
from ranker.text.ratios import ratio
from ranker.text.reference_pairs import reference_pairs
from ranker.text.repeated_words import Contexts, WordOrders, align_contexts
from ranker.text.tokens import Tokenizer, token_batch


@kernel(elements=300_000, offsets=("offsets",))
def _ascending_pairs(positions: Int32Array, offsets: Int64Array) -> Int64Array:
    counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    for pair in range(len(counts)):
        # strictly ascending pairs are the inversions of the sequence read backwards
        backwards = positions[offsets[pair] : offsets[pair + 1]][::-1].copy()
        counts[pair] = sort_counting(backwards, np.empty_like(backwards))
    return counts


def normalised_kendall(orders: WordOrders) -> FloatArray:
    """Return the share of ascending word pairs, 0 for fewer than two words (Isozaki et al. 2010, section 2.2)."""
    n = orders.lengths
    all_pairs = np.maximum(n * (n - 1) / 2, 1.0)
    return np.asarray(_ascending_pairs(orders.positions, orders.offsets) / all_pairs)


def normalised_spearman(orders: WordOrders) -> FloatArray:
    """Return (rho + 1) / 2, with average ranks for ties; 0 for fewer than two words (Isozaki et al. 2010, 2.2)."""
    places = np.arange(len(orders.positions))
    rho = group_spearman(places, orders.positions, orders.offsets, tie_corrected=False, constant=True)
    return np.where(orders.lengths > 1, (rho + 1) / 2, 0.0)


def _weighted(
    correlation: FloatArray,
    matched: Int64Array,
    lengths: tuple[Int64Array, Int64Array],
    powers: tuple[float, float],
    f: float = 0.0,
) -> FloatArray:
    """Return correlation x precision^a x BP^b x F^f for each pair, with `powers` (a, b), shape (pairs,)."""
    candidate_lengths, reference_lengths = lengths
    share = matched / np.maximum(candidate_lengths, 1)
    scores = correlation * share ** powers[0] * brevity_penalty(candidate_lengths, reference_lengths) ** powers[1]
    return np.asarray(scores * ratio(2 * matched, candidate_lengths + reference_lengths) ** f if f else scores)


def _lengths(dataset: Dataset, tokenizer: Tokenizer, *, lowercase: bool) -> tuple[Int64Array, Int64Array]:
    """Return the number of words of the candidate and of the reference in each pair."""
    batch, pairs = token_batch(dataset, tokenizer, lowercase=lowercase), reference_pairs(dataset)
    return batch.candidate_lengths[pairs.candidate], batch.reference_lengths[pairs.reference]


@dataclass(frozen=True)
class _RankCorrelation(SentenceMean):
    """Base class of NKT and NSR: their options, and the factors applied to the correlation."""

    precision: float = 0.0
    f: float = 0.0
    brevity: bool = False
    alignment: Contexts = "isozaki"
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for option in ("precision", "f"):
            if not 0 <= getattr(self, option) < np.inf:
                raise OptionError(f"{self.name}[{option}={getattr(self, option)}]: expected an exponent of 0 or more")

    def sentence_scores(self, dataset: Dataset) -> FloatArray:
        """Return each candidate's score against its best reference, shape (candidates,)."""
        orders = align_contexts(dataset, self.alignment, self.tokenizer, lowercase=self.lowercase)
        lengths = _lengths(dataset, self.tokenizer, lowercase=self.lowercase)
        powers = self.precision, float(self.brevity)
        scores = _weighted(self._correlation(orders), orders.lengths, lengths, powers, self.f)
        return reference_pairs(dataset).highest(scores)

    @abstractmethod
    def _correlation(self, orders: WordOrders) -> FloatArray:
        """Return the correlation of each pair's word orders, shape (pairs,)."""


@dataclass(frozen=True)
class NormalisedKendall(_RankCorrelation):
    r"""NKT: share of aligned word pairs that are in the order of the reference, times optional factors, in [0, 1].

    .. math:: \mathrm{NKT} \cdot P^a \cdot F^b \cdot BP, \quad \mathrm{NKT} = (\tau + 1) / 2, \quad P = n / c,
              \quad F = 2 n / (c + r), \quad BP = \exp(\min(0, 1 - r / c))

    with n aligned words of the c of the candidate and the r of the reference (Isozaki et al. 2010, sections 2.2-2.3).
    With several references the best score counts; the score of a corpus is the mean. Fewer than two aligned words
    score 0.

    Parameters
    ----------
    precision : float, default 0.0
        The exponent a of the precision; the paper has 0, 1/8, 1/4, 1/2 and 1.
    f : float, default 0.0
        The exponent b of the F score of aligned words, which the paper does not have.
    brevity : bool, default False
        Multiply by the brevity penalty BP.
    alignment : {"isozaki", "ribes"}, default "isozaki"
        Which contexts align repeated words: neighbouring words only (the paper's figure 1), or ever wider ones.
    tokenizer : {"13a", "none"}, default "13a"
    lowercase : bool, default False
    """

    name: ClassVar[str] = "nkt"
    family = "word order"

    def _correlation(self, orders: WordOrders) -> FloatArray:
        return normalised_kendall(orders)


@dataclass(frozen=True)
class NormalisedSpearman(_RankCorrelation):
    r"""NSR: Spearman's rho of the word orders scaled to [0, 1], times optional factors, in [0, 1].

    .. math:: \mathrm{NSR} \cdot P^a \cdot F^b \cdot BP, \quad \mathrm{NSR} = (\rho + 1) / 2, \quad
              \rho = 1 - \sum_i d_i^2 \Big/ \binom{n + 1}{3}

    with the differences d of the ranks that the n aligned words have in candidate and reference (Isozaki et al. 2010,
    sections 1 and 2.2-2.3). With several references the best score counts; the score of a corpus is the mean. Fewer
    than two aligned words score 0.

    Parameters
    ----------
    precision, f, brevity, alignment, tokenizer, lowercase
        As for `nkt`.
    """

    name: ClassVar[str] = "nsr"
    family = "word order"

    def _correlation(self, orders: WordOrders) -> FloatArray:
        return normalised_spearman(orders)


@dataclass(frozen=True)
class Ribes(SentenceMean):
    r"""RIBES: rank correlation of word orders times powers of precision and brevity penalty, in [0, 1].

    .. math:: \mathrm{NKT} \cdot P^\alpha \cdot BP^\beta

    with NKT, P and BP as in `nkt` (Isozaki et al. 2010), but with repeated words aligned by ever wider contexts. Scores
    equal those of the program RIBES 1.03.1, which added the brevity penalty. With several references the best score
    counts; the score of a corpus is the mean. With fewer than two aligned words NKT is 0, except that it is 1 for one
    aligned word against a reference of one word.

    Parameters
    ----------
    alpha : float, default 0.25
        Exponent of the precision.
    beta : float, default 0.1
        Exponent of the brevity penalty.
    tokenizer : {"13a", "none"}, default "13a"
        RIBES itself splits at white space (``none``).
    lowercase : bool, default True
    """

    name: ClassVar[str] = "ribes"
    family = "word order"
    alpha: float = 0.25
    beta: float = 0.1
    tokenizer: Tokenizer = "13a"
    lowercase: bool = True

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for option in ("alpha", "beta"):
            if not 0 <= getattr(self, option) < np.inf:
                raise OptionError(f"ribes[{option}={getattr(self, option)}]: expected an exponent of 0 or more")

    def sentence_scores(self, dataset: Dataset) -> FloatArray:
        """Return each candidate's score against its best reference, shape (candidates,)."""
        orders = align_contexts(dataset, "ribes", self.tokenizer, lowercase=self.lowercase)
        lengths = _lengths(dataset, self.tokenizer, lowercase=self.lowercase)
        only_word = (orders.lengths == 1) & (lengths[1] == 1)
        correlation = np.where(only_word, 1.0, normalised_kendall(orders))
        scores = _weighted(correlation, orders.lengths, lengths, (self.alpha, self.beta))
        return reference_pairs(dataset).highest(scores)
