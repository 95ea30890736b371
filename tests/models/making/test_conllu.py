"""CoNLL-U: what is read, and what is refused with file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from models.making.parser.conllu import parse_conllu, read_conllu
from models.making.parser.treebanks import find_treebank
from ranker.errors import DataError


def line(identifier: object, form: str, head: object, relation: str, tag: str = "X") -> str:
    return f"{identifier}\t{form}\t{form.lower()}\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"


GOOD = "\n".join(
    [
        "# sent_id = 1",
        "# text = I don't know.",
        line(1, "I", 4, "nsubj", "PRON"),
        line("2-3", "don't", "_", "_"),
        line(2, "do", 4, "aux", "AUX"),
        line(3, "n't", 4, "advmod", "PART"),
        line(4, "know", 0, "root", "VERB"),
        line("4.1", "it", "_", "_"),
        line(5, ".", 4, "punct", "PUNCT"),
        "",
        "",
        line(1, "Yes", 0, "root", "INTJ"),
        line(2, "!", 1, "punct", "PUNCT"),
    ]
)


def test_words_tags_and_tree_are_read() -> None:
    first, second = parse_conllu(GOOD, "x")
    assert first.forms == ("I", "do", "n't", "know", ".")
    assert first.lemmas == ("i", "do", "n't", "know", ".")
    assert first.tags == ("PRON", "AUX", "PART", "VERB", "PUNCT")
    assert first.heads == (3, 3, 3, -1, 3)
    assert first.relations == ("nsubj", "aux", "advmod", "root", "punct")
    assert first.text == "I don't know."
    # without a comment that has the text
    assert second.text == "Yes !"


def test_a_multi_word_token_that_its_words_do_not_spell_becomes_one_word() -> None:
    # "la fin du jour": du = de + le; de hangs on jour (5), le too
    text = "\n".join(
        [
            line(1, "la", 2, "det"),
            line(2, "fin", 0, "root"),
            line("3-4", "du", "_", "_"),
            line(3, "de", 5, "case", "ADP"),
            line(4, "le", 5, "det", "DET"),
            line(5, "jour", 2, "nmod"),
            line(6, "venu", 5, "acl"),
        ]
    )
    (sentence,) = parse_conllu(text, "x")
    assert sentence.forms == ("la", "fin", "du", "jour", "venu")
    assert sentence.tags[2] == "ADP"
    assert sentence.heads == (1, -1, 3, 1, 3)
    assert sentence.relations == ("det", "root", "case", "nmod", "acl")
    assert sentence.text == "la fin du jour venu"


def test_plain_and_gzipped_files_say_the_same(tmp_path: Path) -> None:
    plain, packed = tmp_path / "x.conllu", tmp_path / "x.conllu.gz"
    plain.write_text(GOOD, encoding="utf-8")
    packed.write_bytes(gzip.compress(GOOD.replace("\n", "\r\n").encode()))
    assert read_conllu(plain) == read_conllu(packed)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1\tI\ti"], "x:1: 3 columns, expected 10"),
        (["# c", line(1, "I", "one", "root")], "x:2: head 'one' is not an integer"),
        ([line(1, "I", 0, "root"), line(2, "am", 3, "dep")], "x:2: head 3 is outside the sentence, expected 0 to 2"),
        ([line(1, "I", -2, "root")], "x:1: head -2 is outside"),
        ([line(1, "I", 0, "root"), line(3, "am", 1, "dep")], "x:2: word id '3', expected 2"),
        ([line(1, "I", 0, "root"), line(2, "am", 2, "dep")], "x:2: word 2 is its own head"),
        ([line(1, "I", 0, "root"), line(2, "am", 0, "root")], "x:2: 2 roots"),
        ([line(1, "I", 2, "dep"), line(2, "am", 1, "dep")], "x:1: 0 roots"),
        (
            [line(1, "I", 0, "root"), line(2, "am", 3, "dep"), line(3, "so", 2, "dep")],
            "x:2: the heads form a cycle",
        ),
        ([line("1-x", "I", "_", "_"), line(1, "I", 0, "root")], "x:1: id '1-x' is not a range"),
        ([line("1-2", "I", "_", "_"), line(1, "I", 0, "root")], "x:1: the range 1-2 overlaps"),
        ([line(1, "", 0, "root")], "x:1: a word without a form"),
        (["", line("1.1", "I", "_", "_")], "x:2: a sentence without words"),
    ],
)
def test_errors_name_file_and_line(lines: list[str], message: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_conllu("\n".join(lines), "x")
    assert str(caught.value).startswith(message)


def test_a_treebank_is_found_by_folder_and_by_file(tmp_path: Path) -> None:
    for name in ("a-ud-train.conllu", "a-ud-dev.conllu.gz", "b-ud-test.conllu", "LICENSE.txt"):
        (tmp_path / name).write_text(GOOD, encoding="utf-8")
    for path in (tmp_path, tmp_path / "a-ud-train.conllu"):
        treebank = find_treebank(path)
        assert treebank.name == "a-ud"
        assert {part: file.name for part, file in treebank.files.items()} == {
            "train": "a-ud-train.conllu",
            "dev": "a-ud-dev.conllu.gz",
        }
        assert treebank.licence == tmp_path / "LICENSE.txt"
        assert treebank.attribution() == "Treebank a-ud."
        assert len(treebank.read("train")) == 2
        assert treebank.read("test") == []


def test_no_or_several_training_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected one file \*-train\.conllu\[\.gz\] in this directory, found none"):
        find_treebank(tmp_path)
    for name in ("a-train.conllu", "b-train.conllu"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"found a-train\.conllu, b-train\.conllu"):
        find_treebank(tmp_path)
    with pytest.raises(DataError, match="no such file or directory"):
        find_treebank(tmp_path / "absent")
    with pytest.raises(DataError, match="contains no sentence"):
        find_treebank(tmp_path / "a-train.conllu").read("train")
