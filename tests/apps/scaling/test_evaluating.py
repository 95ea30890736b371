"""Evaluation shard by shard has the figures and intervals of the whole data set."""

from __future__ import annotations

import json

import pytest

from ranker.corpora.shards.making import make_shards
from tests.command_line import Command
from tests.datasets import part_of_corpus
from tests.effort import further, thorough


@pytest.mark.parametrize("words", [("--metric", "ter", "--kind", "adequacy"), further(("--model", "full-any"))])
def test_figures_are_those_of_the_whole(command: Command, corpus, shards_of, words):
    more = ("--resamples", "50", "--json")
    whole = json.loads(command("evaluate", str(corpus), *words, *more).out)
    for number in (2, 7):
        document = json.loads(command("evaluate", shards_of(number), *words, *more).out)
        assert (document["rows"], document["kind"]) == (whole["rows"], whole["kind"])


@thorough
def test_preferences_count_as_in_the_whole(command: Command, tmp_path, shared):
    part = part_of_corpus(shared / "data" / "wmt14-rr.jsonl.gz", tmp_path, ["cs-en", "hi-en"], step=60)
    manifest = make_shards(str(part), tmp_path / "shards", 60)
    assert len(manifest.shards) > 3
    words = ("--metric", "chrf", "--resamples", "50", "--json")
    whole = json.loads(command("evaluate", str(part), *words).out)
    document = json.loads(command("evaluate", str(tmp_path / "shards"), *words, "--out", str(tmp_path / "out")).out)
    assert document["rows"] == whole["rows"]
    again = command("evaluate", str(tmp_path / "shards"), *words, "--out", str(tmp_path / "out"))
    assert "shards finished by an earlier run" in again.err
    assert json.loads(again.out) == document


def sources(number: int, lowest: int) -> str:
    """Return records of outputs with ever more wrong words, rated from `lowest` on, and of a system `human`."""
    lines = []
    for source in range(number):
        words = [f"{source}{letter}" for letter in "abcdefgh"]
        outputs = {f"s{wrong}": " ".join(["x"] * wrong + words[wrong:]) for wrong in (1, 3, 5)}
        rated = [
            {"system": name, "text": text, "quality": abs(lowest + place)}
            for place, (name, text) in enumerate([("human", " ".join(words)), *outputs.items()])
        ]
        record = {"source": f"{source}", "lp": "de-en", "references": [" ".join(words)], "candidates": rated}
        lines.append(json.dumps(record) + "\n")
    return "".join(lines)


def in_doubt(command: Command, data: str) -> str:
    printed = command("evaluate", data, "--metric", "bleu", code=2)
    return printed.err.strip().splitlines()[-1]


def test_a_direction_in_doubt_is_refused_as_in_the_whole(command: Command, tmp_path):
    data, folder = tmp_path / "part.jsonl", tmp_path / "shards"
    data.write_text(sources(42, 1))
    make_shards(str(data), folder, 40)
    assert in_doubt(command, str(folder)) == in_doubt(command, str(data))
    assert "the direction is in doubt; state it: --kind quality:lower or --kind quality:higher" in in_doubt(
        command, str(folder)
    )


def test_references_among_the_systems_are_so_in_a_last_shard_of_few_sources(command: Command, tmp_path):
    data, folder = tmp_path / "part.jsonl", tmp_path / "shards"
    data.write_text(sources(42, -9))
    assert [shard.sources for shard in make_shards(str(data), folder, 160).shards] == [40, 2]
    words = ("--metric", "bleu", "--kind", "quality", "--json")
    whole, document = (json.loads(command("evaluate", str(path), *words).out) for path in (data, folder))
    assert document["rows"] == whole["rows"]
    words = ("--metric", "bleu", "--level", "system", "--json")
    whole, document = (json.loads(command("score", str(path), *words).out)["rows"] for path in (data, folder))
    assert document == whole
    assert [row["system"] for row in document] == ["s1", "s3", "s5"]


def test_few_sources_are_said_as_in_the_whole(command: Command, tmp_path):
    data, folder = tmp_path / "part.jsonl", tmp_path / "shards"
    data.write_text(sources(4, -9))
    make_shards(str(data), folder, 8)
    for path in (data, folder):
        assert "only 4 sources: differences may be chance" in command("evaluate", str(path), "--metric", "bleu").err


def test_data_without_judgements_are_refused(command: Command, tmp_path):
    (tmp_path / "part.jsonl").write_text('{"source": "s", "references": ["r"], "candidates": {"A": "a", "B": "b"}}\n')
    make_shards(str(tmp_path / "part.jsonl"), tmp_path / "shards", 10)
    printed = command("evaluate", str(tmp_path / "shards"), "--metric", "bleu", code=2)
    assert "contains no human judgements" in printed.err
