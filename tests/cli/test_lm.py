"""``ranker lm train``: files in, one ARPA file out, and nothing left behind."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tests.learning.lm.small import SENTENCES


@pytest.fixture
def ranker(tmp_path, monkeypatch, command):
    """Run a command where text.en is."""
    monkeypatch.chdir(tmp_path)
    Path("text.en").write_text(SENTENCES)
    return command


def test_files_together_are_one_text(kenlm, ranker):
    ranker("lm", "train", "--text", "text.en", "--order", "3", "--output", "whole.arpa")
    lines = SENTENCES.splitlines(keepends=True)
    Path("one").write_bytes("".join(lines[:2]).replace("\n", "\r\n").encode("utf-8-sig"))
    Path("two.gz").write_bytes(gzip.compress("".join(lines[2:4]).encode()) + gzip.compress("".join(lines[4:]).encode()))
    ranker("lm", "train", "--text", "one", "two.gz", "--order", "3", "--output", "parts.arpa")
    assert Path("parts.arpa").read_bytes() == Path("whole.arpa").read_bytes()
    assert kenlm.Model("whole.arpa").order == 3
    assert Path("whole.arpa").read_text().startswith("# ranker lm train: order=3 tokenizer=13a lowercase=true\n")


def test_case_and_tokenizer(kenlm, ranker):
    arguments = ("--order", "2", "--keep-case", "--tokenizer", "none")
    ranker("lm", "train", "--text", "text.en", "--output", "cased.arpa", *arguments)
    assert Path("cased.arpa").read_text().startswith("# ranker lm train: order=2 tokenizer=none lowercase=false\n")
    assert "A" in kenlm.Model("cased.arpa")


def test_standard_input(kenlm, tmp_path):
    written = tmp_path / "piped.arpa"
    words = ["lm", "train", "--text", "-", "--order", "2", "--output", written]
    command = [sys.executable, "-m", "ranker.cli.main", *words]
    done = subprocess.run(command, input=gzip.compress(SENTENCES.encode()), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert kenlm.Model(str(written)).order == 2
