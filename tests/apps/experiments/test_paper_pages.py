"""Every command that heads tables on the paper pages works: run on a few sources, it prints every table of its page."""

from __future__ import annotations

import dataclasses
import gzip
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from ranker import threads
from ranker.cli import experiment
from ranker.corpora.dataset import concatenate_datasets
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.text.lexical import wordnet
from ranker.text.lexical.wordnet import find_wordnet, optional_wordnet
from tests.apps.experiments.conftest import language_pair
from tests.effort import thorough
from tests.extractors.small_wordnet import write_synonyms

PAPERS = Path(__file__).resolve().parents[3] / "docs" / "papers"
COMMAND = re.compile(r"^## `(ranker experiment .*)`$", flags=re.MULTILINE)
TITLE = re.compile(r"^### (.*)$", flags=re.MULTILINE)
SIGNATURE = re.compile(r"^`(ranker:.*)`$", flags=re.MULTILINE)
LANGUAGE_PAIRS = {
    "wmt12": ("cs-en", "de-en", "es-en", "fr-en", "en-cs", "en-de", "en-es", "en-fr"),
    "wmt13": ("cs-en", "de-en", "es-en", "fr-en", "ru-en"),
    "wmt14": ("cs-en", "de-en", "fr-en", "hi-en", "ru-en"),
    "wmt15": ("cs-en", "de-en", "fi-en", "fr-en", "ru-en", "en-cs", "en-de", "en-fi", "en-fr", "en-ru"),
}
WORDNET = "a102a9ad8e17"
"""Digest of WordNet 3.0, with which the pages were made."""
FEWER = {
    "birch11": ["--restarts", "1"],
    "cer10": ["--restarts", "0"],
}
"""Options that make a command quicker and change neither its tables nor their titles."""
WMT = ("wmt12-rr", "wmt13-rr", "wmt14-rr", "wmt15-rr")
SOURCES = {
    "ye07": {"wmt12-rr": 26, "wmt13-rr": 26, "wmt14-rr": 21, "wmt15-rr": 21, "ted-fluency": 110, "ted21-mqm": 55},
    # two language pairs are read for their references alone
    "others": {**dict.fromkeys((*WMT, "ted21-mqm"), 8), "wmt12-rr es-en": 60, "wmt14-rr hi-en": 90},
}
"""Sources of every language pair that are kept; a language model needs 100 references."""


def sections():
    """Yield every page with a heading command, its number and the text below it."""
    for page in sorted(PAPERS.glob("*.md")):
        parts = COMMAND.split(page.read_text(encoding="utf-8"))
        for number, (command, text) in enumerate(zip(parts[1::2], parts[2::2], strict=True), 1):
            yield f"{page.stem}-{number}", command, re.split(r"^## ", text, flags=re.MULTILINE)[0]


def commands():
    """Return every heading command, with the titles of the tables below it."""
    return [pytest.param(command, TITLE.findall(text), id=name) for name, command, text in sections()]


def signatures():
    """Return every heading command, with the signature below its tables."""
    return [pytest.param(command, *SIGNATURE.findall(text), id=name) for name, command, text in sections()]


def without_data(signature: str) -> list[str]:
    """Return the parts of a signature, and of data the name alone: a test has other data of that name."""
    parts = []
    for part in signature.split("|"):
        key = part.partition(":")[0]
        parts.append(re.sub(r"#[0-9a-f]{8}", "", part) if key in ("data", "train", "test", "lm", "mert lm") else part)
    return parts


def copy_some(source: Path, target: Path, sources: dict[str, int]) -> None:
    """Copy some judged sources of every language pair, from several documents, and the preferences on them."""
    name = source.name.removesuffix(".jsonl.gz")
    preferences = source.with_name(f"{name}.pairs.tsv.gz")
    judged = None
    if preferences.is_file():
        header, *rows = gzip.decompress(preferences.read_bytes()).decode().splitlines()
        judged = {tuple(row.split("\t", 2)[:2]) for row in rows}
    taken: dict[str, set[str]] = {}
    documents: Counter[tuple[str, str]] = Counter()
    lines = []
    for line in gzip.decompress(source.read_bytes()).decode().splitlines():
        lp, doc, seg_id = re.search(r'"lp":"([^"]*)","doc":("[^"]*"|null),"seg_id":(\d+)', line).groups()
        number = sources.get(f"{name} {lp}", sources[name])
        there = taken.setdefault(lp, set())
        few = doc == "null" or documents[lp, doc] < max(2, number // 5)
        if few and len(there) < number and (judged is None or (lp, seg_id) in judged):
            documents[lp, doc] += 1
            there.add(seg_id)
            lines.append(line)
    target.mkdir(parents=True, exist_ok=True)
    (target / source.name).write_bytes(gzip.compress("\n".join(lines).encode(), 1))
    if judged is not None:
        selected = [row for row in rows if row.split("\t", 2)[1] in taken.get(row.split("\t", 1)[0], ())]
        (target / preferences.name).write_bytes(gzip.compress("\n".join([header, *selected, ""]).encode(), 1))


@pytest.fixture(scope="session")
def corpora(shared, tmp_path_factory) -> dict[str, Path]:
    """Corpus directories with a few sources of every corpus that the pages name."""
    folders = {}
    for use, selected in SOURCES.items():
        folders[use] = tmp_path_factory.mktemp(use)
        for name in dict.fromkeys(key.split()[0] for key in selected):
            folder = folders[use] / name.removesuffix("-rr") if name in WMT else folders[use]
            copy_some(shared / "data" / f"{name}.jsonl.gz", folder, selected)
    return folders


@pytest.fixture
def small_wordnet_3(tmp_path, monkeypatch):
    """A few words that have the digest of WordNet 3.0."""
    write_synonyms(tmp_path / "wordnet")
    few = dataclasses.replace(find_wordnet(str(tmp_path / "wordnet")), digest=WORDNET)
    monkeypatch.setattr(wordnet, "_read", lambda path: few)
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "wordnet"))


