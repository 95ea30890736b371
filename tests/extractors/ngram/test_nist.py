from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import OptionError
from ranker.extractors.registry import make


def dataset_of(items: list[tuple[list[str], str]]):
    return assemble([Record("", references, [Candidate("s", text)]) for references, text in items], "test")


@pytest.fixture(scope="module")
def inputs(request) -> list[dict]:
    path = request.getfixturevalue("golden") / "inputs.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def segments(request) -> dict[str, dict[str, str]]:
    path = request.getfixturevalue("golden") / "mteval13a.tsv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["id"]: row for row in rows}


@pytest.mark.parametrize("column", ["cased", "lc"])
@pytest.mark.parametrize("group", ["de-en", "fi-en", "ted", "edge1", "edge2", "all.ref0"])
def test_equals_mteval(golden, inputs, segments, column, group):
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
        corpus = json.loads((golden / "mteval13a.corpus.json").read_text())[group][column]["NIST"]
        assert metric.score(rows.sum(axis=0)) == pytest.approx(corpus, abs=1e-9)
    else:
        # one word lowered differently changes the counts, and with them the information of its n-grams everywhere
        np.testing.assert_allclose(metric.score(rows)[ascii_only], np.array(wanted)[ascii_only], atol=0.02)


def test_degenerate_segments_score_nothing():
    dataset = dataset_of([(["a b c"], ""), ([""], "a"), (["a b c"], "x y"), (["a b c"], "a b c")])
    scores = make("nist").fit(dataset).transform(dataset)[:, 0]
    assert scores[:3].tolist() == [0, 0, 0]
    assert scores[3] > 0


def test_order_out_of_range():
    with pytest.raises(OptionError, match=r"nist\[order=0\]: expected 1 to 9"):
        make("nist[order=0]")
