r"""The ranking SVM: a linear score that puts better rows above worse ones (Joachims 2002; Ye, Zhou and Lin 2007).

Its objective, over pairs in which row ``i`` is better than row ``j`` of the same group, is

    minimise over w   1/2 |w|^2 + C * sum over pairs of weight_ij * max(0, 1 - w.(x_i - x_j))        hinge
                      1/2 |w|^2 + C * sum over pairs of weight_ij * max(0, 1 - w.(x_i - x_j))^2      squared_hinge

An origin ``o`` other than 0 turns ``1/2 |w|^2`` into ``1/2 |w - o|^2``: the weights stay near those of another model
as far as the pairs allow it. C = 0 leaves them at ``o``; a large C forgets it where the pairs say something.

The pairs of rows are defined in `ranker.learning.svm.judgements`, sums over them in
`ranker.learning.svm.pair_loss`, and the minimisation of such sums in `ranker.learning.svm.newton`.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import DataError
from ranker.learning.svm.fitting import Fitting
from ranker.learning.svm.judgements import Grades, Judgements, checked_preferences, group_codes
from ranker.learning.svm.scoring import mean_group_spearman
from ranker.ranks import average_ranks, group_offsets

LARGE_GROUP = 2000
"""Number of rows of a single group from which a fit warns that groups may have been forgotten."""


class RankSVM(BaseEstimator):
    r"""Linear ranking SVM, solved up to a certified duality gap.

    Primal, over pairs of rows of the same group in which ``i`` is better than ``j``::

        1/2 |w|^2 + C * sum of weight_ij * loss(1 - w.(x_i - x_j)),     loss(m) = max(0, m) or max(0, m)^2

    Dual, with ``w = sum of alpha_ij (x_i - x_j)``::

        sum of alpha_ij - 1/2 |w|^2,                                  0 <= alpha_ij <= C weight_ij         (hinge)
        sum of alpha_ij - 1/2 |w|^2 - sum of alpha_ij^2 / (4 C weight_ij),        0 <= alpha_ij    (squared hinge)

    There is no intercept, since pairs only see differences, and no standardisation: put a scaler before it.

    The minimum is unique, and `coef_` is the minimum itself as far as floating point allows: the squared hinge takes
    Newton steps until they no longer help, and for the hinge the optimality conditions are solved on the pairs whose
    margin is 1 (`ranker.learning.svm.polish`). The weights are then rounded to multiples of the power of 2 that is
    2^-40 of the largest weight, so that equal data give equal weights in any order of the rows, as far as rounding can
    hide what is left; and scores that tie by the minimum differ by about 1e-12 at most, which counts as a tie
    (`ranker.ranks.merge_ties`). Where more than 200,000 pairs, or 2,000 distinct differences, have a margin of 1, or
    rounding would exceed `tol`, the weights are left as `tol` certifies them.

    Parameters
    ----------
    C : float or "auto", default 1.0
        Weight of one pair's loss against the squared norm; positive, or 0 if there is an origin. ``"auto"`` takes
        ``C * total pair weight`` from 0.01, 0.1, ..., 10000, and 0 with an origin, by cross-validation over groups
        (over connected components if pairs are given without groups): the smallest C whose mean agreement is below
        the best by no more than one standard error of this difference over the folds (Breiman et al. 1984, section
        3.4.3), two for C = 0, or 1e-4. Agreement is Spearman's correlation within a held-out group for grades, and for
        pairs the weight of the concordant held-out pairs less that of the discordant ones, as a share of their total.
        Scores that all tie agree with nothing: 0.
    loss : {"hinge", "squared_hinge"}, default "hinge"
    tol : float, default 1e-8
        Stop when the duality gap is at most this fraction of the objective.
    max_iter : int, default 200
        Newton steps at most; a fit takes 5 to 80.
    cv : int, default 5
        Folds of ``C="auto"``; fewer if there are fewer groups. At least 2.
    random_state : int, RandomState instance or None, default 0
        Deals the groups to the folds of ``C="auto"``.

    Attributes
    ----------
    coef_ : float array, shape (n_features,)
    objective_ : float
        Value of the primal at `coef_`.
    duality_gap_ : float
        `objective_` is at most this far above the minimum.
    n_iter_ : int
        Newton steps taken.
    C_ : float
        The C in use.
    cv_results_ : dict of str to array
        Only after ``C="auto"``: ``C`` and ``mean_test_score``, shape (7,), ``split_test_score``, shape (7, folds); with
        an origin 8 instead of 7, the first for C = 0.
    n_features_in_ : int

    Examples
    --------
    >>> from ranker.learning.svm.ranksvm import RankSVM
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [5.0, 2.0], [4.0, 3.0]]
    >>> svm = RankSVM(C=10.0).fit(X, y=[1, 2, 3, 2, 1], groups=["a", "a", "a", "b", "b"])
    >>> svm.rank(X, groups=["a", "a", "a", "b", "b"]).tolist()
    [3.0, 2.0, 1.0, 1.0, 2.0]
    """

    def __init__(
        self,
        C: float | str = 1.0,
        *,
        loss: str = "hinge",
        tol: float = 1e-8,
        max_iter: int = 200,
        cv: int = 5,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.random_state = random_state

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        groups: Any = None,
        *,
        pairs: npt.ArrayLike | None = None,
        pair_weight: npt.ArrayLike | None = None,
        origin: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn the weights from grades within groups, or from pairs.

        Parameters
        ----------
        X : array-like, shape (n, n_features)
        y : array-like of numbers, shape (n,), optional
            Grades, higher is better. Two rows of a group with different grades are a pair of weight 1, equal grades
            are none. Ignored if `pairs` are given.
        groups : array-like of hashable labels, shape (n,), optional
            Rows are compared inside their group only. Default: one group of all rows. A pipeline or a search passes
            them on if `set_fit_request(groups=True)` asks for them; see `ranker.learning.svm.scoring`.
        pairs : array-like of int, shape (n_pairs, 2), optional
            Indices of a better and a worse row, which share a group if `groups` are given.
        pair_weight : array-like, shape (n_pairs,), optional
            At least 0; default 1.
        origin : array-like, shape (n_features,), optional
            Weights to stay near: the objective has ``1/2 |w - origin|^2``. Default: 0.

        Returns
        -------
        RankSVM
            Itself. Without any pair `coef_` is the origin, which is the minimum.

        Raises
        ------
        DataError
            A `ValueError`: groups, pairs, weights or origin of a wrong shape or value; ``C="auto"`` on fewer than 2
            groups; groups with more than 200 million pairs of rows.
        OptionError
            A `ValueError`: a parameter out of range.

        Warns
        -----
        ConvergenceWarning
            If the duality gap is above `tol` after `max_iter` steps.
        UserWarning
            If 2,000 graded rows or more form a single group, as where groups are lost on their way.
        """
        fitting = Fitting(self.C, self.loss, self.tol, self.max_iter, self.cv)
        fitting.check(may_be_zero=origin is not None)
        judgements: Judgements
        if pairs is None:
            if pair_weight is not None:
                raise DataError("pair_weight without pairs: give pairs, or remove the weights")
            features, grades = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
            codes = group_codes(groups, len(grades))
            _warn_of_one_group(codes)
            judgements = Grades(features, grades.astype(np.float64), codes)
        else:
            features = validate_data(self, X, dtype=np.float64)
            judgements = checked_preferences(features, pairs, pair_weight, groups)
        near = None if origin is None else _checked_origin(origin, features.shape[1])
        fitted = fitting.fit(judgements, near, check_random_state(self.random_state))
        self.coef_ = fitted.coef
        self.objective_ = fitted.objective
        self.duality_gap_ = fitted.duality_gap
        self.n_iter_ = fitted.n_iter
        self.C_ = fitted.C
        if fitted.cv_results:
            self.cv_results_ = fitted.cv_results
        elif hasattr(self, "cv_results_"):
            # results of an earlier fit, in which C was chosen
            del self.cv_results_
        return self

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:
        """Return the scores ``X w``, shape (n,), which are comparable only among rows of the same group."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(rows @ self.coef_)

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Return the scores of `decision_function`, shape (n,), under the name that scikit-learn's tools expect."""
        return self.decision_function(X)

    def rank(self, X: npt.ArrayLike, groups: Any = None) -> FloatArray:
        """Rank the rows of each group by score.

        Parameters
        ----------
        X : array-like, shape (n, n_features)
        groups : array-like of hashable labels, shape (n,), optional
            Default: one group of all rows.

        Returns
        -------
        float array, shape (n,)
            1 for the highest score of a group; scores that tie (`ranker.ranks.merge_ties`) share their mean
            rank.
        """
        scores = self.decision_function(X)
        order, offsets = group_offsets(group_codes(groups, len(scores)))
        ranks = np.empty(len(scores))
        ranks[order] = average_ranks(-scores[order], offsets)
        return ranks

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, groups: Any = None) -> float:
        """Return the mean over groups of the tie-corrected Spearman correlation between scores and grades.

        Parameters
        ----------
        X : array-like, shape (n, n_features)
        y : array-like of numbers, shape (n,)
            Grades, higher is better.
        groups : array-like of hashable labels, shape (n,), optional
            Default: one group of all rows.

        Returns
        -------
        float
            In [-1, 1]. Groups whose grades or scores are all equal have no correlation and are left out; NaN if none
            is left.
        """
        scores = self.decision_function(X)
        _, grades = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=False)
        return mean_group_spearman(grades, scores, groups)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _warn_of_one_group(codes: Int64Array) -> None:
    if len(codes) < LARGE_GROUP or codes.max() > 0:
        return
    pairs = len(codes) * (len(codes) - 1) // 2
    warnings.warn(
        f"all {len(codes):,} rows form one group, up to {pairs:,} pairs: give the source of every row as groups; in a "
        "pipeline or grid search, enable metadata routing and call set_fit_request(groups=True)",
        UserWarning,
        stacklevel=3,
    )


def _checked_origin(origin: npt.ArrayLike, n_features: int) -> FloatArray:
    weights = np.array(origin, dtype=np.float64)
    if weights.shape != (n_features,):
        raise DataError(f"origin of shape {weights.shape}: expected {(n_features,)}, one weight for each column of X")
    wrong = np.flatnonzero(~np.isfinite(weights))
    if len(wrong):
        raise DataError(f"origin[{wrong[0]}] is {weights[wrong[0]]}: expected a finite number")
    return weights
