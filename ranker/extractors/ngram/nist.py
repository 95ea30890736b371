"""NIST (Doddington 2002)."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ranker import notation
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset, view
from ranker.errors import OptionError
from ranker.extractors import by_language
from ranker.extractors.base import FitScope, Metric, unfitted
from ranker.text.ngrams import ngram_totals
from ranker.text.tokens import Tokenizer, token_batch
from ranker.text.weighted_ngrams import ReferenceNgrams, weighted_matches

MAX_ORDER = 9
# the brevity penalty is one half where the candidate has two thirds of the references' length
_DECAY = np.log(0.5) / np.log(1.5) ** 2


@dataclass(frozen=True)
class Nist(Metric):
    r"""Information of the matched n-grams per candidate n-gram, times a brevity penalty; at least 0, no upper bound.

    .. math:: \sum_{n=1}^{N} \frac{\sum_{\text{matched}} \text{info}(w_1 \dots w_n)}{t_n}
              \cdot \exp\Bigl(\beta \log^2 \min(1, c / \bar r)\Bigr), \quad
              \text{info}(w_1 \dots w_n) = \log_2 \frac{\#(w_1 \dots w_{n-1})}{\#(w_1 \dots w_n)}

    with counts # over all references of the language pair in the ranked data, :math:`t_n` n-grams of the candidate, its
    length c and the mean length of its references; beta makes the penalty one half if c is two thirds of the mean
    (Doddington 2002). Matches are clipped against the reference that has the n-gram most often. A candidate or
    references without tokens score 0.

    Parameters
    ----------
    order : int, default 5
        Longest n-gram N, 1 to 9.
    tokenizer : str, default "13a"
    lowercase : bool, default False

    Notes
    -----
    Statistics: information and n-grams of order 1..N, candidate length, mean reference length. Scores equal those of
    mteval-v13a. The score of a segment depends on the references of all other segments of its language pair.
    """

    name: ClassVar[str] = "nist"
    family = "words"
    fit_scope: ClassVar[FitScope] = "ranked"
    is_fraction: ClassVar[bool] = False
    order: int = 5
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False
    learnt: dict[Hashable, _NgramInformation] | None = notation.learnt()

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 1 <= self.order <= MAX_ORDER:
            raise OptionError(f"nist[order={self.order}]: expected 1 to {MAX_ORDER}")

    @property
    def width(self) -> int:
        """Number of columns of the statistics: information and n-grams of every order, and two lengths."""
        return 2 * self.order + 2

    def fit(self, dataset: Dataset) -> Nist:
        """Return the metric with the information of each n-gram in the references of each language pair.

        Other n-grams carry no information.
        """
        unfitted_metric = Nist(**self._options())
        learnt = by_language.learn(dataset, "language pair", lambda part: _information(part, unfitted_metric))
        return dataclasses.replace(self, learnt=learnt)

    def statistics(self, dataset: Dataset) -> FloatArray:
        """Return information, n-grams, candidate length and mean reference length, shape (candidates, 2N + 2)."""
        if self.learnt is None:
            raise unfitted(self)
        statistics = np.zeros((len(dataset), self.width))
        for part, sources, learnt in by_language.parts(dataset, "language pair", self.learnt):
            statistics[sources[dataset.candidate_source]] = self._statistics(part, *learnt)
        return statistics

    def _statistics(self, dataset: Dataset, ngrams: ReferenceNgrams, information: tuple[FloatArray, ...]) -> FloatArray:
        """Return the statistics of candidates of one language pair."""
        batch = token_batch(dataset, self.tokenizer, lowercase=self.lowercase)
        numbers = ngrams.find(batch.segments)
        gained = [weighted_matches(batch, *of_order) for of_order in zip(numbers, information, strict=True)]
        references = np.diff(batch.reference_offsets)
        sums = np.add.reduceat(np.append(batch.reference_lengths, 0), batch.reference_offsets[:-1])
        mean_length = np.where(references > 0, sums / np.maximum(references, 1), 0.0)
        return np.concatenate(
            [
                np.stack(gained, axis=1),
                ngram_totals(batch, self.order).astype(np.float64),
                batch.candidate_lengths[:, np.newaxis].astype(np.float64),
                mean_length[batch.candidate_source][:, np.newaxis],
            ],
            axis=1,
        )

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return NIST scores, shape (...), for statistics of shape (..., 2N + 2)."""
        rows = np.asarray(statistics, dtype=np.float64)
        gained, totals = rows[..., : self.order], rows[..., self.order : 2 * self.order]
        length, reference_length = rows[..., -2], rows[..., -1]
        precision = np.divide(gained, totals, out=np.zeros(gained.shape), where=totals > 0).sum(axis=-1)
        sane = (length > 0) & (reference_length > 0)
        ratio = np.divide(length, reference_length, out=np.ones(length.shape), where=sane)
        return np.where(sane, precision * np.exp(_DECAY * np.log(np.minimum(ratio, 1.0)) ** 2), 0.0)


_NgramInformation = tuple[ReferenceNgrams, tuple[FloatArray, ...]]


@view
def _information(dataset: Dataset, nist: Nist) -> _NgramInformation:
    """Return the n-grams of a data set's references, and the bits of information of each n-gram, by order."""
    batch = token_batch(dataset, nist.tokenizer, lowercase=nist.lowercase)
    # sums over n-grams must not depend on the other texts of the data set
    ngrams = ReferenceNgrams.of(dataclasses.replace(batch, segments=batch.segments.by_code_points()), nist.order)
    parents = [np.zeros(len(ngrams.vocabulary), dtype=np.int64), *(keys >> 32 for keys in ngrams.keys)]
    shorter = np.array([int(batch.reference_lengths.sum())])
    information = []
    for counts, parent in zip(ngrams.counts, parents, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            information.append(np.where(counts > 0, np.log2(shorter[parent] / counts), 0.0))
        shorter = counts
    return ngrams, tuple(information)
