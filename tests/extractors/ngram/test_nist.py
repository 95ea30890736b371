from __future__ import annotations

import json

import numpy as np
import pytest

from ranker.extractors.registry import make
from tests import golden_values
from tests.datasets import dataset_of


@pytest.fixture(scope="module")
def inputs(shared_golden) -> list[dict]:
    return golden_values.inputs(shared_golden)


@pytest.fixture(scope="module")
def segments(shared_golden) -> dict[str, dict[str, str]]:
    return golden_values.rows_of(shared_golden, "mteval13a.tsv")


@pytest.mark.parametrize("column", ["cased", "lc"])
@pytest.mark.parametrize("group", ["de-en", "fi-en", "ted", "edge1", "edge2", "all.ref0"])
def test_equals_mteval(shared_golden, inputs, segments, column, group):
    alone = group == "all.ref0"
    chosen = [item for item in inputs if alone or item["group"] == group]
    dataset = dataset_of([(item["refs"][:1] if alone else item["refs"], item["hyp"]) for item in chosen])
    metric = make("nist" if column == "cased" else "nist[lowercase=true]").fit(dataset)
    rows = metric.statistics(dataset)
    wanted = [float(segments[item["id"]][f"NIST.{column}.{'ref0' if alone else 'group'}"]) for item in chosen]
    # mteval lowers ASCII letters only
    ascii_only = [column == "cased" or "".join([item["hyp"], *item["refs"]]).isascii() for item in chosen]
    if all(ascii_only) or column == "cased":
        np.testing.assert_allclose(metric.score(rows), wanted, atol=1e-9, rtol=0)
        corpus = json.loads((shared_golden / "mteval13a.corpus.json").read_text())[group][column]["NIST"]
        assert metric.score(rows.sum(axis=0)) == pytest.approx(corpus, abs=1e-9)
    else:
        # one word lowered differently changes the counts, and with them the information of its n-grams everywhere
        np.testing.assert_allclose(metric.score(rows)[ascii_only], np.array(wanted)[ascii_only], atol=0.02)


def test_degenerate_segments_score_nothing():
    dataset = dataset_of([(["a b c"], ""), ([""], "a"), (["a b c"], "x y"), (["a b c"], "a b c")])
    scores = make("nist").fit(dataset).transform(dataset)[:, 0]
    assert scores[:3].tolist() == [0, 0, 0]
    assert scores[3] > 0
