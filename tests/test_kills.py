"""Commands that are killed at every step: nothing half-written, nothing left, and a rerun as if nothing had been."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bench import kills

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    # the copies of this process use none of its threads
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    kills.prepare(folder)
    return folder


@pytest.mark.parametrize("name", ["convert", "campaign"])
def test_a_command_that_is_killed_at_any_step(
    name: str, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # once here, so that its copies import nothing
    monkeypatch.chdir(inputs)
    (inputs / "out").mkdir()
    assert kills._in_this_process(kills.CASES[name].words) == 0
    shutil.rmtree(inputs / "out")
    trial = kills.Trial(kills.CASES[name], inputs, tmp_path / "trial")
    assert trial.steps > 2
    assert {step: problem for step in range(1, trial.steps + 1) if (problem := trial.at_step(step))} == {}


def test_what_is_wrong_is_found(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = kills.Trial(kills.CASES["campaign"], inputs, tmp_path / "trial")
    monkeypatch.setattr(kills, "_run", lambda *_: 0)
    out = trial.place / "out"
    out.mkdir(exist_ok=True)
    trial.case = kills.CASES["convert"]
    (out / "x.jsonl").write_text("")
    assert trial._problem() == "lost: [], half-written: ['x.jsonl']"
    (out / "x.jsonl").unlink()
    for path in out.iterdir():
        path.unlink()
    trial.new = {"x.jsonl": "other"}
    assert trial._problem() == "the rerun gives other files: ['x.jsonl']"
    trial.new = {}
    (out / ".ranker-writing-x").write_text("")
    assert trial._problem() == "left: ['out/.ranker-writing-x']"
