"""A ranker's confidence: the probability that people prefer one candidate to another, by the margin of their scores.

    P(margin) = 1/2 + (1 - lapse) * (1 / (1 + exp(-slope * margin)) - 1/2)

is the probability among people who prefer one of the two, learnt by maximum likelihood from judgements of sources that
the weights were not learnt from. People disagree about some pairs whatever the margin: hence the lapse. Counting
margins up to ``tie`` as ties agrees with most judgements, ties included (Deutsch, Foster and Freitag 2023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, pairs_in_blocks
from ranker.corpora.judgements import PREFERENCES, Judged

FEWEST_PAIRS = 100
"""Minimum number of pairs ordered by people to learn probabilities from."""
_LARGEST = 1e100


@dataclass(frozen=True)
class Confidence:
    """Parameters that turn score margins into probabilities of human preferences."""

    slope: float
    """Increase of the probability with the margin, per unit of the score."""
    lapse: float
    """Share of judgements that no margin explains, from 0 to 1."""
    tie: float
    """Largest margin that counts as a tie."""

    def __post_init__(self) -> None:
        if not (0.0 <= self.slope <= _LARGEST and 0.0 <= self.lapse <= 1.0 and 0.0 <= self.tie <= _LARGEST):
            raise ValueError("confidence")


def probability(margin: npt.ArrayLike, slope: npt.ArrayLike, lapse: npt.ArrayLike) -> FloatArray:
    """Return the probability that people prefer the first of two candidates, given the margin between their scores."""
    return np.asarray(0.5 + (1.0 - np.asarray(lapse)) * 0.5 * np.tanh(0.5 * np.asarray(slope) * np.asarray(margin)))


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Pairs of candidates of the same source that people compared, as arrays of shape (pairs,)."""

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    outcome: FloatArray
    """1 if people prefer the first candidate, 0 if they prefer the second, 1/2 for a tie."""

    @classmethod
    def of(cls, people: Judged) -> JudgedPairs:
        """Return the pairs that people compared or, for human scores, all pairs of scored candidates of a source."""
        if people.kind == PREFERENCES:
            table = people.dataset.preferences
            table = table[table["primary"].to_numpy(bool) & (table["relation"] != "-").to_numpy(bool)]
            first, second = (table[side].to_numpy(np.int64) for side in ("first", "second"))
            outcome = table["relation"].map({">": 1.0, "<": 0.0, "=": 0.5})
            return cls(first, second, np.asarray(outcome, dtype=np.float64))
        human = people.grades
        first, second = pairs_in_blocks(people.dataset.candidate_offsets)
        known = ~np.isnan(human[first] - human[second])
        first, second = first[known], second[known]
        return cls(first, second, np.asarray(0.5 + 0.5 * np.sign(human[first] - human[second]), dtype=np.float64))


def fit_confidence(margin: npt.ArrayLike, outcome: npt.ArrayLike, weight: npt.ArrayLike) -> Confidence | None:
    """Return the confidence parameters fitted to judged pairs, or None if people order too few of the pairs.

    Slope and lapse are fitted by maximum likelihood; the tie threshold agrees with the most judgements by weight.
    Margins are the first candidate's score minus the second's.
    """
    from scipy.optimize import minimize

    margin, outcome, weight = (np.asarray(values, dtype=np.float64) for values in (margin, outcome, weight))
    strict = outcome != 0.5
    if strict.sum() < FEWEST_PAIRS:
        return None
    signed, weights = (np.where(outcome > 0.5, margin, -margin)[strict], weight[strict])
    scale = np.sqrt(np.average(signed**2, weights=weights)) or 1.0

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean negative log-probability of the judgements, and its gradient."""
        slope, lapse = parameters
        probabilities = np.maximum(probability(signed / scale, slope, lapse), 1e-12)
        rise = np.tanh(0.5 * slope * signed / scale)
        parts = np.stack([0.25 * (1.0 - lapse) * (1.0 - rise**2) * signed / scale, -0.5 * rise])
        gradient = -np.average(parts / probabilities, axis=1, weights=weights)
        return -float(np.average(np.log(probabilities), weights=weights)), gradient

    found = minimize(
        loss,
        [1.0, 0.1],
        jac=True,
        bounds=[(0.0, 100.0), (0.0, 1.0)],
        method="L-BFGS-B",
        options={"ftol": 0.0, "gtol": 1e-10},
    )
    slope, lapse = found.x
    # keep the digits that are the same on all processors, without rounding the threshold below the margin it equals
    tie = (1.0 + 6e-6) * tie_threshold(margin, outcome, weight)
    return Confidence(*(float(f"{value:.6g}") for value in (slope / scale, lapse, tie)))


def tie_threshold(margin: FloatArray, outcome: FloatArray, weight: FloatArray) -> float:
    """Return the smallest of the tie thresholds that agree with the most judgements, counted by weight."""
    distance = np.abs(margin)
    right = np.where(margin > 0, outcome == 1.0, outcome == 0.0) & (distance > 0)
    gain = weight * ((outcome == 0.5).astype(np.float64) - right)
    order = np.argsort(distance, kind="stable")
    distance, total = distance[order], np.cumsum(gain[order])
    last = np.append(distance[1:] != distance[:-1], True)
    distance, total = np.append(0.0, distance[last]), np.append(0.0, total[last])
    return float(distance[np.argmax(total >= total.max() - 1e-12)])
