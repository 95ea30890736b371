"""Features as a scikit-learn transformer from data frames of texts to arrays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.in_memory import dataset_and_rows
from ranker.errors import DataError
from ranker.ranking.feature_set import FeatureSet


class Features(TransformerMixin, BaseEstimator):
    """Transformer that computes feature columns of candidate translations in a frame, for scikit-learn pipelines.

    Rows of a source belong together: features may compare its candidates, and a ranking SVM
    compares nothing else. So split data by source, as `sklearn.model_selection.GroupKFold` does.

    Parameters
    ----------
    features : str, default "bleu1-4"
        Extractors in their notation and names of feature sets, separated by commas; see ``ranker features``.

    Attributes
    ----------
    feature_set_ : FeatureSet
        The extractors, with what they learnt from the frame they were fitted to.

    Examples
    --------
    >>> from ranker import Features, from_texts
    >>> frame = from_texts({"A": ["a b"], "B": ["a"]}, references=["a b"]).to_frame()
    >>> features = Features("bleu[order=1],bp").fit(frame)
    >>> features.transform(frame).round(3).tolist()
    [[1.0, 1.0], [0.368, 0.368]]
    >>> features.get_feature_names_out().tolist()
    ['bleu[order=1]', 'bp']
    """

    def __init__(self, features: str = "bleu1-4") -> None:
        self.features = features

    def fit(self, X: pd.DataFrame, y: npt.ArrayLike | None = None) -> Self:
        """Fit the extractors that learn from training data.

        Parameters
        ----------
        X : DataFrame, shape (n, any)
            With the columns of `ranker.from_frame`; columns of ratings are ignored.
        y : array-like, optional
            Ignored.

        Raises
        ------
        DataError
            If the frame is not of that form, or a feature needs a reference that is missing.
        OptionError
            For an unknown feature.
        """
        features, dataset = FeatureSet.parse(self.features), _read(X)[0]
        features.check_inputs(dataset)
        self.feature_set_ = features.fit(dataset)
        return self

    def fit_transform(self, X: pd.DataFrame, y: npt.ArrayLike | None = None, **_: Any) -> FloatArray:
        """Fit, and return the columns to train a model on; see `ranker.extractors.base.Extractor.fit_transform`."""
        dataset, candidates = _read(X)
        self.feature_set_, columns = FeatureSet.parse(self.features).fit_transform(dataset)
        return np.asarray(columns[candidates])

    def transform(self, X: pd.DataFrame) -> FloatArray:
        """Return the feature columns of every row, shape (n, features).

        Raises
        ------
        DataError
            As in `fit`.
        """
        check_is_fitted(self)
        dataset, candidates = _read(X)
        return np.asarray(self.feature_set_.transform(dataset)[candidates])

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns that `transform` makes, shape (features,)."""
        check_is_fitted(self)
        return np.array(self.feature_set_.columns, dtype=object)


def _read(X: pd.DataFrame) -> tuple[Dataset, Int64Array]:
    if not isinstance(X, pd.DataFrame):
        what = f"expected a data frame with one row per candidate, found {type(X).__name__}"
        raise DataError(f"{what}: use Dataset.to_frame() to convert a data set", file="X")
    dataset, candidates = dataset_and_rows(X, "X")
    if candidates is None:
        raise DataError("expected one row per candidate, found preferences or one column per system", file="X")
    return dataset, candidates
