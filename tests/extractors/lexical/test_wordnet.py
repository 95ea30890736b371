from __future__ import annotations

import re
import sqlite3
import zipfile
from pathlib import Path

import pytest

from ranker.errors import DataError, MissingError
from ranker.extractors.lexical import wordnet
from ranker.extractors.lexical.wordnet import find_wordnet
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


def test_the_database_of_the_package_wn(tmp_path):
    path = tmp_path / "wn.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE lexicons (rowid INTEGER PRIMARY KEY, language TEXT);
            CREATE TABLE forms (rowid INTEGER PRIMARY KEY, lexicon_rowid, entry_rowid, form TEXT, rank INTEGER);
            CREATE TABLE senses (rowid INTEGER PRIMARY KEY, entry_rowid, synset_rowid);
            INSERT INTO lexicons VALUES (1, 'de'), (2, 'en'), (3, 'en');
            INSERT INTO forms VALUES (1, 1, 1, 'Auto', 0), (2, 2, 2, 'Car', 0), (3, 2, 3, 'go', 0),
                                     (4, 2, 3, 'went', 1), (5, 3, 4, 'tram', 0), (6, 2, 5, 'ice cream', 0);
            INSERT INTO senses VALUES (1, 1, 7), (2, 2, 7), (3, 2, 8), (4, 3, 9), (5, 4, 10), (6, 5, 11);
            """
        )
    connection.close()
    folder = find_wordnet(str(path))
    assert folder.lemmas == {"car": (7, 8), "go": (9,), "ice_cream": (11,)}
    assert folder.synsets("went") == folder.synsets("go") == {9}
    assert folder.synsets("cars") == {7, 8}
    assert not folder.synsets("auto")


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
    (tmp_path / "other.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(DataError, match="is not a database of the package wn"):
        find_wordnet(str(tmp_path / "other.db"))
    directory = write_wordnet(tmp_path / "damaged")
    (directory / "index.verb").write_text("  licence\ngo v 1 1 @ 1 1 00000001\nrun v two\n")
    with pytest.raises(DataError, match=r"index.verb:3: expected a word, counts and synset offsets, found 'run v two'"):
        find_wordnet(str(directory))


def _zipped(directory: Path, path: Path, changed: int = 0) -> None:
    """Write a zip file with another byte in every entry of its directory."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in directory.iterdir():
            archive.write(file, f"wordnet/{file.name}")
    raw = bytearray(path.read_bytes())
    for entry in re.finditer(rb"PK\x01\x02", bytes(raw)) if changed else ():
        raw[entry.start() + changed] ^= 99
    path.write_bytes(raw)
    wordnet._read.cache_clear()


def test_a_damaged_or_huge_zip_is_refused(directory, tmp_path, monkeypatch):
    path = tmp_path / "wordnet.zip"
    _zipped(directory, path, 10)
    with pytest.raises(DataError, match=r"wordnet\.zip: is not .* compressed in an unsupported way"):
        find_wordnet(str(path))
    _zipped(directory, path, 16)
    with pytest.raises(DataError, match=r"wordnet\.zip: .*damaged"):
        find_wordnet(str(path))
    _zipped(directory, path)
    monkeypatch.setattr(wordnet, "_LARGEST", 10)
    with pytest.raises(DataError, match=r"index\.noun unpacks to more than"):
        find_wordnet(str(path))


@pytest.mark.parametrize("line", ["go v 1 1 @ 1 1 -1", "go v 1 1 @ 1 1 " + "9" * 30, "go v -1 \x1b[2J"])
def test_offsets_out_of_range_are_refused(directory, line):
    (directory / "index.verb").write_text(f"{line}\n")
    with pytest.raises(DataError, match=r"index\.verb:1: expected a word, counts and synset offsets") as refused:
        find_wordnet(str(directory))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("values", ["(1, 1, 0, 1), (1, 1)", "(x'ff', 1, 0, 1), (1, 1)", "('a', 1, 0, 1), (1, 'x')"])
def test_a_database_with_other_values_is_refused(tmp_path, values):
    path = tmp_path / "wn.db"
    form, sense = values.replace("), (", ")|(").split("|")
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE lexicons (language); CREATE TABLE forms (form, entry_rowid, rank, lexicon_rowid);"
            "CREATE TABLE senses (entry_rowid, synset_rowid); INSERT INTO lexicons VALUES ('en');"
            f"INSERT INTO forms VALUES {form}; INSERT INTO senses VALUES {sense};"
        )
    connection.close()
    with pytest.raises(DataError, match=r"expected words with synsets|contains no English"):
        find_wordnet(str(path))


def test_a_database_without_english_is_refused(tmp_path):
    path = tmp_path / "wn.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE lexicons (language); CREATE TABLE forms (form, rank, entry_rowid, lexicon_rowid);"
            "CREATE TABLE senses (entry_rowid, synset_rowid);"
        )
    connection.close()
    with pytest.raises(DataError, match="contains no English wordnet"):
        find_wordnet(str(path))
