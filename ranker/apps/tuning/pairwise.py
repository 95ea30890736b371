"""Scores of every hypothesis against the other hypotheses of its sentence as references, by any metric or ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ranker.apps.tuning.hypotheses import dataset_of, references_of
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.nbest import NBestList
from ranker.errors import DataError, OptionError
from ranker.extractors.base import Metric, check_new_texts
from ranker.extractors.consensus.similarities import PAIRS, MetricSimilarity, similarities
from ranker.ranking.scorers import Scorer, candidate_scores
from ranker.text.pairs import TextPairs

MOST_HYPOTHESES = 20_000
"""Maximum number of different hypotheses of one sentence; their similarities take 3.2 GB."""


@dataclass(frozen=True)
class ScorerSimilarity:
    """A similarity: a ranker's score of one text with the other text as its only reference, higher is better."""

    scorer: Scorer
    compares_both: ClassVar[bool] = False

    def fit(self, texts: Dataset) -> ScorerSimilarity:
        """Return this object: rankers are trained already."""
        return self

    def compare(self, pairs: TextPairs) -> list[FloatArray]:
        """Return each pair's score in one direction only, since the score in the other direction may differ."""
        return [candidate_scores(self.scorer, pairs.dataset())]


def mean_pairwise(
    nbest: NBestList, hypotheses: Int64Array, gain: Metric | Scorer, mass: FloatArray, sources: Dataset | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return hypotheses' weighted sums of scores against all hypotheses of their sentence, and against themselves."""
    scored_by = gain if isinstance(gain, Metric) else gain.feature_set
    check_new_texts(scored_by.members, "hypotheses against each other")
    _check_compares(gain)
    number = int(nbest.sentence.max(initial=-1)) + 1
    sizes = np.bincount(nbest.sentence[hypotheses], minlength=number)
    if sizes.max(initial=0) > MOST_HYPOTHESES:
        sentence = int(np.argmax(sizes > MOST_HYPOTHESES))
        what = f"sentence {sentence} has {sizes[sentence]:,} different hypotheses, all compared with each other"
        # in Moses' format, the only one with features, a hypothesis is a line
        line = int(np.searchsorted(nbest.sentence, sentence)) + 1 if nbest.layout else None
        expected = f"expected at most {MOST_HYPOTHESES:,}: use a shorter n-best list"
        raise DataError(f"{what}; {expected}", file=nbest.name, line=line)
    source_texts = [""] * number if sources is None else sources.sources["text"].tolist()
    texts = dataset_of(nbest, references_of(source_texts, [], [], nbest.name), hypotheses)
    sums, alone = np.zeros(len(hypotheses)), np.zeros(len(hypotheses))
    first = 0
    similarity = MetricSimilarity(gain) if isinstance(gain, Metric) else ScorerSimilarity(gain)
    for block in similarities(texts, similarity.fit(texts)):
        width = np.repeat(block.sizes, block.sizes)
        rows = slice(first, first + len(width))
        if len(block.values) > PAIRS:
            # a single long list, summed without arrays of a row and a column for each pair
            matrix = block.values.reshape(len(width), len(width))
            sums[rows], alone[rows] = mass[rows] @ matrix, np.diagonal(matrix)
            first = rows.stop
            continue
        reference = np.repeat(np.arange(len(width)), width)
        start = np.repeat(np.cumsum(block.sizes) - block.sizes, block.sizes)
        candidate = np.arange(len(reference)) - np.repeat(np.cumsum(width) - width - start, width)
        sums[rows] = np.bincount(candidate, block.values * mass[rows][reference], minlength=len(width))
        alone[rows] = block.values[candidate == reference]
        first = rows.stop
    return sums, alone


def _check_compares(gain: Metric | Scorer) -> None:
    """Refuse a gain that does not compare two texts, or whose value depends on what it is computed together with."""
    if isinstance(gain, Metric):
        if gain.needs.references != 1:
            what = "expected a metric that compares a hypothesis with another as its reference, such as chrf"
            raise OptionError(f"{gain}: {what}")
        return
    if learns := [str(extractor) for extractor in gain.feature_set.extractors if extractor.fit_scope == "ranked"]:
        what = f"{', '.join(learns)} learns from all texts that are scored, so one hypothesis is not a reference"
        raise OptionError(f"{gain.name}: {what}; use a metric such as chrf, or a ranker without it")
