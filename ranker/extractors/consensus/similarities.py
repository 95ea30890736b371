"""Similarities between all candidates of each source, by any metric, computed in batches.

Minimum Bayes risk decoding (Kumar and Byrne 2004) and the features of `consensus` are sums over these similarities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ranker.arrays import FloatArray, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Metric, fitted_on
from ranker.text.pairs import TextPairs, references_alone

PAIRS = 100_000
"""Number of pairs scored at once, which limits memory."""


class Similarity(Protocol):
    """A measure of similarity that compares candidates with each other."""

    def fit(self, texts: Dataset) -> Similarity:
        """Return this measure, fitted if necessary to the candidates of `texts`, which serve as references."""

    @property
    def compares_both(self) -> bool:
        """True if one comparison of a pair yields its similarities in both directions."""

    def compare(self, pairs: TextPairs) -> Sequence[FloatArray]:
        """Return the similarity of each pair's first text to its second, then the reverse if `compares_both`."""


@dataclass(frozen=True)
class MetricSimilarity:
    """Similarity by a metric: a text's score with the other text as its only reference, negated if lower is better."""

    metric: Metric

    def fit(self, texts: Dataset) -> MetricSimilarity:
        """Return this measure; a metric of scope ``ranked`` is fitted with the candidates of `texts` as references."""
        if self.metric.fit_scope != "ranked":
            return MetricSimilarity(fitted_on(self.metric, texts))
        return MetricSimilarity(self.metric.fit(references_alone(texts, np.arange(len(texts)))))

    @property
    def compares_both(self) -> bool:
        """True if the metric can derive a pair's statistics with its two texts exchanged."""
        return self.metric.swapped_statistics(np.zeros((1, self.metric.width))) is not None

    def compare(self, pairs: TextPairs) -> list[FloatArray]:
        """Return the scores of the pairs, then the scores of the reversed pairs if `compares_both`."""
        statistics, sign = self.metric.pair_statistics(pairs), 1.0 if self.metric.higher_is_better else -1.0
        directions = (statistics, self.metric.swapped_statistics(statistics))
        return [sign * self.metric.score(each) for each in directions if each is not None]


@dataclass(frozen=True, eq=False)
class Similarities:
    """Similarities between the candidates of each source, for a range of consecutive sources."""

    sources: slice
    sizes: Int64Array
    values: FloatArray


def similarities(texts: Dataset, similarity: Similarity) -> Iterator[Similarities]:
    """Yield a fitted measure's similarities of every source's candidates to each other and themselves, in blocks."""
    offsets = texts.candidate_offsets
    sizes = np.diff(offsets)
    ends = np.cumsum(sizes**2)
    block = 0
    while block < len(sizes):
        done = ends[block - 1] if block else 0
        last = max(block + 1, int(np.searchsorted(ends, done + PAIRS, side="right")))
        rows = np.arange(offsets[block], offsets[last])
        used = slice(block, last)
        yield Similarities(used, sizes[used], _compare(texts, rows, similarity))
        block = last


def _compare(texts: Dataset, rows: Int64Array, similarity: Similarity) -> FloatArray:
    """Return the similarities between candidates of the same source, for the sources whose candidates are in `rows`."""
    source = texts.candidate_source[rows]
    first = texts.candidate_offsets[source]
    size = texts.candidate_offsets[source + 1] - first
    starts = offsets_of(size)
    values = np.empty(starts[-1])
    # if each pair is compared only once, its second text does not come before its first
    width = rows - first + 1 if similarity.compares_both else size
    ends = np.cumsum(width)
    done = 0
    while done < len(rows):
        before = ends[done - 1] if done else 0
        last = max(done + 1, int(np.searchsorted(ends, before + PAIRS, side="right")))
        part = np.repeat(np.arange(done, last), width[done:last])
        within = np.arange(len(part)) - np.repeat(offsets_of(width[done:last])[:-1], width[done:last])
        pairs = TextPairs(texts, first[part] + within, rows[part])
        # row of the second text, column of the first; and the other way round
        places = (starts[part] + within, starts[pairs.candidate - rows[0]] + rows[part] - first[part])
        for place, scores in zip(places, similarity.compare(pairs), strict=False):
            values[place] = scores
        done = last
    return values
