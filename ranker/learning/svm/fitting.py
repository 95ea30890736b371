"""Fitting a ranking SVM to judgements: the options, and the choice of C by cross-validation.

The objective and the parameters are described in `ranker.learning.svm.ranksvm`, the scikit-learn estimator. Rankers
are trained without it, because importing it takes longer than training.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import cast

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import DataError, OptionError
from ranker.learning.svm.judgements import Judgements
from ranker.learning.svm.newton import LossName, Solution, minimise
from ranker.learning.svm.pair_loss import PairSet
from ranker.learning.svm.penalty import EXPECTED, is_penalty
from ranker.learning.svm.signed import minimise_signed

LOSSES = ("hinge", "squared_hinge")

GRID = 10.0 ** np.arange(-2, 5)
"""Values among which ``C="auto"`` chooses C times the total weight of the pairs."""

AS_GOOD = 1e-4
"""Mean agreements closer than this count as equal when C is chosen."""

UNMOVED = 0.0
"""The value of C that leaves the weights at their origin; if there is an origin, ``C="auto"`` tries this value too."""

MOVES_FROM = 2.0
"""Standard errors by which the best C must agree better than `UNMOVED`; with 1, few judgements sometimes do harm."""

GRID_TOLERANCE = 1e-5
"""Relative duality gap of the fits that only serve to choose C."""


@dataclass(frozen=True, eq=False)
class FittedWeights:
    """The weights of a ranking SVM, and their distance from the minimum of the objective."""

    coef: FloatArray
    objective: float
    duality_gap: float
    n_iter: int
    C: float
    cv_results: dict[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True)
class Fitting:
    """The options of `RankSVM`, under the same names, and the sign allowed for each weight (squared hinge only)."""

    C: float | str = 1.0
    loss: str = "hinge"
    tol: float = 1e-8
    max_iter: int = 1000
    cv: int = 5
    signs: FloatArray | None = None

    def check(self, *, may_be_zero: bool) -> None:
        """Refuse options that are out of range; `may_be_zero` allows C to be 0, which requires an origin."""
        possible = isinstance(self.C, Real) and not isinstance(self.C, bool) and is_penalty(float(self.C))
        possible = possible or (may_be_zero and self.C == UNMOVED)
        if not possible and not (isinstance(self.C, str) and self.C == "auto"):
            raise OptionError(f"C={self.C!r}: {EXPECTED}")
        if self.loss not in LOSSES:
            raise OptionError(f"loss={self.loss!r}: expected one of {', '.join(map(repr, LOSSES))}")
        if not (isinstance(self.tol, Real) and 0.0 < float(self.tol) < np.inf):
            raise OptionError(f"tol={self.tol!r}: expected a positive number")
        for name, least in (("max_iter", 1), ("cv", 2)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or int(value) < least:
                raise OptionError(f"{name}={value!r}: expected a whole number of at least {least}")

    def fit(
        self, judgements: Judgements, origin: FloatArray | None, random_state: np.random.RandomState
    ) -> FittedWeights:
        """Learn the weights from judgements, near `origin` if it is given."""
        self.check(may_be_zero=origin is not None)
        rows, pairs = judgements.select(judgements.everything)
        # the sum needs no array as large as the rows
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = np.isfinite(rows.sum())
        if not is_finite and not np.isfinite(rows).all():
            row, feature = np.argwhere(~np.isfinite(rows))[0]
            what = f"feature number {feature + 1} is {rows[row, feature]} in a row, after it was standardised"
            raise DataError(f"{what}: expected a finite number; look for missing or huge values of this feature")
        C, results = self.C, dict[str, FloatArray]()
        if C == "auto":
            C, results = self._choose_C(judgements, pairs.total_weight, origin, random_state)
        C = float(C)
        solution = self._minimise(rows, pairs, C, self.tol, origin, exact=True)
        if solution.gap > self.tol * solution.objective:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"the duality gap is {solution.gap / solution.objective:.1e} of the objective after "
                f"{solution.n_iter} Newton steps, expected {self.tol:.1e}: raise max_iter (now {self.max_iter}), "
                f"scale the columns of X, or raise tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return FittedWeights(solution.coef, solution.objective, solution.gap, solution.n_iter, C, results)

    def _minimise(
        self,
        rows: FloatArray,
        pairs: PairSet,
        C: float,
        tol: float,
        origin: FloatArray | None,
        *,
        exact: bool = False,
    ) -> Solution:
        if pairs.total_weight == 0.0 or C == UNMOVED:
            return Solution(np.zeros(rows.shape[1]) if origin is None else origin, 0.0, 0.0, 0)
        if self.signs is not None:
            return minimise_signed(rows, pairs, C, self.signs, tol=tol, max_iter=self.max_iter)
        return minimise(
            rows,
            pairs,
            C,
            cast(LossName, self.loss),
            tol=tol,
            max_iter=self.max_iter,
            origin=origin,
            exact=exact,
        )

    def _choose_C(
        self,
        judgements: Judgements,
        total_weight: float,
        origin: FloatArray | None,
        random_state: np.random.RandomState,
    ) -> tuple[float, dict[str, FloatArray]]:
        """Return the smallest C that is as good as the best in cross-validation over groups, and each C's results."""
        units, labels = judgements.units()
        n_groups = len(np.unique(labels))
        if n_groups < 2:
            raise DataError(
                f"C='auto' needs pairs in at least 2 groups for cross-validation, found {n_groups}: "
                "give more groups, or C as a number"
            )
        scaled = GRID if origin is None else np.append(UNMOVED, GRID)
        agreed, weighed = [], []
        for training_units, held_out in _folds(labels, min(int(self.cv), n_groups), random_state):
            rows, pairs = judgements.select(units[training_units])
            tol = max(self.tol, GRID_TOLERANCE)
            coefs = [self._minimise(rows, pairs, C, tol, origin).coef for C in scaled / pairs.total_weight]
            outcomes = [judgements.agreement(coef, units[held_out]) for coef in coefs]
            agreed.append([value for value, _ in outcomes])
            weighed.append([weight for _, weight in outcomes])
        sums, weights = np.array(agreed).T, np.array(weighed).T
        mean = sums.sum(axis=1) / weights.sum(axis=1)
        split = sums / weights
        behind = split[mean.argmax()] - split
        error = behind.std(axis=1, ddof=1) / np.sqrt(split.shape[1])
        grid = scaled / total_weight
        results = {"C": grid, "mean_test_score": mean, "split_test_score": split}
        if origin is not None:
            error[0] *= MOVES_FROM
        best = np.argmax(mean >= mean.max() - np.maximum(error, AS_GOOD))
        return float(grid[best]), results


def _folds(
    labels: Int64Array, parts: int, random_state: np.random.RandomState
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield the indices of each fold's training and held-out units, like scikit-learn's shuffled `GroupKFold`."""
    for held_out in np.array_split(random_state.permutation(np.unique(labels)), parts):
        is_held_out = np.isin(labels, held_out)
        yield np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
