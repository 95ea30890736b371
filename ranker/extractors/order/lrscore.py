"""LRscore (Birch and Osborne 2011): a word-order score from alignments, combined with a lexical score."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ranker import notation
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import DataError, OptionError
from ranker.extractors import registry
from ranker.extractors.base import Extractor, FitScope, Metric, join_notes, unfitted
from ranker.extractors.needs import Needs
from ranker.extractors.order.birch_osborne import Rule
from ranker.extractors.order.metrics import OrderAlignment, alignment_signed, meteor_language, word_permutations
from ranker.extractors.order.scores import permutation_scores
from ranker.extractors.order.source_orders import bilingual_orders
from ranker.text.brevity_penalty import brevity_penalty
from ranker.text.ngrams import closest_reference_lengths
from ranker.text.reference_pairs import reference_pairs
from ranker.text.tokens import Tokenizer, token_batch

Distance = Literal["hamming", "kendall_sqrt"]


@dataclass(frozen=True)
class LRscore(Metric):
    r"""LRscore: weighted mean of a word-order score and a lexical score, in [0, 1] if the lexical score is.

    .. math:: \alpha R + (1 - \alpha) L, \quad R = \frac{1}{|S|} \sum_{s \in S} d_s BP_s, \quad
              BP = \exp(\min(0, 1 - r / c))

    over the sentences S, with L the lexical score of all of them together, the candidate's length c, the closest
    reference length r, and the distance d between the orders into which candidate and reference put the words of the
    source (Birch and Osborne 2011, equations 1 to 3); of several references the closest in order counts. The paper's
    LR-HB1, HB4, KB1 and KB4 take ``distance`` hamming (H) or kendall_sqrt (K) and as ``lexical``
    ``bleu[order=1,smoothing=add-one]`` (B1) or ``bleu[smoothing=add-one]`` (B4). An empty candidate has R = 0.

    Parameters
    ----------
    distance : {"hamming", "kendall_sqrt"}, default "kendall_sqrt"
        The distance d.
    lexical : str, default "bleu[smoothing=add-one]"
        The lexical metric L in its notation, with a tokenizer and case of its own. For an error rate, 1 - L is used.
    alpha : float, default 0.5
        Weight of the word-order score R, 0 to 1.
    theta : float, optional
        Instead of `alpha`, 0 to 1: alpha is theta to the power of the mean d_k between the references and the order of
        the source, for each language pair (equation 4), over all references of the ranked data. For a corpus of several
        language pairs, alpha is averaged.
    alignment : {"bilingual", "isozaki", "ribes", "meteor"}, default "bilingual"
        Where the orders come from: alignments of both translations with the source, or matches between the two
        translations as in `kendall`; in that case d is the distance of the aligned words' order.
    aligner : str, optional
        File of a trained aligner, for translations that come without a word alignment.
    rule : {"same-key", "plus-one"}, default "same-key"
        Position of a source word without a link: behind the word before it, or literally the position after that
        word's, which another word may have already.
    tokenizer : {"13a", "none"}, default "13a"
        Tokenizer for the words of the alignments, the lengths in BP and exact matches.
    lowercase : bool, default False

    Notes
    -----
    Statistics: alpha, d x BP, 1, then those of the lexical metric.
    """

    name: ClassVar[str] = "lrscore"
    family = "word order"
    distance: Distance = "kendall_sqrt"
    lexical: str = "bleu[smoothing=add-one]"
    alpha: float = 0.5
    theta: float | None = None
    alignment: OrderAlignment = "bilingual"
    aligner: str | None = None
    rule: Rule = "same-key"
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False
    meteor_language: str | None = notation.learnt()

    def __post_init__(self) -> None:
        """Refuse options out of range and invalid lexical metrics."""
        for option in ("alpha", "theta"):
            value = getattr(self, option)
            if value is not None and not 0 <= value <= 1:
                raise OptionError(f"lrscore[{option}={value}]: expected a number from 0 to 1")
        if self.theta is not None and self.alpha != 0.5:
            raise OptionError(f"lrscore[alpha={self.alpha},theta={self.theta}]: expected one; remove alpha or theta")
        if self.theta is not None and self.alignment != "bilingual":
            raise OptionError(
                f"lrscore[theta={self.theta},alignment={self.alignment}]: theta requires the source order; "
                "set alignment=bilingual, or remove theta"
            )
        if self.aligner is not None and self.alignment != "bilingual":
            raise OptionError(f"lrscore[aligner={self.aligner}]: an aligner requires alignment=bilingual; set it")
        if any(part.needs.known_texts for part in self._lexical_metric.members):
            raise OptionError(
                f"lrscore[lexical={self.lexical}]: external scores are not a lexical metric; expected a metric "
                "such as bleu[order=1]; to add external scores to a metric, use combine"
            )
        if self._lexical_metric.fit_scope == "train":
            raise OptionError(
                f"lrscore[lexical={self.lexical}]: {self._lexical_metric.name} requires training, "
                "expected a metric without training, such as bleu[order=1]"
            )

    def note(self, dataset: Dataset) -> str | None:
        """Return notes on the tokenizer, METEOR's alignment if used, and the lexical metric, or None."""
        order = registry.make_metric("meteor").note(dataset) if self.alignment == "meteor" else None
        return join_notes([super().note(dataset), order, self._lexical_metric.note(dataset)])

    @property
    def members(self) -> tuple[Extractor, ...]:
        """The word-order metric, which is this extractor itself, and the lexical metric."""
        return (self, self._lexical_metric)

    def resolved(self, dataset: Dataset) -> LRscore:
        """Return this metric with values for `dataset` in place of ``auto``, also in the lexical metric."""
        return dataclasses.replace(
            super().resolved(dataset),
            lexical=str(self._lexical_metric.resolved(dataset)),
            meteor_language=meteor_language(dataset, self.alignment),
        )

    @property
    def fit_scope(self) -> FitScope:
        """``ranked`` if alpha is learnt from the ranked data's references, else the fit scope of the lexical metric."""
        return self._lexical_metric.fit_scope if self.theta is None else "ranked"

    @property
    def needs(self) -> Needs:
        """Needs of the lexical metric, and all sources if alpha is learnt from the references' word order."""
        needs = super().needs.union(self._lexical_metric.needs)
        return dataclasses.replace(needs, other_sources=needs.other_sources or self.theta is not None)

    @functools.cached_property
    def _lexical_metric(self) -> Metric:
        return registry.make_metric(self.lexical)

    def signed(self) -> dict[str, object]:
        """Option values for the signature: the lexical metric's signature, and a digest of what aligns the words."""
        return {
            "lexical": self._lexical_metric.signature(),
            **alignment_signed(self.alignment, self.aligner, self.meteor_language),
        }

    @property
    def width(self) -> int:
        """Number of columns of the statistics: three for word order, then the columns of the lexical metric."""
        return 3 + self._lexical_metric.width

    def fit(self, dataset: Dataset) -> LRscore:
        """Learn alpha for each language pair if `theta` is set, and fit the lexical metric."""
        if self.fit_scope == "none":
            return self
        alphas = {}
        if self.theta is not None:
            orders = bilingual_orders(
                dataset, self.tokenizer, lowercase=self.lowercase, aligner=self.aligner, rule=self.rule
            )
            alphas = {pair: self.theta**value for pair, value in orders.monotonicity(dataset).items()}
        return FittedLRscore(**self._options(), alphas=alphas, fitted_lexical=self._lexical_metric.fit(dataset))

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return alpha, the order score, a count of 1 and lexical statistics, shape (candidates, 3 + lexical width)."""
        alphas = self._alphas(dataset)
        batch = token_batch(dataset, self.tokenizer, lowercase=self.lowercase)
        values, offsets = word_permutations(
            dataset, self.alignment, self.tokenizer, lowercase=self.lowercase, aligner=self.aligner, rule=self.rule
        )
        scores = permutation_scores(self.distance, values, offsets)
        distance = reference_pairs(dataset).highest(scores)
        order = distance * brevity_penalty(batch.candidate_lengths, closest_reference_lengths(batch))
        columns = np.stack([alphas, order, np.ones(len(dataset))], axis=1)
        return np.concatenate([columns, self._lexical_metric.statistics(dataset)], axis=1)

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return LRscores, shape (...), for statistics of shape (..., 3 + lexical width).

        Scores without any sentences are 0.
        """
        rows = np.asarray(statistics, dtype=np.float64)
        number = rows[..., 2]
        some = number > 0
        alpha, order = (np.divide(rows[..., at], number, out=np.zeros(number.shape), where=some) for at in (0, 1))
        metric = self._lexical_metric
        lexical = metric.score(rows[..., 3:])
        if not metric.higher_is_better:
            lexical = 1.0 - lexical
        return np.where(some, alpha * order + (1 - alpha) * lexical, 0.0)

    def _alphas(self, dataset: Dataset) -> FloatArray:
        """Return the candidates' values of alpha, shape (candidates,)."""
        if self.fit_scope == "ranked":
            raise unfitted(self)
        return np.full(len(dataset), self.alpha)


@dataclass(frozen=True)
class FittedLRscore(LRscore):
    """`LRscore` after `fit`, with the fitted lexical metric and, if `theta` is set, an alpha for each language pair."""

    alphas: Mapping[str, float] = notation.learnt()
    fitted_lexical: Metric = notation.learnt()

    @property
    def _lexical_metric(self) -> Metric:
        return self.fitted_lexical

    def _alphas(self, dataset: Dataset) -> FloatArray:
        if self.theta is None:
            return np.full(len(dataset), self.alpha)
        unknown = [pair for pair in dataset.language_pairs if pair not in self.alphas]
        if unknown:
            raise DataError(
                f"{self} learnt from {', '.join(self.alphas)} and has no alpha for {unknown[0]}: fit it on data "
                "with this language pair",
                file=dataset.name,
            )
        return np.array([self.alphas[pair] for pair in dataset.source_language_pairs])[dataset.candidate_source]
