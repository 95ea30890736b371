"""Results by system say so where the data name no systems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ranker import compare_systems, contrast, evaluate, from_frame, from_records
from ranker.corpora.formats.reading import read_dataset
from tests.command_line import Command

NOTE = (
    "ranker: note: {}: the systems are called candidate1, candidate2, ...; if these are places within a source because "
    "the data name no systems, give a column or key system"
)
ROWS = pd.DataFrame(
    {
        "source": [f"source {number // 2}" for number in range(12)],
        "reference": [f"the reference {number // 2} is here" for number in range(12)],
        "text": [f"the output {number} is {'here' if number % 3 else 'there'}" for number in range(12)],
        "fluency": [1, 3, 2, 4, 5, 1, 2, 2, 4, 3, 1, 5],
    }
)


@pytest.mark.parametrize(
    "words",
    [
        ("score", "--level", "system", "-m", "chrf"),
        ("systems", "-m", "chrf", "--resamples", "10"),
        ("contrast", "-m", "chrf", "--resamples", "10"),
        ("evaluate", "-m", "chrf,ter", "--resamples", "10"),
        ("agreement", "--systems", "auto", "--resamples", "10"),
    ],
)
def test_commands_say_that_systems_are_numbered(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Command,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("x.csv", index=False)
    ROWS.assign(system=["A", "B"] * 6).to_csv("named.csv", index=False)
    command(words[0], "--data", "x.csv", *words[1:])
    assert caplog.messages.count(NOTE.format("x")) == 1
    caplog.clear()
    command(words[0], "--data", "named.csv", *words[1:])
    assert not any("candidate1" in message for message in caplog.messages)


def test_scores_of_segments_do_not_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("x.csv", index=False)
    for words in (("score", "-m", "chrf"), ("evaluate", "-m", "chrf"), ("rank", "-m", "chrf")):
        command(words[0], "--data", "x.csv", *words[1:])
    assert not any("candidate1" in message for message in caplog.messages)


@pytest.mark.parametrize(
    "call",
    [
        lambda data: compare_systems(data, "chrf", resamples=10),
        lambda data: contrast(data, scorer="chrf", resamples=10),
        lambda data: evaluate(data, ["chrf", "ter"], resamples=10),
    ],
    ids=["compare_systems", "contrast", "evaluate"],
)
def test_functions_log_it(call: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    call(from_frame(ROWS))
    assert caplog.messages.count(NOTE.format("frame")) == 1


@pytest.mark.parametrize("key", ["model", "engine", "system_id", "system_name", "System Name"])
def test_a_key_that_may_name_the_systems_is_pointed_out(
    key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    advice = f"ignored, because not judgements: {key}; if {key} names the systems, call it system"
    frame = ROWS.assign(**{key: ["A", "B"] * 6})
    from_frame(frame)
    from_records(frame.to_dict("records"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    read_dataset(tmp_path / "x.csv")
    assert [message.partition("ignored")[2] for message in caplog.messages] == [advice.partition("ignored")[2]] * 3
    caplog.clear()
    named = frame.assign(system=["A", "B"] * 6)
    from_frame(named)
    from_records(named.to_dict("records"))
    assert not any("call it system" in message for message in caplog.messages)
