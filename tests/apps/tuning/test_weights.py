from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from ranker.apps.tuning.hypotheses import references_of
from ranker.apps.tuning.iterations import tune
from ranker.apps.tuning.weights import Weights, read_weights, weight_space, write_weights
from ranker.corpora.formats.nbest import NBestList
from ranker.errors import DataError
from ranker.extractors.registry import make_metric
from ranker.ranking.scorers import MetricScorer
from tests.golden_messages import check_messages

LAYOUT = (("", 2), ("LM0", 1), ("TM0", 3))
WEIGHTS = Weights(LAYOUT, (0.1, -2.0, 1 / 3, 1e-20, 0.0, 5.0))


def test_both_forms_read_back_equal(tmp_path):
    paths = write_weights(WEIGHTS, tmp_path / "w", score=0.5)
    assert [path.name for path in paths] == ["w.json", "w.ini"]
    for path in paths:
        again = read_weights(path)
        assert again.values == WEIGHTS.values
        assert tuple(again.fit(LAYOUT, "list")) == WEIGHTS.values
    assert json.loads(paths[0].read_text())["score"] == 0.5
    assert paths[1].read_text() == "[weight]\nF= 0.1 -2\nLM0= 0.3333333333333333\nTM0= 1e-20 0 5\n"


def test_the_weights_of_a_moses_configuration_are_read(tmp_path):
    path = tmp_path / "moses.ini"
    path.write_text("# made by hand\n[feature]\nKENLM name=LM0\n\n[weight] \nLM0= 0.5 # good\nd= 1 2\n[threads]\n4\n")
    weights = read_weights(path)
    assert weights == Weights((("LM0", 1), ("d", 2)), (0.5, 1, 2))
    assert weights.fit((("d", 2), ("LM0", 1)), "list").tolist() == [1, 2, 0.5]
    with pytest.raises(DataError, match=r"list: has the features d, LM0, but the weights are for LM0"):
        weights.fit((("d", 1), ("LM0", 1)), "list")


def test_unsound_files_are_refused(tmp_path):
    def read(asked):
        (tmp_path / "w").write_text(json.loads(asked))
        return read_weights(tmp_path / "w")

    check_messages("weight_files", read, folder=tmp_path)
    with pytest.raises(DataError, match=r"too deeply nested|not JSON"):
        read(json.dumps('{"a":' * 5000))


def test_unsound_bounds_are_refused():
    def space(asked):
        option, *values = asked.split()
        return weight_space(LAYOUT, np.ones(6), **{option: values})

    check_messages("weights", space)


def test_restarts_lie_inside_the_bounds_and_depend_on_seed_and_iteration():
    space = weight_space(LAYOUT, np.full(6, 0.5), fixed=["LM0"], bounds=["TM0.2=3:", "TM0.3=:-5", "F.1=0:0.1"])
    drawn = space.restarts(200, 0, 1)
    assert (drawn[:, 2] == 0.5).all()
    assert (drawn[:, 4] >= 3).all()
    assert (drawn[:, 5] <= -5).all()
    assert ((drawn[:, 0] >= 0) & (drawn[:, 0] <= 0.1)).all()
    assert (np.abs(drawn[:, 1]) <= 1).all()
    assert (space.restarts(200, 0, 1) == drawn).all()
    assert not (space.restarts(200, 0, 2) == drawn).all()
    assert not (space.restarts(200, 1, 1) == drawn).all()


@pytest.mark.parametrize("name", ["a#b", "[x", "[x]", "b#"])
def test_names_with_marks_of_comments_and_sections_read_back(name, tmp_path):
    written = Weights((("LM", 1), (name, 2), ("TM", 1)), (0.5, 1, 2, 3))
    for path in write_weights(written, tmp_path / "w"):
        assert read_weights(path) == written
    (tmp_path / "v").write_text(f"# x= 1\n{name}= 1 2#comment\n #[x]\n")
    assert read_weights(tmp_path / "v").groups() == [(name, [1, 2])]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("", "F"), r"x: feature 'F' is duplicated \(nameless values are called F\); rename or remove one feature"),
        (("a", "#b"), "x: feature '#b': expected a name that does not begin with #, the mark of comments; rename it"),
    ],
)
def test_names_whose_weights_could_not_be_read_are_refused_before_the_search(names, says):
    features = pa.array(["a b"])
    nbest = NBestList(
        "x", np.zeros(1, int), np.zeros(1, int), features, np.ones((1, 2)), ((names[0], 1), (names[1], 1))
    )
    with pytest.raises(DataError, match=says):
        tune(MetricScorer(make_metric("chrf")), references_of([""], [0], ["a b"], "r"), nbest)


def test_a_comment_that_names_a_section_begins_none(tmp_path):
    (tmp_path / "w").write_text("# as in [weight] of moses.ini\nLM= 0.5\n")
    assert read_weights(tmp_path / "w").groups() == [("LM", [0.5])]
