"""Corpora known by name, and what is said where they are not on this machine."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from ranker import share
from ranker.corpora import catalogue
from ranker.corpora.dataset import concatenate_datasets
from ranker.corpora.downloads import transfer
from ranker.corpora.downloads.archives import is_archive
from ranker.files import safe_join
from ranker.share import directory

LINE = '{"src": "s", "ref": "r", "tgt": {"A": "a", "B": "b"}}\n'


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for corpora, empty."""
    monkeypatch.setenv("RANKER_DATA", str(tmp_path / "corpora"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "corpora"


def test_every_card_file_is_a_card():
    result = catalogue.cards()
    assert list(result) == sorted(path.stem for path in directory("data").glob("*.toml"))
    for name, card in result.items():
        assert card == catalogue.card(name)
        assert card.name == name
        assert card.files
        assert card.description.strip()
        assert card.bundled or (card.obtain and card.homepage.startswith("http")), "says how to get it"
        assert card.bundled == (name == "sample")
        assert not card.download or f"ranker data get {name}" in card.obtain


CARD = """title = "Made"
description = "Made."
languages = "de-en"
licence = "none"
files = ["data.txt"]
"""


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('[facts]\nyear = 2020\nday = 2020-01-02\nat = 2020-01-02T10:00:00Z\nall = ["a"]\n', None),
        ("homepage = 2020-01-02\n", "homepage: expected text, found a date"),
        ("download = 3\n", "download: expected a list, found a whole number"),
        (
            '[[download]]\naddress = "https://a/x"\nonly = 3\n',
            r"download\[0\].only: expected a list, found a whole number",
        ),
        (
            '[[download]]\naddress = "https://a/x"\nsize = "3"\n',
            r"download\[0\].size: expected a whole number, found text",
        ),
        ("facts = 3\n", "facts: expected a table, found a whole number"),
        ("bundles = true\n", r"key 'bundles' is unknown \(did you mean 'bundled'\?\); expected name, title"),
    ],
)
def test_values_of_any_type_in_a_card_are_shown_or_skip_it(more, says, corpora, tmp_path, monkeypatch, caplog, command):
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "made.toml").write_text(CARD + more)
    (tmp_path / "cards" / "sound.toml").write_text(CARD)
    monkeypatch.setattr(share, "directory", lambda name: tmp_path / "cards")
    command("data", "show", "made", "-f", "json", code=2 if says else 0)
    assert ('"made"' in command("data", "list", "-f", "json").out) == (says is None)
    assert re.search(says or "", caplog.text)
    assert bool(caplog.text) == bool(says)


def test_downloads_have_addresses_of_their_own_and_digests_that_can_be():
    parts = [(card, part) for card in catalogue.cards().values() for part in card.download]
    assert {card.name for card, _ in parts} == {f"wmt{year}" for year in range(17, 26)} | {"wmt25-esa"}
    # files lie beside each other under the names that they have in their addresses
    assert len({part.file for _, part in parts}) == len({part.address for _, part in parts})
    for card, part in parts:
        transfer.check_address(part.address)
        assert part.address.startswith("https:")
        assert safe_join(".", part.file, *filter(None, part.below.split("/")), part.into or "-")
        assert re.fullmatch("[0-9a-f]{64}" if part.sha256 else "", part.sha256)
        assert bool(part.sha256) != ("--unverified" in card.obtain)
        if is_archive(part.file) and part.below:
            assert card.files[0] == f"{part.into}/" == f"{part.below.split('/')[-1]}/"
        elif not is_archive(part.file):
            assert card.files[0] == part.file


def test_a_corpus_is_looked_for_in_the_folder_of_its_name(corpora):
    card = catalogue.card("wmt12")
    assert card.folder == corpora / "wmt12"
    assert card.find() is None
    card.folder.mkdir(parents=True)
    for name in reversed(card.files):
        # any one is enough, and the first of several is taken
        (card.folder / name).touch()
        assert card.find() == card.folder / name


def test_a_corpus_bears_its_name_and_not_that_of_its_file(corpora):
    (corpora / "wmt12").mkdir(parents=True)
    (corpora / "wmt12" / "wmt12-rr.jsonl").write_text(LINE)
    dataset = catalogue.load("wmt12")
    assert (dataset.name, dataset.candidates["text"].tolist()) == ("wmt12", ["a", "b"])
    assert catalogue.load(corpora / "wmt12" / "wmt12-rr.jsonl").fingerprint == dataset.fingerprint


def test_the_folder_for_corpora_is_the_users_unless_another_is_set(corpora, monkeypatch):
    assert catalogue.corpus_directory() == corpora
    monkeypatch.delenv("RANKER_DATA")
    assert catalogue.corpus_directory().parts[-2:] == ("ranker", "corpora")


def test_several_corpora_become_one(corpora):
    Path("x.jsonl").write_text(LINE)
    shutil.copy("x.jsonl", "y.jsonl")
    joined = concatenate_datasets([catalogue.load("x.jsonl"), catalogue.load("y.jsonl")])
    assert joined.name == "+".join(catalogue.load(name).name for name in ("x.jsonl", "y.jsonl"))
    assert joined.candidates["text"].tolist() == ["a", "b"] * 2
