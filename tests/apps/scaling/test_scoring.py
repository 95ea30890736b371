"""Shard by shard, scores and ranks are those of the whole data set, in one process and on Dask."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.shards.making import make_shards
from ranker.evaluation.systems.levels import Units
from ranker.ranking.by_score import rank_by
from ranker.ranking.scorers import candidate_scores, make_scorer
from tests.apps.scaling.conftest import dask_scheduler
from tests.command_line import Command
from tests.effort import further, thorough

METRICS = "bleu,chrf,ter,perp[model=shipped],meteor,rouge_l"


def results(folder: Path) -> pd.DataFrame:
    files = sorted(folder.glob("part-*.parquet"))
    return pd.concat([pyarrow.parquet.read_table(file).to_pandas() for file in files], ignore_index=True)


def same(result: pd.Series, expected: np.ndarray) -> bool:
    return np.allclose(result.to_numpy(np.float64), expected, rtol=0, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("number", [further(1), 2, further(7)])
@thorough
def test_scores_are_those_of_the_whole(command: Command, tmp_path, sources, shards_of, number):
    command("score", shards_of(number), "--metric", METRICS, "--out", str(tmp_path))
    result = results(tmp_path)
    units = Units.of(sources, "segment")
    assert result[["lp", "seg_id", "system"]].to_numpy().tolist() == units.keys.to_numpy().tolist()
    for name in METRICS.split(","):
        scorer = make_scorer(name, None)
        assert same(result[scorer.name], units.score(scorer, scorer.statistics(sources))), name


@pytest.mark.parametrize("level", ["system", further("document")])
@pytest.mark.parametrize("words", [("--metric", "bleu,rouge_l"), further(("--model", "full-any"))])
def test_scores_of_systems_and_documents_are_those_of_the_whole(command: Command, corpus, shards_of, level, words):
    words = (*words, "--level", level, "--json")
    whole = json.loads(command("score", str(corpus), *words).out)
    for number in (2, 7):
        document = json.loads(command("score", shards_of(number), *words).out)
        assert len(document["rows"]) == len(whole["rows"])
        for row, expected in zip(document["rows"], whole["rows"], strict=True):
            assert row == {key: pytest.approx(value, abs=1e-9) for key, value in expected.items()}


def test_systems_of_an_unknown_language_pair_are_added_up(command: Command, tmp_path):
    lines = [f'{{"source": "s{n}", "references": ["r"], "candidates": {{"A": "r", "B": "b"}}}}\n' for n in range(4)]
    (tmp_path / "part.jsonl").write_text("".join(lines), encoding="utf-8")
    make_shards(str(tmp_path / "part.jsonl"), tmp_path / "shards", 2)
    words = ("--metric", "chrf", "--level", "system", "--json")
    document = json.loads(command("score", str(tmp_path / "shards"), *words).out)
    assert document["rows"] == json.loads(command("score", str(tmp_path / "part.jsonl"), *words).out)["rows"]


def test_systems_of_partly_unknown_language_pairs_are_added_up(command: Command, tmp_path):
    sides = ["", '"lp": "de-en", ']
    lines = [
        f'{{{sides[n % 2]}"source": "s{n}", "doc": "d", "references": ["r"], "candidates": {{"A": "r"}}}}\n'
        for n in range(4)
    ]
    (tmp_path / "part.jsonl").write_text("".join(lines), encoding="utf-8")
    make_shards(str(tmp_path / "part.jsonl"), tmp_path / "shards", 3)
    for level in ("system", "document"):
        words = ("--metric", "chrf", "--level", level, "--json")
        document = json.loads(command("score", str(tmp_path / "shards"), *words).out)
        assert document["rows"] == json.loads(command("score", str(tmp_path / "part.jsonl"), *words).out)["rows"]


def test_a_tokenizer_that_follows_the_script_needs_to_know_the_language(command: Command, tmp_path):
    references = ["猫坐在垫子上睡着了，很好。"] * 4 + ["Microsoft Visual Studio"] * 2
    lines = [
        json.dumps({"source": f"s{n}", "references": [text], "candidates": {"A": text}}) + "\n"
        for n, text in enumerate(references)
    ]
    (tmp_path / "part.jsonl").write_text("".join(lines), encoding="utf-8")
    make_shards(str(tmp_path / "part.jsonl"), tmp_path / "shards", 2)
    for metric in ("bleu", "combine[bleu+chrf]", "meteor"):
        printed = command("score", str(tmp_path / "shards"), "--metric", metric, "--level", "system", code=2)
        assert "part[1] has no language pair: it seems to be Chinese, and " in printed.err
        assert "must know the language of all shards: add it in a column or key lp" in printed.err
    command("score", str(tmp_path / "shards"), "--metric", "bleu[tokenizer=zh],chrf", "--level", "system")


@pytest.fixture(scope="module")
def ranked(sources: Dataset) -> pd.DataFrame:
    return rank_by(sources, candidate_scores(make_scorer(None, "full-any"), sources))


def is_ranked_so(folder: Path, expected: pd.DataFrame) -> bool:
    result = results(folder)
    assert result["system"].tolist() == expected["system"].tolist()
    assert result["rank"].tolist() == expected["rank"].tolist()
    assert result["tied"].tolist() == expected["tied"].tolist()
    return all(same(result[column], expected[column].to_numpy()) for column in ("score", "margin"))


@pytest.mark.parametrize("number", [further(1), 2, further(7)])
@thorough
def test_ranks_are_those_of_the_whole(command: Command, tmp_path, shards_of, ranked, number):
    command("rank", shards_of(number), "--model", "full-any", "--out", str(tmp_path))
    assert is_ranked_so(tmp_path, ranked)


@thorough
def test_any_number_of_workers_writes_the_same_files(command: Command, tmp_path, shards_of):
    words = ("score", shards_of(7), "--metric", "bleu,ter", "--out")
    command(*words, str(tmp_path / "local"))
    expected = {path.name: path.read_bytes() for path in (tmp_path / "local").glob("*.*")}
    assert len(expected) == 8
    for workers in (1, 4):
        with dask_scheduler(workers) as address:
            assert "Dask dashboard: " in command(*words, str(tmp_path / str(workers)), "--workers", address).err
        assert {path.name: path.read_bytes() for path in (tmp_path / str(workers)).glob("*.*")} == expected


@thorough
def test_a_model_for_english_needs_to_know_the_language(command: Command, tmp_path, sources):
    unknown = sources.sources.assign(lp=sources.sources["lp"].where(sources.sources.index != 20))
    write_dataset(dataclasses.replace(sources, sources=unknown), tmp_path / "part.jsonl")
    make_shards(str(tmp_path / "part.jsonl"), tmp_path / "shards", 100)
    words = ("rank", str(tmp_path / "shards"), "--model", "full", "--out", str(tmp_path / "out"))
    printed = command(*words, code=2)
    assert "part[21] has no language pair, which the model requires: add it in a column or key lp" in printed.err
    assert "1 of 2 shards failed" in printed.err
