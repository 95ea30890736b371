"""Every command that heads tables on the paper pages works: run on a few sources, it prints every table of its page."""

from __future__ import annotations

import gzip
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from ranker import threads
from tests.effort import thorough

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMAND = re.compile(r"^## `(ranker experiment .*)`$", flags=re.MULTILINE)
TITLE = re.compile(r"^### (.*)$", flags=re.MULTILINE)
FEWER = {
    "birch11": ["--restarts", "1", "--mert-restarts", "0"],
    "cer10": ["--restarts", "0", "--iterations", "1"],
    "isozaki10": ["--resamples", "5"],
}
"""Options that make a command quicker and change neither its tables nor their titles."""
WMT = ("wmt12-rr", "wmt13-rr", "wmt14-rr", "wmt15-rr")
SOURCES = {
    "ye07": {"wmt12-rr": 26, "wmt13-rr": 26, "wmt14-rr": 21, "wmt15-rr": 21, "ted-fluency": 110, "ted21-mqm": 55},
    # two language pairs are read for their references alone
    "others": {**dict.fromkeys((*WMT, "ted21-mqm"), 8), "wmt12-rr es-en": 60, "wmt14-rr hi-en": 90},
}
"""Sources of every language pair that are kept; a language model needs 100 references."""


def commands():
    """Return every heading command, with the titles of the tables below it."""
    for page in sorted(DOCS.glob("*.md")):
        parts = COMMAND.split(page.read_text(encoding="utf-8"))
        for number, (command, text) in enumerate(zip(parts[1::2], parts[2::2], strict=True), 1):
            titles = TITLE.findall(re.split(r"^## ", text, flags=re.MULTILINE)[0])
            yield pytest.param(command, titles, id=f"{page.stem}-{number}")


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
def one_thread():
    """Starting threads costs more than it gains on so little."""
    with threads.using(1):
        yield ["--jobs", "1"]


@pytest.mark.skipif(not DOCS.is_dir(), reason="documents are not part of the wheel")
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


@pytest.mark.skipif(not DOCS.is_dir(), reason="documents are not part of the wheel")
def test_the_pages_have_commands():
    result = {shlex.split(case.values[0])[2] for case in commands()}
    assert result >= {"ye07", "birch11", "cer10", "isozaki10", "stanojevic14"}