@pytest.fixture
def one_thread():
    """Starting threads costs more than it gains on so little."""
    with threads.using(1):
        yield ["--jobs", "1"]


@pytest.mark.skipif(not PAPERS.is_dir(), reason="documents are not part of the wheel")
@pytest.mark.parametrize(("heading", "titles"), list(commands()))
@thorough
def test_heading_commands(heading, titles, corpora, one_thread, monkeypatch, command):
    words = shlex.split(heading)
    folder = corpora.get(words[2], corpora["others"])
    monkeypatch.chdir(folder)
    monkeypatch.setenv("RANKER_DATA", str(folder))
    # parses are shared by the commands
    monkeypatch.setenv("RANKER_CACHE", str(folder / "cache"))
    printed = command(*words[1:], *FEWER.get(words[2], []), *one_thread).out
    assert titles
    assert [title for title in titles if title not in printed.splitlines()] == []


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Corpora with the names, language pairs and kinds of judgement of the real ones, and two sources each."""
    folder = tmp_path_factory.mktemp("made")
    for name, pairs in LANGUAGE_PAIRS.items():
        (folder / name).mkdir()
        data = concatenate_datasets([language_pair(pair, seed, sources=2) for seed, pair in enumerate(pairs)])
        write_dataset(data, folder / name / f"{name}-rr.jsonl.gz")
    judgements = {"ted-fluency": ("fluency",), "ted21-mqm": ("mqm", "mqm_fluency")}
    for name, kinds in judgements.items():
        outputs = [Candidate(f"s{i}", f"a b {i}", [(kind, None, float(i)) for kind in kinds]) for i in range(3)]
        records = [Record("x", ["a b c"], outputs, lp="zh-en", seg_id=str(number)) for number in range(2)]
        write_dataset(assemble(records, name), folder / f"{name}.jsonl.gz")
    return folder


@pytest.mark.skipif(not PAPERS.is_dir(), reason="documents are not part of the wheel")
@pytest.mark.parametrize(("heading", "signature"), signatures())
def test_pages_were_made_with_what_the_code_computes_today(
    heading, signature, made, small_wordnet_3, monkeypatch, command
):
    """A page whose signature differs is stale: make it again with its commands."""
    found = []
    monkeypatch.chdir(made)
    monkeypatch.setenv("RANKER_DATA", str(made))
    monkeypatch.setattr(experiment, "_emit", lambda plan, *_: found.append(plan.signature))
    command(*shlex.split(heading)[1:])
    assert without_data(found[0]) == without_data(signature)


def cells(text: str) -> list[str]:
    return [
        cell.strip().replace(",", "") for line in text.splitlines() if line.startswith("|") for cell in line.split("|")
    ]


@pytest.mark.skipif(not PAPERS.is_dir(), reason="documents are not part of the wheel")
@pytest.mark.parametrize("name", ["ye07-6", "isozaki10-6"])
@thorough
def test_figures_of_pages_are_those_of_today(name, shared, monkeypatch, tmp_path, command):
    """One command of a page, on all its data: what no signature tells, such as which sources make a fold."""
    heading, text = next((heading, text) for section, heading, text in sections() if section == name)
    installed = optional_wordnet("auto", "meteor")
    if f"wordnet={WORDNET}" in text and (installed is None or installed.digest != WORDNET):
        pytest.skip("WordNet 3.0 is not installed")
    monkeypatch.chdir(shared / "data")
    monkeypatch.setenv("RANKER_CACHE", str(tmp_path))
    found, expected = (cells(each) for each in (command(*shlex.split(heading)[1:], "-f", "markdown").out, text))
    assert len(found) == len(expected) > 50
    for one, other in zip(found, expected, strict=True):
        try:
            assert float(one) == pytest.approx(float(other), abs=0.002)
        except ValueError:
            assert one == other


@pytest.mark.skipif(not PAPERS.is_dir(), reason="documents are not part of the wheel")
def test_the_pages_have_commands():
    result = {shlex.split(case.values[0])[2] for case in commands()}
    assert result >= {"ye07", "birch11", "cer10", "isozaki10", "stanojevic14"}
