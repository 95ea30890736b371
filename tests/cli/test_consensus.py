"""Ranking without references by consensus, as a user does it."""

from __future__ import annotations

import json
import re

import pytest

from ranker.cli.main import run
from ranker.ranking import Ranker
from tests.datasets import dataset_of

TEXTS = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat", "dogs ran home"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data = dataset_of([([], TEXTS), ([], [text.replace("cat", "bird") for text in TEXTS])], kind="fluency")
    path = tmp_path_factory.mktemp("model") / "consensus.model"
    Ranker("consensus", C=1.0).fit(data).save(path)
    return path


def ranked(capsys, tmp_path, model, sources, *options: str):
    data = tmp_path / "candidates.json"
    candidates = [
        {"source": "x", "candidates": [{"system": str(place), "text": text} for place, text in enumerate(texts)]}
        for texts in sources
    ]
    data.write_text(json.dumps(candidates))
    with pytest.raises(SystemExit) as exit_info:
        run(["rank", str(data), "--model", str(model), "--format", "json", *options])
    out, err = capsys.readouterr()
    return exit_info.value.code, json.loads(out) if out else None, err


def test_candidates_without_references_are_ranked(capsys, tmp_path, model):
    code, ranks, err = ranked(capsys, tmp_path, model, [TEXTS])
    assert code == 0
    assert ranks["sources"][0]["ranking"][-1]["text"] == "dogs ran home"
    assert err == ""


@pytest.mark.parametrize("size", [1, 2])
def test_too_few_candidates_everywhere_are_refused_in_one_line(capsys, tmp_path, model, size):
    code, ranks, err = ranked(capsys, tmp_path, model, [TEXTS[:size]] * 2)
    assert (code, ranks) == (2, None)
    assert err == (
        "ranker: error: candidates: no source has 3 candidates to compare, and the model has no other "
        "features: add the missing data, or choose another model\n"
    )


def test_identical_and_empty_candidates_tie(capsys, tmp_path, model):
    code, ranks, err = ranked(capsys, tmp_path, model, [["same text"] * 3, ["", "", ""], ["", "a cat", "a cat"]])
    assert code == 0
    assert re.fullmatch(r"ranker: note: 4 outputs of 0, 1, 2 are empty .*\n", err)
    same, empty, single = ([row["score"] for row in source["ranking"]] for source in ranks["sources"])
    assert len(set(same)) == len(set(empty)) == 1
    assert [row["text"] for row in ranks["sources"][2]["ranking"]] == ["a cat", "a cat", ""]
    assert single[0] == single[1] > single[2]


def test_sources_with_one_or_two_candidates_are_counted_in_one_line(capsys, tmp_path, model):
    code, ranks, err = ranked(capsys, tmp_path, model, [TEXTS, TEXTS[:1], ["", ""], TEXTS[:2]])
    assert code == 0
    assert [len(source["ranking"]) for source in ranks["sources"]] == [4, 1, 2, 2]
    assert ranks["sources"][2]["ranking"][0]["tied"]
    assert err.startswith("ranker: note: 3 of 4 sources with fewer than 3 candidates; their candidates tie\n")
