"""``ranker align`` as a user runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ranker.corpora.formats.pharaoh import pharaoh_lines
from ranker.corpora.formats.reading import read_dataset
from ranker.extractors.order.aligner import align_dataset, learn_aligner
from ranker.learning.aligner.model import AlignmentModel
from tests.command_line import Command
from tests.effort import thorough
from tests.golden_examples import FOLDER

SENTENCES = (FOLDER / "files" / "de").read_text().splitlines()


@pytest.fixture
def ranker(folder: Path, command: Command) -> Callable[..., str]:
    """Run one command in a folder with parallel files and a corpus; return what it printed."""
    return lambda *arguments: command(*arguments).out


def words(line: str, source: str, target: str) -> list[tuple[str, str]]:
    first, second = (text.lower().replace(",", " ,").split() for text in (source, target))
    links = [link.split("-") for link in line.split()]
    return [(first[int(i)], second[int(j)]) for i, j in links]


@thorough
def test_trained_on_files_and_applied_to_new_ones(ranker: Callable[..., str], folder: Path) -> None:
    ranker("align", "train", "-s", "de", "-t", "en", "-o", "m")
    (folder / "new.de").write_text("gestern sucht Anna das Haus, 7\n\ngestern kauft Anna das Zebra, 99\n")
    (folder / "new.en").write_text("yesterday Anna seeks the house, 7\n\nAnna buys the zebra yesterday, 99\n")
    lines = ranker("align", "apply", "-M", "m", "-s", "new.de", "-t", "new.en").split("\n")
    assert lines[1] == lines[3] == ""
    first = words(lines[0], "gestern sucht Anna das Haus, 7", "yesterday Anna seeks the house, 7")
    assert {("sucht", "seeks"), ("haus", "house"), ("anna", "anna"), ("7", "7")} <= set(first)
    last = words(lines[2], "gestern kauft Anna das Zebra, 99", "Anna buys the zebra yesterday, 99")
    assert {("zebra", "zebra"), ("99", "99"), ("kauft", "buys")} <= set(last)


@thorough
def test_options_of_training(ranker: Callable[..., str]) -> None:
    ranker("align", "train", "--data", "aligned.json", "-o", "m", "--tokenizer", "none")
    model = AlignmentModel.load("m")
    assert model.text == {"tokenizer": "none", "lowercase": True}
    assert "haus," in model.source_vocabulary
    # of two references
    assert model.pairs == 2 * len(SENTENCES)


def test_what_apply_prints_for_a_corpus(ranker: Callable[..., str], folder: Path) -> None:
    ranker("align", "train", "--data", "aligned.json", "-o", "m")
    model, dataset = AlignmentModel.load("m"), read_dataset("aligned.json")
    result = align_dataset(model, dataset)
    size = len(SENTENCES)
    printed = {
        name: ranker("align", "apply", "-M", "m", "-d", "aligned.json", *options).splitlines()
        for name, options in {
            "all": [],
            "A": ["--system", "A"],
            "C": ["--system", "C"],
            "first": ["--reference", "1"],
            "second": ["--reference", "2"],
        }.items()
    }
    assert len(printed["all"]) == 3 * size
    assert printed["A"] == printed["all"][::3] == printed["first"]
    assert printed["C"] == [""] * size
    assert printed["all"] == pharaoh_lines(result.candidates)
    assert printed["second"] == pharaoh_lines(result.references.take(range(1, 2 * size, 2)))
    assert result.candidates_given.all()


def test_given_counts_of_equal_pairs(ranker: Callable[..., str]) -> None:
    dataset = read_dataset("aligned.json").select_candidates([True, False, False] * len(SENTENCES))
    assert learn_aligner(dataset, candidates=True).pairs == learn_aligner(dataset).pairs
