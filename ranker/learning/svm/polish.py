r"""Takes a minimiser of the hinge to machine precision, and rounds it so that noise below that leaves no trace.

At the minimum every pair has its place: on the margin (``w.d = 1`` with ``d = x_better - x_worse``), inside it (alpha
at its bound ``C weight``), or outside (alpha 0). Once the places are known, what is left are linear equations,

    w = pull + sum over pairs on the margin of alpha d,      pull = origin + C * sum over pairs inside of weight d
    w.d = 1 for the pairs on the margin

whose w is unique, and it is the minimum exactly if there are alphas between 0 and ``C weight`` (Karush-Kuhn-Tucker).
The places are read off an approximate minimiser and off the solution again, until both agree. Only the pairs on the
margin are ever listed, and of them only the distinct d count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray
from ranker.learning.svm.pair_sums import PairLoss, PairSet

WIDTHS = (1e-7, 1e-9, 1e-5)
"""Slacks, tried in turn, up to which a pair may be on the margin by an approximate minimiser."""

ON_MARGIN = 1e-10
"""Slack up to which a pair is on the margin by an exact one."""

EXACT = 1e-10
"""Relative error up to which the equations count as fulfilled."""

LISTED, DISTINCT = 200_000, 2_000
"""Pairs on the margin, and distinct d among them, from which on a solution stays as it is."""

ROUNDS = 4
BITS = 40
"""Weights are multiples of about 2^-40 of the largest."""


@dataclass(frozen=True)
class Polished:
    """The minimum of a hinge, with the alphas of the pairs on the margin."""

    coef: FloatArray
    dual_coef: FloatArray
    """The weights that the alphas give, equal to `coef` but for rounding."""
    differences: FloatArray
    """The distinct d, shape (k, d)."""
    alpha: FloatArray
    bound: FloatArray

    def gap(self, coef: FloatArray) -> float:
        """Return the duality gap of weights so near that no pair changes its place."""
        slack = 1.0 - self.differences @ coef
        off = coef - self.dual_coef
        return float(0.5 * off @ off + (self.bound * np.maximum(slack, 0.0) - self.alpha * slack).sum())


def polish(rows: FloatArray, pairs: PairSet, C: float, coef: FloatArray, origin: FloatArray) -> Polished | None:
    """Solve the hinge's optimality conditions near the approximate minimiser `coef`."""
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
    """Return the distinct differences of pairs, in an order of their own, and the summed weights of each."""
    if not len(differences):
        return differences, weights
    order = np.lexsort(differences.T[::-1])
    differences, weights = differences[order], weights[order]
    # what was whole before it was standardised differs by rounding alone
    scale = np.abs(differences).max(axis=0)
    keys = np.round(differences / np.where(scale > 0.0, scale, 1.0) * 2.0**BITS)
    _, first, code = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) > DISTINCT:
        return None
    return differences[first], np.bincount(code.reshape(-1), weights=weights).astype(np.float64)


def _on_margin(pull: FloatArray, differences: FloatArray) -> FloatArray | None:
    """Return the weights nearest to `pull` that give every difference a margin of 1, or None if there are none."""
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
    """Find alphas between 0 and `bound` that give `coef`; None if there are none."""
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
    """Round what weights differ from `origin` to multiples of the power of 2 that is 2^-40 of the largest, or less.

    The largest weight is that of both. It is stretched a little first, because a power of 2 itself, as which it may
    come out, is a border.
    """
    largest = float(max(np.abs(coef).max(initial=0.0), np.abs(origin).max(initial=0.0)))
    if not 1e-280 < largest < np.inf:
        return coef
    unit = 2.0 ** (int(np.frexp(largest * (1.0 + 2.0**-20))[1]) - BITS)
    return np.asarray(np.round((coef - origin) / unit) * unit + origin + 0.0)


def exact_product(rows: FloatArray, factors: FloatArray) -> FloatArray:
    """Return ``rows' factors`` in extended precision, so that the order of the rows hardly matters."""
    used = factors != 0.0
    return np.asarray(rows[used].T @ factors[used].astype(np.longdouble), dtype=np.float64)
