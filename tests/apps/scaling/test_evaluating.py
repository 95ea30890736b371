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


def test_data_without_judgements_are_refused(command: Command, tmp_path):
    (tmp_path / "part.jsonl").write_text('{"source": "s", "references": ["r"], "candidates": {"A": "a", "B": "b"}}\n')
    make_shards(str(tmp_path / "part.jsonl"), tmp_path / "shards", 10)
    printed = command("evaluate", str(tmp_path / "shards"), "--metric", "bleu", code=2)
    assert "contains no human judgements" in printed.err
