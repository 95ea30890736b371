"""Commands on data without references, or told not to use them."""

from __future__ import annotations

import json
import re

import pytest

from ranker import Ranker
from ranker.corpora.formats.writing import write_dataset
from tests.datasets import dataset_of
from tests.effort import thorough

TEXTS = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat", "dogs ran home"]
SOURCES = [[text.replace("cat", animal) for text in TEXTS] for animal in ("cat", "bird", "fish", "horse")]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Files of the same candidates in several forms, and a model of chrF and consensus."""
    where = tmp_path_factory.mktemp("data")
    for name, known in {"none": [0] * 4, "all": [1] * 4, "some": [0, 1] * 2}.items():
        data = dataset_of(
            [(texts[:1] * count, texts) for count, texts in zip(known, SOURCES, strict=True)], kind="fluency"
        )
        for ending in ("json", "csv"):
            write_dataset(data, where / f"{name}.{ending}")
        if name == "all":
            Ranker("chrf,consensus.weighted", C=1.0).fit(data).save(where / "both.model")
    (where / "source.txt").write_text("".join(f"source {number}\n" for number in range(4)))
    for place in range(4):
        (where / f"system{place}.txt").write_text("".join(f"{texts[place]}\n" for texts in SOURCES))
    return where


@pytest.fixture
def call(directory, monkeypatch, command):
    """Run a command in the directory; return its output and what it says on stderr."""
    monkeypatch.chdir(directory)
    return lambda words: command(*words.split())


@pytest.mark.parametrize(
    "data",
    ["none.json", "none.csv", "all.json --no-references", "-s source.txt -t system0.txt system1.txt system3.txt"],
)
def test_the_included_ranker_needs_no_references(call, data):
    out, err = call(f"rank {data} -f json")
    others = r"choose another with --model .*both\.model.* or --metric"
    assert re.fullmatch(rf"ranker: note: using the included model consensus; {others}\n", err)
    found = json.loads(out)
    assert [source["ranking"][-1]["text"] for source in found["sources"]] == [texts[3] for texts in SOURCES]


def test_a_ranker_of_both_says_what_it_leaves_out_and_explains_the_same(call):
    out, err = call("explain some.json --model both.model -f json")
    assert err == "ranker: note: 2 of 4 sources without a reference; ranked without chrf\n"
    for place, source in enumerate(json.loads(out)["sources"]):
        for row in source["candidates"]:
            assert sum(row["contributions"].values()) == pytest.approx(row["score"])
            assert (row["contributions"]["chrf"] == 0) == (place % 2 == 0)
    out, err = call("explain all.json --no-references --model both.model -f json")
    assert err == "ranker: note: all 4 sources without a reference; ranked without chrf\n"
    assert not any(
        row["contributions"]["chrf"] for source in json.loads(out)["sources"] for row in source["candidates"]
    )
    out, _ = call("explain all.json --no-references --pair s0 s3")
    assert "agreement" in out
    assert "closest reference" not in out
    out, _ = call("explain --model both.model -f json")
    columns = {"column", "weight", "mean", "scale", "weight without chrf", "weight without consensus"}
    assert all(set(row) == columns for row in json.loads(out)["rows"])


def test_evaluation_and_comparison(call):
    out, err = call("evaluate --data all.json --no-references --resamples 0 -f json")
    assert "included model consensus" in err
    assert json.loads(out)["rows"][0]["spearman"]["tie-corrected"]["value"] > 0
    out, _ = call(
        "evaluate -d all.json -M both.model -m consensus.weighted --no-references --resamples 0 --level segment -f json"
    )
    assert "all 4 sources without a reference; ranked without chrf" in out


@thorough
def test_training_and_report(call, tmp_path):
    pytest.importorskip("matplotlib")
    model, page = tmp_path / "x.model", tmp_path / "x.html"
    out, err = call(f"train -d all.json --no-references --C 1 --folds 2 --compare consensus -o {model}")
    assert "ranker: note: no references: using the feature set reference-free\n" in err
    assert "consensus[trust=source].diverse" in out
    assert re.search(r"^consensus +-?[01]\.\d+ \[", out, re.MULTILINE), "compared with the included ranker"
    _, err = call(f"report -d all.json --no-references --model {model} --resamples 0 --examples 1 --html {page}")
    assert err == "ranker: note: all: the ranker was trained on all sources of all\n"
    assert "consensus[trust=source].diverse" in page.read_text()


def test_an_n_best_list(call, tmp_path):
    path = tmp_path / "dev.nbest"
    path.write_text(
        "".join(f"{number} ||| {text} ||| f= 0\n" for number, texts in enumerate(SOURCES) for text in texts[::-1])
    )
    out, err = call(f"rerank {path} --model consensus")
    assert err == ""
    assert not any(line in texts[3] for line, texts in zip(out.splitlines(), SOURCES, strict=True))
