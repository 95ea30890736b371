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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--text", "no-such"), "no-such: no such file"),
        (("--text", "."), ".: this is a directory, expected a file"),
        (("--text", "text.en", "latin"), r"latin:2:2: byte 0xe9 is not UTF-8: convert the file to UTF-8"),
        (("--text", "cut.gz"), "cut.gz: damaged or incomplete gzip file (Compressed file ended before"),
        (("--text", "zip"), "zip: this is a zip archive, expected UTF-8 text: convert it first"),
        (("--text", "empty"), "a language model requires at least one training sentence, found none"),
        (("--text", "text.en", "--tokenizer", "14a"), "--tokenizer 14a: unknown tokenizer (did you mean '13a'?)"),
        (("--text", "text.en", "--tokenizer", "auto"), "--tokenizer auto: the language of plain text is unknown"),
        (("--text", "text.en", "--order", "7"), "Invalid value for '--order'"),
        (
            ("--text", "reserved", "--tokenizer", "none"),
            "'<s>' occurs in the training text, but is reserved in ARPA files",
        ),
        (("--text", "out.arpa"), "out.arpa: is both the training text and the output file: choose another output file"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_in_one_line(ranker, words, message):
    Path("latin").write_bytes(b"good\nr\xe9sum\xe9\n")
    Path("cut.gz").write_bytes(gzip.compress(SENTENCES.encode())[:-20])
    Path("zip").write_bytes(b"PK\x03\x04rest")
    Path("empty").write_bytes(b"")
    Path("reserved").write_text("a <s> b\n")
    Path("out.arpa").write_text("as before\n")
    code, out, err = ranker("lm", "train", *words, "--output", "out.arpa")
    assert (code, out) == (2, "")
    assert err.startswith(f"ranker: error: {message}")
    assert err.count("\n") == 1
    assert Path("out.arpa").read_text() == "as before\n"
    assert not [path for path in Path().iterdir() if path.suffix == ".tmp"]
