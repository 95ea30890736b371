"""Ranking without references by consensus, as a user does it."""

from __future__ import annotations

import json
import re

import pytest

from ranker.ranking.ranker import Ranker
from tests.datasets import dataset_of

TEXTS = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat", "dogs ran home"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data = dataset_of([([], TEXTS), ([], [text.replace("cat", "bird") for text in TEXTS])], kind="fluency")
    path = tmp_path_factory.mktemp("model") / "consensus.model"
    Ranker("consensus", C=1.0).fit(data).save(path)
    return path


@pytest.fixture
def ranked(command, tmp_path, model):
    """Rank sources with these texts; return the sources of the result and the notes."""

    def call(sources, code=0):
        data = tmp_path / "candidates.json"
        data.write_text(json.dumps([{"source": "x", "candidates": texts} for texts in sources]))
        out, err = command("rank", str(data), "--model", str(model), "--format", "json", code=code)
        return json.loads(out)["sources"] if out else None, err

    return call


@pytest.mark.parametrize("size", [1, 2])
def test_too_few_candidates_everywhere_are_refused_in_one_line(ranked, size):
    ranks, err = ranked([TEXTS[:size]] * 2, code=2)
    assert ranks is None
    assert err == (
        "ranker: error: candidates: no source has 3 candidates to compare, and the model has nothing else to compare "
        "candidates with: add the missing data or references, choose another model or a metric, such as "
        "perp[model=shipped], or train a model on judgements of your own\n"
    )


def test_identical_and_empty_candidates_tie(ranked):
    ranks, err = ranked([["same text"] * 3, ["", "", ""], ["", "a cat", "a cat"]])
    behind, empty = err.splitlines()
    assert re.fullmatch(r"ranker: note: 1 of 9 candidates is no translation .* \(empty 1\); .* --no-checks", behind)
    assert re.fullmatch(r"ranker: note: 4 outputs of .* are empty .*", empty)
    same, empty, single = ([row["score"] for row in source["ranking"]] for source in ranks)
    assert len(set(same)) == len(set(empty)) == 1
    assert [row["text"] for row in ranks[2]["ranking"]] == ["a cat", "a cat", ""]
    assert single[0] == single[1]


def test_sources_with_one_or_two_candidates_are_counted_in_one_line(ranked):
    ranks, err = ranked([TEXTS, TEXTS[:1], ["", ""], TEXTS[:2]])
    assert [len(source["ranking"]) for source in ranks] == [4, 1, 2, 2]
    assert ranks[2]["ranking"][0]["tied"]
    assert err.startswith("ranker: note: 3 of 4 sources with fewer than 3 candidates; their candidates tie\n")
