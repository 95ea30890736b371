"""Columns of extractors as metrics."""

from __future__ import annotations

import numpy as np
import pytest

from ranker.corpora import catalogue
from ranker.errors import DataError, MissingError, ModelError
from ranker.evaluation.systems.levels import Units
from ranker.extractors.base import FittedExtractor, Metric
from ranker.extractors.registry import BUILT_IN, make, make_metric
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import candidate_scores, make_scorer, sign_of
from tests.datasets import dataset_of
from tests.extractors.test_fit_scopes import dataset

LOWER = {
    "perp": ["perp"],
    "perp[oov=true,match=true]": ["perp[oov=true,match=true]", "perp[oov=true,match=true].oov"],
    "length": ["length.shorter", "length.longer"],
    "meteor_parts": ["meteor_parts.penalty"],
    "mismatch": [*make("mismatch").columns],
    "ter": ["ter"],
}


def columns() -> list[tuple[str, str]]:
    """Return every column of every extractor that is no metric, with the extractor."""
    items = [make(name) for name in [*sorted(BUILT_IN), "perp[oov=true,match=true]", "ngrams[order=2,unit=character]"]]
    return [(str(item), column) for item in items if not isinstance(item, Metric) for column in item.columns]


@pytest.mark.parametrize(("extractor", "column"), columns())
def test_every_column_is_a_metric_by_its_name(extractor: str, column: str) -> None:
    metric = make_metric(column)
    assert str(metric) == column
    assert str(make_metric(str(metric))) == column
    assert metric.higher_is_better == (column not in LOWER.get(extractor, []))
    data = dataset(range(4))
    if make(extractor).fit_scope == "train" and not isinstance(make(extractor), FittedExtractor):
        with pytest.raises(ModelError, match=f"{extractor} is not fitted, and would learn from the data"):
            make_scorer(column, None)
        return
    if extractor == "perp" or extractor.startswith("perp["):
        data = catalogue.load("sample")
    scorer = make_scorer(column, None)
    try:
        result = scorer.statistics(data)
    except MissingError as error:
        pytest.skip(str(error).split("\n")[0])
    expected = make(extractor).fit(data).transform(data)[:, make(extractor).columns.index(column)]
    np.testing.assert_array_equal(scorer.score(result), expected)
    np.testing.assert_array_equal(candidate_scores(scorer, data), sign_of(scorer) * expected)
    systems = Units.of(data, "system")
    means = [expected[systems.group == number].mean() for number in range(len(systems.keys))]
    np.testing.assert_allclose(systems.score(scorer, result), means, rtol=1e-12)


@pytest.mark.parametrize("name", LOWER)
def test_columns_declare_where_lower_is_better(name: str) -> None:
    assert list(make(name).lower_is_better) == LOWER[name]


def test_columns_stand_in_sums_and_sums_in_models(tmp_path) -> None:
    data = dataset_of([(["a b c d"], ["a b c d", "a b c", "a b"]), (["x y z"], ["x y", "x"])], kind="fluency")
    text = "combine[length[unit=character].shorter - 2*ngrams.2.f1 + bleu]"
    metric = make_metric(text)
    assert str(metric) == text
    ngrams, length = make("ngrams").transform(data), make("length[unit=character]").transform(data)
    expected = length[:, 0] - 2 * ngrams[:, 5] + make("bleu").transform(data)[:, 0]
    np.testing.assert_allclose(metric.transform(data)[:, 0], expected, rtol=0, atol=1e-12)
    ranker = Ranker(f"{text},combine[paraphrase.f + bleu]", C=1.0).fit(data)
    ranker.save(tmp_path / "m")
    np.testing.assert_array_equal(Ranker.load(tmp_path / "m").candidate_scores(data), ranker.candidate_scores(data))


def test_too_little_to_learn_from_is_an_error() -> None:
    message = "test: 8 reference sentences are too few for a language model, which needs 100: use a metric other than"
    for text in ("perp", "combine[bleu - perp]"):
        with pytest.raises(DataError, match=f"{message} perp"):
            candidate_scores(make_scorer(text, None), dataset(range(4)))


def test_a_column_can_be_fitted_on_other_data() -> None:
    fitted = make_metric("paraphrase.f").fit(dataset(range(4)))
    few = dataset(range(2))
    expected = make("paraphrase").fit(dataset(range(4))).transform(few)[:, 2]
    np.testing.assert_array_equal(fitted.transform(few)[:, 0], expected)
    with pytest.raises(ModelError, match="is not fitted"):
        make_metric("paraphrase.f").transform(few)
