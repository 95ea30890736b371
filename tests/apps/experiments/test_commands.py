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
    words = ["--train", "short.jsonl", "--output", "out.md", "--format", "markdown"]
    printed = command("experiment", "ye07", *words).out
    assert printed == Path("out.md").read_text(encoding="utf-8")
    assert "| BLEU+DS |" in printed


@thorough
def test_isozaki10(here, command):
    words = ["--data", "sample", "--kind", "adequacy", "--resamples", "50", "--output", "out.json"]
    printed = command("experiment", "isozaki10", *words).out
    assert "Spearman with adequacy, sample" in printed
    assert "NKT P^1/4" in printed
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["tables"][0]["title"] == "what was judged"


@thorough
def test_cer10_prints_marks_and_writes_numbers(here, command):
    words = ["--data", "sample", "-F", "words,systems", "--runs", "1", "--restarts", "1", "--times"]
    printed = command("experiment", "cer10", *words, "-m", "BLEU:4", "-m", "TER", "--output", "out.json").out
    assert all(shown in printed for shown in ("+*", "seconds of the search", "preferences of people"))
    rows = json.loads(Path("out.json").read_text())["tables"][0]["rows"]
    assert {type(row["TER"]) for row in rows} == {float}
