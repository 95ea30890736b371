"""``ranker lm train``: files in, one ARPA file out, and nothing left behind."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from ranker.cli.main import run
from tests.learning.lm.small import SENTENCES


@pytest.fixture
def ranker(tmp_path, monkeypatch, capsys):
    """Run a command where text.en is, and return exit code, output and messages."""
    monkeypatch.chdir(tmp_path)
    Path("text.en").write_text(SENTENCES)

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_info:
            run(words)
        printed = capsys.readouterr()
        return exit_info.value.code, printed.out, printed.err

    return call


def test_files_together_are_one_text(kenlm, ranker):
    code, out, err = ranker("lm", "train", "--text", "text.en", "--order", "3", "--output", "whole.arpa")
    assert (code, out) == (
        0,
        "learnt from 7 sentences, 43 tokens; n-grams by order: 18 33 38\nwritten: whole.arpa\n",
    )
    assert err == (
        "ranker: note: the text is too small or too repetitive to estimate the discounts of order 3; "
        "using 0.5, 1 and 1.5\n"
    )
    lines = SENTENCES.splitlines(keepends=True)
    Path("one").write_bytes("".join(lines[:2]).replace("\n", "\r\n").encode("utf-8-sig"))
    Path("two.gz").write_bytes(gzip.compress("".join(lines[2:4]).encode()) + gzip.compress("".join(lines[4:]).encode()))
    assert ranker("lm", "train", "--text", "one", "two.gz", "--order", "3", "--output", "parts.arpa")[0] == 0
    assert Path("parts.arpa").read_bytes() == Path("whole.arpa").read_bytes()
    assert kenlm.Model("whole.arpa").order == 3
    assert Path("whole.arpa").read_text().startswith("# ranker lm train: order=3 tokenizer=13a lowercase=true\n")


def test_case_and_tokenizer(kenlm, ranker):
    arguments = ("--order", "2", "--keep-case", "--tokenizer", "none")
    assert ranker("lm", "train", "--text", "text.en", "--output", "cased.arpa", *arguments)[0] == 0
    assert Path("cased.arpa").read_text().startswith("# ranker lm train: order=2 tokenizer=none lowercase=false\n")
    assert "A" in kenlm.Model("cased.arpa")


def test_standard_input(kenlm, tmp_path):
    written = tmp_path / "piped.arpa"
    command = [
        sys.executable,
        "-m",
        "ranker.cli.main",
        "lm",
        "train",
        "--text",
        "-",
        "--order",
        "2",
        "--output",
        written,
    ]
    done = subprocess.run(command, input=gzip.compress(SENTENCES.encode()), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert kenlm.Model(str(written)).order == 2
