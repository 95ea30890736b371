"""Metrics of word order: scores of the permutation between candidate and reference, and an optional lexical score.

The corpus score of each metric is the mean of its sentence scores.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from ranker import notation
from ranker.arrays import FloatArray, Int32Array, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.errors import OptionError
from ranker.extractors.base import SentenceMean
from ranker.extractors.meteor.metric import AUTO, Meteor
from ranker.extractors.ngram.bleu import Bleu
from ranker.extractors.order.birch_osborne import Rule
from ranker.extractors.order.scores import permutation_scores
from ranker.extractors.order.source_orders import bilingual_orders
from ranker.files import read_bytes, sha256
from ranker.text.brevity_penalty import brevity_penalty
from ranker.text.lexical.wordnet import optional_wordnet
from ranker.text.ngrams import closest_reference_lengths, ngram_matches
from ranker.text.reference_pairs import reference_pairs
from ranker.text.repeated_words import align_contexts
from ranker.text.tokens import Tokenizer, token_batch

Lexical = Literal["bleu1", "f1"]
OrderAlignment = Literal["isozaki", "ribes", "meteor", "bilingual"]


@view
def word_permutations(
    dataset: Dataset,
    alignment: OrderAlignment,
    tokenizer: Tokenizer,
    *,
    lowercase: bool = False,
    aligner: str | None = None,
    rule: Rule = "same-key",
) -> tuple[Int32Array, Int64Array]:
    """Return each candidate's word order relative to each of its references, as permutations in CSR form."""
    if alignment == "bilingual":
        orders = bilingual_orders(dataset, tokenizer, lowercase=lowercase, aligner=aligner, rule=rule)
        return orders.relative(reference_pairs(dataset))
    if alignment == "meteor":
        return Meteor().orders(dataset, tokenizer, lowercase=lowercase)
    matched = align_contexts(dataset, alignment, tokenizer, lowercase=lowercase)
    return matched.permutations(), matched.offsets


def alignment_signed(
    alignment: str, aligner: str | None = None, meteor_language: str | None = None
) -> dict[str, object]:
    """Return options for signatures: the digest of the aligner's file or of METEOR's WordNet, and METEOR's language."""
    if alignment != "meteor":
        return {} if aligner is None else {"aligner": sha256(read_bytes(aligner))[:12]}
    wordnet = optional_wordnet("auto", Meteor.name)
    return {"language": meteor_language, "wordnet": wordnet.digest if wordnet else "none"}


def meteor_language(dataset: Dataset, alignment: str) -> str | None:
    """Return the language in which METEOR aligns the words of `dataset`; None if it does not, or for several."""
    language = Meteor().resolved(dataset).language if alignment == "meteor" else AUTO
    return None if language == AUTO else language


@dataclass(frozen=True)
class PermutationMetric(SentenceMean):
    """Base class of metrics that score permutations; `Kendall` documents the options."""

    family = "word order"
    alignment: OrderAlignment = "isozaki"
    aligner: str | None = None
    alpha: float = 0.0
    lexical: Lexical = "bleu1"
    brevity: bool = True
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False
    meteor_language: str | None = notation.learnt()

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 0 <= self.alpha <= 1:
            raise OptionError(f"{self.name}[alpha={self.alpha}]: expected a number from 0 to 1")
        if self.aligner is not None and self.alignment != "bilingual":
            raise OptionError(f"{self.name}[aligner={self.aligner}]: an aligner requires alignment=bilingual; set it")

    def signed(self) -> dict[str, object]:
        """Option values for the signature, with the digest of the aligner or, for METEOR's alignment, of WordNet."""
        return alignment_signed(self.alignment, self.aligner, self.meteor_language)

    def resolved(self, dataset: Dataset) -> Self:
        """Return this metric with the tokenizer of `dataset`, and the language for the signature if METEOR aligns."""
        return dataclasses.replace(super().resolved(dataset), meteor_language=meteor_language(dataset, self.alignment))

    def note(self, dataset: Dataset) -> str | None:
        """Return the note on the tokenizer, or else METEOR's note if METEOR's alignment is used, or None."""
        return super().note(dataset) or (Meteor().note(dataset) if self.alignment == "meteor" else None)

    def sentence_scores(self, dataset: Dataset) -> FloatArray:
        """Return the scores of the candidates, shape (candidates,)."""
        order = reference_pairs(dataset).highest(self._order_scores(dataset))
        if self.alpha == 0:
            return order
        return self.alpha * self._lexical_scores(dataset) + (1 - self.alpha) * order

    def _order_scores(self, dataset: Dataset) -> FloatArray:
        """Return each pair's permutation score times the brevity penalty, shape (pairs,)."""
        values, offsets = word_permutations(
            dataset, self.alignment, self.tokenizer, lowercase=self.lowercase, aligner=self.aligner
        )
        scores = self._permutation_scores(values, offsets)
        if not self.brevity:
            return scores
        batch, pairs = token_batch(dataset, self.tokenizer, lowercase=self.lowercase), reference_pairs(dataset)
        if self.alignment == "bilingual":
            return scores * brevity_penalty(batch.candidate_lengths, closest_reference_lengths(batch))[pairs.candidate]
        return scores * brevity_penalty(np.diff(offsets), batch.reference_lengths[pairs.reference])

    def _permutation_scores(self, values: Int32Array, offsets: Int64Array) -> FloatArray:
        return permutation_scores(self.name, values, offsets)

    def _lexical_scores(self, dataset: Dataset) -> FloatArray:
        if self.lexical == "bleu1":
            bleu = Bleu(order=1, smoothing="none", tokenizer=self.tokenizer, lowercase=self.lowercase)
            return bleu.score(bleu.statistics(dataset))
        batch, pairs = token_batch(dataset, self.tokenizer, lowercase=self.lowercase), reference_pairs(dataset)
        tokens = batch.candidate_lengths[pairs.candidate] + batch.reference_lengths[pairs.reference]
        scores = 2.0 * ngram_matches(pairs.expand(batch), 1)[:, 0] / np.maximum(tokens, 1)
        return pairs.highest(scores)


