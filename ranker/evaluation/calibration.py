"""Calibration of a ranker's confidence: predicted probabilities compared with human preferences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.judgements import Judged
from ranker.ranking.confidence import JudgedPairs
from ranker.ranking.scorers import Scorer, certainty_of
from ranker.ranks import merge_ties

_BINS = 10


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted and observed preferences of judged pairs, in ten bins of equal size by predicted probability."""

    predicted: tuple[float, ...]
    """Mean predicted probability, per bin, that people prefer the candidate with the higher score."""
    observed: tuple[float, ...]
    """Proportion of people, per bin, who preferred that candidate, among people who preferred one of the two."""
    pairs: int
    error: float
    """Mean absolute difference of `predicted` and `observed` over pairs: the expected calibration error."""
    accuracy: float
    """Pairwise accuracy, people's ties included, with only equal scores tied; mean over sources."""
    accuracy_with_ties: float
    """Pairwise accuracy as above, with score differences up to the learnt threshold tied."""

    @classmethod
    def of(cls, scorer: Scorer, people: Judged, scores: FloatArray) -> Reliability | None:
        """Compare a scorer's confidence with judgements; None if there is no confidence or no pair to compare."""
        pairs, dataset = JudgedPairs.of(people), people.dataset
        scores = merge_ties(scores, dataset.candidate_offsets)
        margin, source = scores[pairs.first] - scores[pairs.second], dataset.candidate_source[pairs.first]
        right = np.where(margin > 0, pairs.outcome, 1.0 - pairs.outcome)
        certainty = certainty_of(scorer, dataset, source, np.abs(margin))
        if not certainty:
            return None
        known = ~np.isnan(certainty["confidence"])
        chosen = np.flatnonzero(known & (pairs.outcome != 0.5) & (margin != 0.0))
        if not len(chosen):
            return None
        chosen = chosen[np.argsort(certainty["confidence"][chosen], kind="stable")]
        bins = [part for part in np.array_split(chosen, _BINS) if len(part)]
        predicted, observed = (
            np.array([values[part].mean() for part in bins]) for values in (certainty["confidence"], right)
        )
        human_tie = pairs.outcome == 0.5
        plain = np.where(margin == 0.0, human_tie, right == 1.0)
        tied = np.where(certainty["likely_tie"], human_tie, plain)
        share = 1.0 / np.bincount(source)[source]
        return cls(
            tuple(predicted.tolist()),
            tuple(observed.tolist()),
            len(chosen),
            float(np.average(np.abs(predicted - observed), weights=[len(part) for part in bins])),
            *(float(np.average(values, weights=share)) for values in (plain, tied)),
        )
