"""A short run of the fuzzer: damaged files of every format are read or refused in one line."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from bench import fuzz
from bench.fuzzing.checking import Outcome
from ranker import threads
from ranker.corpora import catalogue
from tests.effort import THOROUGH


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, fuzz.Format]:
    return fuzz.formats(tmp_path_factory.mktemp("sound"))


@pytest.fixture(autouse=True)
def _small_inputs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a run of the fuzzer: one thread, and cards read once."""
    monkeypatch.setattr(catalogue, "cards", functools.cache(catalogue.cards))
    with threads.using(1):
        yield


@pytest.mark.parametrize("part", range(4))
def test_damaged_files_are_read_or_refused_in_one_line(
    made: dict[str, fuzz.Format], part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = sorted(made)
    count = (2_000 if THOROUGH else 120) // 4
    for number in range(part * count, (part + 1) * count):
        name = names[number % len(names)]
        result = fuzz.check(made[name], fuzz.input_of(made[name], name, 0, number), tmp_path)
        assert not result.finding, f"{name} {number}: {result.finding}\n{result.words}\n{result.detail}"


def test_sound_files_are_read(made: dict[str, fuzz.Format], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, form in made.items():
        result = fuzz.check(form, form.files[form.target], tmp_path)
        assert (result.finding, result.refused) == ("", False), f"{name}: {result.detail}"


def test_findings_are_found(made: dict[str, fuzz.Format], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    form = made["json"]

    def broken(*arguments: object) -> None:
        raise RuntimeError("broken")

    with monkeypatch.context() as patched:
        patched.setattr("ranker.cli.main.run", broken)
        assert fuzz.check(form, b"[]", tmp_path).finding.startswith("traceback: RuntimeError: broken")
    for code, printed, messages, finding in (
        (1, "", "", "exit code 1"),
        (0, '{"rows": [{"lp": "x", "seg_id": 1, "system": "A", "bleu": null}]}', "", "a score that is no number"),
        (0, '{"rows": []}', "ranker: note: \x1b[2J\n", "a message that is not printable"),
        (2, "", "ranker: error: something\n", "a refusal without the file"),
        (2, "", "Traceback\nranker: error: corpus.json: x\nmore\n", "not refused in one line"),
    ):
        assert fuzz._problem(form, ["score"], code, printed, messages) == finding
    assert fuzz.smaller(form, b"", "none", tmp_path) == b""


@pytest.mark.parametrize(("slow", "finding"), [(1, "sound"), (2, "more than"), (99, "more than")])
def test_a_command_that_compiles_is_tried_again_and_one_that_hangs_is_found(
    slow: int, finding: str, made: dict[str, fuzz.Format], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 0.02)
    monkeypatch.setattr(fuzz, "COMPILING", 0.04)
    monkeypatch.setattr(fuzz, "_PATIENCE", 1)
    monkeypatch.setattr(fuzz.Worker, "start", lambda self: None)
    worker = fuzz.Worker({"json": made["json"]}, 0)
    worker.pipe, worker.process = _SlowAtFirst(slow), MagicMock(pid=os.getpid())
    assert worker.ask("json", 1, reduce=False)[0].finding.startswith(finding)


class _SlowAtFirst:
    """A pipe whose first answers come too late, or never if there are ten of them."""

    def __init__(self, slow: int) -> None:
        self.asked, self.slow = 0, slow

    def send(self, request: object) -> None:
        self.asked += 1

    def poll(self, seconds: float) -> bool:
        return self.asked > self.slow or (seconds == fuzz.COMPILING and self.slow < 10)

    def recv(self) -> tuple[Outcome, bytes]:
        return Outcome("sound"), b""
