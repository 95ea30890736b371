"""The commands of experiments print their tables and write them to files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ranker.corpora import catalogue
from ranker.corpora.formats.writing import write_dataset
from tests.effort import thorough


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@thorough
def test_ye07(here, command):
    sample = catalogue.load("sample")
    # as many sources as a language model needs to have 100 references
    write_dataset(sample.select_sources(np.arange(len(sample.sources)) < 26), Path("short.jsonl"))
    command("experiment", "ye07", "--train", "short.jsonl", "--output", "out.md")
    assert "| BLEU+DS |" in Path("out.md").read_text(encoding="utf-8")


@thorough
def test_sources_that_are_trained_on_and_tested_on_are_noted(here, command):
    sample = catalogue.load("sample")
    for name, first, last in (("a", 0, 26), ("b", 13, 39), ("c", 26, 52)):
        place = np.arange(len(sample.sources))
        write_dataset(sample.select_sources((first <= place) & (place < last)), Path(f"{name}.jsonl"))
    tests = [word for name in "abc" for word in ("--test", f"{name}.jsonl")]
    printed = command("experiment", "ye07", "--train", "a.jsonl", *tests)
    notes = [line for line in printed.err.splitlines() if "agrees better with people there than on new data" in line]
    assert [note.split(": ")[2] for note in notes] == [
        "the experiment was trained on all sources of a",
        "the experiment was trained on 50% of the sources of b",
    ]


@thorough
def test_isozaki10(here, command):
    words = ["--data", "sample", "--kind", "adequacy"]
    printed = command("experiment", "isozaki10", *words).out
    assert "Spearman with adequacy, sample" in printed
    assert "NKT P^1/4" in printed
    document = json.loads(command("experiment", "isozaki10", *words, "--json").out)
    assert document["tables"][0]["title"] == "what was judged"


@thorough
def test_cer10_prints_marks_and_writes_numbers(here, command):
    words = ["--data", "sample", "--runs", "1", "--restarts", "1", "--times"]
    words += ["-m", "BLEU:4", "-m", "TER"]
    printed = command("experiment", "cer10", *words).out
    assert all(shown in printed for shown in ("+*", "seconds of the search", "preferences of people"))
    command("experiment", "cer10", *words, "--output", "out.json")
    rows = json.loads(Path("out.json").read_text())["tables"][0]["rows"]
    assert {type(row["TER"]) for row in rows} == {float}
