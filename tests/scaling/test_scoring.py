"""Shard by shard, scores and ranks are the bytes of those of the whole data set, on any engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.shards.making import make_shards
from ranker.corpora.shards.shards import Shards
from ranker.evaluation.choices import LEVELS
from ranker.evaluation.systems.levels import Units
from ranker.extractors.scorers import rank_by
from ranker.ranking import make_scorer
from ranker.scaling import plan
from ranker.scaling.engines import Engine
from ranker.scaling.plan import Run
from tests.command_line import Command
from tests.effort import thorough
from tests.scaling.conftest import dask_scheduler

METRICS = "bleu,chrf,ter,nist,perp[leave_out=true,oov=true],meteor,rouge_l"


def results(folder: Path) -> pd.DataFrame:
    files = sorted(folder.glob("part-*.parquet"))
    return pd.concat([pyarrow.parquet.read_table(file).to_pandas() for file in files], ignore_index=True)


def same(result: pd.Series, expected: np.ndarray) -> bool:
    return result.to_numpy(np.float64).tobytes() == np.asarray(expected, np.float64).tobytes()


@pytest.mark.parametrize("number", [1, 2, 7])
def test_scores_are_those_of_the_whole(command: Command, tmp_path, sources, shards_of, number):
    command("score", shards_of(number), "--metric", METRICS, "--out", str(tmp_path))
    result = results(tmp_path)
    units = Units.of(sources, "segment")
    assert result[["lp", "seg_id", "system"]].to_numpy().tolist() == units.keys.to_numpy().tolist()
    for name in METRICS.split(",m")[0].split("perp")[0].rstrip(",").split(","):
        scorer = make_scorer(name, None)
        assert same(result[name], units.score(scorer, scorer.statistics(sources))), name
    for name in ("perp[leave_out=true,oov=true]", "meteor", "rouge_l"):
        scorer = make_scorer(name, None)
        assert same(result[scorer.name], units.score(scorer, scorer.statistics(sources))), name


@pytest.mark.parametrize("level", ["system", "document"])
def test_scores_of_systems_and_documents_are_those_of_the_whole(command: Command, corpus, shards_of, level):
    words = ("--metric", "bleu,rouge_l,nist", "--level", level, "--json")
    whole = json.loads(command("score", str(corpus), *words).out)
    for number in (2, 7):
        document = json.loads(command("score", shards_of(number), *words).out)
        assert document["rows"] == whole["rows"]


def expected_ranks(sources: Dataset, model: str) -> pd.DataFrame:
    return rank_by(sources, make_scorer(None, model).candidate_scores(sources))


@pytest.fixture(scope="module")
def ranked(sources: Dataset) -> pd.DataFrame:
    return expected_ranks(sources, "full-any")


def is_ranked_so(folder: Path, expected: pd.DataFrame) -> bool:
    result = results(folder)
    assert result["system"].tolist() == expected["system"].tolist()
    assert result["rank"].tolist() == expected["rank"].tolist()
    assert result["tied"].tolist() == expected["tied"].tolist()
    return all(same(result[column], expected[column].to_numpy()) for column in ("score", "margin"))


@pytest.mark.parametrize("number", [1, 2, 7])
def test_ranks_are_those_of_the_whole(command: Command, tmp_path, shards_of, ranked, number):
    command("rank", shards_of(number), "--model", "full-any", "--out", str(tmp_path))
    assert is_ranked_so(tmp_path, ranked)


@thorough
def test_dask_writes_the_same_files(command: Command, tmp_path, shards_of, scheduler, ranked):
    folders = [tmp_path / "local", tmp_path / "dask"]
    words = ("rank", shards_of(7), "--model", "full-any")
    command(*words, "--out", str(folders[0]))
    printed = command(*words, "--out", str(folders[1]), "--scheduler", scheduler)
    assert "Dask dashboard: " in printed.err
    assert is_ranked_so(folders[1], ranked)
    files = sorted(path.name for path in folders[0].glob("part-*"))
    assert len(files) == 7
    assert all((folders[0] / name).read_bytes() == (folders[1] / name).read_bytes() for name in files)


def test_any_number_of_workers_writes_the_same_files(command: Command, tmp_path, shards_of):
    words = ("score", shards_of(7), "--metric", "bleu,ter,nist", "--out")
    command(*words, str(tmp_path / "local"))
    expected = {path.name: path.read_bytes() for path in (tmp_path / "local").glob("*.*")}
    assert len(expected) == 8
    for workers in (1, 4):
        with dask_scheduler(workers) as address:
            command(*words, str(tmp_path / str(workers)), "--scheduler", address)
        assert {path.name: path.read_bytes() for path in (tmp_path / str(workers)).glob("*.*")} == expected


def test_references_are_ignored_if_so_told(command: Command, tmp_path, sources, shards_of):
    words = ("--metric", "length[against=candidates].longer", "--out", str(tmp_path))
    command("rank", shards_of(2), *words, "--no-references")
    scorer = make_scorer("length[against=candidates].longer", None)
    bare = sources.without_references()
    assert is_ranked_so(tmp_path, rank_by(bare, scorer.candidate_scores(bare)))


def test_the_included_model_is_chosen_for_the_whole(command: Command, tmp_path, shards_of):
    printed = command("rank", shards_of(2), "--no-references", "--out", str(tmp_path), code=2)
    assert "using the included model consensus" in printed.err
    assert "in the model consensus cannot be computed shard by shard with the same result" in printed.err


@pytest.mark.parametrize(
    "metric", ["consensus.mean", "consensus[metric=nist,trust=source].mean", "semantic.f", "lrscore[theta=0.5]"]
)
def test_what_would_differ_is_refused(command: Command, tmp_path, shards_of, metric):
    printed = command("rank", shards_of(2), "--metric", metric, "--out", str(tmp_path / "out"), code=2)
    assert "cannot be computed shard by shard with the same result as for the whole data set" in printed.err
    assert not (tmp_path / "out").exists()


def test_options_that_do_not_go_together_are_refused(command: Command, tmp_path, corpus, shards_of):
    out = ("--out", str(tmp_path))
    for words, message in (
        (("score", str(corpus), "--metric", "bleu", *out), "--out: for shards only: make them with ranker data shard"),
        (("score", shards_of(2), "--metric", "bleu"), "one file per shard: give a directory for them (--out DIR)"),
        (("score", shards_of(2), "--metric", "bleu", "--lp", "de-en", *out), "--lp: not available for shards"),
        (("rank", shards_of(2), "--workers", "2", *out), "--workers 2: requires --engine dask"),
        (
            ("rank", shards_of(2), "--workers", "2", "--scheduler", "tcp://a:1", *out),
            "give either --workers or --scheduler",
        ),
    ):
        assert message in command(*words, code=2).err


def test_levels_of_this_test_are_all():
    assert set(LEVELS) == {"segment", "document", "system"}


def test_a_manifest_lists_the_results(command: Command, tmp_path, shards_of: Callable[[int], str]):
    command("score", shards_of(2), "--metric", "bleu", "--out", str(tmp_path))
    document = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert (document["format"], document["stage"], document["rows"]) == ("ranker-results", "score", 196)
    assert [part["file"] for part in document["parts"]] == ["part-00000.parquet", "part-00001.parquet"]
    assert document["signatures"][0].startswith("ranker:")


def test_counts_of_references_are_added_up_once(command: Command, tmp_path, shards_of, monkeypatch):
    merged = MagicMock(side_effect=plan.merge)
    monkeypatch.setattr(plan, "merge", merged)
    words = ("score", shards_of(7), "--out", str(tmp_path), "--metric")
    command(*words, "nist,perp,perp[leave_out=true]")
    assert merged.call_count == 2
    command(*words, "nist")
    assert merged.call_count == 2
    # damaged sums are made again
    (folder,) = [path.parent for path in tmp_path.glob("references/counts-*/5.keys.npy")]
    (folder / "facts.json").write_text("{")
    command(*words, "nist[lowercase=false],chrf")
    assert merged.call_count == 3


def test_references_of_other_data_in_the_same_folder_are_read_anew(tmp_path, sources):
    sizes = []
    for number in (4, 20):
        few = sources.select_sources(np.arange(len(sources.sources)) < number)
        write_dataset(few, tmp_path / "few.jsonl")
        shutil.rmtree(tmp_path / "shards", ignore_errors=True)
        make_shards(str(tmp_path / "few.jsonl"), tmp_path / "shards", 1000)
        run = Run(Shards.open([str(tmp_path / "shards")]), tmp_path / "out", Engine(), [].append)
        sizes.append(run.collect_references().sums.references - len(few.references))
    assert sizes == [0, 0]


def test_a_shard_is_scored_with_its_own_ngrams_alone(tmp_path, sources, shards_of):
    shards = Shards.open([shards_of(7)])
    run = plan.Run(shards, tmp_path, Engine(), lambda line: None)
    whole = run.collect_references()
    assert whole.sums.references == len(sources.references)
    nist = make_scorer("nist", None).metric
    part = shards.read(3)
    shard = part.within(run.count_references(whole, [nist]).sums)
    of_part, of_shard, of_all = (nist.fit_ranked(dataset) for dataset in (part, shard, sources))
    assert [len(keys) for keys in of_shard.ngrams.keys] == [len(keys) for keys in of_part.ngrams.keys]
    assert len(of_shard.ngrams.keys[-1]) < len(of_all.ngrams.keys[-1]) / 2
    assert not np.array_equal(of_shard.information[-1], of_part.information[-1])
