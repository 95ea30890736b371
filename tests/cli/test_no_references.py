"""Commands on data without references, or told not to use them."""

from __future__ import annotations

import json
import re

import pytest

from ranker import Ranker
from ranker.cli.main import run
from tests.datasets import dataset_of

TEXTS = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat", "dogs ran home"]
SOURCES = [[text.replace("cat", animal) for text in TEXTS] for animal in ("cat", "bird", "fish", "horse")]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Files of the same candidates in several forms, and models with and without features that need a reference."""
    where = tmp_path_factory.mktemp("data")
    items = [
        {
            "source": f"Quelle {number}",
            "candidates": [
                {"system": str(place), "text": text, "human": {"fluency": -place}} for place, text in enumerate(texts)
            ],
        }
        for number, texts in enumerate(SOURCES)
    ]
    (where / "none.json").write_text(json.dumps(items))
    items = [{**item, "references": [texts[0]]} for item, texts in zip(items, SOURCES, strict=True)]
    (where / "all.json").write_text(json.dumps(items))
    (where / "some.jsonl").write_text(
        "\n".join(
            json.dumps({**item, "references": item["references"][: place % 2]}) for place, item in enumerate(items)
        )
    )
    rows = [
        f"Quelle {number},{place},{text}" for number, texts in enumerate(SOURCES) for place, text in enumerate(texts)
    ]
    (where / "none.csv").write_text("\n".join(["source,system,text", *rows]) + "\n")
    (where / "source.txt").write_text("".join(f"Quelle {number}\n" for number in range(4)))
    for place in range(4):
        (where / f"system{place}.txt").write_text("".join(f"{texts[place]}\n" for texts in SOURCES))
    data = dataset_of([([texts[0]], texts) for texts in SOURCES], kind="fluency")
    Ranker("chrf,consensus.weighted", C=1.0).fit(data).save(where / "both.model")
    Ranker("chrf", C=1.0).fit(data).save(where / "chrf.model")
    return where


@pytest.fixture
def call(directory, monkeypatch, capsys):
    """Run a command in the directory; return its exit code, its output and what it says on stderr."""
    monkeypatch.chdir(directory)

    def called(words):
        with pytest.raises(SystemExit) as ended:
            run(words.split())
        return ended.value.code or 0, *capsys.readouterr()

    return called


@pytest.mark.parametrize(
    "data",
    ["none.json", "none.csv", "all.json --no-references", "-s source.txt -t system0.txt system1.txt system3.txt"],
)
def test_the_included_ranker_needs_no_references(call, data):
    code, out, err = call(f"rank {data} -f json")
    assert code == 0
    # the other model in this folder, of chrf alone, needs references
    others = "choose another with --model both.model (in this folder) or --metric"
    assert err == f"ranker: note: using the included model consensus; {others}\n"
    found = json.loads(out)
    assert [source["ranking"][-1]["text"] for source in found["sources"]] == [texts[3] for texts in SOURCES]


def test_a_ranker_of_both_says_what_it_leaves_out_and_explains_the_same(call):
    code, out, err = call("rank some.jsonl --model both.model --contributions -f json")
    assert code == 0
    assert err == "ranker: note: 2 of 4 sources without a reference; ranked without chrf\n"
    for place, source in enumerate(json.loads(out)["sources"]):
        for row in source["ranking"]:
            assert sum(row["contributions"].values()) == pytest.approx(row["score"])
            assert (row["contributions"]["chrf"] == 0) == (place % 2 == 0)
    code, out, err = call("explain all.json --no-references --model both.model -f json")
    assert code == 0
    assert err == "ranker: note: all 4 sources without a reference; ranked without chrf\n"
    assert not any(
        row["contributions"]["chrf"] for source in json.loads(out)["sources"] for row in source["candidates"]
    )
    code, out, _ = call("explain all.json --no-references --pair 0 3")
    assert code == 0
    assert "0 has 6 words; 3 has 3 words" in out
    assert "closest reference" not in out
    code, out, _ = call("explain --model both.model -f json")
    columns = {"column", "weight", "mean", "scale", "weight without chrf", "weight without consensus"}
    assert all(set(row) == columns for row in json.loads(out)["rows"])


def test_evaluation_and_comparison(call):
    code, out, err = call("evaluate --data all.json --no-references --resamples 0 -f json")
    assert code == 0
    assert "included model consensus" in err
    assert json.loads(out)["rows"][0]["spearman"]["tie-corrected"]["value"] > 0
    code, out, _ = call(
        "compare -d all.json -M both.model -m consensus.weighted --no-references --resamples 0 --level segment -f json"
    )
    assert code == 0
    assert "all 4 sources without a reference; ranked without chrf" in out


def test_training_and_report(call, tmp_path):
    pytest.importorskip("matplotlib")
    model, page = tmp_path / "x.model", tmp_path / "x.html"
    code, out, err = call(f"train -d all.json --no-references --C 1 --folds 2 --compare consensus --model {model}")
    assert code == 0
    assert "ranker: note: no references: using the feature set reference-free\n" in err
    assert "consensus[trust=source].diverse" in out
    assert re.search(r"^consensus +-?[01]\.\d+ \[", out, re.MULTILINE), "compared with the included ranker"
    code, _, err = call(f"report -d all.json --no-references --model {model} --resamples 0 --examples 1 --html {page}")
    assert (code, err) == (0, "ranker: note: all: the ranker was trained on all sources of all\n")
    assert "consensus[trust=source].diverse" in page.read_text()


def test_an_n_best_list(call, tmp_path):
    path = tmp_path / "dev.nbest"
    path.write_text(
        "".join(f"{number} ||| {text} ||| f= 0\n" for number, texts in enumerate(SOURCES) for text in texts[::-1])
    )
    code, out, err = call(f"rerank {path} --model consensus")
    assert (code, err) == (0, "")
    assert not any(line in texts[3] for line, texts in zip(out.splitlines(), SOURCES, strict=True))
    code, _, err = call(f"rerank {path} --model chrf.model")
    assert code == 2
    what = "needs references: give -r FILE, or use a model that needs none, such as consensus"
    assert err == f"ranker: error: --model chrf.model {what}\n"
