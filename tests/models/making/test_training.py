"""Training a parser from a treebank of a few dozen sentences."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

from models.making.parser.__main__ import main
from models.making.parser.conllu import parse_conllu
from models.making.parser.package import ParserOptions
from models.making.parser.scores import score_text, score_words
from models.making.parser.training import train
from ranker.errors import DataError
from ranker.learning.parser import parsing
from tests.effort import thorough

SMALL = ParserOptions(epochs=1, width=16, depth=1, rows=(100, 50, 50, 50), hidden=16, batch_words=60)


def treebank_text() -> str:
    """Fifty-odd sentences such as "The dog sees a red house." whose trees follow from the tags."""
    blocks = []
    subjects, verbs, objects = ("dog", "cat", "child"), ("sees", "likes", "builds"), ("house", "tree", "boat")
    for subject, verb, thing in itertools.product(subjects, verbs, objects):
        for adjective in ("red", None):
            words = [("The", "the", "DET", 2, "det"), (subject, subject, "NOUN", 3, "nsubj")]
            words.append((verb, verb[:-1], "VERB", 0, "root"))
            if adjective:
                words += [("a", "a", "DET", 6, "det"), (adjective, adjective, "ADJ", 6, "amod")]
                words.append((thing, thing, "NOUN", 3, "obj"))
            else:
                words += [("a", "a", "DET", 5, "det"), (thing, thing, "NOUN", 3, "obj")]
            words.append((".", ".", "PUNCT", 3, "punct"))
            blocks.append(
                "".join(
                    f"{place}\t{form}\t{lemma}\t{tag}\t_\t_\t{head}\t{relation}\t_\t"
                    f"{'SpaceAfter=No' if place == len(words) - 1 else '_'}\n"
                    for place, (form, lemma, tag, head, relation) in enumerate(words, start=1)
                )
            )
    return "\n".join(blocks)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("treebank")
    (folder / "toy-ud-train.conllu").write_text(treebank_text(), encoding="utf-8")
    (folder / "toy-ud-test.conllu").write_text(treebank_text(), encoding="utf-8")
    (folder / "LICENSE.txt").write_text("Share alike.\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("parsers") / "toy"
    options = ParserOptions(epochs=10, width=32, depth=1, rows=(200, 50, 100, 50), hidden=32, batch_words=60)
    train(treebank, output, options=options)
    return output


def test_it_learns_the_treebank(trained: Path) -> None:
    sentences = parse_conllu(treebank_text(), "x")
    parser = parsing.load(trained)
    scores = score_words(parser, sentences)
    assert scores.words == 1
    assert scores.tags > 0.95
    assert scores.uas > 0.95
    assert scores.las > 0.95
    assert scores.lemmas > 0.95
    assert score_words(parser, sentences, lowercase=True).las > 0.95
    # spaCy cuts these sentences as the treebank does
    assert score_text(parser, sentences) == scores


def test_what_is_written(trained: Path) -> None:
    meta = json.loads((trained / "meta.json").read_text(encoding="utf-8"))
    assert meta["performance"].keys() == {"test"}
    assert meta["performance"]["test"].keys() == {"words", "lowercase", "text"}
    assert meta["training"]["seed"] == 0
    assert [file["name"] for file in meta["sources"]] == ["toy-ud-train.conllu", "toy-ud-test.conllu"]
    card = (trained / "CARD.md").read_text(encoding="utf-8")
    figures = " | ".join(f"{100 * value:.1f}" for value in meta["performance"]["test"]["text"].values())
    assert f"| test | raw text (F1) | {figures} |" in card
    assert parsing.digest(trained) in card
    assert "python -m models.making.parser TREEBANK DIR --seed 0` with epochs=10, width=32" in card
    assert (trained / "LICENSE.txt").read_text(encoding="utf-8") == "Share alike.\n"
    assert "Treebank toy-ud." in (trained / "NOTICE").read_text(encoding="utf-8")
    assert not list(trained.parent.glob(".*"))


def test_the_words_of_the_treebank_are_not_in_the_vocabulary(trained: Path) -> None:
    strings = json.loads((trained / "vocab" / "strings.json").read_text(encoding="utf-8"))
    assert "nsubj" in strings
    assert "child" not in strings


@thorough
def test_same_seed_same_bytes_and_the_callers_generators_untouched(treebank: Path, tmp_path: Path) -> None:
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train(treebank / "toy-ud-train.conllu", tmp_path / name, seed=seed, options=SMALL)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    digests = [parsing.digest(tmp_path / name) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]


def test_an_unknown_language_and_a_treebank_without_test_file(tmp_path: Path) -> None:
    folder = tmp_path / "treebank"
    folder.mkdir()
    (folder / "qq-train.conllu").write_text(treebank_text(), encoding="utf-8")
    lines: list[str] = []
    scores = train(folder, tmp_path / "new" / "qq", language="qq", options=SMALL, report=lines.append)
    assert scores == {}
    assert len(lines) == 1
    assert lines[0].startswith("epoch 1 of 1: loss per word tagger ")
    card = (tmp_path / "new" / "qq" / "CARD.md").read_text(encoding="utf-8")
    assert "--seed 0 --language qq`" in card
    assert "No development or test file" in card
    assert "had no licence text" in (tmp_path / "new" / "qq" / "NOTICE").read_text(encoding="utf-8")
    assert parsing.load(tmp_path / "new" / "qq").language == "xx"


@thorough
def test_a_parser_is_replaced_and_anything_else_is_not(treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(DataError, match="exists and is not a parser: choose another directory"):
        train(treebank, tmp_path / "mine", options=SMALL)
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    output = tmp_path / "parser"
    train(treebank, output, seed=1, options=SMALL)
    first = parsing.digest(output)
    (output / "stale").touch()
    train(treebank, output, seed=2, options=SMALL)
    assert parsing.digest(output) != first
    assert not (output / "stale").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "parser"}


def test_the_command_prints_scores_and_errors(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(train.__kwdefaults__, "options", SMALL)
    assert main([str(treebank), str(tmp_path / "parser")]) == 0
    assert capsys.readouterr().out.startswith("test words: tags ")
    assert parsing.load(tmp_path / "parser")
    assert main([str(tmp_path / "none"), str(tmp_path / "parser")]) == 2
    assert capsys.readouterr().err.startswith("ranker: error: ")


def test_a_wrong_treebank_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a-train.conllu"
    file.write_text("1\tI\tI\tPRON\t_\t_\tx\troot\t_\t_\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a-train\.conllu:1: head 'x' is not an integer"):
        train(file, tmp_path / "parser", options=SMALL)
    assert not (tmp_path / "parser").exists()


def test_a_treebank_of_one_tag_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a-train.conllu"
    file.write_text("1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a-train\.conllu: all words have the tag 'VERB', expected at least two tags"):
        train(file, tmp_path / "parser", options=SMALL)
