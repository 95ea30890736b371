"""Every command in docs/collect.md and in the help texts runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apps.collect.conftest import free_port
from tests.apps.collect.test_quality import judge_in_file
from tests.command_line import Command
from tests.effort import thorough

PAGE = Path(__file__).resolve().parents[3] / "docs" / "collect.md"


def serve(words: list[str]) -> None:
    command = [sys.executable, "-m", "ranker.cli.main", *words, "--port", str(free_port())]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert "ranker: serving" in server.stderr.readline()
    server.terminate()
    server.communicate()


def call(words: list[str], command: Command) -> None:
    if words[:2] == ["collect", "serve"] and "--help" not in words:
        serve(words)
        return
    printed = command(*words)
    if words[:2] == ["collect", "new"] and "demo.campaign" in words:
        # whoever reads on has judged something in the meantime
        path, codes = Path("demo.campaign"), re.findall(r"^judge\d+", printed.out, flags=re.MULTILINE)
        judges = {
            code: (lambda texts: sorted(range(1, len(texts) + 1), key=lambda n: len(texts[n - 1])), 9) for code in codes
        }
        judge_in_file(path, judges, 12)[0].close()


@pytest.mark.skipif(not PAGE.is_file(), reason="documents are not part of the wheel")
@thorough
def test_the_commands_of_the_page_run(tmp_path, monkeypatch, command):
    pytest.importorskip("uvicorn", reason="mt-ranker[collect] is not installed")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith("pip install")]
    assert len(lines) >= 8
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "ranker"
        call(words, command)
    assert {"judgements.jsonl", "judgements.pairs.tsv", "careful.jsonl", "demo.model"} <= {
        p.name for p in tmp_path.iterdir()
    }
