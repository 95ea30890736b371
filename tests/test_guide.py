"""The Python examples in the documents run, and commands print what the documents show.

The README and the pages of ``docs/stories`` are played as a whole, in order, by ``docs/pages.py``.
"""

from __future__ import annotations

import gzip
import itertools
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import pytest

from tests.datasets import part_of_corpus
from tests.effort import thorough
from tests.scripts import module_of

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
LEARNS = re.compile(r"\b(train\w*|fit)\(")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "papers").glob("*.md")])
EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}-{number}", marks=[thorough] if LEARNS.search(code) else [])
    for page in PAGES
    for number, code in enumerate(PYTHON.findall(page.read_text(encoding="utf-8")), 1)
]

CONSOLE = re.compile(r"^```console\n\$ ranker (.*)\n((?:.*\n)*?)```", flags=re.MULTILINE)
SHOWN = [
    pytest.param(
        *(page, command, output),
        id=f"{page.relative_to(ROOT)}-{command.split()[0]}-{number}",
        marks=[thorough] if command.split()[0] in ("systems", "contrast", "report") else [],
    )
    for page in PAGES
    if page != README
    for number, (command, output) in enumerate(CONSOLE.findall(page.read_text(encoding="utf-8")), 1)
]


STORIES = sorted((ROOT / "docs" / "stories").glob("*.md"))


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The module that plays pages."""
    if not (ROOT / "docs").is_dir():
        pytest.skip("documents are not part of the wheel")
    return module_of(ROOT / "docs" / "pages.py")


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code, tmp_path, monkeypatch):
    if "model=en.arpa" in code:
        pytest.importorskip("kenlm", reason="the quick tests are installed without what queries language model files")
    monkeypatch.chdir(tmp_path)
    for name in ("mlflow", "trl", "wandb"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    exec(compile(code, "example", "exec"), {})


@pytest.mark.parametrize(("page", "command", "output"), SHOWN)
def test_a_command_prints_what_is_shown(page, command, output, tmp_path, monkeypatch, request, pages):
    """What is printed last may be left out; corpora that do not ship are in the shared data."""
    words = shlex.split(command)
    corpora = [word for word in words if word.endswith(".jsonl.gz")]
    for name in corpora:
        # of the language pair that is read, which takes a tenth of the time
        lps = [value for option, value in itertools.pairwise(words) if option == "--lp"]
        part = part_of_corpus(request.getfixturevalue("shared") / "data" / name, tmp_path, lps)
        (tmp_path / name).write_bytes(gzip.compress(part.read_bytes(), 1))
        part.unlink()
    written = "--html" in command
    monkeypatch.chdir(tmp_path if written or corpora else page.parent)
    printed = pages.command(words)
    assert (tmp_path / "report.html").is_file() == written
    if not pages.agrees(printed, f"{output}...\n"):
        assert printed == output


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[thorough] if page.stem > "04" and page != README else [])
        for page in (README, *STORIES)
        if page.is_file()
    ],
)
def test_a_page_prints_what_it_shows(page, pages):
    assert pages.play(page) == page.read_text(encoding="utf-8"), "run: python docs/pages.py"


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="documents are not part of the wheel")
def test_every_story_is_in_the_guide():
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert len(STORIES) == 12
    assert [page.name for page in STORIES if f"(stories/{page.name})" not in guide] == []


def test_three_dots_stand_for_what_is_left_out(pages):
    for shown in ("a 1\nb 2\n", "...\nb 2\n", "a 1\n...\n", "a ...\nb 2\n", "...\n"):
        assert pages.agrees("a 1\nb 2\n", shown), shown
    for shown in ("a 1\n", "b 2\n", "a 1\nb 3\n", "...\nb 3\n", "a 1\nb 2\nc\n", ""):
        assert not pages.agrees("a 1\nb 2\n", shown), shown
