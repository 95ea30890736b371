"""Features in a pipeline of scikit-learn."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ranker import Features, Ranker, RankSVM, from_frame, group_scorer, load_dataset
from ranker.errors import DataError, OptionError
from ranker.ranking import scikit_learn as features


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    data = load_dataset("sample")
    few = data.select_sources(np.arange(len(data.sources)) < 12)
    rated = few.to_frame().drop(columns="judge").groupby(["source", "system"], sort=False).first().reset_index()
    return rated.sample(frac=1, random_state=3)


def test_rows_keep_their_order(frame):
    example = Features("bleu[order=1],chrf").fit_transform(frame)
    alone = [Features("bleu[order=1],chrf").fit_transform(frame.iloc[[row]])[0] for row in (0, 20)]
    np.testing.assert_allclose(example[[0, 20]], alone)
    judges = pd.concat([frame.assign(judge="a"), frame.assign(judge="b")])
    np.testing.assert_array_equal(
        Features("bleu[order=1],chrf").fit(judges).transform(judges), np.tile(example, (2, 1))
    )


def test_a_search_over_grouped_folds_keeps_sources_together(frame):
    kind = "adequacy"
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            Features("bleu[order=1],chrf"), StandardScaler(), RankSVM().set_fit_request(groups=True)
        )
        grid = {"ranksvm__C": [0.1], "features__features": ["bleu[order=1]", "bleu[order=1],chrf"]}
        search = GridSearchCV(pipeline, grid, scoring=group_scorer(), cv=GroupKFold(2))
        search.fit(frame, frame[kind], groups=frame["source"])
    best = search.best_estimator_
    assert search.best_score_ > 0.2
    assert best[:-1].get_feature_names_out().tolist() == search.best_params_["features__features"].split(",")
    own = Ranker(
        search.best_params_["features__features"], C=search.best_params_["ranksvm__C"], loss="hinge", kind=kind
    )
    scores = own.fit(from_frame(frame)).score(frame)["score"]
    actual = pd.Series(best.predict(frame), index=frame.index)
    # Ranker learns from centred columns too, so the scores differ by a constant
    np.testing.assert_allclose((actual - scores).std(), 0, atol=1e-6)


def test_its_conventions_are_those_of_scikit_learn(frame):
    example = Features("bleu[order=1],bp")
    assert clone(example).get_params() == {"features": "bleu[order=1],bp"}
    with pytest.raises(NotFittedError):
        example.get_feature_names_out()
    shown = example.set_output(transform="pandas").fit(frame).transform(frame)
    assert [*shown] == ["bleu[order=1]", "bp"]
    pd.testing.assert_index_equal(shown.index, frame.index)


def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(DataError, match=r"X: expected a data frame .*, found list: use Dataset\.to_frame\(\)"):
        Features().fit([["a"]])
    with pytest.raises(DataError, match="X: column 'text' is missing"):
        Features().fit(frame.drop(columns="text"))
    with pytest.raises(DataError, match="has no reference, which column 'bleu' requires"):
        Features("bleu").fit(frame.drop(columns=[name for name in frame if name.startswith("reference")]))
    with pytest.raises(OptionError, match="unknown metric, feature or feature set 'blue'"):
        Features("blue").fit(frame)


def test_the_examples_of_the_docstrings():
    assert doctest.testmod(features).failed == 0
