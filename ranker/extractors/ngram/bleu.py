"""BLEU (Papineni et al. 2002) with the common smoothings for single sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import Metric
from ranker.extractors.sacrebleu_signature import sacrebleu_signature, sacrebleu_tokenizer
from ranker.text.ngrams import closest_reference_lengths, ngram_matches, ngram_totals
from ranker.text.pairs import TextPairs, pair_ngram_matches
from ranker.text.tokens import Tokenizer, token_batch

Smoothing = Literal["exp", "add-one", "floor", "epsilon", "none"]
MAX_ORDER = 9
_DEFAULT_VALUES = {"epsilon": 1e-7, "add-one": 1.0, "floor": 0.1}


@dataclass(frozen=True)
class Bleu(Metric):
    r"""Geometric mean of clipped n-gram precisions times a brevity penalty, in [0, 1].

    .. math:: BP \cdot \exp\Bigl(\frac1N \sum_{n=1}^{N} \log \frac{m_n}{t_n}\Bigr), \quad
              BP = \exp(\min(0, 1 - r / c))

    with :math:`m_n` of the :math:`t_n` n-grams of the candidate matched, its length :math:`c` and the length
    :math:`r` of the reference closest to it in length (Papineni et al. 2002, sections 2.1-2.3). A candidate without
    tokens scores 0.

    Parameters
    ----------
    order : int, default 4
        Longest n-gram N, 1 to 9.
    smoothing : {"exp", "add-one", "floor", "epsilon", "none"}, default "exp"
        How to keep a count of zero from making the score zero.

        * ``exp``: the k-th zero becomes ``1 / (2^k t)`` (NIST's mteval and sacreBLEU's default).
        * ``add-one``: ``(m + 1) / (t + 1)`` for n > 1 (Lin and Och 2004); sacreBLEU's add-k, with k = 1.
        * ``floor``: a zero becomes ``0.1 / t``.
        * ``epsilon``: ``(m + e) / (t + e)`` for every n (Ye, Zhou and Lin 2007). The paper gives no value; here it is
          1e-7. An order without n-grams, because the candidate is shorter than n, has precision 1.
        * ``none``: a zero makes the score zero.

        All but ``epsilon`` give 0 when nothing at all matches.
    value : float, optional
        Value that ``epsilon`` and ``add-one`` add, or numerator that ``floor`` uses; by default 1e-7, 1 and 0.1.
    effective_order : bool or none, default none
        Leave out the orders that the candidate is too short for (``exp``, ``floor``, ``none``), instead of scoring 0.
        By default a single segment does and a corpus does not, as in sacreBLEU.
    tokenizer : str, default "auto"
        ``auto`` follows the target language, stated or told by its script: ``zh`` for Chinese, ``ja-mecab`` for
        Japanese, ``ko-mecab`` for Korean, as in sacreBLEU, ``char`` for Thai, Lao, Tibetan, Burmese and Khmer, ``13a``
        for all others.
    lowercase : bool, default False

    Notes
    -----
    Statistics: matches of order 1..N, totals of order 1..N, candidate length, closest reference length, segments.
    Except for ``epsilon`` the scores of segments and corpora equal sacreBLEU's divided by 100; a corpus of one segment
    is scored as a segment.
    """

    name: ClassVar[str] = "bleu"
    family = "words"
    order: int = 4
    smoothing: Smoothing = "exp"
    value: float | None = None
    effective_order: bool | None = None
    tokenizer: Tokenizer = "auto"
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 1 <= self.order <= MAX_ORDER:
            raise OptionError(f"bleu[order={self.order}]: expected 1 to {MAX_ORDER}")
        if self.value is not None and self.smoothing not in _DEFAULT_VALUES:
            raise OptionError(f"bleu[value={self.value}]: smoothing {self.smoothing!r} takes no value; omit value")
        if self.value is not None and not 0 < self.value < np.inf:
            raise OptionError(f"bleu[value={self.value}]: expected a positive number")

    def sacrebleu(self, dataset: Dataset, *, segments: bool) -> str | None:
        """Return sacreBLEU's signature for the same score, or None for orders other than 4 and for ``epsilon``."""
        tokenizer = sacrebleu_tokenizer(self.resolved(dataset).tokenizer)
        if self.order != 4 or self.smoothing == "epsilon" or tokenizer is None:
            return None
        smoothing = {"add-one": "add-k"}.get(self.smoothing, self.smoothing)
        if self.smoothing in _DEFAULT_VALUES:
            smoothing += f"[{self.value or _DEFAULT_VALUES[self.smoothing]:.2f}]"
        effective = segments if self.effective_order is None else self.effective_order
        case = "lc" if self.lowercase else "mixed"
        return sacrebleu_signature("BLEU", dataset, case=case, eff=effective, tok=tokenizer, smooth=smoothing)

    @property
    def width(self) -> int:
        """Number of columns of the statistics: matches and totals of every order, two lengths, and a constant 1."""
        return 2 * self.order + 3

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return matches, totals, candidate length, closest reference length, and 1, shape (candidates, 2N + 3)."""
        batch = token_batch(dataset, self.tokenizer, lowercase=self.lowercase)
        return np.concatenate(
            [
                ngram_matches(batch, self.order),
                ngram_totals(batch, self.order),
                batch.candidate_lengths[:, np.newaxis],
                closest_reference_lengths(batch)[:, np.newaxis],
                np.ones((len(batch.candidate), 1)),
            ],
            axis=1,
        ).astype(np.float64)

    def pair_statistics(self, pairs: TextPairs) -> FloatArray:
        """Return the statistics of text pairs; the n-grams of each text are counted only once."""
        batch = token_batch(pairs.texts, self.tokenizer, lowercase=self.lowercase)
        return np.concatenate(
            [
                pair_ngram_matches(batch, pairs, self.order),
                ngram_totals(batch, self.order)[pairs.candidate],
                batch.candidate_lengths[pairs.candidate][:, np.newaxis],
                batch.candidate_lengths[pairs.reference][:, np.newaxis],
                np.ones((len(pairs), 1)),
            ],
            axis=1,
        ).astype(np.float64)

    def swapped_statistics(self, pair_statistics: FloatArray) -> FloatArray:
        """Return the statistics with the lengths and n-gram totals of the two texts exchanged."""
        exchanged = pair_statistics.copy()
        exchanged[:, -3], exchanged[:, -2] = pair_statistics[:, -2], pair_statistics[:, -3]
        totals = exchanged[:, -3, np.newaxis] - np.arange(self.order)
        exchanged[:, self.order : 2 * self.order] = np.maximum(totals, 0.0)
        return exchanged

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return BLEU scores, shape (...), for statistics of shape (..., 2N + 3)."""
        rows = np.asarray(statistics, dtype=np.float64)
        matches, totals = rows[..., : self.order], rows[..., self.order : 2 * self.order]
        length, reference_length, segments = rows[..., -3], rows[..., -2], rows[..., -1]
        effective = segments <= 1 if self.effective_order is None else np.asarray(self.effective_order)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_precision, used = self._log_precisions(matches, totals)
            number = np.where(effective, used.sum(axis=-1), self.order)
            mean = np.where(used, log_precision, 0.0).sum(axis=-1) / number
            brevity = np.minimum(0.0, 1.0 - reference_length / length)
            scores = np.exp(mean + brevity)
        if self.smoothing == "epsilon":
            return np.where(length > 0, scores, 0.0)
        complete = used.all(axis=-1) | effective
        return np.where((length > 0) & matches.any(axis=-1) & complete, scores, 0.0)

    def details(self, statistics: npt.ArrayLike) -> dict[str, FloatArray]:
        """Return the smoothed precision of each order, the brevity penalty and the lengths in tokens, by name."""
        rows = np.asarray(statistics, dtype=np.float64)
        length, reference_length = rows[..., -3], rows[..., -2]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_precision, used = self._log_precisions(rows[..., : self.order], rows[..., self.order : 2 * self.order])
            precision = np.where(used, np.exp(log_precision), 0.0)
            penalty = np.where(length > 0, np.exp(np.minimum(0.0, 1.0 - reference_length / length)), 0.0)
        return {
            **{f"precision {order + 1}": precision[..., order] for order in range(self.order)},
            "brevity penalty": penalty,
            "length": length,
            "reference length": reference_length,
        }

    def _log_precisions(self, matches: FloatArray, totals: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return log precisions and a mask of the orders that count, both of shape (..., N)."""
        value = self.value or _DEFAULT_VALUES.get(self.smoothing, 0.0)
        if self.smoothing == "epsilon":
            return np.log((matches + value) / (totals + value)), np.ones(matches.shape, dtype=bool)
        if self.smoothing == "add-one":
            beyond_first = np.arange(self.order) > 0
            matches, totals = matches + value * beyond_first, totals + value * beyond_first
        used = totals > 0
        zero = used & (matches == 0)
        if self.smoothing == "exp":
            filled = 0.5 ** np.cumsum(zero, axis=-1)
        elif self.smoothing == "floor":
            filled = np.full(matches.shape, value)
        else:
            filled = np.zeros(matches.shape)
        return np.log(np.where(zero, filled, matches) / totals), used
