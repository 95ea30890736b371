from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ranker.errors import DataError, MissingError
from ranker.text.lexical import wordnet
from ranker.text.lexical.wordnet import find_wordnet
from tests.extractors.small_wordnet import write_wordnet

NOUN, VERB, ADJECTIVE = (part * 100_000_000 for part in (1, 2, 3))


@pytest.fixture
def directory(tmp_path) -> Path:
    return write_wordnet(tmp_path / "wordnet")


@pytest.mark.parametrize(
    ("word", "synsets"),
    [
        ("car", {NOUN + 1, NOUN + 2}),
        ("cars", {NOUN + 1, NOUN + 2}),
        ("went", {VERB + 1}),  # an exception
        ("moved", {VERB + 1}),  # -ed becomes -e
        ("bigger", set()),  # doubled letters are for the exceptions
        ("larger", {ADJECTIVE + 1}),
        ("mover", {VERB + 1}),  # an ending of one part of speech serves all
        ("passes", {VERB + 5}),
        ("boss", {NOUN + 6}),  # not the plural of bos
        ("bos", {NOUN + 1}),
        ("go", {VERB + 1}),
        ("gos", {VERB + 1}),
        ("oxen", set()),  # its base form is no lemma
        ("", set()),
    ],
)
def test_synsets_of_a_word_and_of_its_base_form(directory, word, synsets):
    assert find_wordnet(str(directory)).synsets(word) == synsets


def test_the_same_from_nltk_and_from_a_directory_named_by_the_environment(directory, tmp_path, monkeypatch):
    root = tmp_path / "nltk" / "corpora"
    root.mkdir(parents=True)
    with zipfile.ZipFile(root / "wordnet.zip", "w") as archive:
        for path in directory.iterdir():
            archive.write(path, f"wordnet/{path.name}")
    here = find_wordnet(str(directory))
    monkeypatch.setattr(wordnet, "_holds_wordnet", lambda path: path.is_relative_to(tmp_path) and path.exists())
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    zipped = find_wordnet()
    assert (zipped.lemmas, zipped.exceptions, zipped.digest) == (here.lemmas, here.exceptions, here.digest)
    monkeypatch.setenv("WNSEARCHDIR", str(directory))
    assert find_wordnet() is here


def test_real_wordnet_knows_irregular_and_regular_forms():
    try:
        folder = find_wordnet()
    except MissingError as error:
        pytest.skip(str(error))
    assert folder.synsets("bought") & folder.synsets("purchase")
    assert folder.synsets("automobiles") & folder.synsets("car")
    assert not folder.synsets("automobile") & folder.synsets("banana")


def test_what_is_missing_or_damaged_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(wordnet, "_holds_wordnet", lambda path: False)
    with pytest.raises(MissingError, match="wordnet-base"):
        find_wordnet()
    with pytest.raises(MissingError, match="nowhere: no such file or directory"):
        find_wordnet(str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"is not a WordNet directory: index.noun or noun.exc cannot be read"):
        find_wordnet(str(tmp_path))
    (tmp_path / "other.zip").write_bytes(b"no archive at all" * 100)
    with pytest.raises(DataError, match=r"other\.zip: is not a zip file of WordNet, or is damaged"):
        find_wordnet(str(tmp_path / "other.zip"))
    directory = write_wordnet(tmp_path / "damaged")
    (directory / "index.verb").write_text("  licence\ngo v 1 1 @ 1 1 00000001\nrun v two\n")
    with pytest.raises(DataError, match=r"index.verb:3: expected a word, counts and synset offsets, found 'run v two'"):
        find_wordnet(str(directory))


@pytest.mark.parametrize("line", ["go v 1 1 @ 1 1 -1", "go v 1 1 @ 1 1 " + "9" * 30, "go v -1 \x1b[2J"])
def test_offsets_out_of_range_are_refused(directory, line):
    (directory / "index.verb").write_text(f"{line}\n")
    with pytest.raises(DataError, match=r"index\.verb:1: expected a word, counts and synset offsets") as refused:
        find_wordnet(str(directory))
    assert str(refused.value).isprintable()
