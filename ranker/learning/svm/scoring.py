"""A scikit-learn scorer for estimators of grades within groups.

A grid search over grouped folds keeps the rows of a source together and compares them only with each other::

    sklearn.set_config(enable_metadata_routing=True)
    pipeline = make_pipeline(StandardScaler(), RankSVM().set_fit_request(groups=True))
    search = GridSearchCV(pipeline, {"ranksvm__C": [0.01, 0.1, 1.0]}, scoring=group_scorer(), cv=GroupKFold(5))
    search.fit(X, y, groups=groups)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.metrics import make_scorer
from sklearn.utils import check_consistent_length

from ranker.errors import OptionError
from ranker.learning.svm.judgements import group_codes
from ranker.ranks import group_offsets, group_spearman


def mean_group_spearman(y: npt.ArrayLike, scores: npt.ArrayLike, groups: Any = None) -> float:
    """Return the mean over groups of the tie-corrected Spearman correlation between scores and grades."""
    grades, values = np.asarray(y, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    check_consistent_length(grades, values)
    order, offsets = group_offsets(group_codes(groups, len(values)))
    rho = group_spearman(values[order], grades[order], offsets)
    defined = rho[~np.isnan(rho)]
    return float(defined.mean()) if len(defined) else float("nan")


def group_scorer() -> Any:
    """Return a scorer for `sklearn.model_selection` that computes `mean_group_spearman` and requests the groups.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, groups=groups)``, of an estimator whose `predict` returns scores.

    Raises
    ------
    OptionError
        Unless metadata routing is on, without which a search hands on no groups.

    Examples
    --------
    >>> import sklearn
    >>> from ranker import RankSVM, group_scorer
    >>> X, y, groups = [[1.0], [2.0], [4.0], [3.0]], [1, 2, 5, 3], ["a", "a", "b", "b"]
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     round(group_scorer()(RankSVM().fit(X, y, groups), X, y, groups=groups), 3)
    1.0
    """
    if not sklearn.get_config()["enable_metadata_routing"]:
        what = "metadata routing is disabled, so a search would not pass on the groups"
        raise OptionError(f"{what}: call sklearn.set_config(enable_metadata_routing=True) first")
    scorer = make_scorer(mean_group_spearman, response_method="predict")
    return scorer.set_score_request(groups=True)
