"""The Python examples in the documents run, and commands print what the documents show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ranker.cli.main import run

ROOT = Path(__file__).resolve().parents[1]
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, code in enumerate(PYTHON.findall(page.read_text(encoding="utf-8")), 1)
]

CONSOLE = re.compile(r"^```console\n\$ ranker (.*)\n((?:.*\n)*?)```", flags=re.MULTILINE)
SHOWN = [
    pytest.param(page, command, output, id=f"{page.relative_to(ROOT)}-{command.split()[0]}-{number}")
    for page in PAGES
    for number, (command, output) in enumerate(CONSOLE.findall(page.read_text(encoding="utf-8")), 1)
]


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="documents are not part of the wheel")
def test_the_documents_have_python_examples():
    assert EXAMPLES


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {})


@pytest.mark.parametrize(("page", "command", "output"), SHOWN)
def test_a_command_prints_what_is_shown(page, command, output, tmp_path, capsys, monkeypatch, request):
    """A line with three dots stands for lines that are left out; corpora that do not ship are in the shared data."""
    folder = request.getfixturevalue("shared") / "data" if ".jsonl.gz" in command else page.parent
    written = "--html" in command
    monkeypatch.chdir(tmp_path if written else folder)
    with pytest.raises(SystemExit) as ended:
        run(shlex.split(command))
    printed = capsys.readouterr()
    assert ended.value.code == 0, printed.err
    assert (tmp_path / "report.html").is_file() == written
    lines = iter(printed.out.splitlines())
    skipping = False
    for expected in output.splitlines():
        if expected == "...":
            skipping = True
            continue
        found = next((line for line in lines if not skipping or line == expected), None)
        assert found == expected
        skipping = False
