"""ROUGE (Lin 2004): n-grams, longest common subsequences and skip-bigrams."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ranker.arrays import FloatArray, Int32Array, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import SentenceMean
from ranker.text.ngrams import ngram_matches
from ranker.text.ratios import Measure, measured, ratio
from ranker.text.reference_pairs import reference_pairs
from ranker.text.sequences import common_words, lcs_lengths, skip_bigram_counts, weighted_lcs
from ranker.text.tokens import TokenBatch, Tokenizer, token_batch


@dataclass(frozen=True)
class _Rouge(SentenceMean):
    """Base class of the ROUGE metrics, which choose the best reference and average over segments."""

    measure: Measure = "f"
    tokenizer: Tokenizer = "13a"
    lowercase: bool = True
    best_by: Literal["measure", "recall"] = "measure"
    most_tokens: ClassVar[int] = 0
    """Number of tokens above which a text is refused, 0 for no limit."""

    @abstractmethod
    def precision_recall(self, pairs: TokenBatch) -> tuple[FloatArray, FloatArray]:
        """Return the precision and the recall of each candidate of `pairs` with its only reference, shape (pairs,)."""

    def sentence_scores(self, dataset: Dataset) -> FloatArray:
        """Return the scores of the candidates, shape (candidates,)."""
        pairs, batch = reference_pairs(dataset), token_batch(dataset, self.tokenizer, lowercase=self.lowercase)
        if self.most_tokens:
            pairs.refuse_long(batch, dataset, self.name, self.most_tokens)
        precision, recall = self.precision_recall(pairs.expand(batch))
        scores = measured(self.measure, precision, recall)
        if self.best_by == "measure":
            return pairs.highest(scores)
        best = pairs.best(recall)
        return np.where(best >= 0, scores[best], 0.0) if len(scores) else np.zeros(len(dataset))


def _sentences(pairs: TokenBatch) -> tuple[Int32Array, Int64Array, Int64Array, Int64Array]:
    return pairs.segments.values, pairs.segments.offsets, pairs.candidate, pairs.reference[pairs.candidate_source]


def _reference_lengths(pairs: TokenBatch) -> Int64Array:
    return pairs.reference_lengths[pairs.candidate_source]


@dataclass(frozen=True)
class RougeN(_Rouge):
    """Clipped n-gram matches over the n-grams of candidate (precision) and reference (recall), in [0, 1].

    Lin (2004), section 2. Of several references the best one counts (`best_by`); a corpus scores the mean of its
    segments. If candidate or reference has no n-grams, the score is 0.

    Parameters
    ----------
    measure : {"f", "precision", "recall"}, default "f"
    tokenizer : str, default "13a"
        With 13a punctuation marks are words and count, unlike in ROUGE-1.5.5 and most other programs.
    lowercase : bool, default True
    best_by : {"measure", "recall"}, default "measure"
        Which of several references counts: that with the best `measure` or, as in ROUGE-1.5.5, the first with the best
        recall, whichever measure is reported.
    order : int, default 2
        Length n of the n-grams, 1 to 9.
    """

    name: ClassVar[str] = "rouge_n"
    family = "words"
    order: int = 2

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 1 <= self.order <= 9:
            raise OptionError(f"rouge_n[order={self.order}]: expected 1 to 9")

    def precision_recall(self, pairs: TokenBatch) -> tuple[FloatArray, FloatArray]:
        """Return the precision and the recall of each pair, shape (pairs,)."""
        matched = ngram_matches(pairs, self.order)[:, -1]
        lengths = pairs.candidate_lengths, _reference_lengths(pairs)
        candidate_totals, reference_totals = (np.maximum(length - self.order + 1, 0) for length in lengths)
        return ratio(matched, candidate_totals), ratio(matched, reference_totals)


@dataclass(frozen=True)
class RougeL(_Rouge):
    """Longest common subsequence over the length of candidate (precision) and reference (recall), in [0, 1].

    Lin (2004), section 3. Of several references the best one counts (`best_by`); a corpus scores the mean of its
    segments. An empty side scores 0.

    Parameters
    ----------
    measure, tokenizer, lowercase, best_by
        As for `rouge_n`.
    """

    name: ClassVar[str] = "rouge_l"
    most_tokens: ClassVar[int] = 100_000
    family = "words"

    def precision_recall(self, pairs: TokenBatch) -> tuple[FloatArray, FloatArray]:
        """Return the precision and the recall of each pair, shape (pairs,)."""
        common = lcs_lengths(*_sentences(pairs))
        return ratio(common, pairs.candidate_lengths), ratio(common, _reference_lengths(pairs))


@dataclass(frozen=True)
class RougeW(_Rouge):
    """Longest common subsequence in which consecutive matches of length k are worth k^weight, in [0, 1].

    Lin (2004), section 4. As ROUGE-1.5.5 computes it: with L the weighted length to the power 1 / weight, precision is
    L over the candidate's length, recall L over the reference's length to the power `weight`. Of several references
    the best one counts (`best_by`); a corpus scores the mean of its segments. An empty side scores 0.

    Parameters
    ----------
    measure, tokenizer, lowercase, best_by
        As for `rouge_n`.
    weight : float, default 1.2
        Exponent of the length of consecutive matches, from 1 to 10.
    """

    name: ClassVar[str] = "rouge_w"
    most_tokens: ClassVar[int] = 20_000
    family = "words"
    weight: float = 1.2

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 1 <= self.weight <= 10:
            raise OptionError(f"rouge_w[weight={self.weight}]: expected a number from 1 to 10")

    def precision_recall(self, pairs: TokenBatch) -> tuple[FloatArray, FloatArray]:
        """Return the precision and the recall of each pair, shape (pairs,)."""
        length = weighted_lcs(*_sentences(pairs), self.weight) ** (1 / self.weight)
        candidate_powers = pairs.candidate_lengths
        reference_powers = _reference_lengths(pairs) ** self.weight
        return ratio(length, candidate_powers), ratio(length, reference_powers)


@dataclass(frozen=True)
class RougeS(_Rouge):
    """ROUGE-S: matched skip-bigrams over those of candidate (precision) and reference (recall), in [0, 1].

    Skip-bigrams are ordered word pairs, with gaps (Lin 2004, section 5). Of several references the best one counts
    (`best_by`); a corpus scores the mean of its segments. If candidate or reference has no pairs, the score is 0.

    Parameters
    ----------
    measure, tokenizer, lowercase, best_by
        As for `rouge_n`.
    distance : int, default 4
        Maximum number of words between the two words of a pair; -1 for no limit.
    """

    name: ClassVar[str] = "rouge_s"
    family = "words"
    distance: int = 4

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if self.distance < -1:
            raise OptionError(f"{self.name}[distance={self.distance}]: expected a whole number from -1")

    def precision_recall(self, pairs: TokenBatch) -> tuple[FloatArray, FloatArray]:
        """Return the precision and the recall of each pair, shape (pairs,)."""
        counts = self._counts(pairs)
        return ratio(counts[:, 0], counts[:, 1]), ratio(counts[:, 0], counts[:, 2])

    def _counts(self, pairs: TokenBatch) -> Int64Array:
        return skip_bigram_counts(*_sentences(pairs), self.distance)


@dataclass(frozen=True)
class RougeSU(RougeS):
    """ROUGE-SU: matched skip-bigrams and words over those of candidate (precision) and reference (recall), in [0, 1].

    Lin (2004), section 5.2. Of several references the best one counts (`best_by`); a corpus scores the mean of
    its segments. If candidate or reference has no words, the score is 0.

    Parameters
    ----------
    measure, tokenizer, lowercase, best_by
        As for `rouge_n`.
    distance : int, default 4
        Maximum number of words between the two words of a pair; -1 for no limit.
    last : bool, default False
        Count the last word of a sentence as a single word too; ROUGE-1.5.5 does not.
    """

    name: ClassVar[str] = "rouge_su"
    family = "words"
    last: bool = False

    def _counts(self, pairs: TokenBatch) -> Int64Array:
        sentences = _sentences(pairs)
        dropped = 0 if self.last else 1
        lengths = pairs.candidate_lengths, _reference_lengths(pairs)
        words = [common_words(*sentences, dropped), *(np.maximum(length - dropped, 0) for length in lengths)]
        return np.asarray(super()._counts(pairs) + np.stack(words, axis=1))
