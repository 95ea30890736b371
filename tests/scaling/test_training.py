"""Training shard by shard finds the weights of the whole data set, with the same certificate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranker.corpora.shards.making import make_shards
from ranker.ranking import Ranker
from tests.command_line import Command
from tests.datasets import part_of_corpus

FEATURES = "lexical-small,perp[leave_out=true,oov=true]"


def same_ranker(first: Path, second: Path) -> bool:
    left, right = Ranker.load(first), Ranker.load(second)
    facts = ("kind", "sources", "candidates", "preferences", "C", "chosen_by", "objective", "duality_gap", "targets")
    assert [getattr(left.training, fact) for fact in facts] == [getattr(right.training, fact) for fact in facts]
    arrays = ("weights", "mean", "scale")
    return all(getattr(left, name).tobytes() == getattr(right, name).tobytes() for name in arrays)


def test_weights_are_those_of_the_whole(command: Command, tmp_path, corpus, shards_of):
    words = ("--features", FEATURES, "--kind", "adequacy", "--folds", "0", "--model")
    command("train", str(corpus), *words, str(tmp_path / "whole.model"))
    for number in (2, 7):
        command("train", shards_of(number), *words, str(tmp_path / "shards.model"))
        assert same_ranker(tmp_path / "whole.model", tmp_path / "shards.model")


def test_preferences_are_learnt_from_as_in_the_whole(command: Command, tmp_path, shared):
    part = part_of_corpus(shared / "data" / "wmt14-rr.jsonl.gz", tmp_path, ["cs-en", "hi-en"], step=60)
    make_shards(str(part), tmp_path / "shards", 60)
    words = ("--features", "lexical-small", "--pairs", "balanced", "--folds", "0", "--json", "--model")
    command("train", str(part), *words, str(tmp_path / "whole.model"))
    out = ("--out", str(tmp_path / "out"))
    printed = command("train", str(tmp_path / "shards"), *words, str(tmp_path / "shards.model"), *out)
    assert same_ranker(tmp_path / "whole.model", tmp_path / "shards.model")
    assert json.loads(printed.out)["training"]["kind"] == "preferences"
    again = command("train", str(tmp_path / "shards"), *words, str(tmp_path / "shards.model"), *out, "--C", "0.1")
    assert "features: " in again.err
    assert "finished by an earlier run" in again.err


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("bleu,paraphrase", "paraphrase learns from the texts of all training data: remove it, or train on one file"),
        ("bleu,consensus", "consensus in the features cannot be computed shard by shard"),
    ],
)
def test_features_that_need_all_texts_are_refused(command: Command, tmp_path, shards_of, features, message):
    words = ("--features", features, "--model", str(tmp_path / "one.model"))
    assert message in command("train", shards_of(2), *words, code=2).err


def test_a_shard_that_cannot_be_read_ends_a_training(command: Command, tmp_path, corpus):
    make_shards(str(corpus), tmp_path / "shards", 100)
    (tmp_path / "shards" / "part-00001.parquet").unlink()
    words = ("--features", "lexical-small", "--model", str(tmp_path / "one.model"))
    assert "part-00001.parquet: no such file" in command("train", str(tmp_path / "shards"), *words, code=2).err
    assert not (tmp_path / "one.model").exists()
