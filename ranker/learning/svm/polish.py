r"""Refines a minimiser of the hinge to machine precision, and rounds away the noise below that.

At the minimum every pair has its place: on the margin (``w.d = 1`` with ``d = x_better - x_worse``), inside it (alpha
at its bound ``C weight``), or outside (alpha 0). Once the places are known, what is left are linear equations,

    w = pull + sum over pairs on the margin of alpha d,      pull = origin + C * sum over pairs inside of weight d
    w.d = 1 for the pairs on the margin

whose w is unique, and it is the minimum exactly if there are alphas between 0 and ``C weight`` (Karush-Kuhn-Tucker).
The places are read off an approximate minimiser and off the solution again, until both agree. Only the pairs on the
margin are ever listed, and of them only the distinct d count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ranker import arrays
from ranker.arrays import FloatArray
from ranker.learning.svm.pair_loss import PairLoss, PairSet

WIDTHS = (1e-7, 1e-9, 1e-5)
"""Tolerances of slack, tried in turn, within which an approximate minimiser has a pair on the margin."""

ON_MARGIN = 1e-10
"""Slack up to which an exact minimiser has a pair on the margin."""

EXACT = 1e-10
"""Relative error up to which the equations count as fulfilled."""

LISTED, DISTINCT = 200_000, 2_000
"""Numbers of pairs on the margin, and of distinct d among them, from which a solution is left unpolished."""

ROUNDS = 4
_PARTS = 3
"""Number of parts into which the terms of a sum are split."""
_LARGEST = 2.0**960
"""Size of terms from which a sum could overflow when they are split."""


@dataclass(frozen=True)
class Polished:
    """The minimum of the hinge objective, with the alphas of the pairs on the margin."""

    coef: FloatArray
    dual_coef: FloatArray
    """The weights that the alphas give, equal to `coef` but for rounding."""
    differences: FloatArray
    """The distinct d, shape (k, d)."""
    alpha: FloatArray
    bound: FloatArray

    def gap(self, coef: FloatArray) -> float:
        """Return the duality gap of the weights `coef`, which must be close to the minimum.

        No pair off the margin may cross the margin between `coef` and the minimum.
        """
        slack = 1.0 - self.differences @ coef
        off = coef - self.dual_coef
        return float(0.5 * off @ off + (self.bound * np.maximum(slack, 0.0) - self.alpha * slack).sum())


def polish(rows: FloatArray, pairs: PairSet, C: float, coef: FloatArray, origin: FloatArray) -> Polished | None:
    """Solve the hinge's optimality conditions near its approximate minimiser `coef`; None if no solution is found."""
    for width in WIDTHS:
        polished = _polish(rows, pairs, C, coef, origin, width)
        if polished is not None:
            return polished
    return None


def _polish(
    rows: FloatArray, pairs: PairSet, C: float, coef: FloatArray, origin: FloatArray, width: float
) -> Polished | None:
    places: tuple[int, FloatArray] | None = None
    equations: tuple[FloatArray, FloatArray, FloatArray] | None = None
    for _ in range(ROUNDS):
        scores = rows @ coef
        tight = pairs.tight(scores, width)
        if len(tight) >= LISTED:
            return None
        inside, _ = pairs.alphas(scores, PairLoss(width, 0.0, 1.0))
        if places and equations and len(tight) == places[0] and np.array_equal(inside, places[1]):
            return _with_alphas(coef, *equations)
        places = len(tight), inside
        distinct = _distinct(rows[pairs.better[tight]] - rows[pairs.worse[tight]], pairs.weights[tight])
        if distinct is None:
            return None
        equations = origin + C * exact_product(rows, inside), distinct[0], C * distinct[1]
        solved = _on_margin(*equations[:2])
        if solved is None:
            return None
        coef, width = solved, ON_MARGIN
    return None


def _distinct(differences: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return sorted distinct differences of paired rows and their total weights, or None if there are too many."""
    if not len(differences):
        return differences, weights
    order = np.lexsort(differences.T[::-1])
    differences, weights = differences[order], weights[order]
    # rounding alone may separate equal differences of standardised whole numbers
    scale = np.abs(differences).max(axis=0)
    keys = np.round(differences / np.where(scale > 0.0, scale, 1.0) * 2.0**arrays.BITS)
    _, first, code = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) > DISTINCT:
        return None
    return differences[first], np.bincount(code.reshape(-1), weights=weights).astype(np.float64)


def _on_margin(pull: FloatArray, differences: FloatArray) -> FloatArray | None:
    """Return the weights closest to `pull` that give each difference margin 1, or None if no weights do."""
    if not len(differences):
        return pull
    left, singular, right = np.linalg.svd(differences, full_matrices=False)
    mask = singular > 1e-11 * singular[0]
    left, singular, right = left[:, mask], singular[mask], right[mask]
    coef = pull
    for _ in range(3):
        slack = 1.0 - exact_product(differences.T, coef)
        coef = coef + ((slack @ left) / singular) @ right
    slack = 1.0 - exact_product(differences.T, coef)
    return coef if np.abs(slack).max() <= 0.1 * ON_MARGIN else None


def _with_alphas(coef: FloatArray, pull: FloatArray, differences: FloatArray, bound: FloatArray) -> Polished | None:
    """Find alphas between 0 and `bound` that yield the weights `coef`; None if there are no such alphas."""
    from scipy.optimize import lsq_linear

    missing = coef - pull
    share = np.zeros(len(bound))
    if len(bound):
        columns = differences.T * bound
        share = 0.5 + np.linalg.lstsq(columns, missing - 0.5 * columns.sum(axis=1), rcond=1e-13)[0]
        if share.min() < 0.0 or share.max() > 1.0:
            share = lsq_linear(columns, missing, (0.0, 1.0), method="bvls", tol=1e-15).x
    alpha = bound * np.clip(share, 0.0, 1.0)
    dual_coef = pull + alpha @ differences
    if not np.abs(dual_coef - coef).max(initial=0.0) <= EXACT * np.abs(coef).max(initial=0.0):
        return None
    return Polished(coef, dual_coef, differences, alpha, bound)


def rounded(coef: FloatArray, origin: FloatArray | float = 0.0) -> FloatArray:
    """Round the differences between `coef` and `origin` to a unit proportional to the largest magnitude in either."""
    largest = float(max(np.abs(coef).max(initial=0.0), np.abs(origin).max(initial=0.0)))
    if not 1e-280 < largest < np.inf:
        return coef
    return arrays.rounded(coef - origin, largest) + origin


def exact_product(rows: FloatArray, factors: FloatArray) -> FloatArray:
    """Compute the product ``rows' factors``, shape (d,), with sums that do not depend on the order of the rows.

    Terms are split at a common power of 2 so that the sums of both parts are exact, and the rest again (Demmel and
    Nguyen 2013). Double precision is enough for that, on every processor.
    """
    used = factors != 0.0
    rows, factors = rows[used], factors[used]
    result = np.zeros(rows.shape[1])
    for column in range(rows.shape[1]):
        terms = rows[:, column] * factors
        for _ in range(_PARTS):
            largest = float(np.abs(terms).max(initial=0.0))
            if not 0.0 < largest < _LARGEST:
                result[column] += terms.sum()
                break
            border = math.ldexp(1.5, math.frexp(largest)[1] + len(terms).bit_length())
            upper = (terms + border) - border
            result[column] += upper.sum()
            terms -= upper
    return result
