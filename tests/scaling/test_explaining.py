"""Shard by shard, explanations are printed as those of the whole data set."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.shards.making import make_shards
from ranker.ranking import Ranker
from tests.command_line import Command
from tests.effort import further

FULL_ANY = ("--model", "full-any", "--seg-id", "9")


@pytest.fixture(scope="module")
def model(sources: Dataset, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ranker with a language model of all references, which evidence is taken from too."""
    path = tmp_path_factory.mktemp("models") / "small.model"
    features = "bleu1-4,length,perp[leave_out=true,oov=true]"
    Ranker(features=features, C=0.01, kind="adequacy").fit(sources).save(path)
    return str(path)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sources: Dataset) -> Path:
    """Directory with ``part.jsonl``, in which two sources lack a system, and its shards."""
    monkeypatch.chdir(tmp_path)
    lacking = (sources.candidates["system"] == "sys1") & (sources.candidates["source"].isin([3, 20]))
    write_dataset(sources.select_candidates(~lacking.to_numpy()), tmp_path / "part.jsonl")
    for rows in (30, 100):
        make_shards("part.jsonl", tmp_path / str(rows), rows)
    return tmp_path


def printed(command: Command, *words: str, shards: int) -> list[tuple[str, str]]:
    """Return what a command on a file and on shards prints, without signatures, and its notes."""
    result = []
    for data in ("part.jsonl", str(shards)):
        out, err = command("explain", data, *words)
        notes = "".join(line for line in err.splitlines(keepends=True) if "note: " in line)
        result.append(("".join(line for line in out.splitlines(keepends=True) if "ranker:" not in line), notes))
    return result


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ((), "jsonl"),
        (("--by", "extractor"), "table"),
        further(("--pair", "sys1", "sys7"), "table"),
        further(("--pair", "sys5", "sys1", "--all"), "json"),
        (("--pair", "sys5", "sys1"), "csv"),
    ],
)
def test_explanations_are_those_of_the_whole(command: Command, folder, model, words, form):
    whole, result = printed(command, "--model", model, *words, "--format", form, shards=100)
    assert len(whole[0]) > 5000
    assert result == whole
    assert ("skipped: 2 sources" in whole[1]) == ("--pair" in words)


@pytest.mark.parametrize("words", [(), ("--pair", "sys1", "sys7")])
def test_of_one_source_its_shard_is_read_and_no_other(command: Command, folder, words):
    whole = command("explain", "part.jsonl", *FULL_ANY, *words, "--format", "jsonl").out
    for shard in Path("30").glob("part-*"):
        if shard.name != "part-00002.parquet":
            # no shard any more: nothing but the ids are left
            pyarrow.parquet.write_table(pyarrow.parquet.read_table(shard, columns=["seg_id"]), shard)
    printed = command("explain", "30", *FULL_ANY, *words, "--format", "jsonl")
    assert printed.out == whole
    assert [json.loads(line)["seg_id"] for line in whole.splitlines()] == ["9"]


def test_json_lines_are_searched_for_a_source(command: Command, folder, model):
    make_shards("part.jsonl", "lines", 30, ending=".jsonl.gz")
    shutil.move("lines", "60")
    whole, result = printed(command, "--model", model, "--seg-id", "9", shards=60)
    assert result == whole


def test_what_is_not_there_is_an_error(command: Command, folder, model):
    for data in ("part.jsonl", "30"):
        missing = command("explain", data, "--model", model, "--seg-id", "99", code=2)
        assert "--seg-id 99: no source of part has this seg_id" in missing.err
        same = command("explain", data, "--model", model, "--pair", "sys1", "sys1", code=2)
        assert "expected two different systems" in same.err
    nobody = command("explain", "30", "--model", model, "--pair", "sys1", "sys8", code=2)
    assert "--pair: no source of part has a translation by both 'sys1' and 'sys8'" in nobody.err


def test_explanations_are_written(command: Command, folder, model):
    words = ("explain", "30", "--model", model, "--out", "out", "--json")
    written = json.loads(command(*words).out)
    assert [item["rows"] for item in written["files"]] == [4] * 7
    rows = [item for file in written["files"] for item in pyarrow.parquet.read_table(file["file"]).to_pylist()]
    lines = command("explain", "part.jsonl", "--model", model, "--format", "jsonl").out.splitlines()
    assert [row["explanation"] for row in rows] == lines
    assert [row["seg_id"] for row in rows] == [json.loads(line)["seg_id"] for line in lines]
    assert "7 shards finished by an earlier run" in command(*words).err
