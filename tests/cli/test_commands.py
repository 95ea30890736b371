"""The command line as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from ranker.cli.main import repeat_option, run
from ranker.corpora import catalogue
from ranker.corpora.formats.writing import write_dataset
from tests.datasets import part_of_corpus
from tests.effort import thorough

CANDIDATES = [
    {"src": "一", "ref": "the cat sat on the mat", "tgt": {"A": "the cat sat on the mat", "B": "a cat on mat"}},
    {"src": "二", "refs": ["it rains", "it is raining"], "tgt": {"A": "rain", "B": "it rains", "C": "rain"}},
]


@pytest.fixture
def ranker(command):
    """Run one command; return what it printed on stdout."""
    return lambda *arguments: command(*arguments).out


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "sample.model"
    with pytest.raises(SystemExit) as exit_info:
        run(["train", "--data", "sample", "--features", "bleu1-4", "--folds", "0", "-o", str(path)])
    assert exit_info.value.code == 0
    return str(path)


@pytest.fixture
def candidates(tmp_path):
    path = tmp_path / "candidates.json"
    path.write_text(json.dumps(CANDIDATES), encoding="utf-8")
    return str(path)


def test_rank_reads_stdin_and_parallel_files_alike(ranker, model, tmp_path, monkeypatch):
    (tmp_path / "src").write_text("一\n二\n", encoding="utf-8")
    (tmp_path / "ref1").write_text("the cat sat\nit rains\n")
    (tmp_path / "ref2").write_text("a cat was sitting\nrain falls\n")
    (tmp_path / "A").write_text("the cat sits\nit rains\n")
    (tmp_path / "B").write_text("cat sat\nit falls\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["rank", "-s", "src", "-r", "ref1", "ref2", "-t", "A", "B", "-M", model, "-f", "jsonl"]
    parallel = ranker(*arguments)
    records = [
        {
            "source": "一",
            "refs": ["the cat sat", "a cat was sitting"],
            "candidates": {"A": "the cat sits", "B": "cat sat"},
        },
        {"source": "二", "refs": ["it rains", "rain falls"], "candidates": {"A": "it rains", "B": "it falls"}},
    ]
    raw = "\r\n".join(json.dumps(record) for record in records).encode("utf-8-sig")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert ranker("rank", "-", "-M", model, "-f", "jsonl") == parallel


def test_explain_weights_and_contributions(ranker, model, candidates):
    weights = json.loads(ranker("explain", "--model", model, "-f", "json"))["rows"]
    assert len(weights) == 4
    groups = json.loads(ranker("explain", candidates, "--model", model, "-f", "json"))["sources"]
    rows = [row for group in groups for row in group["candidates"]]
    assert len(rows) == 5
    for row in rows:
        assert sum(row["contributions"].values()) == pytest.approx(row["score"], abs=1e-12)
    printed = list(csv.DictReader(io.StringIO(ranker("explain", candidates, "--model", model, "-f", "csv"))))
    assert [float(row["score"]) for row in printed] == pytest.approx([row["score"] for row in rows])


@thorough
def test_explain_shows_matched_triplets(ranker, tmp_path, candidates):
    path = str(tmp_path / "ds.model")
    few = tmp_path / "few.jsonl"
    sample = catalogue.load("sample")
    write_dataset(sample.select_sources(np.arange(len(sample.sources)) < 12), few)
    ranker("train", "--data", str(few), "--features", "bleu,ds", "--folds", "0", "-o", path)
    table = ranker("explain", candidates, "--model", path)
    assert "contribution of" in table
    assert "matches in reference 1: agent-verb(sat, cat)" in table


PAIRS = [*(f"{language}-en" for language in ("cs", "de", "fi", "fr", "ru")), "en-ru"]


@thorough
def test_wmt_figures_for_bleu(ranker, shared, tmp_path):
    """A single positive column ranks as the metric does, and the metric's figures are known."""
    data = shared / "data"
    path = str(tmp_path / "m.model")
    spanish = str(part_of_corpus(data / "wmt12-rr.jsonl.gz", tmp_path, ["es-en"], judged=True))
    words = ("--folds", "0", "--lp", "es-en", "--features", "bleu[smoothing=add-one]")
    ranker("train", "--data", spanish, *words, "-o", path)
    several = str(part_of_corpus(data / "wmt15-rr.jsonl.gz", tmp_path, PAIRS, judged=True))
    words = ("--lp", "*-en", "--lp", "en-ru", "-f", "json", "--resamples", "0")
    printed = ranker("evaluate", "--data", several, *words, "--model", path)
    rows = {row["name"]: row for row in json.loads(printed)["rows"]}
    mean = rows["mean into English"]
    assert mean["tau"]["official"]["wmt14"]["value"] == pytest.approx(0.333, abs=0.005)
    assert mean["tau"]["primary"]["wmt14"]["value"] == pytest.approx(0.279, abs=0.005)
    assert mean["spearman"]["tie-corrected"]["value"] == pytest.approx(0.326, abs=0.005)
    assert {"fi-en", "en-ru", "mean"} <= set(rows)


def imported_by(*arguments: str) -> set[str]:
    """Return the packages that one command imports, in a process of its own."""
    code = (
        "import sys, json\n"
        "from ranker.cli.main import run\n"
        "try:\n    run(json.loads(sys.argv[1]))\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print('\\n' + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(arguments)], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@thorough
def test_nothing_heavy_is_imported_before_it_is_used(model, candidates):
    assert not imported_by("--help") & {"numpy", "pandas", "numba", "sklearn", "scipy", "spacy", "rich"}
    used = imported_by("rank", candidates, "--model", model)
    assert not used & {"numba", "sklearn", "spacy", "kenlm", "matplotlib"}


def test_same_input_same_bytes(ranker, folder):
    for name in "ab":
        ranker("train", "--data", "good.json", "--features", "bleu1-4", "--C", "auto", "-o", name)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_spread_takes_several_values():
    assert repeat_option(["rank", "-r", "a", "b", "-t", "c", "-f", "json", "x"]) == [
        *("rank", "-r", "a", "-r", "b", "-t", "c", "-f", "json", "x"),
    ]
    assert repeat_option(["-s", "x", "--references", "a", "b", "--", "-t", "y"]) == [
        *("-s", "x", "--references", "a", "--references", "b", "--", "-t", "y"),
    ]