@dataclass(frozen=True)
class Kendall(PermutationMetric):
    r"""Share of word pairs that are in the order of the reference (1 - Kendall's tau distance), in [0, 1].

    .. math:: \alpha L + (1 - \alpha)\, BP(n, r)\, \Bigl(1 - \mathrm{inversions} \Big/ \binom{n}{2}\Bigr)

    of the permutation of the n words aligned with a reference of r words; only these words are ranked. L is a lexical
    score; by default, only the order is scored. With ``alpha=0.5`` it is the sentence score of Stanojević and Sima'an
    (2014, equation 2); the distance is that of Birch and Osborne (2011), without its root. With several references the
    best order counts; the score of a corpus is the mean. Before the brevity penalty, the order of one aligned word
    scores 1; without an aligned word it scores 0.

    Parameters
    ----------
    alignment : {"isozaki", "ribes", "meteor", "bilingual"}, default "isozaki"
        Where the permutation comes from: exact matches with the reference, repeated words aligned by neighbouring words
        (Isozaki et al. 2010, figure 1) or by ever wider contexts, as RIBES does; the alignment of `meteor`, with
        stems and synonyms (Stanojević and Sima'an 2014; give it ``tokenizer=meteor``); or
        ``bilingual``, the source words in the orders of both translations (Birch and Osborne 2011), with the brevity
        penalty of the whole candidate against the closest reference.
    aligner : str, optional
        File of a trained aligner, for translations that come without a word alignment; only for ``bilingual``.
    alpha : float, default 0.0
        Weight of the lexical score, 0 to 1.
    lexical : {"bleu1", "f1"}, default "bleu1"
        The lexical score L: unigram BLEU without smoothing, or F1 of matched words, of the best reference.
    brevity : bool, default True
        Multiply the score of the order by the brevity penalty BP of the number n of aligned words against the reference
        length r. Otherwise two aligned words in order score 1, however long the sentence is.
    tokenizer : {"13a", "none"}, default "13a"
    lowercase : bool, default False
    """

    name: ClassVar[str] = "kendall"


@dataclass(frozen=True)
class KendallRoot(PermutationMetric):
    r"""1 - square root of Kendall's tau distance, which penalises small reorderings more, in [0, 1].

    .. math:: 1 - \sqrt{\mathrm{inversions} \Big/ \binom{n}{2}}

    of the permutation of n words, the distance d_k of Birch and Osborne (2011, section 2.1.2). Options and degenerate
    values as for `kendall`.
    """

    name: ClassVar[str] = "kendall_sqrt"


@dataclass(frozen=True)
class Hamming(PermutationMetric):
    r"""Share of words at the same position as in the reference's order, in [0, 1].

    .. math:: 1 - |\{i : p(i) \ne i\}| / n

    of the permutation p of n words, the distance d_h of Birch and Osborne (2011, section 2.1.1). Options and degenerate
    values as for `kendall`.
    """

    name: ClassVar[str] = "hamming"


@dataclass(frozen=True)
class Spearman(PermutationMetric):
    r"""Spearman's rank correlation of the permutation with the identity, scaled to [0, 1].

    .. math:: (\rho + 1) / 2

    as among the metrics that Stanojević and Sima'an (2014) compare. Options and degenerate values as for `kendall`.
    """

    name: ClassVar[str] = "spearman"


@dataclass(frozen=True)
class Ulam(PermutationMetric):
    r"""Length of the longest increasing subsequence of the permutation, scaled to [0, 1].

    .. math:: (\mathrm{LIS} - 1) / (n - 1)

    with the longest increasing subsequence LIS of the permutation of n words, as among the metrics that Stanojević and
    Sima'an (2014) compare. Options and degenerate values as for `kendall`.
    """

    name: ClassVar[str] = "ulam"


@dataclass(frozen=True)
class Fuzzy(PermutationMetric):
    r"""Fuzzy score, which is higher the fewer contiguous chunks the permutation consists of, in [0, 1].

    .. math:: 1 - (\mathrm{chunks} - 1) / (n - 1)

    where a chunk is a longest run of consecutive numbers in the permutation of n words, the fuzzy score among the
    metrics that Stanojević and Sima'an (2014) compare. Options and degenerate values as for `kendall`.
    """

    name: ClassVar[str] = "fuzzy"
