r"""Minimises 1/2 |w - o|^2 plus a loss over pairs, by semismooth Newton steps with a certificate.

With rows ``X``, scores ``z = Xw`` and alphas added up by row, ``a``, the loss's gradient is ``-X'a``. Hence

    gradient    g = w - o - X'a
    Hessian     H = I + slope * X' L X                (`PairSet.curvature`)

The origin ``o`` is 0, or the weights of a model to stay near. With ``v = w - o`` the margin of a pair with difference
``d`` is ``v.d + o.d``, so this is the usual problem in v with an offset for every pair: the same Hessian, and the dual

    sum of alpha (1 - o.d) - 1/2 |X'a|^2              (less the sum of alpha^2 / (4 C weight) for the squared hinge)

Any alphas that the loss allows bound the minimum from below: with ``w_alpha = o + X'a`` the dual is the primal
minus a gap, and the gap is a sum of terms that are never negative,

    primal(w) - dual(alpha) = 1/2 |g|^2 + smoothing gap,            g = w - w_alpha

so computing it needs no difference of large numbers. The best primal and dual values seen certify the result.

The errors of weights are about the square root of the gap. The last fit must find the minimum itself, so
that whatever ties at the minimum ties: the squared hinge takes Newton steps until they no longer help, the hinge is
solved on its margin (`ranker.learning.svm.polish`), and both are rounded.

The squared hinge is piecewise quadratic: Newton steps with an exact line search reach its minimum in a few steps.
The hinge is smoothed to a parabola of some width around its kink and the width is taken down. For one set of pairs
in the zone the minimiser is, up to the square of the width, a straight line in the width. So at the minimum for one
width, a Newton step that keeps the zone and all but removes its width predicts the minimum for none, and the
predicted point meets a dual value whose error, too, is of the order of the width squared: the widths never get so
small that their alphas drown in rounding errors.

The Hessian is formed: d columns cost d^2 numbers and d^3 operations per step, little for hundreds of columns and too
much for many thousands.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import ThreadpoolController

from ranker.arrays import FloatArray
from ranker.errors import DataError
from ranker.learning.svm.pair_loss import PairLoss, PairSet, Totals
from ranker.learning.svm.polish import exact_product, polish, rounded

LossName = Literal["hinge", "squared_hinge"]

NARROWING = 0.1
"""Factor from one width of the smoothed hinge to the next."""

REMOVAL = 1e-6
"""Factor by which the predicting step narrows the zone: tiny, but the matrix can still be factored."""

FLAT = 0.1
"""A line search ends when the slope is this fraction of the slope it began with."""

MAX_REFINEMENTS, SETTLED = 5, 1e-15
"""Maximum number of Newton steps that refine a minimiser of the squared hinge, and the relative step that ends them."""

NOISE = 1e-12
"""Upper bound of the relative rounding error of an objective."""

RETRIES, RETRY = 3, 1e-2
"""Number of times that a hinge not solved on its margin is minimised further, and the factor on the gap each time."""

MAX_TRIALS = 40
"""Maximum number of points that a line search tries; it needs 2 to 6."""


@dataclass(frozen=True)
class Solution:
    """Weights, their objective, and the duality gap, which bounds the distance of the objective from its minimum."""

    coef: FloatArray
    """The weights w, shape (d,)."""
    objective: float
    """Primal objective at `coef`."""
    gap: float
    """Upper bound of the difference between `objective` and the minimum."""
    n_iter: int
    """Number of Newton systems solved."""


@dataclass(frozen=True)
class _Point:
    coef: FloatArray
    scores: FloatArray
    row_alpha: FloatArray
    totals: Totals


def minimise(
    rows: FloatArray,
    pairs: PairSet,
    C: float,
    loss: LossName,
    *,
    tol: float,
    max_iter: int,
    origin: FloatArray | None = None,
    exact: bool = False,
) -> Solution:
    """Minimise ``1/2 |w - origin|^2 + C * sum over pairs of weight * loss(1 - w.(x_better - x_worse))``."""
    # One thread, because the bits of a BLAS product may depend on the number of its threads. What overflows is found
    # in the Hessian, and refused there.
    with _thread_pools().limit(limits=1, user_api="blas"), np.errstate(over="ignore", invalid="ignore"):
        return _Descent(rows, pairs, C, loss, origin).run(tol, max_iter, exact=exact)


@functools.cache
def _thread_pools() -> ThreadpoolController:
    """Return the thread pools of NumPy and SciPy, cached because finding them takes as long as a small fit."""
    return ThreadpoolController()


class _Descent:
    def __init__(self, rows: FloatArray, pairs: PairSet, C: float, loss: LossName, origin: FloatArray | None) -> None:
        self.rows, self.pairs = rows, pairs
        self.loss = PairLoss(np.inf, 2.0 * C, 0.0) if loss == "squared_hinge" else PairLoss(1.0, C, C)
        self.origin = np.zeros(rows.shape[1]) if origin is None else origin
        self.coef = self.origin
        self.primal, self.dual = np.inf, -np.inf
        self.n_iter = 0

    def run(self, tol: float, max_iter: int, *, exact: bool) -> Solution:
        point = self.at(self.coef)
        enough = tol
        retries = RETRIES if exact else 0
        while True:
            gradient = self.gradient(point.coef, self.rows.T @ point.row_alpha)
            descent_gap = 0.5 * float(gradient @ gradient)
            smoothing_gap = self.loss.smoothing_gap(point.totals)
            primal = self.note_primal(point)
            self.dual = max(self.dual, primal - descent_gap - smoothing_gap)
            if self.stops(enough, max_iter):
                solution = self.exactly(tol) if exact else None
                if solution is not None or not retries or self.n_iter >= max_iter:
                    break
                retries, enough = retries - 1, RETRY * enough
            settled = max(0.01 * self.loss.width * smoothing_gap, 0.1 * enough * self.primal) if smoothing_gap else 0.0
            if descent_gap <= settled:
                predicted = self.without_width(point)
                self.note_primal(self.at(predicted))
                coef = predicted + NARROWING * (point.coef - predicted)
                self.loss = self.loss.narrowed(NARROWING)
                point = self.at(coef)
                continue
            moved = self.descend(point, gradient)
            if moved is None:
                solution = self.exactly(tol) if exact else None
                break
            point = moved
        return solution or Solution(self.coef, self.primal, max(0.0, self.gap), self.n_iter)

    def exactly(self, tol: float) -> Solution | None:
        """Return the exact minimum near the best weights, rounded if `tol` allows it, or None if it is not found."""
        if np.isinf(self.loss.width):
            exact = self.refined(self.coef)
            gap_of = self.squared_gap
        else:
            polished = polish(self.rows, self.pairs, self.loss.cap, self.coef, self.origin)
            if polished is None:
                return None
            exact, gap_of = polished.coef, polished.gap
        for coef in (rounded(exact, self.origin), exact):
            primal = self.primal_at(self.at(coef))
            gap = gap_of(coef)
            if gap <= tol * primal and primal - gap <= self.primal * (1.0 + NOISE):
                return Solution(coef, primal, gap, self.n_iter)
        return None

    def refined(self, coef: FloatArray) -> FloatArray:
        """Take full Newton steps on the squared hinge as long as they get closer to the minimum; return the weights."""
        best, distance = coef, np.inf
        for _ in range(MAX_REFINEMENTS):
            gradient = self.exact_gradient(coef)
            step = self.newton_step(self.rows @ coef, self.loss, gradient)
            if step @ step <= (SETTLED * SETTLED) * (coef @ coef):
                return coef
            # in the norm of the Hessian, where rounding errors of steep directions weigh little
            left = -float(gradient @ step)
            if not left < distance:
                break
            best, distance = coef, left
            coef = coef + step
        return best

    def gradient(self, coef: FloatArray, alpha_coef: FloatArray) -> FloatArray:
        """Return the gradient at `coef`, given ``alpha_coef = X'a`` for the alphas."""
        return coef - self.origin - alpha_coef

    def exact_gradient(self, coef: FloatArray) -> FloatArray:
        """Return the gradient at `coef`, with an exact sum over rows."""
        return self.gradient(coef, exact_product(self.rows, self.at(coef).row_alpha))

    def squared_gap(self, coef: FloatArray) -> float:
        """Return the duality gap of the squared hinge at `coef`.

        The alphas that follow from any weights are feasible.
        """
        gradient = self.exact_gradient(coef)
        return 0.5 * float(gradient @ gradient)

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    def stops(self, tol: float, max_iter: int) -> bool:
        """True if the duality gap is at most `tol` times the objective, or `max_iter` steps have been taken."""
        return self.gap <= tol * self.primal or self.n_iter >= max_iter

    def at(self, coef: FloatArray) -> _Point:
        scores = self.rows @ coef
        return _Point(coef, scores, *self.pairs.alphas(scores, self.loss))

    def note_primal(self, point: _Point) -> float:
        """Return the primal objective at `point`, and keep the point if it is the best so far."""
        primal = self.primal_at(point)
        if primal < self.primal:
            self.primal, self.coef = primal, point.coef
        return primal

    def primal_at(self, point: _Point) -> float:
        moved = point.coef - self.origin
        return 0.5 * float(moved @ moved) + self.loss.unsmoothed(point.totals)

    def newton_step(self, scores: FloatArray, loss: PairLoss, gradient: FloatArray) -> FloatArray:
        self.n_iter += 1
        hessian = loss.slope * self.pairs.curvature(scores, self.rows, loss.width)
        if not np.isfinite(hessian).all():
            raise DataError("the squares of the columns of X overflow: scale the columns")
        hessian.flat[:: len(hessian) + 1] += 1.0
        return -_solve(hessian, gradient)

    def without_width(self, point: _Point) -> FloatArray:
        """Predict the minimiser of the unsmoothed hinge, assuming that the same pairs stay in the smoothed zone."""
        steep = PairLoss(self.loss.width, self.loss.slope / REMOVAL, self.loss.cap)
        row_alpha, _ = self.pairs.alphas(point.scores, steep)
        gradient = self.gradient(point.coef, self.rows.T @ row_alpha)
        return point.coef + self.newton_step(point.scores, steep, gradient)

    def descend(self, point: _Point, gradient: FloatArray) -> _Point | None:
        """Take a Newton step with a line search, or return None if rounding errors leave no direction of descent."""
        step = self.newton_step(point.scores, self.loss, gradient)
        step_scores = self.rows @ step
        slope_at_start = float(gradient @ step)
        if slope_at_start >= 0.0:
            return None
        low, slope_low = 0.0, slope_at_start
        high, slope_high = np.inf, np.inf
        length = 1.0
        # The objective along the step is convex and piecewise quadratic: its slope rises in straight pieces, so the
        # chord through a bracket ends up inside the piece that holds the zero.
        for _ in range(MAX_TRIALS):
            scores = point.scores + length * step_scores
            row_alpha, totals = self.pairs.alphas(scores, self.loss)
            coef = point.coef + length * step
            slope = float((coef - self.origin) @ step - row_alpha @ step_scores)
            if abs(slope) <= FLAT * abs(slope_at_start):
                break
            if slope < 0.0:
                low, slope_low = length, slope
            else:
                high, slope_high = length, slope
            if np.isinf(high):
                reached = 1.1 * slope_at_start / min(slope_at_start - slope, -1e-300)
                length *= min(max(reached, 2.0), 10.0)
            else:
                chord = low - slope_low * (high - low) / (slope_high - slope_low)
                margin = 0.05 * (high - low)
                length = min(max(chord, low + margin), high - margin)
        return _Point(coef, scores, row_alpha, totals)


def _solve(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Solve a positive definite system; if rounding made the matrix indefinite, scale up its diagonal."""
    diagonal = matrix.diagonal().copy()
    added = 0.0
    while True:
        try:
            solution: FloatArray = cho_solve(cho_factor(matrix, lower=True), vector)
        except LinAlgError:
            added = max(1e-14, 10.0 * added)
            matrix.flat[:: len(matrix) + 1] = diagonal * (1.0 + added)
        else:
            return solution
