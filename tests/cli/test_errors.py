"""What a user gets wrong: one line on stderr, exit code 2, nothing on stdout, nothing written."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Refused
from tests.command_line import Command


@pytest.mark.parametrize("option", ["--features", "--C", "--lp", "--kind", "--loss", "--data"])
@pytest.mark.parametrize("value", ["", " ", "a\nb", "\x1b[31m", "\u2028", "句"], ids=ascii)
def test_odd_values_of_options(option: str, value: str, refused: Refused) -> None:
    refused("train", "--data", "good.json", option, value)


def test_one_candidate_is_ranked(folder: Path, command: Command) -> None:
    (source,) = json.loads(command("rank", "one-candidate.json", "-m", "bleu", "-f", "json").out)["sources"]
    assert [(row["rank"], row["tied"], row["margin"]) for row in source["ranking"]] == [(1, False, None)]


def test_out_of_memory(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("ranker.extractors.ngram.bleu.Bleu.statistics", fail)
    refused("rank", "good.json", "-m", "bleu", says="error: out of memory: give fewer")


@pytest.mark.parametrize(
    "error", [OSError("no shared object\nfile"), ImportError("failed to map"), SystemError("NULL")]
)
def test_libraries_that_find_no_memory_are_not_taken_for_the_output(
    error: Exception, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("ranker.extractors.ngram.bleu.Bleu.statistics", fail)
    if isinstance(error, OSError):
        refused("rank", "good.json", "-m", "bleu", says="error: a library cannot be loaded: no shared object: install")
    monkeypatch.setattr("ranker.cli.main._limit_of_memory", lambda: " (limited to 512 MB by ulimit -v)")
    says = r"error: out of memory \(limited to 512 MB by ulimit -v\), a library cannot be loaded: raise the limit"
    refused("rank", "good.json", "-m", "bleu", says=says)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_small_address_spaces_are_reported_as_such(folder: Path) -> None:
    for limit in (300, 512, 700):
        words = ["score", "good.json", "-m", "bleu"]
        code = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({limit << 20},) * 2)\n"
        code += f"from ranker.cli.main import run; run({words!r})"
        ended = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
        assert ended.returncode == 2, ended.stderr
        assert "output" not in ended.stderr
        assert f"out of memory (limited to {limit} MB by ulimit -v)" in ended.stderr


def test_notes_are_as_short_as_errors(refused: Refused) -> None:
    refused("--nope")
    note = logging.makeLogRecord({"msg": "ranker: note: " + "x" * 5000 + " is left out"})
    printed = logging.lastResort.format(note)
    assert len(printed) < 700
    assert printed.startswith("ranker: note: x")
    assert printed.endswith("x is left out")


def test_files_of_plain_text_as_arguments_are_told_their_options(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("src.de", "ref.en", "a.en", "b.en"):
        Path(name).write_text("Yes, it is.\nNo.\n")
    for words, options in (
        (("src.de", "ref.en", "a.en", "b.en"), "-s src.de -r ref.en -t a.en b.en"),
        (("ref.en", "a.en"), "-r ref.en -t a.en"),
    ):
        printed = command("score", *words, "-m", "chrf", code=2)
        what = f"pass plain-text files with options: {options} (sources, references, translations)"
        assert printed.err == f"ranker: error: {what}\n"
    Path("src.de").write_text("Yes.\nNo.\n")
    assert "read plain text from -s, -r and -t" in command("score", "src.de", "-m", "chrf", code=2).err
    for name in ("train", "evaluate"):
        assert "commands that need no human judgements read plain text" in command(name, "src.de", "ref.en", code=2).err


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv"])
@pytest.mark.parametrize("resamples", ["0", "50"])
def test_what_is_not_defined_is_no_nan(tmp_path, command, form, resamples):
    path = tmp_path / "eq.csv"
    lines = [
        f"s{at},the word {at} here,{name},the word {at} {text},3" for at in range(5) for name, text in ("Aa", "Bb")
    ]
    path.write_text("\n".join(["source,reference,system,text,score", *lines]) + "\n")
    printed = command("evaluate", str(path), "-m", "chrf", "--resamples", resamples, "-f", form)
    assert "nan" not in printed.out.lower()
